"""-o FILE.svg, .png and .html write pictures."""

from __future__ import annotations

import builtins

import pytest

pytestmark = pytest.mark.slow  # draws pictures

STARTS = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!doctype html>"}


@pytest.mark.parametrize("ending", STARTS)
def test_analyze_draws_a_roofline(ask, tmp_path, ending):
    path = tmp_path / f"roof.{ending}"
    result = ask("analyze", "8b", "--on", "h100-sxm", "-o", str(path))
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(STARTS[ending])
    assert f"written to {path}" in result.output


def test_what_does_not_fit_is_drawn_too(ask, tmp_path):
    path = tmp_path / "roof.svg"
    assert ask("analyze", "70b", "--on", "h100-sxm", "-o", str(path)).exit_code == 1
    assert b"does not fit" in path.read_bytes()


def test_a_command_without_a_chart_says_so(ask, tmp_path):
    result = ask("models", "-o", str(tmp_path / "x.svg"))
    assert result.exit_code == 2
    assert "this answer has no chart" in result.output
    assert not list(tmp_path.iterdir())


def test_without_the_extra_nothing_is_written(ask, tmp_path, monkeypatch):
    real = builtins.__import__

    def fake(name, *args, **rest):
        if name == "altair":
            raise ImportError(name)
        return real(name, *args, **rest)

    monkeypatch.setattr(builtins, "__import__", fake)
    result = ask("analyze", "8b", "--on", "h100-sxm", "-o", str(tmp_path / "x.svg"))
    assert result.exit_code == 2
    assert "pip install 'rooflight[charts]'" in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["roofline", "waterfall", "traffic", "memory", "intensity"])
def test_analyze_has_several_charts(ask, tmp_path, kind):
    path = tmp_path / "x.svg"
    assert ask("analyze", "8b", "--on", "h100-sxm", "--chart", kind, "-o", str(path)).exit_code == 0
    assert path.read_bytes().startswith(b"<svg")


@pytest.mark.parametrize("kind", ["batch", "pareto"])
def test_sweep_draws_its_lines(ask, tmp_path, kind):
    path = tmp_path / "x.svg"
    words = ("--on", "h100-sxm", "--batch", "1:64:x2", "--chart", kind, "-o", str(path))
    assert ask("sweep", "8b", *words).exit_code == 0
    assert path.read_bytes().startswith(b"<svg")
    assert ask("sweep", "70b", *words).exit_code == 1  # nothing fits
    assert b"fits at none" in path.read_bytes()


def test_check_draws_claims_and_files(ask, tmp_path):
    path = tmp_path / "x.svg"
    claim = ("check", "--model", "llama-3.1-8b", "--on", "h100-sxm", "--output-tok-s", "150", "-o", str(path))
    assert ask(*claim).exit_code == 0
    assert b"150 tok/s" in path.read_bytes()
    table = tmp_path / "m.csv"
    table.write_text("model,accelerator,metric,value,batch,input_len\nllama-3.1-8b,h100-sxm,tpot_ms,9,1,1024\n")
    assert ask("check", str(table), "-o", str(path)).exit_code == 0
    assert b"tpot_ms" in path.read_bytes()


def test_html_has_sliders(ask, tmp_path):
    """The usual page of a deployment is one to play with; another chart's is that chart."""
    path = tmp_path / "x.html"
    for words in (("analyze", "8b", "--on", "h100-sxm"), ("sweep", "8b", "--on", "h100-sxm", "--batch", "1:8:x2")):
        assert ask(*words, "-o", str(path)).exit_code == 0
        assert '<input type="range" id="batch"' in path.read_text()
    assert ask("analyze", "8b", "--on", "h100-sxm", "--chart", "memory", "-o", str(path)).exit_code == 0
    assert "<input" not in path.read_text()

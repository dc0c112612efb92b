"""`rooflight diagnose A B --interval TIME`: how long lies between two scrapes that are files."""

from __future__ import annotations

import json

import pytest

import rooflight
from monitored import DCGM, vllm
from rooflight.errors import BadInput


@pytest.fixture
def scrapes(tmp_path):
    """A vLLM of 400 output tokens a second, after 100 s and after 130 s."""
    paths = []
    for name, seconds in (("a.prom", 100.0), ("b.prom", 130.0)):
        (tmp_path / name).write_text(vllm(seconds))
        paths.append(str(tmp_path / name))
    return paths


def rates(document):
    return [row["values"].get("output_tokens_per_s") for row in document["regimes"]]


def test_the_rate_is_of_that_time(ask, scrapes):
    """30 s of 400 tokens a second are 12,000 tokens; over 60 s they are 200 a second."""
    named = ["--model", "llama-3.1-8b", "--on", "h100", "--json"]
    for words, wanted in ((["--interval", "30s"], 400.0), (["--interval", "1m"], 200.0), ([], None)):
        done = ask("diagnose", *scrapes, *words, *named)
        assert rates(json.loads(done.stdout)) == [pytest.approx(wanted) if wanted else None], done.output


def test_python_takes_it_too(scrapes):
    found = rooflight.diagnose(*scrapes, model="llama-3.1-8b", on="h100", interval_s=30)
    assert found.regimes[0].values["output_tokens_per_s"] == pytest.approx(400)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_no_time_is_refused(scrapes, seconds):
    with pytest.raises(BadInput, match="time"):
        rooflight.diagnose(*scrapes, interval_s=seconds)


def test_between_files_that_are_no_two_scrapes_there_is_nothing(ask, tmp_path, scrapes):
    other = tmp_path / "dcgm.prom"
    other.write_text(DCGM)
    for files in ([str(other)], [scrapes[0]], [scrapes[0], str(other)], []):
        done = ask("diagnose", *files, "--interval", "30s")
        assert done.exit_code == 2
        assert "--interval" in done.output


def test_the_exporter_reads_no_files(ask):
    done = ask("exporter", "--interval", "30s")
    assert done.exit_code == 2
    assert "neither --prometheus nor --scrape" in done.output

"""A chart as a file: SVG, PNG, a page that needs no network, and the display of a notebook."""

from __future__ import annotations

import base64
import builtins
import hashlib
import re
import struct
from xml.etree import ElementTree

import pytest

import rooflight
from rooflight.errors import BadInput, MissingExtra, UnknownName
from rooflight.show.charts.page import embedded

pytestmark = pytest.mark.slow  # draws pictures


@pytest.fixture(scope="module")
def answer():
    return rooflight.analyze("HuggingFaceTB/SmolLM2-135M", on="h100-sxm")


def test_svg_is_xml_and_png_is_its_size(answer):
    chart = answer.chart(width=500)
    root = ElementTree.fromstring(chart.svg())
    assert root.tag.endswith("svg")
    assert float(root.get("width")) == pytest.approx(500, abs=3)
    head = chart.png(scale=2)
    assert head.startswith(b"\x89PNG")
    assert struct.unpack(">I", head[16:20])[0] == pytest.approx(1000, abs=6)


def test_a_page_loads_nothing_and_runs_only_its_own_scripts(answer):
    page = answer.chart().html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    allowed = set(re.findall(r"'sha256-([^']*)'", policy))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashed = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts}
    assert hashed == allowed
    assert not re.search(r'(src|href)="https?:', page)
    assert len(page) < 3_000_000


def test_no_name_breaks_out_of_the_page():
    assert "<" not in embedded({"name": "</script><script>alert(1)</script>"})


def test_files_by_ending(answer, tmp_path):
    for ending, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"<!doctype html>")):
        path = tmp_path / f"chart{ending}"
        answer.chart().save(path)
        assert path.read_bytes().startswith(start)
    with pytest.raises(BadInput, match="no such form"):
        answer.chart().save(tmp_path / "chart.gif")


def test_a_notebook_shows_the_chart(answer):
    shown = answer._repr_mimebundle_(include=None, exclude=None)
    assert shown["application/vnd.vegalite.v6+json"] == answer.chart().to_dict()
    assert shown["image/svg+xml"].startswith("<svg")
    assert shown["text/plain"] == answer.answer


def without(monkeypatch, missing):
    real = builtins.__import__

    def fake(name, *args, **rest):
        if name.partition(".")[0] == missing:
            raise ImportError(name)
        return real(name, *args, **rest)

    monkeypatch.setattr(builtins, "__import__", fake)


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_without_the_extra_it_says_what_to_install(answer, monkeypatch, missing):
    without(monkeypatch, missing)
    with pytest.raises(MissingExtra) as caught:
        answer.chart().svg()
    assert caught.value.try_this == "pip install 'rooflight[charts]'"
    assert "rooflight[charts]" in answer._repr_mimebundle_()["text/plain"]


def test_an_unknown_kind_is_named(answer):
    with pytest.raises(UnknownName, match="no such chart: pie") as caught:
        answer.chart("pie")
    assert "roofline" in caught.value.want
    with pytest.raises(UnknownName, match="has no chart"):
        rooflight.chart(3)

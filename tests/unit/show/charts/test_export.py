"""A chart as a file: SVG, PNG, a page that needs no network, and the display of a notebook."""

from __future__ import annotations

import base64
import builtins
import hashlib
import json
import re
import struct
import zlib
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight.errors import BadInput, MissingExtra, UnknownName
from rooflight.show.blocks import Bullets, Prose, Table
from rooflight.show.charts.alt import alt_text, titled_svg
from rooflight.show.charts.page import embedded
from rooflight.show.charts.theme import DARK, LIGHT
from rooflight.show.charts.themed import style, themed
from rooflight.show.html import written

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
    chart = answer.chart()
    shown = answer._repr_mimebundle_(include=None, exclude=None)
    assert shown["application/vnd.vegalite.v6+json"] == {**chart.to_dict(), "description": chart.alt}
    assert shown["image/svg+xml"].startswith("<svg")
    assert shown["text/plain"] == answer.answer


def test_a_notebook_has_html_with_the_picture_its_words_and_the_tables(answer):
    """The sentence first, then the picture with its alternative text, then every table of the text."""
    page = answer._repr_mimebundle_()["text/html"]
    root = ElementTree.fromstring(page.replace("<br>", "<br/>").replace('100%">', '100%"/>'))
    image = root.find("img")

    assert root.find("p").findtext("strong") == answer.answer
    assert image.get("alt") == answer.chart().alt
    assert base64.b64decode(image.get("src").partition(",")[2]).startswith(b"<svg")
    assert {"phase", "bytes of a step", "operator"} <= {head.text for head in root.iter("th")}


def test_a_picture_says_what_it_shows_to_whoever_does_not_see_it(answer):
    """SVG by its title, role and label, PNG by its Description; read back by another reader than the writer."""
    chart = answer.chart("waterfall")
    root = ElementTree.fromstring(chart.svg())
    png = chart.png(scale=1)
    at = png.index(b"iTXt")
    length, told = struct.unpack(">I", png[at - 4 : at])[0], png[at : at + 4]
    text = png[at + 4 : at + 4 + length]

    assert chart.alt == chart.title
    assert root.get("role") == "img"
    assert root.get("aria-label") == root[0].text == chart.title
    assert root[0].tag.endswith("title")
    assert text == b"Description\0\0\0\0\0" + chart.title.encode()
    assert struct.unpack(">I", png[at + 4 + length : at + 8 + length])[0] == zlib.crc32(told + text)


def test_the_sentence_below_a_title_is_part_of_the_words():
    spec = {"title": {"text": ["Moves"], "subtitle": ["What would", "help."]}}
    assert alt_text(spec, "Moves") == "Moves. What would help."
    assert alt_text({"title": {"text": ["Moves"], "subtitle": []}}, "Moves") == "Moves"


@pytest.mark.parametrize("name", ["<b>&\"'", "a\x00b\x1b[31m", "]]>", "\ud800"])
def test_no_name_breaks_a_picture_or_a_page(name):
    """As SVG it stays XML; as HTML the name is text."""
    alt = alt_text({}, name)
    root = ElementTree.fromstring(titled_svg('<svg xmlns="http://www.w3.org/2000/svg" width="1"><g/></svg>', alt))
    assert root.get("aria-label") == root[0].text == alt
    assert "<b>" not in written(
        [Prose(name), Table(title=name, heads=(name,), rows=((name,),)), Bullets(name, (name,))]
    )


@given(st.text(max_size=60))
def test_whatever_a_name_holds_the_picture_stays_xml(name):
    alt = alt_text({}, name)
    assert ElementTree.fromstring(titled_svg("<svg><g/></svg>", alt))[0].tag == "title"
    alt.encode()


def test_a_colour_of_one_mode_is_one_of_the_other():
    """What is painted anew has one partner: no two meanings share a colour in one mode alone."""
    for own, other in ((LIGHT, DARK), (DARK, LIGHT)):
        met: dict[str, set[str]] = {}
        for name in ("paper", "ink", "quiet", "rule"):
            met.setdefault(getattr(own, name), set()).add(getattr(other, name))
        for key, colour in own.hues.items():
            met.setdefault(colour, set()).add(other.hues[key])
        assert all(len(partners) == 1 for partners in met.values()), met


def test_a_page_of_one_picture_has_both_modes_and_one_document(answer):
    """No colour of a mode is left in the document; both are in the rules."""
    for dark in (False, True):
        found = themed(answer.chart("waterfall", dark=dark).to_dict())
        said = json.dumps({name: part for name, part in found.items() if name != "datasets"})
        assert not re.search("#[0-9a-f]{6}", said)
        assert "var(--hues-memory)" in said
    light, night = style().split("@media screen and (prefers-color-scheme:dark)")
    assert all(colour in light for colour in LIGHT.hues.values())
    assert all(colour in night for colour in DARK.hues.values())
    page = answer.chart("waterfall").html()
    assert page.count('"$schema"') == page.count("vega-lite/v6") == 1


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

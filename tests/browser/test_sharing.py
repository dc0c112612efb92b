"""What leaves the page as a file or by the clipboard."""

from __future__ import annotations

import csv
import json
import shlex
import struct
import xml.etree.ElementTree as ET

import pytest

import rooflight
from studio_pages import LLAMA

FORMS = ["svg", "png", "csv", "json", "txt"]


def saved(studio_page, form: str, folder):
    page = studio_page.page
    page.click("#export summary")
    with page.expect_download() as waiting:
        page.click(f"[data-form='{form}']")
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    assert file.name == f"rooflight.{form}"
    return file


def test_the_menu_has_every_form_and_closes_by_keyboard(studio_page):
    page = studio_page.open()
    page.focus("#export summary")
    page.keyboard.press("Enter")
    assert sorted(one.get_attribute("data-form") for one in page.locator("#export [data-form]").all()) == sorted(
        [*FORMS, "html"]
    )
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    assert page.get_attribute("#export", "open") is None
    assert page.evaluate("document.activeElement.matches('#export summary')")
    page.keyboard.press("Enter")
    page.click("#headline")
    assert page.get_attribute("#export", "open") is None


@pytest.mark.parametrize("form", FORMS)
def test_exports_open_and_have_every_scenario(studio_page, form, tmp_path):
    studio_page.open("?b=8&2.c=h200-sxm")
    file = saved(studio_page, form, tmp_path)

    one, two = (rooflight.analyze(LLAMA, on, batch=8) for on in ("h100-sxm", "h200-sxm"))
    if form == "svg":
        assert ET.fromstring(file.read_text()).tag.endswith("svg")
    elif form == "png":
        width, height = struct.unpack(">II", file.read_bytes()[16:24])
        assert width > 1000 < 2 * height
    elif form == "csv":
        times = {row["time_s.ceiling"] for row in csv.DictReader(file.read_text().splitlines())}
        assert {str(answer.phases["decode"].time_s.ceiling) for answer in (one, two)} <= times
    elif form == "json":
        scenarios = json.loads(file.read_text())["scenarios"]
        assert [row["analysis"] for row in scenarios] == json.loads(json.dumps([one.to_dict(), two.to_dict()]))
    else:
        lines = [line for line in file.read_text().splitlines() if line.startswith("rooflight ")]
        assert [shlex.split(line)[:5] for line in lines] == [
            ["rooflight", "analyze", LLAMA, "--on", on] for on in ("h100-sxm", "h200-sxm")
        ]


def test_an_export_that_is_refused_says_so(studio_page):
    page = studio_page.open("?c=h1000")
    page.click("#export summary")
    page.click("[data-form='csv']")
    page.wait_for_selector("#toast.shown")

    assert "h1000" in page.inner_text("#toast")
    studio_page.refused()


def test_the_commands_are_copied(studio_page, context):
    page = studio_page.open("?b=8&w=fp8")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    for name in ("rooflight", "vllm"):
        page.click(f"[data-copy='command-{name}']")
        page.wait_for_selector("#toast.shown")
        assert page.evaluate("navigator.clipboard.readText()") == page.inner_text(f"#command-{name}")
    words = shlex.split(page.inner_text("#command-rooflight"))
    assert words[:5] == ["rooflight", "analyze", LLAMA, "--on", "h100-sxm"]
    assert words[words.index("--weights") :][:2] == ["--weights", "fp8"]


def test_the_page_with_sliders_opens_from_its_file_with_every_scenario(studio_page, context, tmp_path):
    studio_page.open("?b=8&2.c=h200-sxm&2.n=after&f=1")
    file = saved(studio_page, "html", tmp_path)

    assert file.stat().st_size < 1.6e6
    alone, wrong = context.new_page(), []
    alone.on("pageerror", lambda error: wrong.append(str(error)))
    alone.goto(file.as_uri())
    alone.wait_for_selector("svg .mark-symbol path")
    text = alone.inner_text("body")
    assert "A, h100-sxm" in text
    assert "B, after" in text
    assert not wrong

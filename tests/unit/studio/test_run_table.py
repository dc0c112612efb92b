"""The table of runs has one form: the same lines, words and digits on the page, in its slide, CSV and offline page."""

from __future__ import annotations

import csv
import html
import io
import json
import re

import pytest

from offline import Tables
from rooflight.studio import drawings
from rooflight.studio.answered import answered, landmarks_of
from rooflight.studio.export import exported
from rooflight.studio.page import Page
from rooflight.studio.picture import picture
from rooflight.studio.question import Question

pytestmark = pytest.mark.slow  # draws pictures

LLAMA, LARGE = "meta-llama/Meta-Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-70B"
PAGES = {
    "of runs, with goals and a price, one that does not fit and one that is wrong": Page(
        scenarios=[
            Question(model=LLAMA, batch=8, usd_per_hour=2.5), Question(model=LARGE),
            Question(model=LLAMA, on="nonsense"), Question(model=LLAMA, on="h200-sxm", batch=32),
        ],
        focus=3, tpot_slo_ms=8, ttft_slo_ms=400,
    ),
    "of steps at a context that is stated": Page(scenarios=[Question(model=LLAMA, batch=4, context=8192)]),
    "of prompts alone": Page(scenarios=[Question(model=LLAMA, osl=0), Question(model=LLAMA, on="h200-sxm", osl=0)]),
}  # fmt: skip


def shown(page):
    """What the page has: by letter a text for each head, or why there is none."""
    found = picture(page, drawings.page_look(800, dark=False))
    return found.heads, {
        label.letter: tuple(cell.whole for cell in line.cells[: len(found.heads)]) or line.missing
        for label, line in zip(found.labels, found.figures, strict=True)
    }


def together(*parts):
    return ", ".join(part for part in parts if part)


@pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))
def test_every_form_of_the_table_answers_alike(page):
    heads, told = shown(page)

    assert in_slide(page, heads) == told
    assert in_csv(page, heads) == told
    answered_ones = {one.label.letter for one in answered(page) if one.error is None}
    assert in_offline_page(page) == {letter: said for letter, said in told.items() if letter in answered_ones}


def test_slide_and_offline_page_say_which_of_several_does_best():
    """As the page does; on the offline page it is of what was asked, since there the sliders move."""
    page = Page(scenarios=[Question(model=LLAMA, batch=8), Question(model=LLAMA, on="h200-sxm", batch=32)])
    said = picture(page, drawings.page_look(800, dark=False)).standing
    assert said
    assert f"As asked: {html.escape(said)}" in exported(page, "html", dark=False).decode()
    shown = html.unescape(re.sub("<[^>]+>", " ", exported(page, "svg", dark=False).decode()))
    assert " ".join(said.split()[:8]) in " ".join(shown.split())


def in_slide(page, heads):
    found = answered(page)
    focus = found[page.shown]
    chart = drawings.slide(page, found, focus, landmarks_of(focus), (), dark=False)
    spec = json.dumps(chart.spec)
    assert all(f'"text": "{head}"' in spec for head in heads)
    lines, letter = {}, ""
    for row in chart.datasets["runs"]:
        letter = row["mark"] if row["name"] else letter  # a name begins a line, that of gains has no letter
        if letter:
            lines.setdefault(letter, []).append(row)
    return {letter: _of_rows(rows, len(heads)) for letter, rows in lines.items()}


def _of_rows(rows, columns):
    if rows[0]["missing"]:
        return " ".join(row["missing"] for row in rows).replace("\N{NO-BREAK SPACE}", " ")
    return tuple(together(rows[0][f"cell{at}"], *(row[f"below{at}"] for row in rows[1:])) for at in range(columns))


def in_csv(page, heads):
    rows = csv.DictReader(io.StringIO(exported(page, "csv", False).decode()))
    return {row["scenario"]: row["run: no figures"] or tuple(row[f"run: {head}"] for head in heads) for row in rows}


def in_offline_page(page):
    text = exported(page, "html", False).decode()
    tables = Tables(text)
    letters = [one.label.letter for one in answered(page) if one.error is None]
    found = {}
    for number, letter in enumerate(letters):
        batch, context = tables.data["asked"][number]
        cells = tables.said(number, "run", batch * len(tables.contexts) + context)
        said = tuple(together(cell["text"], cell["beside"], cell["goal"]) for cell in cells)
        found[letter] = said[0] if len(said) == 1 else said
    return found

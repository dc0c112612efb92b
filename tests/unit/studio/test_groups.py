"""The page has a control, and an error's place, for every field of a scenario and of the page."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from rooflight.studio.groups import GROUPS, places
from rooflight.studio.page import Page
from rooflight.studio.question import AUTO, Question
from rooflight.values.question import FIELDS

# Fields with controls of their own, in sight.
IN_SIGHT = ("tp", "weights", "kv_cache", "attention", "batch", "context", "isl", "osl", "ignore_capacity")
# Controls of these come with the views that draw them.
GOALS = {"tpot_slo_ms", "ttft_slo_ms"}
CONTROLS = {one.field: one for group in GROUPS for one in group.controls}


def test_every_field_stands_on_the_page_once():
    folded = [one.field for group in GROUPS for one in group.controls]

    assert Counter([*IN_SIGHT, *folded]) == Counter(list(FIELDS))


def test_labels_are_words_and_no_names_of_fields():
    for one in CONTROLS.values():
        assert one.label != one.field
        assert "_" not in one.label + one.hint.replace("q_proj,v_proj", "")
        assert "_" not in one.blank
        assert one.blank or one.kind == "check"
        assert "--" not in one.hint
        assert "file" not in one.hint  # a page opens none


@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_an_empty_control_is_the_default_of_the_question(name):
    assert CONTROLS[name].default == Question.model_fields[name].default != AUTO


def test_the_page_has_each_control_with_its_hint_and_a_place_for_its_error(studio):
    page = studio.get("/").text
    ids = Counter(re.findall(r' id="([^"]+)"', page))

    assert max(ids.values()) == 1
    for name in FIELDS:
        assert name in ids
        assert f"{name}-error" in ids or name in ("attention", "ignore_capacity")
    for name in set(Question.model_fields) - set(FIELDS):
        assert name in ids
        assert f"{name}-error" in ids
    for name in CONTROLS:
        assert f"{name}-hint" in ids


def test_groups_are_folded(studio):
    page = studio.get("/").text

    assert page.count('<details class="paste more"') == len(GROUPS)
    assert "<details open" not in page


def test_every_field_of_a_page_has_a_control(studio):
    """Which scenario is in focus is told by the list of them, samples by a file."""
    ids = set(re.findall(r' id="([^"]+)"', studio.get("/").text))
    own = set(Page.model_fields) - {"scenarios", "focus"}

    assert "scenarios" in ids
    assert own - ids <= GOALS
    assert "intensity-error" in ids
    assert "samples-error" in ids


def test_flags_of_a_text_are_found_on_the_page():
    text = "12 x h100-sxm would hold it with --tp 4 --pp 3; --n-gpu-layers 11 would; --tp 4, --no-such-flag."
    layers = next(one for group in GROUPS for one in group.controls if one.field == "n_gpu_layers").label
    assert places(text) == (
        "On this page: --tp is Tensor parallel (TP), beside Cards; --pp is Pipeline stages (PP), in More cards and "
        f"their network; --n-gpu-layers is {layers}, in Weights or cache on the host."
    )
    assert places("fp8 weights would fit") == ""

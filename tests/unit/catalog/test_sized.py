"""Models by their size: names that are one, and shapes that come to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight.catalog import sized
from rooflight.catalog.models import load
from rooflight.errors import BadInput, UnknownName
from rooflight.work.count import active_parameters, parameters

BILLION = 10**9


@pytest.mark.parametrize(
    ("name", "total", "active"),
    [
        ("70b", 70 * BILLION, None),
        ("8B", 8 * BILLION, None),
        ("0.6b", 600_000_000, None),
        ("30b-a3b", 30 * BILLION, 3 * BILLION),
        ("235B-A22B", 235 * BILLION, 22 * BILLION),
        ("1t-a32b", 1000 * BILLION, 32 * BILLION),
    ],
)
def test_a_size_comes_to_its_parameters_within_a_thousandth(name, total, active):
    model = load(name)

    assert parameters(model) == pytest.approx(total, rel=1e-3)
    assert active_parameters(model) == pytest.approx(active or total, rel=0.05)


@given(st.integers(1, 4000), st.one_of(st.none(), st.integers(5, 95)))
def test_every_size_has_a_shape_or_is_refused(tenths, share):
    total = f"{tenths / 10:g}b"
    name = total if share is None else f"{total}-a{tenths * share / 1000:.3g}b"
    asked = sized.size_of(name)
    if asked is None:
        return
    try:
        model = sized.shaped(asked)
    except BadInput:
        return

    assert parameters(model) == pytest.approx(asked.parameters, rel=1e-3)


def test_seventy_billion_are_eighty_layers_of_8192():
    model = load("70b")

    assert sum(layer.count for layer in model.layers) == 80
    assert model.hidden == 8192
    assert "70B taken as a dense decoder of 80 layers x 8192, 64 heads and 8 KV heads of 128" in model.assumptions[-1]
    assert model.assumptions[-1].endswith("; assumed")


@pytest.mark.parametrize("name", ["8b", "14b", "32b", "70b"])
def test_feed_forwards_are_whole_blocks_so_that_formats_in_blocks_hold_them(name):
    downs = [linear for layer in load(name).layers for linear in layer.mlp if linear.name == "down"]

    assert downs
    assert all(linear.inputs % 256 == 0 for linear in downs)


def test_a_name_of_the_catalog_wins():
    assert load("llama-3.1-70b").sized is None


def test_a_name_that_is_neither_is_offered_its_size():
    with pytest.raises(UnknownName) as told:
        load("some-model-32b-a3b")

    assert "70b" in str(told.value.want)
    assert "32b-a3b for a typical model of that size" in str(told.value.try_this)


@pytest.mark.parametrize("text", ["70", "70x", "", "-3b", "0b", "99999t"])
def test_what_is_no_number_of_parameters_is_refused(text):
    with pytest.raises(BadInput):
        sized.amount(text)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("some-new-model-32B-A3B-Q4_K_M", "32b-a3b"),
        ("org/Thing-0.5B.gguf", "500m"),
        ("Qwen3.9-27B-Instruct", "27b"),
        ("gpt2", None),
        ("GLM-4.6", None),
    ],
)
def test_a_size_is_found_in_a_name(name, said):
    found = sized.size_in(name)

    assert (None if found is None else sized.spelled(found)) == said


@pytest.mark.parametrize("name", ["100t-a1b", "1t-a1b", "50t-a900m"])
def test_a_size_that_no_number_of_experts_comes_to_is_refused_without_a_search_for_it(name):
    """1 of 100,000 parts: what runs beside the tables would be one of tens of millions of experts."""
    with pytest.raises(BadInput) as caught:
        load(name)

    assert "at most 4,096 experts" in caught.value.want


@pytest.mark.parametrize(
    ("name", "form"), [("70b-q4_k_m", "q4_k_m"), ("30b-a3b-fp8", "fp8"), ("8b-awq", "awq-int4-g128")]
)
def test_a_size_may_end_in_the_format_of_its_weights(name, form):
    model = load(name)

    assert (model.id, model.asked_format) == (name.removesuffix(name[name.rindex("-") :]), form)
    assert (
        rooflight.analyze(name, on="8xh100-sxm").answer
        == rooflight.analyze(model.id, on="8xh100-sxm", weights=form).answer
    )

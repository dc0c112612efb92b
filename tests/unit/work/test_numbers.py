"""Which peak bounds a product: what is stored, what flows in, and what was asked for."""

from __future__ import annotations

import pytest

from rooflight.errors import UnknownName
from rooflight.values.formats import FORMATS, SPELLINGS, format_named
from rooflight.work.numbers import Numbers, product_format


@pytest.mark.parametrize(
    ("stored", "numbers", "runs_in"),
    [
        ("bf16", Numbers(), "bf16"),
        ("fp16", Numbers(), "fp16"),
        ("fp8", Numbers(), "fp8"),  # W8A8
        ("fp8", Numbers(activations="bf16"), "bf16"),  # W8A16: one side alone is no narrower product
        ("fp8-weight-only", Numbers(), "bf16"),
        ("fp8-weight-only", Numbers(activations="fp8"), "fp8"),
        ("int8", Numbers(), "bf16"),  # weight-only
        ("w8a8-int8", Numbers(), "int8"),
        ("nvfp4", Numbers(), "fp4"),  # W4A4
        ("mxfp4", Numbers(), "bf16"),
        ("int4-g128", Numbers(), "bf16"),
        ("int4-g128", Numbers(activations="fp8"), "fp8"),  # W4A8
        ("q4_k", Numbers(), "bf16"),
        ("bf16", Numbers(activations="fp8"), "bf16"),  # wide weights are not narrowed by what flows in
        ("int4-g128", Numbers(compute="fp8"), "fp8"),  # what is asked for wins
        ("fp8", Numbers(compute="bf16"), "bf16"),
        ("q4_k", Numbers(compute="int8"), "int8"),  # arithmetic, not the weight-only format of that name
        ("int4-g128", Numbers(activations="int8"), "int8"),  # W4A8
        ("bf16", Numbers(activations="fp16"), "fp16"),
        ("f16", Numbers(activations="fp16"), "fp16"),
    ],
)
def test_the_format_of_a_product(stored, numbers, runs_in):
    assert product_format(format_named(stored), numbers) == runs_in


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_leads_to_a_format(spelling):
    assert format_named(spelling).bits > 0
    assert format_named(f" {spelling.upper()} ") == format_named(spelling)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_found_by_its_id_and_says_what_it_is(name):
    assert format_named(name).id == name
    assert format_named(name).words


@pytest.mark.parametrize(
    "name", ["int5", "awq-int5-g128", "gptq-int4-gx", "exl2-17bpw", "exl2-0bpw", "exl2-xbpw", "", "nan"]
)
def test_what_is_no_format_is_refused_with_those_there_are(name):
    with pytest.raises(UnknownName) as caught:
        format_named(name, "weights")

    assert caught.value.where == "weights"
    assert "fp8" in caught.value.want


def test_a_slip_of_the_pen_is_answered_with_the_near_ones():
    with pytest.raises(UnknownName) as caught:
        format_named("nvpf4")

    assert "nvfp4" in caught.value.try_this

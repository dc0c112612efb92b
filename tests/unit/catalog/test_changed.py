"""A card with other figures is no longer the catalog's, and every answer says so."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight.errors import BadInput, UnknownName

MODEL = "HuggingFaceTB/SmolLM2-135M"
CARD = rooflight.accelerator("h100-sxm")
TWICE = msgspec.structs.replace(CARD, memory_bytes_per_s=2 * CARD.memory_bytes_per_s)
NAME = "h100-sxm (memory_bytes_per_s=6.7e+12)"


def test_answers_name_what_is_changed():
    assert rooflight.analyze(MODEL, on=TWICE).accelerator.id == NAME
    assert NAME in rooflight.analyze(MODEL, on=TWICE).answer
    assert rooflight.moves(MODEL, on=TWICE).accelerator == NAME
    assert rooflight.landmarks(MODEL, on=TWICE).accelerator == NAME
    assert rooflight.sweep(MODEL, TWICE, {"batch": [1]}).columns()["accelerator"].tolist() == [NAME]
    assert rooflight.claim(MODEL, on=TWICE, tpot_ms=10.0).rows[0].accelerator == NAME


def test_it_is_compared_and_tried_beside_the_card_it_was():
    compared = rooflight.compare(MODEL, on=[CARD, TWICE]).compared
    tried = [one.title for one in rooflight.moves(MODEL, on=CARD, cards=[TWICE]).moves]

    assert [one.label for one in compared] == ["h100-sxm", NAME]
    assert [one.accelerator for one in compared] == ["h100-sxm", NAME]
    assert any(NAME in title for title in tried)


def test_a_price_is_that_of_the_changed_card():
    prices = {"h100-sxm": 2.0, NAME: 3.0}
    by_label = {
        one.label: one.hardware.price_usd_per_hour
        for one in rooflight.compare(MODEL, on=[CARD, TWICE], prices=prices).compared
    }

    assert by_label == {"h100-sxm": 2.0, NAME: 3.0}


@pytest.mark.parametrize(
    "same", [CARD, msgspec.structs.replace(CARD, name="mine", notes="seen"), rooflight.accelerator("h100")]
)
def test_what_is_only_said_otherwise_keeps_its_name(same):
    assert rooflight.analyze(MODEL, on=same).accelerator.id == "h100-sxm"


def test_a_name_of_ones_own_is_kept():
    mine = msgspec.structs.replace(TWICE, id="my-card")

    assert rooflight.analyze(MODEL, on=mine).accelerator.id == "my-card"
    assert rooflight.changed(CARD, id="my-card", memory_bytes_per_s=1e12).id == "my-card"


def test_many_changes_are_told_in_short():
    peaks = {"bf16": 2e15, "fp8": 4e15}
    other = rooflight.changed(CARD, peak_flop_per_s=peaks, memory_bytes_per_s=5e12, memory_bytes=1e11)
    told = "peak_flop_per_s.bf16=2e+15, peak_flop_per_s.fp8=4e+15, memory_bytes_per_s=5e+12 and 1 more"

    assert other.id == f"h100-sxm ({told})"
    assert rooflight.analyze(MODEL, on=other).accelerator.id == other.id


def test_what_nothing_exceeds_moves_with_the_peak():
    """Its clocks carry it as far above its peak as they did."""
    ahead = CARD.fast_flop_per_s["bf16"] / CARD.peak_flop_per_s["bf16"]
    other = rooflight.changed("h100", peak_flop_per_s={"bf16": 2e15, "fp4": 8e15})

    assert other.fast_flop_per_s["bf16"] == pytest.approx(2e15 * ahead)
    assert other.fast_flop_per_s["fp4"] == other.peak_flop_per_s["fp4"] == 8e15  # no clock of it is known
    assert other.peak_flop_per_s["fp8"] == CARD.peak_flop_per_s["fp8"]
    assert CARD.peak_flop_per_s["bf16"] != 2e15


def test_a_new_size_is_what_programs_are_given():
    other = rooflight.changed(CARD, memory_bytes=2e11)

    assert (other.given_bytes, other.most_bytes) == (2e11, 2e11)


def test_twice_the_bandwidth_halves_a_decode_step():
    """Decode of one sequence is bound by memory."""
    before, after = (
        rooflight.analyze("llama-3.1-8b", on=card).phases["decode"].time_s.ceiling
        for card in (CARD, rooflight.changed(CARD, memory_bytes_per_s=2 * CARD.memory_bytes_per_s))
    )

    assert before / after == pytest.approx(2)


@given(st.floats(1e9, 1e18))
def test_a_peak_of_any_size_stays_below_what_nothing_exceeds(peak):
    """Of cards in every format that they have: rounding does not put the fastest rate below the peak."""
    for name in ("h100-sxm", "rtx-4090", "mi300x"):
        card = rooflight.accelerator(name)
        other = rooflight.changed(card, peak_flop_per_s=dict.fromkeys(card.peak_flop_per_s, peak))
        assert all(other.fast_flop_per_s[form] >= one for form, one in other.peak_flop_per_s.items())


@pytest.mark.parametrize("changes", [{"peak_flop_per_s": {"bf16": 3e15}}, {"fast_memory_bytes_per_s": 1e12}])
def test_a_rate_above_what_nothing_exceeds_is_refused(changes):
    with pytest.raises(BadInput, match="is what nothing exceeds"):
        rooflight.analyze(MODEL, on=msgspec.structs.replace(CARD, **changes))


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, True, "3e12"])
def test_what_is_no_rate_is_refused(value):
    with pytest.raises(BadInput, match="memory_bytes_per_s"):
        rooflight.changed(CARD, memory_bytes_per_s=value)


def test_an_unknown_card_is_refused():
    with pytest.raises(UnknownName):
        rooflight.changed("h1000", memory_bytes_per_s=1e12)


def test_changes_add_up():
    """Of a card that is changed already, what differs from the entry is told once."""
    once = rooflight.changed(CARD, memory_bytes_per_s=6.7e12)
    more = rooflight.changed(once, memory_bytes=1e11)
    by_hand = msgspec.structs.replace(once, memory_bytes_per_s=1e13)

    assert more.id == "h100-sxm (memory_bytes_per_s=6.7e+12, memory_bytes=1e+11)"
    assert rooflight.changed(once, memory_bytes_per_s=CARD.memory_bytes_per_s).id == "h100-sxm"
    assert rooflight.analyze(MODEL, on=by_hand).accelerator.id == "h100-sxm (memory_bytes_per_s=1e+13)"


@pytest.mark.parametrize(
    "changes", [{"peak_flop_per_s": 3e15}, {"peak_flop_per_s": {"bf61": 3e15}}, {"id": ""}, {"id": 7}]
)
def test_what_is_no_change_is_refused(changes):
    with pytest.raises(BadInput):
        rooflight.changed(CARD, **changes)

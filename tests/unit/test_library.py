"""What Python offers that the command line lists and judges too: one source for both."""

import json

import pytest
from click.testing import CliRunner

import rooflight
from rooflight.catalog import accelerators, models
from rooflight.cli.app import app
from rooflight.errors import BadInput, NotThere, UnknownName

MODEL = "HuggingFaceTB/SmolLM2-135M"


def plain(value):
    """As JSON has it: lists for tuples."""
    return json.loads(json.dumps(value.to_dict()))


def printed(*words):
    return json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)


def test_all_of_the_catalog_is_listed_by_id():
    assert rooflight.models().ids == models.ids()
    assert rooflight.accelerators().ids == accelerators.ids()


def test_lists_are_those_of_the_command_line():
    assert plain(rooflight.models()) == printed("models")
    assert plain(rooflight.accelerators()) == printed("accelerators")
    some = rooflight.accelerators(vendor="amd", format_peak="fp8", min_memory_bytes=100e9, min_memory_bytes_per_s=4e12)
    words = ("--vendor", "amd", "--format-peak", "fp8", "--memory-min", "100", "--bandwidth-min", "4000")
    assert plain(some) == printed("accelerators", *words)
    assert 0 < len(some) < len(rooflight.accelerators())


def test_lists_are_chosen_from_by_part_of_a_name():
    assert "h100-sxm" in rooflight.accelerators("H100").ids
    assert all("h100" in (one.id + one.name).lower() for one in rooflight.accelerators("H100"))
    assert all("qwen" in one.id.lower() for one in rooflight.models("qwen"))
    assert {one.type for one in rooflight.models(type="qwen3_moe")} == {"qwen3_moe"}
    assert {one.family for one in rooflight.accelerators(family="hopper")} == {"Hopper"}


def test_an_entry_is_what_a_question_takes():
    card, model = rooflight.accelerators("h100-sxm")[0], rooflight.models("SmolLM2-135M")[0]

    assert rooflight.analyze(model, on=card) == rooflight.analyze(model.id, on=card.id)


def test_a_slice_of_a_list_is_one():
    listed = rooflight.accelerators()

    assert listed[:2].ids == listed.ids[:2]
    assert listed[:] == listed != listed[:2]
    assert [one.id for one in listed[:2]] == list(listed.ids[:2])
    assert [row["id"] for row in listed[:2].records()] == list(listed.ids[:2])
    assert not rooflight.models("no such name")
    assert plain(rooflight.models("no such name"))["models"] == []


@pytest.mark.parametrize(
    ("ask", "near"),
    [
        (lambda: rooflight.accelerators(vendor="nvidai"), "nvidia"),
        (lambda: rooflight.accelerators(family="hoper"), "hopper"),
        (lambda: rooflight.accelerators(format_peak="bf61"), "bf16"),
        (lambda: rooflight.models(type="lama"), "llama"),
    ],
)
def test_what_no_entry_has_is_told_its_near_names(ask, near):
    with pytest.raises(UnknownName) as caught:
        ask()
    assert near in str(caught.value.try_this)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: rooflight.accelerators(5),
        lambda: rooflight.accelerators(min_memory_bytes="80GB"),
        lambda: rooflight.accelerators(min_memory_bytes_per_s=-1.0),
        lambda: rooflight.accelerator(5),
        lambda: rooflight.changed(5),
    ],
)
def test_what_is_no_name_or_size_is_refused(ask):
    with pytest.raises(BadInput):
        ask()


def test_a_claim_is_judged_as_on_the_command_line():
    asked = {"batch": 8, "isl": 300, "weights": "bf16"}
    report = rooflight.claim("llama-3.1-8b", on="h100-sxm", output_tok_s=9000, tpot_ms=2.0, **asked)
    words = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
    claimed = ("--output-tok-s", "9000", "--tpot-ms", "2")

    assert report.summary.impossible == 2
    assert plain(report) == printed("check", "--model", "llama-3.1-8b", "--on", "h100-sxm", *words, *claimed)


def test_what_a_claim_does_not_state_stays_open():
    """At batch 1 no H100 gives 300 tok/s of an 8B in bf16 (3.35e12 / 15e9 = 223); at another batch it does."""
    open_, stated = (
        rooflight.claim("llama-3.1-8b", on="h100-sxm", output_tok_s=300, weights="bf16", **batch).rows[0].verdict
        for batch in ({}, {"batch": 1})
    )

    assert (open_, stated) == ("ok", "impossible")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({}, "there is nothing to check"),
        ({"tpot_ms": 0}, "nothing takes no time"),
        ({"tpot_ms": -1.0}, "no measurement is such a value"),
        ({"tpot_ms": float("nan")}, "no measurement is such a value"),
        ({"tpot_ms": "5"}, "no measurement is such a value"),
        ({"tpot_ms": 5.0, "chunk_tokens": 256}, "a claim has no phase mixed"),
        ({"tpot_ms": 5.0, "batchh": 3}, "there is no field 'batchh'"),
    ],
)
def test_what_is_no_claim_is_refused(given, what):
    with pytest.raises(BadInput, match=what):
        rooflight.claim(MODEL, on="h100-sxm", **given)


def test_landmarks_are_those_of_a_sweep():
    (swept,) = rooflight.sweep("llama-3.1-8b", "h100-sxm", {"batch": [1]}, weights="fp8").landmarks()

    assert rooflight.landmarks("llama-3.1-8b", on="h100-sxm", weights="fp8") == swept


def test_a_part_that_is_missing_says_why():
    answer = rooflight.analyze("llama-3.1-70b", on="h100-sxm")

    assert (answer.answered, answer.phases, answer.runs) == (False, {}, {})
    assert answer.phases.get("decode") is None
    assert answer.to_dict()["phases"] is None
    for ask in (lambda: answer.phases["decode"], lambda: answer.runs["served"]):
        with pytest.raises(NotThere, match="does not fit on h100-sxm") as caught:
            ask()
        assert isinstance(caught.value, KeyError)


def test_a_phase_that_was_not_asked_for_is_told_the_others():
    with pytest.raises(NotThere) as caught:
        rooflight.analyze(MODEL, on="h100-sxm").phases["verify"]

    assert (caught.value.got, caught.value.want) == ("verify", "prefill, decode")


def test_spans_of_a_run_are_those_that_there_are():
    one = rooflight.analyze(MODEL, on="h100-sxm", osl=1).runs["batch"]

    assert one.tpot_s is None
    assert "tpot_s" not in one.spans
    assert one.spans["ttft_s"] == one.ttft_s


def test_spans_of_a_comparison_are_those_that_there_are():
    fits, not_ = rooflight.compare("llama-3.1-70b", on=["2xh100-sxm", "l4"]).compared

    assert fits.speed_ups == {
        "prefill": fits.prefill.speed_up, "decode": fits.decode.speed_up, "request": fits.request.speed_up,
    }  # fmt: skip
    assert fits.spans["output_tokens_per_s"] == fits.request.output_tokens_per_s
    assert "tokens_per_usd" not in fits.spans
    assert (not_.spans, not_.speed_ups) == ({}, {})
    with pytest.raises(NotThere, match="does not fit"):
        not_.speed_ups["decode"]


def test_moves_that_do_not_run_gain_nothing():
    found = rooflight.moves("llama-3.1-70b", on="4xh100-sxm").moves
    still = [one for one in found if one.verdict in ("does-not-fit", "not-possible")]

    assert still
    assert all(one.gains == {} and one.to_dict()["gains"] is None for one in still)

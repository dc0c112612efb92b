"""A calibration from rows: factors, intervals and errors by hand, and which rows count for nothing."""

from __future__ import annotations

import math
import tomllib

import msgspec
import pytest

import rooflight
from rooflight.answers.calibrate.shrink import BETWEEN, EIGHT_OF_TEN, MODELS, WITHIN
from rooflight.errors import BadInput
from rooflight.scenario.change import uncalibrated

BASE = {"model": "llama-3.1-8b", "accelerator": "h100-sxm", "weights": "bf16", "engine": "vllm", "gpus": 1}
DECODE = BASE | {"phase": "decode", "metric": "tpot_ms", "input_len": 1024}
SERVED = BASE | {"phase": "e2e_server", "input_len": 1024, "output_len": 256}
DATE = "2026-11-29"


def expected(row) -> float:
    """What check expects of a row."""
    return rooflight.check(row | {"value": 1e6 if row["metric"].endswith("_ms") else 1}).rows[0].expected


def times(row, factor: float):
    """The row at so many times its expected time."""
    value = expected(row)
    return row | {"value": value * factor if row["metric"].endswith("_ms") else value / factor}


def calibrate(*rows):
    return rooflight.calibrate(list(rows), date=DATE)


def test_one_row_moves_its_model_half_of_the_way():
    """Of a row 1.2 times as slow: e^(0.5 ln 1.2) for its model, e^(0.3 ln 1.2) for others; nothing is left out."""
    entry = calibrate(times(DECODE | {"batch": 8}, 1.2)).entries[0]

    assert entry.models[0].step.factor == pytest.approx(1.2 ** (BETWEEN + MODELS), rel=1e-6)
    assert entry.others.step.factor == pytest.approx(1.2**BETWEEN, rel=1e-6)
    assert (entry.rows, entry.runs) == (1, 1)
    assert entry.all.before == pytest.approx(1 - 1 / 1.2)
    assert entry.all.after is None


def test_one_row_leaves_three_quarters_of_the_variance():
    """The rest, a half, and half of the other half. vLLM's dense interval is what it is here."""
    entry = calibrate(times(DECODE | {"batch": 8}, 1.0)).entries[0]
    engine = rooflight.analyze("llama-3.1-8b", "h100-sxm", engine="vllm", batch=8)
    low, high = (getattr(engine.phases["decode"].time_s, name) for name in ("low", "high"))
    deviation = math.log(high / low) / (2 * EIGHT_OF_TEN)

    assert math.log(entry.models[0].step.high) == pytest.approx(
        EIGHT_OF_TEN * deviation * math.sqrt(WITHIN + (BETWEEN + MODELS) / 2), rel=1e-6
    )


def test_one_row_far_off_says_little_of_the_next():
    """8 times as slow: the factor is its root, and the intervals of steps and of requests are wide."""
    own = calibrate(times(DECODE | {"batch": 8}, 8.0)).entries[0].models[0]

    assert own.step.factor == pytest.approx(8**0.5, rel=1e-6)
    assert own.step.high > 2
    assert own.request.high > 2


def test_rates_and_times_say_the_same():
    by_time = calibrate(times(DECODE | {"batch": 8}, 1.3)).entries[0]
    by_rate = calibrate(times(DECODE | {"batch": 8, "metric": "output_tok_s"}, 1.3)).entries[0]

    assert by_time.models[0].step.factor == pytest.approx(by_rate.models[0].step.factor, rel=1e-9)


def test_rows_that_agree_help_by_leaving_one_out():
    rows = [times(DECODE | {"batch": batch}, 1.3) for batch in (1, 4, 16, 64)]
    entry = calibrate(*rows).entries[0]

    assert entry.all.before == pytest.approx(1 - 1 / 1.3)
    assert entry.all.after < entry.all.before / 2
    assert 1.2 < entry.models[0].step.factor < 1.3
    assert not entry.dropped


def test_where_one_quantity_is_not_shifted_the_errors_said_are_those_of_the_other():
    """Steps disagree, first tokens are all 1.5 times as long: |1 / 1.5 - 1| off without it, in the median too."""
    runs = ((1, 1.1), (4, 1 / 1.1), (16, 1.1), (64, 0.9))
    steps = [times(SERVED | {"metric": "tpot_ms", "batch": batch}, factor) for batch, factor in runs]
    firsts = [times(SERVED | {"metric": "ttft_ms", "batch": batch}, 1.5) for batch, _ in runs]
    found = calibrate(*steps, *firsts)

    assert found.entries[0].dropped == ("step",)
    assert "leaving one out first tokens are " in found.answer
    assert " off in the median, without it 33 %; no factor on steps helps" in found.answer


def test_rows_that_disagree_shift_nothing_and_that_is_said():
    rows = [
        times(DECODE | {"batch": batch}, factor) for batch, factor in ((1, 1.5), (4, 1 / 1.5), (16, 1.5), (64, 0.6))
    ]
    found = calibrate(*rows)
    entry = found.entries[0]

    assert entry.dropped == ("step",)
    assert entry.models[0].step.factor == entry.others.step.factor == 1
    assert entry.all.after == pytest.approx(entry.all.before)
    assert "no factor on steps helps" in found.answer
    wide = rooflight.analyze("llama-3.1-8b", "h100-sxm", engine="vllm", batch=8).phases["decode"].time_s
    own = entry.models[0].step
    assert own.high / own.low > wide.high / wide.low
    # and of requests, which are made of steps: as many times as wide in the logarithm
    wider = math.log(own.high / own.low) / math.log(wide.high / wide.low)
    before = calibrate(times(SERVED | {"batch": 8, "metric": "ttft_ms"}, 1.0)).entries[0].models[0].request
    assert math.log(entry.models[0].request.high) == pytest.approx(wider * math.log(before.high), rel=1e-6)
    assert math.log(entry.others.request.low) == pytest.approx(wider * math.log(before.low), rel=1e-6)


def test_several_entries_of_which_one_is_nearer_are_said_so():
    rows = [times(DECODE | {"batch": batch}, 1.4) for batch in (1, 8, 32)]
    other = times(DECODE | {"batch": 8, "engine": "sglang"}, 1.4)

    assert "of which 1 is nearer with it" in calibrate(*rows, other).answer


def test_a_file_names_a_thousand_rows_that_count_for_nothing_and_tells_the_number_of_others():
    """A file of all of them would soon be larger than what is read."""
    from rooflight.show import calibrated as show

    found = calibrate(times(DECODE | {"batch": 8}, 1.2), DECODE | {"batch": 8, "value": 0})
    many = msgspec.structs.replace(found, left_out=found.left_out * 1002)

    assert len(many.left_out) == 1002
    told = tomllib.loads(show.file(many))
    assert len(told["left_out"]) == 1000
    assert told["notes"] == ["2 more rows count for nothing: --json names them all"]
    assert len(tomllib.loads(show.file(found))["left_out"]) == 1


def test_a_prefill_a_first_token_and_a_request_are_quantities_of_their_own():
    rows = [
        times(BASE | {"phase": "prefill", "metric": "prefill_tok_s", "batch": 1, "input_len": 2048}, 1.2),
        times(SERVED | {"metric": "ttft_ms", "batch": 8}, 1.4),
        times(SERVED | {"metric": "output_tok_s", "batch": 8}, 1.1),
    ]
    entry = calibrate(*rows).entries[0]

    assert [one.of for one in entry.errors] == ["all", "prefill", "first", "request"]
    assert entry.models[0].request.factor == 1
    assert entry.models[0].request.rows == 1


def test_a_request_moves_the_steps_that_it_is_made_of():
    """256 tokens at batch 1 are nearly all steps: a request 1.2 times as slow moves them as a step would."""
    row = BASE | {"phase": "e2e_offline", "metric": "e2e_latency_ms", "batch": 1, "input_len": 64, "output_len": 256}
    request = calibrate(times(row, 1.2)).entries[0].models[0]

    assert 1 < request.step.factor < 1.2
    assert request.step.factor > request.prefill.factor


def test_rows_of_two_engines_and_two_cards_are_entries_of_their_own():
    rows = [
        times(DECODE | {"batch": 8}, 1.2), times(DECODE | {"batch": 8, "engine": "sglang"}, 0.9),
        times(DECODE | {"batch": 8, "accelerator": "a100-sxm4-80gb"}, 1.1),
    ]  # fmt: skip
    entries = calibrate(*rows).entries

    assert [(one.engine, one.accelerator) for one in entries] == [
        ("vllm", "h100-sxm"), ("sglang", "h100-sxm"), ("vllm", "a100-sxm4-80gb"),
    ]  # fmt: skip


def test_rows_that_cannot_be_are_left_out_and_named():
    good = times(DECODE | {"batch": 8}, 1.2)
    bad = {
        "impossible": DECODE | {"batch": 8, "value": 0.01},
        "cannot-judge": good | {"model": "no-such-model-at-all"},
        "no batch": BASE | {"phase": "e2e_server", "metric": "output_tok_s", "value": 900, "input_len": 128,
                            "output_len": 128},
        "speculation": good | {"speculative": "unknown"},
        "20 times": DECODE | {"batch": 8, "value": good["value"] * 30},
    }  # fmt: skip
    found = calibrate(good, *bad.values())

    assert found.entries[0].rows == 1
    assert [one.line for one in found.left_out] == [2, 3, 4, 5, 6]
    for one, word in zip(found.left_out, bad, strict=True):
        assert word in one.reason


def test_no_row_that_counts_is_an_error():
    with pytest.raises(BadInput, match="no row counts"):
        calibrate(DECODE | {"batch": 8, "value": 0.01})
    with pytest.raises(BadInput, match="no row counts"):
        rooflight.calibrate([])


def test_the_hash_is_of_the_rows_and_not_of_their_order():
    rows = [times(DECODE | {"batch": batch}, 1.2) for batch in (1, 8)]
    one, two, three = calibrate(*rows), calibrate(*rows[::-1]), calibrate(rows[0])

    assert one.entries[0].sha256 == two.entries[0].sha256 != three.entries[0].sha256


def test_an_answer_says_both():
    own = calibrate(*(times(SERVED | {"metric": "tpot_ms", "batch": batch}, 1.3) for batch in (1, 8, 32)))
    plain = rooflight.analyze("llama-3.1-8b", "h100-sxm", engine="vllm", batch=8)
    answer = rooflight.analyze("llama-3.1-8b", "h100-sxm", engine="vllm", batch=8, calibration=own)
    block = answer.calibration

    assert block.used
    assert block.phases["decode"] == plain.phases["decode"].time_s
    assert block.runs["served"].tpot_s == plain.runs["served"].tpot_s
    assert answer.runs["served"].tpot_s.expected > 1.15 * plain.runs["served"].tpot_s.expected
    assert "That is by your own calibration of 2026-11-29 (3 rows); without it" in answer.answer
    assert plain.calibration is None
    assert "calibration" not in plain.to_dict()
    assert "calibration" not in answer.to_dict()["deployment"]


def test_another_engine_card_or_era_is_not_shifted_and_that_is_said():
    own = calibrate(times(DECODE | {"batch": 8}, 1.5))
    for card, fields in (("a100", {"engine": "vllm"}), ("h100-sxm", {"engine": "sglang"}), ("h100-sxm", {}),
                         ("h100-sxm", {"engine": "vllm", "engine_version": "0.4"})):  # fmt: skip
        plain = rooflight.analyze("llama-3.1-8b", card, **fields)
        answer = rooflight.analyze("llama-3.1-8b", card, calibration=own, **fields)
        assert answer.phases["decode"].time_s == plain.phases["decode"].time_s
        assert not answer.calibration.used
        assert any("your own calibration is not used" in text for text in answer.assumptions)


def test_another_model_is_shifted_less_and_its_interval_is_wider():
    own = calibrate(*(times(DECODE | {"batch": batch}, 1.5) for batch in (1, 8, 32)))
    entry = own.entries[0]
    answer = rooflight.analyze("qwen3-14b", "h100-sxm", engine="vllm", calibration=own)

    assert 1 < entry.others.step.factor < entry.models[0].step.factor
    assert entry.others.step.high > entry.models[0].step.high
    assert answer.calibration.model == ""
    assert any("has no row of" in text for text in answer.assumptions)


def test_without_it_a_scenario_is_what_it_was():
    from rooflight.library.questions import make_scenario

    own = calibrate(times(DECODE | {"batch": 8}, 1.5))
    calibrated = make_scenario("llama-3.1-8b", "h100-sxm", engine="vllm", calibration=own)

    assert calibrated.engine.step_share > 1
    assert uncalibrated(calibrated).engine == make_scenario("llama-3.1-8b", "h100-sxm", engine="vllm").engine

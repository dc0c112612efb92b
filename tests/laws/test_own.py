"""Laws of your own calibration: no ceiling and no roofline time moves, a factor of 1 changes nothing, doors agree."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooflight
from rooflight.catalog.own import fit_of
from rooflight.library.questions import make_scenario
from rooflight.roofline.engine import FEW
from rooflight.serve.expected import widening
from rooflight.serve.replica import step_interval
from rooflight.serve.run import first_interval, whole_interval
from rooflight.values.own import OwnCalibration, OwnEntry, Shift, Shifts

SPANS = ("ttft_s", "tpot_s", "request_s", "requests_per_s", "output_tokens_per_s", "output_tokens_per_s_per_user",
         "output_tokens_per_s_per_accelerator")  # fmt: skip
factors = st.floats(0.05, 20)
asked = st.fixed_dictionaries({
    "model": st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "llama-3.1-70b"]),
    "on": st.sampled_from(["8xh100-sxm", "4xmi300x", "8xb200"]),
    "batch": st.integers(1, 400), "isl": st.integers(1, 20_000), "osl": st.integers(1, 2_000),
    "weights": st.sampled_from(["bf16", "fp8"]),
})  # fmt: skip


def calibration(sc, *, step=1.0, prefill=1.0, first=1.0, ends=None) -> OwnCalibration:
    """Of a scenario's engine and card; the intervals are the engine's own where `ends` says nothing."""
    engine, wider = sc.engine, widening(sc.accelerator, sc.engine)
    own = {
        "step": step_interval(sc, 1), "first": first_interval(sc, 1), "request": whole_interval(sc, 1),
        "prefill": (engine.prefill_low / wider, engine.prefill_high * wider),
    }  # fmt: skip
    shifts = {
        name: Shift(factor=factor, low=(ends or own[name])[0], high=(ends or own[name])[1])
        for name, factor in (("step", step), ("prefill", prefill), ("first", first), ("request", 1.0))
    }
    entry = OwnEntry(
        engine=engine.id, era=engine.era, accelerator=sc.accelerator.id, fit=fit_of(engine, sc.accelerator.family),
        widened=wider, kinds=("dense", "routed"), rows=1, runs=1, sha256="", others=Shifts(**shifts),
    )  # fmt: skip
    return OwnCalibration(date="2026-11-29", rooflight="test", entries=(entry,))


def answers(question, own=None):
    fields = {name: value for name, value in question.items() if name not in ("model", "on")}
    return rooflight.analyze(question["model"], question["on"], engine="vllm", calibration=own, **fields)


def spans(answer):
    found = [(name, phase.time_s) for name, phase in answer.phases.items()]
    for name, run in answer.runs.items():
        found += [(f"{name} {field}", getattr(run, field)) for field in SPANS if getattr(run, field) is not None]
    return dict(found)


def scenario_of(question):
    fields = {name: value for name, value in question.items() if name not in ("model", "on")}
    return make_scenario(question["model"], question["on"], engine="vllm", **fields)


@settings(max_examples=30, deadline=None)
@given(question=asked, step=factors, prefill=factors, first=factors)
def test_no_ceiling_moves_and_times_keep_their_order(question, step, prefill, first):
    """Whatever the factors: ceilings and the rooflines of phases are to the last digit what they were."""
    own = calibration(scenario_of(question), step=step, prefill=prefill, first=first, ends=(0.9, 1.1))
    plain, shifted = spans(answers(question)), spans(answers(question, own))

    assert plain.keys() == shifted.keys()
    for name, span in shifted.items():
        assert span.ceiling == plain[name].ceiling
        if name in ("prefill", "decode"):
            assert span.roofline == plain[name].roofline
        rate = "per_s" in name
        ordered = (span.ceiling, span.roofline, span.expected)
        for one, two in pairwise(ordered):
            assert (one >= two * (1 - 1e-9)) if rate else (one <= two * (1 + 1e-9))
        assert span.low is None or span.low <= span.expected * (1 + 1e-9) <= span.high * (1 + 1e-8)


@settings(max_examples=15, deadline=None)
@given(question=asked)
def test_factors_of_1_with_the_engines_own_intervals_change_nothing(question):
    """Of loads with one interval: a calibration has no other for a busy engine."""
    question = question | {"batch": min(question["batch"], FEW)}
    own = calibration(scenario_of(question))
    plain, same = answers(question), answers(question, own)

    assert same.calibration.used
    for name, span in spans(same).items():
        for basis in ("ceiling", "roofline", "expected", "low", "high"):
            assert getattr(span, basis) == pytest.approx(getattr(spans(plain)[name], basis), rel=1e-12)


@settings(max_examples=15, deadline=None)
@given(question=asked, factor=st.floats(1.0, 3.0))
def test_a_longer_step_is_never_a_faster_token_nor_a_higher_rate(question, factor):
    own = calibration(scenario_of(question), step=factor)
    plain, slower = answers(question), answers(question, own)

    for name, run in slower.runs.items():
        if run.tpot_s is not None:
            assert run.tpot_s.expected >= plain.runs[name].tpot_s.expected * (1 - 1e-6)
        assert run.requests_per_s.expected <= plain.runs[name].requests_per_s.expected * (1 + 1e-6)


def test_every_door_has_the_same_numbers():
    """analyze, sweep, compare, moves and check of one question, calibrated: equal to the last digit."""
    fields = {"engine": "vllm", "batch": 16, "isl": 2000, "osl": 300}
    own = calibration(make_scenario("llama-3.1-8b", "h100-sxm", **fields), step=1.3, prefill=1.2, first=0.8,
                      ends=(0.9, 1.2))  # fmt: skip
    plain = rooflight.analyze("llama-3.1-8b", "h100-sxm", **fields)
    one = rooflight.analyze("llama-3.1-8b", "h100-sxm", calibration=own, **fields)
    swept = rooflight.sweep("llama-3.1-8b", "h100-sxm", {"batch": [8, 16]}, calibration=own,
                            **{name: value for name, value in fields.items() if name != "batch"})  # fmt: skip
    compared = rooflight.compare("llama-3.1-8b", ["h100-sxm"], calibration=own, **fields).compared[0]
    moved = rooflight.moves("llama-3.1-8b", "h100-sxm", calibration=own, **fields).before
    claimed = rooflight.claim("llama-3.1-8b", "h100-sxm", tpot_ms=10.0, schedule="served", calibration=own, **fields)
    token = one.runs["served"].tpot_s

    assert token.expected > plain.runs["served"].tpot_s.expected
    assert swept.columns()["time_s.expected"][1] == one.phases["decode"].time_s.expected
    assert compared.spans["output_tokens_per_s"].expected == one.runs["served"].output_tokens_per_s.expected
    assert moved.run.output_tokens_per_s.expected == one.runs["served"].output_tokens_per_s.expected
    assert claimed.rows[0].expected == pytest.approx(token.expected * 1e3, rel=1e-12)
    assert claimed.rows[0].expected_uncalibrated == pytest.approx(plain.runs["served"].tpot_s.expected * 1e3, rel=1e-12)


def test_a_measured_machine_and_a_draft_are_shifted_too():
    """A named draft's steps take the factor of the engine that they run in."""
    fields = {"engine": "vllm", "batch": 4, "draft_model": "llama-3.2-1b", "draft_tokens": 4}
    own = calibration(make_scenario("llama-3.1-8b", "h100-sxm", **fields), step=2.0)
    plain = rooflight.analyze("llama-3.1-8b", "h100-sxm", **fields)
    slow = rooflight.analyze("llama-3.1-8b", "h100-sxm", calibration=own, **fields)

    assert slow.speculation.cycle_s.expected == pytest.approx(2 * plain.speculation.cycle_s.expected)
    assert slow.speculation.cycle_s.ceiling == plain.speculation.cycle_s.ceiling

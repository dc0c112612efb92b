"""Laws of `explain`: it says what analyze says, and what follows from a value leads back to it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooflight
from effort import examples

MODELS = ("qwen2.5-7b", "llama-3.1-8b", "Qwen/Qwen3-30B-A3B", "google/gemma-3-27b-it")
CARDS = ("h100-sxm", "2xh100-sxm", "mi300x", "rtx-4090", "p100a")


@settings(max_examples=examples(40))
@given(
    model=st.sampled_from(MODELS), on=st.sampled_from(CARDS), batch=st.integers(1, 200), context=st.integers(0, 9000),
    weights=st.sampled_from((None, "fp8", "int4-g128")),
)  # fmt: skip
def test_the_expected_time_of_analyze_has_its_mbu_and_mfu(model, on, batch, context, weights):
    asked = {"batch": batch, "context": context, "ignore_capacity": True}
    asked |= {} if weights is None else {"weights": weights}
    phase = rooflight.analyze(model, on, **asked).phases["decode"]
    found = rooflight.explain(model=model, on=on, tpot_ms=1000 * phase.time_s.expected, **asked)

    assert found.values.get("mbu") == pytest.approx(phase.mbu)
    assert (found.values.get("mfu") is None) == (phase.mfu is None)
    assert found.values.get("mfu") == pytest.approx(phase.mfu)
    assert found.values.get("flop") == pytest.approx(phase.flop)
    assert found.values.get("streamed_bytes") == pytest.approx(phase.bytes.total - phase.bytes.activations)
    assert found.possible


@settings(max_examples=examples(30))
@given(model=st.sampled_from(MODELS), isl=st.integers(16, 9000), prompts=st.integers(1, 8))
def test_the_expected_prefill_of_analyze_has_its_mfu(model, isl, prompts):
    asked = {"isl": isl, "prefill_batch": prompts, "ignore_capacity": True}
    phase = rooflight.analyze(model, "h100-sxm", **asked).phases["prefill"]
    found = rooflight.explain(model=model, on="h100-sxm", prefill_tok_s=phase.tokens_per_s.expected, **asked)

    assert found.values.get("prefill_s") == pytest.approx(phase.time_s.expected)
    assert found.values.get("prefill_mfu") == pytest.approx(phase.mfu)


times = st.floats(1e-3, 1e3)
LOADS = st.fixed_dictionaries(
    {"isl": st.integers(1, 100_000), "osl": st.integers(2, 100_000), "request_rate": st.floats(1e-3, 1e3),
     "ttft_ms": times, "tpot_ms": times}
)  # fmt: skip
# Value: the keyword that states it, and how many of its units one is.
STATED = {
    "requests_per_s": ("request_rate", 1), "output_tokens_per_s": ("output_tok_s", 1), "ttft_s": ("ttft_ms", 1000),
    "total_tokens_per_s": ("total_tok_s", 1), "tpot_s": ("tpot_ms", 1000), "request_s": ("e2e_latency_ms", 1000),
    "request_s_per_output_token": ("guidellm_tpot_ms", 1000),
    "output_tokens_per_s_per_user": ("output_tok_s_per_user", 1),
}  # fmt: skip
RATES = ("requests_per_s", "output_tokens_per_s", "total_tokens_per_s")
WHOLES = ("ttft_s", "request_s", "request_s_per_output_token")
TOKENS = ("tpot_s", "output_tokens_per_s_per_user")


@settings(max_examples=examples(100))
@given(load=LOADS, rate=st.sampled_from(RATES), whole=st.sampled_from(WHOLES), token=st.sampled_from(TOKENS))
def test_any_three_of_a_load_say_all_the_others(load, rate, whole, token):
    """A rate, a time of the whole and a time of a token lead back to what they were made of."""
    first = rooflight.explain(**load)
    chosen = {STATED[name][0]: first.values.get(name) * STATED[name][1] for name in (rate, whole, token)}
    again = rooflight.explain(isl=load["isl"], osl=load["osl"], **chosen)

    assert first.possible
    # a first token that is a small part of the whole is the difference of two large numbers
    rounding = 1e-9 * first.values.get("request_s") / first.values.get("ttft_s")
    for name in (*RATES, "request_s", *TOKENS, "in_flight", "decoding"):
        assert again.values.get(name) == pytest.approx(first.values.get(name), rel=1e-6), name
    assert again.values.get("ttft_s") == pytest.approx(first.values.get("ttft_s"), rel=max(1e-6, rounding))


@settings(max_examples=examples(60))
@given(load=LOADS, batch=st.integers(1, 5000))
def test_what_contradicts_is_said(load, batch):
    """A batch that is not rate x time of the same load is no batch of it."""
    flight = rooflight.explain(**load).values.get("in_flight")
    found = rooflight.explain(**load, batch=batch)

    assert found.possible == (abs(batch - flight) <= 0.03 * max(batch, flight))

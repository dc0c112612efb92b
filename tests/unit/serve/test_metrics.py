"""Seconds of a scenario as the metrics people publish."""

from __future__ import annotations

import numpy as np
import pytest

from rooflight.library import make_scenario
from rooflight.roofline.formulas import largest
from rooflight.serve import phases
from rooflight.serve.metrics import bends, in_metric, metric_span, row_seconds, saturating_batch
from rooflight.serve.request import decode_total_s
from rooflight.span import Span
from rooflight.values.measurement import METRICS, Measurement
from rooflight.values.model import Reach
from unit.models import llama_3_8b, tiny_dense

BATCH, ISL, OSL = 8, 1024, 128


def row(metric: str, phase: str) -> Measurement:
    return Measurement(model="m", accelerator="a", metric=metric, value=1.0, phase=phase)


def asked(**fields):
    return make_scenario(llama_3_8b(), "h100-sxm", **{"batch": BATCH, "isl": ISL, "osl": OSL, **fields})


def test_a_rate_swaps_the_ends_of_the_interval():
    """100 tokens in 2 s are 50 tok/s; between 4 and 5 s they are 20 to 25."""
    seconds = Span(ceiling=2.0, roofline=2.5, expected=4.5, low=4.0, high=5.0)
    span = in_metric(seconds, "output_tok_s", tokens=100)
    assert (span.ceiling, span.roofline, span.low, span.high) == (50, 40, 20, 25)
    assert span.expected == pytest.approx(100 / 4.5)
    time = in_metric(seconds, "e2e_latency_ms")
    assert (time.ceiling, time.low, time.expected, time.high) == (2000, 4000, 4500, 5000)


@pytest.mark.parametrize(
    "metric, tokens",
    [
        ("output_tok_s", BATCH),
        ("output_tok_s_per_gpu", BATCH / 2),
        ("output_tok_s_per_user", 1),
        ("total_tok_s", BATCH),
    ],
)
def test_a_decode_step_yields_a_token_a_sequence(metric, tokens):
    sc = asked(tp=2, context=500)
    step = phases.decode(sc).time.ceiling_s
    assert metric_span(sc, row(metric, "decode")).ceiling == pytest.approx(tokens / step)
    assert metric_span(sc, row("tpot_ms", "decode")).ceiling == pytest.approx(step * 1000)


@pytest.mark.parametrize(
    "metric, tokens",
    [
        ("output_tok_s", BATCH * OSL),
        ("output_tok_s_per_gpu", BATCH * OSL),
        ("output_tok_s_per_user", OSL),
        ("total_tok_s", BATCH * (ISL + OSL)),
    ],
)
def test_a_batch_run_alone_is_prefill_then_every_decode_step(metric, tokens):
    sc = asked(prefill_batch=BATCH)
    seconds = phases.prefill(sc).time.ceiling_s + decode_total_s(sc)[0]
    assert metric_span(sc, row("e2e_latency_ms", "e2e_offline")).ceiling == pytest.approx(seconds * 1000)
    assert metric_span(sc, row(metric, "e2e_offline")).ceiling == pytest.approx(tokens / seconds)


def test_prefill_counts_the_tokens_that_were_not_cached():
    sc = asked(prefill_batch=4, cached_prefix=1000)
    seconds = phases.prefill(sc).time.ceiling_s
    assert metric_span(sc, row("prefill_tok_s", "prefill")).ceiling == pytest.approx(4 * 24 / seconds)
    assert metric_span(sc, row("ttft_ms", "prefill")).ceiling == pytest.approx(seconds * 1000)


def test_a_served_first_token_is_one_prompts_own():
    sc = asked(prefill_batch=BATCH)
    alone = phases.prefill(sc, prompts=1).time.ceiling_s
    assert metric_span(sc, row("ttft_ms", "e2e_server")).ceiling == pytest.approx(alone * 1000)


def test_a_served_token_may_be_that_of_one_sequence_while_others_wait():
    many, alone = asked(batch=64), asked(batch=1)
    span = metric_span(many, row("tpot_ms", "e2e_server"))
    assert span.ceiling == pytest.approx(metric_span(alone, row("tpot_ms", "e2e_offline")).ceiling, rel=1e-6)
    assert span.roofline > 1.2 * span.ceiling


def test_a_served_run_hides_prefill_behind_decode_at_most():
    """Its time is no less than either alone, and no more than one after the other."""
    sc = asked(batch=64, prefill_batch=64)
    fill, decoding = phases.prefill(sc).time.ceiling_s, decode_total_s(sc)[0]
    served = row_seconds(sc, row("output_tok_s", "e2e_server")).ceiling
    assert largest(fill, decoding) <= served * (1 + 1e-9) < fill + decoding


@pytest.mark.parametrize("metric", METRICS)
def test_arrays_give_what_single_points_give(metric):
    """The middle of straight lines is their mean; only where the bound changes within a request is it below."""
    batch, isl, osl = np.array([1.0, 8, 64]), np.array([128.0, 1024, 2048]), np.array([32.0, 2, 512])
    for phase in METRICS[metric].phases:
        many = metric_span(asked(batch=batch, prefill_batch=batch, isl=isl, osl=osl), row(metric, phase)).ceiling
        for place in range(3):
            numbers = {"batch": int(batch[place]), "isl": int(isl[place]), "osl": int(osl[place])}
            one = metric_span(asked(prefill_batch=numbers["batch"], **numbers), row(metric, phase)).ceiling
            assert many[place] == pytest.approx(one, rel=1e-3)


def test_a_bent_step_is_averaged_over_the_request():
    """A window of 40 fills within 100 steps after 1: its mean lies below the step at the middle."""
    sc = make_scenario(tiny_dense(Reach(window=40)), "h100-sxm", isl=1, osl=101, batch=4096)
    assert bends(sc)
    mean = metric_span(sc, row("tpot_ms", "decode"))
    steps = [phases.decode(sc, context=context).time.ceiling_s for context in range(1, 102)]
    assert mean.ceiling == pytest.approx(sum(steps) / len(steps) * 1000, rel=5e-3)


def test_saturation_fills_memory_with_caches_and_nothing_else():
    """80 GB less 16.06 GB of weights, over 131,072 bytes for each of 1,024 + 64 - 1 tokens."""
    sc = asked()
    assert saturating_batch(sc) == (80e9 - 16_060_522_496) // (131_072 * 1087)
    assert saturating_batch(asked(dp=2)) == 2 * saturating_batch(sc)


def test_no_sequence_runs_where_the_weights_do_not_fit():
    assert saturating_batch(make_scenario(llama_3_8b(), "rtx-3060-12gb")) == 0

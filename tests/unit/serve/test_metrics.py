"""Seconds of a scenario as the metrics people publish."""

from __future__ import annotations

import numpy as np
import pytest

from rooflight.library.questions import make_scenario
from rooflight.serve import phases, run
from rooflight.serve.metrics import ceiling, metric_span, saturating_batch
from rooflight.values.measurement import METRICS, Measurement
from unit.models import llama_3_8b

BATCH, ISL, OSL = 8, 1024, 128


def row(metric: str, phase: str) -> Measurement:
    return Measurement(model="m", accelerator="a", metric=metric, value=1.0, phase=phase)


def asked(**fields):
    return make_scenario(llama_3_8b(), "h100-sxm", **{"batch": BATCH, "isl": ISL, "osl": OSL, **fields})


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
def test_a_batch_started_together_is_the_run_batch(metric, tokens):
    sc = asked()
    seconds = run.batch(sc).request_s
    assert metric_span(sc, row("e2e_latency_ms", "e2e_offline")).expected == pytest.approx(seconds.expected * 1000)
    assert metric_span(sc, row(metric, "e2e_offline")).expected == pytest.approx(tokens / seconds.expected)
    assert metric_span(sc, row(metric, "e2e_offline")).ceiling == pytest.approx(tokens / seconds.ceiling)


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


@pytest.mark.parametrize("metric", METRICS)
def test_a_ceiling_by_itself_is_that_of_the_whole(metric):
    for phase in METRICS[metric].phases:
        for sc in (asked(), asked(batch=1, dp=2), asked(tp=2, pp=2, draft_tokens=3)):
            found = row(metric, phase)
            assert ceiling(sc, found) == pytest.approx(metric_span(sc, found).ceiling, rel=1e-12), phase


@pytest.mark.parametrize("metric", METRICS)
def test_arrays_give_what_single_points_give(metric):
    batch, isl, osl = np.array([1.0, 8, 64]), np.array([128.0, 1024, 2048]), np.array([32.0, 2, 512])
    for phase in METRICS[metric].phases:
        many = metric_span(asked(batch=batch, prefill_batch=batch, isl=isl, osl=osl), row(metric, phase)).ceiling
        for place in range(3):
            numbers = {"batch": int(batch[place]), "isl": int(isl[place]), "osl": int(osl[place])}
            one = metric_span(asked(prefill_batch=numbers["batch"], **numbers), row(metric, phase)).ceiling
            assert many[place] == pytest.approx(one, rel=1e-12)


def test_saturation_fills_memory_with_caches_and_nothing_else():
    """80 GiB, the label in full, less 16.06 GB of weights, over 131,072 bytes for each of 1,024 + 64 tokens."""
    sc = asked()
    assert saturating_batch(sc) == (80 * 2**30 - 16_060_522_496) // (131_072 * 1088)
    assert saturating_batch(asked(dp=2)) == 2 * saturating_batch(sc)


def test_no_sequence_runs_where_the_weights_do_not_fit():
    assert saturating_batch(make_scenario(llama_3_8b(), "rtx-3060-12gb")) == 0

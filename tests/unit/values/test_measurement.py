"""What metrics count and what rows time."""

from __future__ import annotations

import pytest

from rooflight.values.measurement import METRICS, Measurement, Timed


def test_a_smaller_time_and_a_larger_rate_are_faster():
    assert METRICS["tpot_ms"].speed_over(2, 6) == 6 / 2
    assert METRICS["output_tok_s"].speed_over(2, 6) == 2 / 6


def test_more_sequences_yield_more_of_what_counts_them_together():
    together = {name for name, metric in METRICS.items() if metric.together}
    assert together == {"output_tok_s", "output_tok_s_per_gpu", "total_tok_s"}


@pytest.mark.parametrize("metric", METRICS)
def test_what_is_timed_holds_the_tokens_of_its_metric(metric):
    """A prompt is timed where no output is counted, a token where no prompt is, in every phase but decode."""
    facts = METRICS[metric]
    for phase in facts.phases:
        row = Measurement(model="m", accelerator="a", metric=metric, value=1.0, phase=phase)
        assert row.measures is facts
        if phase == "decode":
            assert row.timed is Timed.STEP
        elif phase != "prefill":
            assert row.timed.prompt == (not facts.output)
            assert row.timed.step == (facts.time and not facts.prompts)
        assert row.served == (phase == "e2e_server")

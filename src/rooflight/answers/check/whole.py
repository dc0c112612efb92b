"""A model's steps as they were timed, beside the prediction made before."""

from __future__ import annotations

from rooflight.probe.steps import Asked
from rooflight.span import Span
from rooflight.values.sample import Sample, Timing
from rooflight.values.whole import StepTimed


def beside(
    asked: Asked, predicted: Span, sample: Sample, outside: Timing | None, layers: tuple[float, float]
) -> StepTimed:
    """A timed step of some of a model's layers as one of all of them, beside what was predicted of it.

    outside     of the same step without any layer; None where all layers were run
    layers      bytes of those that were run, and of all
    """
    timed = sample.time_s or Timing(median=0.0, low=0.0, high=0.0)
    time_s = timed if outside is None else scaled(timed, outside.median, layers[1] / layers[0])
    tokens = asked.sequences * asked.new
    rate = tokens / time_s.median
    span = predicted.plain()
    return StepTimed(
        phase="decode" if asked.context else "prefill",
        sequences=asked.sequences,
        new=asked.new,
        context=asked.context,
        predicted=span,
        sample=sample,
        time_s=time_s,
        extrapolated=1 - timed.median / time_s.median,
        tokens_per_s=rate,
        predicted_tokens_per_s=span.rate(tokens),
        over_ceiling=span.ceiling / time_s.median,
        over_expected=span.expected / time_s.median,
        faster=time_s.high < span.ceiling,
    )


def scaled(timed: Timing, outside_s: float, times: float) -> Timing:
    """What is outside the layers once, the layers so many times.

    Check: 5 s of which 1 s is outside, twice the layers -> 1 + 2 x 4 = 9 s.
    """

    def whole(seconds: float) -> float:
        outside = min(outside_s, seconds)
        return outside + (seconds - outside) * times

    return Timing(median=whole(timed.median), low=whole(timed.low), high=whole(timed.high), n=timed.n)

"""Layers on the accelerator, threads of the host, drafted tokens: what more of them gain, and where that ends."""

from __future__ import annotations

from rooflight.answers.diagnose.fitted.fit import Fit
from rooflight.answers.diagnose.fitted.line import fitted
from rooflight.answers.diagnose.fitted.series import PROMPTS, QUANTITIES, Series
from rooflight.answers.diagnose.timed.seen import Seen

# A step that gains less than this share of what it could ends the gain; a first token that falls by so much fell.
_ENDS, _FALLS = 0.15, 0.25


def offloaded(one: Series) -> Fit | None:
    """Layers moved to the accelerator: each takes so much less time there, or more."""
    quantity = one.quantity(QUANTITIES)
    if quantity is None or not one.xs:
        return None
    ys = one.values(quantity)
    line = fitted(one.xs, ys)
    if line is None:
        return None
    layers = next((run.record.measured.layers for run in one.runs if run.record.measured.layers), None)
    faster = line.slope < 0
    rest = line.at(layers) if layers else None
    return Fit(
        axis=one.axis, said="layers" if faster else "layers-slow", quantity=quantity, labels=one.labels, values=ys,
        line=line, gain=ys[0] / ys[-1], bound="memory" if faster else None, confidence="medium" if faster else "low",
        limit_gain=ys[-1] / rest if faster and rest and rest > 0 else None,
    )  # fmt: skip


def threads(one: Series) -> Fit | None:
    """Threads of a processor: they add up until its memory is full."""
    quantity = one.quantity(QUANTITIES)
    if quantity is None or len(one.xs) < 2:
        return None
    ys, xs = one.values(quantity), one.xs
    places = range(1, len(xs))
    knee = next((xs[place - 1] for place in places if _ended(xs, ys, place)), None)
    best = min(ys)
    known = Fit(
        axis=one.axis, said="threads", quantity=quantity, labels=one.labels, values=ys, gain=ys[0] / best,
        ideal_gain=xs[-1] / xs[0], knee=knee,
    )  # fmt: skip
    from msgspec.structs import replace

    if knee is None:
        return replace(known, said="threads-on", bound="compute", confidence="low")
    if quantity in PROMPTS:
        return replace(known, cannot_tell=True)
    return replace(known, bound="memory", confidence="medium")


def _ended(xs: tuple[float, ...], ys: tuple[float, ...], place: int) -> bool:
    """Whether from the point before on nothing more comes of it."""
    steps = range(place, len(xs))
    return all(ys[one - 1] / ys[one] - 1 < _ENDS * (xs[one] / xs[one - 1] - 1) for one in steps)


def drafts(one: Series) -> Fit | None:
    """Drafted tokens a step: where more of them cost more than what is accepted saves."""
    quantity = one.quantity(QUANTITIES)
    if quantity is None or not one.xs:
        return None
    ys = one.values(quantity)
    best = min(range(len(ys)), key=lambda place: (ys[place], one.xs[place]))
    plain = next((y for x, y in zip(one.xs, ys, strict=True) if x == 0), None)
    return Fit(
        axis=one.axis, said="drafts", quantity=quantity, labels=one.labels, values=ys, knee=one.xs[best],
        gain=None if plain is None else plain / ys[best], cannot_tell=True,
    )  # fmt: skip


def answers(one: Series) -> Fit | None:
    """The first token falls as answers grow, at the same number in flight: prompts met in front of the engine."""
    runs: tuple[Seen, ...] = one.runs
    if not one.xs or not all(run.ttft_s and (run.in_flight or 1) > 1 for run in runs):
        return None
    ys = tuple(run.ttft_s or 0.0 for run in runs)
    if ys[0] / ys[-1] < 1 / (1 - _FALLS):
        return None
    return Fit(
        axis=one.axis, said="collide", quantity="ttft_s", labels=one.labels, values=ys, gain=ys[0] / ys[-1],
        bound="queue", confidence="medium", share=1 - ys[-1] / ys[0], waiting=(runs[0].in_flight or 1) / 2,
    )  # fmt: skip

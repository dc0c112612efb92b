"""The first token over the prompt's length: what every prompt takes, and the arithmetic that grows with it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from rooflight.answers.diagnose.fitted.fit import BINDS, Fit, LeftOut, Split, Taken, settled, taken
from rooflight.answers.diagnose.fitted.line import Line, fitted
from rooflight.answers.diagnose.fitted.series import PROMPTS, Series
from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.timed.placed import placed
from rooflight.answers.diagnose.timed.seen import Seen
from rooflight.errors import RooflightError
from rooflight.serve import phases
from rooflight.work.count import active_parameters

# First tokens of short prompts that differ by less than that are one floor, where the longest takes so many times it.
_FLOOR, _RISES = 0.1, 1.5
# Arithmetic at less than this share of its peak is no matter of the peak.
_SLOW = 0.15
# A bend is told from a line by so many points.
_BENT = 4
_BEYOND = 0.03
# Of more requests in flight than that a first token of more than this share of the request is a queue's.
_SEVERAL, _WAITS = 4, 0.3


class _Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt's own ceilings: its arithmetic, the weights' reading, and the peak that the first makes."""

    compute_s: float
    memory_s: float
    ceiling_s: float
    flop_per_s: float


def prompts(one: Series, setting: Setting) -> Fit | None:
    """What a series of first tokens along "prompt" says."""
    quantity = one.quantity(PROMPTS)
    if quantity is None or not one.xs:
        return None
    if quantity == "ttft_s" and any(_queued(run) for run in one.runs):
        return None
    points = taken(one, quantity, setting, steps=False)
    roofs = _roofs(points, setting)
    if roofs is not None:
        points, roofs = _possible(points, roofs)
    floor, start = _floored(points.ys)
    line = fitted(points.xs[start:], points.ys[start:])
    if line is None:
        if any(left.why == "beyond" for left in points.left_out):
            return Fit(
                axis=one.axis, said="beyond", quantity=quantity, cannot_tell=True, labels=points.labels,
                values=points.ys, left_out=points.left_out,
            )  # fmt: skip
        return None
    last = points.ys[-1]
    known = Fit(
        axis=one.axis, said="", quantity=quantity, labels=points.labels, values=points.ys, line=line,
        left_out=points.left_out, knee=points.xs[start] if floor else None, gain=points.ys[0] / last,
    )  # fmt: skip
    queued = quantity == "ttft_s" and any((run.in_flight or 1) > 1 for run in points.runs)
    if roofs:
        return _under(known, points, roofs, floor, start, queued=queued)
    return _alone(known, points, line, floor, setting, queued=queued)


def _queued(run: Seen) -> bool:
    """Whether its first token is more of its request than prompts of few in flight are: it waited."""
    several = (run.in_flight or run.implied or 1) > _SEVERAL
    return several and (run.request_s is None or (run.ttft_s or 0.0) > _WAITS * run.request_s)


def _roofs(points: Taken, setting: Setting) -> tuple[_Prompt, ...] | None:
    found = []
    for run in points.runs:
        sc = placed(setting, run)
        if sc is None or sc.unrated:
            return None
        try:
            phase = phases.prefill(sc, prompts=1, bounds_only=True)
        except RooflightError:
            return None
        time = phase.time
        found.append(
            _Prompt(
                compute_s=time.compute_s, memory_s=time.memory_s, ceiling_s=time.ceiling_s,
                flop_per_s=phase.work.flop / time.compute_s if time.compute_s else 0.0,
            )
        )  # fmt: skip
    return tuple(found)


def _possible(points: Taken, roofs: tuple[_Prompt, ...]) -> tuple[Taken, tuple[_Prompt, ...]]:
    """Those that are not faster than their prompt can be computed."""
    keep = [place for place, y in enumerate(points.ys) if y >= roofs[place].ceiling_s * (1 - _BEYOND)]
    gone = tuple(
        LeftOut(label=points.labels[place], why="beyond", value=roofs[place].ceiling_s)
        for place in range(len(points.ys))
        if place not in keep
    )
    rest = Taken(
        runs=tuple(points.runs[one] for one in keep), labels=tuple(points.labels[one] for one in keep),
        xs=tuple(points.xs[one] for one in keep), ys=tuple(points.ys[one] for one in keep),
        left_out=(*points.left_out, *gone),
    )  # fmt: skip
    return rest, tuple(roofs[one] for one in keep)


def _floored(ys: tuple[float, ...]) -> tuple[float | None, int]:
    """The floor that short prompts have in common, and the place of the last of them; (None, 0): they have none."""
    flat = [place for place, y in enumerate(ys) if abs(y - ys[0]) <= _FLOOR * ys[0]]
    count = next((place for place, one in enumerate(flat) if place != one), len(flat))
    if count < 2 or count == len(ys) or ys[-1] < _RISES * ys[0]:
        return None, 0
    return sum(ys[:count]) / count, count - 1


def _under(
    known: Fit, points: Taken, roofs: tuple[_Prompt, ...], floor: float | None, start: int, *, queued: bool
) -> Fit:
    """With a model and a machine: the time over that of the arithmetic at its peak."""
    compute = [roof.compute_s for roof in roofs]
    line = fitted(compute[start:], points.ys[start:]) or known.line
    last, roof = points.ys[-1], roofs[-1]
    if line is None or line.slope <= 0:
        return replace(known, said="flat-prompt", bound="launch", confidence="low", share=0.0)
    fixed = max(line.fixed, 0.0) if floor is None else min(floor, last)
    growing = max(last - fixed, 0.0)
    split = Split(memory=min(fixed, roofs[0].memory_s), compute=growing, launch=max(fixed - roofs[0].memory_s, 0.0))
    bound, sure = settled(split, line, points.ys, most="low" if queued else "high")
    rate = roof.flop_per_s / line.slope
    slow = rate < _SLOW * roof.flop_per_s
    return replace(
        known, said="prompt-slow" if slow and bound == "compute" else "prompt", bound=bound,
        confidence="low" if slow else sure, split=split, share=growing / last, flop_per_s=rate,
        roof_flop_per_s=roof.flop_per_s, weights_s=roofs[0].memory_s, left_s=fixed,
    )  # fmt: skip


def _alone(known: Fit, points: Taken, line: Line, floor: float | None, setting: Setting, *, queued: bool) -> Fit:
    """Without a machine: what is fixed and what grows; with the model, the FLOP a second that the growth makes."""
    last = points.ys[-1]
    fixed = max(line.fixed, 0.0) if floor is None else floor
    growing = max(last - fixed, 0.0)
    rate = None
    if setting.model is not None and line.slope > 0:
        rate = 2 * active_parameters(setting.model) / line.slope
    share = growing / last
    if share >= BINDS:
        bound, sure = settled(Split(compute=growing, launch=fixed), line, points.ys, most="low" if queued else "medium")
    else:
        bound, sure = settled(Split(compute=growing, launch=fixed), line, points.ys, most="low")
    return replace(
        known, said="prompt", bound=bound, confidence=sure, share=share, left_s=fixed, flop_per_s=rate,
        ideal_gain=bend(points.xs, points.ys),
    )  # fmt: skip


def bend(xs: tuple[float, ...], ys: tuple[float, ...]) -> float | None:
    """The share of the longest time that grows with the square of the length; None where it cannot be told.

    Check: bend((1, 2, 3, 4), (2, 6, 12, 20)) is 0.8 (x + x^2: 16 of 20).
    """
    if len(xs) < _BENT or len(set(xs)) < _BENT:
        return None
    import numpy as np

    longest = max(xs)
    scaled = np.array(xs) / longest
    found, *_ = np.linalg.lstsq(np.stack([np.ones_like(scaled), scaled, scaled**2], axis=1), np.array(ys), rcond=None)
    return float(min(max(found[2], 0.0) / max(ys), 1.0))


def behind(one: Series) -> Fit | None:
    """A prompt token's own time over the tokens that are cached before it: attention grows with them, the rest not."""
    line = fitted(one.xs, one.values("prompt_token_s")) if one.xs else None
    if line is None:
        return None
    ys = one.values("prompt_token_s")
    share = min(max(line.slope * one.xs[-1] / ys[-1], 0.0), 1.0)
    return Fit(
        axis=one.axis, said="behind", quantity="prompt_token_s", labels=one.labels, values=ys, line=line, share=share,
        gain=ys[0] / ys[-1], bound="compute", confidence="low",
    )  # fmt: skip

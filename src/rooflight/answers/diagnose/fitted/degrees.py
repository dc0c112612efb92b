"""More devices: what tensor parallelism, pipelines and replicas gain, what they add, and what a layout costs."""

from __future__ import annotations

from msgspec.structs import replace

from rooflight.answers.diagnose.fitted.fit import Fit, Split, Taken, settled, taken
from rooflight.answers.diagnose.fitted.line import Line, fitted
from rooflight.answers.diagnose.fitted.series import QUANTITIES, Quantity, Series
from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.timed.placed import StepRoof
from rooflight.answers.diagnose.timed.seen import Seen
from rooflight.values.diagnosis import Confidence

# A gain that is smaller than that is none; from this share of the ideal one on it is whole.
_NONE, _WHOLE = 1.05, 0.9
# What exchanges add must be so large a share of the step to bind it.
_ADDS = 0.2
# Rates first where replicas are added: they shorten no token.
_OF_ALL: tuple[Quantity, ...] = ("each_s", "request_s", "token_s", "prompt_s", "ttft_s")


def degrees(one: Series, setting: Setting) -> Fit | None:
    """What a series along "tp", "pp" or "dp" says, from the lowest degree to the highest."""
    quantity = one.quantity(QUANTITIES if one.axis == "tp" else _OF_ALL)
    if quantity is None or not one.xs:
        return None
    steps = quantity in ("token_s", "each_s") and all(run.in_flight for run in one.runs)
    points = taken(one, quantity, setting, steps=steps)
    if len(set(points.xs)) < 2:
        return _beyond(one, quantity, points)
    line = fitted([1 / x for x in points.xs], points.ys)
    gain, ideal = points.ys[0] / points.ys[-1], points.xs[-1] / points.xs[0]
    known = Fit(
        axis=one.axis, said="", quantity=quantity, labels=points.labels, values=points.ys, line=line,
        left_out=points.left_out, gain=gain, ideal_gain=ideal,
    )  # fmt: skip
    if line is not None and line.slope > 0:
        serial, x = max(line.fixed, 0.0), points.xs[-1]
        known = replace(
            known, share=serial / points.ys[-1], next_gain=line.at(1 / x) / line.at(1 / (2 * x)) if serial else 2.0,
            limit_gain=points.ys[-1] / serial if serial else None,
        )  # fmt: skip
    if one.axis != "tp":
        return _scaled(known, gain, ideal)
    if points.roofs and steps:
        return _under(known, points, line)
    sure: Confidence = "low" if quantity in ("request_s", "ttft_s") else "medium"
    if gain < 1 / _NONE:
        return replace(known, said="slower", bound="link", confidence=sure)
    if gain < _NONE:
        return replace(known, said="no-gain", cannot_tell=True)
    if gain >= _WHOLE * ideal:
        return replace(known, said="scales", cannot_tell=True)
    return replace(known, said="partly", cannot_tell=True)


def _scaled(known: Fit, gain: float, ideal: float) -> Fit:
    """Stages and replicas: what comes out of all of them against so many alone. Replicas exchange nothing."""
    if gain >= _WHOLE * ideal:
        return replace(known, said="scales", cannot_tell=True)
    if known.axis == "dp":
        return replace(known, said="replicas", cannot_tell=True)
    return replace(known, said="no-gain" if gain < _NONE else "partly", bound="link", confidence="medium")


def _beyond(one: Series, quantity: Quantity, points: Taken) -> Fit | None:
    if not any(left.why == "beyond" for left in points.left_out):
        return None
    return Fit(
        axis=one.axis, said="beyond", quantity=quantity, cannot_tell=True, labels=points.labels, values=points.ys,
        left_out=points.left_out,
    )  # fmt: skip


def _under(known: Fit, points: Taken, line: Line | None) -> Fit:
    """With a model and a machine: splitting saves what its ceiling says, and adds what exchanges take."""
    first, last = points.roofs[0], points.roofs[-1]
    steps = [_step(run, known.quantity, y) for run, y in zip(points.runs, points.ys, strict=True)]
    saved = _alone(first) - _alone(last)
    added = max(steps[-1] - (steps[0] - saved), 0.0)
    exchanges = last.collectives - first.collectives or last.collectives
    roof = _alone(last)
    kind = "compute" if last.compute_s > last.weights_s + last.cache_s else "memory"
    rest = max(steps[-1] - roof, 0.0)
    # what there was beside the roof before the split is not the exchanges' doing
    link = min(added, rest) if added >= _ADDS * rest or added >= _ADDS * steps[-1] else min(last.exchange_s, rest)
    split = Split(**{kind: min(roof, steps[-1]), "link": link, "launch": rest - link})
    bound, sure = settled(split, line, tuple(steps), most="medium")
    if known.gain is not None and known.gain < _NONE and added >= _ADDS * steps[-1]:
        bound = "link"  # the devices' gain is gone in what they exchange, whatever else is slow there
        sure = "medium"
    return replace(
        known, said="slower" if (known.gain or 0) < _NONE else "split", bound=bound, confidence=sure, split=split,
        added_s=added, collectives=exchanges or None, weights_s=last.weights_s, host_s=last.host_s,
        expected_gain=float(first.span.expected / last.span.expected), roof_bytes_per_s=last.bytes_per_s,
    )  # fmt: skip


def _alone(roof: StepRoof) -> float:
    """A device's own part of a step's ceiling."""
    return max(roof.weights_s + roof.cache_s, roof.compute_s)


def _step(run: Seen, quantity: Quantity, value: float) -> float:
    return value * (run.in_flight or 1) if quantity == "each_s" else value


def layouts(one: Series, setting: Setting) -> Fit | None:
    """What layouts of the same devices say, beside what the library expects of them."""
    quantity = one.quantity(QUANTITIES)
    if quantity is None:
        return None
    points = taken(one, quantity, setting)
    if len(points.ys) < 2:
        return _beyond(one, quantity, points)
    places = sorted(range(len(points.ys)), key=lambda place: (-points.ys[place], points.labels[place]))
    slow, fast = places[0], places[-1]
    expected = None
    if points.roofs:
        expected = float(points.roofs[slow].span.expected / points.roofs[fast].span.expected)
    stages = [run.record.stated.pp or 1 for run in points.runs]
    passed = stages[slow] > stages[fast]
    cut = [run.record.stated.tp or 1 for run in points.runs]
    exchanged = cut[slow] > cut[fast] and not passed
    return Fit(
        axis=one.axis, said="stages" if passed else "exchanges" if exchanged else "layouts", quantity=quantity,
        labels=tuple(points.labels[place] for place in places), values=tuple(points.ys[place] for place in places),
        left_out=points.left_out, gain=points.ys[slow] / points.ys[fast], expected_gain=expected,
        ideal_gain=float(stages[slow] / stages[fast]), bound="memory" if passed else "link" if exchanged else None,
        confidence="medium" if exchanged or (passed and expected is not None) else "low",
        cannot_tell=not (passed or exchanged),
    )  # fmt: skip

"""Which deployment wins at which ratio of input to output tokens, and where two of them cross."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from rooflight.answers.compare.contenders import Contender
from rooflight.scenario.definite import Scenario
from rooflight.serve import formulas
from rooflight.serve import mix as mixes
from rooflight.serve.metrics import bends
from rooflight.values.comparison import BASES, Crossing, Curve, Curves, Equal, Stretch
from rooflight.values.mix import Mix

# Ratios looked at: 1:RANGE to RANGE:1, or twice as far as the mix's own, as far as a request holds a token of each;
# POINTS of them evenly in log.
RANGE = 256.0
POINTS = 129
# A crossing between two points is closed in on by so many points, so many times: to 1 in 30,000 of the ratio.
_WITHIN = 17
_ROUNDS = 3
# Two that differ by less are equal.
_TIE = 1e-9

Array = np.ndarray[Any, Any]
Named = tuple[Contender, Scenario]


class Crossed(msgspec.Struct, frozen=True):
    """What was found; nothing where no deployment has times, or a request is too short to be cut."""

    stretches: tuple[Stretch, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    curves: Curves | None = None


def weight(one: Contender, objective: str) -> float | None:
    """What machine seconds of a request are multiplied by: the least product wins. None where it is not known.

    A user waits for the whole batch; accelerators, dollars and joules count for as long as the machine is busy.
    """
    sc = one.scenario
    if sc is None:
        return None
    if objective == "cost":
        return one.price_usd_per_hour
    if objective == "energy":
        return None if sc.accelerator.tdp_w is None else sc.accelerator.tdp_w * sc.layout.devices
    weights = {"throughput": 1.0, "accelerator": float(sc.layout.devices), "latency": float(sc.workload.batch)}
    return weights[objective]


def found_crossings(rows: Sequence[Named], mix: Mix) -> Crossed:
    """Winners along the ratio, at the mix's mean total tokens, for every objective all of whose numbers are known."""
    tokens = mix.isl + mix.osl
    if not rows or tokens < 2:
        return Crossed()
    own = 1.0 if mix.ratio is None else max(mix.ratio, 1 / mix.ratio)
    most = min(max(RANGE, 2 * own), tokens - 1)
    logs = np.linspace(-np.log(most), np.log(most), POINTS)
    seconds = [_seconds(row, mix, logs) for row in rows]
    stretches: list[Stretch] = []
    crossings: list[Crossing] = []
    for objective in ("throughput", "accelerator", "latency", "cost", "energy"):
        weights = [weight(one, objective) for one, _ in rows]
        known = [place for place, value in enumerate(weights) if value is not None]
        if len(known) < 2:
            continue
        for basis in BASES:
            curves = {place: weights[place] * seconds[place][basis] for place in known}
            some, more = _along(objective, basis, rows, weights, curves, logs, mix)
            stretches += some
            crossings += more
    isl = formulas.input_tokens(tokens, np.exp(logs))
    return Crossed(
        tuple(stretches),
        tuple(crossings),
        Curves(
            total_tokens=tokens,
            ratio=tuple(np.exp(logs).tolist()),
            isl=tuple(isl.tolist()),
            osl=tuple((tokens - isl).tolist()),
            curves=tuple(
                Curve(label=one.label, **{f"{basis}_s": tuple(at[basis].tolist()) for basis in BASES})
                for (one, _), at in zip(rows, seconds, strict=True)
            ),
        ),
    )


def _seconds(row: Named, mix: Mix, logs: Array) -> dict[str, Array]:
    """Machine seconds of a request at each ratio, by basis."""
    _, sc = row
    lengths = mixes.at_ratios(mix, np.exp(logs), bends=bends(sc))
    parts = [of(sc, lengths).span for of in (mixes.prefill_part, mixes.decode_part)]
    return {basis: np.asarray(sum(getattr(part, basis) for part in parts)) for basis in BASES}


def _along(
    objective: str, basis: str, rows: Sequence[Named], weights: Sequence[float | None], curves: dict[int, Array],
    logs: Array, mix: Mix,
) -> tuple[list[Stretch], list[Crossing]]:  # fmt: skip
    """The winner's stretches from the smallest ratio to the largest; of equals the first named wins."""
    places = list(curves)
    best = np.argmin(
        np.stack([curves[place] for place in places]) * (1 + _TIE * np.arange(len(places)))[:, None], axis=0
    )
    turns = [turn for turn in range(1, len(logs)) if best[turn] != best[turn - 1]]
    crossings, edges, names = [], [float(logs[0])], [rows[places[best[0]]][0].label]
    for turn in turns:
        below, above = places[best[turn - 1]], places[best[turn]]
        at = _closed_in(
            (rows[below], weights[below]), (rows[above], weights[above]), basis, logs[turn - 1], logs[turn], mix
        )
        ratio = float(np.exp(at))
        isl = float(formulas.input_tokens(mix.isl + mix.osl, ratio))
        crossings.append(
            Crossing(
                objective=objective,
                basis=basis,
                ratio=ratio,
                isl=isl,
                osl=mix.isl + mix.osl - isl,
                below=rows[below][0].label,
                above=rows[above][0].label,
            )
        )
        edges.append(at)
        names.append(rows[above][0].label)
    edges.append(float(logs[-1]))
    stretches = [
        Stretch(
            objective=objective, basis=basis, winner=name, from_ratio=float(np.exp(low)), to_ratio=float(np.exp(high))
        )
        for name, low, high in zip(names, edges, edges[1:], strict=False)
    ]
    return stretches, crossings


def equal_at(curves: Curves | None, label: str, baseline: str) -> Equal | None:
    """Where two of the curves meet; between points their quotient is taken as straight in logarithms."""
    found = {one.label: one for one in curves.curves} if curves else {}
    if curves is None or label == baseline or label not in found or baseline not in found:
        return None
    logs = np.log(curves.ratio)
    places: dict[str, tuple[float, ...]] = {}
    for basis in BASES:
        gap = np.log(getattr(found[label], f"{basis}_s")) - np.log(getattr(found[baseline], f"{basis}_s"))
        gap = np.where(np.abs(gap) < _TIE, 0.0, gap)
        (turns,) = np.nonzero(gap[:-1] * gap[1:] < 0)
        at = logs[turns] - gap[turns] * (logs[turns + 1] - logs[turns]) / (gap[turns + 1] - gap[turns])
        places[basis] = tuple(np.exp(at).tolist())
    return Equal(**places)


def _closed_in(
    below: tuple[Named, Any], above: tuple[Named, Any], basis: str, low: float, high: float, mix: Mix
) -> float:
    """The logarithm of the ratio between `low` and `high` at which two change places, by ever smaller brackets."""
    for _ in range(_ROUNDS):
        logs = np.linspace(low, high, _WITHIN)
        gap = np.subtract(*(factor * _seconds(row, mix, logs)[basis] for row, factor in (below, above)))
        turned = np.flatnonzero(gap > 0)  # from here on `above` takes less
        place = max(int(turned[0]), 1) if len(turned) else _WITHIN - 1
        low, high = float(logs[place - 1]), float(logs[place])
    return (low + high) / 2

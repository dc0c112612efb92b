"""Which deployment wins at which ratio of input to output tokens, and where two of them cross."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from rooflight.answers.compare.contenders import Contender
from rooflight.answers.compare.outcome import Timed, machine_s, per_user
from rooflight.serve import formulas
from rooflight.serve import mix as mixes
from rooflight.serve.schedule import whole
from rooflight.span import Span
from rooflight.values.comparison import BASES, OBJECTIVES, Crossing, Curve, Curves, Equal, Stretch
from rooflight.values.mix import Mix

# Ratios looked at: 1:RANGE to RANGE:1, or twice as far as the mix's own, as far as a request holds a token of each;
# POINTS of them evenly in log.
RANGE = 256.0
POINTS = 129
# A crossing between two points is closed in on by so many, between two of which seconds are straight.
_WITHIN = 17
# Two that differ by less are equal.
_TIE = 1e-9

Array = np.ndarray[Any, Any]


class Crossed(msgspec.Struct, frozen=True):
    """What was found; nothing where no deployment has times, or a request is too short to be cut."""

    stretches: tuple[Stretch, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    curves: Curves | None = None


def weight(one: Contender, objective: str) -> float | None:
    """What its seconds are multiplied by: the least product wins. None where it is not known.

    Accelerators, dollars and joules count for as long as the machine is busy; of latency the seconds are a user's.
    """
    if objective == "cost":
        return one.price_usd_per_hour
    if objective == "energy":
        return one.tdp_w
    return float(one.count) if objective == "accelerator" else 1.0


def found_crossings(rows: Sequence[Timed], mix: Mix) -> Crossed:
    """Winners along the ratio, at the mix's mean total tokens, for every objective all of whose numbers are known."""
    tokens = mix.isl + mix.osl
    if not rows or tokens < 2:
        return Crossed()
    own = 1.0 if mix.ratio is None else max(mix.ratio, 1 / mix.ratio)
    most = min(max(RANGE, 2 * own), tokens - 1)
    logs = np.linspace(-np.log(most), np.log(most), POINTS)
    runs = [_along_logs(row, mix, logs) for row in rows]
    stretches: list[Stretch] = []
    crossings: list[Crossing] = []
    for objective in OBJECTIVES:
        weights = [weight(row.one, objective) for row in rows]
        known = [place for place, value in enumerate(weights) if value is not None]
        if len(known) < 2:
            continue
        for basis in BASES:
            curves = {place: weights[place] * runs[place].seconds(objective, basis) for place in known}
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
                Curve(label=row.one.label, **{f"{basis}_s": tuple(at.seconds("", basis).tolist()) for basis in BASES})
                for row, at in zip(rows, runs, strict=True)
            ),
        ),
    )


class _Runs(msgspec.Struct, frozen=True):
    """A deployment's runs along the ratio: machine seconds of a request, and seconds a user waits for a token."""

    machine: Span
    user: Span

    def seconds(self, objective: str, basis: str) -> Array:
        """What decides the objective; where there is no second token, as where there is nearly one."""
        found = np.asarray(getattr(self.user if objective == "latency" else self.machine, basis))
        there = np.flatnonzero(~np.isnan(found))
        return found[there[np.searchsorted(there, np.arange(len(found)), side="right") - 1]] if len(there) else found


def _along_logs(row: Timed, mix: Mix, logs: Array) -> _Runs:
    """The runs at each ratio, with the schedule and the users that the deployment has at the mix's own."""
    own = msgspec.structs.replace(mix, cached_prefix=row.sc.workload.cached_prefix)  # what it caches is its own
    load = mixes.at_ratios(row.sc.workload, own, np.exp(logs))
    sc = msgspec.structs.replace(row.sc, workload=load)
    run = whole(sc, row.run.schedule, users=row.one.users)
    zeros = np.zeros(len(logs))
    return _Runs(*(span.each(lambda value: value + zeros) for span in (machine_s(run), per_user(run))))


def _along(
    objective: str, basis: str, rows: Sequence[Timed], weights: Sequence[float | None], curves: dict[int, Array],
    logs: Array, mix: Mix,
) -> tuple[list[Stretch], list[Crossing]]:  # fmt: skip
    """The winner's stretches from the smallest ratio to the largest; of equals the first named wins."""
    places = list(curves)
    best = np.argmin(
        np.stack([curves[place] for place in places]) * (1 + _TIE * np.arange(len(places)))[:, None], axis=0
    )
    turns = [turn for turn in range(1, len(logs)) if best[turn] != best[turn - 1]]
    crossings, edges, names = [], [float(logs[0])], [rows[places[best[0]]].one.label]
    for turn in turns:
        below, above = places[best[turn - 1]], places[best[turn]]
        at = _closed_in(
            (rows[below], weights[below]), (rows[above], weights[above]), (objective, basis),
            logs[turn - 1], logs[turn], mix,
        )  # fmt: skip
        ratio = float(np.exp(at))
        isl = float(formulas.input_tokens(mix.isl + mix.osl, ratio))
        crossings.append(
            Crossing(
                objective=objective,
                basis=basis,
                ratio=ratio,
                isl=isl,
                osl=mix.isl + mix.osl - isl,
                below=rows[below].one.label,
                above=rows[above].one.label,
            )
        )
        edges.append(at)
        names.append(rows[above].one.label)
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
    below: tuple[Timed, Any], above: tuple[Timed, Any], what: tuple[str, str], low: float, high: float, mix: Mix
) -> float:
    """The logarithm of the ratio between `low` and `high` at which two change places."""
    logs = np.linspace(low, high, _WITHIN)
    gap = np.subtract(*(factor * _along_logs(row, mix, logs).seconds(*what) for row, factor in (below, above)))
    turned = np.flatnonzero(gap > 0)  # from here on `above` takes less
    place = max(int(turned[0]), 1) if len(turned) else _WITHIN - 1
    before, after = float(gap[place - 1]), float(gap[place])
    share = before / (before - after) if before < 0 < after else 0.5
    return float(logs[place - 1] + share * (logs[place] - logs[place - 1]))

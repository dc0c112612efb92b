"""Decode steps of the page's scenarios along the batch: lines for the pictures, rows for the table.

All of it is the library's own sweep, `rooflight.sweep(model, on, {"batch": ...})`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.arrivals import loaded
from rooflight.serve.efficiency import Efficiency, demand
from rooflight.serve.sweep import SweepPoints
from rooflight.show import numbers
from rooflight.show.blocks import Table
from rooflight.show.charts.series import Line, Lines, turns_of
from rooflight.show.sweep import OpenSpan, Row, rows
from rooflight.studio.answered import Answered, landmarks_of
from rooflight.values.sweep import Landmarks
from rooflight.words.basis import inferred

# The largest batch that is drawn, and where the end of memory is not known.
LARGEST, LARGEST_UNKNOWN = 1 << 16, 1 << 12
# Every batch up to here, then so many an octave: close enough for a smooth line.
_EACH, _AN_OCTAVE = 32, 10


def without(one: Answered) -> str:
    """Why a scenario has no decode steps to draw; "" for one that has."""
    if one.analysis is None:
        return "" if one.error is None else one.error.what
    if not one.analysis.workload["osl"]:
        return "it puts out no token, so there is nothing to decode"
    return "" if _runs(one, landmarks_of(one)) else "not one sequence fits"


def _runs(one: Answered, marks: Landmarks) -> bool:
    """Whether one sequence fits at least, or nobody asks."""
    assert one.scenario is not None
    return marks.kv_limit != 0 or one.scenario.deployment.ignore_capacity


def own_batch(one: Answered) -> int:
    """The sequences that a scenario decodes at once; at a rate of requests those that it makes."""
    assert one.analysis is not None
    return int(one.analysis.workload["batch"] or 1)


def lines(found: Sequence[Answered], focus: int) -> Lines:
    """A line each scenario that has decode steps, in the hue of its place. focus: which has its zones drawn."""
    shown = [one for one in found if not without(one)]
    most = max((_end(one) for one in shown), default=1)
    drawn = tuple(_line(one, most) for one in shown)
    return Lines("batch", drawn, 0, shown.index(found[focus]) if found[focus] in shown else None)


def _end(one: Answered) -> int:
    """The power of two beyond the end of memory, and beyond what is asked for."""
    assert one.scenario is not None
    limit = landmarks_of(one).kv_limit
    bounded = limit is not None and limit <= LARGEST
    end = limit if bounded and not one.scenario.deployment.ignore_capacity else LARGEST_UNKNOWN
    return min(LARGEST, 1 << max(int(end or 1), own_batch(one)).bit_length())


def _line(one: Answered, most: int) -> Line:
    assert one.analysis is not None
    assert one.scenario is not None
    marks, own = landmarks_of(one), own_batch(one)
    octaves = _AN_OCTAVE * (most.bit_length() - 1)
    smooth = {round(2 ** (step / _AN_OCTAVE)) for step in range(octaves + 1)}
    turns = {own, marks.knee_batch, marks.ridge_batch, marks.compute_batch, marks.kv_limit}
    batches = {*range(1, min(most, _EACH) + 1), *smooth, *(turn for turn in turns if turn and turn <= most)}
    label, skip = one.label, one.scenario.deployment.ignore_capacity
    swept = at_batches(one, sorted(batches))
    points = tuple(rows(swept, ignore_capacity=skip))
    return Line(
        name=label.whole, points=points, landmarks=marks, turns=turns_of(swept, "batch", points, skip),
        inferred=inferred(one.analysis), tag=label.tag, own=own,
    )  # fmt: skip


def at_batches(one: Answered, batches: Sequence[int]) -> SweepPoints:
    """A scenario over batches."""
    assert one.scenario is not None
    sc = loaded(one.scenario)[0]
    return SweepPoints((sc,), {"batch": np.asarray(batches)}, "decode", ("batch",))


def _rows(one: Answered, batches: set[int]) -> list[Row]:
    assert one.scenario is not None
    swept = at_batches(one, sorted(batches))
    return list(rows(swept, ignore_capacity=one.scenario.deployment.ignore_capacity))


HEADS = (
    "batch", "", "a token", "eight of ten lie", "tok/s", "tok/s a user", "compute used", "bandwidth used", "bound by",
    "fits",
)  # fmt: skip


def table(one: Answered) -> Table:
    """Decode steps of a scenario at powers of two up to beyond the end of memory, and where its batch turns."""
    marks = landmarks_of(one)
    names = _turns(one, marks)
    end = _end(one)
    batches = {1 << power for power in range(end.bit_length())} | set(names)
    found = _rows(one, batches)
    used = shares(one, sorted(batches))
    return Table(
        title=f"{one.label.whole}: a decode step at each batch", heads=HEADS, left=("", "bound by", "fits"),
        rows=tuple(_cells(row, names.get(row.batch, ""), part) for row, part in zip(found, used, strict=True)),
    )  # fmt: skip


def _turns(one: Answered, marks: Landmarks) -> dict[int, str]:
    """What some batches are: this scenario's, the knee, the ridge, the last that fits."""
    said: dict[int, list[str]] = {}
    for batch, words in (
        (own_batch(one), "this scenario"), (marks.knee_batch, "knee"), (marks.ridge_batch, "ridge"),
        (marks.kv_limit, "most that fit"),
    ):  # fmt: skip
        if batch and batch <= LARGEST:
            said.setdefault(batch, []).append(words)
    return {batch: ", ".join(words) for batch, words in said.items()}


def shares(one: Answered, batches: Sequence[int]) -> list[Efficiency]:
    """MFU and MBU of a decode step at each batch, in the expected time."""
    assert one.scenario is not None
    sc: Scenario = loaded(one.scenario)[0]
    load = msgspec.structs.replace(sc.workload, batch=np.asarray(batches, dtype=np.float64))
    many = msgspec.structs.replace(sc, workload=load)
    decode = phases.decode(many)
    whole = np.broadcast_to(decode.span.expected, len(batches))
    columns = [
        [None] * len(batches) if needed is None else np.broadcast_to(needed / whole, len(batches)).tolist()
        for needed in demand(many, decode)
    ]
    return [Efficiency(mfu=mfu, mbu=mbu) for mfu, mbu in zip(*columns, strict=True)]


def _cells(row: Row, name: str, used: Efficiency) -> tuple[str, ...]:
    runs = row.time_s.ceiling is not None
    fits = "not known" if row.fits is None else "yes" if row.fits else "no"
    return (
        numbers.count(row.batch),
        name if runs or row.fits is not False else ", ".join(part for part in (name, "does not fit") if part),
        numbers.seconds(row.time_s.expected),
        _between(row.time_s),
        numbers.plain(row.tokens_per_s.expected),
        numbers.plain(row.tokens_per_s_per_user.expected),
        *("" if share is None or not runs else numbers.percent(share) for share in (used.mfu, used.mbu)),
        numbers.resource(row.bound) if runs else "",
        fits,
    )


def _between(span: OpenSpan) -> str:
    return "" if span.low is None else f"{numbers.seconds(span.low)} to {numbers.seconds(span.high)}"

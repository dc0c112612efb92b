"""A sweep of runs: its rows, a run each, in the document rooflight.sweep/1 (show.sweep), in CSV and as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec

from rooflight.show import numbers
from rooflight.show.blocks import Block, Table
from rooflight.show.data import Rows
from rooflight.show.sweep import TEXT_ROWS, OpenSpan, Summary, foot_blocks, head_blocks, known
from rooflight.values.accelerator import devices_named
from rooflight.values.sweep import RunBlock


class RunRow(msgspec.Struct, frozen=True):
    """One run of values.run.Run beside its load; null where not one sequence fits."""

    accelerator: str
    devices: int
    tp: int
    pp: int
    ep: int
    dp: int
    weights: str
    kv_cache: str
    schedule: str
    batch: int
    isl: int
    osl: int
    fits: bool | None
    max_batch: int | None
    running: float | None
    decoding: float | None
    waiting: float | None
    prefill_share: float | None
    ttft_s: OpenSpan
    tpot_s: OpenSpan
    request_s: OpenSpan
    requests_per_s: OpenSpan
    output_tokens_per_s: OpenSpan
    output_tokens_per_s_per_user: OpenSpan
    output_tokens_per_s_per_accelerator: OpenSpan


_PLACED = ("accelerator", "devices", "tp", "pp", "ep", "dp", "weights", "kv_cache", "schedule")
_LOAD = ("batch", "isl", "osl", "fits", "max_batch")
_NUMBERS = ("running", "decoding", "waiting", "prefill_share")
_SPANS = tuple(name for name in RunRow.__struct_fields__ if name not in (*_PLACED, *_LOAD, *_NUMBERS))
_BASES = OpenSpan.__struct_fields__
COLUMNS = (*_PLACED, *_LOAD, *_NUMBERS, *(f"{name}.{basis}" for name in _SPANS for basis in _BASES))


def rows(blocks: Iterable[RunBlock]) -> Iterator[RunRow]:
    """The runs of the blocks, one after the other."""
    for block in blocks:
        yield from _block_rows(block, slice(None))


def flat_rows(points: Iterable[RunRow]) -> Rows:
    """The rows for CSV."""
    return Rows(COLUMNS, map(attrgetter(*COLUMNS), points))


def _block_rows(block: RunBlock, chosen: slice) -> Iterator[RunRow]:
    """Rows of a block; `chosen` picks some of its runs in the order of the grid."""
    import numpy as np

    from rooflight.serve.runs import run_arrays

    def picked(values: Any) -> list[Any]:
        found: list[Any] = np.broadcast_to(np.asarray(values), block.shape).reshape(-1)[chosen].tolist()
        return found

    same: list[Any] = [getattr(block, name) for name in _PLACED]
    loads = [picked(getattr(block, name)) for name in _LOAD]
    arrays = run_arrays(block)
    values = [picked(arrays[name]) for name in (*_NUMBERS, *COLUMNS[len(_PLACED) + len(_LOAD) + len(_NUMBERS) :])]
    for load, found in zip(zip(*loads, strict=True), zip(*values, strict=True), strict=True):
        there: list[Any] = [None if value != value else value for value in found]
        spans = (there[place : place + len(_BASES)] for place in range(len(_NUMBERS), len(there), len(_BASES)))
        batch, isl, osl, fits, most = load
        row = [*same, int(batch), int(isl), int(osl), *known(fits, most), *there[: len(_NUMBERS)]]
        yield RunRow(*row, *(OpenSpan(*span) for span in spans))


def blocks(sweep: Iterable[RunBlock], head: Summary) -> list[Block]:
    """The sentence, the goals or the landmarks, the rows (thinned), the assumptions."""
    few = list(thinned(sweep, head.points))
    shown = head_blocks(head)
    shown += [_table(title, list(group), head.axes) for title, group in groupby(few, _heading)]
    return shown + foot_blocks(head, len(few))


def thinned(sweep: Iterable[RunBlock], points: int) -> Iterator[RunRow]:
    """At most TEXT_ROWS rows, evenly spread; memory does not grow with the number of points."""
    step = -(-points // TEXT_ROWS)
    seen = 0
    for block in sweep:
        first = -seen % step
        if first < block.points:
            yield from _block_rows(block, slice(first, None, step))
        seen += block.points


def _heading(row: RunRow) -> str:
    """What the rows of a table have in common."""
    where = devices_named(row.accelerator, row.devices)
    return f"Run {row.schedule} on {where}, {row.weights} weights, {row.kv_cache} KV cache, as expected:"


_IN_HEADING = ("accelerator", "weights", "kv_cache")


def _table(title: str, few: Sequence[RunRow], axes: Sequence[str]) -> Table:
    """The swept values, then what the run gives."""
    kept = [axis for axis in axes if axis not in _IN_HEADING and axis in RunRow.__struct_fields__] or ["batch"]
    heads = (*kept, "TTFT", "TPOT", "request", "requests\n/s", "output\ntok/s", "each\nuser", "waiting", "prefill\nis")
    return Table(title=title, heads=heads, left=(), rows=tuple(_cells(row, kept) for row in few))


def _cells(row: RunRow, axes: Sequence[str]) -> tuple[str, ...]:
    times = (row.ttft_s, row.tpot_s, row.request_s)
    rates = (row.requests_per_s, row.output_tokens_per_s, row.output_tokens_per_s_per_user)
    return (
        *(numbers.count(getattr(row, axis)) for axis in axes),
        *(numbers.seconds(span.expected) for span in times),
        *(numbers.plain(span.expected) for span in rates),
        "" if row.waiting is None else f"{row.waiting:,.0f}",
        "" if row.prefill_share is None else numbers.percent(row.prefill_share),
    )

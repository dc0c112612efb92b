"""Runs of several things in turns, so that a slow second of the machine falls on all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from rooflight.probe.timing import EIGHT_OF_TEN, quantiles, timing
from rooflight.values.measured import Rate, What
from rooflight.values.sample import Kind, MachineState, Origin, Sample


def _never() -> Sequence[float]:
    return ()


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Something to time. run: one turn, the seconds of each pass in it; not of what is timed otherwise.

    name        the pattern or the number format; by: what does it
    bytes       of its working set; moved_bytes, flop: of one pass
    """

    name: str
    by: str
    run: Callable[[], Sequence[float]] = _never
    bytes: float | None = None
    moved_bytes: float | None = None
    flop: float | None = None
    format: str | None = None
    shape: dict[str, float] | None = None


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """A cell and the seconds of its passes."""

    cell: Cell
    seconds: tuple[float, ...]

    @property
    def rates(self) -> tuple[float, ...]:
        """FLOP or bytes a second, whichever the cell counts."""
        amount = self.cell.flop or self.cell.moved_bytes or 0.0
        return tuple(amount / second for second in self.seconds)

    @property
    def median(self) -> float:
        """Of its rates."""
        return quantiles(self.rates, (0.5,))[0]


def in_turns(
    cells: Sequence[Cell], budget_s: float, tick: Callable[[float], None], least: int = 3
) -> tuple[Timed, ...]:
    """Each cell once a turn, until the budget is spent and at least so many turns are done; tick: the share done."""
    found: list[list[float]] = [[] for _ in cells]
    begin = time.perf_counter()
    turns = 0
    while cells:
        for cell, seconds in zip(cells, found, strict=True):
            seconds.extend(cell.run())
        turns += 1
        spent = time.perf_counter() - begin
        tick(min(1.0, spent / budget_s, turns / least))
        if turns >= least and spent + spent / turns > budget_s:
            break
    tick(1.0)
    return tuple(Timed(cell=cell, seconds=tuple(seconds)) for cell, seconds in zip(cells, found, strict=True))


def rate(what: What, name: str, rates: Sequence[float], *, by: str, bytes: float | None = None) -> Rate:
    """The rate of all these runs; more is better."""
    low, median, high = quantiles(rates, EIGHT_OF_TEN)
    return Rate(
        what=what, name=name, median=median, low=low, high=high, best=max(rates), n=len(rates), by=by, bytes=bytes
    )


def cost(name: str, seconds: Sequence[float], *, by: str) -> Rate:
    """The seconds of a call; less is better."""
    low, median, high = quantiles(seconds, EIGHT_OF_TEN)
    return Rate(what="launch", name=name, median=median, low=low, high=high, best=min(seconds), n=len(seconds), by=by)


def sample(kind: Kind, one: Timed, *, device: str, source: Origin, machine: MachineState, start: str) -> Sample:
    """A timed cell as it is stored."""
    cell = one.cell
    on_link = kind == "collective"
    return Sample(
        kind=kind, name=f"{cell.name} ({cell.by})", device=device, time_s=timing(one.seconds), flop=cell.flop,
        bytes=None if on_link else cell.moved_bytes, link_bytes=cell.moved_bytes if on_link else None,
        format=cell.format, compute=cell.format,
        shape=cell.shape or (None if cell.bytes is None else {"working_set_bytes": cell.bytes}), source=source,
        machine=machine, start=start,
    )  # fmt: skip

"""What measuring a machine found: rates with their spread, cache levels, the cost of a call, and tables of kernels."""

from __future__ import annotations

from typing import Literal

import msgspec

from rooflight.values.sample import MachineState
from rooflight.values.tables import Tables

# In base units: what no machine has lies outside, and would overflow. MOST_RUNS: of one thing.
LEAST = 1e-12
MOST = 1e30
MOST_RUNS = 10**9
# What a rate is of. The name says which: a format of peak, a kernel of memory, a level of cache, eager or graph.
What = Literal["memory", "peak", "level", "launch", "host-link", "link"]

# Runs of a roof that differ by more than this share of their median: something else was running too.
UNSTEADY = 0.5


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """One rate (or, of `launch`, seconds), base units, n runs: the median, what eight of ten lie between, the best.

    what, name      ("memory", "read"), ("peak", "bf16"), ("level", "L2"), ("launch", "eager"), ("host-link", "up")
    by              the kernel that reached it: a shape, a pattern
    bytes           of its working set; of a level, the largest working set on its plateau
    """

    what: What
    name: str
    median: float
    low: float
    high: float
    best: float
    n: int
    by: str = ""
    bytes: float | None = None

    @property
    def spread(self) -> float:
        """How far runs differ, as a share of their median."""
        return (self.high - self.low) / self.median if self.median else 0.0

    @property
    def fastest(self) -> float:
        """What a ceiling takes of a rate: the best run, and as much again as fast runs lie above the median.

        How far slow runs lie below it says that something else was running, not how fast the machine can be.
        """
        return self.best * (1 + (self.high - self.median) / self.high)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """How an accelerator was measured, and everything that was found.

    device      as the operating system names it; datasheet: the catalog's entry of the same device, None: not known
    command, date       that made it; ISO 8601, UTC
    complete    every part of a full measurement was done; False after an interrupt or a quick one
    rates       in the order they were measured
    tables      what kernels reach by size; None where they were not timed
    """

    device: str
    datasheet: str | None = None
    command: str
    date: str
    complete: bool
    state: MachineState
    rates: tuple[Rate, ...]
    tables: Tables | None = None

    def of(self, what: What) -> tuple[Rate, ...]:
        """The rates of one kind."""
        return tuple(rate for rate in self.rates if rate.what == what)

"""A machine as it was measured: what was found, with every sample."""

from __future__ import annotations

import msgspec

from rooflight.values.accelerator import Accelerator
from rooflight.values.measured import Measured, Rate
from rooflight.values.sample import Sample
from rooflight.values.shown import Displayed


class Machine(Displayed, msgspec.Struct, frozen=True, kw_only=True):
    """This machine, and everything that was timed on it.

    id, name, vendor, family, kind      as in an accelerator's file
    memory_bytes        what the driver (of a CPU: the operating system) reports
    compute_units       of a card its multiprocessors, of a CPU the cores that computed
    last_level_cache_bytes  as the system tells it, not as measured
    datasheet   the catalog's entry of the same device, where all of it was measured
    detours     FLOP/s of number formats that run, but not on units of their own
    undone      parts of a full measurement that were not done, with the reason
    others, stolen      processors' worth of time that other programs, and other machines on this host, took meanwhile
    """

    brief = ("id", "name", "measured")

    id: str
    name: str
    vendor: str
    family: str
    kind: str
    memory_bytes: float | None = None
    compute_units: float | None = None
    last_level_cache_bytes: float | None = None
    measured: Measured
    samples: tuple[Sample, ...] = ()
    datasheet: Accelerator | None = None
    detours: dict[str, float] = {}
    undone: tuple[tuple[str, str], ...] = ()
    others: float | None = None
    stolen: float | None = None

    @property
    def memory(self) -> Rate | None:
        """Of the kernel that goes through memory fastest."""
        return max(self.measured.of("memory"), key=lambda one: one.median, default=None)

    @property
    def peaks(self) -> dict[str, Rate]:
        """By number format."""
        return {one.name: one for one in self.measured.of("peak")}

    @property
    def ridges(self) -> dict[str, float]:
        """FLOP/byte from which on arithmetic takes longer than memory, by number format; medians."""
        memory = self.memory
        return {} if memory is None else {name: one.median / memory.median for name, one in self.peaks.items()}

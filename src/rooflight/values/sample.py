"""What was measured: a kernel, a collective, a bandwidth, a step, a request, an interval of monitoring."""

from __future__ import annotations

from typing import Literal

import msgspec

from rooflight.values.shown import Part

SCHEMA = "rooflight.sample/1"
Kind = Literal["kernel", "collective", "bandwidth", "step", "request", "interval"]


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of n runs: their median, and what eight of ten lie between."""

    median: float
    low: float
    high: float
    n: int = 1

    @property
    def spread(self) -> float:
        """How far runs differ, as a share of their median."""
        return (self.high - self.low) / self.median if self.median else 0.0


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a sample comes from: a file or the command that measured it, by which tool."""

    file: str | None = None
    command: str | None = None
    tool: str = ""
    version: str = ""
    line: int | None = None


class MachineState(msgspec.Struct, frozen=True, kw_only=True):
    """The machine while it was measured; None: not readable there.

    versions    of the libraries that did the work, by name
    """

    driver: str | None = None
    clocks_hz: dict[str, float] | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    threads: int | None = None
    pinned: bool | None = None
    versions: dict[str, str] = {}


class Sample(Part, msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """One measurement, in base units; None: not known, or not of this kind.

    name        the kernel as its tool calls it; operator: the operator of a step it belongs to
    model       a catalog id, or the model as its source names it
    device      as the operating system or the tool names it; count: how many took part
    runs        how often it ran in what was timed as a whole (1: time_s is of one run)
    flop, bytes, link_bytes     of one run, counted from its shape; of a profiler's kernel by its counters
    format      number format of the weights, compute that of the products
    shape       sizes by name: {"tokens": 8, "inputs": 4096, "outputs": 4096}
    batch, isl, osl, context    of the load it belongs to
    counters    shares of 0 to 1 by name: tensor_active, dram_active ...
    outcome     of a request: ok, or what went wrong, and why
    begun_s     of a request: seconds after the first of its stage; ttft_s: from then to its first token
    gaps_s      between the chunks with tokens of its answer
    start       ISO 8601, UTC
    """

    brief = ("kind", "name", "device", "time_s")

    kind: Kind
    name: str
    operator: str | None = None
    model: str | None = None
    device: str | None = None
    count: int = 1
    runs: int = 1
    time_s: Timing | None = None
    flop: float | None = None
    bytes: float | None = None
    link_bytes: float | None = None
    format: str | None = None
    compute: str | None = None
    shape: dict[str, float] | None = None
    batch: float | None = None
    isl: float | None = None
    osl: float | None = None
    context: float | None = None
    tokens_per_s: float | None = None
    counters: dict[str, float] | None = None
    outcome: str | None = None
    why: str | None = None
    begun_s: float | None = None
    ttft_s: float | None = None
    gaps_s: tuple[float, ...] | None = None
    source: Origin = Origin()
    machine: MachineState | None = None
    start: str | None = None

"""A measured machine with round numbers, without measuring one."""

from __future__ import annotations

from rooflight.values.machine import Machine
from rooflight.values.measured import Measured, Rate
from rooflight.values.sample import MachineState, Origin, Sample, Timing


def rate(what, name, median, **rest):
    """A rate whose runs differ by a tenth each way; seconds of a launch are best at their least."""
    best = 0.8 * median if what == "launch" else 1.2 * median
    fields = {"low": 0.9 * median, "high": 1.1 * median, "best": best, "n": 9, "by": "a kernel"}
    return Rate(what=what, name=name, median=median, **(fields | rest))


STATE = MachineState(
    clocks_hz={"cpu": 2.5e9}, temperature_c=50.0, threads=2, pinned=True, versions={"python": "3.13", "torch": "2.9"}
)
RATES = (
    rate("level", "L1", 800e9, bytes=65536.0),
    rate("level", "L3", 200e9, bytes=2.0**24),
    rate("memory", "copy", 40e9, bytes=2.0**27),
    rate("memory", "read", 50e9, bytes=2.0**27),
    rate("peak", "fp32", 200e9),
    rate("peak", "bf16", 500e9),
    rate("launch", "eager", 2e-6),
)
SAMPLE = Sample(
    kind="bandwidth", name="read (a kernel)", device="AMD EPYC", time_s=Timing(median=1.0, low=0.9, high=1.1, n=9),
    bytes=50e9, source=Origin(command="rooflight measure", tool="rooflight", version="1"), machine=STATE,
    start="2026-11-28T22:00:00+00:00",
)  # fmt: skip


def machine(rates=RATES, *, device="AMD EPYC", complete=True, datasheet=None, **rest):
    """Two threads of a server."""
    measured = Measured(
        device=device, datasheet=None if datasheet is None else datasheet.id, command="rooflight measure",
        date="2026-11-28T22:00:00+00:00", complete=complete, state=STATE, rates=tuple(rates),
    )  # fmt: skip
    fields = {
        "id": "amd-epyc-measured", "name": f"{device}, 2 threads, as measured", "vendor": "AMD", "family": "CPU",
        "kind": "cpu", "memory_bytes": 2.0**34, "compute_units": 2.0, "last_level_cache_bytes": 2.0**25,
    }  # fmt: skip
    return Machine(measured=measured, samples=(SAMPLE,), datasheet=datasheet, **(fields | rest))

"""Where monitoring's values turn from one regime to another: the only table of such numbers, each with its reason."""

from __future__ import annotations

import msgspec

# NVIDIA's page on DCGM's profiling metrics, read 2026-11-28.
_DCGM = "https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/feature-overview.html#profiling-metrics"
_NVML = "https://docs.nvidia.com/deploy/nvml-api/structnvmlUtilization__t.html"

_PROMETHEUS = "https://prometheus.io/docs/prometheus/latest/configuration/configuration/"


class Threshold(msgspec.Struct, frozen=True):
    """A number, why it is that one, and who says so ("" where we do)."""

    value: float
    why: str
    source: str = ""


TABLE = {
    "dram_most": Threshold(
        0.8, "DRAM active reaches about 0.8 in practice: what is used is a share of that, 1 at most", _DCGM
    ),
    "tensor_most": Threshold(
        0.8, "large BF16 products keep the tensor cores busy for 0.74 to 0.80 of the time on an H100, timed one by one"
    ),
    "link_most": Threshold(
        0.8, "large collectives over NVLink, and pinned copies over PCIe (24.7 of 31.5 GB/s), reach about 0.8",
        "https://github.com/efeslab/fiddler/issues/7",
    ),
    "binds": Threshold(
        0.5, "what takes less than half of the time that it could take leaves more of it to something else"
    ),
    "by_kernels": Threshold(
        0.25, "kernels of a whole step that reach less than a quarter of every rate leave the time to somebody else"
    ),
    "clear": Threshold(0.75, "half as far again above what binds: no error of a counter turns it"),
    "idle": Threshold(0.05, "a desktop, or the monitoring itself, uses some percent of a device without load"),
    "gaps": Threshold(
        0.25, "utilisation is the time in which some kernel runs: without one for a quarter of it a device waits", _NVML
    ),
    "wide_gaps": Threshold(0.5, "a device without a kernel for half of the time has no ceiling of its own"),
    "sm_low": Threshold(0.5, "SM active below 0.5 likely indicates ineffective use of the GPU", _DCGM),
    "sm_clear": Threshold(0.35, "most of the multiprocessors have nothing to do for most of the time"),
    "sm_good": Threshold(0.8, "SM active of 0.8 is necessary, but not sufficient, for effective use", _DCGM),
    "kv_full": Threshold(
        0.95, "the last twentieth of the pool is what sequences that run grow into: nobody else is let in"
    ),
    "kv_room": Threshold(0.9, "with a tenth of the pool free a prompt of usual length still fits"),
    "kv_empty": Threshold(0.25, "three times as many requests of the same length fit beside those that run"),
    "preempted": Threshold(0.01, "one request in a hundred recomputed costs more than the rest of the noise"),
    "waiting": Threshold(0.1, "requests that wait for a step or two are always a few of those that run"),
    "long_waiting": Threshold(0.5, "half as many wait as run: the queue is not a burst"),
    "at_cap": Threshold(0.95, "the number that runs flickers just below the engine's cap, as requests leave"),
    "few": Threshold(0.25, "the machine takes four times as many requests"),
    "few_most": Threshold(
        16, "up to 16 sequences decode in about the time of one on every card whose ridge is above 16 FLOP/byte"
    ),
    "power_near": Threshold(0.95, "the draw swings by some percent around a limit that binds"),
    "power_lost": Threshold(
        0.25,
        "a rated peak is at a clock up to 8 % below the maximum (H100 SXM: 1,830 of 1,980 MHz) and dense products at "
        "the power limit lose some more; a quarter is more than a card at its rated limit loses",
    ),
    "heat_lost": Threshold(0.05, "a reason of heat or of the board's protection with a clock that did fall"),
    "memory_lost": Threshold(0.1, "memory clocks have steps: a tenth below the highest is a lower step"),
    "power_quiet": Threshold(0.35, "below a third of its limit no card computes"),
    "same_time_s": Threshold(
        60, "Prometheus scrapes each minute by default, so two of one time lie that far apart", _PROMETHEUS
    ),
    "idle_all": Threshold(0.95, "what has a load for a twentieth of the time is judged by its load otherwise"),
    "mostly": Threshold(0.6, "a regime of less than that share of the loaded time is one of several"),
}  # fmt: skip


def limit(name: str) -> float:
    """A threshold by its name."""
    return TABLE[name].value

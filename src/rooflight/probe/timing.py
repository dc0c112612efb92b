"""Seconds a call takes: warmed up, often enough, by the device's own clock where it has one."""

from __future__ import annotations

import datetime
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from rooflight.probe.device import Device, current, synchronize, torch_here
from rooflight.units import to_base
from rooflight.values.sample import Timing

Run = Callable[[int], object]
# A block is so long that its clock's own cost and step are under a hundredth of it: perf_counter takes 50 ns, an event
# of a device has steps of half a microsecond and a cost of some.
_HOST_BLOCK_S = 20e-6
_DEVICE_BLOCK_S = 200e-6
_SEVERAL = 8
_MOST_RUNS = 2000
# Shares of runs: eight of ten lie between the first and the last.
EIGHT_OF_TEN = (0.1, 0.5, 0.9)


def timed(run: Run, device: Device, *, least: int = 5, budget_s: float = 0.3, warmup: int = 2) -> tuple[float, ...]:
    """Seconds of each run(0), run(1) ...: at least `least` of them, as many as the budget holds.

    The number lets a run take another buffer each time. Runs shorter than the clock tells apart are timed in blocks;
    a figure is then a block's mean.
    """
    block_s = _HOST_BLOCK_S if device.kind == "cpu" else _DEVICE_BLOCK_S
    with current(device):
        for i in range(max(warmup, 1)):
            run(i)
        synchronize(device)
        once_s = _seconds(run, device, 1)
        if once_s < block_s:  # waiting for the device is in it: less of it in several
            once_s = _seconds(run, device, _SEVERAL)
        block = max(1, round(block_s / once_s))
        count = min(max(least, int(budget_s / (once_s * block))), _MOST_RUNS)
        if device.kind == "cpu":
            return _by_host(run, block, least, count, budget_s)
        return _by_events(run, device, block, count)


def _seconds(run: Run, device: Device, count: int) -> float:
    """Of one of so many, the wait for the device with them; never 0."""
    start = time.perf_counter()
    for i in range(count):
        run(i)
    synchronize(device)
    return max(time.perf_counter() - start, time.get_clock_info("perf_counter").resolution) / count


def _by_host(run: Run, block: int, least: int, count: int, budget_s: float) -> tuple[float, ...]:
    found: list[float] = []
    begin = last = time.perf_counter()
    i = 0
    while len(found) < count and (len(found) < least or last - begin < budget_s):
        start = time.perf_counter()
        for _ in range(block):
            run(i)
            i += 1
        last = time.perf_counter()
        found.append((last - start) / block)
    return tuple(found)


def _by_events(run: Run, device: Device, block: int, count: int) -> tuple[float, ...]:
    """All are asked for at once, so that the device does not wait for the host between them."""
    make = _event_type(device)
    marks = [make(enable_timing=True) for _ in range(count + 1)]
    marks[0].record()
    i = 0
    for mark in marks[1:]:
        for _ in range(block):
            run(i)
            i += 1
        mark.record()
    synchronize(device)
    return tuple(to_base(a.elapsed_time(b), "ms") / block for a, b in itertools.pairwise(marks))


def _event_type(device: Device) -> Any:
    return getattr(torch_here(), device.kind).Event


def captured(run: Run, device: Device, calls: int = 1) -> Any:
    """A CUDA or HIP graph of run(0), run(1) ...; whoever replays it keeps alive what the runs read and write."""
    torch = torch_here()
    side = torch.cuda.Stream(device.index)
    with torch.cuda.device(device.index):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # a library's own set-up must not fall into the capture
            for i in range(_SEVERAL):
                run(i)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(calls):
                run(i)
    return graph


def graph_timed(
    run: Run, device: Device, *, calls: int = 32, least: int = 5, budget_s: float = 0.3
) -> tuple[float, ...] | None:
    """Seconds of each call inside a captured graph of `calls` of them; None where the device has no graphs.

    run must neither allocate by the host's hand nor wait for the device.
    """
    if device.kind != "cuda":
        return None
    graph = captured(run, device, calls)
    seconds = timed(lambda _: graph.replay(), device, least=least, budget_s=budget_s)
    return tuple(one / calls for one in seconds)


def now() -> str:
    """ISO 8601, UTC, to the second: when something began."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def timing(seconds: Sequence[float]) -> Timing:
    """Their median, and the 10th and 90th percentile."""
    low, median, high = quantiles(seconds, EIGHT_OF_TEN)
    return Timing(median=median, low=low, high=high, n=len(seconds))


def quantiles(values: Sequence[float], shares: Sequence[float]) -> tuple[float, ...]:
    """Between the two nearest, in proportion."""
    import numpy as np

    return tuple(float(one) for one in np.quantile(values, shares))

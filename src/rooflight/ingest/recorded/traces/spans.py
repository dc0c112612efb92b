"""How a device's time went, from when its kernels began and ended: overlaps once, gaps, what ran alone."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rooflight.ingest.recorded.traces.cells import timing
from rooflight.values.recorded import DeviceTrace


class Ran(msgspec.Struct, frozen=True):
    """A kernel (or copy) on a device, in seconds. what: "link" of a collective, "copy" of a bare copy, else "work"."""

    start_s: float
    end_s: float
    what: str = "work"


def device_trace(device: str, ran: Iterable[Ran], *, name: str | None = None) -> DeviceTrace:
    """The account of one device's kernels, of which there is at least one."""
    found = sorted(ran, key=lambda one: one.start_s)
    edges = sorted(
        [(one.start_s, 1, one.what) for one in found] + [(max(one.end_s, one.start_s), -1, one.what) for one in found]
    )
    running = {"work": 0, "link": 0, "copy": 0}
    spent = {"busy": 0.0, "link": 0.0, "exposed": 0.0, "copy": 0.0}
    gaps: list[float] = []
    before = edges[0][0]
    for at, change, what in edges:
        length = at - before
        any_link, any_copy, any_work = (running[one] > 0 for one in ("link", "copy", "work"))
        if length > 0 and not (any_link or any_copy or any_work):
            gaps.append(length)
        elif length > 0:
            spent["busy"] += length
            spent["link"] += length * any_link
            spent["exposed"] += length * (any_link and not any_work and not any_copy)
            spent["copy"] += length * (any_copy and not any_work and not any_link)
        running[what] += change
        before = at
    return DeviceTrace(
        device=device, name=name, span_s=edges[-1][0] - edges[0][0], busy_s=spent["busy"],
        communication_s=spent["link"], exposed_s=spent["exposed"], copy_s=spent["copy"], kernels=len(found),
        gaps=len(gaps), gap_s=timing(gaps) if gaps else None,
    )  # fmt: skip

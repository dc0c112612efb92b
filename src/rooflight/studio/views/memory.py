"""Memory: what the scenario in focus holds, what is left, what a step moves; of several, what each needs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rooflight.show import numbers
from rooflight.show.blocks import Block, Prose, Table
from rooflight.show.charts import memory as held
from rooflight.show.charts import traffic
from rooflight.studio.answered import Answered, answered
from rooflight.studio.view import Asked, View, drawn
from rooflight.values.held import MemoryBlock

HEADS = ("scenario", "weights", "KV cache of the batch", "reserve", "needs", "usable", "fits", "most sequences")


def memory(asked: Asked) -> View:
    """The view. Raises RooflightError where the scenario in focus cannot be answered."""
    found = answered(asked.page)
    focus = found[asked.page.shown]
    if focus.error is not None:
        raise focus.error
    assert focus.analysis is not None
    chart = held.memory(focus.analysis, look=asked.look)
    charts = [msgspec.structs.replace(drawn(chart), title="What lies in memory")]
    if focus.analysis.answered:
        charts.append(drawn(traffic.traffic(focus.analysis, look=asked.look)))
    return View(answer=chart.title, charts=tuple(charts), blocks=_beside(found) if len(found) > 1 else ())


def _beside(found: Sequence[Answered]) -> tuple[Block, ...]:
    """What every scenario needs; one that cannot be answered is said."""
    rows = tuple((one.label.brief, *_cells(one.analysis.memory)) for one in found if one.analysis is not None)
    absent = [
        Prose(f"{one.label.whole} is left out: {one.error.what}.", "warning") for one in found if one.error is not None
    ]
    return *absent, Table(title="Memory of all devices", heads=HEADS, left=("scenario", "fits"), rows=rows)


def _cells(one: MemoryBlock) -> tuple[str, ...]:
    sizes = (one.weights_bytes, one.kv_bytes, one.reserve_bytes, one.needed_bytes, one.allowed_bytes)
    most = "not known" if one.max_batch is None else f"{one.max_batch:,}"
    fits = "not known" if one.fits is None else "yes" if one.fits else "no"
    return (*(numbers.amount(size, "B") or "not known" for size in sizes), fits, most)

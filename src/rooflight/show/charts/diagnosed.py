"""Operators of a recorded profile as dots under the roof of the accelerator that it ran on."""

from __future__ import annotations

from rooflight.catalog.accelerators import load
from rooflight.errors import BadInput, Named
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.kernels import kernels
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.timed import datasheet_of
from rooflight.values.accelerator import Accelerator
from rooflight.values.diagnosis import Diagnosis, KernelRow
from rooflight.values.sample import Sample, Timing

_READ = "Squares: all kernels of an operator together; their FLOP and bytes by counters, shapes or the model."


def diagnosed(found: Diagnosis, *, on: str | Accelerator | None = None, look: Look = STANDARD) -> Chart:
    """The operators of a diagnosis under the roofs of one device; those without FLOP or bytes have no place there.

    on      the accelerator, left out: the diagnosis's own. Raises BadInput where neither is known.
    """
    name = found.accelerator if on is None else on
    if name is None:
        raise BadInput(
            "no accelerator is known whose roof the kernels could be under", where=Named.of("on"), got="nothing",
            want="an accelerator's id", try_this=Named("{on}", on="h100-sxm"),
        )  # fmt: skip
    card = load(name)[0] if isinstance(name, str) else name
    dots = [_dot(row) for row in found.kernels]
    return kernels(card, [dot for dot in dots if dot is not None], datasheet=datasheet_of(card), read=_READ, look=look)


def _dot(row: KernelRow) -> Sample | None:
    """An operator as one measurement of all its time."""
    if not row.flop_per_s or not row.bytes_per_s or not row.total_s:
        return None
    return Sample(
        kind="kernel", name=row.operator, operator=row.operator, format=row.format or "bf16",
        time_s=Timing(median=row.total_s, low=row.total_s, high=row.total_s), flop=row.flop_per_s * row.total_s,
        bytes=row.bytes_per_s * row.total_s,
    )  # fmt: skip

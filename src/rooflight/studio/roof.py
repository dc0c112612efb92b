"""The roof of the scenario in focus: what its handles hold, and where any workload stands under it."""

from __future__ import annotations

import msgspec

from rooflight.roofline.formulas import attainable_flop_per_s
from rooflight.show import numbers
from rooflight.show.charts.roof_lines import formats
from rooflight.values.accelerator import devices_named
from rooflight.values.analysis import Analysis


class Roof(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of all devices together, as the axes have them; flop_per_s None where no peak is published.

    format      of the products that the peak is of
    bandwidth_words, peak_words     the same of one device, in words
    """

    bytes_per_s: float
    flop_per_s: float | None
    format: str
    bandwidth_words: str
    peak_words: str


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A workload of some intensity: the most FLOP a second that the roof leaves it, and a sentence."""

    x: float
    y: float
    text: str


def roof_of(analysis: Analysis) -> Roof:
    """The roof: its main format is that with most FLOP."""
    card = analysis.accelerator
    form = next(iter(formats(analysis)), "")
    peak = card.peak_flop_per_s.get(form)
    return Roof(
        bytes_per_s=card.memory_bytes_per_s * card.count,
        flop_per_s=None if peak is None else peak * card.count,
        format=form,
        bandwidth_words=numbers.amount(card.memory_bytes_per_s, "B/s"),
        peak_words="not known" if peak is None else f"{form} {numbers.amount(peak, 'FLOP/s')}",
    )


def placed(analysis: Analysis, intensity: float) -> Placed:
    """Where a workload of so many FLOP a byte stands. Rates and intensity as the roofline has them, without a model."""
    roof, card = roof_of(analysis), analysis.accelerator
    where = devices_named(card.id, card.count)
    start = f"At {numbers.plain(intensity)} FLOP/byte {where} does at most"
    slope = intensity * roof.bytes_per_s
    if roof.flop_per_s is None:
        return Placed(x=intensity, y=slope, text=f"{start} {numbers.amount(slope, 'FLOP/s')}, by its memory.")
    ridge = roof.flop_per_s / roof.bytes_per_s
    most = float(attainable_flop_per_s(intensity, roof.flop_per_s, roof.bytes_per_s))
    share = f"{numbers.amount(most, 'FLOP/s')}, {numbers.percent(most / roof.flop_per_s)} of its {roof.format} peak"
    side = "memory-bound" if intensity < ridge else "compute-bound"
    return Placed(x=intensity, y=most, text=f"{start} {share}: {side}, the ridge is at {numbers.plain(ridge)}.")

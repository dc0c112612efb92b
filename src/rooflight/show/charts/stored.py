"""Stored samples of kernels as dots under the roofs of a machine; of two files in two colours."""

from __future__ import annotations

from rooflight.catalog.accelerators import load
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.kernels import kernels
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.timed import datasheet_of
from rooflight.values.accelerator import Accelerator
from rooflight.values.samples import Samples


def stored(found: Samples, *, on: str | Accelerator = "this", look: Look = STANDARD) -> Chart:
    """The kernels of one file or two under the roofs of `on`, one device. Raises UnknownName, MissingFact."""
    card = load(on)[0] if isinstance(on, str) else on
    sets = {file.source: file.samples for file in found.files}
    dots = sets if len(sets) > 1 else found.files[0].samples
    return kernels(card, dots, datasheet=datasheet_of(card), look=look)

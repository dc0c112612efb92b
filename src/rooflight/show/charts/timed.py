"""Kernels that were timed, as dots under the roofs they are set beside."""

from __future__ import annotations

from rooflight.catalog.accelerators import shipped
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.kernels import kernels
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.values.accelerator import Accelerator
from rooflight.values.kernels import Kernels


def timed(found: Kernels, *, look: Look = STANDARD) -> Chart:
    """The kernels of an answer under the roofs of its machine; its datasheet's beside, where that is known."""
    return kernels(found.on, found.samples(), datasheet=datasheet_of(found.on), look=look)


def datasheet_of(card: Accelerator) -> Accelerator | None:
    """The catalog's entry of a device that was measured."""
    name = None if card.measured is None else card.measured.datasheet
    return None if name is None else shipped(name)

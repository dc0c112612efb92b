"""The roofline of the scenario in focus once more, with what a view puts under it."""

from __future__ import annotations

from rooflight.show.charts import ghosts
from rooflight.show.charts.kernel_dots import Samples
from rooflight.show.charts.place import Datasets
from rooflight.show.charts.roofline import READ, rows
from rooflight.show.charts.theme import Look
from rooflight.studio.answered import Answered, landmarks_of
from rooflight.studio.drawings import caption, template
from rooflight.studio.view import Drawn
from rooflight.values.moves import Moves


def roofline_of(
    focus: Answered, look: Look, *, samples: Samples = (), moves: Moves | None = None
) -> Datasets:  # fmt: skip
    """The roofline's rows of a scenario that was answered."""
    assert focus.analysis is not None
    return ghosts.added(rows(focus.analysis, landmarks=[landmarks_of(focus)], samples=samples, look=look), moves, look)


def roof_drawn(focus: Answered, look: Look, data: Datasets, read: str) -> Drawn:
    """Those rows in the document that the first screen has; read: how to read what is further there."""
    spec = template(look)
    datasets = {name: data.get(name, empty) for name, empty in spec["datasets"].items()}
    title = f"Roofline of {focus.label.whole}"
    notes = tuple(text for text in (read, READ, caption(focus, landmarks_of(focus))) if text)
    return Drawn(kind="roofline", title=title, notes=notes, spec={**spec, "datasets": datasets})

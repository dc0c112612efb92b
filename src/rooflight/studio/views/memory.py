"""Memory: what the scenario in focus holds, what is left, and what a step moves through it."""

from __future__ import annotations

from rooflight.show.charts import memory as held
from rooflight.show.charts import traffic
from rooflight.studio.answered import focused
from rooflight.studio.view import Asked, View, drawn


def memory(asked: Asked) -> View:
    """The view. Raises RooflightError where the scenario in focus cannot be answered."""
    found = focused(asked.page)
    assert found.analysis is not None
    charts = [held.memory(found.analysis, look=asked.look)]
    if found.analysis.answered:
        charts.append(traffic.traffic(found.analysis, look=asked.look))
    return View(answer=charts[0].title, charts=tuple(drawn(one) for one in charts))

"""A sweep with what it assumes in words."""

from __future__ import annotations

from rooflight.serve.sweep import SweepPoints
from rooflight.words.notes import worded


class Sweep(SweepPoints):
    """A sweep as callers get it."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Of all scenarios, each once; what an axis varies is not assumed."""
        return worded(self.assumed)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of all scenarios, each once; and of axes that change nothing in this phase."""
        return worded(self.warned)


def told(found: SweepPoints) -> Sweep:
    """The same points; nothing is computed."""
    return Sweep(found.scenarios, found.grid, found.phase, found.axes)

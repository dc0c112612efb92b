"""Which steps of which plans an answer evaluates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rooflight.scenario.steps import Steps


def evaluations(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Any]) -> list[Any]:
    """(plan, step) of every evaluation that `ask()` makes, be it of the bounds alone or in full."""
    made: list[Any] = []
    passed = Steps._passed

    def watched(self: Steps, step: Any, bounds_only: bool) -> Any:
        known = self._seen.get(step)
        found = passed(self, step, bounds_only)
        if found is not known:
            made.append((self._plan, step))
        return found

    monkeypatch.setattr(Steps, "_passed", watched)
    ask()
    return made


def twice(made: list[Any]) -> list[Any]:
    """The steps evaluated more than once."""
    return [step for number, (plan, step) in enumerate(made) if (plan, step) in made[:number]]

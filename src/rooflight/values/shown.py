"""How an answer shows itself. The room that draws lies above this one, so answers ask it through the front door."""

from __future__ import annotations

from typing import Any


class Shown:
    """For values that are answers: `.chart()`, and the same picture as their display in a notebook."""

    __slots__ = ()

    def chart(self, kind: str | None = None, **options: Any) -> Any:
        """The picture of this answer; `rooflight.chart` says what there is. Raises UnknownName, MissingExtra."""
        import rooflight

        return rooflight.chart(self, kind, **options)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows: the chart, or the text where the extra `charts` is not installed."""
        import rooflight

        return rooflight.display(self)

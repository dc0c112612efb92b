"""How values show themselves. The room that draws lies above this one, so answers ask it through the front door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

if TYPE_CHECKING:
    import rooflight


class Brief:
    """For values with many fields: a repr of those that tell one from another, named in `brief`."""

    __slots__ = ()

    brief: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        all_told = set(getattr(self, "__struct_fields__", ("others",))) <= set(self.brief)
        return f"{type(self).__name__}({told}{'' if all_told else ', ...'})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.brief]


class Part(Brief):
    """For a part of an answer."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """What the documented JSON has of it, as Python values."""
        result: dict[str, Any] = msgspec.to_builtins(self)
        return result


class Displayed(Brief):
    """For what is shown whole: its document, its rows, and its page in a notebook."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The documented JSON as Python values."""
        import rooflight

        return rooflight.document(self)

    def records(self) -> list[dict[str, Any]]:
        """The rows of its CSV, each with its columns by name: what DataFrame(...) of pandas or polars takes."""
        import rooflight

        return rooflight.records(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows: `rooflight.display` says what."""
        import rooflight

        return rooflight.display(self)


class Shown(Displayed):
    """For values that are answers: `.chart()`, and the same picture as their display in a notebook."""

    __slots__ = ()

    def chart(self, kind: str | None = None, **options: Any) -> rooflight.Chart:
        """The picture of this answer; `rooflight.chart` says what there is. Raises UnknownName, MissingExtra."""
        import rooflight

        return rooflight.chart(self, kind, **options)

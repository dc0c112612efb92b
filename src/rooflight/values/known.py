"""Parts of an answer by name: those that there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, TypeVar

from rooflight.errors import NotThere

Value = TypeVar("Value")


class Known(dict[str, Value]):
    """The parts that an answer has, by name. Of another `get` gives None, and [] raises NotThere, which says why."""

    __slots__ = ("_what", "_why")

    def __init__(self, parts: Mapping[str, Value | None] | None, what: str, why: str = "") -> None:
        super().__init__({name: part for name, part in (parts or {}).items() if part is not None})
        self._what, self._why = what, why

    def __missing__(self, name: str) -> NoReturn:
        why = f": {self._why.rstrip('.')}" if self._why else ""
        raise NotThere(f"the answer has no {self._what} {name!r}{why}", got=name, want=", ".join(self) or None)

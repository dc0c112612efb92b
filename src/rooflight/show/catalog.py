"""What the catalog holds, as Python lists it: values to ask with, and the documents of the command line's lists."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, TypeVar, overload

import msgspec

from rooflight.show import accelerators, models
from rooflight.show.blocks import Block
from rooflight.show.data import Rows
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Model
from rooflight.values.shown import Displayed

Entry = TypeVar("Entry", bound=Model | Accelerator)
# Ids that a repr names.
_TOLD = 3


class Catalog(Displayed, Sequence[Entry]):
    """Entries of the catalog, by id; a slice of them is the same."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = tuple(entries)

    @property
    def ids(self) -> tuple[str, ...]:
        """The id of each, which every function takes as its name."""
        return tuple(one.id for one in self._entries)

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> Entry | Self:
        return type(self)(self._entries[place]) if isinstance(place, slice) else self._entries[place]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __eq__(self, other: object) -> bool:
        return self._entries == other._entries if isinstance(other, type(self)) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # as its entries

    def __repr__(self) -> str:
        told = [*map(repr, self.ids[:_TOLD]), *(["..."] if len(self) > _TOLD else [])]
        return f"<{type(self).__name__} of {len(self)}: {', '.join(told)}>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("ids", self.ids)]

    @abstractmethod
    def listing(self) -> models.Listing | accelerators.Listing:
        """The list as the command line documents it."""

    @abstractmethod
    def rows(self) -> Rows:
        """The list as a table for programs."""

    @abstractmethod
    def blocks(self) -> list[Block]:
        """The list as a page."""


class ModelCatalog(Catalog[Model]):
    """Models of the catalog, by id. `ids` are their names; a slice of it is one too."""

    def listing(self) -> models.Listing:
        """The document rooflight.models/1."""
        return models.listing(self)

    def rows(self) -> Rows:
        """The list as a table for programs."""
        return models.list_rows(self.listing())

    def blocks(self) -> list[Block]:
        """The list as a page."""
        return models.list_blocks(self.listing())


class AcceleratorCatalog(Catalog[Accelerator]):
    """Accelerators of the catalog, by id. `ids` are their names; a slice of it is one too."""

    def listing(self) -> accelerators.Listing:
        """The document rooflight.accelerators/1."""
        return accelerators.listing(self)

    def rows(self) -> Rows:
        """The list as a table for programs."""
        return accelerators.list_rows(self.listing())

    def blocks(self) -> list[Block]:
        """The list as a page."""
        return accelerators.list_blocks(self.listing())


def rows(catalog: Catalog[Any]) -> Rows:
    """The list as a table for programs."""
    return catalog.rows()


def blocks(catalog: Catalog[Any]) -> list[Block]:
    """The list as a page."""
    return catalog.blocks()


def document(catalog: Catalog[Any]) -> dict[str, Any]:
    """The list as the command line documents it."""
    result: dict[str, Any] = msgspec.to_builtins(catalog.listing())
    return result

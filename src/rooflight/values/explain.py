"""What `rooflight explain` answers: values that follow from those that were given, and what a term means."""

from __future__ import annotations

import msgspec

from rooflight.values.known import Known
from rooflight.values.shown import Displayed, Part

SCHEMA = "rooflight.explain/1"


class Given(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A value that was stated, in base units; unit "" is a plain number, "share" one of 0 to 1."""

    brief = ("name", "value", "unit")

    name: str
    value: float
    unit: str


class Derived(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A value that follows, in base units.

    formula     in words, "" of a fact; numbers: the same with its numbers, or where a fact is from
    """

    brief = ("name", "value", "unit", "formula")

    name: str
    value: float
    unit: str
    what: str
    formula: str
    numbers: str


class Term(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A word of the field.

    means, not_means    in a sentence or two each
    conversion  how it turns into other quantities, in words; example: a sum with numbers, as "0.55 * 3.35 = 1.8425",
                and example_words what its numbers are
    aliases     what other tools call it; see: related terms
    """

    brief = ("name", "title")

    name: str
    title: str
    means: str
    not_means: str
    conversion: str = ""
    example: str = ""
    example_words: str = ""
    aliases: tuple[str, ...] = ()
    see: tuple[str, ...] = ()


class Listed(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A term in the list of all."""

    brief = ("name", "title")

    name: str
    title: str


class Explained(Displayed, msgspec.Struct, frozen=True, kw_only=True):
    """What `rooflight.explain` returns.

    given, derived  what was stated, and what follows, each with its formula
    term            the term that was asked for, None where values were
    terms           all terms, where nothing was asked for
    possible        False: the values cannot be together, or are faster than physics allows
    notes           what was assumed, and what does not follow
    """

    brief = ("answer",)

    schema: str = SCHEMA
    answer: str
    given: tuple[Given, ...] = ()
    derived: tuple[Derived, ...] = ()
    term: Term | None = None
    terms: tuple[Listed, ...] = ()
    possible: bool = True
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> Known[float]:
        """Given and derived values by name; [] of another raises NotThere, `get` gives None."""
        every: tuple[Given | Derived, ...] = (*self.given, *self.derived)
        return Known({one.name: one.value for one in every}, "value", self.answer)

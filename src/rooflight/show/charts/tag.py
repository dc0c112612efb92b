"""Whose a series is: one name, one letter or number, one hue, the same in every picture that has it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rooflight.show.charts.wording import variant, where
from rooflight.values.analysis import Analysis

BEFORE = "before"
LETTERS = "ABCD"


class Tag(msgspec.Struct, frozen=True):
    """What a series is called; mark: its letter, or its number where it has none; hue: its name in the palette."""

    name: str
    mark: str
    hue: str

    @property
    def lettered(self) -> bool:
        """Whether it has a letter, as scenarios of a page do."""
        return self.mark.isalpha()

    @property
    def whole(self) -> str:
        """The name, behind the letter where there is one: A, 4 x h100-sxm."""
        return f"{self.mark}, {self.name}" if self.lettered else self.name

    @property
    def brief(self) -> str:
        """The letter where there is one, else the name."""
        return self.mark if self.lettered else self.name

    def at(self, phase: str, short: str) -> str:
        """What its dot of a phase is called: A decode, or D1 with a number. short: the phase's letter."""
        return f"{self.mark} {phase}" if self.lettered else f"{short}{self.mark}"


def lettered(place: int, name: str) -> Tag:
    """Of the scenario at a place of a page, counted from 0: whether or not those before it have an answer."""
    return Tag(name, LETTERS[place], str(place + 1))


def numbered(shown: Sequence[Analysis], names: Sequence[str] = (), *, moved: bool = False) -> list[Tag]:
    """In the order in which analyses are drawn: 1, 2, ... Of a move, what was before has none of the hues.

    names   what they are called; left out: their devices, and where these are alike what differs
    """
    first = 0 if moved else 1
    hues = [str(number) if number else BEFORE for number in range(first, len(shown) + first)]
    called = _names(shown, names, moved)
    return [Tag(name, str(number), hue) for number, (name, hue) in enumerate(zip(called, hues, strict=True), 1)]


def _names(shown: Sequence[Analysis], names: Sequence[str], moved: bool) -> list[str]:
    if names:
        return [names[number] if number < len(names) else where(one) for number, one in enumerate(shown)]
    if moved:
        return ["before", "after"]
    alike = len(shown) > 1 and len({where(one) for one in shown}) == 1
    return [variant(one) if alike else where(one) for one in shown]

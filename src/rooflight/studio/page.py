"""What a page shows: up to four scenarios, which one is in focus, and what is drawn beside them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Bounds

from rooflight.errors import BadInput
from rooflight.serve.goals import LEAST_GOAL_MS, MOST_GOAL_MS, Wanted, wanted_ms
from rooflight.show.charts.tag import LETTERS, Tag, lettered
from rooflight.show.charts.wording import short
from rooflight.studio.question import MOST_SAMPLES, Question
from rooflight.units import scaled
from rooflight.values.field import Field
from rooflight.values.question import FIELDS

MOST_SCENARIOS = 4
# Letters of a label where there is little room.
_BRIEF = 28
_MOST_INTENSITY = 1_000_000

Milliseconds = Annotated[float, Bounds(ge=LEAST_GOAL_MS, le=MOST_GOAL_MS, allow_inf_nan=False)]
Intensity = Annotated[float, Bounds(ge=0.01, le=_MOST_INTENSITY, allow_inf_nan=False)]


class Page(BaseModel):
    """The state of a page, all that an address or a request has of it.

    focus           the scenario that the form changes and that views of one are about; counted from 0
    intensity       FLOP a byte of a workload to place on the roof of the scenario in focus
    tpot_slo_ms, ttft_slo_ms    goals: what a user waits at most for a token, and for the first one
    levels          caches and links as roofs too, where their rates are known
    samples         JSON lines of kernels that were timed: dots under the roofs
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenarios: Annotated[list[Question], Bounds(min_length=1, max_length=MOST_SCENARIOS)] = [Question()]
    focus: Annotated[int, Bounds(ge=0, lt=MOST_SCENARIOS)] = 0
    intensity: Intensity | None = None
    tpot_slo_ms: Milliseconds | None = None
    ttft_slo_ms: Milliseconds | None = None
    levels: bool = False
    samples: Annotated[str, Bounds(max_length=MOST_SAMPLES)] | None = None

    @property
    def shown(self) -> int:
        """The index of the scenario in focus."""
        return min(self.focus, len(self.scenarios) - 1)

    @property
    def goals(self) -> Wanted | None:
        """What users may wait at most; None where the page has no goal."""
        return wanted_ms(self.ttft_slo_ms, self.tpot_slo_ms)

    @property
    def focused(self) -> Question:
        """The scenario in focus."""
        return self.scenarios[self.shown]


class Label(msgspec.Struct, frozen=True):
    """How a scenario is called: its letter, and its own name or what tells it from the first."""

    letter: str
    name: str

    @property
    def tag(self) -> Tag:
        """The same for pictures, with the hue of its place on the page."""
        return lettered(LETTERS.index(self.letter), self.name)

    @property
    def whole(self) -> str:
        """Both: A, 4 x h100-sxm."""
        return f"{self.letter}, {self.name}"

    @property
    def brief(self) -> str:
        """Both where they are short, as a table beside figures has room for; else cut."""
        return self.whole if len(self.whole) <= _BRIEF else f"{self.whole[: _BRIEF - 1].rstrip(' ,')}…"


def labels(page: Page) -> list[Label]:
    """A label each; no two are alike, since their letters are not."""
    return [
        Label(LETTERS[place], in_a_line(one.name) or in_a_line(_differing(one, page)))
        for place, one in enumerate(page.scenarios)
    ]


def in_a_line(text: str) -> str:
    """The text without line breaks and without what turns it round: in a file of commands a name stays in its line."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _differing(one: Question, page: Page) -> str:
    """What of a scenario is not in all of the page: its model, its machine, its fields."""
    others = page.scenarios
    parts = []
    if any((other.model, other.config_key) != (one.model, one.config_key) for other in others):
        parts.append(short(one.model_name))
    fields = [name for name in FIELDS if any(getattr(other, name) != getattr(one, name) for other in others)]
    if not (parts or fields) or any(other.on != one.on for other in others):
        parts.append(one.on)
    parts += [f"{words} x {times:g}" for words, times in _rates(one) if times != 1]
    parts += [_said(FIELDS[name], getattr(one, name)) for name in fields]
    return ", ".join(parts)


def _rates(one: Question) -> tuple[tuple[str, float], tuple[str, float]]:
    return ("bandwidth", one.bandwidth_times), ("peaks", one.peak_times)


def _said(field: Field, value: Any) -> str:
    """A field as a label has it: weights fp8, batch 64, no graphs."""
    words = field.name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"no {words}"
    default = field.shown_default or "as it comes"
    return f"{words} {default if value is None else _shown(field, value)}"


def _shown(field: Field, value: Any) -> Any:
    """A value as a person reads it: a size with a prefix, as far as it is one."""
    if field.kind != "size":
        return value
    try:
        return scaled(field.checked(value), "B")
    except BadInput:
        return "of no size"

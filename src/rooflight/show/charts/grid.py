"""The points of a page with sliders: up to four named scenarios, each asked at every batch and context of one grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from rooflight.errors import BadInput
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve.landmarks import landmarks
from rooflight.serve.runs import RunsAlong
from rooflight.serve.sweep import SweepPoints
from rooflight.show.charts.series import Line, lines
from rooflight.show.charts.tag import Tag
from rooflight.show.charts.wording import deployed
from rooflight.values.analysis import Analysis
from rooflight.words.analysis import analyzed

MOST_SCENARIOS = 4
# Powers of two: batches up to some that no longer fit, contexts of common lengths.
_BATCHES = tuple(2**power for power in range(11))
_CONTEXTS = tuple(2**power for power in range(8, 18))
# Batches reach so many times beyond what fits at the scenarios' own contexts; where no size is known, this far.
_BEYOND, _UNKNOWN = 4, 256


class Place(NamedTuple):
    """A point of the grid by its numbers along both axes."""

    batch: int
    context: int


class Grid:
    """Each scenario's answers at every point, and its decode steps along the batch at every context.

    tags                whose each is; a scenario that came with a name alone has its number
    batches, contexts   of the sliders: powers of two, and what each scenario was asked at
    asked               where each scenario stands as it was asked
    """

    def __init__(self, scenarios: Sequence[tuple[str | Tag, Scenario]]) -> None:
        if not 1 <= len(scenarios) <= MOST_SCENARIOS:
            raise BadInput(
                f"a page holds up to {MOST_SCENARIOS} scenarios", where="scenarios", got=str(len(scenarios)),
                want=f"1 to {MOST_SCENARIOS}", try_this="a page for each few of them",
            )  # fmt: skip
        self._called = [name for name, _ in scenarios]
        self.scenarios = [sc for _, sc in scenarios]
        own = [(int(sc.workload.batch), int(context_tokens(sc.workload))) for sc in self.scenarios]
        limits = [landmarks(sc).kv_limit for sc in self.scenarios]
        most = max(limit or max(batch, _UNKNOWN) for limit, (batch, _) in zip(limits, own, strict=True))
        ladder = (size for size in _BATCHES if size <= max(_BEYOND * most, 2 * _BEYOND))
        self.batches = sorted({*ladder, *(batch for batch, _ in own)})
        self.contexts = sorted({*_CONTEXTS, *(context for _, context in own)})
        self.asked = [Place(self.batches.index(batch), self.contexts.index(context)) for batch, context in own]

    @cached_property
    def tags(self) -> list[Tag]:
        """Names that are "" are the scenario's model and devices."""
        return [
            one if isinstance(one, Tag) else Tag(one or deployed(answer), str(number), str(number))
            for number, (one, answer) in enumerate(zip(self._called, self.started, strict=True), 1)
        ]

    @property
    def names(self) -> list[str]:
        """What the scenarios are called, without letters."""
        return [tag.name for tag in self.tags]

    @cached_property
    def places(self) -> list[Place]:
        """Every point, in the order in which the page has them."""
        return [Place(*at) for at in np.ndindex(len(self.batches), len(self.contexts))]

    @cached_property
    def answers(self) -> list[list[Analysis]]:
        """Of each scenario, at every place."""
        return [
            [analyzed(self.at(sc, place), run=run) for place in self.places]
            for sc, run in ((sc, RunsAlong(self.batches)) for sc in self.scenarios)
        ]

    @cached_property
    def started(self) -> list[Analysis]:
        """Of each scenario, as it was asked."""
        return [answers[self.number(at)] for answers, at in zip(self.answers, self.asked, strict=True)]

    @cached_property
    def along(self) -> list[list[Line]]:
        """Of each scenario, its decode steps along the batch, at every context; with the landmarks there."""
        return [[self._line(sc, tag, context) for context in range(len(self.contexts))]
                for tag, sc in zip(self.tags, self.scenarios, strict=True)]  # fmt: skip

    def number(self, place: Place) -> int:
        """A place's, in the order of `places`."""
        return place.batch * len(self.contexts) + place.context

    @property
    def together(self) -> Iterator[tuple[list[Analysis], list[Line]]]:
        """All scenarios at every place, then each as it was asked."""
        for number, place in enumerate(self.places):
            yield [one[number] for one in self.answers], [one[place.context] for one in self.along]
        yield self.started, [one[at.context] for one, at in zip(self.along, self.asked, strict=True)]

    @property
    def fitting(self) -> list[Analysis]:
        """Those that have times: what axes have to hold; as they were asked where none has."""
        return [one for some in self.answers for one in some if one.phases] or self.started

    def at(self, sc: Scenario, place: Place) -> Scenario:
        """The scenario at a place; what was asked stays so, its context perhaps left to the request's mean."""
        changes: dict[str, int] = {"batch": self.batches[place.batch]}
        if self.contexts[place.context] != int(context_tokens(sc.workload)):
            changes["context"] = self.contexts[place.context]
        return msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, **changes))

    def _line(self, sc: Scenario, tag: Tag, context: int) -> Line:
        swept = SweepPoints(
            (self.at(sc, Place(0, context)),), {"batch": np.asarray(self.batches)}, "decode", ("batch",)
        )
        return msgspec.structs.replace(lines(swept).lines[0], name=tag.name, tag=tag)

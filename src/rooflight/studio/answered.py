"""The scenarios of a page with their answers, or with what is wrong with them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.scenario.steps import Plans
from rooflight.serve.goals import Wanted
from rooflight.serve.landmarks import landmarks
from rooflight.serve.runs import RunsAlong
from rooflight.show.figures import Line, Side, line, of_steps
from rooflight.studio.kept import Kept, digest
from rooflight.studio.page import Label, Page, labels
from rooflight.studio.question import Question, scenario_of
from rooflight.values.analysis import Analysis
from rooflight.values.sweep import Landmarks
from rooflight.words.analysis import analyzed
from rooflight.words.headline import headline

# The stops of the slider of batches: eight an octave.
BATCHES = sorted({round(2 ** (step / 8)) for step in range(8 * 12 + 1)})
_landmarks: Kept[Landmarks] = Kept(512)
# A plan keeps up to ten megabytes of steps.
_still: Kept[Still] = Kept(8)
# Of scenarios that stand still while another one, the focus or the width of the page changes.
_analyses: Kept[Analysis] = Kept(32)


class Still(NamedTuple):
    """What stays of a scenario while its batch or its context moves."""

    plans: Plans
    runs: RunsAlong


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario of the page and its answer; or what is wrong with it."""

    label: Label
    question: Question
    scenario: Scenario | None = None
    analysis: Analysis | None = None
    error: RooflightError | None = None

    @property
    def sentence(self) -> str:
        """The answer in one sentence, of what its line in the table is of."""
        assert self.analysis is not None
        return headline(self.analysis, steps=self.side.steps)

    @property
    def side(self) -> Side:
        """What its line in the table is made of."""
        assert self.analysis is not None
        assert self.scenario is not None
        steps = of_steps(self.scenario, self.analysis)
        return Side(analysis=self.analysis, steps=steps, usd_per_hour=self.question.usd_per_hour)

    def line(self, goals: Wanted | None) -> Line:
        """Its line in the table of runs, beside the page's goals; or what is wrong with it."""
        if self.analysis is None:
            return Line(missing="" if self.error is None else self.error.what)
        side = self.side
        return line(self.analysis, steps=side.steps, goals=goals, usd_per_hour=side.usd_per_hour)


def answered(page: Page, *, apart: bool = False) -> list[Answered]:
    """Every scenario of the page with its answer, or what is wrong with it.

    apart   each by itself, to the last bit as the library answers; else of one that moves as in serve.runs.RunsAlong
    """
    return [_answer(label, one, apart=apart) for label, one in zip(labels(page), page.scenarios, strict=True)]


def _answer(label: Label, question: Question, *, apart: bool = False) -> Answered:
    try:
        if apart:
            sc = scenario_of(question)
            return Answered(label=label, question=question, scenario=sc, analysis=analyzed(sc))
        still = _still.get_or_make(_key(question, "batch", "context"), lambda: Still(Plans(), RunsAlong(BATCHES)))
        sc = scenario_of(question, still.plans)
        analysis = _analyses.get_or_make(_key(question), lambda: analyzed(sc, run=still.runs))
        return Answered(label=label, question=question, scenario=sc, analysis=analysis)
    except RooflightError as error:
        return Answered(label=label, question=question, error=error)


def focused(page: Page) -> Answered:
    """The scenario in focus, answered. Raises RooflightError."""
    found = _answer(labels(page)[page.shown], page.focused)
    if found.error is not None:
        raise found.error
    return found


def landmarks_of(one: Answered) -> Landmarks:
    """The landmarks of a scenario that was answered."""
    assert one.scenario is not None
    sc = one.scenario
    return _landmarks.get_or_make(key_without_batch(one.question), lambda: landmarks(sc))


def key_without_batch(question: Question) -> str:
    """What everything but the batch says about a scenario: a digest, so that a pasted config costs no memory."""
    return _key(question, "batch")


def _key(question: Question, *without: str) -> str:
    """All that the answer hangs on, as a digest: neither its name nor its price does."""
    said = question.model_dump(exclude={"name", "config", "gguf", "machine", "usd_per_hour", *without})
    return digest([question.config_key, question.machine_key, said])

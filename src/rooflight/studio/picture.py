"""Everything one picture of the page needs, in one answer: fast enough to be asked for while a slider moves."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.serve.landmarks import landmarks
from rooflight.show.charts.place import Datasets
from rooflight.studio import commands, problems
from rooflight.studio.curve import Curve, curve
from rooflight.studio.drawings import Card, Place, along_batch, drawn, exported
from rooflight.studio.kept import Kept, digest
from rooflight.studio.question import MACHINE, Question, cards_of, model_of, samples_of, scenario_of
from rooflight.studio.state import query_of
from rooflight.studio.told import told
from rooflight.values.analysis import Analysis
from rooflight.values.sweep import Landmarks
from rooflight.words.analysis import analyzed

_curves: Kept[Curve] = Kept(256)
_landmarks: Kept[Landmarks] = Kept(512)
_panels: Kept[dict[str, Datasets]] = Kept(64)


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """answer: the sentence of the card in focus, cards[shown]. told: further ones about it.

    datasets: rows by chart, then by dataset.

    landmarks are null where this process does not know them yet: /api/landmarks finds them for the next picture.
    along is a digest: where it is that of the picture before, the charts along the batch differ in `here` alone.
    """

    answer: str
    told: list[str]
    query: str
    shown: int
    cards: list[Card]
    before: Analysis | None
    landmarks: Landmarks | None
    datasets: dict[str, dict[str, list[dict[str, Any]]]]
    along: str
    commands: dict[str, str]


def picture(question: Question, place: Place, levels: bool = False) -> Picture:
    """The picture of a question. A card that cannot be answered says why, beside the others.

    levels      every level of memory as a roof, of a single machine

    Raises BadInput where the card in focus cannot be answered, MissingFact where a number is why.
    """
    asked = scenarios_of(question)
    cards = [_card(question, number, sc) for number, sc in enumerate(asked)]
    answers = [card for card in cards if card.analysis is not None]
    shown = cards[question.shown].analysis
    focus = asked[question.shown]
    if shown is None or isinstance(focus, RooflightError):  # asked once more, for its error
        focus = focused(question)
        shown = analyzed(focus, serving=False)
    before = _before(question)
    marks = _landmarks.get(key_without_batch(question, question.shown))
    key = _along_key(question, cards, marks, place)
    dots = samples_of(question)
    along = _panels.get_or_make(key, lambda: along_batch(answers, marks, place.small))
    return Picture(
        answer=shown.answer,
        told=told(focus, shown),
        query=query_of(question),
        shown=question.shown,
        cards=cards,
        before=before,
        landmarks=marks,
        datasets=drawn(answers, shown, before, marks, place, dots, levels) | _marked(along, question.asked()[0].batch),
        along=key,
        commands=commands.of(question, shown),
    )


def _along_key(question: Question, cards: list[Card], marks: Landmarks | None, place: Place) -> str:
    """What the charts along the batch depend on."""
    parts = [key_without_batch(question, number) for number, card in enumerate(cards) if card.analysis is not None]
    return digest([*parts, msgspec.to_builtins(marks), place.small.wide, place.small.dark])


def _marked(along: dict[str, Datasets], batch: int) -> dict[str, Datasets]:
    """With the mark at the question's batch."""
    return {kind: {**rows, "here": [{"x": batch}]} for kind, rows in along.items()}


def export(question: Question, dark: bool, form: str) -> bytes:
    """The roofline of a question as SVG or PNG. Raises as picture() does."""
    shown = analyzed(focused(question), serving=False)
    before = _before(question)
    if before is not None or len(question.cards) == 1:
        marks = None if before else landmarks_of(question)
        return exported([shown], before, marks, dark, form, samples_of(question))
    answered = [analyzed(sc, serving=False) for sc in scenarios_of(question) if not isinstance(sc, RooflightError)]
    return exported(answered, None, None, dark, form, samples_of(question))


def scenarios_of(question: Question) -> list[Scenario | RooflightError]:
    """The scenario of every card, or what is wrong with it. Raises BadInput for the model."""
    model = model_of(question)
    found: list[Scenario | RooflightError] = []
    for card in cards_of(question):
        if isinstance(card, RooflightError):
            found.append(card)
            continue
        try:
            found.append(scenario_of(question, model, card))
        except RooflightError as error:
            found.append(error)
    return found


def landmarks_of(question: Question) -> Landmarks:
    """The landmarks of the card in focus; later pictures have them too. Raises RooflightError."""
    sc = focused(question)
    return _landmarks.get_or_make(key_without_batch(question, question.shown), lambda: landmarks(sc))


def focused(question: Question) -> Scenario:
    """The question about the card in focus. Raises RooflightError."""
    card = cards_of(question)[question.shown]
    if isinstance(card, RooflightError):
        raise card
    return scenario_of(question, model_of(question), card)


def _card(question: Question, place: int, sc: Scenario | RooflightError) -> Card:
    name = question.cards[place]
    try:
        if isinstance(sc, RooflightError):
            raise sc
        steps = _curves.get_or_make(key_without_batch(question, place), lambda: curve(sc))
        return Card(on=name, analysis=analyzed(sc, serving=False), curve=steps)
    except RooflightError as error:
        return Card(on=name, problem=problems.of_error(error, "cards"))


def _before(question: Question) -> Analysis | None:
    """The card in focus as it was; None where nothing was different, or it cannot be answered."""
    earlier = question.as_before()
    if earlier is None:
        return None
    sc = scenarios_of(earlier)[0]
    if isinstance(sc, RooflightError):
        raise sc
    return analyzed(sc, serving=False)


def key_without_batch(question: Question, place: int) -> str:
    """What everything but the batch says about cards[place]: a digest, so that a pasted config costs no memory."""
    left_out = {
        "batch", "before", "cards", "focus", "bandwidth_times", "peak_times", "config", "machine", "samples",
    }  # fmt: skip
    machine = question.machine_key if question.cards[place] == MACHINE else None
    parts = [question.config_key, machine, question.model_dump(exclude=left_out)]
    rates = (question.bandwidth_times, question.peak_times) if place == question.shown else (1.0, 1.0)
    return digest([question.cards[place], rates, parts])

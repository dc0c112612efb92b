"""What a request may ask, with bounds so that no one request takes long. Names are looked up in the catalog only.

A model is a catalog entry or a pasted config.json that is parsed in memory: no text of a request becomes a path.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from rooflight.catalog import accelerators, models
from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadInput, Named
from rooflight.scenario.definite import Scenario, scenario
from rooflight.studio.kept import Kept, digest
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.workload import Workload

MOST_CARDS = 4
MOST_BATCH = 1 << 16
MOST_TOKENS = 1 << 22
MOST_TP = 1024
PASTED = "your config.json"

Name = Annotated[str, Field(min_length=1, max_length=200)]
Format = Annotated[str, Field(min_length=1, max_length=40)]
Times = Annotated[float, Field(ge=0.1, le=10, allow_inf_nan=False)]


class Change(BaseModel):
    """Fields of a question as they were before; what is left out was the same.

    A format "auto" and a context of -1 stand for the library's defaults.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Name | None = None
    weights: Format | None = None
    kv_cache: Format | None = None
    attention: Literal["flash", "naive"] | None = None
    tp: Annotated[int, Field(ge=1, le=MOST_TP)] | None = None
    batch: Annotated[int, Field(ge=1, le=MOST_BATCH)] | None = None
    isl: Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None = None
    osl: Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None = None
    context: Annotated[int, Field(ge=-1, le=MOST_TOKENS)] | None = None


class Question(BaseModel):
    """One model on one to four cards. Fields are those of `rooflight.analyze`; a null is the library's default.

    config      a model's config.json, in place of `model`
    cards       accelerators to compare; the picture's operators are those of cards[focus]
    bandwidth_times, peak_times     what if cards[focus] had so many times its memory bandwidth and peaks
    before      what was different before: the card in focus as it was then is drawn beside; left out, a single card
                with other rates is drawn beside itself as built
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Name = "meta-llama/Meta-Llama-3.1-8B"
    config: dict[str, Any] | None = None
    cards: Annotated[list[Name], Field(min_length=1, max_length=MOST_CARDS)] = ["h100-sxm"]
    focus: Annotated[int, Field(ge=0, lt=MOST_CARDS)] = 0
    weights: Format | None = None
    kv_cache: Format | None = None
    attention: Literal["flash", "naive"] = "flash"
    tp: Annotated[int, Field(ge=1, le=MOST_TP)] = 1
    batch: Annotated[int, Field(ge=1, le=MOST_BATCH)] = 1
    isl: Annotated[int, Field(ge=1, le=MOST_TOKENS)] = 1024
    osl: Annotated[int, Field(ge=1, le=MOST_TOKENS)] = 256
    context: Annotated[int, Field(ge=0, le=MOST_TOKENS)] | None = None
    ignore_capacity: bool = False
    bandwidth_times: Times = 1.0
    peak_times: Times = 1.0
    before: Change | None = None

    @property
    def shown(self) -> int:
        """The index of the card in focus."""
        return min(self.focus, len(self.cards) - 1)

    def as_before(self) -> Question | None:
        """The question as it was, or of one card as it is built; None where nothing was different."""
        if self.before is None:
            built = {"bandwidth_times": 1.0, "peak_times": 1.0}
            altered = (self.bandwidth_times, self.peak_times) != (1, 1) and len(self.cards) == 1
            return self.model_copy(update=built) if altered else None
        changed = self.before.model_dump(exclude_none=True)
        if "model" in changed:
            changed["config"] = None
        if changed.get("context") == -1:
            changed["context"] = None
        return self.model_copy(update={**changed, "before": None, "cards": [self.cards[self.shown]], "focus": 0})


_pasted: Kept[Model] = Kept(32)


def model_of(question: Question) -> Model:
    """The model asked about. Raises BadInput and its kinds, each with the field it belongs to."""
    if question.config is None:
        return _model(question.model)
    config = question.config
    try:
        return _pasted.get_or_make(digest(config), lambda: model_from_dict(config, id=_name_in(config), origin=PASTED))
    except BadInput as error:
        error.where = error.where if error.where and error.where.startswith(PASTED) else PASTED
        raise


def _name_in(config: dict[str, Any]) -> str:
    name = config.get("_name_or_path")
    return name[:100] if isinstance(name, str) and name.isprintable() and name.strip() else PASTED


@functools.lru_cache(maxsize=256)
def _model(name: str) -> Model:
    try:
        return models.catalogued(name)
    except BadInput as error:
        error.where = Named.of("model")
        raise


@functools.lru_cache(maxsize=256)
def card_named(name: str) -> Accelerator:
    """The accelerator of the catalog by that name. Raises UnknownName."""
    try:
        return accelerators.catalogued(name)
    except BadInput as error:
        error.where = Named.of("cards")
        raise


def what_if(card: Accelerator, bandwidth_times: float, peak_times: float) -> Accelerator:
    """The card with other rates; the answer says so among its assumptions."""
    if bandwidth_times == peak_times == 1:
        return card
    said = Note(key="what_if", value=(bandwidth_times, peak_times), why=card.id)
    return msgspec.structs.replace(
        card,
        id=f"{card.id} (what if)",
        memory_bytes_per_s=None if card.memory_bytes_per_s is None else card.memory_bytes_per_s * bandwidth_times,
        peak_flop_per_s={name: peak * peak_times for name, peak in card.peak_flop_per_s.items()},
        fast_flop_per_s={name: peak * peak_times for name, peak in card.fast_flop_per_s.items()},
        assumptions=(said, *card.assumptions),
    )


def scenario_of(question: Question, model: Model, card: Accelerator) -> Scenario:
    """The definite question about one card. Raises BadInput, MissingFact."""
    load = Workload(batch=question.batch, isl=question.isl, osl=question.osl, context=question.context)
    layout = Deployment(
        tp=question.tp,
        weights=None if question.weights == "auto" else question.weights,
        kv_cache=question.kv_cache,
        attention=question.attention,
        ignore_capacity=question.ignore_capacity,
    )
    return scenario(model, card, None, load, layout)


def cards_of(question: Question) -> list[Accelerator | BadInput]:
    """The cards asked about, the one in focus with its what-if rates; an error stands in for one nobody knows."""
    found: list[Accelerator | BadInput] = []
    for place, name in enumerate(question.cards):
        try:
            card = card_named(name)
        except BadInput as error:
            found.append(error)
            continue
        here = place == question.shown
        found.append(what_if(card, question.bandwidth_times, question.peak_times) if here else card)
    return found

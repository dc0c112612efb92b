"""Under whose roof recorded files are put: what was named, else what the files name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from rooflight.catalog import spelled
from rooflight.catalog.calibration import calibrated
from rooflight.errors import BadInput, Named, RooflightError
from rooflight.scenario.definite import Scenario, scenario
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.question import asked
from rooflight.values.recorded import Measurements, Record, Recorded, Stated

Values = TypeVar("Values", Stated, Measurements)

# Fields of a question that a file may state, by their names there.
_FIELDS = {
    "weights": "weights", "kv_cache": "kv_cache", "tp": "tp", "pp": "pp", "ep": "ep", "dp": "dp",
    "max_num_seqs": "max_num_seqs", "max_num_batched_tokens": "max_num_batched_tokens",
    "engine_version": "engine_version", "n_gpu_layers": "n_gpu_layers", "n_cpu_moe": "n_cpu_moe",
}  # fmt: skip
# Fields that a file counts, so that another value that is stated is of another run.
_CONTRADICTED = ("batch", "isl", "osl", "tp", "pp", "dp", "ep")


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """The question beside the files; None: neither named nor told by them.

    given       fields of the question that the user stated; what files state is a default behind it
    scenario    of model and card together, None where one of them is missing or it cannot be run
    notes       what was taken from the files, and what could not be
    """

    model: Model | None = None
    card: Accelerator | None = None
    count: int | None = None
    scenario: Scenario | None = None
    given: frozenset[str] = frozenset()
    notes: tuple[Note, ...] = ()


def setting(
    files: Sequence[Recorded], model: Model | None, card: tuple[Accelerator, int | None] | None,
    given: Mapping[str, Any],
) -> Setting:  # fmt: skip
    """What was named and, where it was not, what the files name; a name that no catalog knows is a note.

    Raises BadInput and its kinds where what the user stated cannot be, MissingFact for a number nobody published.
    """
    notes: list[Note] = []
    said = common([record.stated for file in files for record in file.records])
    names = _one([said.model, *_watched_models(files)])
    device = _one([said.device, *_devices(files)])
    if model is None:
        model = _model(names, notes)
    elif names is not None and (other := _model(names, [])) is not None and _shape(other) != _shape(model):
        notes.append(Note(key="model_other", value=(model.id, names)))
    if card is None:
        card = _card(device, notes)
    elif device is not None and (its := _card(device, [])) is not None and its[0].id != card[0].id:
        notes.append(Note(key="device_other", value=(card[0].id, device)))
    one, count = (None, None) if card is None else card
    if one is not None:
        check_kind(one)
    if given.get("prefill_on") is not None:
        raise BadInput(
            "what is seen of two kinds of workers is of neither", where=Named.of("prefill_on"),
            got=given["prefill_on"], want="the card that the file is of alone",
        )  # fmt: skip
    if count is None and one is not None:
        count = said.gpus
    its_own = _told(said, {})
    for name in _CONTRADICTED:
        if name in given and its_own.get(name) not in (None, given[name]):
            notes.append(Note(key="given_other", value=(name, its_own[name], given[name])))
    found = None
    if model is not None and one is not None:
        load, layout = asked(None, None, given)
        told = _told(said, given)
        try:
            found = scenario(model, one, count, *asked(None, None, {**told, **given}))
        except RooflightError as error:
            if not told and count == (card or (None, None))[1]:
                raise
            found = scenario(model, one, (card or (None, None))[1], load, layout)
            notes.append(Note(key="stated_refused", value=error.what))
    return Setting(
        model=model, card=one, count=count, scenario=found, given=frozenset(given), notes=tuple(notes)
    )  # fmt: skip


def common(some: Sequence[Values]) -> Values:
    """What several say alike, or one alone says: a value that another contradicts is left out. Raises for none."""
    if not some:
        return Stated()  # type: ignore[return-value]
    kind = type(some[0])
    found = {}
    for name in kind.__struct_fields__:
        said = [value for one in some if (value := getattr(one, name)) is not None]
        if said and all(value == said[0] for value in said):
            found[name] = said[0]
    return kind(**found)


def check_kind(card: Accelerator) -> None:
    """Refuse several kinds of cards: what is seen of them is of none. Raises BadInput."""
    if card.joined:
        raise BadInput(
            "what is seen of several kinds of cards is of none of them", where=Named.of("on"), got=card.id,
            want="the card that the file is of",
        )  # fmt: skip


def records(files: Sequence[Recorded]) -> Iterator[tuple[Recorded, Record]]:
    """Every record with its file."""
    return ((file, record) for file in files for record in file.records)


def names_model(files: Sequence[Recorded]) -> bool:
    """Whether files name a model, known or not, one or several."""
    return any((*_watched_models(files), *(one.stated.model for _, one in records(files))))


def names_device(files: Sequence[Recorded]) -> bool:
    """Whether files name a device, known or not, one or several."""
    return any((*_devices(files), *(one.stated.device for _, one in records(files))))


def _watched_models(files: Sequence[Recorded]) -> Iterator[str | None]:
    return (one.model for file in files for one in file.watched)


def _devices(files: Sequence[Recorded]) -> Iterator[str | None]:
    for file in files:
        yield from (one.device for one in file.watched)
        yield from (one.name for one in (file.traced.devices if file.traced else ()))


def _one(said: Sequence[str | None]) -> str | None:
    """The only name among them."""
    names = {one for one in said if one}
    return names.pop() if len(names) == 1 else None


def _model(name: str | None, notes: list[Note]) -> Model | None:
    if name is None:
        return None
    try:
        found = spelled.model(name)
    except RooflightError:
        notes.append(Note(key="model_unknown", value=name))
        return None
    notes.append(Note(key="model_read", value=(found.id, name)))
    return found


def _shape(model: Model) -> tuple[str, int, int, int]:
    """What tells a model from another, whatever its tuning and its number format are."""
    return model.type, model.hidden, model.vocab, len(model.layers)


def _card(name: str | None, notes: list[Note]) -> tuple[Accelerator, int | None] | None:
    if name is None:
        return None
    try:
        found, count = spelled.accelerator(name)
    except RooflightError:
        notes.append(Note(key="device_unknown", value=name))
        return None
    if found.joined:
        notes.append(Note(key="device_unknown", value=name))
        return None
    notes.append(Note(key="device_read", value=(found.id, name)))
    return found, count if count > 1 else None


def _told(said: Stated, given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that the files state and the user does not."""
    found = {name: getattr(said, field) for name, field in _FIELDS.items() if getattr(said, field) is not None}
    if said.engine is not None and calibrated(said.engine):
        found["engine"] = said.engine
    else:
        found.pop("engine_version", None)
    if said.memory_share is not None:
        found["gpu_memory_utilization"] = said.memory_share
    lengths = {"isl": said.isl, "osl": said.osl}
    found |= {name: max(1, round(value)) for name, value in lengths.items() if value}
    if said.concurrency is not None:
        found["batch"] = said.concurrency
    return {name: value for name, value in found.items() if name not in given}

"""Recorded files that come with a request: what `rooflight diagnose` says of them, and how the page shows it.

Files come as bytes and are read in memory; their names are for messages alone, and none becomes a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field

from rooflight.answers.diagnose.report import findings
from rooflight.answers.diagnose.setting import Setting, names_device, names_model, records, setting
from rooflight.errors import BadConfig, BadInput, Named, RooflightError, printable
from rooflight.ingest.recorded.monitoring.between import paired
from rooflight.ingest.recorded.read import recorded_bytes
from rooflight.show import diagnosis as shows
from rooflight.show.blocks import Block
from rooflight.show.charts.diagnosed import diagnosed
from rooflight.show.charts.theme import Look
from rooflight.show.charts.timeline import timeline
from rooflight.studio.question import MOST_DOTS, MOST_SAMPLES, File, Question, devices_of, model_of, sent_bytes
from rooflight.studio.view import Drawn, drawn
from rooflight.studio.views.written import is_log, is_rows
from rooflight.values.accelerator import Accelerator
from rooflight.values.diagnosis import Diagnosis
from rooflight.values.recorded import Recorded
from rooflight.values.sample import SCHEMA as SAMPLE
from rooflight.words.diagnosis.report import told

MOST_FILES = 16
# Of all files of a request together, as they come.
MOST_BYTES = 16 << 20
# Of each, unpacked: about what is read before the deadline.
MOST_UNPACKED = 64 << 20
MOST_CONFIG = 4 << 20
MOST_HEADER = 1 << 14
# What a config.json has at its top, one of them at least.
_OF_A_CONFIG = ("model_type", "architectures", "hidden_size", "num_hidden_layers", "n_layers")
# Fields of the page's question that go with its model.
_FORMATS = ("weights", "kv_cache")
_LISTS = ("samples", "regimes", "recorded")


class Dropped(BaseModel):
    """Recorded files, packed by gzip or not.

    files       16 at most, of 16 MiB in all; each of 64 MiB at most, unpacked
    question    the page's, with its model and machine
    under       whose model and accelerator the files are put under: those that they name, and where they name none
                the question's ("either"); only those that they name ("files"); only the question's ("page")
    width, dark     of the place that the chart fills
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: Annotated[list[File], Field(min_length=1, max_length=MOST_FILES)]
    question: Question = Question()
    under: Literal["either", "files", "page"] = "either"
    width: Annotated[int, Field(ge=280, le=2400)] = 800
    dark: bool = False


# What takes a file that is no recording: a field of a question or of the page, or a view.
Taker = Literal["config", "samples", "check", "compare"]


class Elsewhere(msgspec.Struct, frozen=True):
    """A file that is no recording, but what a field or a view takes. file: its place among those that came."""

    file: int
    field: Taker


class Step(msgspec.Struct, frozen=True):
    """What to do next, and the command for it."""

    text: str
    command: str | None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows. diagnosis: rooflight.diagnosis/1, null where no file is a recording.

    verdict, tables, sources    the parts of `rooflight diagnose`'s text, each value as a person reads it
    taken       what of the page's question it is put under, in a sentence; "" for nothing
    """

    elsewhere: tuple[Elsewhere, ...]
    diagnosis: Diagnosis | None = None
    verdict: list[Block] = []
    tables: list[Block] = []
    next: tuple[Step, ...] = ()
    sources: list[Block] = []
    chart: Drawn | None = None
    taken: str = ""


class Refused(Exception):
    """What is wrong with a file; error: as its reader raised it."""

    def __init__(self, error: RooflightError) -> None:
        super().__init__(error.what)
        self.error = error


def schema() -> dict[str, Any]:
    """The body of the request, for the API's description: a reference to what other routes describe too."""
    found = Dropped.model_json_schema(ref_template="#/components/schemas/{model}")
    inside = found.pop("$defs")
    found["properties"]["files"]["items"] = inside["File"]
    return found


def shown(asked: Dropped) -> Told:
    """What files say. Raises Refused for one that cannot be read, RooflightError for the question beside them."""
    files, elsewhere = _read(asked.files)
    if not files:
        return Told(elsewhere=elsewhere)
    found, card, taken = _diagnosed(asked, list(paired(files)))
    return Told(
        elsewhere=elsewhere,
        diagnosis=_document(found, taken),
        verdict=shows.verdict(found),
        tables=shows.tables(found),
        next=tuple(Step(shows.step(one), one.command) for one in found.next),
        sources=shows.sources(found),
        chart=_chart(found, card, Look(None, asked.dark, max(320, asked.width // 40 * 40))),
        taken=taken,
    )


def _read(files: Sequence[File]) -> tuple[list[Recorded], tuple[Elsewhere, ...]]:
    found: list[Recorded] = []
    elsewhere: list[Elsewhere] = []
    try:
        came = [(printable(file.name), sent_bytes(file)) for file in files]
        size = sum(len(data) for _, data in came)
        if size > MOST_BYTES:
            want = f"at most {MOST_BYTES:,}: fewer, or packed by gzip"
            raise BadInput("the files are too large", where=Named.of("files"), got=f"{size:,} bytes", want=want)
        for place, (name, data) in enumerate(came):
            one = _recording(data, name)
            if isinstance(one, Recorded):
                found.append(one)
            else:
                elsewhere.append(Elsewhere(place, one))
    except RooflightError as error:
        raise Refused(error) from None
    return found, tuple(elsewhere)


def _recording(data: bytes, name: str) -> Recorded | Taker:
    """What a file recorded, or which field or view it is for. Raises BadConfig for what is neither."""
    try:
        found = recorded_bytes(data, name, most=MOST_UNPACKED)
    except BadConfig:
        if len(data) <= MOST_CONFIG and _is_config(data):
            return "config"
        view = _table_for(data)
        if view is not None:
            return view
        raise
    plain = len(data) <= MOST_SAMPLES and f'"{SAMPLE}"'.encode() in data
    return "samples" if plain and found.samples and not (found.records or found.watched or found.traced) else found


def _table_for(data: bytes) -> Literal["check", "compare"] | None:
    """The view that a table is for, by its first line: rows of measurements, or a log of requests."""
    header = data[:MOST_HEADER].decode(errors="replace").lstrip("\ufeff \t\r\n").partition("\n")[0]
    if is_rows(header):
        return "check"
    return "compare" if is_log(header) else None


def _is_config(data: bytes) -> bool:
    try:
        top = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return False
    return any(name in top for name in _OF_A_CONFIG)


def _diagnosed(asked: Dropped, files: list[Recorded]) -> tuple[Diagnosis, Accelerator | None, str]:
    """The diagnosis, the card whose roof it is under, and a sentence on what of it is the page's own."""
    page = asked.under == "page"
    named = {"model": names_model(files), "accelerator": names_device(files)}
    taken = [part for part, is_named in named.items() if page or (asked.under == "either" and not is_named)]
    try:
        at = _setting(asked.question, files, taken, page)
        found = told(findings(files, at))
        said = _said(found, taken, page)
    except RooflightError as error:
        if page or not taken:
            raise
        at = _setting(asked.question, files, (), page)
        found = told(findings(files, at))
        said = f"This page's {' and '.join(taken)} cannot stand in for what the files do not name: {error.what}."
    return found, at.card, said


def _setting(question: Question, files: list[Recorded], taken: Sequence[str], page: bool) -> Setting:
    """The question beside the files: theirs, and what is taken of the page's."""
    stated = [record.stated for _, record in records(files)]
    model, card, fields = None, None, {}
    if "model" in taken:
        model = model_of(question)
        given = {name: question.given()[name] for name in _FORMATS}
        fields = {
            name: value for name, value in given.items()
            if value is not None and (page or not any(getattr(one, name) for one in stated))
        }  # fmt: skip
    if "accelerator" in taken:
        as_built = question.model_copy(update={"bandwidth_times": 1.0, "peak_times": 1.0})
        one, count = devices_of(as_built)
        devices = question.given()["tp"] or count or 1
        counted = devices > 1 and (page or not any(one.gpus or one.tp for one in stated))
        card = one, devices if counted else None
    return setting(files, model, card, fields)


def _said(found: Diagnosis, taken: Sequence[str], page: bool) -> str:
    """What the page's question said."""
    names = " and ".join(f"{part} {getattr(found, part)}" for part in taken)
    if not names:
        return ""
    return f"Put under this page's {names}" + ("." if page else f": the files name no {' and no '.join(taken)}.")


def _document(found: Diagnosis, taken: str) -> Diagnosis:
    """The document with what the page's question said, and without long lists, which the command line's has."""
    many = {name: len(getattr(found, name)) for name in _LISTS if len(getattr(found, name)) > MOST_DOTS}
    said = ", ".join(f"{count:,} {name}" for name, count in many.items())
    short = f"Left out of this document: {said}; rooflight diagnose on the command line has them." if many else ""
    notes = tuple(note for note in (taken, *found.notes, short) if note)
    return replace(found, notes=notes, **dict.fromkeys(many, ()))


def _chart(found: Diagnosis, card: Accelerator | None, look: Look) -> Drawn | None:
    """The usual picture of a diagnosis, None where there is nothing to draw."""
    if found.kernels and card is not None:
        made = diagnosed(found, on=card, look=look)
        if made.datasets["samples"]:  # numbered, and the table of the numbers is no part of a page's chart
            numbers = ", ".join(f"{row['mark']} {row['name']}" for row in made.datasets["table"])
            return drawn(made, f"By number: {numbers}.")
    return drawn(timeline(found, look=look)) if found.regimes else None

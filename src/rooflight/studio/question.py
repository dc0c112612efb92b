"""One scenario of the page, with bounds so that no one request takes long. Names are looked up in the catalog only.

A model is a catalog entry or a pasted config.json, a card a catalog entry or the text of a machine's file: both are
parsed in memory, and no text of a request becomes a path.
"""

from __future__ import annotations

import base64
import binascii
import functools
import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator

from rooflight.catalog import accelerators, models
from rooflight.catalog.changed import under_own_name, what_if
from rooflight.catalog.config import model_from_dict
from rooflight.catalog.config.fields import refuse_deep
from rooflight.catalog.config.heads import as_named
from rooflight.catalog.files import gguf
from rooflight.catalog.files.model import gguf_model
from rooflight.catalog.files.source import of_bytes
from rooflight.catalog.prices import LEAST_USD, MOST_USD
from rooflight.errors import BadConfig, BadInput, Named, printable
from rooflight.ingest.samples import samples_in
from rooflight.scenario.definite import Scenario, scenario
from rooflight.scenario.steps import Plans
from rooflight.studio.kept import Kept, digest
from rooflight.studio.own import own
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import OWN_LAYERS, Deployment
from rooflight.values.field import SMALLEST_RATE
from rooflight.values.field import Field as TableField
from rooflight.values.model import Model
from rooflight.values.question import FIELDS, asked
from rooflight.values.sample import Sample
from rooflight.values.workload import Workload

# What the studio takes of a field at most, by what the field counts; the library takes more.
MOST = {
    "sequences": 1 << 16, "tokens": 1 << 22, "devices": 1024, "workers": 1024, "layers": 1024, "elements": 1 << 18,
    "heads": 1024, "entries": 1 << 19, "ranks": 1024, "adapters": 1024,
}  # fmt: skip
PASTED = "your config.json"
# The name, among machines, of the one whose file came with the question; and what messages call that file and its
# samples. None of them is a name of the catalog.
MACHINE = "your machine"
_TIMES = ("x", "X", "\N{MULTIPLICATION SIGN}")
MACHINE_FILE = "your machine's file"
SAMPLES_FILE = "your samples"
MOST_MACHINE = 1 << 20  # characters
MOST_SAMPLES = 2 << 20
MOST_GGUF = 1 << 20
MOST_PARTS = 63
MOST_DOTS = 2000
# A name that stands for the library's default, as a null does.
AUTO = "auto"
# The longest name of a scenario, in letters.
LONGEST_NAME = 40
_LONGEST_SIZE = 40

Name = Annotated[str, Field(min_length=1, max_length=200)]
Times = Annotated[float, Field(ge=0.1, le=10, allow_inf_nan=False)]


def bounds(field: TableField) -> tuple[int, int]:
    """The least and the most that the studio takes of a number."""
    return field.least, min(field.most, MOST.get(field.unit, field.most))


def _type(field: TableField) -> Any:
    """A field as the schema has it."""
    least, most = bounds(field)
    blank = field.default is None
    about = field.told if blank else field.words
    kind: Any = Annotated[int, Field(ge=least, le=most, description=about)]
    if field.kind == "choice":
        kind = Annotated[Literal[field.choices], Field(description=about)]
    elif field.kind == "flag":
        kind = Annotated[bool, Field(description=about)]
    elif field.kind == "share":
        kind = Annotated[float, Field(gt=least, le=most, description=about)]
    elif field.kind == "size":
        kind = Annotated[float | Annotated[str, Field(max_length=_LONGEST_SIZE)], Field(description=about)]
    elif field.kind == "chance":
        kind = Annotated[float, Field(ge=0, le=1, description=about)]
    elif field.kind == "rate":
        kind = Annotated[float, Field(ge=SMALLEST_RATE, le=most, allow_inf_nan=False, description=about)]
    elif field.kind == "amount":
        kind = Annotated[float, Field(gt=0, le=most, allow_inf_nan=False, description=about)]
    elif field.kind == "images":
        kind = Annotated[str, Field(min_length=3, max_length=200, description=about)]
    elif field.kind == "model":
        kind = Annotated[str, Field(min_length=1, max_length=200, description=about)]
    elif field.kind in ("format", "name", "network", "bandwidth"):
        kind = Annotated[str, Field(min_length=1, max_length=40, description=about)]
    return kind | None if blank else kind


if TYPE_CHECKING:

    class _Fields(BaseModel): ...

else:
    _Fields = create_model("_Fields", **{name: (_type(one), one.default) for name, one in FIELDS.items()})


class File(BaseModel):
    """A file that came with a request: its name, for messages, and its bytes in base64."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    data: Annotated[str, Field(json_schema_extra={"format": "byte"})]


class Parts(File):
    """A file, and the others of a file that is split; their first bytes are enough."""

    others: Annotated[list[File], Field(max_length=MOST_PARTS)] = []


def parts_schema() -> dict[str, Any]:
    """The body that has them, for the API's description, without a part beside it."""
    found = Parts.model_json_schema()
    found["properties"]["others"]["items"] = found.pop("$defs")["File"]
    return found


class Gguf(File):
    """The header of a GGUF file, short as /api/gguf gives it."""

    data: Annotated[str, Field(max_length=MOST_GGUF, json_schema_extra={"format": "byte"})]


class Question(_Fields):
    """A scenario: one model on one machine. Fields are those of `rooflight.analyze`; a null is the library's default.

    name        what the page calls it; "": what tells it from the others
    config, gguf    a model's config.json or the header of its GGUF file, in place of `model`
    on          an accelerator of the catalog, with a count in front for several: "4xh100-sxm"
    machine     the text of an accelerator's TOML file, such as `rooflight measure` writes: on "your machine"
    bandwidth_times, peak_times     what if the machine had so many times its memory bandwidth and peaks
    usd_per_hour                    what an accelerator costs an hour
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    model: Name = "meta-llama/Meta-Llama-3.1-8B"
    config: dict[str, Any] | None = None
    gguf: Gguf | None = None
    on: Name = "h100-sxm"
    machine: Annotated[str, Field(max_length=MOST_MACHINE)] | None = None
    bandwidth_times: Times = 1.0
    peak_times: Times = 1.0
    usd_per_hour: Annotated[float, Field(ge=LEAST_USD, le=MOST_USD, allow_inf_nan=False)] | None = None

    @field_validator(*(name for name, field in FIELDS.items() if field.kind == "size"))
    @classmethod
    def _is_number(cls, size: float | str | None) -> float | str | None:
        """A number that came as text, as addresses and text boxes have it, is a number; nan is none."""
        if isinstance(size, float) and not math.isfinite(size):
            raise ValueError(f"{size} is no size")
        try:
            number = float(size) if isinstance(size, str) else math.nan
        except ValueError:
            return size
        return number if math.isfinite(number) else size

    @field_validator("config")
    @classmethod
    def _is_flat(cls, config: dict[str, Any] | None) -> dict[str, Any] | None:
        """No deeper than any config: what comes later walks over it by recursion. And text that can be written."""
        try:
            refuse_deep(config or {}, PASTED)
        except BadConfig as error:
            raise ValueError(error.what) from None
        try:
            digest(config)
        except UnicodeEncodeError:
            raise ValueError(f"{PASTED} has half a surrogate pair, which is no letter") from None
        return config

    @property
    def config_key(self) -> str | None:
        """A short name for the pasted config or the header that came, made once; None where there is none."""
        return None if self.config is None and self.gguf is None else self._config_key

    @functools.cached_property
    def _config_key(self) -> str:
        return digest(self.config) if self.gguf is None else digest([self.gguf.name, self.gguf.data])

    @property
    def model_name(self) -> str:
        """What its model is called before anything is read."""
        if self.gguf is not None:
            return printable(self.gguf.name)
        return self.model if self.config is None else PASTED

    @property
    def machine_key(self) -> str | None:
        """A short name for the machine's file, made once; None where there is none."""
        return None if self.machine is None else self._machine_key

    @functools.cached_property
    def _machine_key(self) -> str:
        return digest(self.machine)

    def given(self) -> dict[str, Any]:
        """The fields by name; a name "auto" is a null, and a rate of requests stands for their number."""
        found = {name: getattr(self, name) for name in FIELDS}
        if found["request_rate"] is not None:
            del found["batch"]
        return {name: None if value == AUTO else value for name, value in found.items()}

    def asked(self) -> tuple[Workload, Deployment]:
        """The fields in the library's values. Raises BadInput where they contradict each other."""
        given = self.given()
        draft = given["draft_model"]
        if draft is not None and draft != OWN_LAYERS:
            _model(draft, "draft_model")
        load, layout = asked(None, None, given)
        held = own()
        return load, layout if held is None else replace(layout, calibration=held.calibration)


_pasted: Kept[Model] = Kept(32)


def model_of(question: Question) -> Model:
    """The model asked about. Raises BadInput and its kinds, each with the field it belongs to."""
    if question.gguf is not None:
        file = question.gguf
        return _pasted.get_or_make(question.config_key or "", lambda: _of_gguf(file))
    if question.config is None:
        return _model(question.model)
    config, key = question.config, question.config_key or ""
    try:
        return _pasted.get_or_make(key, lambda: _read(config))
    except BadInput as error:
        error.where = error.where if error.where and error.where.startswith(PASTED) else PASTED
        raise


def _read(config: dict[str, Any]) -> Model:
    return as_named(model_from_dict(config, id=_name_in(config), origin=PASTED))


def sent_bytes(file: File) -> bytes:
    """The bytes of a file. Raises BadInput for what is no base64."""
    name = printable(file.name)
    try:
        return base64.b64decode(file.data, validate=True)
    except (binascii.Error, ValueError):  # letters beyond ASCII are the second
        raise BadInput(f"{name} is not in base64", where=name, got=file.data[:40], want="base64 (RFC 4648)") from None


def _of_gguf(file: File) -> Model:
    """The model of a GGUF header. Raises BadInput and its kinds, with the field they belong to."""
    try:
        name = printable(file.name)
        return gguf_model(gguf.whole([gguf.header(of_bytes(sent_bytes(file), name))]), id=gguf.stem(name))
    except BadInput as error:
        error.where = Named.of("gguf")
        raise


def _name_in(config: dict[str, Any]) -> str:
    name = config.get("_name_or_path")
    return name[:100] if isinstance(name, str) and name.isprintable() and name.strip() else PASTED


@functools.lru_cache(maxsize=256)
def _model(name: str, field: str = "model") -> Model:
    try:
        return models.catalogued(name)
    except BadInput as error:
        error.where = Named.of(field)
        raise


@functools.lru_cache(maxsize=256)
def _named(name: str) -> tuple[Accelerator, int | None]:
    """What a name with or without a count in front stands for. Raises BadInput."""
    try:
        found, count = accelerators.counted(name)
    except BadInput as error:
        error.where = Named.of("on")
        raise
    return under_own_name(found), count if count > 1 or name.strip().lower().startswith("1x") else None


_machines: Kept[Accelerator] = Kept(32)
_samples: Kept[tuple[Sample, ...]] = Kept(16)


def machine_of(question: Question) -> Accelerator:
    """The machine whose file came with the question. Raises BadInput where none did, BadConfig for one that is none."""
    text = question.machine
    if text is None:
        raise BadInput(
            "no machine's file is on this page", where=Named.of("on"), got=MACHINE,
            want="a TOML file that `rooflight measure` wrote, dropped here again: an address does not carry it",
        )  # fmt: skip
    return _machines.get_or_make(
        question.machine_key or "", lambda: under_own_name(accelerators.sent(text, MACHINE_FILE))
    )


def samples_of(text: str | None) -> tuple[Sample, ...]:
    """The kernels that came with the page, at most MOST_DOTS. Raises BadConfig for a text without any sample."""
    if text is None:
        return ()
    return _samples.get_or_make(digest(text), lambda: samples_in(text, SAMPLES_FILE).samples[:MOST_DOTS])


def _known(field: str, name: str) -> None:
    """Refuse what is no entry of the catalog: a name that a page sends opens no file. Raises BadInput."""
    try:
        accelerators.counted(name)
    except BadInput as error:
        error.where = Named.of(field)
        raise


def devices_of(question: Question) -> tuple[Accelerator, int | None]:
    """The accelerator with its what-if rates, and how many of it where that is said. Raises BadInput, BadConfig."""
    card, count = _own(question) if is_own(question.on) else _named(question.on)
    return what_if(card, bandwidth_times=question.bandwidth_times, peak_times=question.peak_times), count


def _own(question: Question) -> tuple[Accelerator, int | None]:
    """The machine whose file came with the question, and how many of it where that is said."""
    try:
        said = accelerators.split_count(question.on)[0]
    except BadInput as error:
        error.where = Named.of("on")
        raise
    return machine_of(question), None if question.on.strip() == MACHINE else said


def is_own(on: str) -> bool:
    """Whether a machine is that whose file came with the question, or something in front of an x, of it."""
    front = on.strip().removesuffix(MACHINE)
    return front != on.strip() and (not front or front.rstrip().endswith(_TIMES))


def scenario_of(question: Question, plans: Plans | None = None) -> Scenario:
    """The definite question; plans as in scenario.definite.

    Raises BadInput and its kinds, each with the field it belongs to; MissingFact.
    """
    for name in ("prefill_on", "host_cpu"):
        said = getattr(question, name)
        if said is not None:
            _known(name, said)
    return scenario(model_of(question), *devices_of(question), *question.asked(), plans=plans)

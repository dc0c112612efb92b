"""The answer of `analyze`: these structs are the JSON contract (DESIGN section 7), field for field."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.span import Span
from rooflight.values.accelerator import LevelRoof
from rooflight.values.basis import ExpectedBasis
from rooflight.values.held import MemoryBlock
from rooflight.values.known import Known
from rooflight.values.like import AdapterBlock, LikeBlock, SpeculationBlock
from rooflight.values.own import OwnBlock
from rooflight.values.run import Run
from rooflight.values.shown import Part, Shown

SCHEMA = "rooflight.analysis/1"


class ModelBlock(Part, msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the text model. weight_bytes is what is stored in the deployment's formats, without adapters.

    like_or_absent, adapters_or_absent      the JSON has `like` of models by their size, `adapters` where there are
    """

    brief = ("id", "parameters", "weight_bytes")

    id: str
    parameters: int
    active_parameters: int
    tower_parameters: int
    weight_bytes: float
    streamed_weight_bytes: float
    kv_bytes_per_token: float
    window_kv_bytes_per_token: float
    windows: tuple[int, ...]
    state_bytes_per_sequence: float
    like_or_absent: LikeBlock | msgspec.UnsetType = msgspec.field(name="like", default=msgspec.UNSET)
    adapters_or_absent: AdapterBlock | msgspec.UnsetType = msgspec.field(name="adapters", default=msgspec.UNSET)

    @property
    def like(self) -> LikeBlock | None:
        """The shape that was taken by size alone; None where the shape is known."""
        return None if self.like_or_absent is msgspec.UNSET else self.like_or_absent

    @property
    def adapters(self) -> AdapterBlock | None:
        """LoRA adapters; None without any."""
        return None if self.adapters_or_absent is msgspec.UNSET else self.adapters_or_absent


class LevelBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A cache as it was seen: the largest working set on its plateau, and bytes a second there (median)."""

    name: str
    bytes: float | None
    bytes_per_s: float


class DatasheetBlock(Part, msgspec.Struct, frozen=True, kw_only=True):
    """The catalog's entry of a device that was measured: printed rates of one device.

    whole       what was measured is all of that device; False: a part of it, as a virtual machine's cores are
    ceilings_s  of each phase, by its name, on as many of the devices as printed; null where that cannot be told
    """

    brief = ("id", "memory_bytes_per_s", "ceilings_s")

    id: str
    whole: bool
    memory_bytes_per_s: float | None
    peak_flop_per_s: dict[str, float]
    ceilings_s: dict[str, float | None]


class MeasuredBlock(Part, msgspec.Struct, frozen=True, kw_only=True):
    """How a machine was measured, and the fastest that was seen there, which its ceilings are made of.

    date        ISO 8601; complete: False where parts of a full measurement were left out
    datasheet   null where the catalog has no entry of the device
    """

    brief = ("device", "date", "command")

    device: str
    date: str
    command: str
    complete: bool
    fastest_memory_bytes_per_s: float | None
    fastest_flop_per_s: dict[str, float]
    levels: tuple[LevelBlock, ...]
    datasheet: DatasheetBlock | None


class StageBlock(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of unlike devices: what each of them is, and what they hold together; layers counted from 0."""

    accelerator: str
    devices: int
    memory_bytes_per_s: float
    memory_bytes: float | None
    program_memory_bytes: float | None
    first_layer: int
    layers: int
    weights_bytes: float


class AcceleratorBlock(Part, msgspec.Struct, frozen=True, kw_only=True):
    """Rates of one device, from its datasheet or (medians) as measured; memory_bytes by its driver,
    program_memory_bytes what a program gets of it.

    levels                  other levels of memory whose rate is known; no time here is made of them
    measured_or_absent      the JSON has `measured` on measured machines alone
    split_or_absent         the JSON has `split` where layers are split over unlike devices: each kind, in turn
    """

    brief = ("id", "count")

    id: str
    name: str
    count: int
    peak_flop_per_s: dict[str, float]
    memory_bytes_per_s: float
    memory_bytes: float | None
    program_memory_bytes: float | None
    ridge_flop_per_byte: dict[str, float]
    confidence: str
    levels: tuple[LevelRoof, ...] = ()
    measured_or_absent: MeasuredBlock | msgspec.UnsetType = msgspec.field(name="measured", default=msgspec.UNSET)
    split_or_absent: tuple[StageBlock, ...] | msgspec.UnsetType = msgspec.field(name="split", default=msgspec.UNSET)

    @property
    def split(self) -> tuple[StageBlock, ...]:
        """The kinds of unlike devices that layers are split over, in turn; none where all are alike."""
        return () if self.split_or_absent is msgspec.UNSET else self.split_or_absent

    @property
    def measured(self) -> MeasuredBlock | None:
        """How it was measured; None where its rates are a datasheet's."""
        return None if self.measured_or_absent is msgspec.UNSET else self.measured_or_absent


class Bytes(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes through device memory in a step, all devices."""

    weights: float
    kv_read: float
    kv_write: float
    activations: float
    total: float


class Ceilings(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds each resource alone would take; compute None where a format of the step has no peak.

    host_memory, host_link  of what lies in the host's memory; None where nothing does
    """

    compute: float | None
    memory: float
    link: float
    launch: float
    host_memory: float | None = None
    host_link: float | None = None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the way from ceiling to expected time: what it is, and the seconds it adds."""

    name: str
    seconds: float


class ServedBlock(Part, msgspec.Struct, frozen=True, kw_only=True):
    """The run `served` in short; running: sequences that decode in the mean. See values.run.Run."""

    brief = ("engine", "running", "ttft_s", "tpot_s")

    engine: str
    running: float
    tpot_s: Span | None
    ttft_s: Span
    output_tokens_per_s: Span
    output_tokens_per_s_per_user: Span | None
    output_tokens_per_s_per_accelerator: Span


class OperatorBlock(Part, msgspec.Struct, frozen=True, kw_only=True):
    """`count` equal operators: their FLOP, bytes and time together."""

    brief = ("name", "count", "bound", "time_s", "share")

    name: str
    count: int
    flop: float
    bytes: float
    link_bytes: float
    intensity_flop_per_byte: float | None
    bound: str
    time_s: float
    share: float
    compute: str


class Phase(Part, msgspec.Struct, frozen=True, kw_only=True):
    """One step: FLOP, bytes and link bytes of all devices, launches of one, wall times.

    network_bytes   of link_bytes, those that leave the domain of a link; link_level: which level of links is the slower
                    one: within (a domain), network, PCIe (between pairs); None where nothing is sent
    bound           of the ceilings; expected_bound: the largest part of the expected time, host and launches as one
    mfu, mbu        in the expected time (serve.efficiency): None where the rate is in no datasheet
    """

    brief = ("bound", "expected_bound", "time_s", "tokens_per_s")

    flop: float
    flop_by_format: dict[str, float]
    bytes: Bytes
    link_bytes: float
    network_bytes: float
    link_level: str | None
    launches: int
    intensity_flop_per_byte: float
    ridge_flop_per_byte: float | None
    bound: str
    expected_bound: str
    split: dict[str, float]
    ceilings_s: Ceilings
    time_s: Span
    tokens_per_s: Span
    tokens_per_s_per_user: Span | None
    mfu: float | None = None
    mbu: float | None = None
    waterfall: tuple[Step, ...]
    operators: tuple[OperatorBlock, ...]


class Intensity(Part, msgspec.Struct, frozen=True, kw_only=True):
    """What a step would do that memory has no room for: its arithmetic by format, and where it would stand. No times.

    ridge_flop_per_byte     of the format that most of its FLOP run in; None where that has no peak
    """

    brief = ("intensity_flop_per_byte", "ridge_flop_per_byte")

    flop: float
    flop_by_format: dict[str, float]
    intensity_flop_per_byte: float
    ridge_flop_per_byte: float | None


class Request(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A request of the run `batch`: the prompts of all, then every decode step as its context grows."""

    brief = ("time_s", "prefill_share")

    time_s: Span
    prefill_share: Span


class Analysis(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What `rooflight.analyze` returns. `to_dict()` is the documented JSON, `chart()` its picture.

    phases      none where not one sequence fits; no decode, verify, mixed where fewer than the batch do, or where
                nothing is put out (osl 0); no prefill and mixed where the accelerator has no compute peak
    most_requests_per_s     where more arrive than this, which is what is finished; the answer is that of one in flight
    runs        by schedule; run: the one that the answer speaks of. None where not one sequence fits
    phases_or_null, runs_or_null    the same as the JSON has them, where what is missing is null
    intensities_or_absent           the JSON has `intensities` where memory has no room for a step, by that step's name
    speculation_or_absent           the JSON has `speculation` where what drafts is named
    calibration_or_absent           the JSON has `calibration` where your own was given
    expected_basis                  which measurements expected times rest on
    """

    brief = ("answer",)

    schema: str = SCHEMA
    answer: str = ""
    model: ModelBlock
    accelerator: AcceleratorBlock
    workload: dict[str, int | float | None]
    deployment: dict[str, Any]
    bound: str | None
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    phases_or_null: dict[str, Phase | None] | None = msgspec.field(name="phases")
    runs_or_null: dict[str, Run | None] | None = msgspec.field(name="runs")
    run: str | None
    request: Request | None
    served: ServedBlock | None
    memory: MemoryBlock
    most_requests_per_s: float | None = None
    intensities_or_absent: dict[str, Intensity] | msgspec.UnsetType = msgspec.field(
        name="intensities", default=msgspec.UNSET
    )
    speculation_or_absent: SpeculationBlock | msgspec.UnsetType = msgspec.field(
        name="speculation", default=msgspec.UNSET
    )
    calibration_or_absent: OwnBlock | msgspec.UnsetType = msgspec.field(name="calibration", default=msgspec.UNSET)
    expected_basis: ExpectedBasis

    @property
    def calibration(self) -> OwnBlock | None:
        """What your own calibration does, and what would be expected without it; None where none was given."""
        return None if self.calibration_or_absent is msgspec.UNSET else self.calibration_or_absent

    @property
    def speculation(self) -> SpeculationBlock | None:
        """What drafts and what a cycle takes; None where no draft is named."""
        return None if self.speculation_or_absent is msgspec.UNSET else self.speculation_or_absent

    @property
    def phases(self) -> Known[Phase]:
        """The phases that there are, by name; [] of another raises NotThere, `get` gives None."""
        return Known(self.phases_or_null, "phase", self._lacking)

    @property
    def on_roof(self) -> dict[str, Phase]:
        """The phases that run on the accelerator whose roof is drawn: a prompt on another card is not among them."""
        elsewhere = ("prefill",) if self.deployment.get("prefill_on") else ()
        return {name: phase for name, phase in self.phases.items() if name not in elsewhere}

    @property
    def intensities(self) -> dict[str, Intensity]:
        """What steps would do that memory has no room for, by their names; none where all of them fit."""
        return {} if self.intensities_or_absent is msgspec.UNSET else self.intensities_or_absent

    @property
    def placed_on_roof(self) -> dict[str, Phase | Intensity]:
        """Every step that runs, or would run, on the accelerator whose roof is drawn."""
        elsewhere = ("prefill",) if self.deployment.get("prefill_on") else ()
        kept = {name: one for name, one in self.intensities.items() if name not in elsewhere}
        return {**self.on_roof, **kept}

    @property
    def runs(self) -> Known[Run]:
        """The runs that there are, by schedule; [] of another raises NotThere, `get` gives None."""
        return Known(self.runs_or_null, "run", self._lacking)

    @property
    def _lacking(self) -> str:
        """The sentence, where it says why a part is missing that there usually is."""
        there = self.phases_or_null or {}
        return "" if there.get("prefill") and there.get("decode") else self.answer

    @property
    def answered(self) -> bool:
        """Whether at least one sequence fits, so that there are times."""
        return self.phases_or_null is not None

    @property
    def fits(self) -> bool | None:
        """True where weights, KV cache and reserve fit the devices; None where their size is in no source."""
        return self.memory.fits

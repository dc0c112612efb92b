"""The answer of `compare`: these structs are the JSON rooflight.comparison/1, field for field."""

from __future__ import annotations

import msgspec

from rooflight.span import Span
from rooflight.values.known import Known
from rooflight.values.mix import Mix
from rooflight.values.placed import Placed
from rooflight.values.run import Run
from rooflight.values.shown import Part, Shown

SCHEMA = "rooflight.comparison/1"
# What may be asked for, and in words what is the most of it.
OBJECTIVES = {
    "throughput": "output tokens per second",
    "accelerator": "output tokens per second and accelerator",
    "latency": "output tokens per second and user",
    "cost": "output tokens per dollar",
    "energy": "output tokens per joule at TDP",
}
# At which of a span's values decisions are taken.
BASES = ("ceiling", "expected")


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """Datasheet rates of all devices together, in the format most of the prefill runs in, and over the baseline's."""

    format: str
    flop_per_s: float
    memory_bytes_per_s: float
    memory_bytes: float | None
    tdp_w: float | None
    price_usd_per_hour: float | None
    flop_ratio: float | None
    memory_ratio: float | None


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in the memory of all devices, and how many sequences of the mix's mean length fit at once."""

    weights_bytes: float
    kv_bytes: float
    reserve_bytes: float
    usable_bytes: float | None
    max_batch: int | None


class PhasePart(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A phase of the mix on one deployment: its steps by themselves, as analyze has them.

    time_s          machine seconds of a request in such steps, shared by all that are in them
    step_s          seconds of the step itself: a prefill of prefill-batch prompts, a decode step of the batch
    tokens_per_s    prompt tokens, or output tokens of the batch
    bound           what sets the ceiling: compute, memory, link or launch
    share           of the request's machine time: as expected the run's own, at the other two of the sum of both
                    time_s; None where the compute peak that prompts need is not known
    speed_up        over the baseline in this phase
    """

    brief = ("bound", "time_s", "step_s")

    time_s: Span
    step_s: Span
    tokens_per_s: Span
    bound: str
    share: Span | None
    speed_up: Span | None


class Whole(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A request of the mix in the deployment's run.

    time_s          machine seconds of a request: one over the run's requests a second
    overlapped_s    no engine is faster: the ceiling of time_s
    tokens_per_usd, tokens_per_joule    output tokens; None without a price or a TDP. TDP is the most that the
                    accelerators draw, so as expected this is the least number of tokens per joule
    speed_up        over the baseline: its time over this one's
    """

    brief = ("time_s", "output_tokens_per_s")

    time_s: Span
    overlapped_s: float
    requests_per_s: Span
    output_tokens_per_s: Span
    output_tokens_per_s_per_accelerator: Span
    output_tokens_per_s_per_user: Span | None
    tokens_per_usd: Span | None
    tokens_per_joule: Span | None
    speed_up: Span | None


# Its spans but the speed-up, which the phases have too.
_SPANS = (
    "time_s", "requests_per_s", "output_tokens_per_s", "output_tokens_per_s_per_accelerator",
    "output_tokens_per_s_per_user", "tokens_per_usd", "tokens_per_joule",
)  # fmt: skip


class Equal(msgspec.Struct, frozen=True, kw_only=True):
    """Input-to-output ratios at which a deployment is as fast as the baseline, at the ceilings and as expected.

    Empty where it never is, at the mix's total tokens; at each of them the faster one changes.
    """

    ceiling: tuple[float, ...]
    expected: tuple[float, ...]


class Compared(Part, Placed, frozen=True, kw_only=True):
    """One deployment of the comparison. Where it has no times, `reason` says why and the parts are None.

    label           unique in the comparison: 4 x h100-sxm, and what else tells it from its neighbours
    fits            all of the batch at once; where fewer do, `reason` says so, the others wait and decode is None
    batch           requests in flight, the whole deployment; None where no sequence fits
    run             at the mix's mean lengths; prefill, decode: its phases by themselves
    """

    brief = ("label", "fits", "batch", "reason")

    label: str
    engine: str | None
    fits: bool | None
    reason: str | None = None
    batch: int | None
    run: Run | None
    hardware: Hardware | None
    memory: Fit | None
    prefill: PhasePart | None
    decode: PhasePart | None
    request: Whole | None
    equal_at: Equal | None

    @property
    def spans(self) -> Known[Span]:
        """What a request gets, by the names in Whole; [] of what is not there raises NotThere, `get` gives None."""
        named = {} if self.request is None else {name: getattr(self.request, name) for name in _SPANS}
        return Known(named, "span", self.reason or "")

    @property
    def speed_ups(self) -> Known[Span]:
        """Speed over the baseline's in "prefill", "decode" and of a whole "request", where there is one."""
        parts = {"prefill": self.prefill, "decode": self.decode, "request": self.request}
        found = {name: None if part is None else part.speed_up for name, part in parts.items()}
        return Known(found, "speed-up", self.reason or "")


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Between two input-to-output ratios one deployment wins; the next stretch begins where they cross.

    objective, basis        what it wins in, at the ceilings or as expected
    from_ratio, to_ratio    isl / osl at the mix's total tokens
    """

    objective: str
    basis: str
    winner: str
    from_ratio: float
    to_ratio: float


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """Where two deployments are equal: `below` wins at smaller input-to-output ratios, `above` at larger ones."""

    objective: str
    basis: str
    ratio: float
    isl: float
    osl: float
    below: str
    above: str


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment's machine seconds of a request over the ratios of Curves."""

    label: str
    ceiling_s: tuple[float, ...]
    expected_s: tuple[float, ...]


class Curves(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of `total_tokens` tokens, cut into input and output at each ratio: what crossings are read from."""

    total_tokens: float
    ratio: tuple[float, ...]
    isl: tuple[float, ...]
    osl: tuple[float, ...]
    curves: tuple[Curve, ...]


class Comparison(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What `rooflight.compare` returns. `to_dict()` is the documented JSON.

    winner          the most of the objective as expected; too_close: labels whose expected intervals reach into its
    """

    brief = ("answer",)

    schema: str = SCHEMA
    answer: str
    model: str
    objective: str
    mix: Mix
    baseline: str | None
    winner: str | None
    too_close: tuple[str, ...]
    compared: tuple[Compared, ...]
    stretches: tuple[Stretch, ...]
    crossings: tuple[Crossing, ...]
    curves: Curves | None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    measured_or_absent: tuple[str, ...] | msgspec.UnsetType = msgspec.field(name="measured", default=msgspec.UNSET)

    @property
    def measured(self) -> tuple[str, ...]:
        """Ids of the accelerators that were measured: their ceilings are the fastest seen there."""
        return () if self.measured_or_absent is msgspec.UNSET else self.measured_or_absent

    @property
    def answered(self) -> bool:
        """True where at least one deployment holds a sequence (or was computed all the same) and keeps up.

        Where no compute peak is known, its decode is an answer.
        """
        return any(one.request is not None or one.decode is not None for one in self.compared)

"""The answer of `moves`: what each change of a deployment would do, and why it does nothing where it does."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.span import Span
from rooflight.values.held import MemoryBlock
from rooflight.values.known import Known
from rooflight.values.note import Note
from rooflight.values.run import Run
from rooflight.values.shown import Part, Shown

SCHEMA = "rooflight.moves/1"
# The gain each objective looks at; cost without prices is accelerator time, which is throughput's.
GAIN_OF = {"throughput": "throughput", "latency": "request", "ttft": "ttft", "cost": "cost"}
OBJECTIVES = tuple(GAIN_OF)


def wanted(gains: dict[str, Span], objective: str) -> Span:
    """The gain an objective looks at; of decode alone where a whole request cannot be told."""
    return gains.get(GAIN_OF[objective]) or gains["decode" if objective == "latency" else "throughput"]


class Dot(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A phase on the roofline: its time, what binds it, each resource's own seconds, and where it stands.

    terms_s         without compute, and ridge_flop_per_byte None, where the accelerator has no compute peak; with
                    host_memory and host_link where something lies in the host's memory
    weights, kv     shares of the bytes through memory that are weights, and KV cache
    flop_per_s      of all devices, in the expected time of the step
    """

    brief = ("bound", "time_s")

    time_s: Span
    bound: str
    terms_s: dict[str, float]
    intensity_flop_per_byte: float
    ridge_flop_per_byte: float | None
    weights: float
    kv: float
    flop_per_s: float


class Outcome(Part, msgspec.Struct, frozen=True, kw_only=True):
    """What a deployment gets: each phase, its run, and what that is worth.

    devices             accelerators it takes
    batch               requests in flight; max_batch: sequences that memory holds (null: its size is
                        not known)
    prefill             of prefill-batch prompts; decode: a step of all sequences that fit (per token, where a step
                        yields more), None where nothing is put out
    run                 of the question's schedule: alone, served, ... (values.run.Run)
    token_s, request_s, tokens_per_s, tokens_per_s_per_accelerator     of the run; token_s null for one output token;
                        tokens are those put out, or where none are those of the prompts
    usd_per_million_tokens          by the accelerator's price; null without one

    decode_tokens_per_s_per_accelerator    of decode steps alone

    Without a compute peak everything that a prompt decides is null: prefill, and of the run all but a token's time.
    Money is then of decode steps alone.
    """

    brief = ("devices", "batch", "fits", "tokens_per_s", "request_s")

    devices: int
    batch: int
    max_batch: int | None
    fits: bool | None
    prefill: Dot | None
    decode: Dot | None
    run: Run
    token_s: Span | None
    request_s: Span | None
    tokens_per_s: Span | None
    tokens_per_s_per_accelerator: Span | None
    decode_tokens_per_s_per_accelerator: Span | None
    usd_per_million_tokens: Span | None = None

    @property
    def rate(self) -> Span:
        """Output tokens a second and accelerator, of decode steps alone where the run's are not known."""
        return self.tokens_per_s_per_accelerator or self.decode_rate

    @property
    def decode_rate(self) -> Span:
        """Of decode steps alone. Raises TypeError where nothing is put out."""
        if self.decode_tokens_per_s_per_accelerator is None:
            raise TypeError("nothing is decoded where nothing is put out")
        return self.decode_tokens_per_s_per_accelerator


class Move(Part, msgspec.Struct, frozen=True, kw_only=True):
    """One change and its effect.

    kind        the family of moves it belongs to ("batch", "weights", "tp", ...)
    of          "settings" (same machine, same model), "machine" (more or other ones) or "model" (what if it had)
    verdict     "helps", "nothing", "hurts" (by the objective), "does-not-fit" or "not-possible"
    because     why, with numbers
    cost        what it takes: memory, quality, accelerators, money
    gains       how many times as good (above 1 is better): "prefill" and "decode" of the phases, "ttft", "request" and
                "throughput" (by accelerator) of the run and, with prices, "cost"; none where nothing runs. Without a
                compute peak "decode" and "throughput" (and "cost"), of decode steps alone
    gains_or_null   the same as the JSON has them: null where nothing runs
    asked       whether the question named it (how many tokens to draft, which hit rate)
    assumed     what was taken for granted to evaluate it
    fields      fields of the question (values.question.FIELDS), "on", "bandwidth_times" and "peak_times", to set so
                that it is asked of the deployment after the move; a null is the default. None where no field says it:
                fused kernels, another shape of the model, a rate that no card is asked with
    """

    brief = ("title", "verdict", "because")

    kind: str
    of: str
    title: str
    verdict: str
    because: str
    cost: str
    gains_or_null: dict[str, Span] | None = msgspec.field(name="gains")
    after: Outcome | None
    assumed: tuple[str, ...] = ()
    asked: bool = False
    fields: dict[str, Any] | None = None

    @property
    def gains(self) -> Known[Span]:
        """The gains that there are, by name; [] of another raises NotThere, `get` gives None."""
        return Known(self.gains_or_null, "gain", self.because)


class Combined(Part, msgspec.Struct, frozen=True, kw_only=True):
    """The best few moves of the same machine together, evaluated as one deployment; `fields` as a move's."""

    brief = ("titles",)

    titles: tuple[str, ...]
    gains: dict[str, Span]
    after: Outcome
    fields: dict[str, Any] | None = None


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a phase: expected over its ceiling, and the ceiling over the next resource's own time."""

    phase: str
    to_ceiling: float
    ceiling: str
    to_next: float | None
    next: str | None


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A usual wrong belief that this situation matches, answered with its numbers."""

    name: str
    words: str


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A move in numbers.

    move        its kind, and the numbers that tell it from others of its kind
    why         what it does to the phase that matters, or why it cannot be made
    of, verdict, gains, after, asked, fields    as in Move
    """

    move: Note
    of: str
    verdict: str
    why: tuple[Note, ...]
    gains: dict[str, Span] | None = None
    after: Outcome | None = None
    asked: bool = False
    fields: dict[str, Any] | None = None


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """Combined, in numbers."""

    moves: tuple[Note, ...]
    gains: dict[str, Span]
    after: Outcome
    fields: dict[str, Any] | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, in numbers: words.moves makes the documented answer of it, and says what each note holds.

    answer      what its sentence says
    left        ceiling and next name the resource alone
    """

    answer: Note
    objective: str
    before: Outcome | None
    memory: MemoryBlock
    tried: tuple[Tried, ...]
    together: Together | None
    left: tuple[Left, ...]
    stories: tuple[Note, ...]


class Moves(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What `rooflight.moves` returns; `moves` ranked by the objective. `to_dict()` is the documented JSON."""

    brief = ("answer",)

    schema: str = SCHEMA
    answer: str
    objective: str
    model: str
    accelerator: str
    before: Outcome | None
    memory: str
    moves: tuple[Move, ...]
    combined: Combined | None
    left: tuple[Left, ...]
    stories: tuple[Story, ...]
    assumptions: tuple[str, ...]
    measured_or_absent: tuple[str, ...] | msgspec.UnsetType = msgspec.field(name="measured", default=msgspec.UNSET)

    @property
    def measured(self) -> tuple[str, ...]:
        """Ids of the accelerators that were measured: their ceilings are the fastest seen there."""
        return () if self.measured_or_absent is msgspec.UNSET else self.measured_or_absent

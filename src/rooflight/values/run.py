"""A run of requests: what a deployment under a schedule gives them, field for field as the JSON has it."""

from __future__ import annotations

import msgspec

from rooflight.span import Span
from rooflight.values.known import Known
from rooflight.values.shown import Part

# Those of a run that are spans.
_SPANS = (
    "ttft_s", "tpot_s", "request_s", "requests_per_s", "output_tokens_per_s", "output_tokens_per_s_per_user",
    "output_tokens_per_s_per_accelerator",
)  # fmt: skip
SCHEDULES = ("alone", "batch", "served", "apart")


class Utilization(msgspec.Struct, frozen=True, kw_only=True):
    """Work over what the datasheet's rates would do in the expected time, by resource."""

    compute: float
    memory: float
    link: float


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """Workers of one kind, apart from the others: how each is laid out, what runs in all, a step of one."""

    accelerator: str
    workers: int
    tp: int
    ep: int
    dp: int
    running: float
    step_s: float


class Run(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A run under a schedule. Spans are of each quantity by itself; numbers without one are of the expected run.

    engine          whose expected times
    running         requests that are prefilled or decode; decoding: that decode; waiting: in front of a full engine
    ttft_s, tpot_s, request_s   of a request, waiting included; tpot_s None where one token is generated
    prefill_share   of expected machine time; utilization: work over the expected time at datasheet rates
    prefill, decode the pools of workers of a run `apart`, None elsewhere

    What a prompt's arithmetic decides is None where the accelerator has no compute peak: everything but the time of a
    token, and that too where prompts are prefilled beside others' tokens.
    """

    brief = ("schedule", "engine", "running", "ttft_s", "tpot_s")

    schedule: str
    engine: str
    running: float | None
    decoding: float | None
    waiting: float | None
    ttft_s: Span | None
    tpot_s: Span | None
    request_s: Span | None
    requests_per_s: Span | None
    output_tokens_per_s: Span | None
    output_tokens_per_s_per_user: Span | None
    output_tokens_per_s_per_accelerator: Span | None
    prefill_share: float | None
    utilization: Utilization | None
    prefill: Pool | None = None
    decode: Pool | None = None

    @property
    def spans(self) -> Known[Span]:
        """The spans that there are, by name; [] of another raises NotThere, `get` gives None."""
        named = {name: getattr(self, name) for name in _SPANS}
        return Known(named, "span", "one token has no time per token; no compute peak, no time of a prompt")


class WholeRun(Run, frozen=True, kw_only=True):
    """A run on an accelerator whose peaks are known: nothing of it is withheld."""

    running: float
    decoding: float
    waiting: float
    ttft_s: Span
    request_s: Span
    requests_per_s: Span
    output_tokens_per_s: Span
    output_tokens_per_s_per_accelerator: Span

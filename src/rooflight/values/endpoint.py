"""A serving endpoint under a load: what is asked of it, every request that was sent, and what they come to."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import msgspec

from rooflight.values.run import Run
from rooflight.values.shown import Displayed, Part

SCHEMA = "rooflight.measure-endpoint/1"
APIS = ("completions", "chat")
Api = Literal["completions", "chat"]
Stage = Literal["calibration", "warm-up", "load"]
# How a request ended; all but `ok` are faults, and `unfinished` is one that an interrupt cut off.
Outcome = Literal[
    "ok", "unreachable", "tls", "http", "redirect", "content-type", "broken", "error", "truncated", "timeout", "empty",
    "unfinished",
]  # fmt: skip
PERCENTILES = (50, 90, 95, 99)


class Load(Part, msgspec.Struct, frozen=True, kw_only=True):
    """What is sent: prompts of isl tokens that ask for osl, by one of three ways of arrival.

    concurrency     requests in flight: the next is sent when one ends; None under the other two
    request_rate    requests that arrive a second, their distances of a gamma distribution of shape `burstiness` (1:
                    Poisson); None under the other two
    burst           all at once
    num_prompts     most requests; duration_s: seconds after which no more are sent, None where the count alone ends it
    timeout_s       of one request, from sending it to its end
    warmup          requests before, which count for nothing
    seed            of the prompts' words and of arrivals
    ttft_slo_s, tpot_slo_s  goals that goodput keeps; None: not asked
    """

    brief = ("isl", "osl", "concurrency", "request_rate", "num_prompts")

    isl: int
    osl: int
    concurrency: int | None = 1
    request_rate: float | None = None
    burstiness: float = 1.0
    burst: bool = False
    num_prompts: int
    duration_s: float | None = None
    timeout_s: float
    warmup: int = 1
    seed: int
    ttft_slo_s: float | None = None
    tpot_slo_s: float | None = None


class Sent(Part, msgspec.Struct, frozen=True, kw_only=True):
    """One request and how it went; seconds are from sending it, None where that never came.

    number      of its stage, from 1
    outcome     one of Outcome; why: what was seen of a fault; status: of the HTTP answer
    start_s     after the first of its stage was sent; late_s: sent later than it should have been
    isl, osl    tokens as the server counts them; osl without such a count: chunks that hold some, `counted` false
    disbelieved the server's count of output tokens where it cannot be one: of none, or of more than was asked for
    cached      prompt tokens that the server found in its prefix cache, None where it does not say
    end_s       the end of its answer, or of waiting for one; chunks_s: when each chunk with tokens came
    """

    brief = ("number", "stage", "outcome", "ttft_s", "end_s")

    number: int
    stage: Stage
    outcome: Outcome
    why: str = ""
    status: int | None = None
    start_s: float = 0.0
    late_s: float = 0.0
    isl: int | None = None
    osl: int | None = None
    counted: bool = False
    disbelieved: int | None = None
    cached: int | None = None
    end_s: float
    chunks_s: tuple[float, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether its whole answer came."""
        return self.outcome == "ok"

    @property
    def ttft_s(self) -> float | None:
        """Seconds to the first chunk with tokens."""
        return self.chunks_s[0] if self.chunks_s else None

    @property
    def tpot_s(self) -> float | None:
        """Seconds per token after the first, (end - first) / (osl - 1).

        None of one token, of tokens that came in one chunk, or of a fault.
        """
        if not self.ok or self.ttft_s is None or self.osl is None or self.osl < 2 or len(self.chunks_s) < 2:
            return None
        return (self.end_s - self.ttft_s) / (self.osl - 1)

    @property
    def gaps_s(self) -> tuple[float, ...]:
        """Seconds between chunks with tokens, one after the other."""
        return tuple(later - sooner for sooner, later in pairwise(self.chunks_s))


class Driven(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint that was driven: everything that was sent, and what had to be settled with the server first.

    url         without a query, which may hold a key
    model       the name that requests asked for; listed: the server lists it; engine: what it says it is, None: nothing
    refused     options of a request that the server does not take, left out
    words       of a prompt, so that it has isl tokens
    astray      pairs (words, tokens) of prompts that were tried, where the server's count does not follow the prompt;
                then words are as many as tokens were asked for, and no request has an isl
    lingers     the server keeps connections open behind [DONE], so that requests open others
    sent        in the order of sending, stage by stage
    span_s      from the first request of the load to the end of the last
    start       ISO 8601, UTC
    """

    url: str
    api: Api
    model: str
    listed: bool
    engine: str | None
    load: Load
    refused: tuple[str, ...] = ()
    words: int
    astray: tuple[tuple[int, int], ...] = ()
    lingers: bool = False
    sent: tuple[Sent, ...]
    span_s: float
    interrupted: bool = False
    start: str

    @property
    def loaded(self) -> tuple[Sent, ...]:
        """The requests that count."""
        return tuple(one for one in self.sent if one.stage == "load")


class Spread(Part, msgspec.Struct, frozen=True, kw_only=True):
    """Values of many requests, in their unit: the mean, and what so many of a hundred do not exceed."""

    brief = ("mean", "p50", "p99", "n")

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    n: int


class Figures(Part, msgspec.Struct, frozen=True, kw_only=True):
    """What the answered requests of a load come to; None where there is none, or the server does not count.

    requests, answered      sent, and answered whole; outcomes: how many ended how
    isl, osl, cached        tokens of an answered request in the mean
    in_flight               requests in flight in the mean, over span_s
    ttft_s, tpot_s, request_s   of a request; itl_s: between chunks with tokens, of all requests together
    goodput_per_s           requests a second that are known to keep both goals, None where that is known of none; good:
                            how many did; untold: how many have a TPOT that cannot be told, and keep what can be
    tokens_a_chunk          output tokens in a chunk, in the mean
    late_s                  how much later than planned requests were sent, at most
    """

    brief = ("answered", "requests", "ttft_s", "tpot_s", "output_tokens_per_s")

    requests: int
    answered: int
    outcomes: dict[str, int]
    span_s: float
    in_flight: float | None = None
    isl: float | None = None
    osl: float | None = None
    cached: float | None = None
    ttft_s: Spread | None = None
    tpot_s: Spread | None = None
    itl_s: Spread | None = None
    request_s: Spread | None = None
    requests_per_s: float = 0.0
    output_tokens_per_s: float = 0.0
    total_tokens_per_s: float | None = None
    goodput_per_s: float | None = None
    good: int | None = None
    untold: int = 0
    tokens_a_chunk: float | None = None
    late_s: float = 0.0


class Beside(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A measured figure beside the run that was predicted for the same load, in base units.

    figure      ttft_s, tpot_s, request_s, output_tokens_per_s or total_tokens_per_s, in the mean over requests
    over_ceiling    measured speed over the ceiling's; verdict, reason: as `check` has them
    """

    brief = ("figure", "measured", "expected", "verdict")

    figure: str
    measured: float
    ceiling: float | None = None
    roofline: float | None = None
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    over_ceiling: float | None = None
    verdict: str
    reason: str


class EndpointReport(Displayed, msgspec.Struct, frozen=True, kw_only=True):
    """What `rooflight.measure_endpoint` returns.

    served_model    as the server calls it; model, accelerator: what the prediction is for, None without one
    on              the name by which the accelerator is found again: its id, or the file's path or `this`
    measured        the accelerator is a machine that was measured: ceilings are the fastest seen there
    gpus, tp, pp, ep, dp, weights, kv_cache, compute, engine_version    of the deployment, as it was stated or laid out
    engine          as stated, or as the server says
    run             that was predicted for the load at the lengths that were seen; None without a model and a machine
    beside          what was measured beside it
    assumptions     behind the prediction; notes: what was settled with the server, and what else to know
    requests        every one that was sent, calibration and warm-up too
    """

    brief = ("answer",)

    schema: str = SCHEMA
    answer: str
    url: str
    api: Api
    served_model: str
    engine: str | None = None
    model: str | None = None
    accelerator: str | None = None
    on: str | None = None
    measured: bool = False
    gpus: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None
    weights: str | None = None
    kv_cache: str | None = None
    compute: str | None = None
    engine_version: str | None = None
    start: str
    interrupted: bool = False
    load: Load
    figures: Figures
    run: Run | None = None
    beside: tuple[Beside, ...] = ()
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    requests: tuple[Sent, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether any request was answered whole."""
        return self.figures.answered > 0

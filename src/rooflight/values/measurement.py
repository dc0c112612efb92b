"""A published or own measurement, as a row of a table says it, and what judging it gives."""

from __future__ import annotations

import enum

import msgspec

from rooflight.values.shown import Part, Shown

SCHEMA = "rooflight.check/1"
PHASES = ("prefill", "decode", "e2e_offline", "e2e_server")
VERDICTS = ("ok", "slow", "fast", "impossible", "cannot-judge")
# Whether drafts were used; how requests were spread over workers (agg: each does both phases).
SPECULATIVE = ("yes", "no", "unknown")
MODES = ("agg", "disagg")


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """What a value measures. `time`: smaller is faster, in ms; else a rate in tok/s.

    phases              those it may be measured in, the first where the row says none
    prompts, output     whether prompt tokens and generated ones are in it: in what is timed, in what is counted
    per_user, per_gpu   a rate of each sequence, of each device; else of all of them
    """

    unit: str
    time: bool
    phases: tuple[str, ...]
    prompts: bool = False
    output: bool = False
    per_user: bool = False
    per_gpu: bool = False

    @property
    def together(self) -> bool:
        """Whether all sequences' output is counted: the more at once, the more of it."""
        return self.output and not self.time and not self.per_user

    def speed_over(self, value: float, other: float) -> float:
        """How many times as fast as another value one is. Check: 2 ms over 6 ms -> 3; 2 tok/s over 6 -> 1 / 3."""
        return other / value if self.time else value / other


_RATE = ("decode", "e2e_offline", "e2e_server")
_WHOLE = ("e2e_offline", "e2e_server")

# Smaller and larger values, in any metric's unit, are no measurements.
LEAST_VALUE = 1e-15
MOST_VALUE = 1e15

METRICS = {
    "e2e_latency_ms": Metric(unit="ms", time=True, phases=_WHOLE, prompts=True, output=True),
    "ttft_ms": Metric(unit="ms", time=True, phases=("prefill", *_WHOLE), prompts=True),
    "tpot_ms": Metric(unit="ms", time=True, phases=_RATE, output=True),
    "output_tok_s": Metric(unit="tok/s", time=False, phases=_RATE, output=True),
    "output_tok_s_per_gpu": Metric(unit="tok/s", time=False, phases=_RATE, output=True, per_gpu=True),
    "output_tok_s_per_user": Metric(unit="tok/s", time=False, phases=_RATE, output=True, per_user=True),
    "total_tok_s": Metric(unit="tok/s", time=False, phases=(*_WHOLE, "prefill", "decode"), prompts=True, output=True),
    "prefill_tok_s": Metric(unit="tok/s", time=False, phases=("prefill", *_WHOLE), prompts=True),
}


class Timed(enum.StrEnum):
    """What a measurement times; its metric and phase together say which."""

    STEP = "a decode step"
    PREFILL = "a prefill of the prompts together"
    BATCH_FIRST = "the first token of a batch started together"
    BATCH_TOKEN = "a later token of a batch started together"
    BATCH = "a batch started together, from end to end"
    SERVED_FIRST = "the first token of a served request"
    SERVED_TOKEN = "a later token of a served request"
    SERVED_REQUEST = "a served request, from end to end"
    SERVED_USER = "the output of a served request at the rate of its later tokens"
    SERVED_ALL = "the output of as many served requests as are asked for"

    @property
    def prompt(self) -> bool:
        """Whether prompts are what it times."""
        return self in (Timed.PREFILL, Timed.BATCH_FIRST, Timed.SERVED_FIRST)

    @property
    def step(self) -> bool:
        """Whether a token is: a decode step, and in a served request what comes between two."""
        return self in (Timed.STEP, Timed.BATCH_TOKEN, Timed.SERVED_TOKEN)


_BATCH_TIMED = {"ttft_ms": Timed.BATCH_FIRST, "tpot_ms": Timed.BATCH_TOKEN, "prefill_tok_s": Timed.PREFILL}
_SERVED_TIMED = {
    "ttft_ms": Timed.SERVED_FIRST,
    "tpot_ms": Timed.SERVED_TOKEN,
    "e2e_latency_ms": Timed.SERVED_REQUEST,
    "output_tok_s_per_user": Timed.SERVED_USER,
    "prefill_tok_s": Timed.PREFILL,
}


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One measured number and what was run. None: not stated, which is not zero.

    model, config_like      names; the second is a model of the same shape
    has_accelerator         False: the table has no entry of the accelerator; the catalog may
    ..._as_given            the same in the source's words
    gpus, tp, pp, ep, dp    devices and degrees of parallelism
    phase                   prefill, decode, e2e_offline (one batch, or a saturated run), e2e_server (arrivals)
    batch                   sequences at once, whole deployment
    input_len, output_len   tokens of a sequence; decode: input_len are cached already
    depth                   tokens cached before what was timed
    value                   in the metric's unit: ms or tok/s
    engine_version          a version, or the year it is of
    max_num_batched_tokens, max_num_seqs    the engine's limits, of a step and of a replica
    cached_prefix           tokens of input_len that a prefix cache held; prefix_hit: the same as a share
    speculative             one of SPECULATIVE; draft_tokens, acceptance, draft_share as in values.workload.Workload;
                            draft_model as in values.deployment.Deployment, of the catalog alone
    mode                    one of MODES; disagg: tp, pp, ep and dp are those of one decode worker, gpus are all
    prefill_workers, decode_workers, prefill_tp, prefill_ep, prefill_dp     of a disaggregated run
    prompts                 requests of the whole run: a finite one drains at its end
    network                 what a device sends between machines, as --network
    weight_bytes            of the file, where it is known
    partial_offload         what ran on the host, in the row's words; "" or "no": nothing
    n_gpu_layers, n_cpu_moe, host_cpu, host_memory_bandwidth    what ran there as values.deployment.Deployment has it
    power_limit_w           of a device, where it was set below what the card draws
    run                     rows of one run have the same
    """

    model: str
    accelerator: str
    metric: str
    value: float
    phase: str
    id: str = ""
    config_like: str = ""
    has_accelerator: bool | None = None
    gpus: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None
    weights: str | None = None
    kv_cache: str | None = None
    compute: str | None = None
    batch: int | None = None
    input_len: int | None = None
    output_len: int | None = None
    depth: int | None = None
    engine: str = ""
    engine_version: str = ""
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    cached_prefix: int | None = None
    prefix_hit: float | None = None
    speculative: str | None = None
    draft_tokens: int | None = None
    acceptance: float | None = None
    draft_share: float | None = None
    draft_model: str | None = None
    mode: str | None = None
    prefill_workers: int | None = None
    decode_workers: int | None = None
    prefill_tp: int | None = None
    prefill_ep: int | None = None
    prefill_dp: int | None = None
    prompts: int | None = None
    network: str | None = None
    n_gpu_layers: int | None = None
    n_cpu_moe: int | None = None
    host_cpu: str | None = None
    host_memory_bandwidth: str | None = None
    run: str = ""
    weight_bytes: float | None = None
    partial_offload: str = ""
    power_limit_w: float | None = None
    weights_as_given: str = ""
    model_as_given: str = ""
    accelerator_as_given: str = ""

    @property
    def apart(self) -> bool:
        """Whether prompts were prefilled by workers of their own."""
        return self.mode == "disagg"

    @property
    def split(self) -> bool:
        """Whether it says which part ran on the host."""
        return self.n_gpu_layers is not None or bool(self.n_cpu_moe)

    @property
    def offloaded(self) -> bool:
        """Whether a part of it ran on the host, and nobody says which."""
        return not self.split and self.partial_offload.lower() not in ("", "no", "none", "false", "0")

    @property
    def measures(self) -> Metric:
        """What the value's metric is."""
        return METRICS[self.metric]

    @property
    def served(self) -> bool:
        """Whether requests arrived one after the other, so that prompts came in between decode steps."""
        return self.phase == "e2e_server"

    @property
    def timed(self) -> Timed:
        """What the value times."""
        if self.phase == "decode":
            return Timed.STEP
        if self.phase == "prefill":
            return Timed.PREFILL
        if self.served:
            return _SERVED_TIMED.get(self.metric, Timed.SERVED_ALL)
        return _BATCH_TIMED.get(self.metric, Timed.BATCH)


class Verdict(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A row judged. ceiling, expected, low and high are in the row's own metric; None where there is none.

    line            of the file, the header being 1; in a list of rows their place, from 1
    over_ceiling    measured speed over ceiling speed: above 1 is faster than physics allows, or than was measured
    on_measured     the machine was measured: its ceiling is the fastest seen there. The JSON has it where it is true
    bound           what sets the ceiling: compute, memory, link
    mix_up          impossible: the usual mistake that would explain the value; None where none fits
    given           the row as it was read, columns by name
    mfu, mbu        of the step that the value times, by the datasheet; None of a run, and where the batch is open
    expected_uncalibrated   without your own calibration. The JSON has it where one was given
    """

    brief = ("model", "accelerator", "metric", "value", "verdict", "reason")

    line: int
    verdict: str
    reason: str
    model: str = ""
    accelerator: str = ""
    metric: str = ""
    unit: str = ""
    value: float | None = None
    ceiling: float | None = None
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    over_ceiling: float | None = None
    bound: str | None = None
    mix_up: str | None = None
    mfu: float | None = None
    mbu: float | None = None
    given: dict[str, str] = {}
    on_measured_or_absent: bool | msgspec.UnsetType = msgspec.field(name="on_measured", default=msgspec.UNSET)
    expected_uncalibrated_or_absent: float | msgspec.UnsetType = msgspec.field(
        name="expected_uncalibrated", default=msgspec.UNSET
    )

    @property
    def expected_uncalibrated(self) -> float | None:
        """What would be expected without your own calibration; None where none was given."""
        found = self.expected_uncalibrated_or_absent
        return None if found is msgspec.UNSET else found

    @property
    def on_measured(self) -> bool:
        """Whether its ceiling is the fastest seen on a measured machine."""
        return self.on_measured_or_absent is True

    @property
    def faster_than_measured(self) -> bool:
        """Whether it is fast for being above that."""
        return self.on_measured and self.verdict == "fast" and self.over_ceiling is not None and self.over_ceiling > 1


class Tally(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A file's verdicts counted. Errors are |expected - measured| / measured; None until something is expected.

    judged      rows with a ceiling and a verdict other than cannot-judge
    coverage    share of rows with an expectation whose value lies in its interval
    on_measured     judged rows of measured machines, and faster_than_measured: those of them that are faster than the
                    fastest seen there (counted as fast). The JSON has both where there are such rows
    """

    brief = ("rows", "judged", "ok", "fast", "slow", "impossible", "cannot_judge")

    rows: int
    judged: int
    ok: int
    fast: int
    slow: int
    impossible: int
    cannot_judge: int
    median_error: float | None = None
    mean_error: float | None = None
    coverage: float | None = None
    on_measured_or_absent: int | msgspec.UnsetType = msgspec.field(name="on_measured", default=msgspec.UNSET)
    faster_than_measured_or_absent: int | msgspec.UnsetType = msgspec.field(
        name="faster_than_measured", default=msgspec.UNSET
    )

    @property
    def on_measured(self) -> int:
        """Judged rows of measured machines."""
        return 0 if self.on_measured_or_absent is msgspec.UNSET else self.on_measured_or_absent

    @property
    def faster_than_measured(self) -> int:
        """Those of them that are faster than the fastest seen there."""
        return 0 if self.faster_than_measured_or_absent is msgspec.UNSET else self.faster_than_measured_or_absent


class Report(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What `rooflight.check` returns: one sentence, the counts, what was odd about the file, and a verdict a row."""

    brief = ("answer",)

    schema: str = SCHEMA
    answer: str
    summary: Tally
    notes: tuple[str, ...]
    rows: tuple[Verdict, ...]

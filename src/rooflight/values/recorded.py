"""What a file of somebody else recorded: benchmark results, an engine's log, minutes of monitoring, a profile."""

from __future__ import annotations

from typing import Literal

import msgspec

from rooflight.values.sample import Sample, Timing
from rooflight.values.scraped import Scrape
from rooflight.values.shown import Part

Subject = Literal["device", "engine"]
# What a reader read: a figure of a finished run, one moment, the difference of two moments, all since the start.
Span = Literal["run", "moment", "interval", "lifetime"]


class Spread(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a time is distributed over requests, in seconds; None: not said."""

    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def middle(self) -> float | None:
        """The mean, else the median."""
        return self.mean if self.mean is not None else self.p50


class Stated(Part, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How something ran, as its file says it; None: not stated, which is no default.

    model, device       as the source names them
    weights, kv_cache   number formats by rooflight's names
    gpus                accelerators in all; tp, pp, ep, dp degrees of parallelism
    prefill_workers, decode_workers, prefill_tp, prefill_ep, prefill_dp     of a disaggregated run, whose tp, pp, ep and
                        dp are those of one decode worker
    engine, engine_version      "vllm", "0.12.0"
    context_tokens      the longest sequence it takes (max_model_len, n_ctx)
    max_num_seqs, max_num_batched_tokens    limits of a step; SGLang's chunked prefill size is the second
    memory_share        of an accelerator's memory that the engine may use
    batch               sequences that start together; concurrency: the most in flight that the load generator allows
    request_rate        arrivals a second that were asked for; num_prompts requests
    isl, osl            tokens in and out as asked for, depth: cached before what was timed
    speculative         whether drafts were used; draft_tokens a step
    phase               prefill or decode, where only one was timed
    threads             of the host's processor
    n_gpu_layers        layers on the devices, the head counted as one; n_cpu_moe: layers whose experts are on the host
    """

    brief = ("model", "device", "engine", "concurrency")

    model: str | None = None
    weights: str | None = None
    kv_cache: str | None = None
    device: str | None = None
    gpus: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None
    prefill_workers: int | None = None
    decode_workers: int | None = None
    prefill_tp: int | None = None
    prefill_ep: int | None = None
    prefill_dp: int | None = None
    engine: str | None = None
    engine_version: str | None = None
    context_tokens: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    memory_share: float | None = None
    batch: int | None = None
    concurrency: int | None = None
    request_rate: float | None = None
    num_prompts: int | None = None
    isl: float | None = None
    osl: float | None = None
    depth: int | None = None
    speculative: bool | None = None
    draft_tokens: int | None = None
    phase: str | None = None
    threads: int | None = None
    n_gpu_layers: int | None = None
    n_cpu_moe: int | None = None


class Measurements(Part, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came out, in base units; None: the file does not say it. docs/json.md lists each with its source's names.

    Memory of an engine, each of one accelerator where the name says so, which is the first where they differ:
    total_bytes..., usable_bytes...     its memory, and what the engine may use of it
    weights, kv, graph, activation, other, network, compute  bytes of each; free: left when all is placed
    free_before_bytes...                free before the weights are loaded
    weights_bytes       the whole file or checkpoint; host_weights_bytes: what of it lies in the host's memory
    wanted_bytes        an allocation that failed; wanted_for: "weights", "kv" or "compute", where the lines say
    needed_kv_bytes...  the cache of one sequence of the full context, where the engine says that it lacks it;
                        longest_tokens: the longest sequence that it says it could hold
    out_of_memory       it says that it ran out of an accelerator's memory
    kv_tokens           tokens the cache holds, of the whole server; kv_tokens_per_replica of one data-parallel rank
    max_concurrency     sequences of the full context that the engine says it holds
    offloaded_layers, layers    llama.cpp's "offloaded 63/63"

    A load, over all its requests:
    isl, osl            tokens of a request in the mean
    arrivals_per_s      requests that were sent a second; requests_per_s: that ended
    in_flight           requests in the system in the mean; peak_in_flight at most
    ttft_s, tpot_s, itl_s, request_s    to the first token, per later token, between chunks, whole
    tpot_with_first_s   request time over all its output tokens, which some tools call TPOT
    queue_s, prefill_s, decode_s    parts of a request
    acceptance          drafted tokens that were accepted, as a share
    """

    brief = ("kv_tokens", "output_tokens_per_s", "ttft_s", "tpot_s")

    total_bytes_per_accelerator: float | None = None
    usable_bytes_per_accelerator: float | None = None
    weights_bytes_per_accelerator: float | None = None
    kv_bytes_per_accelerator: float | None = None
    graph_bytes_per_accelerator: float | None = None
    activation_bytes_per_accelerator: float | None = None
    other_bytes_per_accelerator: float | None = None
    network_bytes_per_accelerator: float | None = None
    compute_bytes_per_accelerator: float | None = None
    free_bytes_per_accelerator: float | None = None
    projected_bytes_per_accelerator: float | None = None
    free_before_bytes_per_accelerator: float | None = None
    needed_kv_bytes_per_accelerator: float | None = None
    weights_bytes_by_accelerator: tuple[float, ...] | None = None
    kv_bytes_by_accelerator: tuple[float, ...] | None = None
    weights_bytes: float | None = None
    host_weights_bytes: float | None = None
    host_kv_bytes: float | None = None
    kv_bytes: float | None = None
    wanted_bytes: float | None = None
    wanted_for: str | None = None
    out_of_memory: bool | None = None
    bits_per_weight: float | None = None
    kv_tokens: float | None = None
    kv_tokens_per_replica: float | None = None
    max_concurrency: float | None = None
    longest_tokens: float | None = None
    offloaded_layers: int | None = None
    layers: int | None = None
    duration_s: float | None = None
    requests: int | None = None
    failed: int | None = None
    arrivals_per_s: float | None = None
    requests_per_s: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    input_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None
    total_tokens_per_s: float | None = None
    output_tokens_per_s_per_user: float | None = None
    prefill_tokens_per_s: float | None = None
    isl: float | None = None
    osl: float | None = None
    in_flight: float | None = None
    peak_in_flight: float | None = None
    ttft_s: Spread | None = None
    tpot_s: Spread | None = None
    itl_s: Spread | None = None
    tpot_with_first_s: Spread | None = None
    request_s: Spread | None = None
    queue_s: Spread | None = None
    prefill_s: Spread | None = None
    decode_s: Spread | None = None
    acceptance: float | None = None


class Record(Part, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run, one start of an engine, or one row of a sweep. name: what tells it from the file's others."""

    brief = ("name", "stated", "measured")

    name: str = ""
    stated: Stated = Stated()
    measured: Measurements = Measurements()
    line: int | None = None


class Watched(Part, msgspec.Struct, frozen=True, kw_only=True):
    """One accelerator (or MIG slice), or one replica of an engine, over a time. Shares are 0 to 1.

    subject     "gpu 0", "gpu 0 / mig 3", "vllm at host:8000": the same name is the same thing at another time
    span        a moment's values, their mean over an interval of `seconds`, or all since the engine's start
    start       ISO 8601 UTC, None where the source has no clock
    device, model   as the source names them; mig: the slice's profile ("1g.10gb"), whose counters are of the slice

    Of an accelerator:
    gpu_util    share of time in which some kernel ran (GPU-Util); engine_active the same by the profiler
    sm_active, sm_occupancy, tensor_active, dram_active     the profiler's; memory_util: nvidia-smi's utilization.memory
    throttled   reasons by name ("power", "thermal", "hw-slowdown"), () none; None: not recorded
    nvlink_bytes_per_s, pcie_bytes_per_s    both ways together

    Of an engine:
    running, waiting, swapped   requests; kv_usage of the pool; preemptions in the interval
    kv_tokens   the pool's size, where it says so
    step_tokens tokens of a step in the mean
    times of requests that ended, as Spread with at least a mean
    """

    brief = ("subject", "kind", "start")

    subject: str
    kind: Subject
    span: Span = "moment"
    start: str | None = None
    seconds: float | None = None
    device: str | None = None
    model: str | None = None
    mig: str | None = None
    gpu_util: float | None = None
    memory_util: float | None = None
    engine_active: float | None = None
    sm_active: float | None = None
    sm_occupancy: float | None = None
    tensor_active: float | None = None
    dram_active: float | None = None
    fp16_active: float | None = None
    fp32_active: float | None = None
    memory_used_bytes: float | None = None
    memory_total_bytes: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    sm_clock_hz: float | None = None
    max_sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    max_memory_clock_hz: float | None = None
    temperature_c: float | None = None
    throttled: tuple[str, ...] | None = None
    nvlink_bytes_per_s: float | None = None
    pcie_bytes_per_s: float | None = None
    engine: str | None = None
    running: float | None = None
    waiting: float | None = None
    swapped: float | None = None
    kv_usage: float | None = None
    kv_tokens: float | None = None
    preemptions: float | None = None
    requests: float | None = None
    prompt_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None
    requests_per_s: float | None = None
    isl: float | None = None
    osl: float | None = None
    step_tokens: float | None = None
    prefix_hit: float | None = None
    acceptance: float | None = None
    max_num_seqs: int | None = None
    ttft_s: Spread | None = None
    tpot_s: Spread | None = None
    itl_s: Spread | None = None
    request_s: Spread | None = None
    queue_s: Spread | None = None
    prefill_s: Spread | None = None
    decode_s: Spread | None = None


class Launched(Part, msgspec.Struct, frozen=True, kw_only=True):
    """Kernels of one name (and, where known, one shape and format) on one device of a profile, together.

    operator    its family: gemm, attention, norm, activation, embedding, sampling, moe, communication, copy, memset,
                elementwise, reduction, other
    total_s     of all calls; time_s: of a call
    flop, bytes     of a call by the profiler's counters or from the recorded shapes; None: not recorded
    counters    tensor_active, dram_active, sm_active ... of a call
    """

    brief = ("name", "operator", "calls", "total_s")

    name: str
    operator: str
    device: str = ""
    calls: int = 1
    total_s: float
    time_s: Timing | None = None
    flop: float | None = None
    bytes: float | None = None
    format: str | None = None
    shape: dict[str, float] | None = None
    counters: dict[str, float] | None = None


class StepSeen(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A step of an engine that a profile marks. start_s: after the profile's first event.

    phase       prefill, decode or mixed; batch: decoding sequences; tokens: of prompts; context: cached a sequence
                (of those that decode, where some do)
    prompts     that the tokens are of; prompt_context: cached of each before them
    wall_s      of the mark itself, on the host
    busy_s      with a kernel running that the step launched, whenever it ran: a device may lag behind its host
    device_s    from the first of these kernels' start to the last one's end
    """

    brief = ("name", "phase", "batch", "tokens", "wall_s")

    name: str
    phase: str | None = None
    batch: float | None = None
    tokens: float | None = None
    context: float | None = None
    prompts: float | None = None
    prompt_context: float | None = None
    start_s: float = 0.0
    wall_s: float
    busy_s: float | None = None
    device_s: float | None = None


class DeviceTrace(Part, msgspec.Struct, frozen=True, kw_only=True):
    """One device of a profile: how its time went, overlaps counted once.

    span_s              from its first kernel's start to its last one's end
    busy_s              with any kernel running (copies and collectives included)
    communication_s     with a collective running; exposed_s: of it, with nothing else running
    copy_s              with only a copy or memset running
    gaps                times without a kernel; gap_s their distribution
    """

    brief = ("device", "span_s", "busy_s")

    device: str
    name: str | None = None
    span_s: float
    busy_s: float
    communication_s: float = 0.0
    exposed_s: float = 0.0
    copy_s: float = 0.0
    kernels: int = 0
    gaps: int = 0
    gap_s: Timing | None = None


class Traced(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A profile: kernels grouped, how each device's time went, the steps that were marked.

    timeline    False: the kernels were profiled one by one (counters replay them), so gaps mean nothing
    launches    calls of the host that launch kernels, launch_s their time; graph_launches: those that replay a graph
    host_s      from the first to the last event of the host; synchronize_s: it waited for the device
    """

    brief = ("devices", "kernels")

    devices: tuple[DeviceTrace, ...] = ()
    kernels: tuple[Launched, ...] = ()
    steps: tuple[StepSeen, ...] = ()
    timeline: bool = True
    launches: int = 0
    launch_s: float = 0.0
    graph_launches: int = 0
    host_s: float | None = None
    synchronize_s: float | None = None


class Recorded(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A file as its reader understood it.

    format      the reader's name ("vllm-log"); tool, version: what wrote it, as it says
    records, watched, traced    what there was of each
    samples     measurements that need no judging first, such as rooflight's own
    scrape      the last /metrics text in it, for the difference to another file's
    lacks       what such files usually say and this one does not, in plain words ("the size of the KV pool")
    notes       what was odd about it
    """

    brief = ("file", "format")

    file: str
    format: str
    tool: str = ""
    version: str = ""
    records: tuple[Record, ...] = ()
    watched: tuple[Watched, ...] = ()
    traced: Traced | None = None
    samples: tuple[Sample, ...] = ()
    scrape: Scrape | None = None
    lacks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

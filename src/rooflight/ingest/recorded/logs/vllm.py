"""vLLM's log: V0 and V1, from 0.4 on."""

from __future__ import annotations

import re
from collections.abc import Callable

from rooflight.ingest.recorded.logs.formats import named_by_model, packed, type_named
from rooflight.ingest.recorded.logs.running import Steps
from rooflight.ingest.recorded.logs.start import (
    Ranks,
    Start,
    argument,
    common,
    count,
    lines_of,
    model_name,
    number,
    option,
    size,
)
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Record, Recorded

# Tokens of a block where the arguments do not say (vllm/config/cache.py).
_BLOCK_TOKENS = 16
# Lines that a log of vLLM has. Sources: vllm/v1/core/kv_cache_utils.py, v1/worker/gpu_worker.py, worker/worker.py and
# executor/executor_base.py of 0.4 to 0.30; spellings that changed stand beside each other:
#   0.4-0.5  "# GPU blocks: N, # CPU blocks: M", "Loading model weights took 14.9 GB"
#   0.6.2-4  "Memory profiling results: total_gpu_memory=79.22GiB ..." and a line for each
#   0.6.5    "the current vLLM instance can use total_gpu_memory (79.22GiB) x gpu_memory_utilization (0.90) = 71.29GiB"
#   0.7      "# CUDA blocks", "# cuda blocks", "# rocm blocks"; 0.8 "Model loading took 14.9 GB and 3 seconds"
#   0.8 V1   "GPU KV cache size: 158,656 tokens"; 0.9 "Available KV cache memory", "took 14.9 GiB memory and"
#   0.11     "Free memory on device (30.9/31.4 GiB) on startup. Desired GPU memory utilization is (0.9, 28.2 GiB)."
_LOOKS = re.compile(
    r"vLLM API server version|Initializing an? (?:V[01] )?LLM engine|GPU KV cache size: [\d,]+ tokens"
    r"|# (?:GPU|CUDA|cuda|rocm|ROCm|tpu|xpu|hpu|npu) blocks: \d"
    r"|Available KV cache memory: |the current vLLM instance can use|Loading model weights took [\d.]+ ?G"
    r"|Model loading took [\d.]+ ?G|Memory profiling (?:results|takes)|Avg generation throughput: "
    r"|INFO:? \d\d-\d\d \d\d:\d\d:\d\d \[?[a-z_0-9]+\.py:\d+\]"
)
_WORTH = re.compile(
    r"max seq len|vLLM|vllm|LLM engine|KV cache|KV Cache|kv_cache|blocks: |tokens per request|weights t|loading took"
    r"|Graph capturing|memory|gpu_memory_util|max_num_batched_tokens|world size|Avg prompt|device_name=|args: |GPU \d"
)
_NUMBER = r"(-?\d[\d.,]{0,15})"
_PREFIX = re.compile(r"\(([^()]{0,60}?pid=\d{1,10}[^()]{0,40})\)")
_ENGINE_CORE = re.compile(r"EngineCore")
_NEW_START = re.compile(r"vLLM API server version|\bvllm serve\b")
_VERSION = re.compile(r"(?:API server version|LLM engine \(v|vLLM version|version) ?(\d+\.\d+[\w.+]{0,60})")
_ENGINE = re.compile(r"Initializing an? (?:V[01] )?LLM engine")
_BLOCKS = re.compile(r"# (?:\w{2,5}) blocks: (\d{1,9})")
_CONCURRENCY = re.compile(rf"Maximum concurrency for {_NUMBER} tokens per request: {_NUMBER}x")
_POOL = re.compile(rf"(?:GPU|CPU|TPU|XPU|HPU|NPU|\w{{2,8}}) KV cache size: {_NUMBER} tokens")
_WEIGHTS = re.compile(rf"(?:Loading model weights took|Model loading took) {_NUMBER} ?(G[i]?B)")
_AVAILABLE = re.compile(rf"Available KV cache memory: {_NUMBER} ?(GiB|GB)")
_GRAPHS = re.compile(rf"Graph capturing finished in [\d.]{{1,9}} secs?, took {_NUMBER} ?(GiB|GB)")
_STEP = re.compile(rf"max_num_batched_tokens ?(?:=|: ) ?{_NUMBER}")
_WORLD = re.compile(r"rank \d+ in world size (\d{1,6}) is assigned")
_NEEDED = re.compile(
    rf"max seq len \({_NUMBER}\),? \(?{_NUMBER} ?GiB KV cache\)? is needed, which is larger than the available "
    rf"KV cache memory \({_NUMBER} ?GiB\)"
)
_LONGEST = re.compile(rf"estimated maximum model length is {_NUMBER}")
_TOO_LONG = re.compile(
    rf"max seq len \({_NUMBER}\) is larger than the maximum number of tokens that can be stored in KV cache "
    rf"\({_NUMBER}\)"
)
_ON_STARTUP = re.compile(
    rf"Free memory on device[^(]{{0,20}}\({_NUMBER}/{_NUMBER} ?GiB\) on startup.{{0,40}}?(?:Desired|desired) GPU "
    rf"memory utilization (?:is )?\({_NUMBER}, ?{_NUMBER} ?GiB\)"
)
# The terms of a profile, in the spellings of versions.
_TERMS = (
    ("total_bytes_per_accelerator", re.compile(rf"total_gpu_memory[ =(]{{1,8}}{_NUMBER} ?GiB")),
    ("usable_bytes_per_accelerator", re.compile(rf"gpu_memory_utilization \([\d.]+\) = {_NUMBER} ?GiB")),
    ("usable_bytes_per_accelerator", re.compile(rf"the current vLLM instance can use\s{{1,8}}{_NUMBER} ?GiB")),
    ("weights_bytes_per_accelerator", re.compile(rf"model weights take\s{{1,8}}{_NUMBER} ?GiB")),
    ("other_bytes_per_accelerator", re.compile(rf"non_torch_memory(?: takes)?[ \t=]{{1,8}}{_NUMBER} ?GiB")),
    (
        "activation_bytes_per_accelerator",
        re.compile(rf"PyTorch activation peak memory(?: takes)?\s{{1,8}}{_NUMBER} ?GiB"),
    ),
    ("activation_bytes_per_accelerator", re.compile(rf"{_NUMBER} ?GiB for peak activation")),
    ("other_bytes_per_accelerator", re.compile(rf"{_NUMBER} ?GiB for non-torch memory")),
    ("weights_bytes_per_accelerator", re.compile(rf"Actual usage is {_NUMBER} ?GiB for weight")),
    ("kv_bytes_per_accelerator", re.compile(rf"reserved for KV Cache is {_NUMBER} ?GiB")),
    ("kv_bytes_per_accelerator", re.compile(rf"available_kv_cache_memory\s{{1,8}}{_NUMBER} ?GiB")),
    ("kv_bytes_per_accelerator", re.compile(rf"kv_cache_size[ \t=]{{1,8}}{_NUMBER} ?GiB")),
)
_SHARE = re.compile(r"gpu_memory_utilization(?:\s{1,8}|[ =(]{1,3})(\d?\.\d{1,6})")
# From 0.19 on, beside what the share would have been without an estimate of graphs.
_EQUIVALENT = re.compile(r"current --gpu-memory-utilization=(\d?\.\d{1,6}) is equivalent")
_STATS = re.compile(
    r"(?:Engine (?P<engine>\d{1,4}): )?Avg prompt throughput: (?P<prompt>[\d.]+) tokens/s, Avg generation throughput: "
    r"(?P<output>[\d.]+) tokens/s, Running: (?P<running>\d+) reqs,(?: Swapped: (?P<swapped>\d+) reqs,)? "
    r"(?:Waiting|Pending): (?P<waiting>\d+) reqs, GPU KV cache usage: (?P<usage>[\d.]+)%"
    r"(?:.{0,60}?Prefix cache hit rate: (?P<hit>[\d.]+)%)?"
)


class _Run:
    """A start, and what its workers and engine cores say of themselves."""

    def __init__(self, line: int) -> None:
        self.start = Start(line)
        self.start.state(engine="vllm")
        self.weights, self.graphs, self.kv, self.tokens = Ranks(), Ranks(), Ranks(), Ranks()
        self.concurrency = Ranks()
        self.cores: set[str] = set()
        self.block = _BLOCK_TOKENS
        self.by_blocks = False

    @property
    def begun(self) -> bool:
        """Whether it is more than a command or a version."""
        return bool(self.cores) or not self.start.empty or bool(self.tokens.all or self.weights.all)


def _rank(line: str) -> str:
    found = _PREFIX.search(line)
    return found[1] if found else ""


def _command(run: _Run, line: str) -> None:
    given = re.search(r"\bvllm serve ['\"]?([^\s'\"\\-][^\s'\"\\]*)", line)
    run.start.state(
        model=model_name(given[1] if given else option(line, "--model")),
        tp=count(option(line, "--tensor-parallel-size", "-tp")),
        pp=count(option(line, "--pipeline-parallel-size", "-pp")),
        dp=count(option(line, "--data-parallel-size", "-dp")),
        context_tokens=count(option(line, "--max-model-len")),
        memory_share=number(option(line, "--gpu-memory-utilization")),
        max_num_seqs=count(option(line, "--max-num-seqs")),
        max_num_batched_tokens=count(option(line, "--max-num-batched-tokens")),
        kv_cache=type_named(option(line, "--kv-cache-dtype")),
    )


def _arguments(run: _Run, line: str) -> None:
    """The dump of arguments: those that are no defaults, or (older) all of them."""
    run.start.state(
        model=model_name(argument(line, "model", "model_tag")),
        context_tokens=count(argument(line, "max_model_len")),
        memory_share=number(argument(line, "gpu_memory_utilization")),
        max_num_seqs=count(argument(line, "max_num_seqs")),
        max_num_batched_tokens=count(argument(line, "max_num_batched_tokens")),
        tp=count(argument(line, "tensor_parallel_size")),
        pp=count(argument(line, "pipeline_parallel_size")),
        dp=count(argument(line, "data_parallel_size")),
        kv_cache=type_named(argument(line, "kv_cache_dtype")),
    )
    run.block = count(argument(line, "block_size")) or run.block


def _configured(run: _Run, line: str) -> None:
    """The engine's own config, in which nothing is left open."""
    start = run.start
    run.cores.add(_rank(line))
    model = model_name(argument(line, "model"))
    dtype, method = type_named(argument(line, "dtype")), argument(line, "quantization")
    tp, pp, dp = (count(argument(line, f"{kind}_parallel_size")) for kind in ("tensor", "pipeline", "data"))
    start.state(
        model=model, tp=tp, pp=pp, dp=dp, context_tokens=count(argument(line, "max_seq_len")),
        gpus=None if tp is None else tp * (pp or 1) * (dp or 1),
    )  # fmt: skip
    if re.search(r"\bquantization=", line):
        start.state(weights=dtype if method is None else packed(method, model))
    cache = argument(line, "kv_cache_dtype")
    start.state(kv_cache=dtype if cache == "auto" else type_named(cache))
    drafts = re.search(r"\bspeculative_config=(None|\w)", line)
    if drafts:
        start.state(speculative=drafts[1] != "None")
        start.state(draft_tokens=count(argument(line, "num_spec_tokens", "num_speculative_tokens")))


def _sizes(run: _Run, line: str) -> None:
    """Lines of memory that each worker prints."""
    start, rank = run.start, _rank(line)
    if found := _WEIGHTS.search(line):
        run.weights.add(rank, size(found[1], found[2]))
    if found := _AVAILABLE.search(line):
        run.kv.add(rank, size(found[1]))
    if found := _GRAPHS.search(line):
        run.graphs.add(rank, size(found[1]))
    if found := _EQUIVALENT.search(line):
        start.state(memory_share=number(found[1]))
    if found := _ON_STARTUP.search(line):
        start.measure(
            free_before_bytes_per_accelerator=size(found[1]), total_bytes_per_accelerator=size(found[2]),
            usable_bytes_per_accelerator=size(found[4]),
        )  # fmt: skip
        start.state(memory_share=number(found[3]))
        if "less than" in found[0]:
            start.measure(out_of_memory=True)
    for name, pattern in _TERMS:
        if found := pattern.search(line):
            start.measure(**{name: size(found[1])})
    if (found := _SHARE.search(line)) and "equivalent" not in line:
        start.state(memory_share=number(found[1]))
    if "No available memory for the cache blocks" in line:
        start.measure(out_of_memory=True)


def _pool(run: _Run, line: str) -> None:
    """The pool in tokens, and how many requests it holds."""
    start, rank = run.start, _rank(line)
    if found := _POOL.search(line):
        run.tokens.add(rank, number(found[1]))
    if (found := _BLOCKS.search(line)) and not run.tokens.all:
        blocks = number(found[1])
        run.tokens.add(rank, None if blocks is None else blocks * run.block)
        run.by_blocks = True
    if found := _CONCURRENCY.search(line):
        run.concurrency.add(rank, number(found[2]))
        start.state(context_tokens=count(found[1]))
    if found := _NEEDED.search(line):
        start.state(context_tokens=count(found[1]))
        start.measure(
            needed_kv_bytes_per_accelerator=size(found[2]), kv_bytes_per_accelerator=size(found[3]), out_of_memory=True
        )
    if found := _LONGEST.search(line):
        start.measure(longest_tokens=number(found[1]))
    if found := _TOO_LONG.search(line):
        start.state(context_tokens=count(found[1]))
        run.tokens.add(rank, number(found[2]))
        start.measure(out_of_memory=True)


def _step(run: _Run, line: str) -> None:
    if ("args" not in line) and (found := _STEP.search(line)):
        run.start.state(max_num_batched_tokens=count(found[1]))
    if found := _WORLD.search(line):
        run.start.state(gpus=count(found[1]))
    if re.search(r"Using fp8 data type to store kv cache", line, re.IGNORECASE):
        run.start.state(kv_cache="fp8")


_EACH: tuple[Callable[[_Run, str], None], ...] = (_sizes, _pool, _step)


def _record(run: _Run, name: str) -> Record:
    """The start with what its ranks said: the pool of the smallest decides, replicas add up."""
    start = run.start
    start.put(weights_bytes_per_accelerator=run.weights.first)  # four digits, of which a profile prints two
    start.measure(
        weights_bytes_by_accelerator=run.weights.several,
        kv_bytes_per_accelerator=run.kv.first, kv_bytes_by_accelerator=run.kv.several,
        graph_bytes_per_accelerator=run.graphs.first, max_concurrency=min(run.concurrency.all, default=None),
    )  # fmt: skip
    run.tokens.tokens(start)
    return start.record(name)


def _looks(head: Head) -> bool:
    return _LOOKS.search(head.text) is not None


def _read(source: Source) -> Recorded:
    runs, steps = [_Run(1)], Steps("vllm")
    version = ""
    for at, line in lines_of(source.text):
        if not _WORTH.search(line):
            continue
        if found := _STATS.search(line):
            steps.vllm(found)
            continue
        again = _ENGINE.search(line) is not None and _rank(line) in runs[-1].cores
        if again or (_NEW_START.search(line) and runs[-1].begun):
            runs.append(_Run(at))
        run = runs[-1]
        if (found := _VERSION.search(line)) and ("LLM" in line or "version" in line):
            run.start.state(engine_version=found[1])
            version = version or found[1]
        if "vllm serve" in line:
            _command(run, line)
        if _ENGINE.search(line):
            _configured(run, line)
            continue
        if "args: " in line:
            _arguments(run, line)
            continue
        for each in _EACH:
            each(run, line)
        common(line, run.start)
    return _whole(source, runs, steps, version)


def _whole(source: Source, runs: list[_Run], steps: Steps, version: str) -> Recorded:
    kept = [run for run in runs if run.begun] or runs[:1]
    records = tuple(_record(run, f"start {at}" if len(kept) > 1 else "") for at, run in enumerate(kept, start=1))
    notes = list(steps.notes)
    if any(run.by_blocks for run in kept):
        notes.append(f"blocks of the cache are counted as {kept[-1].block} tokens each")
    last = records[-1]
    if last.stated.weights is not None and last.stated.weights == named_by_model(last.stated.model):
        notes.append(f"the weights' format, {last.stated.weights}, is the one that the model's name says")
    lacks = []
    if all(one.measured.weights_bytes_per_accelerator is None for one in records):
        lacks.append("the size of the weights")
    if all(one.measured.kv_tokens is one.measured.kv_bytes_per_accelerator is None for one in records):
        lacks.append("the size of the KV pool")
    return Recorded(
        file=source.name, format=FORMAT.name, tool="vLLM", version=version, records=records, watched=steps.watched,
        lacks=tuple(lacks), notes=tuple(notes),
    )  # fmt: skip


FORMAT = Format(name="vllm-log", words="vLLM's log", looks=_looks, read=_read)

"""SGLang's log: its arguments, weights, pool and graphs, rank by rank."""

from __future__ import annotations

import re

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

# Sources: sglang/srt/model_executor/model_runner.py, mem_cache/memory_pool.py, managers/scheduler.py of 0.3 to 0.5.
# "GB" there is 2^30 bytes. Spellings that changed:
#   0.3      "KV Cache is allocated. K size: 27.13 GB, V size: 27.13 GB." without tokens
#   0.4      "#tokens: N, K size: x GB, V size: y GB"; latent caches "KV size: y GB"; 0.5 "dtype: torch.bfloat16" before
#   0.5      "Load weight end. elapsed=.. s, type=.., quant=fp8, .."; "Use sliding window memory pool. full_layer..."
_LOOKS = re.compile(
    r"server_args=ServerArgs\(|sglang\.launch_server|Load weight (?:begin|end)\.|KV Cache is allocated\."
    r"|Memory pool end\.|max_total_num_tokens=\d|Init torch distributed (?:begin|ends)"
    r"|[Ss]liding window memory pool\.|Decode batch[.,] #running-req|Prefill batch[.,] #new-seq"
)
_WORTH = re.compile(
    r"server_args=|launch_server|Load weight|KV ?[Cc]ache|KVPool|Memory pool|max_total_num_tokens|Init torch dist"
    r"|[Cc]uda graph|CUDA graph|Decode batch|sliding window memory|Sliding window memory|out of memory|OutOfMemory"
    r"|Not enough memory|device_name=|GPU \d|fp8 checkpoint|sglang"
)
_NUMBER = r"(-?\d[\d.,]{0,15})"
_RANK = re.compile(r"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\]]{0,8}?((?: (?:DP|TP|PP|EP|ATTN_?\w{0,4})\d{1,4}){1,6})\]")
_NEW_START = re.compile(r"server_args=ServerArgs\(|sglang\.launch_server")
_FREE_BEFORE = re.compile(rf"Load weight begin\. avail mem={_NUMBER} ?GB")
_LOADED = re.compile(r"Load weight end\.")
_USED = re.compile(rf"mem usage={_NUMBER} ?GB")
_FREE = re.compile(rf"avail mem={_NUMBER} ?GB")
_NETWORK = re.compile(rf"Init torch distributed ends\..{{0,40}}?mem usage={_NUMBER} ?GB")
_POOL = re.compile(r"KV Cache is allocated\.")
_TOKENS = re.compile(rf"#tokens: {_NUMBER}")
_HALVES = re.compile(rf"K size: {_NUMBER} ?GB, V size: {_NUMBER} ?GB")
_WHOLE = re.compile(rf"KV size: {_NUMBER} ?GB")
_WINDOWS = re.compile(r"[Uu]se [Ss]liding window memory pool\.")
_BOTH = re.compile(rf"SWAKVPool mem usage: {_NUMBER} ?GB")
_POOL_END = re.compile(rf"Memory pool end\. avail mem={_NUMBER} ?GB")
_GRAPH_END = re.compile(r"Capture [\w ]{0,40}?(?:cuda|CUDA) graph end\.")
_VERSION = re.compile(r"sglang(?:_version)?[= ]{1,3}v?(\d+\.\d+[\w.+]{0,40})")
_DEGREES = {"tp": ("tp_size", "tp"), "pp": ("pp_size", "pp"), "dp": ("dp_size", "dp"), "ep": ("ep_size", "ep")}
_NOT_ENOUGH = re.compile(r"Not enough memory\. Please try (?:to increase|increasing)")


class _Run:
    """A start, and what its ranks say of themselves."""

    def __init__(self, line: int) -> None:
        self.start = Start(line)
        self.start.state(engine="sglang")
        self.weights, self.kv, self.windows, self.graphs = Ranks(), Ranks(), Ranks(), Ranks()
        self.tokens, self.network = Ranks(), Ranks()
        self.has_windows = self.by_dtype = False
        self.pools: dict[str, int] = {}
        self.free_before: dict[str, float] = {}
        self.graphs_of: dict[str, float] = {}

    @property
    def begun(self) -> bool:
        """Whether it is more than arguments."""
        return not self.start.empty or bool(self.tokens.all or self.network.all or self.weights.all)


def _rank(line: str) -> str | None:
    found = _RANK.search(line)
    return found[1].strip() if found else None


def _arguments(run: _Run, line: str) -> None:
    start = run.start
    start.state(
        model=model_name(argument(line, "model_path")),
        context_tokens=count(argument(line, "context_length")),
        memory_share=number(argument(line, "mem_fraction_static")),
        kv_cache=type_named(argument(line, "kv_cache_dtype")),
        max_num_seqs=count(argument(line, "max_running_requests")),
        max_num_batched_tokens=_chunk(argument(line, "chunked_prefill_size")),
    )
    _degrees(start, {kind: count(argument(line, *names)) for kind, names in _DEGREES.items()}, line)
    if (method := argument(line, "quantization")) is not None:
        start.state(weights=packed(method, start.stated("model")))
    draft = argument(line, "speculative_algorithm")
    if re.search(r"speculative_algorithm=", line):
        start.state(speculative=draft is not None, draft_tokens=count(argument(line, "speculative_num_draft_tokens")))


def _degrees(start: Start, given: dict[str, int | None], line: str) -> None:
    """Degrees of parallelism; attention run data-parallel shares the tensor ranks' devices."""
    start.state(**given)
    tp, pp, dp = given.get("tp"), given.get("pp") or 1, given.get("dp") or 1
    shared = argument(line, "enable_dp_attention")
    if tp is not None and (dp == 1 or shared is not None):
        start.state(gpus=tp * pp * (1 if shared == "True" else dp))


def _command(run: _Run, line: str) -> None:
    start = run.start
    start.state(
        model=model_name(option(line, "--model-path", "--model")),
        context_tokens=count(option(line, "--context-length")),
        memory_share=number(option(line, "--mem-fraction-static")),
        kv_cache=type_named(option(line, "--kv-cache-dtype")),
        max_num_seqs=count(option(line, "--max-running-requests")),
        max_num_batched_tokens=_chunk(option(line, "--chunked-prefill-size")),
        tp=count(option(line, "--tp-size", "--tp", "--tensor-parallel-size")),
        dp=count(option(line, "--dp-size", "--dp", "--data-parallel-size")),
    )


def _chunk(text: str | None) -> int | None:
    """Tokens of a chunk; -1 says that prompts are not cut."""
    found = count(text)
    return found if found is not None and found > 0 else None


def _loaded(run: _Run, line: str, rank: str) -> None:
    """The weights are in: the first time a rank says so is the model, later ones are drafts."""
    start = run.start
    first = rank not in run.pools
    used = _USED.search(line)
    weights = size(used[1]) if used else None
    free = size(found[1]) if (found := _FREE.search(line)) else None
    before = run.free_before.get(rank)
    if free is not None and weights is not None:
        start.measure(free_before_bytes_per_accelerator=free + weights)
    elif weights is None and free is not None and before is not None and before > free:
        # "mem usage" of later versions is this difference
        weights = before - free
    run.weights.add(rank, weights)
    if not first:
        return
    kind = argument(line, "type")
    start.state(model=kind)
    method = argument(line, "quant", "quant_algo")
    named = packed(method, start.stated("model")) if method else named_by_model(start.stated("model"))
    run.by_dtype = run.by_dtype or (named is None and start.stated("weights") is None)
    start.state(weights=named or type_named(argument(line, "dtype")))


def _pool(run: _Run, line: str, rank: str) -> None:
    """The pool of a rank. A second one is a draft's, or that of the layers with a window."""
    seen = run.pools.get(rank, 0)
    run.pools[rank] = seen + 1
    halves, whole = _HALVES.search(line), _WHOLE.search(line)
    parts = [size(part) for part in (halves.groups() if halves else whole.groups() if whole else ())]
    taken = sum(part for part in parts if part is not None) if parts and None not in parts else None
    tokens = _TOKENS.search(line)
    if seen == 0:
        run.kv.add(rank, taken)
        run.tokens.add(f"pool {rank}", number(tokens[1]) if tokens else None)
        run.start.state(kv_cache=type_named(argument(line, "dtype")))
    elif seen == 1:
        run.windows.add(rank, taken)


def _limits(run: _Run, line: str, rank: str) -> None:
    """The scheduler's line, which has what the pool came to."""
    run.tokens.add(rank, number(argument(line, "max_total_num_tokens")))
    run.start.state(
        max_num_batched_tokens=_chunk(argument(line, "chunked_prefill_size")),
        max_num_seqs=count(argument(line, "max_running_requests")), context_tokens=count(argument(line, "context_len")),
    )  # fmt: skip


def _memory(run: _Run, line: str, rank: str) -> None:
    start = run.start
    if found := _FREE_BEFORE.search(line):
        before = size(found[1])
        start.measure(free_before_bytes_per_accelerator=before)
        if before is not None:
            run.free_before.setdefault(rank, before)
    if _LOADED.search(line):
        _loaded(run, line, rank)
    if found := _NETWORK.search(line):
        run.network.add(rank, size(found[1]))
    if _POOL.search(line):
        _pool(run, line, rank)
    if _WINDOWS.search(line):
        run.has_windows = True
    if found := _BOTH.search(line):
        start.put(kv_bytes_per_accelerator=size(found[1]))
    if found := _POOL_END.search(line):
        start.measure(free_bytes_per_accelerator=size(found[1]))
    if _GRAPH_END.search(line) and (found := _USED.search(line)):
        run.graphs_of[rank] = run.graphs_of.get(rank, 0.0) + (size(found[1]) or 0.0)
    if "max_total_num_tokens=" in line and "ServerArgs" not in line:
        _limits(run, line, rank)
    if "fp8 checkpoint" in line and "Detected" in line:
        start.state(weights="fp8")
    if "Using KV cache dtype" in line:
        start.state(kv_cache=type_named(argument(line, "dtype")))
    if _NOT_ENOUGH.search(line):
        start.measure(out_of_memory=True)


def _record(run: _Run, name: str) -> Record:
    """The start with what its ranks said: the smallest pool decides, and each data-parallel rank has one of its own."""
    start = run.start
    kv, windows = run.kv.first, run.windows.first
    if kv is not None and run.has_windows:
        kv += windows or 0.0
    start.measure(
        weights_bytes_per_accelerator=run.weights.first, weights_bytes_by_accelerator=run.weights.several,
        kv_bytes_per_accelerator=kv, kv_bytes_by_accelerator=None if run.has_windows else run.kv.several,
        network_bytes_per_accelerator=run.network.first,
        graph_bytes_per_accelerator=next(iter(run.graphs_of.values()), None),
    )  # fmt: skip
    run.tokens.tokens(start)
    return start.record(name)


def _looks(head: Head) -> bool:
    return _LOOKS.search(head.text) is not None


def _decoding(steps: Steps, line: str, rank: str | None) -> None:
    """ "Decode batch. #running-req: 5, #token: 900, token usage: 0.02, gen throughput (token/s): 200.1, ..." """
    pairs = (part.partition(":") for part in line.partition("Decode batch")[2].lstrip(".,: ").split(","))
    steps.sglang(rank, {name.strip(): value.strip() for name, _, value in pairs})


def _read(source: Source) -> Recorded:
    runs, steps = [_Run(1)], Steps("sglang")
    version = ""
    for at, line in lines_of(source.text):
        if not _WORTH.search(line):
            continue
        rank = _rank(line)
        if "Decode batch" in line:
            if rank is None or re.search(r"\bTP0\b", rank) or "TP" not in rank:
                _decoding(steps, line, rank)
            continue
        if _NEW_START.search(line) and runs[-1].begun:
            runs.append(_Run(at))
        run = runs[-1]
        if found := _VERSION.search(line):
            run.start.state(engine_version=found[1])
            version = version or found[1]
        if "server_args=" in line:
            _arguments(run, line)
            continue
        if "launch_server" in line:
            _command(run, line)
        _memory(run, line, rank or "")
        common(line, run.start)
    return _whole(source, runs, steps, version)


def _whole(source: Source, runs: list[_Run], steps: Steps, version: str) -> Recorded:
    kept = [run for run in runs if run.begun] or runs[:1]
    records = tuple(_record(run, f"start {at}" if len(kept) > 1 else "") for at, run in enumerate(kept, start=1))
    lacks = []
    if all(one.measured.weights_bytes_per_accelerator is None for one in records):
        lacks.append("the size of the weights")
    if all(one.measured.kv_tokens is one.measured.kv_bytes_per_accelerator is None for one in records):
        lacks.append("the size of the KV pool")
    notes = list(steps.notes)
    if any((one.stated.dp or 1) > 1 and one.measured.kv_tokens is not None for one in records):
        notes.append("tokens of the pool are printed by each data-parallel rank of itself; the server has all of them")
    if any(run.by_dtype and run.start.stated("weights") for run in kept):
        notes.append(
            "the weights' format is taken to be the dtype that is printed; "
            "a checkpoint quantised by itself may say no more"
        )
    return Recorded(
        file=source.name, format=FORMAT.name, tool="SGLang", version=version, records=records, watched=steps.watched,
        lacks=tuple(lacks), notes=tuple(notes),
    )  # fmt: skip


FORMAT = Format(name="sglang-log", words="SGLang's log", looks=_looks, read=_read)

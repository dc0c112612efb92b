"""The log of llama.cpp, ik_llama.cpp and Ollama: buffers by device, the cache, what did not fit, and timings."""

from __future__ import annotations

import re

from rooflight.ingest.recorded.logs.formats import file_type
from rooflight.ingest.recorded.logs.start import Start, common, count, lines_of, model_name, number, option, size
from rooflight.ingest.recorded.logs.timings import Timings
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Record, Recorded

# Sources: src/llama-model.cpp, llama-context.cpp, llama-kv-cache*.cpp, common/common.cpp of llama.cpp (2024 to 2026);
# ik_llama.cpp keeps the older names. Spellings that changed:
#   2024     llm_load_print_meta, llm_load_tensors, llama_new_context_with_model, llama_kv_cache_init, "KV self size"
#   2025     print_info, load_tensors ("model buffer size"), llama_context, llama_kv_cache_unified, then llama_kv_cache
#   2026     sched_reserve, common_params_fit_impl
#   Ollama   its own engine: msg="model weights" device=CUDA0 size="18.5 GiB" (fs/ggml, ml/device.go)
_LOOKS = re.compile(
    r"load_tensors: |llm_load_print_meta: |llama_kv_cache\w*: |print_info: |llama_model_loader: |llama_context: "
    r"|llama_new_context_with_model: |common_(?:params_fit_impl|perf_print)|llama_perf_context_print: "
    r"|llama_print_timings: |ggml_gallocr_reserve_n: |llama_prepare_model_devices: |sched_reserve: "
    r"|ggml_backend_\w{0,40}alloc_buffer: |llama_model_load_from_file|prompt eval time ?= "
    r"|msg=\"(?:inference compute|model weights|kv cache|offload)"
)
_NUMBER = r"(-?\d[\d.,]{0,15})"
_SIZE = rf"{_NUMBER} ?([KMG]iB|MB)"
_NAME = r"([A-Za-z][\w.\[\]:-]{0,40})"
_NEW_START = re.compile(
    r"llama_model_loader: loaded meta data|^build: \d|msg=\"starting (?:runner|llama )|main: loading model"
)
_WEIGHTS = re.compile(rf"load_tensors: *{_NAME} (?:model )?buffer size ?= *{_SIZE}")
_WEIGHTS_2023 = re.compile(rf"llm_load_tensors: VRAM used ?[:=] *{_SIZE}")
_KV = re.compile(rf"llama_(?:kv_cache|memory)\w*: *{_NAME} (?:KV|RS) buffer size ?= *{_SIZE}")
_KV_SIZE = re.compile(rf"llama_(?:kv_cache|memory)\w*: size *= *{_SIZE}")
_KV_SELF = re.compile(rf"KV self size *= *{_SIZE}")
_KV_TYPES = re.compile(r"K \(([a-z]\w{1,10})\): *[\d.]+ [KMG]iB, V \(([a-z]\w{1,10})\)")
_LATENT_TYPE = re.compile(r"c\^KV \(([a-z]\w{1,10})\)")
_CELLS = re.compile(r"\( *(\d{1,12}) cells, *(\d{1,5}) layers, *(\d{1,5})/ *(\d{1,5}) seqs\)")
_CELLS_MADE = re.compile(r"creating +(non-SWA|SWA) KV cache, size ?= +(\d{1,12}) cells")
_COMPUTE = re.compile(rf"(?:llama_\w{{1,30}}|sched_reserve|reserve): +{_NAME} compute buffer size ?(?:is|=) *{_SIZE}")
_OFFLOADED = re.compile(r"offloaded (\d{1,5})/(\d{1,5}) layers to GPU")
_FITTED = re.compile(rf"projected to use {_NUMBER} MiB of (?:\w+ )?device memory vs\. {_NUMBER} MiB of free")
_USING = re.compile(r"using device (\S{1,40}) \((.{1,80}?)\)(?: \([0-9a-fA-F:.]{1,20}\))? - (\d{1,9}) MiB free")
_DEVICE = re.compile(r"- +([A-Za-z]\w{1,20}) +: (.{1,80}) \((\d{1,9}) MiB, (\d{1,9}) MiB free\)")
_FOUND = re.compile(
    r"Device \d+: ([^,]{2,60}), compute capability|ggml_vulkan: \d+ = ([^|(]{2,60})|GPU name: +(\S.{1,50})"
)
_OLLAMA_DEVICE = re.compile(
    r"msg=\"inference compute\".{0,300}?(?:description|name)=\"([^\"]{2,60})\".{0,200}?total=\"([\d.]+) ([KMG]iB)\" "
    r"available=\"([\d.]+) ([KMG]iB)\""
)
_OLLAMA = re.compile(r"msg=\"(model weights|kv cache|compute graph)\" device=(\S{1,40}) size=\"([\d.]+) ([KMG]iB|B)\"")
_OLLAMA_SIZES = {"model weights": "weights", "kv cache": "kv", "compute graph": "compute"}
_META = re.compile(r"(?:print_info|llm_load_print_meta): ([\w ./]{2,20}?) *= +(\S.{0,100})")
_MODEL_SIZE = re.compile(rf"^{_SIZE} \({_NUMBER} BPW\)")
_CONTEXT = re.compile(r"llama_\w{1,40}: (n_ctx|n_batch|n_seq_max|n_ctx_per_seq|n_ctx_seq) += (\d{1,12})\b")
_WANTED = re.compile(rf"allocating {_NUMBER} MiB on device|failed to allocate (\S{{1,40}}) buffer of size (\d{{1,18}})")
_WANTED_FOR = (
    (re.compile(r"gallocr|compute buffers|compute pp buffers|graph_reserve"), "compute"),
    (re.compile(r"kv.?cache|self-attention cache"), "kv"),
    (re.compile(r"alloc_tensor_range|load_tensors|load model|loading model|unable to allocate \S+ buffer"), "weights"),
)
_OLLAMA_PLAN = re.compile(
    r"msg=offload .{0,80}?layers\.model=(?P<layers>\d{1,5}) layers\.offload=(?P<on>\d{1,5}) .{0,80}?"
    r"memory\.available=\"\[(?P<free>[\d.]{1,12}) (?P<free_unit>[KMG]iB)"
)
_OLLAMA_LOAD = re.compile(r"Parallel:(\d{1,5}) BatchSize:(\d{1,7}) .{0,60}?KvSize:(\d{1,10}) KvCacheType:(\w{0,8})")
_BUILD = re.compile(r"build: (\d{1,6}) \(|build_info: b?(\d{1,6})|\(version (\d+\.\d+[\w.-]{0,20})\)")
_COMMAND = re.compile(
    r"\bllama-(?:server|cli|bench|perplexity|sweep-bench) |ollama_llama_server|ollama runner |llama_cpp\.server"
)
_WORTH = re.compile(
    r"buffer|offloaded|msg=|print_info|print_meta|n_ctx|n_batch|n_seq_max|device|Device|ggml_vulkan|GPU name|[Kk][Vv]"
    r"|VRAM|cells|alloc|memory|build|version|llama-|llama_|loading model|request="
)
_PRESET = re.compile(r"llama-\w+ .{0,200}?--([a-z][\w.-]{2,40})-default\b")
_HOSTS = ("CPU", "AMX", "BLAS", "KURN")


def _on_host(device: str) -> bool:
    """Whether a buffer lies in the host's memory: CPU, CPU_Mapped, CPU_REPACK, CUDA_Host ..."""
    return device.startswith(_HOSTS) or device.endswith("_Host")


class _Buffers:
    """Bytes by device, in the order of the log."""

    def __init__(self) -> None:
        self._bytes: dict[str, float] = {}

    def add(self, device: str, value: float | None) -> None:
        """A further buffer of a device."""
        if value is not None:
            self._bytes[device] = self._bytes.get(device, 0.0) + value

    def put(self, device: str, value: float | None) -> None:
        """The buffer of a device, which replaces one that was made before."""
        if value is not None:
            self._bytes[device] = value

    @property
    def placed(self) -> tuple[float, ...]:
        """Of each accelerator."""
        return tuple(value for device, value in self._bytes.items() if not _on_host(device))

    @property
    def host(self) -> float | None:
        """In the host's memory; None: nothing is."""
        found = [value for device, value in self._bytes.items() if _on_host(device)]
        return sum(found) if found else None

    @property
    def devices(self) -> int:
        """Accelerators with a buffer."""
        return len(self.placed)

    def __bool__(self) -> bool:
        return bool(self._bytes)


class _Run:
    """A model that is loaded."""

    def __init__(self, line: int) -> None:
        self.start = Start(line)
        self.start.state(engine="llama.cpp")
        self.weights, self.kv, self.compute = _Buffers(), _Buffers(), _Buffers()
        self.kv_total: float | None = None
        self.cells = 0.0
        self.types: str | None = None
        self.command = ""
        self.notes: list[str] = []

    @property
    def begun(self) -> bool:
        """Whether a model was loaded, or failed to be."""
        return bool(self.weights or self.kv) or self.kv_total is not None or not self.start.empty


def _weights(run: _Run, line: str) -> None:
    if found := _WEIGHTS.search(line):
        run.weights.add(found[1], size(found[2], found[3]))
    if found := _WEIGHTS_2023.search(line):
        run.weights.put("GPU", size(found[1], found[2]))
    if found := _OFFLOADED.search(line):
        run.start.measure(offloaded_layers=count(found[1]), layers=count(found[2]))
    if found := _OLLAMA_PLAN.search(line):
        run.start.measure(offloaded_layers=count(found["on"]), layers=count(found["layers"]))
        run.start.measure(free_before_bytes_per_accelerator=size(found["free"], found["free_unit"]))
    if found := _OLLAMA.search(line):
        kept: _Buffers = getattr(run, _OLLAMA_SIZES[found[1]])
        kept.put(found[2], size(found[3], found[4]))


def _cache(run: _Run, line: str) -> None:
    if found := _KV.search(line):
        run.kv.add(found[1], size(found[2], found[3]))
    elif found := _KV_SIZE.search(line):
        run.kv_total = (run.kv_total or 0.0) + (size(found[1], found[2]) or 0.0)
    elif found := _KV_SELF.search(line):
        run.kv_total = size(found[1], found[2])
    if found := _KV_TYPES.search(line):
        run.types = run.types or (found[1] if found[1] == found[2] else f"{found[1]}/{found[2]}")
    elif found := _LATENT_TYPE.search(line):
        run.types = run.types or found[1]
    if found := _CELLS.search(line):
        run.cells = max(run.cells, (number(found[1]) or 0) * (number(found[4]) or 1))
        run.start.state(max_num_seqs=count(found[3]))
    if found := _CELLS_MADE.search(line):
        run.cells = max(run.cells, number(found[2]) or 0)
    if found := _COMPUTE.search(line):
        run.compute.put(found[1], size(found[2], found[3]))


def _meta(run: _Run, line: str) -> None:
    """What the file says of itself, and the context it is given."""
    start = run.start
    if found := _OLLAMA_LOAD.search(line):
        start.state(
            max_num_seqs=count(found[1]), max_num_batched_tokens=count(found[2]), context_tokens=count(found[3]),
            kv_cache=found[4] or None,
        )  # fmt: skip
    if found := _META.search(line):
        key, value = found[1].strip(), found[2].strip()
        if key == "general.name":
            start.state(model=value)
        elif key in ("file type", "model ftype"):
            start.state(weights=file_type(value))
        elif key in ("file size", "model size") and (fits := _MODEL_SIZE.match(value)):
            start.measure(weights_bytes=size(fits[1], fits[2]), bits_per_weight=number(fits[3]))
    if found := _CONTEXT.search(line):
        value_ = count(found[2])
        if found[1] == "n_ctx":
            start.state(context_tokens=value_)
        elif found[1] == "n_batch":
            start.state(max_num_batched_tokens=value_)
        elif found[1] == "n_seq_max":
            start.state(max_num_seqs=value_)


def _devices(run: _Run, line: str) -> None:
    start = run.start
    if found := _USING.search(line):
        start.state(device=found[2].strip())
        start.measure(free_before_bytes_per_accelerator=size(found[3], "MiB"))
    elif found := _DEVICE.search(line):
        start.state(device=found[2].strip())
        start.measure(
            total_bytes_per_accelerator=size(found[3], "MiB"), free_before_bytes_per_accelerator=size(found[4], "MiB")
        )
    elif found := _OLLAMA_DEVICE.search(line):
        start.state(device=found[1])
        start.measure(
            total_bytes_per_accelerator=size(found[2], found[3]),
            free_before_bytes_per_accelerator=size(found[4], found[5]),
        )
    elif found := _FOUND.search(line):
        start.state(device=next(group for group in found.groups() if group).strip())
    if found := _FITTED.search(line):
        start.measure(
            projected_bytes_per_accelerator=size(found[1], "MiB"),
            free_before_bytes_per_accelerator=size(found[2], "MiB"),
        )


def _failed(run: _Run, line: str) -> None:
    """An allocation that failed, in bytes or MiB, and what it was for, which a line beside says."""
    start = run.start
    if "retrying" in line:  # without pipeline parallelism, for example: what failed was no end
        start.forget("wanted_bytes", "wanted_for", "out_of_memory")
    if found := _WANTED.search(line):
        start.measure(wanted_bytes=size(found[1], "MiB") if found[1] else size(found[3], "B"), out_of_memory=True)
    if start.measured("out_of_memory") and ("fail" in line or "unable" in line or "gallocr" in line):
        what = next((name for pattern, name in _WANTED_FOR if pattern.search(line)), None)
        start.measure(wanted_for=what)
    if "GGML_CUDA_ENABLE_UNIFIED_MEMORY=1" in line:
        run.notes.append("unified memory is on: what exceeds the card's memory may lie in the host's")


def _command(run: _Run, line: str) -> None:
    if not run.command and _COMMAND.search(line):
        run.command = line


def _asked(run: _Run) -> None:
    """What the command asks for, where no line of the log says what it came to."""
    if line := run.command:
        preset = _PRESET.search(line)
        given = option(line, "-m", "--model", "-hf", "--hf-repo") or (preset[1] if preset else None)
        run.start.state(
            model=model_name(given), context_tokens=count(option(line, "-c", "--ctx-size")) or None,
            max_num_batched_tokens=count(option(line, "-b", "--batch-size")),
            max_num_seqs=count(option(line, "-np", "--parallel")),
        )  # fmt: skip


def _record(run: _Run, name: str) -> Record:
    _asked(run)
    start, weights, kv = run.start, run.weights, run.kv
    total = run.kv_total
    if total is None and kv:
        total = sum(kv.placed) + (kv.host or 0.0)
    start.measure(
        weights_bytes_per_accelerator=next(iter(weights.placed), None), host_weights_bytes=weights.host,
        weights_bytes_by_accelerator=weights.placed if weights.devices > 1 else None,
        kv_bytes=total, host_kv_bytes=kv.host,
        kv_bytes_per_accelerator=next(iter(kv.placed), None),
        kv_bytes_by_accelerator=kv.placed if kv.devices > 1 else None,
        compute_bytes_per_accelerator=next(iter(run.compute.placed), None), kv_tokens=run.cells or None,
    )  # fmt: skip
    start.state(context_tokens=int(run.cells) or None, kv_cache=run.types)
    if not run.cells and total:
        start.measure(
            kv_tokens=None if start.stated("context_tokens") is None else float(start.stated("context_tokens"))
        )
    if weights.devices:
        start.state(gpus=weights.devices)
    return start.record(name)


def _looks(head: Head) -> bool:
    return _LOOKS.search(head.text) is not None


def _read(source: Source) -> Recorded:
    runs, timings = [_Run(1)], Timings()
    version, ollama, at = "", False, 1
    for at, line in lines_of(source.text):
        if timings.line(at, line, runs[-1].start):
            continue
        if not _WORTH.search(line):
            continue
        if _NEW_START.search(line) and runs[-1].begun and (runs[-1].weights or runs[-1].kv):
            runs.append(_Run(at))
        run = runs[-1]
        if not version and (found := _BUILD.search(line)):
            version = next(group for group in found.groups() if group)
        ollama = ollama or "ollama" in line or 'msg="' in line
        for each in (_command, _meta, _devices, _weights, _cache, _failed):
            each(run, line)
        common(line, run.start)
    timings.end(at, runs[-1].start)
    kept = [run for run in runs if run.begun] or runs[:1]
    if version:
        for run in kept:
            run.start.state(engine_version=version if not ollama else None)
    records = tuple(_record(run, f"model {at}" if len(kept) > 1 else "") for at, run in enumerate(kept, start=1))
    return _whole(source, kept, records, timings, ("Ollama" if ollama else "llama.cpp", version))


def _whole(
    source: Source, runs: list[_Run], records: tuple[Record, ...], timings: Timings, tool: tuple[str, str]
) -> Recorded:
    lacks = []
    if not any(run.weights for run in runs):
        lacks.append("the buffers of the weights")
    if not any(run.kv or run.kv_total is not None for run in runs):
        lacks.append("the size of the KV cache")
    timed = timings.records
    if timed and all(not run.begun for run in runs):
        records, lacks = (), []
    notes = dict.fromkeys([*(note for run in runs for note in run.notes), *timings.notes])
    return Recorded(
        file=source.name, format=FORMAT.name, tool=tool[0], version=tool[1], records=(*records, *timed),
        lacks=tuple(lacks), notes=tuple(notes),
    )  # fmt: skip


FORMAT = Format(name="llamacpp-log", words="the log of llama.cpp, ik_llama.cpp or Ollama", looks=_looks, read=_read)

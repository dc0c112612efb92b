"""llama-bench: CSV, JSON, JSON lines, Markdown. A record a test: of prompts (pp), of generated tokens (tg), or both."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.figures import amount, number, text, whole
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.units import to_base
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated

# The columns that every version has: github.com/ggml-org/llama.cpp, tools/llama-bench/llama-bench.cpp (2023 to 2026).
_COLUMNS = ("model_type", "n_prompt", "n_gen", "avg_ts")
_HEAD = re.compile(r"^\|\s*model\s*\|.*\bt/s\b.*\|\s*$", re.MULTILINE)
_TEST = re.compile(r"(?:pp(\d+))?\s*\+?\s*(?:tg(\d+))?(?:\s*@\s*d(\d+))?")
_RATE = re.compile(r"([\d.,]+)(?:\s*(?:±|\+/-)\s*([\d.,]+))?")
_DEVICE = re.compile(r"Device \d+: ([^,]+),")
_VULKAN = re.compile(r"ggml_vulkan: \d+ = ([^|(]+)")
_BUILD = re.compile(r"^build: (\S+) \((\d+)\)", re.MULTILINE)
_SIZE = re.compile(r"([\d.]+) ([KMGT]iB)")
# A file's name without the number of its part and its ending.
_PART = re.compile(r"(-\d{5}-of-\d{5})?\.gguf$")
# Bits a weight from which on a file may be in a 16-bit format.
_WIDE_BITS = 12
_SPLIT = (
    "several devices share the layers and work in turn where the split is by layer, as it is unless stated otherwise"
)


def _looks(head: Head) -> bool:
    if head.json:
        return {"n_prompt", "n_gen", "avg_ts"} <= head.keys
    first = next((line for line in head.text.splitlines() if "n_prompt" in line), "")
    return all(name in first for name in _COLUMNS) or _HEAD.search(head.text) is not None


def _read(source: Source) -> Recorded:
    notes: list[str] = []
    if source.head.json:
        found = [_record(one) for one in _objects(source, notes)]
    elif _HEAD.search(source.text) and "avg_ts" not in source.text:
        found = list(_marked(source.text))
    else:
        found = [_record(one) for one in _rows(source.text)]
    tests = [one for one in found if one is not None]
    if not tests:
        raise BadConfig(
            "no test of llama-bench is in it", where=source.name, got="none", want="rows with avg_ts or t/s"
        )
    if any((one.stated.gpus or 1) > 1 for one in tests):
        notes.append(_SPLIT)
    version = next((one.stated.engine_version for one in tests if one.stated.engine_version), None)
    return Recorded(
        file=source.name, format=FORMAT.name, tool="llama-bench", version=version or "", records=tuple(tests),
        notes=tuple(notes),
    )  # fmt: skip


def _objects(source: Source, notes: list[str]) -> Iterator[Mapping[str, Any]]:
    """The tests of a JSON list, or of JSON lines; a damaged line is said."""
    if source.text.lstrip().startswith("["):
        whole_list = source.document
        yield from (one for one in whole_list if isinstance(one, Mapping))
        return
    for place, line in enumerate(source.text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            one = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            notes.append(f"line {place:,} is no JSON")
            continue
        if isinstance(one, Mapping):
            yield one


def _rows(printed: str) -> Iterator[Mapping[str, Any]]:
    """The rows of the CSV, behind whatever the program printed first."""
    lines = printed.splitlines()
    start = next((place for place, line in enumerate(lines) if all(name in line for name in _COLUMNS)), 0)
    return csv.DictReader(lines[start:])


def _least(least: int, value: Any) -> int | None:
    """A whole number of at least that; -1 stands for all layers."""
    count = whole(value)
    return None if count is None or count < least else count


def _record(test: Mapping[str, Any]) -> Record | None:
    prompts, output = whole(test.get("n_prompt")), whole(test.get("n_gen"))
    rate, kind = amount(test.get("avg_ts")), text(test.get("model_type"))
    if rate is None or not (prompts or output):
        return None
    file = text(test.get("model_filename"))
    devices = [one.strip() for one in (text(test.get("gpu_info")) or "").split(",") if one.strip()]
    stated = Stated(
        model=_model(file) or kind, weights=_format(kind), kv_cache=_cache(test),
        device=devices[0] if devices else text(test.get("cpu_info")), gpus=max(1, len(devices)),
        engine="llama.cpp", engine_version=_build(test.get("build_commit"), test.get("build_number")),
        max_num_batched_tokens=whole(test.get("n_batch")), batch=1, phase=_phase(prompts, output),
        isl=float(prompts or 0), osl=float(output or 0), depth=whole(test.get("n_depth")) or 0,
        n_gpu_layers=_least(0, test.get("n_gpu_layers")) if devices else None,
        n_cpu_moe=_least(1, test.get("n_cpu_moe")) if devices else None,
    )  # fmt: skip
    size, parameters = amount(test.get("model_size")), amount(test.get("model_n_params"))
    bits = 8 * size / parameters if size and parameters else None
    if bits is not None and bits < _WIDE_BITS and stated.weights in ("fp16", "bf16", "fp32"):
        stated = replace(stated, weights=None)  # a file named after its widest part: most of it is narrower
    return Record(
        name=_name(prompts, output, stated.depth or 0), stated=stated,
        measured=_measured(prompts, output, rate, amount(test.get("stddev_ts")), {"size": size, "bits": bits}),
    )  # fmt: skip


def _measured(
    prompts: int | None, output: int | None, rate: float, deviation: float | None, file: Mapping[str, float | None]
) -> Measurements:
    """Of a rate of prompts, of generated tokens, or of both together; deviation is that of the runs."""
    size, bits = file["size"], file["bits"]
    if output and not prompts:
        return Measurements(
            output_tokens_per_s=rate, tpot_s=_each(rate, deviation), weights_bytes=size, bits_per_weight=bits
        )
    if prompts and not output:
        return Measurements(prefill_tokens_per_s=rate, weights_bytes=size, bits_per_weight=bits)
    return Measurements(total_tokens_per_s=rate, weights_bytes=size, bits_per_weight=bits)


def _each(rate: float, deviation: float | None) -> Spread | None:
    """Seconds a token, within a deviation of the rate of runs."""
    if not rate:
        return None
    if not deviation or deviation >= rate:
        return Spread(mean=1 / rate)
    return Spread(mean=1 / rate, low=1 / (rate + deviation), high=1 / (rate - deviation))


def _phase(prompts: int | None, output: int | None) -> str | None:
    return "decode" if output and not prompts else "prefill" if prompts and not output else None


def _name(prompts: int | None, output: int | None, depth: int) -> str:
    parts = [f"pp{prompts}"] if prompts else []
    parts += [f"tg{output}"] if output else []
    return "+".join(parts) + (f" @ d{depth}" if depth else "")


def _model(file: str | None) -> str | None:
    """The name of a weight file, without folders and endings."""
    return None if file is None else _PART.sub("", re.split(r"[/\\]", file)[-1]) or None


def _format(kind: str | None) -> str | None:
    """The file's kind, as "qwen3next 80B.A3B Q4_K - Medium" ends: q4_k_m."""
    found = re.search(r"\b((?:IQ|Q|TQ|MXFP|NVFP)\w+|BF16|F16|F32)(?: - (Small|Medium|Large))?", kind or "")
    if found is None:
        return None
    size = {"Small": "_s", "Medium": "_m", "Large": "_l"}.get(found[2] or "", "")
    return {"f16": "fp16", "f32": "fp32"}.get(found[1].lower(), found[1].lower()) + size


def _cache(test: Mapping[str, Any]) -> str | None:
    keys, values = text(test.get("type_k")), text(test.get("type_v"))
    if keys is None:
        return None
    named = [{"f16": "fp16", "f32": "fp32"}.get(one, one) for one in (keys, values or keys)]
    return named[0] if named[0] == named[1] else "/".join(named)


def _build(commit: Any, build: Any) -> str | None:
    found = number(build)
    return f"b{found:.0f}" if found else text(commit)


def _marked(printed: str) -> Iterator[Record | None]:
    """The rows of a Markdown table, with the devices and the build that stand around it."""
    devices = [one.strip() for one in (_DEVICE.findall(printed) or _VULKAN.findall(printed))]
    build = _BUILD.search(printed)
    heads: list[str] = []
    for line in printed.splitlines():
        if not line.strip().startswith("|"):
            continue
        cells = [one.strip() for one in line.strip().strip("|").split("|")]
        if "t/s" in cells:
            heads = [one.lower() for one in cells]
        elif heads and len(cells) == len(heads) and not set(line) <= set("|-: "):
            yield _marked_row(dict(zip(heads, cells, strict=True)), devices, build)


def _marked_row(row: Mapping[str, str], devices: list[str], build: re.Match[str] | None) -> Record | None:
    test, rate = _TEST.search(row.get("test", "")), _RATE.match(row["t/s"])
    size = _SIZE.match(row.get("size", ""))
    said = {
        "n_prompt": test[1] if test else None, "n_gen": test[2] if test else None, "n_depth": test[3] if test else None,
        "avg_ts": rate[1] if rate else None, "stddev_ts": rate[2] if rate else None, "model_type": row.get("model"),
        "gpu_info": ",".join(devices), "n_batch": row.get("n_batch"), "type_k": row.get("type_k"),
        "type_v": row.get("type_v"), "build_commit": build[1] if build else None,
        "build_number": build[2] if build else None,
        "model_size": to_base(float(size[1]), size[2]) if size else None,
    }  # fmt: skip
    return _record(said)


FORMAT = Format(
    name="llama-bench", words="llama-bench's CSV, JSON, JSON lines or Markdown", looks=_looks, read=_read
)  # fmt: skip

"""Rewrites the sample: a data folder of a few hundred made-up rows, whose times our own formulas give, plus noise.

    python tests/calibration/write_sample.py

Nothing here was measured. Each time is what the coefficients below make of a shape on a real card's datasheet, times
noise of 1 %, so that a fit has known numbers to find. Needs the extra `calibration`.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SAMPLE = HERE / "sample"
sys.path.insert(0, str(HERE.parents[1] / "calibration"))

import engine_rows  # noqa: E402
import pandas as pd  # noqa: E402
import rows as tables  # noqa: E402
from engine_first import FIELDS as FIRST_FIELDS  # noqa: E402
from engine_first import first_ratio  # noqa: E402
from engine_shares import predicted  # noqa: E402
from engine_steady import engine_with  # noqa: E402
from links import rate_bytes_per_s  # noqa: E402

from rooflight.roofline import expected  # noqa: E402
from rooflight.values.calibration import DecodeFit, GemmFit, LinkFit, PrefillFit  # noqa: E402

NOISE = 0.01
# What a kernel finds in the last-level cache, as the fits find it beside their coefficients.
REACH = 0.2
GEMM = GemmFit(
    floor_s=3e-6, memory_efficiency=0.8, ramp_s=3e-6, ramp_inputs=2000, cache_speedup=2.5, compute_efficiency=0.75,
    throttle=0.15, short_inputs=120, wave_share=0.1, sharpness=2.5, low=0.9, high=1.1,
)  # fmt: skip
DECODE = DecodeFit(
    floor_s=9e-6, floor_dims=0.1, ramp_s=5e-6, ramp_tokens=900, memory_efficiency=0.8, cache_speedup=3, item_s=3e-6,
    group_share=0.02, compute_efficiency=0.3, sharpness=2, low=0.9, high=1.1,
)  # fmt: skip
PREFILL = PrefillFit(
    floor_s=1.1e-5, memory_efficiency=0.6, cache_speedup=2, store_efficiency=0.5, compute_efficiency=0.6,
    softmax_dims=30, masked_keys=60, item_s=2e-6, unpacked=0.3, wave_share=0.3, throttle=0.1, sharpness=2, low=0.9,
    high=1.1,
)  # fmt: skip
LINK = LinkFit(latency_s=8e-6, hop_s=1e-6, sync_s=3e-6, efficiency=0.7, start_share=0.3, low=0.9, high=1.1)
# Shares in the order of engine_rows.TERMS. llama.cpp's time per sequence lies beyond what a fit may say.
SHARES = {
    "vllm": (0.99, 0.4, 1.0, 1.2, 2.0e-3, 2.2e-5, 3e-5, 0.0),
    "sglang": (0.99, 0.4, 1.0, 1.2, 1.2e-3, 1.9e-5, 3e-5, 0.0),
    "llama.cpp": (1.1, 0.5, 1.0, 1.2, 3.0e-3, 2.5e-4, 3e-5, 1.0e-10),
}
# server_s and queue, in the order of engine_first.FIELDS.
FIRST = (0.06, 1.5)
assert FIRST_FIELDS == ("server_s", "queue")
# Shapes in the manner of a Llama: (hidden, layers, heads, feed-forward).
MODELS = {"sample-3b": (2560, 32, 20, 8704), "sample-8b": (4096, 32, 32, 14336)}
_RNG = np.random.default_rng(7)


def noisy(seconds: float) -> float:
    """A time as it might be measured."""
    return float(seconds * np.exp(_RNG.normal(0, NOISE)))


def write(name: str, lines: Iterable[dict[str, object]]) -> None:
    """A CSV of the sample."""
    lines = list(lines)
    path = SAMPLE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def kernel_tables() -> None:
    """Products, attention and collectives of an A100; collectives of an L40S too, whose PCIe stands for others'."""
    write("kernels/gemm.csv", timed_gemm([
        {"system": "a100_sxm", "backend": backend, "dtype": "bfloat16", "m": m, "n": n, "k": k, "latency_ms": 1.0}
        for backend, m, (n, k) in itertools.product(
            ("vllm", "sglang"), (1, 16, 64, 256, 1024, 4096, 16384),
            ((4096, 4096), (14336, 4096), (4096, 14336), (1024, 8192), (8192, 1024), (512, 2048)),
        )
    ]))  # fmt: skip
    heads = ((32, 8, 128), (32, 32, 128), (16, 2, 256), (24, 8, 64))
    attention = {"system": "a100_sxm", "backend": "vllm", "kernel_source": "flash", "kv_dtype": "bfloat16",
                 "window_size": 0, "latency_ms": 1.0}  # fmt: skip
    write("kernels/attention_generation.csv", timed_decode([
        attention | {"batch": batch, "step": step, "heads": h, "kv_heads": kv, "head_dim": dim}
        for batch, step, (h, kv, dim) in itertools.product((1, 8, 64, 256), (63, 511, 2047, 16383), heads)
    ]))  # fmt: skip
    write("kernels/attention_context.csv", timed_prefill([
        attention | {"dtype": "bfloat16", "batch": batch, "isl": isl, "heads": h, "kv_heads": kv, "head_dim": dim}
        for batch, isl, (h, kv, dim) in itertools.product((1, 4, 16), (64, 256, 1024, 4096), heads)
    ]))  # fmt: skip
    write("kernels/comm.csv", collectives())


def timed_gemm(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    (part,) = tables.gemm_frame(pd.DataFrame(lines))
    return timed(lines, part, expected.gemm_s, GEMM, steepness=2.0)


def timed_decode(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    (part,) = tables.decode_frame(pd.DataFrame(lines))
    return timed(lines, part, expected.decode_attention_s, DECODE, steepness=8.0)


def timed_prefill(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    (part,) = tables.prefill_frame(pd.DataFrame(lines))
    return timed(lines, part, expected.prefill_attention_s, PREFILL, steepness=4.0)


def timed(lines: list[dict[str, object]], part: tables.Rows, formula, fit, *, steepness: float):
    """The lines with the time of their shapes."""
    cached = expected.cached_share(
        moved_bytes=part.given["moved_bytes"], cache_bytes=part.cache_bytes, reach=REACH, steepness=steepness
    )
    seconds = formula(**part.given, cached=cached, fit=fit)
    return [line | {"latency_ms": f"{1e3 * noisy(s):.5g}"} for line, s in zip(lines, seconds, strict=True)]


def collectives() -> Iterable[dict[str, object]]:
    cases = [("a100_sxm", name, n) for name in ("all_reduce", "all_gather", "alltoall") for n in (2, 4, 8)]
    cases += [("l40s", name, 2) for name in ("reduce_scatter", "all_gather", "alltoall")]
    for (system, name, devices), size in itertools.product(cases, (2**12, 2**16, 2**20, 2**24, 2**28)):
        formula = expected.all_reduce_s if name == "all_reduce" else expected.exchange_s
        rate = rate_bytes_per_s(system)
        seconds = formula(payload_bytes=float(size), devices=float(devices), link_bytes_per_s=rate, fit=LINK)
        yield {
            "system": system, "backend": "nccl", "kernel_source": "nccl_graph", "op_name": name, "num_gpus": devices,
            "bytes": size, "latency_ms": f"{1e3 * noisy(seconds):.5g}",
        }  # fmt: skip


def engine_tables() -> None:
    """Served runs of two engines on two cards, and offline ones of llama.cpp on an A100."""
    for name, (hidden, layers, heads, inner) in MODELS.items():
        text = (
            '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16",\n'
            f' "hidden_size": {hidden}, "num_hidden_layers": {layers}, "num_attention_heads": {heads},\n'
            f' "num_key_value_heads": {heads // 4}, "intermediate_size": {inner}, "vocab_size": 128000,\n'
            ' "max_position_embeddings": 131072, "tie_word_embeddings": false}\n'
        )
        path = SAMPLE / "configs" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    blank = {
        "has_config": "True", "config_like": "", "has_accelerator": "True", "gpus": 1, "tp": 1, "pp": "", "ep": "",
        "dp": "", "weights": "", "kv_cache": "", "note": "",
    }  # fmt: skip
    served = []
    cases = itertools.product(
        ("vllm", "sglang"), ("h100-sxm", "h200-sxm"), MODELS, (1, 16, 64), ((1024, 256), (4096, 512))
    )
    for number, (engine, card, model, batch, (isl, osl)) in enumerate(cases):
        raw = blank | {
            "id": f"sample-{number}-tpot", "model": model, "accelerator": card, "phase": "e2e_server", "batch": batch,
            "input_len": isl, "output_len": osl, "metric": "tpot_ms", "value": "1", "engine": engine,
        }  # fmt: skip
        first = raw | {"id": f"sample-{number}-ttft", "metric": "ttft_ms"}
        served += timed_run((raw, first), engine)
    write("served.csv", served)
    offline = []
    for number, (model, batch, isl) in enumerate(itertools.product(MODELS, (1, 4, 16, 64), (128, 1024))):
        raw = blank | {
            "id": f"offline-{number}", "model": model, "accelerator": "a100-sxm4-80gb", "phase": "decode",
            "batch": batch, "input_len": isl, "output_len": isl, "metric": "tpot_ms", "value": "1",
            "engine": "llama.cpp",
        }  # fmt: skip
        offline += timed_run((raw,), "llama.cpp")
    write("measured.csv", offline)


def timed_run(lines: tuple[dict[str, object], ...], engine: str) -> list[dict[str, object]]:
    """The lines of a run, whose values are 1, with what an engine's shares make of its steady state."""
    raw = tuple({name: str(value) for name, value in line.items()} for line in lines)
    shares, waits = dict.fromkeys(("", engine), np.array(SHARES[engine])), {"": np.array(FIRST)}
    row = engine_rows.row_of(raw, SAMPLE)
    assert row is not None, raw
    row = engine_rows.again(row, SAMPLE, engine_with(shares, waits, row))
    times = [1e3 * noisy(predicted([row], shares)[0] * row.seconds)]
    if row.first is not None:
        times.append(1e3 * noisy(first_ratio([row], waits)[0] * row.first.seconds))
    return [line | {"value": f"{time:.5g}"} for line, time in zip(lines, times, strict=True)]


if __name__ == "__main__":
    kernel_tables()
    engine_tables()

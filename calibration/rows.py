"""Kernel tables as arrays of what the formulas take. Read-only; nothing is fitted here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rooflight.catalog import accelerators

# Where all kernel tables come from.
PACKAGE = "aiconfigurator-core 0.12.0"
SYSTEMS = {
    "a100_sxm": "a100-sxm4-80gb", "l40s": "l40s", "h100_sxm": "h100-sxm", "h200_sxm": "h200-sxm",
    "b200_sxm": "b200", "gb200": "gb200", "b60": "arc-pro-b60",
}  # fmt: skip
FAMILIES = {
    "Ampere": ("a100_sxm",), "Ada": ("l40s",), "Hopper": ("h100_sxm", "h200_sxm"),
    "Blackwell": ("b200_sxm", "gb200"), "Xe2": ("b60",),
}  # fmt: skip
# Our kinds of kernel -> the tables of the data folder that hold them.
TABLES = {"gemm": "gemm", "decode": "attention_generation", "prefill": "attention_context", "links": "comm"}
# table's dtype: (our name, bytes of a weight, bytes of an activation, format whose peak counts)
GEMM_FORMATS = {
    "bfloat16": ("bf16", 2.0, 2.0, "bf16"),
    "fp8": ("fp8", 1.0, 1.0, "fp8"),
    "fp8_block": ("fp8-block128", 1.0 + 4 / 128**2, 1.0 + 4 / 128, "fp8"),
    "nvfp4": ("nvfp4", 0.5625, 0.5625, "fp4"),
    "int8_wo": ("int8", 1.0, 2.0, "bf16"),
    "int4_wo": ("int4", 0.53125, 2.0, "bf16"),
    "sq": ("w8a8-int8", 1.0, 1.0, "int8"),
}
# Rows a well-run engine does not produce, and why. Left out of fit and errors, counted in the report.
NOT_WELL_RUN = {
    "tiny": "GEMM narrower than 128 in inputs or outputs: no layer of a model has that shape",
    "triton": "attention through a generic Triton kernel (head_dim 192 and wider where no tuned kernel exists)",
    "no_prompt": "prefill of prompts under 16 tokens: engines send them through decode kernels",
    "no_group": "TensorRT-LLM decode with one query head a kv head: a kernel of its own, without tiles of heads",
    "wide_head": "attention with head_dim 512: no tuned kernel in most engines, up to 3 times slower",
    "wide_group": "TensorRT-LLM decode with over 32 query heads a kv head: falls back to one read a query head",
    "unskipped": "vLLM decode through FlashAttention 2 with a window on L40S: walks the whole context",
    "no_fp8_heads": "TensorRT-LLM FP8 prefill on L40S with heads of other than 128: no kernel multiplies them in FP8",
    "unsplit": "TensorRT-LLM decode with an FP8 cache on L40S: does not split contexts, up to 17 times slower",
}


@dataclass(frozen=True, kw_only=True)
class Rows:
    """One kind and format: arguments of the formula by name, measured seconds, and labels for splits and reports."""

    kind: str
    form: str
    given: dict[str, Any]
    seconds: np.ndarray
    cache_bytes: np.ndarray
    labels: pd.DataFrame

    @property
    def lines(self) -> list[str]:
        """The rows as text, of which the hash is made: labels, then seconds."""
        plain = self.labels.assign(seconds=self.seconds)
        return [",".join(map(str, row)) for row in plain.itertuples(index=False)]

    def take(self, which: np.ndarray) -> Rows:
        """The rows an index or mask chooses."""
        given = {name: value[which] for name, value in self.given.items()}
        return Rows(
            kind=self.kind, form=self.form, given=given, seconds=self.seconds[which],
            cache_bytes=self.cache_bytes[which], labels=self.labels.iloc[which].reset_index(drop=True),
        )  # fmt: skip


def compute_units(system: str) -> float:
    """Streaming multiprocessors or cores of a system's device."""
    facts = accelerators.load(SYSTEMS[system])[0].facts
    return next(float(fact.value) for fact in facts if fact.what == "compute-units")


def rate_arrays(table: pd.DataFrame, form: str) -> dict[str, np.ndarray]:
    """Datasheet rates of each row's device; a format without a peak runs in the next wider one."""
    known: dict[str, tuple[float, ...]] = {}
    for system in table["system"].unique():
        card = accelerators.load(SYSTEMS[system])[0]
        peaks = card.peak_flop_per_s
        peak = next(peaks[name] for name in (form, "fp8", "bf16") if name in peaks)
        cache = card.last_level_cache_bytes or card.assumed.last_level_cache_bytes
        known[system] = (peak, card.memory_bytes_per_s or 0.0, compute_units(system), cache)
    columns = np.array([known[system] for system in table["system"]])
    names = ("flop_per_s", "memory_bytes_per_s", "compute_units", "cache_bytes")
    return dict(zip(names, columns.T, strict=True))


def read(data: Path, name: str) -> pd.DataFrame:
    """A kernel table of the data folder, from name.parquet or name.csv; its words as plain strings."""
    path = data / "kernels" / f"{name}.parquet"
    table = pd.read_parquet(path) if path.is_file() else pd.read_csv(path.with_suffix(".csv"))
    for column in table.columns:
        if isinstance(table[column].dtype, pd.CategoricalDtype):
            table[column] = table[column].astype(str)
    return table


def gemm_rows(data: Path) -> list[Rows]:
    """Linear layers by format."""
    return gemm_frame(read(data, TABLES["gemm"]))


def gemm_frame(table: pd.DataFrame) -> list[Rows]:
    """The same from a table at hand."""
    table = table[(table["n"] >= 128) & (table["k"] >= 128)]
    return [_gemm(part, str(dtype)) for dtype, part in table.groupby("dtype")]


def _gemm(table: pd.DataFrame, dtype: str) -> Rows:
    form, weight_bytes, act_bytes, peak = GEMM_FORMATS[dtype]
    m, n, k = (table[name].to_numpy(float) for name in "mnk")
    rates = rate_arrays(table, peak)
    cache = rates.pop("cache_bytes")
    quantised = m * k * (2 + act_bytes) if act_bytes != 2 else 0 * m
    given = {
        "tokens": m, "step_tokens": m, "inputs": k, "flop": 2 * m * n * k, "quantised_bytes": quantised,
        "moved_bytes": n * k * weight_bytes + m * k * act_bytes + 2 * m * n, **rates,
    }  # fmt: skip
    shape = table["n"].astype(str) + "x" + table["k"].astype(str)
    labels = table[["system", "backend", "m", "n", "k"]].assign(shape=shape)
    return _rows("gemm", form, given, table, cache, labels)


def decode_rows(data: Path) -> list[Rows]:
    """Attention of one token a sequence, by format of the cache."""
    return decode_frame(read(data, TABLES["decode"]))


def decode_frame(table: pd.DataFrame) -> list[Rows]:
    """The same from a table at hand."""
    group = table["heads"] / table["kv_heads"]
    trt = table["backend"] == "trtllm"
    bad = table["kernel_source"].str.contains("triton") | (trt & ((group > 32) | (group == 1)))
    bad |= table["head_dim"] >= 512
    bad |= trt & (table["kv_dtype"] == "fp8") & (table["system"] == "l40s")
    bad |= (table["kernel_source"] == "vllm_flash_attn_fa2") & (table["window_size"] > 0)
    return [_decode(part, str(kv)) for kv, part in table[~bad].groupby("kv_dtype")]


def _decode(table: pd.DataFrame, kv: str) -> Rows:
    batch, heads, kv_heads, dim = (table[name].to_numpy(float) for name in ("batch", "heads", "kv_heads", "head_dim"))
    context = _windowed(table["step"].to_numpy(float) + 1, table["window_size"].to_numpy(float))
    rates = rate_arrays(table, "bf16")
    cache = rates.pop("cache_bytes")
    elem = 1.0 if kv == "fp8" else 2.0
    given = {
        "sequences": batch, "kv_heads": kv_heads, "group": heads / kv_heads, "head_dim": dim, "context": context,
        "flop": 4 * batch * heads * dim * context,
        "moved_bytes": 2 * batch * kv_heads * dim * context * elem + 4 * batch * heads * dim, **rates,
    }  # fmt: skip
    return _rows("decode", "fp8" if kv == "fp8" else "bf16", given, table, cache, _attention_labels(table, "step"))


def prefill_rows(data: Path) -> list[Rows]:
    """Causal attention over prompts, by format of the products and of the cache."""
    return prefill_frame(read(data, TABLES["prefill"]))


def prefill_frame(table: pd.DataFrame) -> list[Rows]:
    """The same from a table at hand."""
    bad = table["kernel_source"].str.contains("triton") | (table["isl"] < 16) | (table["head_dim"] >= 512)
    bad |= (table["system"] == "l40s") & (table["dtype"] == "fp8") & (table["head_dim"] != 128)
    table = table[~bad]
    return [_prefill(part, *map(str, key)) for key, part in table.groupby(["dtype", "kv_dtype"])]


def _prefill(table: pd.DataFrame, dtype: str, kv: str) -> Rows:
    batch, heads, kv_heads, dim, new = (
        table[name].to_numpy(float) for name in ("batch", "heads", "kv_heads", "head_dim", "isl")
    )
    context = _windowed(new, table["window_size"].to_numpy(float))
    pairs = context * (context + 1) / 2 + (new - context) * context
    peak = "fp8" if dtype == "fp8" else "bf16"
    rates = rate_arrays(table, peak)
    cache = rates.pop("cache_bytes")
    elem = 1.0 if dtype == "fp8" else 2.0
    given = {
        "stored_bytes": 2 * batch * new * kv_heads * dim * (1.0 if kv == "fp8" else 2.0),
        "sequences": batch, "kv_heads": kv_heads, "group": heads / kv_heads, "new": new, "keys": pairs / new,
        "head_dim": dim, "flop": 4 * batch * heads * dim * pairs,
        "moved_bytes": batch * new * dim * (heads * (elem + 2) + 2 * kv_heads * elem), **rates,
    }  # fmt: skip
    form = {("bfloat16", "bfloat16"): "bf16", ("bfloat16", "fp8"): "bf16-kv-fp8", ("fp8", "fp8"): "fp8"}[dtype, kv]
    return _rows("prefill", form, given, table, cache, _attention_labels(table, "isl"))


def _windowed(context: np.ndarray, window: np.ndarray) -> np.ndarray:
    return np.where(window > 0, np.minimum(context, window), context)


def _attention_labels(table: pd.DataFrame, length: str) -> pd.DataFrame:
    labels = table[["system", "backend", "batch", length, "heads", "kv_heads", "head_dim", "window_size"]]
    shape = labels["heads"].astype(str) + "/" + labels["kv_heads"].astype(str) + "x" + labels["head_dim"].astype(str)
    return labels.assign(shape=shape)


def _rows(
    kind: str, form: str, given: dict[str, Any], table: pd.DataFrame, cache: np.ndarray, labels: pd.DataFrame
) -> Rows:
    seconds = table["latency_ms"].to_numpy(float) / 1000
    return Rows(
        kind=kind, form=form, given=given, seconds=seconds, cache_bytes=cache, labels=labels.reset_index(drop=True)
    )  # fmt: skip

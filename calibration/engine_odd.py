"""Rows that are far off, each with what is known of why; and rows that are wrong as they stand."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from engine_points import Point

from rooflight.catalog.calibration import calibration


class Odd(NamedTuple):
    """A kind of row, by patterns that its fields must hold ("": any), and why it is far off.

    slow    True: where too little time is expected; False: too much; None: either
    ours    the row may well be right, and it is we who are off
    """

    why: str
    slow: bool | None = None
    ours: bool = True
    engine: str = ""
    backend: str = ""
    family: str = ""
    phase: str = ""
    note: str = ""

    def meets(self, one: Point) -> bool:
        """Whether a point is of the kind."""
        if self.slow is not None and self.slow is not (one.ratio < 1):
            return False
        fields = ("engine", "backend", "family", "phase", "note")
        return all(re.search(getattr(self, name), getattr(one, name)) for name in fields if getattr(self, name))


# Rows that cannot be as they stand: tests/conformance/test_check_measured.py has the arithmetic.
WRONG = (
    Odd("several instances written as one card", ours=False, note="_tp1x[24]_"),
    Odd("the prompt was cached", False, ours=False, note="_tp1x[12]_", phase="TTFT|request"),
)
ODD = (
    *WRONG,
    Odd("vLLM of 2024 on ROCm reads the cache once a query head", True, engine="^vllm$", family="^CDNA",
        phase="end to end"),
    Odd("SGLang's campaigns disagree on how many prompts queue before a first token", ours=False, engine="^sglang$",
        phase="TTFT"),
    Odd("expected to wait for memory, and did not: formats of the cache and what an engine keeps are not stated", False,
        engine="^(vllm|tensorrt-llm)$", phase="TTFT"),
    Odd("the batch is the engine's setting, not the load", ours=False, note="concurrency not stated"),
    Odd("experts in a loop, several cards one after the other", True, backend="^transformers",
        phase="end to end|decode"),
    Odd("prompts of a few tokens: launches take them", backend="ollama", phase="prefill"),
)  # fmt: skip


def odd_of(one: Point) -> str | None:
    """Why a row is far off, where that is known."""
    found = next((kind.why for kind in ODD if kind.meets(one)), None)
    if found is None and one.family:
        parent = calibration(one.family).inherits
        return f"no kernel of {one.family} was timed, {parent}'s stand in" if parent else None
    return found


def proven(one: Point) -> bool:
    """Whether it is the row that is odd, not we who are off."""
    return any(kind.meets(one) and not kind.ours for kind in ODD)


def wrong_of(one: Point) -> str | None:
    """What is wrong with a row."""
    return next((kind.why for kind in WRONG if kind.meets(one)), None)


def sources_odd(data: Path) -> list[str]:
    """What is odd in the sources, with the numbers of the rows themselves."""
    rows = [row for name in ("served.csv", "served2.csv") for row in _tokens(data, name)]
    qwen = [row for row in rows if row["engine"] == "vllm" and row["accelerator"] == "h200-sxm"]
    qwen = [row for row in qwen if "Qwen3-235B" in row["model"]]
    few, many = (_range(row for row in qwen if row["gpus"] == gpus) for gpus in ("2", "4"))
    told = []
    if few and many:
        loads = sorted(float(row["batch"]) for row in qwen)
        told.append(
            f"Qwen3-235B-A22B at FP8 takes vLLM on H200 {few} ms a step on two cards and {many} on four, whether "
            f"{loads[0]:g} sequences run or {loads[-1]:g}, as if all experts were read each time; TensorRT-LLM on "
            "H100, and vLLM with MiniMax-M2.5, are faster the fewer are touched."
        )  # fmt: skip
    oss = [row for row in rows if "gpt-oss-120b" in row["model"] and row["accelerator"] == "h100-sxm"]
    oss = sorted((row for row in oss if row["gpus"] == "4"), key=lambda row: float(row["batch"]))
    if len(oss) > 1:
        told.append(
            f"gpt-oss-120b takes TensorRT-LLM on four H100 {float(oss[0]['value']):.0f} ms a step at "
            f"{float(oss[0]['batch']):g} sequences and {float(oss[-1]['value']):.0f} at {float(oss[-1]['batch']):g}."
        )  # fmt: skip
    told += [
        "SGLang's campaigns disagree several times over on how many prompts queue before a first token: its interval "
        "there is wide.",
        "vLLM of 2024 on MI300X takes the longer the more sequences run where query heads share KV heads, as if each "
        "read the cache for itself.",
        "Runs from FP8 and NVFP4 checkpoints whose cache nobody states are read with an FP8 cache, as such checkpoints "
        "carry: several could not have fitted otherwise.",
    ]  # fmt: skip
    return ["\n## What is odd in the sources\n\n", *(f"- {one}\n" for one in told)]


def _tokens(data: Path, name: str) -> list[dict[str, str]]:
    if not (data / name).exists():
        return []
    with (data / name).open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "tpot_ms" and row["batch"]]
    return [row for row in rows if not row.get("use", "").startswith("no")]


def _range(rows: Iterable[dict[str, str]]) -> str:
    values = sorted(float(row["value"]) for row in rows)
    return f"{values[0]:.0f} to {values[-1]:.0f}" if values else ""

"""How far apart measurements of one question are: no fit can be nearer than that."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

# What a row says beside its question and its value: where it is from, its names as given, what was repaired.
_BESIDE = {
    "id", "value", "source", "note", "accelerator_note", "has_config", "config_like", "config_id", "engine_version",
    "use", "layout_fix", "mode", "doubtful", "doubt_reason", "decode_batch", "prefill_batch", "gemm_quant_mode",
    "moe_quant_mode", "moe_tp",
}  # fmt: skip
_ONE_SHAPE = {"deepseek-ai__DeepSeek-V3": "deepseek-ai__DeepSeek-R1"}


class Noise(NamedTuple):
    """Questions that were measured twice or more, all their rows; of each the larger of two over the smaller, less one,
    in the median of its pairs."""

    questions: int
    rows: int
    apart: np.ndarray


def repeated(data: Path, names: Sequence[str]) -> Noise:
    """Of the rows of files that nobody doubts; equal values are copies of one measurement and count once."""
    values: dict[tuple[tuple[str, str], ...], set[float]] = {}
    for name in names:
        if not (data / name).exists():
            continue
        with (data / name).open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if not row.get("use", "").startswith("no"):
                    values.setdefault(_question(row), set()).add(float(row["value"]))
    several = [found for found in values.values() if len(found) > 1]
    apart = [np.median([max(pair) / min(pair) - 1 for pair in combinations(found, 2)]) for found in several]
    return Noise(len(several), sum(map(len, several)), np.array(apart))


def _question(row: dict[str, str]) -> tuple[tuple[str, str], ...]:
    asked = {
        name: value for name, value in row.items() if value and name not in _BESIDE and not name.endswith("_as_given")
    }
    asked["model"] = _ONE_SHAPE.get(asked.get("model", ""), asked.get("model", ""))
    return tuple(sorted(asked.items()))

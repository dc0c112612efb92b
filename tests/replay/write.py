"""Rewrite the replay dump: what the current formulas say for a grid of devices, models and workloads.

A refactoring must leave dump.csv as it is; a changed formula shows here, row by row, in the diff.
Run it with `make replay` after an intended change.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import rooflight

DUMP = Path(__file__).parent / "dump.csv"
ON = ("h100-sxm", "8xh100-sxm", "a100-sxm4-80gb", "4xb200", "8xmi300x", "l40s", "rtx-4090", "2xt4", "tpu-v5e", "gaudi3")
MODELS = (
    "meta-llama/Meta-Llama-3-8B",
    "meta-llama/Meta-Llama-3.1-70B",
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-30B-A3B",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-120b",
    "deepseek-ai/DeepSeek-V3",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "mistralai/Mixtral-8x7B-v0.1",
)
CASES: tuple[dict[str, object], ...] = (
    {},
    {"batch": 64, "isl": 4096, "osl": 512, "weights": "fp8", "kv_cache": "fp8"},
    {"batch": 8, "context": 30_000, "weights": "int4-g128", "graphs": False},
    {"prefill_batch": 4, "isl": 2000, "cached_prefix": 500, "attention": "naive"},
)


def rows() -> Iterator[dict[str, str]]:
    """One row a phase of each operating point, numbers to 10 digits."""
    for on in ON:
        for model in MODELS:
            for number, case in enumerate(CASES):
                answer = rooflight.analyze(model, on=on, ignore_capacity=True, **case)
                for name, phase in (answer.phases or {}).items():
                    figures = {
                        "flop": phase.flop,
                        "bytes": phase.bytes.total,
                        "link_bytes": phase.link_bytes,
                        "launches": phase.launches,
                        "ceiling_s": phase.time_s.ceiling,
                        "roofline_s": phase.time_s.roofline,
                    }
                    point = {"on": on, "model": model, "case": str(number), "phase": name, "fits": str(answer.fits)}
                    yield {**point, "bound": phase.bound, **{key: f"{value:.10g}" for key, value in figures.items()}}


def main() -> int:
    found = list(rows())
    with DUMP.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the fits hand on: groups of rows with what fits that did not see them say. engine_page.py makes the page."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from engine_first import SERVED_RUNS
from engine_intervals import ends
from engine_rows import Row

# Engine, family, era.
Key = tuple[str, str, str]


class HeldOut(NamedTuple):
    """Predicted over measured of rows that the fit did not see, by what was left out; nan where it left too little."""

    fifths: np.ndarray
    models: np.ndarray
    accelerators: np.ndarray

    def of(self, mine: np.ndarray) -> HeldOut:
        """Of some of the rows."""
        return HeldOut(*(ratio[mine] for ratio in self))


class Judged(NamedTuple):
    """A group of rows, what the fits that did not see them say, and its TOML entry.

    blind   1 or 0: inside an interval that, like the fit, never saw the row's model; nan where too little is left
    whole   of served runs: what a request from end to end takes; nan where its first token is not known
    """

    key: Key
    rows: list[Row]
    out: HeldOut
    entry: dict[str, Any]
    blind: np.ndarray
    whole: HeldOut | None = None


SOURCES = {
    "anl": "Argonne LLM-Inference-Bench",
    "anlcpp": "Argonne LLM-Inference-Bench, llama.cpp",
    "autoawq": "AutoAWQ's page",
    "prem": "Prem's benchmarks",
    "qwen2": "Qwen's speed pages",
    "sil": SERVED_RUNS,
    "spark": "llama.cpp on DGX Spark",
    "strix": "llama.cpp on Strix Halo",
    "tinychat": "TinyChat's tables",
    "trtold": "TensorRT-LLM's older pages",
    "xdai": "X. Dai's GPU benchmarks of llama.cpp",
}
# Repositories and threads that measured2.csv is put together from.
OTHERS = "repositories, issues and threads of users (measured2.csv)"


def source_name(source: str) -> str:
    """What a source is called in entries."""
    return OTHERS if source.startswith("m2-") else SOURCES.get(source, source)


def bounds(group: Judged) -> tuple[np.ndarray, np.ndarray]:
    """The interval of each row, as factors on its expected time."""
    routed = np.array([row.routed for row in group.rows])
    requests = np.array([row.requests for row in group.rows])
    dense, moe = ends(group.entry, "", requests), ends(group.entry, "moe_", requests)
    low, high = np.where(routed, moe[0], dense[0]), np.where(routed, moe[1], dense[1])
    if group.entry.get("prefill_kernels"):
        alone = np.array([row.what.startswith("prefill") for row in group.rows])
        low = np.where(alone, group.entry["prefill_low"], low)
        high = np.where(alone, group.entry["prefill_high"], high)
    return low, high

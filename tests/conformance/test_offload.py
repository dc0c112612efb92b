"""Public measurements with a part on the host: none above its ceiling, most within what is expected.

How much lay there is mostly inferred: of DeepSeek's and Qwen3's large models all experts, of others what does not fit.
Of ktransformers and of two community machines the host is known; of the others it is assumed by the kind of card.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rooflight.errors import RooflightError
from rooflight.library.questions import make_scenario
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.offload import offloads

# Formats of ik_llama.cpp by one of as many bits, where the catalog has none of the name.
FORMATS = {"iq3_k": "iq3_s", "iq4_k": "iq4_nl", "iq2_k": "iq2_s", "ud-q3_k_xl": "q3_k_m", "ud-q2_k_xl": "q2_k"}
MODELS = {
    "Qwen__Qwen3-32B": "qwen3-32b", "Qwen__Qwen2.5-32B": "qwen2.5-32b", "Qwen__Qwen3-14B": "qwen3-14b",
    "Qwen__Qwen2.5-14B": "qwen2.5-14b", "Qwen__Qwen3-235B-A22B": "qwen3-235b-a22b",
    "Qwen__Qwen3-30B-A3B": "qwen3-30b-a3b", "google__gemma-2-27b": "gemma-2-27b",
    "google__gemma-3-27b-it": "gemma-3-27b", "meta-llama__Llama-2-7b-hf": "llama-2-7b",
    "meta-llama__Meta-Llama-3.1-70B": "llama-3.1-70b", "openai__gpt-oss-20b": "gpt-oss-20b",
    "deepseek-r1-distill-qwen-14b": "qwen2.5-14b", "codestral-22b-v0.1": "22b", "aya-expanse-32b": "32b",
    "thudm-glm-z1-32b-0414": "32b", "olmo-2-0325-32b": "32b", "yi-1.5-34b": "34b",
}  # fmt: skip
# Words of a note, and what the memory of the host gives: four channels of DDR4-2933, two of DDR5-5200, eight of
# DDR5-4800 a socket.
HOSTS = {
    "10900X": "94GB/s", "13900HK": "83.2GB/s", "2 x Xeon Gold 6454S": "614.4GB/s", "2 sockets of Xeon": "614.4GB/s",
    "1 socket of Xeon": "307.2GB/s",
}  # fmt: skip


def rows(data: Path) -> list[dict[str, str]]:
    with (data / "measured2.csv").open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row["partial_offload"]]
    return [row for row in found if not row["partial_offload"].startswith("all")]


def asked(row: dict[str, str]) -> Scenario | None:
    """The row with the split that it states or that its file's size makes; None without the model."""
    large = "deepseek-v3" if "deepseek2-671b" in row["model"] or row["model"].startswith("ds-r1") else None
    large = large or ("deepseek-v3" if row["model"] in ("deepseek-v3", "deepseek-r1-0528") else None)
    name = large or MODELS.get(row["model"])
    if name is None:
        return None
    count, depth = int(row["gpus"] or 1), int(row["depth"] or 0)
    fields: dict[str, Any] = {"engine": "llama.cpp", "weights": FORMATS.get(row["weights"], row["weights"]), "osl": 2}
    fields |= {"pp": count} if count > 1 else {}
    fields |= {"kv_cache": "q8_0"} if row["kv_cache"] == "q8_0" else {}
    if row["phase"] == "decode":
        fields |= {"context": depth or int(row["input_len"] or 512), "isl": 512}
    else:
        fields |= {"isl": int(row["input_len"]) + depth, "cached_prefix": depth}
    known = [rate for words, rate in HOSTS.items() if words in row["note"]]
    host = {"host_memory_bandwidth": known[0]} if known else {}
    on = row["accelerator"] if count == 1 else f"{count}x{row['accelerator']}"
    if "no-kv" in row["partial_offload"]:
        return make_scenario(name, on, kv_offload=False, **fields)
    if large or name == "qwen3-235b-a22b":
        return make_scenario(name, on, cpu_moe=True, ignore_capacity=True, **fields, **host)
    sc = make_scenario(name, on, **fields)
    ways = offloads(sc)
    return changed(sc, **{**ways[-1].changes, **host}) if ways else sc


@pytest.fixture(scope="module")
def judged(data: Path) -> list[tuple[str, float, Any]]:
    """(phase, measured seconds, what the step takes) of each row."""
    found = []
    for row in rows(data):
        try:
            sc = asked(row)
            if sc is None:
                continue
            decode = row["phase"] == "decode"
            span = phases.decode(sc).span if decode else phases.prefill(sc).span
        except RooflightError:
            continue
        tokens = 1 if decode else int(row["input_len"])
        found.append((row["phase"], tokens / float(row["value"]), span))
    return found


def test_no_measurement_is_above_its_ceiling(judged: list[tuple[str, float, Any]]) -> None:
    """Some 250 of 261 rows: those whose model is known."""
    assert len(judged) >= 240
    assert not [seconds for _, seconds, span in judged if seconds < span.ceiling * 0.999]


def test_eight_of_ten_are_within_the_interval(judged: list[tuple[str, float, Any]]) -> None:
    """Nine of ten decode steps, three of four prompts, whose CPUs nobody knows."""
    inside = Counter(phase for phase, seconds, span in judged if span.low <= seconds <= span.high)
    all_ = Counter(phase for phase, _, _ in judged)

    assert inside.total() >= 0.8 * all_.total()
    assert inside["decode"] >= 0.88 * all_["decode"]
    assert inside["prefill"] >= 0.7 * all_["prefill"]

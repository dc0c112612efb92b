"""Questions drawn at random, the same ones in every run: the same seeds, and nothing of Python but random()."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from rooflight.catalog.accelerators import all_accelerators
from rooflight.catalog.models import all_models

MODELS = (
    "meta-llama/Meta-Llama-3.1-8B",
    "meta-llama/Meta-Llama-3.1-70B",
    "meta-llama/Llama-2-13b-hf",
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen2.5-32B",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-235B-A22B-FP8",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "mistralai/Mixtral-8x7B-v0.1",
    "google/gemma-3-27b-it",
    "google/gemma-2-9b",
    "openai/gpt-oss-20b",
    "openai/gpt-oss-120b",
    "deepseek-ai/DeepSeek-V2-Lite",
    "deepseek-ai/DeepSeek-V3",
    "deepseek-ai/DeepSeek-V3.2",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "ai21labs/AI21-Jamba-1.5-Mini",
    "tiiuae/falcon-mamba-7b",
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
)
CARDS = (
    "h100-sxm",
    "h200-sxm",
    "a100-sxm4-80gb",
    "a100-pcie-40gb",
    "b200",
    "l40s",
    "rtx-4090",
    "rtx-5090",
    "mi300x",
    "mi250x",
    "t4",
    "v100-sxm2-32gb",
    "tpu-v5e",
    "gaudi3",
    "gb10",
    "apple-m3-max-40",
    "ryzen-ai-max-395",
    "arc-pro-b60",
    "epyc-9654",
)
ENGINES = ("vllm", "sglang", "tensorrt-llm", "llama.cpp", "exllama", "transformers", "deepspeed", "autoawq")
WEIGHTS = ("fp8", "int8", "int4-g128", "nvfp4", "mxfp4", "q4_k_m", "q8_0", "fp16")
CACHES = ("fp8", "int8", "fp16", "q8_0", "auto")
PLAIN_CARDS = ("h100-sxm", "h200-sxm", "a100-sxm4-80gb", "b200", "l40s", "mi300x", "rtx-4090")


class Dice:
    """Choices from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def pick(self, values: Sequence[Any]) -> Any:
        return values[int(self._random.random() * len(values))]

    def some(self, values: Sequence[Any], most: int) -> list[Any]:
        """One to `most` values, each once, in their own order."""
        chosen = {self.pick(values) for _ in range(int(self._random.random() * most) + 1)}
        return [value for value in values if value in chosen]

    def count(self, least: int, most: int) -> int:
        """From 2^least to less than 2^most, small ones as likely as large ones; whole numbers all the way."""
        base = 1 << (least + int(self._random.random() * (most - least)))
        return base + int(self._random.random() * base)


def analyses(count: int, seed: int = 1, *, whole: bool = False) -> Iterator[str]:
    """Operating points; `whole`: of every model and accelerator of the catalog, else of those above."""
    models, cards = _all() if whole else (MODELS, CARDS)
    dice = Dice(seed)
    for _ in range(count):
        fields = {**_workload(dice), **_phases(dice), **_deployment(dice), **_habits(dice)}
        yield _question(dice.pick(models), {"on": _devices(dice, cards), **fields})


def moves(count: int, seed: int = 2) -> Iterator[str]:
    """Deployments to improve."""
    dice = Dice(seed)
    for _ in range(count):
        fields = {**_workload(dice), **_deployment(dice)}
        fields["objective"] = dice.pick(("throughput", "latency", "ttft", "cost"))
        if dice.chance(0.3):
            fields["prices"] = {"h100-sxm": 2.5, "mi300x": 2.1}
        if dice.chance(0.3):
            fields |= {"speculative_tokens": dice.count(0, 3), "acceptance": 0.6, "hit_rate": 0.3}
        if dice.chance(0.2):
            fields["cards"] = dice.some(CARDS, 2)
        yield _question(dice.pick(MODELS), {"on": _devices(dice, CARDS), **fields})


def comparisons(count: int, seed: int = 3) -> Iterator[str]:
    """Cards and layouts against each other."""
    dice = Dice(seed)
    for _ in range(count):
        fields: dict[str, Any] = {"batch": dice.pick((1, 8, 64, "max"))}
        if dice.chance(0.4):
            fields["log"] = [[dice.count(4, 15), dice.count(0, 11)] for _ in range(12)]
        else:
            fields |= {"isl": dice.count(4, 15), "osl": dice.count(0, 11)}
        fields["objective"] = dice.pick(("throughput", "accelerator", "latency", "cost", "energy"))
        cards = dice.some(PLAIN_CARDS if dice.chance(0.8) else CARDS, 4)
        if dice.chance(0.5):
            fields["prices"] = {card: dice.count(0, 4) / 2 for card in cards}
        if dice.chance(0.3):
            fields["weights"] = dice.some(WEIGHTS, 3)
        if dice.chance(0.3):
            fields["engine"] = dice.some(ENGINES, 3)
        if dice.chance(0.3):
            fields["tp"] = dice.some((1, 2, 4, 8), 3)
        if dice.chance(0.1):
            fields["ignore_capacity"] = True
        front = "" if "tp" in fields else dice.pick(("", "", "2x", "4x", "8x"))
        yield _question(dice.pick(MODELS), {"on": [front + card for card in cards], **fields})


def sweeps(count: int, seed: int = 4) -> Iterator[str]:
    """Grids of at most some dozen points."""
    dice = Dice(seed)
    axes = {
        "batch": [1, 7, 32, 200],
        "isl": [1, 500, 9_000],
        "osl": [1, 800],
        "context": [0, 3_000, 40_000],
        "prefill_batch": [1, 3],
        "weights": ["bf16", "fp8", "int4-g128"],
        "kv_cache": ["bf16", "fp8"],
        "tp": [1, 2, 4],
        "dp": [1, 2],
        "pp": [1, 2],
    }
    for _ in range(count):
        fields = {name: axes[name] for name in dice.some(tuple(axes), 3)}
        if dice.chance(0.5):
            fields["engine"] = dice.pick(ENGINES)
        yield _question(dice.pick(MODELS), {"on": dice.some(PLAIN_CARDS, 2), **fields})


def claims(count: int, seed: int = 5) -> Iterator[str]:
    """Claimed values of deployments."""
    dice = Dice(seed)
    metrics = ("output_tok_s", "tpot_ms", "ttft_ms", "prefill_tok_s", "e2e_latency_ms", "total_tok_s")
    for _ in range(count):
        fields = {**_workload(dice), **_deployment(dice), dice.pick(metrics): dice.count(2, 15)}
        yield _question(dice.pick(MODELS), {"on": _devices(dice, CARDS), **fields})


def _all() -> tuple[list[str], list[str]]:
    return sorted(model.id for model in all_models()), sorted(card.id for card in all_accelerators())


def _devices(dice: Dice, cards: Sequence[str]) -> str:
    return str(dice.pick(("", "", "", "", "2x", "4x", "8x", "16x")) + dice.pick(cards))


def _workload(dice: Dice) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if dice.chance(0.8):
        fields["batch"] = dice.count(0, 9)
    if dice.chance(0.7):
        fields |= {"isl": dice.count(6, 15), "osl": dice.count(3, 11)}
    if dice.chance(0.2):
        fields["context"] = dice.count(0, 16)
    if dice.chance(0.2):
        fields["prefill_batch"] = dice.count(0, 4)
    if dice.chance(0.2):
        fields["cached_prefix"] = dice.count(0, fields.get("isl", 1024).bit_length() - 1)
    return fields


def _phases(dice: Dice) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if dice.chance(0.15):
        fields["draft_tokens"] = dice.count(0, 3)
    if dice.chance(0.15):
        fields["chunk_tokens"] = dice.count(0, 9)
    return fields


def _deployment(dice: Dice) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if dice.chance(0.4):
        fields["weights"] = dice.pick(WEIGHTS)
    if dice.chance(0.3):
        fields["kv_cache"] = dice.pick(CACHES)
    if dice.chance(0.6):
        fields["engine"] = dice.pick(ENGINES)
    for degree in ("pp", "dp", "ep"):
        if dice.chance(0.12):
            fields[degree] = dice.pick((2, 4, 8) if degree == "ep" else (2, 2, 4))
    return fields


def _habits(dice: Dice) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if dice.chance(0.1):
        fields["compute"] = dice.pick(("fp16", "bf16", "fp8", "int8"))
    if dice.chance(0.1):
        fields["activations"] = dice.pick(("fp8", "bf16", "fp32"))
    if dice.chance(0.1):
        fields["attention"] = "naive"
    if dice.chance(0.15):
        fields["graphs"] = False
    if dice.chance(0.1):
        fields["gpu_memory_utilization"] = dice.pick((0.5, 0.8, 0.95))
    if dice.chance(0.5):
        fields["ignore_capacity"] = True
    return fields


def _question(name: str, fields: dict[str, Any]) -> str:
    words = (value if isinstance(value, str) else json.dumps(value, separators=(",", ":")) for value in fields.values())
    return " ".join([name, *(f"{key}={word}" for key, word in zip(fields, words, strict=True))])

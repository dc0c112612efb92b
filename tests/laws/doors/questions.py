"""Questions for every door, drawn from the catalog by a seed: models, cards, layouts, formats, lengths, engines."""

from __future__ import annotations

import functools
import json
import random
from typing import NamedTuple

from click.testing import CliRunner

import rooflight
from rooflight.cli.app import app

WEIGHTS = (None, None, "bf16", "fp8", "int4-g128", "nvfp4", "mxfp4", "w8a8-int8", "q4_k")
CACHES = (None, None, "fp8", "int8")
ENGINES = (None, None, "vllm", "sglang", "tensorrt-llm", "llama.cpp")
LENGTHS = (16, 100, 128, 512, 1000, 1024, 2048, 4096, 7777)
OUTPUTS = (2, 16, 100, 128, 256, 257, 1000)
BATCHES = (1, 1, 2, 5, 8, 16, 32, 64, 100, 256)
COUNTS = (1, 1, 2, 4, 8)
# Beside weights, so that most questions have room for a cache.
ROOM = 1.6
# The share of questions in the words that every door knows.
PLAIN = 0.3
# Of those that do not fit one in this many is kept.
TOO_BIG = 2


class Question(NamedTuple):
    """An operating point in the words that every door takes; a None is left unsaid."""

    model: str
    card: str
    count: int
    tp: int
    pp: int
    ep: int
    dp: int
    weights: str | None
    kv_cache: str | None
    engine: str | None
    batch: int
    isl: int
    osl: int

    @property
    def on(self) -> str:
        """The accelerator with its count."""
        return f"{self.count}x{self.card}"

    def said(self, *names: str) -> dict[str, int | str]:
        """Those of its fields that are said."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


# Questions on which doors part, some of which agree on nearly all others: every disagreement that is known shows on one
# of these, whatever else the catalog comes to hold. Every door is asked them.
WITNESSES = tuple(
    Question(*words, *lengths)
    for words, lengths in (
        (("microsoft/Phi-3.5-MoE-instruct", "a100-sxm4-80gb", 8, 1, 1, 8, 8, "q4_k", "int8", None), (256, 7777, 1000)),
        (("MiniMaxAI/MiniMax-M2.7", "h100-nvl", 4, 2, 1, 1, 2, "mxfp4", None, "sglang"), (32, 7777, 257)),
        (("nvidia/GLM-5-NVFP4", "mi350x", 4, 2, 2, 2, 1, "fp8", None, "tensorrt-llm"), (100, 100, 128)),
        (("deepseek-ai/deepseek-vl2-tiny", "rtx-pro-6000-blackwell", 2, 2, 1, 1, 1, "fp8", None, "tensorrt-llm"),
         (100, 16, 16)),
        (("Qwen/Qwen3.5-122B-A10B", "a100-pcie-80gb", 8, 2, 2, 1, 2, None, None, None), (64, 100, 16)),
        (("microsoft/Phi-3-vision-128k-instruct", "b100", 1, 1, 1, 1, 1, "int4-g128", None, None), (100, 16, 2)),
        (("google/gemma-2-27b", "rtx-pro-6000-blackwell-maxq", 1, 1, 1, 1, 1, "fp8", None, "vllm"), (64, 7777, 2)),
        (("llava-hf/llava-1.5-7b-hf", "radeon-ai-pro-r9700", 1, 1, 1, 1, 1, "bf16", "fp8", None), (5, 128, 16)),
        (("Qwen/Qwen-7B", "mi455x", 1, 1, 1, 1, 1, "fp8", "int8", None), (64, 16, 128)),
        (("Qwen/Qwen3-VL-8B-Instruct", "apple-m4", 1, 1, 1, 1, 1, "fp8", "int8", None), (8, 7777, 1000)),
        (("meta-llama/Meta-Llama-3.1-70B", "rtx-5070", 1, 1, 1, 1, 1, "nvfp4", "int8", None), (1, 512, 257)),
        (("nvidia/MiniMax-M2.7-NVFP4", "a800-sxm4-80gb", 8, 1, 1, 8, 8, None, "fp8", "sglang"), (2, 512, 16)),
        (("deepseek-ai/DeepSeek-V2-Lite", "p100-pcie-16gb", 4, 4, 1, 1, 1, "int4-g128", None, None), (64, 16, 1000)),
        (("Qwen/Qwen3.5-35B-A3B", "arc-pro-b60", 4, 1, 2, 1, 2, "fp8", "int8", "sglang"), (64, 128, 128)),
        (("meta-llama/Meta-Llama-3.1-8B", "qualcomm-ai100-ultra", 1, 1, 1, 1, 1, None, None, None), (1, 512, 128)),
        (("Qwen/Qwen-7B", "rubin", 1, 1, 1, 1, 1, None, None, None), (1, 128, 100)),
    )
)  # fmt: skip


def cli_json(*words: str) -> dict:
    """A command's JSON document, asked in this process; exit 1 is an answer too."""
    result = CliRunner().invoke(app, [*words, "--json"])
    if result.exit_code not in (0, 1) or (result.exception and not isinstance(result.exception, SystemExit)):
        raise AssertionError(f"{words}: exit {result.exit_code}: {result.output}") from result.exception
    return json.loads(result.stdout)


@functools.cache
def catalog() -> tuple[list[dict], list[dict]]:
    """Models and accelerators as the lists give them."""
    return cli_json("models")["models"], cli_json("accelerators")["accelerators"]


@functools.cache
def questions(number: int, seed: int = 1) -> tuple[Question, ...]:
    """The witnesses and so many drawn behind them, all answered by `analyze`; a longer list begins as a shorter one."""
    drawn = random.Random(seed)
    found: dict[Question, None] = dict.fromkeys(WITNESSES[:number])
    while len(found) < number:
        one = _drawn(drawn)
        try:
            answer = rooflight.analyze(one.model, **asked(one))
            fits = answer.fits
            if not answer.accelerator.peak_flop_per_s:
                continue  # no door answers prompts there; tests/unit/serve/test_no_peak holds their decodes together
        except rooflight.RooflightError:
            continue  # a layout the model cannot be cut into, a rate nobody published
        if fits or drawn.randrange(TOO_BIG) == 0:
            found[one] = None
    return tuple(found)


def asked(one: Question) -> dict[str, int | str]:
    """The keywords of the library's functions."""
    fields = one.said("tp", "pp", "ep", "dp", "weights", "kv_cache", "engine", "batch", "isl", "osl")
    return {"on": one.on, **fields}


def _drawn(drawn: random.Random) -> Question:
    models, cards = catalog()
    model, card = drawn.choice(models), drawn.choice(cards)
    weights, cache, engine = drawn.choice(WEIGHTS), drawn.choice(CACHES), drawn.choice(ENGINES)
    need = ROOM * model["weight_bytes"] / (card["memory_bytes"] or 1)
    count = next((n for n in COUNTS if n >= need), 8) if drawn.random() < 0.5 else drawn.choice(COUNTS)
    tp, pp, dp = drawn.choice([
        (t, p, count // (t * p)) for t in (1, 2, 4, 8) for p in (1, 2) if count % (t * p) == 0
    ] + [(count, 1, 1)] * 3)  # fmt: skip
    plain = drawn.random() < PLAIN
    if plain:
        tp, pp, dp, weights, cache, engine = count, 1, 1, drawn.choice((None, weights)), None, None
    routed = model["active_parameters"] < model["parameters"]
    return Question(
        model=model["id"], card=card["id"], count=count, tp=tp, pp=pp, dp=dp,
        ep=drawn.choice((1, tp * dp)) if routed and not plain else 1, weights=weights, kv_cache=cache, engine=engine,
        batch=drawn.choice(BATCHES), isl=drawn.choice(LENGTHS), osl=drawn.choice(OUTPUTS),
    )  # fmt: skip

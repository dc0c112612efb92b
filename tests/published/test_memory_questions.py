"""Questions that people asked of memory, answered by hand beside the tool: the members of a kind, not one example."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.units import to_base

GIB = to_base(1, "GiB")


@pytest.mark.parametrize(
    ("model", "on", "fields", "weights_gb", "card_bytes"),
    [
        # sgl-project/sglang#3002: 145.4 GB on 2 x 85.9e9; at 0.95 about 9 GB a card remain
        ("qwen2.5-72b", "2xa100-sxm4-80gb", {"tp": 2}, 145.4, 85.9e9),
        # vllm-project/vllm#30832: 688 GB on 8 x 102.6e9 bytes
        ("deepseek-ai/DeepSeek-V3.2", "8xh20", {"tp": 8}, 688, 102.6e9),
        # 72.7 GB of an 80 GB card, which has 85.5e9 bytes
        ("llama-3.1-70b", "h100-sxm", {"weights": "fp8"}, 72.7, 85.5e9),
        ("llama-3-70b", "h100", {"weights": "fp8"}, 72.7, 85.5e9),
        # 27.5 GB of weights on a 32 GB card of 34.2e9
        ("qwen2.5-14b", "rtx-5090", {"weights": "bf16"}, 29.5, 34.2e9),
    ],
)
@pytest.mark.parametrize("engine", [None, "vllm", "sglang"])
def test_what_ran_fits(model, on, fields, weights_gb, card_bytes, engine):
    """A label of 80 GB is no 80e9 bytes."""
    answer = rooflight.analyze(model, on, engine=engine, **fields)

    assert answer.memory.weights_bytes / 1e9 == pytest.approx(weights_gb, rel=0.02)
    assert answer.accelerator.memory_bytes == pytest.approx(card_bytes, rel=0.01)
    assert answer.memory.max_batch >= 1
    assert answer.answered


def test_a_row_of_what_fits_is_judged():
    """vllm-project/vllm#30832: 30 tok/s of one stream is possible and normal for its time."""
    report = rooflight.check({
        "model": "deepseek-ai/DeepSeek-V3.2", "accelerator": "h20", "gpus": 8, "tp": 8, "metric": "output_tok_s",
        "value": 30, "batch": 1, "input_len": 2048, "output_len": 1024, "engine": "vllm", "phase": "decode",
    })  # fmt: skip

    assert report.rows[0].verdict in ("ok", "slow")
    assert report.rows[0].ceiling == pytest.approx(557, rel=0.15)


def test_a_pool_of_two_cards():
    """vllm-project/vllm#13061: 0.98 of 2 x 25.2e9, 14.8 GB of weights and 2 of the rest; 98,304 B a token on a card."""
    held = rooflight.analyze(
        "qwen2.5-14b", "2xrtx-4090", tp=2, engine="vllm", gpu_memory_utilization=0.98, context=81_535
    ).memory

    assert 81_000 <= held.kv_tokens <= 89_000
    assert held.max_batch == 1


def test_a_long_context_in_an_eight_bit_cache():
    """ollama/ollama#10128: 4.7 GB + 262,144 x 28,672 x 1.0625 B = 12.7 GB on a P40 of 24 GB."""
    answer = rooflight.analyze(
        "qwen2.5-7b", "p40", weights="q4_k_m", kv_cache="q8_0", engine="llama.cpp", context=262_143
    )

    assert answer.memory.kv_bytes == pytest.approx(262_144 * 28_672 * 1.0625, rel=0.001)
    assert answer.memory.weights_bytes / 1e9 == pytest.approx(4.7, rel=0.1)
    assert answer.memory.fits


@pytest.mark.parametrize(("size", "fits"), [("48GiB", False), ("64GiB", False), ("128GiB", True)])
def test_a_machine_that_is_sold_in_several_sizes(size, fits):
    """AlexsJones/llmfit#230: 122 B x 4.85 bit / 8 = 74 GB."""
    answer = rooflight.analyze("Qwen/Qwen3.5-122B-A10B", "apple-m3-max", weights="q4_k_m", memory=size)

    assert answer.memory.weights_bytes / 1e9 == pytest.approx(74, rel=0.02)
    assert (answer.memory.max_batch > 0) is fits
    assert (answer.bound is None) is fits


@pytest.mark.parametrize(
    ("model", "on", "isl"),
    [("codellama-34b", "rtx-3090", 3840), ("qwen2.5-32b", "rtx-4090", 8000), ("llama-3.1-8b", "rtx-3060-12gb", 20_000)],
)
def test_an_engine_that_withholds_nothing(model, on, isl):
    """llama.cpp: weights, the cache of the context and buffers of 512 tokens, nothing else."""
    held = rooflight.analyze(model, on, weights="q4_k_m", engine="llama.cpp", isl=isl, osl=256).memory

    assert held.withheld_bytes == 0
    assert held.activation_bytes + held.engine_bytes < 0.9e9
    assert held.fits

"""Questions people asked of files in several formats, with the bytes they move a token by hand."""

from __future__ import annotations

from typing import Any

import pytest

import rooflight
from rooflight.catalog.config import model_from_dict
from rooflight.catalog.models import load
from rooflight.work.count import weight_bytes
from rooflight.work.weights import held

# gpt-oss-120b: 36 layers, 4 of 128 experts of 3 x 2,880 x 2,880 a token in MXFP4; the rest a token reads is 1.54 G.
EXPERTS_GB = 36 * 4 * 3 * 2880 * 2880 * 4.25 / 8 / 1e9
REST_GB = 1.54 * 8.5 / 8


def decoded(model: Any, on: str, **fields: Any) -> Any:
    return rooflight.analyze(model, on=on, context=0, **fields).phases["decode"]


@pytest.mark.parametrize("weights", [None, "mxfp4", "q8_0", "mxfp4_moe"])
def test_llama_cpp_runs_gpt_oss_from_mxfp4_and_q8_0(weights):
    """Whatever the label (strix-halo-testing#33, amd-strix-halo-vllm-toolboxes#19): 3.54 GB a token, 72 tok/s."""
    phase = decoded("gpt-oss-120b", "ryzen-ai-max-395", engine="llama.cpp", weights=weights)

    assert phase.bytes.weights / 1e9 == pytest.approx(EXPERTS_GB + REST_GB, rel=0.02)
    assert phase.tokens_per_s.ceiling == pytest.approx(256 / 3.54, rel=0.02)


@pytest.mark.parametrize("tokens_per_s", [47.4, 53.5])
def test_what_was_measured_of_gpt_oss_is_possible(tokens_per_s):
    """A claim and a row of the same value."""
    row = {
        "model": "gpt-oss-120b", "accelerator": "ryzen-ai-max-395", "gpus": 1, "engine": "llama.cpp", "batch": 1,
        "input_len": 64, "output_len": 128, "phase": "decode", "metric": "output_tok_s", "value": tokens_per_s,
    }  # fmt: skip
    (verdict,) = rooflight.check(row).rows

    assert verdict.over_ceiling == pytest.approx(tokens_per_s / 72, rel=0.03)


def test_vllm_runs_the_checkpoint_as_it_is():
    """The rest in bf16: 1.54 G x 2 bytes beside the experts."""
    phase = decoded("gpt-oss-120b", "ryzen-ai-max-395", engine="vllm")

    assert phase.bytes.weights / 1e9 == pytest.approx(EXPERTS_GB + 1.54 * 2, rel=0.02)


@pytest.mark.parametrize(
    "model, card, file_gb", [("gpt-oss-120b", "ryzen-ai-max-395", 63.4), ("gpt-oss-20b", "rtx-4090", 12.1)]
)
def test_files_called_q8_0_of_native_mxfp4_fit(model, card, file_gb):
    """AlexsJones/llmfit#973, #1059."""
    answer = rooflight.analyze(model, on=card, weights="q8_0", engine="llama.cpp")

    assert answer.model.weight_bytes / 1e9 == pytest.approx(file_gb, rel=0.01)
    assert answer.memory.fits


def test_nvfp4_keeps_the_head_wide():
    """dgx-spark-playbooks#79: 68.4 G x 4.5 bits and 128,256 x 8,192 x 2 bytes of head: 40.6 GB, 6.72 tok/s."""
    phase = decoded("llama-3.3-70b", "gb10", weights="nvfp4")

    assert phase.bytes.weights == pytest.approx(68.45e9 * 4.5 / 8 + 128_256 * 8_192 * 2, rel=0.002)
    assert phase.tokens_per_s.ceiling == pytest.approx(6.72, rel=0.005)


@pytest.mark.parametrize("key", ["quantization", "quantization_config"])
def test_mlx_quantises_table_and_head(key):
    """Rapid-MLX#567, a 9B of 4 bits in groups of 64: 5.04 GB with the table, 248,320 x 4,096, of which rows move."""
    config = {
        "model_type": "qwen3_5_text", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 32,
        "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 248320,
        "tie_word_embeddings": False, "dtype": "bfloat16", "full_attention_interval": 4, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4, "attn_output_gate": True, key: {"group_size": 64, "bits": 4},
    }  # fmt: skip
    model = model_from_dict(config, id="mlx", origin="config.json")
    phase = decoded(model, "apple-m4-pro")

    assert weight_bytes(model) / 1e9 == pytest.approx(5.04, rel=0.002)
    assert phase.bytes.weights == pytest.approx(weight_bytes(model) - 248_320 * 4_096 * 4.5 / 8, rel=0.001)


def test_a_long_cache_beside_mlx_weights():
    """mlx-lm#763: 62 layers x 2 x 8 x 128 x 2 bytes x 146,000 are 37 GB, and 6 GB of weights: 19 tok/s on 819 GB/s."""
    phase = rooflight.analyze("minimax-m2.5", on="apple-m3-ultra", weights="mlx-4bit", context=146_000).phases["decode"]

    assert phase.bytes.kv_read / 1e9 == pytest.approx(146_000 * 62 * 2 * 8 * 128 * 2 / 1e9, rel=0.001)
    assert phase.tokens_per_s.ceiling == pytest.approx(19, rel=0.01)


def test_a_mix_by_part_moves_what_each_part_takes():
    """Experts at 2.0625 bits, all else at 6.5625: 8 of 128 experts of 3 x 2,048 x 768 in 48 layers of Qwen3-30B-A3B."""
    experts = 48 * 8 * 3 * 2048 * 768
    dense = 48 * (2048 * (32 + 2 * 4) * 128 + 32 * 128 * 2048) + 151_936 * 2048
    wide = 2 * (48 * (2048 * 128 + 2 * 2048 + 2 * 128) + 2048)  # routers and norms
    phase = decoded("qwen3-30b-a3b", "h100-sxm", weights="experts=iq2_xxs,rest=q6_k")

    assert phase.bytes.weights == pytest.approx(experts * 2.0625 / 8 + dense * 6.5625 / 8 + wide, rel=1e-6)


def test_one_file_has_one_size_in_every_door():
    """analyze, check and the model's own count."""
    sizes = {name: weight_bytes(held(load("qwen3-14b"), name)) for name in ("q3_k_l", "iq3_m", "ud-q4_k_xl")}

    for name, size in sizes.items():
        assert rooflight.analyze("qwen3-14b", on="h100-sxm", weights=name).model.weight_bytes == pytest.approx(
            size, abs=1
        )
    assert sizes["ud-q4_k_xl"] < weight_bytes(held(load("qwen3-14b"), "q4_k_m"))

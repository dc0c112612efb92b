"""What a config leaves out is said, and what contradicts itself is said or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rooflight.catalog import models
from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadConfig
from rooflight.values.model import Model

BASE = {
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "num_hidden_layers": 4,
    "intermediate_size": 6144,
    "vocab_size": 1000,
    "torch_dtype": "bfloat16",
}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 768}
LATENT = {"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
          "n_routed_experts": 8, "n_shared_experts": 1, "first_k_dense_replace": 1}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen3_moe": {**EXPERTS, "head_dim": 128},
    "gemma3_text": {"head_dim": 256, "sliding_window": 1024, "sliding_window_pattern": 6},
    "deepseek_v3": {**EXPERTS, **LATENT},
    "glm4_moe": {**EXPERTS, "n_shared_experts": 1, "first_k_dense_replace": 1, "head_dim": 128},
    "nemotron_h": {"hybrid_override_pattern": "M*-M", "head_dim": 128, "mamba_num_heads": 64, "mamba_head_dim": 64,
                   "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4},
}  # fmt: skip


def read(model_type: str, **changes: Any) -> Model:
    data = {"model_type": model_type, **BASE, **CONFIGS.get(model_type, {}), **changes}
    return model_from_dict({k: v for k, v in data.items() if v != "absent"}, id="test", origin="config.json")


@pytest.mark.parametrize("model_type", CONFIGS)
def test_a_complete_config_needs_no_word(model_type):
    assert not [note for note in read(model_type).assumptions if "leaves out" in note]


@pytest.mark.parametrize(
    "model_type, key, said",
    [
        ("qwen3_moe", "head_dim", "head_dim 64 (hidden size over heads)"),
        ("gemma3_text", "head_dim", "head_dim 256"),
        ("gemma3_text", "sliding_window_pattern", "sliding_window_pattern 6"),
        ("nemotron_h", "head_dim", "head_dim 64 (hidden size over heads)"),
        ("deepseek_v3", "q_lora_rank", "q_lora_rank none"),
        ("deepseek_v3", "n_shared_experts", "n_shared_experts 1"),
        ("deepseek_v3", "first_k_dense_replace", "first_k_dense_replace 3"),
        ("glm4_moe", "n_shared_experts", "n_shared_experts 1"),
    ],
)
def test_a_missing_size_is_said(model_type, key, said):
    notes = [note for note in read(model_type, **{key: "absent"}).assumptions if "leaves out" in note]

    assert len(notes) == 1, "one note for all that is left out"
    assert said in notes[0]


def test_a_null_is_as_good_as_missing_but_for_ranks():
    """DeepSeek-V2-Lite writes q_lora_rank null: it has none."""
    assert any("n_shared_experts 1" in note for note in read("deepseek_v3", n_shared_experts=None).assumptions)
    assert not [note for note in read("deepseek_v3", q_lora_rank=None).assumptions if "q_lora_rank" in note]


def test_an_unusual_head_size_is_said_in_any_family():
    """Mistral-Nemo without its head_dim: 5120 / 32 = 160 instead of 128."""
    assert any("head_dim 160" in note for note in read("mistral", hidden_size=5120, sliding_window=None).assumptions)


def test_catalog_entries_leave_defaults_out_on_purpose():
    assert not [note for note in models.load("Qwen/Qwen3-8B").assumptions if "leaves out" in note]


@pytest.mark.parametrize(
    "model_type, changes, said",
    [
        ("llama", {"layer_types": ["sliding_attention"] * 4, "sliding_window": 8}, "this model type has none"),
        ("qwen2", {"layer_types": ["sliding_attention"] * 4}, "none is set"),
        ("deepseek_v3", {"first_k_dense_replace": 9}, "no layer has experts"),
        ("qwen3_moe", {"mlp_only_layers": [1, 9]}, "names layer 9, but the last of the 4 layers is 3"),
    ],
)
def test_contradictions_that_engines_pass_over_are_warned_of(model_type, changes, said):
    assert said in " ".join(read(model_type, **changes).warnings)


@pytest.mark.parametrize(
    "model_type, changes, key",
    [
        ("qwen3_moe", {"num_experts_per_tok": [2]}, "num_experts_per_tok has 1 entries"),
        ("qwen3_moe", {"num_experts_per_tok": [2, 2, 2, True]}, "num_experts_per_tok is not"),
        ("qwen3_moe", {"mlp_only_layers": ["first"]}, "mlp_only_layers is not"),
        ("qwen3_moe", {"mlp_only_layers": [-1]}, "mlp_only_layers is not"),
        ("llama", {"is_encoder_decoder": 1}, "encoder-decoder"),
        ("llama", {"is_encoder_decoder": "true"}, "encoder-decoder"),
        ("llama", {"is_encoder_decoder": "perhaps"}, "is_encoder_decoder is not"),
    ],
)
def test_contradictions_that_are_refused(model_type, changes, key):
    with pytest.raises(BadConfig) as caught:
        read(model_type, **changes)
    assert key in caught.value.what


def test_one_number_a_layer_is_one_number():
    assert read("qwen3_moe", num_experts_per_tok=[2] * 4).layers == read("qwen3_moe").layers
    for odd in (0, -1, 2**70):
        with pytest.raises(BadConfig, match="num_experts_per_tok is not a whole number"):
            read("qwen3_moe", num_experts_per_tok=[odd] * 4)


def test_ids_are_read_without_building_models():
    assert models.ids() == tuple(sorted((model.id for model in models.all_models()), key=str.lower))


def test_the_hubs_own_advice_is_not_passed_on(monkeypatch):
    class LocalEntryNotFoundError(Exception):
        pass

    advice = LocalEntryNotFoundError("Cannot find it. Set local_files_only to False and try again.")
    assert "local_files_only" not in models._reason(advice)
    assert models._reason(ValueError("Odd name. Use another")) == "ValueError: Odd name"


def test_an_id_from_a_file_name_has_no_control_characters(tmp_path: Path):
    file = tmp_path / "evil\x1b[31m.json"
    file.write_text(json.dumps({"model_type": "llama", **BASE}), encoding="utf-8")
    model = models.load(file)

    assert (model.id + model.origin).isprintable()

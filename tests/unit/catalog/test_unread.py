"""Keys that by their names shape weights and were not read are warned of by name; the rest is silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rooflight
from rooflight.catalog import models
from rooflight.catalog.config import model_from_dict
from rooflight.catalog.config.registry import FAMILIES
from rooflight.library.questions import make_scenario
from rooflight.values.model import Model
from rooflight.words.verdicts import claimed

HERE = Path(__file__).parent
CASES = {
    name: case["config"] for name, case in json.loads((HERE / "architectures.json").read_text("utf-8")).items() if name
}
CASES |= {
    name: case["config"] for name, case in json.loads((HERE / "unusual.json").read_text("utf-8"))["models"].items()
}
# One config of each model type there is one of.
BY_TYPE = {config["model_type"]: config for config in reversed(CASES.values())}
LLAMA = BY_TYPE["llama"]


def read(config: dict[str, Any]) -> Model:
    return model_from_dict(config, id="test", origin="config.json")


def unread(config: dict[str, Any]) -> list[str]:
    return [warning for warning in read(config).warnings if "not read" in warning]


@pytest.mark.parametrize("model_type", sorted(BY_TYPE))
@pytest.mark.parametrize(
    "key, value",
    [
        ("engram_hidden_size", 512), ("expert_inner_dim", 64), ("key_lora_rank", 16), ("num_memory_slots", 4),
        ("cross_heads", 8), ("num_side_experts", 2), ("use_value_gate", True), ("latent_width", 32),
        ("per_layer_sizes", [8, 16]), ("delta_rank", "16"), ("num_meta_tokens", 8), ("context_dim", 32),
    ],
)  # fmt: skip
def test_a_key_nobody_reads_is_warned_of_by_name_in_every_family(model_type, key, value):
    (warning,) = unread({**BY_TYPE[model_type], key: value})

    assert key in warning
    assert str(value).lower() in warning


def test_most_families_are_tried():
    """The others are of other repositories' code, of which there is no module to take a config from."""
    tried = {FAMILIES[name] for name in BY_TYPE if name in FAMILIES}

    assert len(tried) >= len(set(FAMILIES.values())) - 5, sorted(set(FAMILIES.values()) - tried)


@pytest.mark.parametrize("value", [None, False, 0, -1, "", [], {}, 0.02, "swiglu", ["full_attention"], float("inf")])
def test_a_key_that_says_nothing_is_passed_over(value):
    """Null, no, nothing, -1, fractions and words name no size."""
    assert unread({**LLAMA, "engram_hidden_size": value}) == []


@pytest.mark.parametrize(
    "key, value",
    [
        ("num_beams", 4), ("num_labels", 2), ("rope_dim", 64), ("mamba_chunk_size", 256), ("ep_size", 8),
        ("num_nextn_predict_layers", 1), ("n_group", 8), ("mm_hidden_size", 1024), ("image_size", 336),
        ("vision_feature_layers", [-2]), ("max_window_layers", 28), ("sliding_window_size", 4096),
        ("audio_hidden_size", 512), ("num_logits_to_keep", 1), ("moe_router_topk_group", 4),
    ],
)  # fmt: skip
def test_names_that_look_like_shapes_and_are_none(key, value):
    assert unread({**LLAMA, key: value}) == []


def test_a_key_in_an_object_is_named_with_its_path():
    (warning,) = unread({**LLAMA, "memory_config": {"bank": {"num_slots": 4}}})

    assert "memory_config.bank.num_slots 4" in warning


def test_a_key_of_a_wrapped_text_model_is_named_with_its_path_and_of_the_wrapper_too():
    inner = {**LLAMA, "side_hidden_size": 8}
    (warning,) = unread({"model_type": "some_vlm", "text_config": inner, "bridge_dim": 16, "hidden_size": 64})

    assert "text_config.side_hidden_size 8" in warning
    assert "bridge_dim 16" in warning
    assert " hidden_size 64" not in warning, "the section says what it is"


def test_towers_and_quantisation_are_no_shapes_of_the_text_model():
    config = {"model_type": "some_vlm", "text_config": LLAMA, "vision_config": {"hidden_size": 8, "num_layers": 2}}

    assert unread(config) == []
    quantised = {"quant_method": "fp8", "weight_block_size": [128, 128], "num_bits": 8}
    assert unread({**LLAMA, "quantization_config": quantised}) == []


def test_many_keys_are_one_warning_that_names_the_first():
    (warning,) = unread({**LLAMA, **{f"part{number}_size": number for number in range(1, 10)}})

    assert warning.startswith("9 keys are not read")
    assert "part1_size 1" in warning
    assert "and 3 more" in warning


def test_two_spellings_of_one_thing_are_warned_of_where_they_differ():
    mixtral = BY_TYPE["mixtral"]
    experts = mixtral["num_local_experts"]

    assert unread({**mixtral, "num_experts": experts}) == []
    (warning,) = unread({**mixtral, "num_experts": experts + 1})
    assert f"num_experts {experts + 1}" in warning


@pytest.mark.parametrize("key, value", [("head_dim", 24), ("num_key_value_heads", 6), ("qk_head_dim", 24)])
def test_keys_of_ordinary_attention_mean_nothing_beside_latent_attention(key, value):
    assert unread({**BY_TYPE["deepseek_v3"], key: value}) == []


def test_a_dense_width_without_a_dense_layer_means_nothing():
    assert unread({**BY_TYPE["qwen3_moe"], "intermediate_size": 999}) == []


@pytest.mark.parametrize("key", ["moe_intermediate_size", "num_experts_per_tok"])
def test_experts_in_a_file_of_a_family_without_them_are_warned_of(key):
    (warning,) = unread({**LLAMA, "num_experts": 8, key: 2})

    assert "num_experts 8" in warning
    assert key in warning


@pytest.mark.parametrize("name", CASES)
def test_no_false_alarm_over_the_configs_of_transformers(name):
    assert unread(CASES[name]) == []


def test_no_false_alarm_over_the_catalog():
    alarms = {model.id: warning for model in models.all_models() for warning in model.warnings if "not read" in warning}

    assert alarms == {}


def test_every_door_says_so(tmp_path):
    """A file's warning stands in each answer about it, whatever is asked."""
    config = {**LLAMA, "architectures": ["LlamaForCausalLM"], "engram_hidden_size": 512}
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    model, on = str(file), "h100-sxm"
    said = [
        rooflight.model(model).warnings,
        rooflight.analyze(model, on).warnings,
        rooflight.sweep(model, on, {"batch": [1, 2]}).warnings,
        rooflight.compare(model, [on, "l4"]).warnings,
        rooflight.moves(model, on).assumptions,
        claimed(make_scenario(model, on), {"tpot_ms": 10.0}).notes,
    ]

    assert all(any("engram_hidden_size 512" in one for one in each) for each in said), said

"""From a parsed config to a Model: sections, names, defaults, dtypes, heads, refusals."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadConfig, UnknownName
from rooflight.values.model import Model
from rooflight.work import count

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 96,
    "vocab_size": 100,
    "torch_dtype": "bfloat16",
    "max_position_embeddings": 512,
}


def read(**changes: Any) -> Model:
    data = {**LLAMA, **changes}
    return model_from_dict({k: v for k, v in data.items() if v != "absent"}, id="test", origin="config.json")


def refusal(**changes: Any) -> BadConfig:
    with pytest.raises(BadConfig) as caught:
        read(**changes)
    assert caught.value.exit_status == 2
    return caught.value


def test_a_plain_decoder_is_read_without_remarks():
    """embedding and head 100 x 64, two layers of qkv 64 x 128, o 64 x 64, 3 x 64 x 96, two norms, and a final norm."""
    model = read()

    assert (model.assumptions, model.warnings) == ((), ())
    assert (model.type, model.architecture, model.dtype, model.max_context) == (
        "llama",
        "LlamaForCausalLM",
        "bf16",
        512,
    )
    assert count.parameters(model) == 2 * 100 * 64 + 2 * (64 * 128 + 64 * 64 + 3 * 64 * 96 + 2 * 64) + 64


REGISTERED = """
from importlib import import_module
from rooflight.catalog.config.registry import FAMILIES, READERS, TOWER_FAMILIES, TOWERS

for line in sorted({*FAMILIES.values(), *TOWER_FAMILIES.values()}):
    import_module(f"rooflight.catalog.config.{line}")
    for known, table in ((READERS, FAMILIES), (TOWERS, TOWER_FAMILIES)):
        assert known.keys() == {name for name, of in table.items() if of == line}, line
        known.clear()
"""


def test_each_line_reads_the_types_of_its_row_and_no_others():
    """The table decides which module is imported, so it must say what each one registers (in a fresh process)."""
    subprocess.run([sys.executable, "-c", REGISTERED], check=True)


@pytest.mark.parametrize(
    "model_type, architecture, found",
    [
        ("absent", "LlamaForCausalLM", "llama"),
        ("absent", "LLaMAForCausalLM", "llama"),
        ("LLaMA", "LlamaForCausalLM", "llama"),
        ("my-own-fork", "Qwen2ForCausalLM", "qwen2"),
        ("kimi_k2", "DeepseekV3ForCausalLM", "deepseek_v3"),
        ("stablelm_epoch", "StableLmForCausalLM", "stablelm"),
    ],
)
def test_names(model_type, architecture, found):
    more = {"kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "n_routed_experts": 4,
            "num_experts_per_tok": 2, "moe_intermediate_size": 16}  # fmt: skip
    model = read(model_type=model_type, architectures=[architecture], **more)

    assert model.type == found
    if model_type in ("absent", "my-own-fork"):
        assert any(architecture in note for note in model.assumptions), "reading by architecture is said"


def test_an_unknown_type_is_never_guessed():
    with pytest.raises(UnknownName) as caught:
        read(model_type="lama", architectures=["LamaForCausalLM"])

    assert "llama" in caught.value.try_this
    assert caught.value.exit_status == 2


def test_an_unknown_text_model_is_not_taken_for_what_its_wrapper_usually_holds():
    inner = {**LLAMA, "model_type": "brandnew", "architectures": None}
    with pytest.raises(UnknownName, match="brandnew"):
        model_from_dict({"model_type": "llava", "text_config": inner}, id="test", origin="config.json")


@pytest.mark.parametrize("section", ["text_config", "language_config", "llm_config"])
def test_a_text_section_is_found_and_errors_name_it(section):
    model = model_from_dict({"model_type": "some_vlm", section: LLAMA}, id="test", origin="config.json")
    broken = {**LLAMA, "hidden_size": None}

    assert model.hidden == 64
    assert model.layers == read().layers
    with pytest.raises(BadConfig) as caught:
        model_from_dict(
            {"model_type": "some_vlm", section: {**broken, "model_type": "olmo"}}, id="test", origin="c.json"
        )
    assert caught.value.where == f"c.json: {section}.hidden_size"


def test_thinkers_nest_twice():
    nested = {"model_type": "omni", "thinker_config": {"model_type": "omni_thinker", "text_config": LLAMA}}

    assert model_from_dict(nested, id="test", origin="config.json").hidden == 64


def test_what_a_nested_config_leaves_out_is_the_class_default_and_said():
    """LLaVA 1.5 as published names a vocabulary and little else; Gemma 3 leaves out its heads."""
    model = model_from_dict(
        {"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}}, id="t", origin="c.json"
    )
    gemma = model_from_dict(
        {
            "model_type": "gemma3",
            "text_config": {
                "model_type": "gemma3_text",
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "num_hidden_layers": 34,
                "sliding_window": 1024,
            },
        },
        id="google/gemma-3-4b-it",
        origin="c.json",
    )

    assert (model.hidden, model.vocab, model.layers[0].count) == (4096, 32064, 32)
    assert any("leaves out" in note and "hidden_size 4096" in note for note in model.assumptions)
    # 3,880,099,328 without the towers (Keras hub's preset, 262,144 rows); transformers' default has 64 rows more
    assert count.parameters(gemma) == 3_880_099_328 + 64 * 2560


def test_a_flat_config_must_name_its_sizes():
    assert "hidden_size is missing" in refusal(hidden_size=None).what
    assert "vocab_size is missing" in refusal(vocab_size=None).what


@pytest.mark.parametrize(
    "changes, dtype, said",
    [
        ({"torch_dtype": "float16"}, "fp16", False),
        ({"torch_dtype": "torch.float32"}, "fp32", False),
        ({"torch_dtype": None, "dtype": "bfloat16"}, "bf16", False),
        ({"torch_dtype": None}, "bf16", True),
        ({"torch_dtype": "auto"}, "bf16", True),
        ({"torch_dtype": "float8_e4m3fn"}, "bf16", True),
    ],
)
def test_dtype(changes, dtype, said):
    model = read(**changes)

    assert model.dtype == dtype
    assert bool(model.assumptions) == said


@pytest.mark.parametrize(
    "architecture, more, outputs",
    [
        ("LlamaModel", {}, None),
        ("LlamaForSequenceClassification", {"id2label": {"0": "a", "1": "b", "2": "c"}}, 3),
        ("LlamaForSequenceClassification", {}, 2),
        ("LlamaForRewardModel", {}, 1),
    ],
)
def test_models_without_a_vocabulary_head(architecture, more, outputs):
    model = read(architectures=[architecture], **more)

    assert (model.head.outputs if model.head else None) == outputs
    assert not model.tied
    assert model.assumptions


@pytest.mark.parametrize(
    "model_type", ["albert", "deberta-v2", "blenderbot", "t5gemma", "rwkv5", "clip_vision_model", "moonshine"]
)
def test_what_nobody_reads_is_refused_by_name(model_type):
    assert model_type in refusal(model_type=model_type).what


def test_encoder_decoders_of_unknown_types_too():
    assert "encoder-decoder" in refusal(model_type="new_translator", is_encoder_decoder=True).what


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"num_attention_heads": 5, "num_key_value_heads": 5}, "64 % num_attention_heads 5 != 0"),
        ({"num_key_value_heads": 3}, "cannot share 3"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is not"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is not"),
        ({"hidden_size": -64}, "hidden_size is not"),
        ({"hidden_size": 64.5}, "hidden_size is not"),
        ({"hidden_size": True}, "hidden_size is not"),
        ({"hidden_size": [64]}, "hidden_size is not"),
        ({"hidden_size": "--64"}, "hidden_size is not"),
        ({"hidden_size": "²"}, "hidden_size is not"),
        ({"hidden_size": "6" * 5000}, "hidden_size is not"),
        ({"tie_word_embeddings": "maybe"}, "tie_word_embeddings is not"),
        ({"text_config": {}, "model_type": 7}, "model_type is not"),
        ({"torch_dtype": 16}, "torch_dtype is not"),
        ({"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 4}, "at most the 2 experts"),
        ({"model_type": "gemma3_text", "layer_types": ["full_attention", "weird"]}, "layer_types is not"),
    ],
)
def test_bad_values_are_refused_with_key_and_value(changes, says):
    assert says in refusal(**changes).what or says in (refusal(**changes).want or "")


def test_a_number_in_a_string_may_have_blanks_about_it():
    assert read(hidden_size=" 64\x1f").hidden == 64


def test_a_missing_architecture_and_type():
    error = refusal(model_type="absent", architectures="absent")

    assert "neither model_type nor architectures" in error.what


@pytest.mark.parametrize(
    "changes, windows",
    [
        ({"model_type": "mistral"}, [4096, 4096]),  # the class default, said
        ({"model_type": "mistral", "sliding_window": None}, [None, None]),
        ({"model_type": "qwen2", "sliding_window": 8}, [None, None]),
        ({"model_type": "qwen2", "sliding_window": 8, "use_sliding_window": True, "max_window_layers": 1}, [None, 8]),
        ({"model_type": "gemma2", "sliding_window": 8}, [8, None]),
        (
            {"model_type": "gemma2", "sliding_window": 8, "layer_types": ["full_attention", "sliding_attention"]},
            [None, 8],
        ),
        ({"model_type": "llama", "sliding_window": 8}, [None, None]),
        ({"model_type": "exaone4", "sliding_window": 8, "sliding_window_pattern": "LG"}, [8, None]),
    ],
)
def test_windows(changes, windows):
    model = read(head_dim=16, **changes)
    got = [layer.mixer.reach.window for layer in model.layers for _ in range(layer.count)]

    assert got == windows


def test_draft_layers_are_named_and_not_counted():
    plain, drafted = read(), read(num_nextn_predict_layers=1)

    assert count.parameters(plain) == count.parameters(drafted)
    assert any("multi-token-prediction" in note for note in drafted.assumptions)


def test_towers_nobody_counts_are_named():
    model = model_from_dict(
        {"model_type": "some_vlm", "text_config": LLAMA, "vision_config": {"hidden_size": 8}, "audio_config": {"x": 1}},
        id="test",
        origin="config.json",
    )

    assert [(tower.name, tower.parameters) for tower in model.towers] == [("vision", None), ("audio", None)]
    assert len([note for note in model.assumptions if "not counted" in note]) == 2


def test_a_nas_model_has_layers_of_its_own_shapes():
    """Llama-Nemotron: a wide layer, one with a narrow feed-forward only (5.25 and 1.3125 x 2/3 of 8192, by 256)."""
    blocks = [
        {"attention": {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 5.25}},
        {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.3125}},
        {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}},
    ]
    model = read(
        model_type="nemotron-nas", hidden_size=8192, num_attention_heads=64, num_hidden_layers=3, block_configs=blocks
    )

    assert [layer.kind for layer in model.layers] == ["attention + dense", "dense", "linear map"]
    assert [layer.mlp[0].outputs for layer in model.layers if layer.mlp] == [2 * 28672, 2 * 7168]
    assert model.layers[0].mixer.kv_heads == 8

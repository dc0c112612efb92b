"""What a config may hold at most, and of what kind the entries of its lists are: refused while reading."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from rooflight.catalog import model_names
from rooflight.catalog.config import model_from_dict
from rooflight.catalog.config.fields import MOST_ENTRIES, Config
from rooflight.catalog.config.json_file import parse_object
from rooflight.errors import BadConfig, RooflightError

PLAIN = {
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "num_hidden_layers": 4,
    "intermediate_size": 96, "vocab_size": 100, "torch_dtype": "bfloat16",
}  # fmt: skip
_FILE = json.loads((Path(__file__).parent / "architectures.json").read_text(encoding="utf-8"))
SHAPES = {name: one["config"] for name, one in _FILE.items() if name}
# One list of a key of each kind, of wrong entries.
LISTS = [
    ("qwen3", "layer_types"), ("qwen3_moe", "mlp_only_layers"), ("llama4_text", "no_rope_layers"),
    ("llama4_text", "moe_layers"), ("gpt_neo", "attention_layers"), ("gpt_neo", "attention_types"),
    ("minimax", "attn_type_list"), ("nemotron-nas", "block_configs"), ("nemotron_h", "layers_block_type"),
    ("step3p5", "moe_layers_enum"), ("step3p5", "layer_types"), ("kimi_linear", "full_attn_layers"),
    ("recurrent_gemma", "block_types"), ("gemma3n_text", "intermediate_size"), ("deepseek_v4", "compress_ratios"),
    ("deepseek_v4", "layer_types"), ("glm_moe_dsa", "indexer_types"), ("glm_moe_dsa", "index_topk_pattern"),
    ("mimo_v2", "hybrid_layer_pattern"), ("deepseek_v3", "moe_layer_freq"), ("lfm2", "full_attn_idxs"),
    ("jamba", "layers_block_type"), ("qwen3_moe", "mlp_layer_types"), ("qwen3", "architectures"),
]  # fmt: skip
ENTRIES = [None, True, -1, 1.5, "²", "9" * 5000, [], [[]], {}, {"a": []}, 1 << 70, float("nan")]


def read(model_type: str, **changes: object) -> None:
    model_from_dict({**PLAIN, "model_type": model_type, **changes}, id="x", origin="config.json")


@pytest.mark.parametrize(("model_type", "key"), LISTS)
def test_entries_of_another_kind_are_refused_or_read(model_type, key):
    for entry in ENTRIES:
        for given in ([entry] * 4, [0, entry, 0, 0], ["full_attention", entry, entry, entry], [[entry, 4]], entry):
            try:
                read(model_type, **{key: given})
            except RooflightError as error:
                assert len(str(error)) < 2000


def test_every_architectures_lists_may_hold_anything():
    """The lists of the architectures' own configs, each entry put out of its kind in turn."""
    for name, config in SHAPES.items():
        for key, value in config.items():
            for entry in ENTRIES if isinstance(value, list) else ():
                try:
                    model_from_dict({**config, key: [entry, *value[1:]]}, id=name, origin="config.json")
                except RooflightError:
                    continue


def test_a_wrong_entry_is_named_by_its_place():
    with pytest.raises(BadConfig) as caught:
        read("qwen3", layer_types=["full_attention", "full_attention", 7, "full_attention"])

    assert caught.value.what == "layer_types is not a list of names"
    assert (caught.value.where, caught.value.got) == ("config.json: layer_types", "7 as entry 3")


def nested(levels: int) -> dict[str, object]:
    inner: dict[str, object] = {}
    for _ in range(levels):
        inner = {"text_config": inner}
    return inner


@pytest.mark.parametrize("levels", [100, 900, 50_000])
def test_what_is_nested_deeper_than_any_config_is_refused(levels):
    with pytest.raises(BadConfig, match="nested too deeply"):
        read("qwen3", **nested(levels))


@pytest.mark.parametrize(
    ("model_type", "changes", "said"),
    [
        ("qwen3", {"num_hidden_layers": 100_000}, "num_hidden_layers is not"),
        ("qwen3", {"num_hidden_layers": 10**9}, "num_hidden_layers is not"),
        ("qwen3", {"layer_types": ["x"] * (MOST_ENTRIES + 1)}, "at most 250,000 entries"),
        ("qwen3", {"model_type": "x" * 20_000}, "at most 10,000 characters"),
        ("nemotron_h", {"hybrid_override_pattern": "M" * 5_000}, "at most 1,024 layers"),
        ("nemotron_h", {"layers_block_type": ["mamba"] * 5_000}, "at most 1,024 layers"),
        ("qwen3_moe", {"num_experts": 1 << 41}, "num_experts is not"),
    ],
)
def test_a_size_beyond_all_models_is_refused(model_type, changes, said):
    with pytest.raises(BadConfig, match=said):
        read(**{"model_type": model_type, **changes})


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("facebook/bart-base", "encoder_layers"), ("facebook/bart-base", "decoder_layers"),
        ("openai/whisper-tiny", "encoder_layers"), ("google-t5/t5-small", "num_decoder_layers"),
    ],
)  # fmt: skip
def test_an_encoder_decoder_of_endless_layers_is_refused_before_they_are_made(name, key):
    (stem,) = model_names.matching(name)
    document = tomllib.loads((model_names.FOLDER / f"{stem}.toml").read_text(encoding="utf-8"))

    with pytest.raises(BadConfig, match=f"{key} is not"):
        model_from_dict({**document["config"], key: 1 << 31}, id="x", origin="x")


def test_repeats_of_layer_kinds_stop_at_the_layers():
    read("gpt_neo", max_position_embeddings=64, attention_types=[[["global", "local"], 10**12]])


def test_an_error_shows_the_front_of_a_value_however_large():
    error = Config({}, origin="config.json").bad("key", [["x" * 10_000] * 10_000] * 10_000, "small")

    assert error.got == "[['" + "x" * 74 + "..."


def test_of_thousands_of_like_warnings_a_hundred_are_kept():
    modules = {f"model.layers.{number % 4}.x{number}": None for number in range(5_000)}
    model = model_from_dict(
        {**PLAIN, "model_type": "qwen3", "quantization": {"bits": 4, "group_size": 32, **modules}},
        id="x",
        origin="config.json",
    )

    assert len(model.warnings) == 100 + 1
    assert "there is more" in model.warnings[-1]


def test_thousands_of_keys_that_occur_twice_are_all_found():
    text = ",".join(f'"k{number}": 1, "k{number}": 2' for number in range(50_000))
    data, warnings = parse_object(f"{{{text}}}".encode(), "config.json")

    assert data["k49999"] == 2
    assert len(warnings) == 50_000

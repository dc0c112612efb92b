"""Vision and audio towers: counts against real modules, and what happens where a tower is not counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rooflight.catalog.config import model_from_dict
from rooflight.catalog.models import load
from rooflight.errors import BadConfig
from rooflight.values.model import Model
from rooflight.work.count import parameters

WITNESS = json.loads((Path(__file__).parent / "unusual.json").read_text())["models"]
LLAMA = {
    "model_type": "llama", "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 2,
    "num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 512,
}  # fmt: skip


def read(config: dict[str, object], name: str = "test") -> Model:
    return model_from_dict(config, id=name, origin=f"{name}.json")


@pytest.mark.parametrize("name", [name for name, witness in WITNESS.items() if "towers" in witness])
def test_towers_equal_the_real_modules(name):
    """Encoder and projector together, vision and audio together."""
    towers = read(WITNESS[name]["config"], name).towers

    assert sum(tower.parameters for tower in towers) == WITNESS[name]["towers"]


def test_clip_by_hand():
    """CLIP-L/14 at 336: what every LLaVA 1.5 carries, 303,507,456 parameters, and a projector of two matrices."""
    hidden, width, layers = 1024, 4096, 24
    layer = 4 * (hidden + 1) * hidden + (hidden + 1) * width + (width + 1) * hidden + 4 * hidden
    positions = 1 + (336 // 14) ** 2
    encoder = hidden + 3 * 14 * 14 * hidden + positions * hidden + 4 * hidden + layers * layer
    projector = (hidden + 1) * 96 + (96 + 1) * 96
    vision = {
        "model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
        "image_size": 336, "patch_size": 14,
    }  # fmt: skip
    model = read({"model_type": "llava", "text_config": LLAMA, "vision_config": vision})

    assert encoder == 303_507_456
    assert model.towers[0].parameters == encoder + projector


def test_a_tower_named_by_its_repository():
    """The first LLaVA repositories name the encoder instead of describing it."""
    flat = {**LLAMA, "model_type": "llava", "mm_vision_tower": "openai/clip-vit-large-patch14-336"}

    assert read(flat).towers[0].parameters == 303_507_456 + (1024 + 1) * 96 + (96 + 1) * 96


def test_a_tower_of_another_build_is_named_not_guessed():
    """No count, and a note that says what is missing."""
    flat = {**LLAMA, "model_type": "llava", "mm_vision_tower": "someone/an-encoder"}
    model = read(flat)

    assert model.towers[0].parameters is None
    assert any("someone/an-encoder" in note for note in model.assumptions)


def test_a_missing_section_means_the_defaults_and_is_noted():
    """A Llama 4 file without vision_config still comes with a vision tower."""
    config = {key: value for key, value in WITNESS["llama4"]["config"].items() if key != "vision_config"}
    model = read(config)

    assert model.towers[0].parameters is not None
    assert any("vision_config" in note for note in model.assumptions)


def test_text_only_files_of_a_multimodal_type_have_no_tower():
    """gemma3 and ministral3 without a vision section are text models."""
    config = {key: value for key, value in WITNESS["gemma3_head"]["config"].items() if key != "vision_config"}

    assert read(config).towers == ()


def test_nonsense_in_a_tower_names_the_key():
    config = WITNESS["qwen3_vl_moe"]["config"]

    with pytest.raises(BadConfig, match="depth"):
        read({**config, "vision_config": {**config["vision_config"], "depth": "many"}})


@pytest.mark.parametrize(
    ("name", "published"), [("google/gemma-3-4b-it", 4_300_079_472), ("google/gemma-3-12b-it", 12_187_325_040)]
)
def test_gemma_3_with_its_tower_comes_to_the_published_safetensors_total(name, published):
    model = load(name)

    assert parameters(model) + sum(tower.parameters or 0 for tower in model.towers) == published


def test_voxtral_hears_with_the_encoder_of_whisper_large_and_two_matrices():
    """Convolutions 128 x 3 -> 1280 -> 1280, 1,500 positions, 32 layers without biases of keys, a last norm."""
    layer = 4 * 1280**2 + 3 * 1280 + 2 * 1280 * 5120 + 5120 + 1280 + 2 * 2 * 1280
    whisper = 3 * 128 * 1280 + 1280 + 3 * 1280**2 + 1280 + 1500 * 1280 + 32 * layer + 2 * 1280
    (tower,) = load("mistralai/Voxtral-Mini-3B-2507").towers

    assert whisper == 636_968_960
    assert tower.parameters == whisper + 4 * 1280 * 3072 + 3072**2


def test_the_encoder_of_whisper_under_a_language_model_is_the_one_of_whisper():
    whisper = load("openai/whisper-large-v3")
    decoder = 51866 * 1280 + 448 * 1280 + 2 * 1280  # table, positions, last norm
    decoder += 32 * (2 * (4 * 1280**2 + 3 * 1280) + 2 * 1280 * 5120 + 5120 + 1280 + 3 * 2 * 1280)

    assert parameters(whisper) - decoder == 636_968_960


def test_qwen2_audio_has_one_matrix_behind_its_encoder():
    text = {"model_type": "qwen2", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "vocab_size": 156032}  # fmt: skip
    config = {"model_type": "qwen2_audio", "audio_config": {"model_type": "qwen2_audio_encoder"}, "text_config": text}
    (tower,) = model_from_dict(config, id="x", origin="x").towers

    assert tower.parameters == 636_968_960 + 1280 * 4096 + 4096


@pytest.mark.parametrize("image", [1, 7, 13])
def test_a_tower_whose_crops_hold_no_token_has_no_rule(image):
    """A patch is 14 pixels a side: an image of 7 has none, and nothing is divided by their number."""
    config = {
        "model_type": "gemma3", "text_config": {**LLAMA, "model_type": "gemma3_text", "head_dim": 16},
        "vision_config": {"model_type": "siglip_vision_model", "image_size": image, "patch_size": 14},
    }  # fmt: skip
    (tower,) = model_from_dict(config, id="x", origin="x").towers

    assert tower.processor is None

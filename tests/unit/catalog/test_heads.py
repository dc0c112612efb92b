"""Which checkpoints end in a vocabulary head: judged by the text model inside, whatever the wrapper is called."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from rooflight.catalog import models
from rooflight.catalog.config import model_from_dict
from rooflight.catalog.config.heads import as_named
from rooflight.values.model import Model
from rooflight.work import count

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 96,
    "vocab_size": 100,
    "torch_dtype": "bfloat16",
}
GENERATES = ["LlamaForCausalLM"]


def wrapped(
    outer: str, inner: list[str] | None, *, model_type: str = "some_vlm", section: str = "text_config"
) -> Model:
    text: dict[str, Any] = {**LLAMA, "architectures": inner}
    data = {"model_type": model_type, "architectures": [outer], section: text}
    return model_from_dict(data, id="test", origin="config.json")


@pytest.mark.parametrize(
    "outer, section",
    [
        ("InternVLChatModel", "llm_config"),
        ("SkyworkR1VChatModel", "llm_config"),
        ("H2OVLChatModel", "llm_config"),
        ("NVLM_D_Model", "llm_config"),
        ("LlavaModel", "text_config"),
        ("UltravoxModel", "text_config"),
        ("SomethingNewModel", "language_config"),
        ("SomethingNewForConditionalGeneration", "text_config"),
    ],
)
def test_a_wrapper_around_a_generating_model_keeps_the_head(outer, section):
    model = wrapped(outer, GENERATES, section=section)

    assert model.head is not None
    assert model.head.outputs == 100
    assert not any("vocabulary head" in note for note in model.assumptions)


@pytest.mark.parametrize(
    "outer, model_type, has_head",
    [
        ("InternVLChatModel", "internvl_chat", True),
        ("LlavaForConditionalGeneration", "llava", True),
        ("Qwen2VLModel", "qwen2_vl", False),  # the base class of transformers: hidden states
        ("InternVLModel", "internvl", False),
        ("UltravoxModel", "ultravox", True),  # named like such a base, and generates
        ("MiDashengLMModel", "midashenglm", True),
        ("SkyworkVLModel", "skywork_chat", True),
    ],
)
def test_where_the_section_names_no_class_the_wrapper_decides(outer, model_type, has_head):
    assert (wrapped(outer, None, model_type=model_type).head is not None) == has_head


@pytest.mark.parametrize(
    "outer",
    ["NVEmbedModel", "JinaEmbeddingsV4Model", "ColPaliForRetrieval", "ColQwen2_5", "LlamaNemotronVLEmbeddingModel"],
)
def test_a_wrapper_that_embeds_has_no_head_though_its_text_model_is_a_generating_one(outer):
    assert wrapped(outer, GENERATES).head is None


def test_a_wrapper_that_scores_has_a_score_in_place_of_the_head():
    model = wrapped("SomeVLForSequenceClassification", GENERATES)

    assert model.head is not None
    assert (model.head.name, model.head.outputs) == ("score", 2)


def test_an_embedder_of_a_text_model_without_a_head_of_its_own():
    assert wrapped("SomethingNewModel", ["LlamaModel"]).head is None


@pytest.mark.parametrize(
    "id, has_head",
    [
        ("Qwen/Qwen3-Embedding-8B", False),
        ("nvidia/llama-embed-nemotron-8b", False),
        ("some/Tiny_Embeddings", False),
        ("embedding/llama-8b", True),  # the folder says nothing of the model
        ("meta/embedded-llama", True),
    ],
)
def test_a_decoder_named_an_embedder_keeps_no_head(id, has_head):
    model = as_named(model_from_dict({**LLAMA, "architectures": GENERATES}, id=id, origin="config.json"))

    assert (model.head is not None) == has_head
    assert any("embeddings" in note for note in model.assumptions) != has_head


def test_qwen3_embedding_has_the_published_size():
    """7,567,295,488: Qwen3-8B's 8,190,735,360 with 270 rows less of table and head, less the head of 151,665 rows."""
    rows = 151_936 - 151_665

    assert count.parameters(models.load("Qwen/Qwen3-Embedding-8B")) == 8_190_735_360 - 2 * rows * 4096 - 151_665 * 4096


@pytest.mark.parametrize("name", ["my-embeddings-test", "llama-embed"])
def test_what_somebody_calls_a_file_says_nothing_of_its_head(name, tmp_path):
    (tmp_path / name).mkdir()
    raw = json.dumps({**LLAMA, "architectures": GENERATES, "tie_word_embeddings": False})
    for file in (tmp_path / name / "config.json", tmp_path / f"{name}.json"):
        file.write_text(raw)
        assert models.load(file).head is not None
    assert models.load(tmp_path / name).head is not None


def test_a_head_that_a_weight_file_holds_is_there():
    model = model_from_dict(
        {**LLAMA, "architectures": GENERATES, "tie_word_embeddings": False}, id="a/b-embedding", origin=""
    )
    held = msgspec.structs.replace(model, head=msgspec.structs.replace(model.head, stored_bytes=2 * 64 * 100))

    assert as_named(model).head is None
    assert as_named(held) is held

"""Encoders, counted on paper: what each type's parameters are, and that nothing of them is cached."""

from __future__ import annotations

import json

import pytest

from rooflight.catalog import models
from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadConfig
from rooflight.values.model import Attention
from rooflight.work import count

BERT = {
    "model_type": "bert", "architectures": ["BertModel"], "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512,
    "type_vocab_size": 2, "torch_dtype": "float32",
}  # fmt: skip


def read(**changes):
    data = {key: value for key, value in {**BERT, **changes}.items() if value != "absent"}
    return model_from_dict(data, id="test", origin="config.json")


def layer(hidden: int, width: int) -> int:
    """Four square matrices and two of the feed-forward, all with biases; two norms of weight and bias."""
    return 4 * (hidden * hidden + hidden) + 2 * hidden * width + width + hidden + 2 * 2 * hidden


def tables(rows: int, hidden: int) -> int:
    """The input tables, and the norm behind them."""
    return rows * hidden + 2 * hidden


def square(hidden: int) -> int:
    return hidden * hidden + hidden


def test_bert_base_with_its_pooler():
    """Words, 512 positions and 2 types; 12 layers; the pooler. The head for masked words is not counted."""
    expected = tables(30522 + 512 + 2, 768) + 12 * layer(768, 3072) + square(768)

    assert count.parameters(read()) == expected == 109_482_240
    masked = read(architectures=["BertForMaskedLM"])
    assert count.parameters(masked) == expected
    assert any("masked words" in note for note in masked.assumptions)


# published: parameters of the models' cards, or of Keras's presets (keras_nlp 2023) where the comment says so
WRITTEN_OUT = {
    "bert-large": tables(30522 + 512 + 2, 1024) + 24 * layer(1024, 4096) + square(1024),  # 335,141,888
    "bge-small-en-v1.5": tables(30522 + 512 + 2, 384) + 12 * layer(384, 1536) + square(384),  # 33.4 M
    "all-MiniLM-L6-v2": tables(30522 + 512 + 2, 384) + 6 * layer(384, 1536) + square(384),  # 22.7 M
    # MPNet: no types, one table of 32 relative positions for 12 heads
    "all-mpnet-base-v2": tables(30527 + 514, 768) + 12 * layer(768, 3072) + square(768) + 32 * 12,
    # DistilBERT: neither types nor pooler
    "distilbert-base-uncased": tables(30522 + 512, 768) + 6 * layer(768, 3072),
    "roberta-base": tables(50265 + 514 + 1, 768) + 12 * layer(768, 3072) + square(768),
    "xlm-roberta-base": tables(250002 + 514 + 1, 768) + 12 * layer(768, 3072) + square(768),
    "xlm-roberta-large": tables(250002 + 514 + 1, 1024) + 24 * layer(1024, 4096) + square(1024),
    "bge-m3": tables(250002 + 8194 + 1, 1024) + 24 * layer(1024, 4096) + square(1024),
    # a reranker: a matrix of its own and one output, in place of the pooler
    "bge-reranker-v2-m3": tables(250002 + 8194 + 1, 1024) + 24 * layer(1024, 4096) + square(1024) + 1024 + 1,
    # a reranker of BERT: pooler and one output
    "ms-marco-MiniLM-L6-v2": tables(30522 + 512 + 2, 384) + 6 * layer(384, 1536) + square(384) + 384 + 1,
}
PUBLISHED = {
    "bert-large": 335_141_888, "all-mpnet-base-v2": 109_486_464, "distilbert-base-uncased": 66_362_880,
    "roberta-base": 124_645_632, "xlm-roberta-base": 278_043_648, "xlm-roberta-large": 559_890_432,
    "bge-m3": 567_754_752, "bge-reranker-v2-m3": 567_755_777, "all-MiniLM-L6-v2": 22_713_216,
    "ModernBERT-base": 149_014_272, "nomic-embed-text-v1.5": 136_731_648,
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_parameters_equal_the_arithmetic(name):
    assert count.parameters(models.load(name)) == WRITTEN_OUT[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_equal_those_published(name):
    assert count.parameters(models.load(name)) == PUBLISHED[name]


def test_modernbert():
    """Gated feed-forwards, no bias; a norm weight in front of each half but the first, which the tables' stands for."""
    matrices = 768 * 3 * 768 + 768 * 768 + 768 * 2 * 1152 + 1152 * 768
    expected = 50368 * 768 + 768 + 22 * (matrices + 2 * 768) - 768 + 768
    model = models.load("ModernBERT-base")
    reaches = [one.mixer.reach for one in model.layers for _ in range(one.count) if isinstance(one.mixer, Attention)]

    assert count.parameters(model) == expected
    # layers 0, 3, 6 ... 21 see everything; the others 64 on each side, that is less than 65 away
    assert sorted(reach.window or 0 for reach in reaches) == [0] * 8 + [65] * 14
    assert all(reach.both for reach in reaches)


def test_nomic_has_types_but_no_positions_and_no_biases():
    matrices = 768 * 3 * 768 + 768 * 768 + 768 * 2 * 3072 + 3072 * 768
    expected = tables(30528 + 2, 768) + 12 * (matrices + 2 * 2 * 768)

    assert count.parameters(models.load("nomic-embed-text")) == expected


def test_gates_without_bias():
    """Jina v2 and GTE's second generation: the gate has no bias, the way back has; Jina has a pooler."""
    block = 4 * square(768) + 768 * 2 * 3072 + 3072 * 768 + 768 + 2 * 2 * 768

    jina = tables(30528 + 2, 768) + 12 * block + square(768)
    assert count.parameters(models.load("jina-embeddings-v2-base-en")) == jina
    assert count.parameters(models.load("gte-multilingual-base")) == tables(250048 + 1, 768) + 12 * block


def test_eurobert_is_a_llama_that_looks_both_ways():
    model = read(
        model_type="eurobert", architectures=["EuroBertModel"], num_key_value_heads=4, max_position_embeddings=8192
    )
    matrices = 768 * (768 + 2 * 4 * 64) + 768 * 768 + 3 * 768 * 3072

    assert count.parameters(model) == 30522 * 768 + 12 * (matrices + 2 * 768) + 768
    assert count.is_encoder(model)


def test_electra_may_have_narrow_tables():
    model = read(model_type="electra", architectures=["ElectraModel"], embedding_size=128, hidden_size=256,
                 num_attention_heads=4, intermediate_size=1024)  # fmt: skip

    assert count.parameters(model) == tables(30522 + 512 + 2, 128) + 128 * 256 + 256 + 12 * layer(256, 1024)


@pytest.mark.parametrize("name", ["bert-base", "ModernBERT-base", "bge-m3", "nomic-embed-text"])
def test_nothing_is_cached_and_no_token_put_out(name):
    model = models.load(name)

    assert count.is_encoder(model)
    assert count.kv_bytes_per_token(model) == count.window_kv_bytes_per_token(model) == 0
    assert not count.puts_out_tokens(model)


@pytest.mark.parametrize(
    "model_type, rows, longest", [("bert", 512, 512), ("roberta", 514, 512), ("xlm-roberta", 8194, 8192)]
)
def test_two_rows_of_roberta_s_positions_are_no_token_s(model_type, rows, longest):
    assert read(model_type=model_type, max_position_embeddings=rows).max_context == longest


@pytest.mark.parametrize(
    "architecture, labels, outputs",
    [("BertForSequenceClassification", {"0": "a"}, 1), ("BertForSequenceClassification", None, 2)],
)
def test_classifiers_have_their_outputs(architecture, labels, outputs):
    model = read(architectures=[architecture], id2label=labels)

    assert model.head is not None
    assert (model.head.name, model.head.outputs) == ("score", outputs)
    assert any("scores a sequence" in note for note in model.assumptions)


def test_labels_of_each_token_run_on_each():
    model = read(architectures=["BertForTokenClassification"], num_labels=9)

    assert model.head is None
    assert [(one.name, one.outputs) for one in model.outside] == [("score", 9)]


def test_routed_experts_in_nomic_s_are_refused():
    with pytest.raises(BadConfig, match="routed experts"):
        read(model_type="nomic_bert", n_embd=768, n_head=12, n_layer=12, n_inner=3072, num_experts=8)


def test_a_checkpoint_is_sized_by_its_config(tmp_path):
    """Names in an encoder's files are not matched to the plan; the answer says so."""
    (tmp_path / "config.json").write_text(json.dumps(BERT))
    header = {"embeddings.word_embeddings.weight": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}}
    raw = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(len(raw).to_bytes(8, "little") + raw + bytes(64))
    model = models.load(str(tmp_path))

    assert count.parameters(model) == 109_482_240
    assert any("sized by the config" in note for note in model.assumptions)


def test_an_encoder_run_as_a_decoder_is_refused():
    with pytest.raises(BadConfig, match="run as a decoder"):
        read(is_decoder=True)

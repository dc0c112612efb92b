"""Model types of 2026: parameters against published counts, or the arithmetic of the published code written out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rooflight.catalog import models
from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadConfig
from rooflight.values.model import LatentAttention
from rooflight.work import count

WITNESS = json.loads((Path(__file__).parent / "unusual.json").read_text("utf-8"))["models"]


def read(config):
    return model_from_dict(config, id="test", origin="test.json")


BY_HAND = {
    # the count that the hub shows of its safetensors
    "XHToken/Spark-X2.5-4B": 4_112_079_360,
    # embedding and head, 34 x (q, k, v, o with biases, gate, up and down, two norms), last norm
    "FreedomIntelligence/openPangu-Embedded-7B": 2 * 153376 * 4096
    + 34 * (4096 * (32 + 2 * 8) * 128 + 48 * 128 + 4096 * 4096 + 4096 + 3 * 4096 * 12800 + 2 * 4096)
    + 4096,
    # embedding with 128 more rows, head, 28 x (biased q, k, v, o, gate, up and down, two norms), last norm
    "allenai/Molmo-7B-D-0924": (2 * 152064 + 128) * 3584
    + 28 * (3584 * 4608 + 4608 + 3584 * 3584 + 3 * 3584 * 18944 + 2 * 3584)
    + 3584,
    # 12 full layers of 48 heads, 36 sliding ones of 72: q, k, v, o, a gate a head, two norms of 128;
    # one dense layer, 47 of a router with its correction, 256 experts and a shared one; two norms a layer
    "poolside/Laguna-S-2.1": 2 * 100352 * 3072
    + sum(n * (3072 * (2 * q * 128 + 2 * 8 * 128) + 3072 * q + 2 * 128) for n, q in ((12, 48), (36, 72)))
    + 3 * 3072 * 12288
    + 47 * (256 * 3072 + 256 + 257 * 3 * 3072 * 1024)
    + 48 * 2 * 3072
    + 3072,
    # q, gate, k and v, o; gate, up and down; four norms; the norms of queries and keys and the last one have no weights
    "meta-models/Muse-Glimmer-30B": 2 * 202048 * 6656
    + 52 * (6656 * (2 * 4096 + 2 * 2 * 128) + 4096 * 6656 + 3 * 6656 * 19968 + 4 * 6656)
    + 6656,
    # printed by llama.cpp as 8.79 B: a head of its own
    "ibm-granite/granite-4.1-8b": 2 * 100352 * 4096
    + 40 * (4096 * 48 * 128 + 4096 * 4096 + 3 * 4096 * 12800 + 2 * 4096)
    + 4096,
    # as keras-hub prints it (gemma3_12b_text)
    "google/gemma-3-12b-it": 11_765_788_416 + 64 * 3840,
    "google/gemma-3-4b-it": 3_880_099_328 + 64 * 2560,
    # the count in the tensor list of Devstral-Small-2507, whose text model it is
    "mistralai/Mistral-Small-3.1-24B-Instruct-2503": 23_572_403_200,
    "HuggingFaceTB/SmolLM3-3B": 3_075_098_624,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_parameters_are_the_published_ones_or_the_arithmetic(name):
    assert count.parameters(models.load(name)) == BY_HAND[name]


@pytest.mark.parametrize("name", ["muse_glimmer_text", "glm5_next"])
def test_encoders_equal_the_real_modules(name):
    (tower,) = read(WITNESS[name]["config"]).towers

    assert tower.parameters == WITNESS[name]["towers"]


def test_a_pooled_indexer_keeps_one_key_of_sixteen_tokens():
    """GLM-5.3-Flash: an indexer's key of 128 elements stands for 16 tokens: 8 a token, beside its latent of 512."""
    model = models.load("zai-org/GLM-5.3-Flash")
    sparse = [layer for layer in model.layers if isinstance(layer.mixer, LatentAttention)]

    assert {layer.mixer.indexer.key_dim for layer in sparse} == {128 // 16}
    assert sum(layer.count for layer in sparse) == 45 // 4
    # 11 latent layers, bf16; the others keep a state that does not grow
    assert count.kv_bytes_per_token(model) == 11 * (512 + 0 + 8) * 2


def test_sliding_layers_of_laguna_have_more_query_heads():
    model = models.load("laguna-xs-2.1")

    assert {(layer.mixer.reach.window, layer.mixer.heads, layer.mixer.kv_heads) for layer in model.layers} == {
        (None, 48, 8),
        (512, 64, 8),
    }


@pytest.mark.parametrize("heads", [[6, 8, 8, 8, 7], [6, 8, 8, 8, 0], [6, 8]])
def test_odd_head_counts_are_refused(heads):
    config = {**WITNESS["laguna"]["config"], "num_attention_heads_per_layer": heads}

    with pytest.raises(BadConfig, match="num_attention_heads_per_layer"):
        read(config)


def test_gates_of_spark_are_one_a_head():
    """16 heads of 256 and 4 K/V heads: q, k and v make 6,144 outputs, the gates 16 more."""
    layer = models.load("spark-x2.5-4b").layers[0]

    assert layer.projections[0].outputs == (16 + 2 * 4) * 256 + 16

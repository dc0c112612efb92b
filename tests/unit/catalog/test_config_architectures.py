"""The tables of families against modules that transformers really builds, on shrunk configs of odd sizes.

architectures.json holds each config with what transformers makes of it: parameters, K/V elements cached a token,
FLOP of a 128-token prefill with the lm_head on every position and attention over the whole square.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from rooflight.catalog.config import model_from_dict
from rooflight.errors import RooflightError
from rooflight.values.model import Attention, LatentAttention, Linear, Model
from rooflight.work import count

TOKENS = 128
CASES: dict[str, Any] = {
    name: case
    for name, case in json.loads((Path(__file__).parent / "architectures.json").read_text(encoding="utf-8")).items()
    if name
}
# transformers gives the zero experts of LongCat an input matrix that no checkpoint has and nothing uses:
# 7 layers x 4 experts x (gate and up of 40) x 96.
UNUSED = {"longcat_flash": 7 * 4 * 2 * 40 * 96}
# transformers caches GPT-Neo's local layers whole, and Falcon's K/V heads once a query head.
OTHER_CACHE = ("gpt_neo/", "falcon/new")


def read(name: str) -> Model:
    return model_from_dict(CASES[name]["config"], id=name, origin=name)


def products(linear: Linear) -> int:
    """2 M K N of one matrix, whose bias is no product."""
    return 2 * TOKENS * linear.inputs * linear.outputs // linear.groups


def prefill_flop(model: Model) -> int:
    """All matrices over all tokens (the chosen experts only), scores and weighted values over the whole square."""
    total = sum(map(products, model.outside)) + products(model.head)
    for layer in model.layers:
        flop = sum(map(products, (*layer.projections, *layer.mlp)))
        if layer.experts is not None:
            flop += products(layer.experts.router) + layer.experts.chosen * sum(map(products, layer.experts.linears))
        mixer = layer.mixer
        if isinstance(mixer, Attention):
            flop += 2 * TOKENS**2 * mixer.heads * (mixer.head_dim + mixer.value_dim)
        elif isinstance(mixer, LatentAttention):
            flop += 2 * TOKENS**2 * mixer.heads * (mixer.nope_dim + mixer.rope_dim + mixer.value_dim)
            if mixer.indexer is not None:  # scores of the indexer, and the product that weighs its heads
                flop += 2 * TOKENS**2 * mixer.indexer.heads * (mixer.indexer.head_dim + 1)
        total += layer.count * flop
    return total


@pytest.mark.parametrize("name", CASES)
def test_parameters(name):
    assert count.parameters(read(name)) == CASES[name]["parameters"] - UNUSED.get(name.partition("/")[0], 0)


# OTHER_CACHE: transformers caches these otherwise than engines do.
CACHED = [name for name in CASES if "kv_elements" in CASES[name] and not name.startswith(OTHER_CACHE)]


@pytest.mark.parametrize("name", CACHED)
def test_cached_elements(name):
    model = read(name)

    assert count.kv_bytes_per_token(model, 1) == CASES[name]["kv_elements"]
    assert count.window_kv_bytes_per_token(model, 1) == CASES[name]["window_kv_elements"]


def only_attention(model: Model) -> bool:
    return all(isinstance(layer.mixer, Attention | LatentAttention) for layer in model.layers)


@pytest.mark.parametrize("name", [n for n in CASES if "flop_128" in CASES[n] and only_attention(read(n))])
def test_prefill_flop(name):
    assert prefill_flop(read(name)) == CASES[name]["flop_128"]


def test_layers_stay_in_first_appearance_order_and_add_up():
    model = read("gpt_oss/types")

    assert [(layer.count, layer.kind) for layer in model.layers] == [
        (3, "attention + MoE"),
        (4, "sliding attention + MoE"),
    ]


JUNK = st.sampled_from(
    [None, True, False, 0, -1, 1, 3, 7, 1.5, float("nan"), float("inf"), 2**60, "", "x", "3", "false",
     [], {}, [1], ["a"], [None], [[1]], {"a": 1}]
)  # fmt: skip


@settings(max_examples=examples(300), deadline=None)
@given(name=st.sampled_from(sorted(CASES)), pick=st.integers(0, 99), value=JUNK, extra=st.booleans())
def test_a_key_gone_wrong_is_refused_in_words_or_read(name, pick, value, extra):
    """Whatever stands under one key, the answer is a Model that counts or an error of ours, never a crash."""
    config = dict(CASES[name]["config"])
    keys = [*config, "layer_types", "mlp_layer_types", "quantization_config", "architectures", "text_config"]
    config[keys[pick % len(keys if extra else config)]] = value
    try:
        model = model_from_dict(config, id=name, origin=name)
    except RooflightError as error:
        assert str(error)
    else:
        assert 0 < count.active_parameters(model) <= count.parameters(model)
        assert count.weight_bytes(model) > 0

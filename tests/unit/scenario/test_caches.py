"""Keys and values cached in formats of their own."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.errors import BadInput, UnknownName
from rooflight.scenario.caches import cache_of
from rooflight.values.deployment import Deployment

# Llama-3.1-8B: 32 layers, 8 KV heads of 128, keys as wide as values.
ELEMENTS = 32 * 8 * 128


def bytes_per_token(model: str, **fields: str) -> float:
    return rooflight.analyze(model, on="h100-sxm", **fields).model.kv_bytes_per_token


@pytest.mark.parametrize(
    "fields",
    [
        {"kv_cache": "q8_0/q4_0"},
        {"kv_cache": "q8_0,q4_0"},
        {"cache_type_k": "q8_0", "cache_type_v": "q4_0"},
        {"kv_cache": "q8_0", "cache_type_v": "q4_0"},
        {"kv_cache": "q4_0", "cache_type_k": "Q8_0"},
    ],
)
def test_keys_and_values_apart(fields):
    """8.5 bits of keys and 4.5 of values."""
    assert bytes_per_token("llama-3.1-8b", **fields) == ELEMENTS * (8.5 + 4.5) / 8


def test_one_format_is_both():
    assert bytes_per_token("llama-3.1-8b", kv_cache="q8_0/q8_0") == bytes_per_token("llama-3.1-8b", kv_cache="q8_0")
    assert bytes_per_token("llama-3.1-8b", cache_type_k="f16", cache_type_v="f16") == ELEMENTS * 2 * 2


def test_values_alone_narrow_half_of_the_cache():
    assert bytes_per_token("llama-3.1-8b", cache_type_v="fp8") == ELEMENTS * (2 + 1)


def test_a_latent_is_kept_as_keys():
    """DeepSeek-V3 caches 512 + 64 elements a layer, and no values."""
    assert bytes_per_token("deepseek-v3", kv_cache="q8_0/q4_0") == 61 * 576 * 8.5 / 8


def test_the_pair_is_named_and_attention_stays_wide():
    answer = rooflight.analyze("llama-3.1-8b", on="h100-sxm", kv_cache="fp8/bf16")

    assert answer.deployment["kv_cache"] == "fp8/bf16"
    assert cache_of(Deployment(kv_cache="fp8/bf16"), "bf16").compute == "bf16"
    assert cache_of(Deployment(kv_cache="fp8"), "bf16").compute == "fp8"


def test_formats_no_cache_has_are_refused_at_their_field():
    for fields, where in (({"cache_type_k": "q2_k"}, "cache_type_k"), ({"kv_cache": "q8_0/awq"}, "kv_cache")):
        with pytest.raises(BadInput) as caught:
            bytes_per_token("llama-3.1-8b", **fields)
        assert where in str(caught.value.where)
    with pytest.raises(UnknownName):
        bytes_per_token("llama-3.1-8b", cache_type_v="q9")

"""Rows in the words of their engines, made plain."""

from __future__ import annotations

import pytest

from rooflight.answers.check.wording import format_open, plain
from rooflight.ingest.rows import measurement
from rooflight.values.formats import element_bits, format_named


def row(**more):
    cells = {"model": "m", "accelerator": "h100-sxm", "metric": "tpot_ms", "value": 1, "phase": "decode"}
    return measurement(cells | more)


@pytest.mark.parametrize(
    "name, bits",
    [
        ("mlx-mxfp4", 4 + 8 / 32),
        ("mlx-nvfp4", 4 + 8 / 16),
        ("mlx-mxfp8", 8 + 8 / 32),
        ("mlx-4bit-dwq", 4 + 32 / 64),  # distilled, stored as ever: a 16-bit scale and bias a group of 64
        ("turboquant-3.5bit", 3.5),
    ],
)
def test_bits_are_those_of_the_blocks(name, bits):
    assert element_bits(format_named(name)) == bits


def test_groups_of_an_engine_of_macs_are_its_own_format_and_others_stay():
    assert plain(row(engine="mlx-lm", weights="int4-g64"))[0].weights == "mlx-4bit-g64"
    assert plain(row(engine="vllm", weights="int4-g64"))[0].weights == "int4-g64"


@pytest.mark.parametrize(
    "said, cache", [("kv4", "mlx-4bit-g64"), ("kv-q8+reuse", "mlx-8bit-g64"), ("cache32k", None), ("fp8", "fp8")]
)
def test_a_cache_is_read_by_its_format_alone(said, cache):
    assert plain(row(kv_cache=said))[0].kv_cache == cache


def test_a_format_that_is_assumed_is_open():
    assert format_open(row(weights="q4_k_m", weights_as_given="ollama default (assumed)"))
    assert not format_open(row(weights="q4_k_m"))

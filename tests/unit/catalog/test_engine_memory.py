"""Engines' rules of memory by version."""

from __future__ import annotations

import pytest

from rooflight.catalog.engine_memory import engine_memory


@pytest.mark.parametrize(
    ("version", "share", "sampler", "experts", "own"),
    [
        ("0.6.3.post1", 0.90, "", "inside", 0.63),
        ("v0.8.5", 0.90, "pytorch", "inside", 0.63),
        ("0.9.2", 0.90, "pytorch", "inside", 0.13),
        ("0.13.0rc2.dev112+g763963aa7", 0.90, "pytorch", "inside", 0.13),
        ("0.17.1", 0.90, "flashinfer", "added", 0.13),
        ("0.19.2", 0.90, "flashinfer", "added", 0.25),
        ("0.25.1", 0.92, "flashinfer", "added", 0.25),
        ("2024-06", 0.90, "", "inside", 0.63),
        ("2025", 0.90, "pytorch", "inside", 0.13),
        ("2026", 0.92, "flashinfer", "added", 0.25),
        ("main", 0.92, "flashinfer", "added", 0.25),
        (None, 0.92, "flashinfer", "added", 0.25),
    ],
)
def test_the_rule_of_a_version_of_vllm(version, share, sampler, experts, own):
    rule = engine_memory("vllm", version).rule

    assert (rule.share, rule.sampler, rule.experts, rule.own_GiB) == (share, sampler, experts, own)


def test_what_each_engines_share_is_of():
    of = {name: engine_memory(name, None).rule.of for name in ("vllm", "sglang", "tensorrt-llm", "llama.cpp")}

    assert of == {"vllm": "total", "sglang": "before", "tensorrt-llm": "after", "llama.cpp": "none"}


def test_of_other_engines_nothing_is_known():
    assert engine_memory("transformers", None) is None


def test_every_rule_says_where_it_was_found():
    for name in ("vllm", "sglang", "tensorrt-llm", "llama.cpp"):
        found = engine_memory(name, None)
        assert found.source
        assert found.log

"""Rows of which a part ran on the host: held against the split that they state, or against all."""

from __future__ import annotations

import json

import pytest

import rooflight

ROW = {
    "model": "llama-3.1-70b", "accelerator": "rtx-3090", "weights": "q4_0", "engine": "llama.cpp", "phase": "decode",
    "batch": "1", "input_len": "512", "metric": "output_tok_s_per_user", "value": "2.1", "partial_offload": "yes",
}  # fmt: skip

BENCH = {
    "build_commit": "b", "build_number": 6000, "gpu_info": "NVIDIA GeForce RTX 3090", "cpu_info": "AMD",
    "model_filename": "Meta-Llama-3.1-70B-Q4_0.gguf", "model_type": "llama 70B Q4_0", "model_size": 40_000_000_000,
    "model_n_params": 70_553_706_496, "n_prompt": 0, "n_gen": 128, "n_depth": 0, "avg_ts": 2.1,
}  # fmt: skip


def judged(**more):
    return rooflight.check({**ROW, **more}).rows[0]


def test_a_stated_split_is_what_the_row_is_held_against():
    """41 of 80 layers of 0.48 GB at 60 GB/s take 330 ms: 20 tok/s cannot be, 2.1 can."""
    split = {"n_gpu_layers": "40", "host_memory_bandwidth": "60GB/s"}

    assert judged(**split).ceiling == pytest.approx(1 / (41 * 0.4813 / 60 + 0.024), rel=0.02)
    assert judged(**split).verdict == "ok"
    assert judged(**split).expected is not None
    assert judged(**split, value="20").verdict == "impossible"
    assert "host's memory" in judged(**split, value="20").reason


def test_an_unstated_split_has_the_ceiling_of_the_fastest():
    """80 layers of 0.4813 GB and a head of 0.6 GB, all on the fastest host: 39.1 GB of 1,689.6 GB/s."""
    row = judged()

    assert row.ceiling == pytest.approx(1689.6 / (80 * 0.4813 + 0.6), rel=0.02)
    assert row.low < row.expected < row.high < row.ceiling


def test_llama_bench_says_its_split_itself(tmp_path):
    """n_gpu_layers of a file: more than the model has, and -1, are all of them."""

    def file(**more):
        path = tmp_path / "bench.json"
        path.write_text(json.dumps([{**BENCH, **more}]))
        return rooflight.check(path).rows

    part, whole, all_ = (file(n_gpu_layers=many) for many in (40, 99, -1))
    assert {row.verdict for row in part} == {"ok"}
    assert {row.verdict for row in whole} == {row.verdict for row in all_} == {"cannot-judge"}


def test_diagnose_names_the_host(tmp_path):
    """A run whose decode step waits for the host's memory as expected: that binds."""
    path = tmp_path / "bench.json"
    path.write_text(json.dumps([BENCH]))
    found = rooflight.diagnose(
        path, model="llama-3.1-70b", on="rtx-3090", weights="q4_0", n_gpu_layers=40, host_memory_bandwidth="60GB/s"
    )

    assert found.bound == "host_memory"
    assert "host's memory" in found.answer

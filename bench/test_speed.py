"""Speed figures, on one core: `make bench`. Not part of the tests: a clock is no assertion."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import rooflight

COMMAND = [sys.executable, "-m", "rooflight", "analyze", "meta-llama/Meta-Llama-3.1-70B", "--on", "4xh100-sxm"]


@pytest.fixture(autouse=True)
def one_core():
    """Keep to one processor, as the figures say."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def decode_grid():
    """A million decode points of Llama-3.1-70B: 1,000 batches by 1,000 contexts."""
    axes = {"batch": np.arange(1, 1001), "context": np.arange(0, 128_000, 128)}
    return rooflight.sweep("meta-llama/Meta-Llama-3.1-70B", "4xh100-sxm", axes)


def test_sweep_points(benchmark):
    """Every block computed whole: bytes split, all ceilings, bounds and shares of each operator."""
    sweep = decode_grid()
    points = benchmark(lambda: sum(block.points for block in sweep))
    benchmark.extra_info["points_per_s"] = points / benchmark.stats["median"]
    assert points == sweep.points


def test_one_point_in_the_library(benchmark):
    model, card = rooflight.model("meta-llama/Meta-Llama-3.1-70B"), rooflight.accelerator("h100-sxm")
    answer = benchmark(lambda: rooflight.analyze(model, card, batch=32, tp=4))
    assert answer.fits


@pytest.mark.parametrize("form", ["json", "text"])
def test_analyze_as_a_process(benchmark, form):
    """From the shell's prompt to the answer."""
    done = benchmark.pedantic(
        subprocess.run, args=([*COMMAND, "--format", form],), kwargs={"capture_output": True, "check": True}, rounds=15
    )
    assert b"memory" in done.stdout


def test_load_the_accelerator_catalog(benchmark):
    from rooflight.catalog.accelerators import all_accelerators

    cards = benchmark(lambda: list(all_accelerators()))
    assert len(cards) > 100

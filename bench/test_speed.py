"""Speed figures, on one core: `make bench`. Not part of the tests: a clock is no assertion."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rooflight
from rooflight.catalog.files.gguf import read
from rooflight.scenario.definite import scenario
from rooflight.serve import phases
from rooflight.values.deployment import Deployment
from rooflight.values.workload import Workload

DATA = Path(__file__).parents[2] / "shared" / "data"
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


def computed(blocks):
    return sum(block.points for block in blocks)


def test_sweep_points(benchmark):
    """Every block computed whole: bytes split, all ceilings, bounds and shares of each operator."""
    points = benchmark.pedantic(computed, setup=lambda: ((decode_grid(),), {}), rounds=15, warmup_rounds=1)
    benchmark.extra_info["points_per_s"] = points / benchmark.stats["median"]
    assert points == 1_000_000


@pytest.mark.parametrize("model", ["meta-llama/Meta-Llama-3.1-70B", "deepseek-ai/DeepSeek-V3"])
@pytest.mark.parametrize("schedule", ["served", "batch", "apart"])
def test_sweep_of_runs(benchmark, model, schedule):
    """100,000 runs of one deployment, 400 batches by 250 prompts: every quantity at its three times."""
    axes = {"batch": np.arange(1, 401), "isl": np.arange(1, 251) * 32}

    def new():
        return (rooflight.sweep(model, "8xh200-sxm", axes, osl=64, schedule=schedule).runs(),), {}

    runs = benchmark.pedantic(computed, setup=new, rounds=5)
    benchmark.extra_info["runs_per_s"] = runs / benchmark.stats["median"]
    assert runs == 100_000


def test_goals_of_a_sweep(benchmark):
    """The most requests in flight, and the hit rate, at 100 prompts' lengths."""
    axes = {"isl": np.arange(1, 101) * 80}
    sweep = rooflight.sweep("meta-llama/Meta-Llama-3.1-70B", "8xh200-sxm", axes, ttft_slo_ms=1000, tpot_slo_ms=50)
    assert len(benchmark.pedantic(sweep.goals, rounds=3)) == 100


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


@pytest.mark.parametrize("what", ["ceiling", "expected"])
@pytest.mark.parametrize("model", ["meta-llama/Meta-Llama-3.1-70B", "deepseek-ai/DeepSeek-V3"])
def test_expected_beside_ceilings(benchmark, model, what):
    """32,000 scattered decode points, by bounds alone and with what is expected, of a plan that is new each time."""
    points = np.arange(32_000.0)
    load = Workload(batch=points % 256 + 1, context=points % 20_011 + 100)
    plan, card = rooflight.model(model), rooflight.accelerator("h100-sxm")

    def new():
        sc = scenario(plan, card, None, load, Deployment(tp=8, ignore_capacity=True))
        return (sc,), {"bounds_only": what == "ceiling"}

    found = benchmark.pedantic(phases.decode, setup=new, rounds=30, warmup_rounds=2)
    benchmark.extra_info["points_per_s"] = points.size / benchmark.stats["median"]
    assert found.time.ceiling_s.shape == points.shape


def test_compare_as_a_process(benchmark, tmp_path):
    """20 cards over a log of 20,000 requests of every length, start of the process included."""
    rng = np.random.default_rng(7)
    lengths = np.stack([rng.lognormal(6.8, 0.8, 20_000), rng.lognormal(4.8, 0.9, 20_000)]).astype(int) + 1
    log = tmp_path / "requests.csv"
    log.write_text("isl,osl\n" + "\n".join(f"{isl},{osl}" for isl, osl in lengths.T) + "\n", encoding="utf-8")
    cards = (
        "h100-sxm,h200-sxm,b200,a100-sxm4-80gb,a100-sxm4-40gb,h20,h100-nvl,h100-pcie,gh200-96gb,l40s,l40,a40,"
        "rtx-5090,rtx-6000-ada,mi300x,mi325x,mi350x,gaudi3,tpu-v5p,tpu-v6e"
    )
    words = ["compare", "llama-3.1-8b", "--on", cards, "--log", str(log), "--batch", "32", "--format", "json"]
    done = benchmark.pedantic(
        subprocess.run, args=([sys.executable, "-m", "rooflight", *words],), kwargs={"capture_output": True}, rounds=5
    )
    answer = json.loads(done.stdout)
    assert len(answer["compared"]) == 20
    assert answer["mix"]["requests"] == 20_000


@pytest.mark.parametrize("jobs", [1, 2])
def test_sweep_by_processes(benchmark, jobs, tmp_path):
    """A million rows of CSV, by one process and by two; on all cores that there are."""
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    words = ["sweep", "meta-llama/Meta-Llama-3.1-70B", "--on", "4xh100-sxm", "--batch", "1:1000", "--jobs", str(jobs)]
    words += ["--context", "0:127872:128", "-o", str(tmp_path / "rows.csv")]
    command = [sys.executable, "-m", "rooflight", *words]
    benchmark.pedantic(subprocess.run, args=(command,), kwargs={"check": True, "capture_output": True}, rounds=2)


@pytest.mark.parametrize("model", ["meta-llama/Meta-Llama-3.1-70B", "deepseek-ai/DeepSeek-V3"])
def test_moves_as_a_process(benchmark, model):
    """Every move on eight cards, start of the process included."""
    words = ["moves", model, "--on", "8xh200-sxm", "--batch", "32", "--json"]
    done = benchmark.pedantic(
        subprocess.run, args=([sys.executable, "-m", "rooflight", *words],), kwargs={"capture_output": True}, rounds=5
    )
    assert b"rooflight.moves/1" in done.stdout


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the measurements beside the checkout")
def test_check_as_a_process(benchmark):
    """5,514 measurements judged, start of the process included."""
    words = ["check", str(DATA / "measured.csv"), "--configs", str(DATA / "configs"), "--format", "csv"]
    words += ["--configs", str(DATA / "configs_reconstructed")]
    done = benchmark.pedantic(
        subprocess.run, args=([sys.executable, "-m", "rooflight", *words],), kwargs={"capture_output": True}, rounds=3
    )
    assert done.stdout.count(b"\n") > 5000


def test_a_header_of_many_tensors(benchmark, tmp_path):
    """A GGUF header of 95,000 tensors, more than any published file has."""
    names = (f"blk.{number // 10}.t{number % 10}".encode() for number in range(95_000))
    tensors = b"".join(struct.pack("<Q", len(name)) + name + struct.pack("<IQIQ", 1, 32, 0, 0) for name in names)
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 95_000, 0) + tensors + bytes(64))
    found = benchmark(lambda: len(read(file).tensors))
    assert found == 95_000


def metrics_text(lines):
    """A vLLM's /metrics text with one replica after another until it has that many lines."""
    buckets = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, "+Inf"]
    names = ["time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds"]
    text = ["# TYPE vllm:num_requests_running gauge"]
    for engine in range(lines):
        who = f'engine="{engine}",model_name="meta-llama/Llama-3.1-8B-Instruct"'
        text += [f"vllm:{name}{{{who}}} {engine}.0" for name in ("num_requests_running", "generation_tokens_total")]
        for name in names:
            text += [f'vllm:{name}_bucket{{{who},le="{bound}"}} {at}.0' for at, bound in enumerate(buckets)]
            text += [f"vllm:{name}_sum{{{who}}} 8.5e+03", f"vllm:{name}_count{{{who}}} 17.0"]
        if len(text) >= lines:
            break
    return "\n".join(text[:lines]) + "\n"


def test_metrics_text(benchmark):
    """10,000 lines, every one of an engine's: read, sorted to replicas, percentiles taken."""
    from rooflight.ingest.recorded.monitoring.exposition import read_text

    found = benchmark(read_text, metrics_text(10_000))
    benchmark.extra_info["replicas"] = len({one.subject for one in found.watched})

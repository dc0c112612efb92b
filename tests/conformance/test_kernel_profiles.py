"""Profiles of other people's: what their readers get out of them, and which ceiling is said to bind."""

from __future__ import annotations

import msgspec
import pytest

import rooflight
from rooflight.answers.diagnose.kernels import kernels
from rooflight.answers.diagnose.setting import setting
from rooflight.catalog.accelerators import load
from rooflight.ingest.recorded.read import recorded
from rooflight.words.diagnosis.kernels import told


def diagnosed(file, model=None, on=None):
    at = setting([file], None if model is None else rooflight.model(model), None if on is None else load(on), {})
    return kernels([file], at)


def test_a_naive_product_of_nsight_compute(data):
    """54,207,744 + 26,601,216 B in 9,589,248 ns = 8.43 GB/s; the multiprocessors at 97.32 %."""
    file = recorded(data / "profiles/ncu/rtx5070_details_gemm_naive.csv")
    (one,) = file.traced.kernels
    found = diagnosed(file)

    assert file.format == "ncu-csv"
    assert (one.operator, one.bytes, one.flop) == ("gemm", 54_207_744 + 26_601_216, None)
    assert one.total_s == pytest.approx(9_589_248e-9)
    assert one.bytes / one.total_s == pytest.approx(8.43e9, rel=0.001)
    assert one.counters["sm_throughput"] == pytest.approx(0.9732)
    assert (found.bound, found.card) == ("compute", "rtx-5070")


def test_saxpy_of_nsight_compute(data):
    """134,221,568 + 43,631,104 B in 292,928 ns = 607 GB/s, 90 % of 672."""
    file = recorded(data / "profiles/ncu/rtx5070_details_saxpy.csv")
    found = diagnosed(file)
    (row,) = found.rows

    assert row.bytes_per_s == pytest.approx((134_221_568 + 43_631_104) / 292_928e-9)
    assert row.of_roof == pytest.approx(607.15 / 672, rel=0.001)
    assert found.bound == "memory"
    assert "607 GB/s" in told(found).answer


def test_counters_of_rocprofiler_compute(data):
    """Three copies: (131,080 + 131,072) x 64 B in 20 us, (131,081 + 90,882) x 64 in 15.52, (... + 91,188) in 16.32."""
    file = recorded(data / "profiles/rocprof/device_inv_int_MI200_pmc_perf.csv")
    (one,) = file.traced.kernels
    moved = 64 * (131_080 + 131_072 + 131_081 + 90_882 + 131_081 + 91_188)

    assert one.calls * one.bytes == pytest.approx(moved)
    assert one.total_s == pytest.approx(20e-6 + 15.52e-6 + 16.32e-6)
    assert one.flop == 0
    assert file.traced.timeline is False


def test_timestamps_of_rocprofiler_compute(data):
    """From ...414437599 to ...414567679 ns: 130.08 us, of which 51.84 busy."""
    file = recorded(data / "profiles/rocprof/device_inv_int_MI200_timestamps.csv")
    (device,) = file.traced.devices

    assert device.span_s == pytest.approx(130.08e-6)
    assert device.busy_s == pytest.approx(51.84e-6)
    assert file.traced.kernels[0].bytes is None


def test_the_machine_of_rocprofiler_compute(data):
    """sysinfo.csv names it and has no kernel; roofline.csv has its own rates: 1,389 GB/s of 1,638."""
    machine = recorded(data / "profiles/rocprof/device_inv_int_MI200_sysinfo.csv")
    rates = recorded(data / "profiles/rocprof/device_inv_int_MI200_roofline.csv")
    first = rates.samples[0]

    assert machine.traced is None
    assert machine.records[0].stated.device == "MI200"
    assert (first.name, first.device) == ("hbm roof", "gpu 0")
    assert first.bytes / first.time_s.median == pytest.approx(1389.1462e9)
    assert len({one.device for one in rates.samples}) == 4
    assert diagnosed(machine) is None
    assert diagnosed(rates) is None


def test_a_decode_step_of_sglang(data):
    """32 sequences with 32,785 keys: busy 9.77 ms of 474; by the whole checkpoint 2.17 TB/s, 41 % of an MI300X."""
    file = recorded(data / "profiles/pytorch-trace/sglang_qwen3-8b_decode.json.gz")
    found = diagnosed(file, "qwen3-8b", "mi300x")
    step = found.steps

    assert found.time.busy_s == pytest.approx(9.77e-3, rel=0.002)
    assert found.time.span_s == pytest.approx(474e-3, rel=0.002)
    assert (step.phase, step.batch) == ("decode", 32)
    assert step.batch * (step.context + 1) == pytest.approx(32_785)
    assert step.checkpoint_bytes_per_s == pytest.approx(2.17e12, rel=0.002)
    assert step.checkpoint_bytes_per_s / 5.3e12 == pytest.approx(0.41, abs=0.002)
    # without the input table of 1.24 GB, which no step reads
    assert step.bytes_per_s == pytest.approx(2.08e12, rel=0.005)
    # the host waits 463 ms for the device while no recorded kernel runs: a part of a run, which launches do not bind
    assert (found.cut, found.bound, step.bound, found.confidence) == (True, "memory", "memory", "medium")
    answer = told(found).answer
    assert answer.startswith("Memory-bound")
    assert all(said in answer for said in ("39 % of the bandwidth", "9.77 ms of 474 ms", "463 ms"))


def test_the_same_step_without_its_mark(data):
    """36 calls of attention over 36 layers are one step; the question states what the mark said."""
    file = recorded(data / "profiles/pytorch-trace/sglang_qwen3-8b_decode.json.gz")
    marked = diagnosed(file, "qwen3-8b", "mi300x")
    bare = msgspec.structs.replace(file, traced=msgspec.structs.replace(file.traced, steps=()))
    fields = {"batch": 32, "context": 1024}  # (32,785 - 32) / 32 = 1,023.5
    found = kernels([bare], setting([bare], rooflight.model("qwen3-8b"), load("mi300x"), fields))

    assert found.steps.count == 1
    assert found.steps.bytes == pytest.approx(marked.steps.bytes, rel=1e-3)
    assert (found.bound, found.confidence) == ("memory", "low")


def test_a_network_of_convolutions_has_no_steps_of_a_language_model(data):
    file = recorded(data / "profiles/pytorch-trace/mi210_gpu_only.json.gz")
    fields = {"batch": 32, "isl": 1024}
    found = kernels([file], setting([file], rooflight.model("llama-3.1-8b"), load("mi210"), fields))

    assert (found.bound, found.steps, found.supposed.refused) == (None, None, "calls")


def test_a_mixed_step_of_vllm(data):
    """gpt-oss-20b (24 layers, heads 64 and 8 of 64, 32 experts): 8,192 tokens in 156 ms of a span of 156.5."""
    file = recorded(data / "profiles/pytorch-trace/vllm_prefilldecode_piecewise.json.gz")
    found = diagnosed(file, "gpt-oss-20b", "mi300x")
    tokens = 8192
    # four experts of three 2,880 x 2,880 matrices; queries, keys, values and output; the router
    layer = 4 * 3 * 2880 * 2880 + 2880 * (4096 + 2 * 512) + 4096 * 2880 + 2880 * 32

    assert found.time.busy == pytest.approx(0.998, abs=0.003)
    (step,) = file.traced.steps
    assert (found.steps.batch, found.steps.tokens) == (37, 8155)
    # sk 8,430 of sq 8,155 over nine prompts: 275 tokens cached before them
    assert (step.prompts, step.prompt_context) == (9, (8430 - 8155) / 9)
    assert not found.steps.assumed
    assert found.steps.flop == pytest.approx(2 * 24 * layer * tokens, rel=0.05)
    assert found.bound == "compute"


@pytest.mark.parametrize("name", ["hta_rank_non_gpu", "hta_cupti_profiler_counters"])
def test_a_trace_of_the_host_tells_no_ceiling(data, name):
    found = diagnosed(recorded(data / f"profiles/pytorch-trace/{name}.json.gz"))

    assert found.bound is None
    assert found.cannot_tell


def test_an_eager_model(data):
    """Element-wise kernels and copies take more than the products: nothing is fused."""
    found = diagnosed(recorded(data / "profiles/pytorch-trace/h100_qwen1.5-0.5b_eager.json.gz"))

    assert found.card == "h100-sxm"
    assert found.streaming > 0.5
    assert found.bound == "memory"
    assert any("Fuse" in step.what for step in told(found).next)
    # products are under compute's roof: 68 % are the others' 35 + 22 + 6 + 5
    under, beside = told(found).answer.split("; ", 1)
    assert "matrix products" not in under
    assert "68 %" in under
    assert "(element-wise kernels 35 %, copies 22 %, attention 6 % at 19 % of that roof, others 5 %)" in under
    assert "19 % is compute-bound (matrix products 19 % at 63 % of that roof)" in beside

"""Profiles that others recorded, beside values computed by hand from their events."""

from __future__ import annotations

import pytest

from rooflight.ingest.recorded.read import recorded


def read(data, name):
    return recorded(data / "profiles" / "pytorch-trace" / f"{name}.json.gz")


def test_the_sglang_decode_was_busy_for_9_77_ms_of_474(data):
    """One step of 32 sequences, a graph launched once: the host waited 463 ms for what took 9.8."""
    found = read(data, "sglang_qwen3-8b_decode").traced
    (device,), (step,) = found.devices, found.steps

    assert device.busy_s == pytest.approx(9.7729e-3, rel=1e-4)
    assert device.span_s == pytest.approx(473.75e-3, rel=1e-4)
    assert (device.name, device.kernels) == ("AMD Instinct MI300X", 555)
    assert (step.phase, step.batch) == ("decode", 32)
    assert step.context == pytest.approx((32785 - 32) / 32)
    assert step.busy_s == pytest.approx(9.77e-3, rel=2e-3)
    assert (found.launches, found.graph_launches) == (12, 1)
    assert found.synchronize_s == pytest.approx(463.06e-3, rel=1e-4)
    assert found.host_s == pytest.approx(465.72e-3, rel=1e-4)


def test_the_sglang_decodes_kernels_are_of_its_operators(data):
    """36 layers: four products each and the head, two kernels of attention, four norms and the last."""
    by_operator = {}
    for one in read(data, "sglang_qwen3-8b_decode").traced.kernels:
        by_operator[one.operator] = by_operator.get(one.operator, 0) + one.calls

    assert by_operator["gemm"] == 4 * 36 + 1
    assert by_operator["attention"] == 2 * 36
    assert by_operator["norm"] == 4 * 36 + 1
    assert by_operator["activation"] == 36


def test_the_vllm_step_is_mixed_and_has_its_kernels_though_the_device_lags(data):
    found = read(data, "vllm_prefilldecode_piecewise")
    (device,), (step,) = found.traced.devices, found.traced.steps

    assert (step.phase, step.batch, step.tokens) == ("mixed", 37, 8155)
    assert step.context == pytest.approx((34489 - 37) / 37)
    assert device.busy_s == pytest.approx(156.0858e-3, rel=1e-5)
    assert step.busy_s == pytest.approx(device.busy_s, rel=1e-3)
    assert device.name is None
    assert found.traced.graph_launches == 25


def test_the_h100s_products_have_shapes(data):
    """72 layers' worth of addmm and mm of 8,944 tokens; 24 causal attentions of 16 sequences of 559."""
    found = read(data, "h100_qwen1.5-0.5b_eager").traced
    shaped = [one for one in found.kernels if one.flop is not None and one.operator in ("gemm", "attention")]
    calls = {(one.operator, one.flop): one.calls for one in shaped}

    assert calls["gemm", 2 * 8944 * 1024 * 1024] == 24 * 4
    assert calls["gemm", 2 * 8944 * 1024 * 2816] in (24, 48)
    assert calls["attention", 4 * 16 * 16 * 64 * (559 * 560 / 2)] == 24
    assert all(one.format == "bf16" for one in shaped if one.flop > 1e6)
    assert found.devices[0].name == "NVIDIA H100 80GB HBM3"
    assert found.devices[0].busy_s == pytest.approx(45.647e-3, rel=1e-4)
    assert [one.name for one in found.steps] == ["ProfilerStep#6"]


def test_a_trace_of_the_device_alone_is_read(data):
    found = read(data, "mi210_gpu_only").traced

    assert found.devices[0].busy_s == pytest.approx(5.3434e-3, rel=1e-4)
    assert (found.devices[0].name, found.steps) == ("AMD Instinct MI210", ())


@pytest.mark.parametrize("name", ["hta_rank_non_gpu", "hta_cupti_profiler_counters"])
def test_a_trace_without_kernels_says_so(data, name):
    found = read(data, name)

    assert found.traced.devices == ()
    assert "kernels of a device" in found.lacks


def test_nothing_of_them_is_left_out(data):
    for path in (data / "profiles" / "pytorch-trace").glob("*.gz"):
        assert not any("left out" in note or "ends before" in note for note in recorded(path).notes), path.name

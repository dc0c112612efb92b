"""Recorded files as samples: what each kind becomes, with its source."""

from __future__ import annotations

import msgspec
import pytest

from rooflight.answers.diagnose.samples import samples
from rooflight.values.recorded import (
    DeviceTrace,
    Launched,
    Measurements,
    Record,
    Recorded,
    Spread,
    Stated,
    StepSeen,
    Traced,
    Watched,
)
from rooflight.values.sample import Sample, Timing


def of(**parts):
    return samples([Recorded(file="f.json", format="some", tool="torch", version="2.9", **parts)])


def test_a_kernel_is_told_by_a_call():
    kernel = Launched(
        name="k", operator="gemm", device="gpu 0", calls=10, total_s=1e-3, flop=5.0, bytes=7.0, format="bf16",
        time_s=Timing(median=1e-4, low=0.9e-4, high=1.1e-4, n=10), counters={"dram_active": 0.5, "cycles": 900.0},
    )  # fmt: skip
    device = DeviceTrace(device="gpu 0", name="NVIDIA H100", span_s=1, busy_s=1)
    (one,) = of(traced=Traced(devices=(device,), kernels=(kernel,)))

    assert (one.kind, one.runs, one.time_s.n) == ("kernel", 1, 10)
    assert (one.flop, one.bytes, one.device) == (5.0, 7.0, "NVIDIA H100")
    assert one.counters == {"dram_active": 0.5}
    assert (one.source.file, one.source.tool, one.source.version) == ("f.json", "torch", "2.9")


def test_sums_alone_are_so_many_runs_timed_as_a_whole():
    """10 calls of 5 FLOP in 1 ms: the chart takes flop x runs / time."""
    (one,) = of(traced=Traced(kernels=(Launched(name="k", operator="gemm", calls=10, total_s=1e-3, flop=5.0),)))

    assert (one.runs, one.time_s.median) == (10, 1e-3)


def test_collectives_are_a_kind_of_their_own():
    (one,) = of(traced=Traced(kernels=(Launched(name="nccl", operator="communication", total_s=1e-3),)))

    assert one.kind == "collective"


def test_a_step_has_the_devices_time_where_it_is_known():
    """32 tokens in 10 ms."""
    step = StepSeen(name="s", phase="decode", batch=32.0, context=1000.0, wall_s=0.5, busy_s=0.01)
    (one,) = of(traced=Traced(steps=(step,)))

    assert (one.kind, one.name, one.batch, one.context) == ("step", "decode", 32, 1000)
    assert one.time_s.median == 0.01
    assert one.tokens_per_s == pytest.approx(32 / 0.01)


def test_monitoring_is_intervals_with_shares_and_the_machines_state():
    seen = Watched(
        subject="gpu 0", kind="device", start="2026-11-28T10:00:00Z", seconds=60.0, device="NVIDIA H100",
        tensor_active=0.06, dram_active=0.78, gpu_util=0.95, power_w=412.0, sm_clock_hz=1.7e9,
    )  # fmt: skip
    (one,) = of(watched=(seen,))

    assert (one.kind, one.name, one.start, one.time_s.median) == ("interval", "gpu 0", "2026-11-28T10:00:00Z", 60)
    assert one.counters == {"gpu_util": 0.95, "tensor_active": 0.06, "dram_active": 0.78}
    assert (one.machine.power_w, one.machine.clocks_hz) == (412, {"sm": 1.7e9})


def test_an_engine_has_no_machines_state():
    (one,) = of(
        watched=(Watched(subject="vllm", kind="engine", running=12.0, kv_usage=0.4, output_tokens_per_s=900.0),)
    )

    assert (one.batch, one.tokens_per_s, one.counters, one.machine) == (12, 900, {"kv_usage": 0.4}, None)


def test_a_run_is_its_requests_and_its_steps():
    record = Record(
        name="conc 16", line=7,
        stated=Stated(
            model="m", device="H100", gpus=8, concurrency=16, isl=1024, engine="vllm", engine_version="0.12.0"
        ),
        measured=Measurements(
            output_tokens_per_s=1500.0, ttft_s=Spread(mean=0.2), tpot_s=Spread(mean=0.01, p50=0.009, p90=0.012),
            request_s=Spread(mean=3.0), requests=100, osl=250.0,
        ),
    )  # fmt: skip
    request, step = of(records=(record,))

    assert (request.kind, request.count, request.batch, request.isl, request.osl) == ("request", 8, 16, 1024, 250)
    assert (request.time_s.median, request.time_s.n, request.ttft_s) == (3.0, 100, 0.2)
    assert request.machine.versions == {"vllm": "0.12.0"}
    assert (step.kind, step.time_s.median, step.time_s.high) == ("step", 0.009, 0.012)
    assert step.source.line == 7


def test_an_engines_start_is_no_sample():
    assert of(records=(Record(measured=Measurements(kv_tokens=1000.0)),)) == ()


def test_samples_stay_as_they_are_and_all_can_be_stored():
    own = Sample(kind="bandwidth", name="read", bytes=1.0)
    found = of(samples=(own,), watched=(Watched(subject="g", kind="device"),))

    assert found[0] is own
    assert [msgspec.json.decode(msgspec.json.encode(one), type=Sample) for one in found] == list(found)

"""Samples of monitoring: read, or refused with the right word, and two scrapes agree with the benchmark beside them."""

from __future__ import annotations

import json

import pytest

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.monitoring.between import difference, watched_between
from rooflight.ingest.recorded.read import recorded
from rooflight.units import to_base


def only(found, span):
    (one,) = [one for one in found.watched if one.span == span]
    return one


def test_two_scrapes_agree_with_the_benchmark_beside_them(data):
    """vLLM on a CPU, 24 requests at concurrency 4: what the server counted, and what the load generator saw."""
    folder = data / "profiles" / "vllm-cpu"
    bench = json.loads((folder / "bench_serve_c4.json").read_text())
    before, after = ((folder / f"metrics_{name}.prom").read_text() for name in ("before", "after"))
    found = only(watched_between(before, after, bench["duration"]), "interval")

    assert found.requests == bench["completed"]
    assert found.isl == bench["total_input_tokens"] / bench["completed"]
    assert found.osl == bench["total_output_tokens"] / bench["completed"]
    assert found.output_tokens_per_s == pytest.approx(bench["output_throughput"])
    # 0.3 % of the first token's time is spent between the server's clock and the client's
    assert found.ttft_s.mean == pytest.approx(bench["mean_ttft_ms"] / 1000, rel=0.005)
    assert found.tpot_s.mean == pytest.approx(bench["mean_tpot_ms"] / 1000, rel=0.001)
    # four at a time, less the moments between a request and the next
    assert found.running == pytest.approx(4, rel=0.1)
    assert found.waiting == pytest.approx(0, abs=0.001)
    assert found.kv_tokens == 87_296  # 5,456 blocks of 16


def test_of_two_files_the_order_is_found(data):
    """Without a time there are means of the interval, and no rates."""
    folder = data / "profiles" / "vllm-cpu"
    before, after = (recorded(folder / f"metrics_{name}.prom") for name in ("before", "after"))
    found = difference(after, before)

    assert found.file == after.file
    assert (only(found, "interval").requests, only(found, "interval").output_tokens_per_s) == (24, None)


def test_a_life_of_a_vllm_that_drafts(data):
    """Queueing for 68 s of 76 in the mean; 40 % of drafted tokens accepted."""
    found = recorded(data / "profiles" / "vllm-metrics" / "vllmstat_metrics_qwen3.txt")
    now, ever = only(found, "moment"), only(found, "lifetime")

    assert (now.model, now.running, now.waiting) == ("qwen3-30b-tq", 1, 2)
    assert now.kv_tokens == found.records[0].measured.kv_tokens == 6947 * 64
    assert (found.records[0].stated.memory_share, found.records[0].stated.kv_cache) == (0.9, None)
    assert ever.requests == 51_319 + 724
    assert ever.ttft_s.mean == pytest.approx(3.8408829580595493e06 / 52916)
    assert ever.tpot_s.mean == pytest.approx(2979.432286309289 / 52043)
    assert ever.queue_s.mean == pytest.approx(3.560128002164351e06 / 52043)
    assert ever.acceptance == pytest.approx(4.574989e06 / 1.1501084e07)
    assert ever.prefix_hit == pytest.approx(5.819712e06 / 1.9106864e07)
    assert ever.step_tokens == pytest.approx(2.5769128e07 / 2.208376e06)
    assert ever.output_tokens_per_s is None


def test_the_counter_list_of_dcgm_is_refused(data):
    with pytest.raises(BadConfig, match="lists what DCGM's exporter should export"):
        recorded(data / "profiles" / "dcgm" / "dcgm-exporter_default-counters.csv")


# By file: rows, gpu_util of the last, power in W, SM clock in MHz, reasons.
SMI = {
    "nvidia-geforce-rtx-4080-super_idle_dmon.txt": (5, 0.0, 26, 210, None),
    "nvidia-geforce-rtx-4080-super_idle_query-gpu.csv": (1, 0.0, 26.20, 210, ()),
    "nvidia-h200-mig_idle_dmon.txt": (5, None, 78, 345, None),
    "nvidia-h200-mig_idle_query-gpu.csv": (1, None, 78.28, 345, ()),
    "nvidia-l40s_idle_dmon.txt": (5, 0.0, 37, 210, None),
    "nvidia-l40s_idle_query-gpu.csv": (1, 1.0, 144.97, 2520, ()),
    "nvidia-l40s_load_dmon.txt": (5, 0.1, 108, 2520, None),
    "nvidia-l40s_load_query-gpu.csv": (1, 0.09, 110.23, 2520, ()),
    # all of these after another, with the table and -q of the same second as one row, idle and under load
    "linux-x86_64__nvidia-l40s__595.80.txt": (14, 0.1, 108, 2520, None),
}


@pytest.mark.parametrize("name", SMI)
def test_every_output_of_nvidia_smi_is_read(data, name):
    found = recorded(data / "profiles" / "nvidia-smi" / name)
    rows, gpu_util, power_w, megahertz, throttled = SMI[name]
    last = found.watched[-1]

    assert (found.format, len(found.watched), last.subject) == ("nvidia-smi", rows, "gpu 0")
    assert (last.gpu_util, last.power_w, last.throttled) == (gpu_util, power_w, throttled)
    assert last.sm_clock_hz == to_base(megahertz, "MHz")


def test_a_query_of_memory_alone_says_what_it_lacks(data):
    found = recorded(data / "profiles" / "nvidia-smi" / "query.txt")

    assert [one.memory_used_bytes for one in found.watched] == [to_base(575, "MiB"), to_base(1234, "MiB")]
    assert "utilization.gpu" in found.lacks


def test_lists_of_processes_are_refused(data):
    files = sorted((data / "profiles" / "nvidia-smi").glob("*compute-apps.csv"))

    assert len(files) == 4
    for path in files:
        with pytest.raises(BadConfig, match="rows of processes"):
            recorded(path)

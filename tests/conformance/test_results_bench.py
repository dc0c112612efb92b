"""Results of vLLM's, SGLang's and InferenceX's benchmarks: every value that a file holds comes out, in base units."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rooflight.ingest.recorded.read import recorded
from rooflight.values.recorded import Record

GROUPS = ("vllm_bench", "sglang_bench", "inferencex")
# A key of expected.json: where it is in a record, and what one of it is in base units.
TABLE = {
    "gpus": ("stated.gpus", 1), "tp": ("stated.tp", 1), "num_prompts": ("stated.num_prompts", 1),
    "request_rate": ("stated.request_rate", 1), "max_concurrency": ("stated.concurrency", 1),
    "duration": ("measured.duration_s", 1), "completed": ("measured.requests", 1), "failed": ("measured.failed", 1),
    "total_input_tokens": ("measured.input_tokens", 1), "total_output_tokens": ("measured.output_tokens", 1),
    "request_throughput": ("measured.requests_per_s", 1), "output_throughput": ("measured.output_tokens_per_s", 1),
    "total_token_throughput": ("measured.total_tokens_per_s", 1),
    "max_concurrent_requests": ("measured.peak_in_flight", 1), "concurrency_by_little": ("measured.in_flight", 1),
    "isl_mean": ("measured.isl", 1), "osl_mean": ("measured.osl", 1),
    "isl": ("measured.isl", 1), "osl": ("measured.osl", 1),
    **{
        f"{stem}_{of}_ms": (f"measured.{field}.{part}", 1e-3)
        for of, field in (("ttft", "ttft_s"), ("tpot", "tpot_s"), ("itl", "itl_s"), ("e2el", "request_s"))
        for stem, part in (("mean", "mean"), ("median", "p50"), ("p99", "p99"))
    },
    **{
        f"{stem}_{of}": (f"measured.{field}.{part}", 1)
        for of, field in (("ttft", "ttft_s"), ("tpot", "tpot_s"), ("e2el", "request_s"))
        for stem, part in (("median", "p50"), ("p99", "p99"))
    },
}  # fmt: skip
# Names of models and cards mostly stand beside the files, and with them the formats; sweeps are tested below.
ELSEWHERE = {"tool", "note", "not_in_file", "same_values_as", "model", "accelerator", "weights", "context_sweep",
             "throughput_sweep"}  # fmt: skip
# Known from the thread alone, although not listed so.
BESIDE = {("vllm_bench/gb10_qwen3.6-35b_peak.json", "gpus"), ("vllm_bench/gb10_granite-4.1-8b_reasoning.json", "gpus"),
          ("vllm_bench/rtx5090_qwen3-14b_qps1.txt", "gpus")}  # fmt: skip


def cases() -> list[tuple[str, str]]:
    path = Path(__file__).resolve().parents[3] / "shared/data/results/expected.json"
    if not path.exists():
        return []
    known = json.loads(path.read_text())
    return [(name, key) for name, values in known.items() if name.startswith(GROUPS) for key in values]


def found(record: Record, where: str):
    value: object = record
    for part in where.split("."):
        value = None if value is None else getattr(value, part)
    return value


@pytest.mark.parametrize("name, key", cases())
def test_every_value_of_a_file_comes_out(data, name, key):
    expected = json.loads((data / "results/expected.json").read_text())[name]
    record = recorded(data / "results" / name).records[0]
    if key in ELSEWHERE:
        if key == "same_values_as":
            same_numbers(record, recorded(data / "results" / expected[key]).records[0])
        return
    where, unit = TABLE[key]
    value = found(record, where)
    if value is None and (key in expected.get("not_in_file", ()) or (name, key) in BESIDE):
        return
    rounded = {"rel": 1e-9} if key not in expected.get("not_in_file", ()) else {"abs": 0.051}
    assert value == pytest.approx(expected[key] * unit, **rounded), where


def same_numbers(printed: Record, saved: Record):
    """What is printed is rounded to hundredths of its unit."""
    for name in ("requests", "failed", "input_tokens", "output_tokens", "isl", "osl", "peak_in_flight"):
        assert getattr(printed.measured, name) == getattr(saved.measured, name), name
    for name in ("requests_per_s", "output_tokens_per_s", "total_tokens_per_s", "duration_s"):
        assert getattr(printed.measured, name) == pytest.approx(getattr(saved.measured, name), abs=0.005), name
    for name in ("ttft_s", "tpot_s", "itl_s", "request_s"):
        for part in ("mean", "p50", "p90", "p95", "p99"):
            one, other = (getattr(getattr(record.measured, name), part) for record in (printed, saved))
            assert one == pytest.approx(other, abs=0.0000051), (name, part)
    assert printed.stated.request_rate == saved.stated.request_rate
    assert printed.measured.in_flight == pytest.approx(saved.measured.in_flight, rel=1e-5)


@pytest.mark.parametrize("name", ["r9700x2_coder-30b-awq.json", "r9700x2_devstral-24b-awq.json"])
def test_sweeps_point_by_point(data, name):
    expected = json.loads((data / "results/expected.json").read_text())[f"sglang_bench/{name}"]
    recorded_ = recorded(data / "results/sglang_bench" / name)
    alone = [one for one in recorded_.records if one.stated.phase == "decode"]
    loaded = [one for one in recorded_.records if one.stated.concurrency is not None]
    for one, (label, isl, tpot_ms) in zip(alone, expected["context_sweep"], strict=True):
        assert one.name == f"context {label:,}"
        assert (one.measured.isl, one.measured.tpot_s.p50) == (isl, pytest.approx(tpot_ms / 1000))
        # one stream: tokens a second are one over its time a token
        assert one.measured.output_tokens_per_s == pytest.approx(1000 / tpot_ms, rel=1e-3)
    for one, (many, rate, tpot_ms, ttft_ms) in zip(loaded, expected["throughput_sweep"], strict=True):
        assert (one.stated.concurrency, one.measured.output_tokens_per_s) == (many, rate)
        assert one.measured.tpot_s.p50 == pytest.approx(tpot_ms / 1000)
        assert one.measured.ttft_s.p50 == pytest.approx(ttft_ms / 1000)
    assert (loaded[0].stated.gpus, loaded[0].stated.tp, loaded[0].stated.device) == (2, 2, "R9700")
    assert any(note.startswith("concurrency 1:") for note in recorded_.notes)  # it holds start-up time


def test_sglang_lines(data):
    (one,) = recorded(data / "profiles/sglang/h200_deepseek_dp_mla_output.jsonl").records
    # 10,000 requests of 1 and 512 tokens; each took 381.237 s of 412.491: 9,242 in flight in the mean
    assert (one.measured.isl, one.measured.osl, one.stated.isl, one.stated.osl) == (1, 512, 1, 512)
    assert one.measured.in_flight == pytest.approx(10_000 / 412.49091206211597 * 381.23682297268615)
    assert one.measured.itl_s.p50 == pytest.approx(0.371844899491407)
    assert (one.measured.tpot_s, one.measured.requests_per_s, one.stated.concurrency) == (None, None, None)
    several = recorded(data / "profiles/sglang/h200_llama_3_3_70b_offline_output.jsonl").records
    assert [record.line for record in several] == [1, 2, 3, 4, 5, 6, 7]
    assert several[0].measured.output_tokens_per_s == 4520.698730654741
    assert several[0].stated.isl is None  # lengths vary from 0 to 1,024 there


def test_inferencex_times_are_seconds(data):
    (one,) = recorded(data / "profiles/bench-json/inferencex_glm5_fp8_vllm_tp8_conc16.json").records
    assert one.measured.ttft_s.p50 == 3.1382447043433785
    assert (one.measured.isl, one.measured.osl, one.stated.concurrency) == (10_240, 128, 16)
    assert (one.stated.tp, one.stated.gpus, one.stated.device) == (None, None, None)  # in the file's name alone


def test_ours_of_a_cpu(data):
    """24 requests at concurrency 4: 24 x 17.0 s in 102.1 s are 3.998 in flight, and the peak of 8 is none of it."""
    saved, printed = (recorded(data / f"profiles/vllm-cpu/bench_serve_c4.{form}") for form in ("json", "txt"))
    one = saved.records[0]
    assert one.measured.in_flight == pytest.approx(3.998, abs=0.001)
    assert (one.stated.concurrency, one.measured.peak_in_flight) == (4, 8)
    assert one.measured.ttft_s.mean == pytest.approx(5.345117745624956)
    assert printed.records[0].measured.ttft_s.mean == pytest.approx(5.34512)
    texts = json.loads((data / "profiles/vllm-cpu/bench_serve_c4.json").read_text())["generated_texts"]
    assert not any(text and text in repr(saved) for text in texts if len(text) > 8)

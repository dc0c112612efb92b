"""Results of inference-perf, guidellm, AIPerf, llama-bench and MLPerf as they were published: what must come out."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from rooflight.ingest.recorded.read import recorded

# A key of expected.json, the part of a record that has it, and one of the key's units in the field's.
KEYS = {
    "count": ("measured.requests", 1), "requested_rate": ("stated.request_rate", 1),
    "achieved_rate": ("measured.arrivals_per_s", 1), "send_duration": ("measured.duration_s", 1),
    "request_latency_mean_s": ("measured.request_s.mean", 1),
    "time_to_first_token_mean_s": ("measured.ttft_s.mean", 1),
    "time_per_output_token_mean_s": ("measured.tpot_s.mean", 1),
    "inter_token_latency_mean_s": ("measured.itl_s.mean", 1),
    "normalized_time_per_output_token_mean_s": ("measured.tpot_with_first_s.mean", 1),
    "throughput_input_tokens_per_sec": ("measured.input_tokens_per_s", 1),
    "throughput_output_tokens_per_sec": ("measured.output_tokens_per_s", 1),
    "throughput_total_tokens_per_sec": ("measured.total_tokens_per_s", 1),
    "throughput_requests_per_sec": ("measured.requests_per_s", 1), "failures": ("measured.failed", 1),
    "concurrency": ("stated.concurrency", 1), "isl": ("measured.isl", 1), "osl_mean": ("measured.osl", 1),
    "ttft_ms": ("measured.ttft_s.mean", 1e-3), "itl_ms": ("measured.tpot_s.mean", 1e-3),
    "e2e_ms": ("measured.request_s.mean", 1e-3), "output_throughput": ("measured.output_tokens_per_s", 1),
    "request_throughput": ("measured.requests_per_s", 1), "requests": ("measured.requests", 1),
    "duration_s": ("measured.duration_s", 1), "samples_per_s": ("measured.requests_per_s", 1),
    "tokens_per_s": ("measured.output_tokens_per_s", 1), "ttft_mean_ms": ("measured.ttft_s.mean", 1e-3),
    "ttft_p99_ms": ("measured.ttft_s.p99", 1e-3), "tpot_mean_ms": ("measured.tpot_s.mean", 1e-3),
    "tpot_p99_ms": ("measured.tpot_s.p99", 1e-3), "e2e_mean_s": ("measured.request_s.mean", 1),
    "e2e_median_s": ("measured.request_s.p50", 1), "ttft_median_ms": ("measured.ttft_s.p50", 1e-3),
    "itl_median_ms": ("measured.tpot_s.p50", 1e-3), "tpot_median_ms": ("measured.tpot_with_first_s.p50", 1e-3),
    "requests_per_s": ("measured.requests_per_s", 1), "output_tok_s": ("measured.output_tokens_per_s", 1),
    "total_tok_s_printed": ("measured.total_tokens_per_s", 1), "osl": ("measured.osl", 1),
}  # fmt: skip
# Keys that are words, or worked out by whoever wrote the table.
WORDS = ("tool", "model", "accelerator", "gpus", "note", "weights", "engine", "scenario", "speculative", "not_in_file")


def value(record: Any, path: str) -> Any:
    found = msgspec.to_builtins(record)
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def compare(record, wanted):
    absent = wanted.get("not_in_file", [])
    keys = [key for key in wanted if key not in WORDS and key not in absent and key in KEYS]
    for key in keys:
        path, unit = KEYS[key]
        assert value(record, path) == pytest.approx(wanted[key] * unit, rel=1e-3), key
    assert keys


GROUPS = ("inference_perf", "aiperf", "guidellm", "mlperf", "llama_bench")


def test_all_values_come_out(data):
    expected = json.loads((data / "results" / "expected.json").read_text())
    files = {name: wanted for name, wanted in expected.items() if name.startswith(GROUPS)}
    for name, wanted in files.items():
        found = recorded(data / "results" / name)
        if name.startswith("llama_bench"):
            compare_tests(found.records, wanted)
        elif "runs" in wanted:
            for record, run in zip(found.records, wanted["runs"], strict=True):
                compare(record, run)
        elif "synchronous" in wanted:
            by_name = {record.name: record for record in found.records}
            for part in ("synchronous", "throughput"):
                compare(by_name[part], wanted[part])
        else:
            (record,) = found.records
            compare(record, wanted)
    assert len(files) >= 13


def compare_tests(records, wanted):
    assert {record.stated.gpus for record in records} == {wanted["gpus"]}
    for record, test in zip(records, wanted.get("tests", ()), strict="tests" in wanted):
        rate = record.measured.output_tokens_per_s or record.measured.prefill_tokens_per_s
        assert rate == pytest.approx(float(test["avg_ts"]), rel=1e-4)
        assert record.stated.depth == int(test["n_depth"])
        assert (record.stated.isl, record.stated.osl) == (int(test["n_prompt"]), int(test["n_gen"]))


def test_a_table_without_lengths_or_rates_claims_none(data):
    found = recorded(data / "results" / "guidellm" / "qwen3.5-4b_l4_sweep.txt")

    assert {record.stated.request_rate for record in found.records} == {None}
    assert {record.measured.osl for record in found.records} == {None}
    assert len({record.name for record in found.records}) == 10


def test_the_samples_of_profiles_are_read_too(data):
    for name in ("bench-json/inference-perf_stage_0_lifecycle_metrics.json", "llama-bench/strixhalo_gpt-oss-20b.jsonl",
                 "mlperf/mi300x_llama2-70b_Interactive_mlperf_log_summary.txt"):  # fmt: skip
        assert recorded(data / "profiles" / name).records

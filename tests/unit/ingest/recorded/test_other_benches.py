"""inference-perf, guidellm, AIPerf, llama-bench and MLPerf: small results written by hand, and what is read of them."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.errors import BadConfig, BadInput
from rooflight.ingest.recorded.read import recorded


@pytest.fixture
def read(tmp_path):
    """What is read of a text, whatever its file is called."""

    def of(text: str | bytes):
        path = tmp_path / "results.bin"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return recorded(path)

    return of


STAGE = {
    "load_summary": {"count": 100, "send_duration": 50.0, "requested_rate": 3.0, "achieved_rate": 2.0},
    "successes": {
        "count": 98,
        "latency": {
            "request_latency": {"mean": 4.0, "median": 3.9, "p99": 8.0},
            "time_to_first_token": {"mean": 0.5},
            "time_per_output_token": {"mean": 0.035},
            "inter_token_latency": {"mean": 0.034},
            "normalized_time_per_output_token": {"mean": 0.04},
        },
        "throughput": {
            "input_tokens_per_sec": 1000.0,
            "output_tokens_per_sec": 200.0,
            "total_tokens_per_sec": 1200.0,
            "requests_per_sec": 1.9,
        },
        "prompt_len": {"mean": 500.0},
        "output_len": {"mean": 100.0},
    },
    "failures": {"count": 2, "request_latency": None},
}


def test_an_inference_perf_stage_is_in_seconds_and_keeps_arrivals_apart_from_completions(read):
    (one,) = read(json.dumps(STAGE)).records

    assert one.stated.request_rate == 3.0
    assert (one.measured.arrivals_per_s, one.measured.requests_per_s) == (2.0, 1.9)
    assert one.measured.request_s is not None
    assert (one.measured.request_s.mean, one.measured.request_s.p50, one.measured.request_s.p99) == (4.0, 3.9, 8.0)
    assert one.measured.tpot_s is not None
    assert one.measured.tpot_s.mean == 0.035
    assert one.measured.tpot_with_first_s is not None
    assert one.measured.tpot_with_first_s.mean == 0.04
    assert (one.measured.requests, one.measured.failed) == (98, 2)


def test_a_stage_without_successes_is_refused(read):
    with pytest.raises(BadConfig, match="no request of the stage ended well"):
        read(json.dumps({"load_summary": {"count": 3}, "successes": {}, "failures": {"count": 3}}))


GUIDELLM = """\
Request Token Statistics (Completed Requests)
|============|=====|=====|=====|=====|=====|=====|=====|=====|=====|=====|
| Benchmark  | Input Tok || Output Tok || Total Tok || Stream Iter || Output Tok ||
| Strategy   | Per Req   || Per Req    || Per Req   || Per Req     || Per Stream Iter ||
|            | Mdn | p95 | Mdn | p95 | Mdn | p95 | Mdn | p95 | Mdn | p95 |
|------------|-----|-----|-----|-----|-----|-----|-----|-----|-----|-----|
| concurrent | 200.0 | 200.0 | 50.0 | 50.0 | 250.0 | 250.0 | 52.0 | 52.0 | 1.0 | 1.0 |
|============|=====|=====|=====|=====|=====|=====|=====|=====|=====|=====|
Request Latency Statistics (Completed Requests)
| Benchmark  | Request Latency || TTFT || ITL || TPOT ||
| Strategy   | Sec || ms || ms || ms ||
|            | Mdn | p95 | Mdn | p95 | Mdn | p95 | Mdn | p95 |
|------------|-----|-----|-----|-----|-----|-----|-----|-----|
| concurrent | 2.0 | 2.2 | 530.0 | 600.0 | 30.0 | 31.0 | 40.0 | 44.0 |
Server Throughput Statistics (All Requests)
| Benchmark  | Requests ||| Input Tokens | Output Tokens | Total Tokens |
| Strategy   | Concurrency || Per Sec | Per Sec | Per Sec | Per Sec |
|            | Mdn | Mean | Mean ||||
|------------|-----|------|------|-----|-----|-----|
| concurrent | 8.0 | 7.9 | 4.0 | 800.0 | 200.0 | 1,000.0 |
"""


def test_guidellms_tables_are_one_record_a_benchmark_and_its_tpot_is_not_ours(read):
    found = read(GUIDELLM)
    (one,) = found.records

    assert (one.stated.concurrency, one.measured.isl, one.measured.osl) == (8, 200.0, 50.0)
    assert one.measured.tpot_s is not None
    assert one.measured.tpot_s.p50 == pytest.approx(0.030)  # its ITL: (2.0 s - 0.53 s) / 49
    assert one.measured.tpot_with_first_s is not None
    assert one.measured.tpot_with_first_s.p50 == pytest.approx(2.0 / 50)  # its TPOT
    assert one.measured.total_tokens_per_s == 1000.0
    assert one.measured.requests_per_s == 4.0
    assert any("counts the first token in" in note for note in found.notes)


def test_guidellms_report_gives_means_and_percentiles_of_requests_that_succeeded(read):
    metrics = {
        "request_latency": {"successful": {"mean": 2.0, "median": 1.9, "percentiles": {"p99": 3.0}}},
        "time_to_first_token_ms": {"successful": {"mean": 100.0}, "incomplete": {"mean": 5.0}},
        "inter_token_latency_ms": {"successful": {"mean": 20.0}},
        "requests_per_second": {"successful": {"mean": 5.0}},
        "request_concurrency": {"successful": {"mean": 10.0}},
    }
    strategy = {"type_": "constant", "rate": 5.0}
    (one,) = read(json.dumps({"benchmarks": [{"args": {"strategy": strategy}, "metrics": metrics}]})).records

    assert one.stated.request_rate == 5.0
    assert one.measured.ttft_s is not None
    assert one.measured.ttft_s.mean == 0.1
    assert one.measured.request_s is not None
    assert one.measured.request_s.p99 == 3.0
    assert one.measured.in_flight == 10.0


AIPERF = """\
$ aiperf profile --model small --concurrency {limit} --request-count 20
                 NVIDIA AIPerf | LLM Metrics
┃                               Metric ┃       avg ┃   min ┃   max ┃   p99 ┃   p90 ┃   p50 ┃  std ┃
│             Time to First Token (ms) │    500.00 │ 400.0 │ 900.0 │ 890.0 │ 700.0 │ 480.0 │ 10.0 │
│                 Request Latency (ms) │  4,000.00 │   N/A │   N/A │   N/A │   N/A │   N/A │  N/A │
│             Inter Token Latency (ms) │     35.00 │  30.0 │  40.0 │  39.0 │  38.0 │  35.0 │  1.0 │
│     Output Token Throughput Per User │     28.00 │  20.0 │  30.0 │  29.0 │  29.0 │  28.0 │  1.0 │
│                    (tokens/sec/user) │           │       │       │       │       │       │      │
│      Output Sequence Length (tokens) │    101.00 │ 101.0 │ 101.0 │ 101.0 │ 101.0 │ 101.0 │  0.0 │
│ Output Token Throughput (tokens/sec) │    252.50 │   N/A │   N/A │   N/A │   N/A │   N/A │  N/A │
│    Request Throughput (requests/sec) │      2.50 │   N/A │   N/A │   N/A │   N/A │   N/A │  N/A │
"""


def test_aiperfs_table_has_milliseconds_and_thousands_commas(read):
    (one,) = read(AIPERF.format(limit=10)).records

    assert (one.stated.model, one.stated.concurrency, one.stated.num_prompts) == ("small", 10, 20)
    assert one.measured.request_s is not None
    assert one.measured.request_s.mean == 4.0
    assert one.measured.tpot_s == one.measured.itl_s
    assert one.measured.output_tokens_per_s_per_user == 28.0


def test_a_command_that_does_not_belong_to_its_table_is_left_out_and_said(read):
    found = read(AIPERF.format(limit=100))  # 2.5 requests/s x 4 s = 10 in flight

    assert found.records[0].stated.concurrency is None
    assert any("make 10.0" in note for note in found.notes)


def test_aiperfs_exports_say_what_its_table_does(read):
    exported = {
        "input_config": {"endpoint": {"model_names": ["small"]}, "loadgen": {"concurrency": 10}},
        "time_to_first_token": {"unit": "ms", "avg": 500.0, "p50": 480.0},
        "request_latency": {"unit": "ms", "avg": 4000.0},
        "request_throughput": {"unit": "requests/sec", "avg": 2.5},
    }
    listed = (
        "Metric,avg,min,p99\nTime to First Token (ms),500.00,400.0,890.0\n\nMetric,Value\nRequest Throughput,2.50\n"
    )
    for text in (json.dumps(exported), listed):
        (one,) = read(text).records
        assert one.measured.ttft_s is not None
        assert one.measured.ttft_s.mean == 0.5
        assert one.measured.requests_per_s == 2.5


TEST = {
    "build_commit": "abc", "build_number": 9000, "gpu_info": "NVIDIA GeForce RTX 3090, NVIDIA GeForce RTX 3090",
    "model_filename": "C:\\models\\Some-8B-Q4_K_M-00001-of-00002.gguf", "model_type": "llama 8B Q4_K - Medium",
    "model_size": 4_500_000_000, "model_n_params": 8_000_000_000, "n_batch": 2048, "n_ubatch": 512, "type_k": "f16",
    "type_v": "q8_0", "n_prompt": 0, "n_gen": 128, "n_depth": 4096, "avg_ts": 50.0, "stddev_ts": 0.0,
}  # fmt: skip


def test_llama_bench_says_the_same_in_all_its_forms(read):
    prompts = TEST | {"n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ts": 2000.0}
    rows = [TEST, prompts]
    header = ",".join(TEST)
    lines = "\n".join(",".join(f'"{value}"' for value in row.values()) for row in rows)
    forms = [
        json.dumps(rows), "\n".join(map(json.dumps, rows)), f"ggml_cuda_init: found 2 devices\n{header}\n{lines}\n",
        gzip.compress(json.dumps(rows).encode()), "\ufeff" + json.dumps(rows),
    ]  # fmt: skip
    for form in forms:
        decode, prefill = read(form).records
        assert decode.stated.model == "Some-8B-Q4_K_M"
        assert (decode.stated.weights, decode.stated.kv_cache) == ("q4_k_m", "fp16/q8_0")
        assert (decode.stated.gpus, decode.stated.device) == (2, "NVIDIA GeForce RTX 3090")
        assert (decode.stated.phase, decode.stated.depth, decode.stated.osl) == ("decode", 4096, 128.0)
        assert decode.measured.tpot_s is not None
        assert decode.measured.tpot_s.mean == 1 / 50.0
        assert decode.measured.bits_per_weight == 8 * 4.5 / 8
        assert prefill.measured.prefill_tokens_per_s == 2000.0
        assert prefill.measured.output_tokens_per_s is None


def test_a_file_called_f16_whose_weights_have_five_bits_states_no_format(read):
    (one,) = read(json.dumps([TEST | {"model_type": "gpt-oss 20B F16"}])).records

    assert one.stated.weights is None


def test_llama_benchs_markdown_has_devices_build_and_both_kinds_of_test(read):
    found = read(
        "  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes\n"
        "| model | size | params | backend | ngl | test | t/s |\n"
        "| --- | ---: | ---: | --- | --: | ---: | ---: |\n"
        "| llama 8B Q4_K - Medium | 4.00 GiB | 8.00 B | CUDA | 99 | pp512 | 2000.00 ± 5.00 |\n"
        "| llama 8B Q4_K - Medium | 4.00 GiB | 8.00 B | CUDA | 99 | tg128 @ d4096 | 50.00 ± 10.00 |\n"
        "\nbuild: abc123 (7000)\n"
    )
    prefill, decode = found.records

    assert found.version == "b7000"
    assert prefill.measured.prefill_tokens_per_s == 2000.0
    assert prefill.measured.weights_bytes == 4 * 2**30
    assert decode.stated.depth == 4096
    assert decode.measured.tpot_s is not None
    assert (decode.measured.tpot_s.low, decode.measured.tpot_s.high) == (1 / 60, 1 / 40)


MLPERF = """\
================================================
MLPerf Results Summary
================================================
Scenario : {scenario}
Completed samples per second    : 10.00
Completed tokens per second: 3000.00
Result is : VALID
Mean latency (ns)               : 5000000000
Mean First Token latency (ns)               : 250000000
Mean Time to Output Token (ns)               : 20000000
99.00 percentile time to output token (ns)   : 30000000
samples_per_query : 1
target_qps : 11
"""


def test_mlperf_is_in_nanoseconds_and_its_tokens_a_sample_are_a_quotient(read):
    (one,) = read(MLPERF.format(scenario="Server")).records

    assert one.stated.request_rate == 11.0
    assert one.measured.osl == 3000 / 10
    assert one.measured.request_s is not None
    assert one.measured.request_s.mean == 5.0
    assert one.measured.tpot_s is not None
    assert (one.measured.tpot_s.mean, one.measured.tpot_s.p99) == pytest.approx((0.020, 0.030))


def test_mlperf_offline_claims_no_time_of_a_token(read):
    found = read(MLPERF.format(scenario="Offline"))
    (one,) = found.records

    assert (one.measured.request_s, one.measured.ttft_s, one.measured.tpot_s) == (None, None, None)
    assert any("one query" in note for note in found.notes)


WHOLE = [json.dumps(STAGE), GUIDELLM, AIPERF.format(limit=10), json.dumps([TEST]), MLPERF.format(scenario="Server")]


@given(st.sampled_from(WHOLE), st.data())
def test_damaged_results_are_read_or_refused_in_words(tmp_path_factory, text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    middle = data.draw(st.text(max_size=8) | st.sampled_from(["null", "-1", "1e999", "[]", "{}", "NaN", "|", "\n"]))
    path = tmp_path_factory.mktemp("damaged") / "file"
    path.write_bytes((text[:start] + middle + text[end:]).encode("utf-8", "surrogatepass"))
    try:
        found = recorded(path)
    except (BadInput, BadConfig) as error:
        assert error.want
    else:
        assert found.records

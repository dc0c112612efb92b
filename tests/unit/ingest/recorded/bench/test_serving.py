"""Results of load generators of vLLM's family, as JSON: what comes out, in base units, and what is never claimed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.errors import RooflightError
from rooflight.ingest.recorded.read import recorded
from rooflight.values.recorded import Recorded, Spread

# 100 requests in 50 s, 2 in and 1 out of each second's thousand; a request takes 4 s.
RUN = {
    "date": "20260101-000000", "backend": "vllm", "model_id": "org/model", "num_prompts": 100, "request_rate": "inf",
    "max_concurrency": 8, "duration": 50.0, "completed": 100, "total_input_tokens": 100_000,
    "total_output_tokens": 50_000, "request_throughput": 2.0, "output_throughput": 1000.0,
    "total_token_throughput": 3000.0, "max_concurrent_requests": 16, "mean_ttft_ms": 500.0, "median_ttft_ms": 400.0,
    "p90_ttft_ms": 800.0, "p99_ttft_ms": 900.0, "mean_tpot_ms": 7.0, "p95_tpot_ms": 8.0, "mean_itl_ms": 7.5,
    "mean_e2el_ms": 4000.0,
}  # fmt: skip


def read(tmp_path, text: str | bytes | dict | list, name: str = "any.bin") -> Recorded:
    path = tmp_path / name
    if isinstance(text, dict | list):
        text = json.dumps(text)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return recorded(path)


def only(found: Recorded):
    (record,) = found.records
    return record


def test_a_run_of_vllm(tmp_path):
    found = read(tmp_path, RUN)
    assert (found.format, found.tool) == ("vllm-bench-serve", "vllm bench serve")
    record = only(found)
    how, out = record.stated, record.measured
    assert (how.model, how.engine, how.concurrency, how.num_prompts) == ("org/model", "vllm", 8, 100)
    assert how.request_rate is None  # inf: all at once, no rate
    assert (how.isl, how.osl, how.gpus, how.tp, how.batch) == (None,) * 5
    assert (out.duration_s, out.requests, out.requests_per_s) == (50.0, 100, 2.0)
    assert (out.isl, out.osl) == (100_000 / 100, 50_000 / 100)
    assert (out.output_tokens_per_s, out.total_tokens_per_s) == (1000.0, 3000.0)
    assert out.ttft_s == Spread(mean=0.5, p50=0.4, p90=0.8, p99=0.9)
    assert out.tpot_s == Spread(mean=0.007, p95=0.008)
    assert out.request_s == Spread(mean=4.0)
    # 100 requests in 50 s, 4 s each, by Little's law; the peak is another thing
    assert (out.in_flight, out.peak_in_flight) == (100 / 50 * 4, 16)
    assert "Little" in found.notes[0]


def test_nobody_is_in_flight_where_no_request_was_timed(tmp_path):
    bare = {key: value for key, value in RUN.items() if key != "mean_e2el_ms"}
    assert only(read(tmp_path, bare)).measured.in_flight is None
    median = bare | {"median_e2el_ms": 4000.0}
    assert only(read(tmp_path, median)).measured.in_flight is None  # a median makes no mean
    each = bare | {"latencies": [3.0, 5.0, 0.0, 4.0]}  # the third failed
    out = only(read(tmp_path, each)).measured
    assert (out.request_s.mean, out.request_s.p50, out.request_s.low, out.request_s.high) == (4.0, 4.0, 3.0, 5.0)
    assert out.in_flight == 100 / 50 * 4


def test_first_spellings_of_benchmark_serving(tmp_path):
    """v0.3: request_inthroughput; some wrote total_input and total_output."""
    old = {
        "model_id": "m", "duration": 10, "completed": 5, "total_input": 500, "total_output": 50,
        "request_inthroughput": 0.5, "input_throughput": 50.0, "output_throughput": 5.0, "median_tpot_ms": 20.0,
    }  # fmt: skip
    out = only(read(tmp_path, old)).measured
    assert (out.requests_per_s, out.input_tokens_per_s, out.output_tokens_per_s) == (0.5, 50, 5)
    assert (out.isl, out.osl, out.tpot_s) == (100, 10, Spread(p50=0.02))


@pytest.mark.parametrize(
    "listed",
    [[[90.0, 800.0], [99.0, 900.0], [12.5, 1.0]], {"p90": 800.0, "99": "900"}, [["90", 800], ["p99", 900], 7, [1]]],
)
def test_percentiles_in_a_list(tmp_path, listed):
    bare = {key: value for key, value in RUN.items() if "_ttft_" not in key} | {"percentiles_ttft_ms": listed}
    assert only(read(tmp_path, bare)).measured.ttft_s == Spread(p90=0.8, p99=0.9)


def test_several_runs(tmp_path):
    other = RUN | {"max_concurrency": 16}
    as_list = read(tmp_path, [RUN, other])
    lines = read(
        tmp_path,
        "\n".join(
            [json.dumps(RUN), "Namespace(x=1)", "", json.dumps(other), '{"cut": '],
        ),
    )
    pretty = read(tmp_path, json.dumps(RUN, indent=2) + "\n" + json.dumps(other, indent=2))
    for found in (as_list, lines, pretty):
        assert [one.name for one in found.records] == ["concurrency 8", "concurrency 16"]
        assert found.records[1].measured == as_list.records[1].measured
    assert [one.line for one in lines.records] == [1, 4]


def test_a_line_that_is_no_result_is_said(tmp_path):
    found = read(tmp_path, json.dumps(RUN) + "\nwarning: something\n" + json.dumps(RUN))
    assert len(found.records) == 2
    assert "line 2 is no JSON object and left out" in found.notes


def test_what_a_program_printed_in_front_is_passed_over(tmp_path):
    found = read(tmp_path, f"INFO starting\n100%|###| 20/20\n{json.dumps(RUN)}\n")
    assert only(found).measured.requests == 100
    assert "2 lines from line 1 on are no JSON object and left out" in found.notes


def test_times_of_zero_are_not_measured(tmp_path):
    """An endpoint that does not stream: "ttfts is empty if streaming is not supported"."""
    bare = {key: value for key, value in RUN.items() if "_ttft_" not in key and "_itl_" not in key}
    found = read(tmp_path, bare | {"mean_ttft_ms": 0.0, "p99_ttft_ms": 0.0, "mean_itl_ms": 0, "median_itl_ms": -0.0})
    assert (only(found).measured.ttft_s, only(found).measured.itl_s) == (None, None)
    assert any("times of 0" in note for note in found.notes)


def test_a_run_in_which_everything_failed_has_no_rates(tmp_path):
    found = read(tmp_path, RUN | {"completed": 0, "failed": 100, "request_throughput": 0.0, "output_throughput": 0.0})
    out = only(found).measured
    assert (out.requests, out.failed, out.output_tokens_per_s, out.ttft_s) == (0, 100, None, None)
    assert "no request succeeded" in found.notes


def test_speculation_is_said(tmp_path):
    drafted = {
        "spec_decode_acceptance_rate": 62.5, "spec_decode_num_drafts": 1000, "spec_decode_draft_tokens": 3000,
    }  # fmt: skip
    record = only(read(tmp_path, RUN | drafted))
    assert (record.stated.speculative, record.stated.draft_tokens) == (True, 3)
    assert record.measured.acceptance == pytest.approx(0.625)  # printed in percent
    assert only(read(tmp_path, RUN)).stated.speculative is None


def test_metadata_of_a_layout(tmp_path):
    how = only(read(tmp_path, RUN | {"tp": "4", "pipeline_parallel_size": 2, "backend": "openai"})).stated
    assert (how.tp, how.pp, how.dp, how.engine) == (4, 2, None, None)


def test_texts_of_users_are_not_kept(tmp_path):
    detailed = RUN | {
        "generated_texts": ["a secret"], "errors": ["another secret"], "input_lens": [1], "ttfts": [0.5], "label": "x",
    }  # fmt: skip
    assert "secret" not in str(read(tmp_path, detailed))


def test_bare_infinity_and_odd_encodings(tmp_path):
    """Python writes Infinity; editors write marks."""
    text = json.dumps(RUN | {"request_rate": float("inf")})
    assert "Infinity" in text
    found = [read(tmp_path, raw) for raw in (text, text.encode("utf-8-sig"), text.encode("utf-16"))]
    assert found[0].records == found[1].records == found[2].records


# --- SGLang


SGLANG = {
    "backend": "sglang", "dataset_name": "random", "request_rate": float("inf"), "max_concurrency": 32,
    "sharegpt_output_len": None, "random_input_len": 1024, "random_output_len": 128, "random_range_ratio": 1.0,
    "duration": 10.0, "completed": 20, "total_input_tokens": 20_480, "total_output_tokens": 2560,
    "total_output_tokens_retokenized": 2500, "request_throughput": 2.0, "output_throughput": 256.0,
    "mean_e2e_latency_ms": 3000.0, "mean_ttft_ms": 100.0, "concurrency": 5.9, "accept_length": None,
}  # fmt: skip


def test_a_run_of_sglang(tmp_path):
    found = read(tmp_path, json.dumps(SGLANG) + "\n")
    assert found.format == "sglang-bench"
    record = only(found)
    assert (record.stated.engine, record.stated.isl, record.stated.osl) == ("sglang", 1024, 128)
    assert record.measured.in_flight == 5.9  # measured there, not worked out: nothing is noted
    assert found.notes == ()
    assert record.measured.output_tokens == 2560  # as the server counts, not the client's tokenizer
    assert record.measured.request_s == Spread(mean=3.0)


def test_lengths_that_vary_are_not_stated(tmp_path):
    record = only(read(tmp_path, SGLANG | {"random_range_ratio": 0.0}))
    assert (record.stated.isl, record.stated.osl) == (None, None)
    assert (record.measured.isl, record.measured.osl) == (20_480 / 20, 2560 / 20)


def test_what_the_server_says_of_itself(tmp_path):
    server = {
        "model_path": "org/m", "tp_size": 8, "dp_size": 8, "enable_dp_attention": True, "version": "0.5.4",
        "kv_cache_dtype": "fp8_e5m2", "mem_fraction_static": 0.85, "chunked_prefill_size": 4096,
        "max_running_requests": 256, "context_length": 32768, "speculative_algorithm": "EAGLE",
        "speculative_num_draft_tokens": 4,
    }  # fmt: skip
    how = only(read(tmp_path, SGLANG | {"server_info": server})).stated
    assert (how.model, how.engine_version, how.kv_cache, how.memory_share) == ("org/m", "0.5.4", "fp8", 0.85)
    assert (how.gpus, how.tp, how.dp) == (8, 1, 8)  # attention is whole on each of eight
    assert (how.max_num_batched_tokens, how.max_num_seqs, how.context_tokens) == (4096, 256, 32768)
    assert (how.speculative, how.draft_tokens) == (True, 4)
    plain = only(read(tmp_path, SGLANG | {"server_info": {"tp_size": 4, "dp_size": 2}})).stated
    assert (plain.gpus, plain.tp, plain.dp) == (8, 4, 2)


def test_one_batch(tmp_path):
    """bench_one_batch: a prefill of 8 x 1000 tokens in half a second, then steps of 10 ms."""
    line = {
        "run_name": "default", "batch_size": 8, "input_len": 1000, "output_len": 101, "prefill_latency": 0.5,
        "prefill_throughput": 16_000.0, "median_decode_latency": 0.01, "median_decode_throughput": 800.0,
        "total_latency": 1.5, "overall_throughput": 8 * 1101 / 1.5,
    }  # fmt: skip
    record = only(read(tmp_path, line))
    how, out = record.stated, record.measured
    assert (how.batch, how.isl, how.osl, how.concurrency) == (8, 1000, 101, None)
    assert out.ttft_s == out.prefill_s == Spread(mean=0.5)
    assert (out.tpot_s, out.request_s) == (Spread(p50=0.01), Spread(mean=1.5))
    assert out.prefill_tokens_per_s == 16_000
    assert out.output_tokens_per_s == 8 * 101 / 1.5


def test_one_batch_through_a_server(tmp_path):
    """Its newer output_throughput is of decoding alone: 8 x 101 / (1.5 - 0.5). Here it is of the whole."""
    line = {
        "run_name": "", "batch_size": 8, "input_len": 1000, "output_len": 101, "latency": 1.5,
        "input_throughput": 16_000.0, "output_throughput": 808.0, "overall_throughput": 5872.0, "last_ttft": 0.5,
        "last_gen_throughput": -1, "acc_length": 2.5, "cache_hit_rate": 0.25,
    }  # fmt: skip
    found = read(tmp_path, line)
    out = only(found).measured
    assert out.output_tokens_per_s == 8 * 101 / 1.5
    assert (out.ttft_s, out.decode_s, out.prefill_tokens_per_s) == (Spread(high=0.5), Spread(mean=1.0), 16_000)
    assert only(found).stated.speculative is True
    assert "25 % of the prompt tokens were cached" in found.notes


def test_offline_throughput(tmp_path):
    line = {
        "backend": "engine", "successful_requests": 10, "total_latency": 5.0, "total_input_tokens": 1000,
        "total_output_tokens": 500, "request_throughput": 2.0, "input_throughput": 200.0, "output_throughput": 100.0,
        "total_throughput": 300.0,
    }  # fmt: skip
    record = only(read(tmp_path, line))
    assert (record.stated.engine, record.stated.num_prompts) == ("sglang", 10)
    out = record.measured
    assert (out.duration_s, out.isl, out.osl, out.total_tokens_per_s) == (5, 100, 50, 300)


def test_a_sweep_of_an_author(tmp_path):
    sweep = {
        "model": "M AWQ", "engine": "SGLang", "method": "TPOT median", "hardware": "2x R9700 TP=2", "output_tokens": 80,
        "context_sweep": [{"context": 4096, "input_len": 3673, "tpot_ms": 12.5, "tok_per_sec": 80.0}],
        "throughput_sweep": [
            {"concurrency": 1, "throughput": 4.79, "tpot_ms": 39.17, "ttft_ms": 45.12}, "odd",
            {"concurrency": 8, "throughput": 80.0, "tpot_ms": 50.0, "ttft_ms": 100.0},
        ],
    }  # fmt: skip
    found = read(tmp_path, sweep)
    alone, first, second = found.records
    assert (alone.stated.device, alone.stated.gpus, alone.stated.tp) == ("R9700", 2, 2)
    # 80 tok/s x 12.5 ms = 1: one stream, of decoding alone
    assert (alone.name, alone.stated.phase, alone.stated.batch) == ("context 4,096", "decode", 1)
    assert (alone.measured.isl, alone.measured.osl, alone.measured.tpot_s) == (3673, 80, Spread(p50=0.0125))
    assert (first.stated.concurrency, first.stated.phase) == (1, None)
    assert second.measured.ttft_s == Spread(p50=0.1)
    # 80 / (0.04512 + 79 x 0.03917) = 25.5 tok/s, not 4.79; the second closes: 8 x 80 / (0.1 + 79 x 0.05) = 158 < 160
    assert len(found.notes) == 1
    assert "concurrency 1: 4.79 tokens/s, where its times make 25.48" in found.notes[0]


# --- InferenceX


def test_times_of_inferencex_are_seconds(tmp_path):
    found = read(tmp_path, {
        "model_id": "m", "num_prompts": 10, "request_rate": "inf", "max_concurrency": 2, "duration": 5.0,
        "completed": 10, "total_input_tokens": 100, "total_output_tokens": 10, "request_throughput": 2.0,
        "output_throughput": 2.0, "median_ttft": 0.9, "p99_ttft": 1.4, "median_tpot": 0.022,
    })  # fmt: skip
    assert found.format == "inferencex"
    out = only(found).measured
    assert (out.ttft_s, out.tpot_s) == (Spread(p50=0.9, p99=1.4), Spread(p50=0.022))
    assert out.in_flight is None
    assert "only medians and percentiles are given, no means" in found.notes


ROW = {
    "hw": "h200", "conc": 16, "model": "org/m", "framework": "dynamo-trt", "precision": "fp8", "spec_decoding": "none",
    "disagg": False, "isl": 1024, "osl": 128, "tp": 8, "ep": 8, "dp_attention": "false", "tput_per_gpu": 100.0,
    "output_tput_per_gpu": 10.0, "mean_ttft": 0.5, "mean_tpot": 0.02, "mean_intvty": 50.0,
}  # fmt: skip


def test_an_aggregated_row(tmp_path):
    record = only(read(tmp_path, ROW))
    how, out = record.stated, record.measured
    assert (how.device, how.engine, how.weights, how.speculative) == ("h200", "tensorrt-llm", "fp8", False)
    assert (how.gpus, how.tp, how.ep, how.dp, how.concurrency) == (8, 8, 8, None, 16)
    assert (how.isl, how.osl) == (1024, 128)
    assert (out.total_tokens_per_s, out.output_tokens_per_s) == (8 * 100, 8 * 10)
    assert (out.ttft_s, out.tpot_s) == (Spread(mean=0.5), Spread(mean=0.02))


def test_attention_of_each_device_by_itself(tmp_path):
    how = only(read(tmp_path, ROW | {"dp_attention": "true", "spec_decoding": "mtp", "precision": "fp4"})).stated
    assert (how.gpus, how.tp, how.dp, how.ep) == (8, 1, 8, 8)
    assert (how.speculative, how.weights) == (True, None)  # whose fp4 is not said


def test_a_disaggregated_row_keeps_its_pools_apart(tmp_path):
    """20 devices prefill, 8 decode; output is counted by the 8."""
    pools = {
        "disagg": True, "is_multinode": True, "prefill_tp": 4, "prefill_ep": 4, "prefill_dp_attention": "true",
        "prefill_num_workers": 5, "decode_tp": 8, "decode_ep": 8, "decode_dp_attention": "false",
        "decode_num_workers": 1, "num_prefill_gpu": 20, "num_decode_gpu": 8,
    }  # fmt: skip
    row = {key: value for key, value in ROW.items() if key not in ("tp", "ep", "dp_attention")} | pools
    how, out = only(read(tmp_path, row)).stated, only(read(tmp_path, row)).measured
    assert (how.gpus, how.prefill_workers, how.decode_workers) == (28, 5, 1)
    assert (how.tp, how.ep, how.prefill_tp, how.prefill_ep, how.prefill_dp) == (8, 8, 1, 4, 4)
    assert (out.total_tokens_per_s, out.output_tokens_per_s) == (28 * 100, 8 * 10)


# --- offline


def test_latency_of_a_batch(tmp_path):
    found = read(tmp_path, {
        "avg_latency": 2.0, "std_latency": 0.1, "latencies": [1.9, 2.1],
        "percentiles": {"10": 1.91, "50": 2.0, "90": 2.08, "99": 2.1},
    })  # fmt: skip
    assert found.format == "vllm-bench-offline"
    assert only(found).measured.request_s == Spread(mean=2.0, p50=2.0, p90=2.08, p99=2.1, low=1.9, high=2.1)
    assert only(found).stated.batch is None
    assert found.lacks == ("the batch, and the tokens in and out of each sequence",)


def test_throughput_counts_prompts_and_output_together(tmp_path):
    found = read(tmp_path, {
        "elapsed_time": 10.0, "num_requests": 20, "total_num_tokens": 3000, "requests_per_second": 2.0,
        "tokens_per_second": 300.0,
    })  # fmt: skip
    out = only(found).measured
    assert (out.total_tokens_per_s, out.output_tokens_per_s, out.output_tokens, out.isl) == (300, None, None, None)
    assert found.lacks == ("tokens in and tokens out apart",)


# --- anything

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["inf", "-1", "1e999", "x", ""])
NAMES = st.sampled_from(["90", "tp_size", "x"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2), max_leaves=6
)
KEYS = st.sampled_from(sorted({*RUN, *SGLANG, *ROW, "percentiles_ttft_ms", "latencies", "avg_latency", "percentiles",
    "elapsed_time", "num_requests", "total_num_tokens", "batch_size", "input_len", "output_len", "latency", "last_ttft",
    "context_sweep", "throughput_sweep", "server_info", "successful_requests", "total_latency", "median_ttft",
    "hardware", "spec_decode_num_drafts", "spec_decode_draft_tokens", "prefill_latency"}))  # fmt: skip


@given(base=st.sampled_from([RUN, SGLANG, ROW, {}]), odd=st.dictionaries(KEYS, VALUES, max_size=8))
def test_no_value_is_a_traceback(tmp_path_factory, base, odd):
    """Whatever stands under a key: it is read, left out, or refused in words; nothing negative or endless comes out."""
    path = tmp_path_factory.mktemp("fuzz") / "one"
    path.write_text(json.dumps({**base, **odd}))
    try:
        found = recorded(path)
    except RooflightError:
        return
    for one in found.records:
        for name in one.measured.__struct_fields__:
            value = getattr(one.measured, name)
            assert value is None or isinstance(value, Spread) or 0 <= value < float("inf"), name


@given(st.text(alphabet='{}[]":,\n 1ae.-', max_size=300))
def test_no_text_is_a_traceback(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("fuzz") / "one"
    path.write_text('{"completed": 1, "total_input_tokens": 1, "request_throughput": 1}\n' + text)
    assert recorded(path).records

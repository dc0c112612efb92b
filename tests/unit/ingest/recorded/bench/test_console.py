"""Printed results as people paste them: noise around, commas, several of them, the command in front."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.errors import BadConfig, RooflightError
from rooflight.ingest.recorded.read import recorded
from rooflight.values.recorded import Recorded, Spread

BLOCK = """\
============ Serving Benchmark Result ============
Successful requests:                     1,000
Benchmark duration (s):                  100.00
Total input tokens:                      1,024,000
Total generated tokens:                  128000
Request throughput (req/s):              10.00
Output token throughput (tok/s):         1,280.00
Peak output token throughput (tok/s):    2000.00
Peak concurrent requests:                64.00
Total Token throughput (tok/s):          11,520.00
---------------Time to First Token----------------
Mean TTFT (ms):                          1,250.00
Median TTFT (ms):                        1100.00
P99 TTFT (ms):                           3000.00
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          20.00
----------------End-to-end Latency----------------
Mean E2EL (ms):                          4000.00
==================================================
"""


def read(tmp_path, text: str) -> Recorded:
    path = tmp_path / "notes.md"
    path.write_text(text, encoding="utf-8")
    return recorded(path)


def test_a_pasted_result(tmp_path):
    found = read(tmp_path, f"so I ran it:\n\n```\n{BLOCK}```\nIs 20 ms good? Mean TTFT (ms): 7\n")
    assert found.format == "bench-console"
    (record,) = found.records
    out = record.measured
    assert (out.requests, out.input_tokens, out.output_tokens, out.duration_s) == (1000, 1_024_000, 128_000, 100)
    assert (out.isl, out.osl) == (1024, 128)
    assert (out.output_tokens_per_s, out.total_tokens_per_s, out.requests_per_s) == (1280, 11_520, 10)
    assert out.ttft_s == Spread(mean=1.25, p50=1.1, p99=3.0)
    assert (out.tpot_s, out.itl_s) == (Spread(mean=0.02), None)
    assert (out.in_flight, out.peak_in_flight) == (1000 / 100 * 4, 64)  # by Little's law; the peak is none
    assert (record.stated.concurrency, record.stated.request_rate, record.line) == (None, None, 4)


@pytest.mark.parametrize(
    "prefix", ["", "> ", "| ", "(APIServer pid=17) ", "[1,0]<stdout>: ", "2026-01-01 10:00:00,123 INFO [serve.py:12] "]
)
def test_whatever_a_log_puts_in_front_of_each_line(tmp_path, prefix):
    text = "".join(f"{prefix}{line}\n" for line in BLOCK.splitlines())
    (record,) = read(tmp_path, text).records
    (bare,) = read(tmp_path, BLOCK).records
    assert record.measured == bare.measured


def test_several_results_each_by_itself(tmp_path):
    """One that nobody closed ends where the next begins."""
    cut = BLOCK.replace("=" * 50, "").replace("1,280.00", "640")
    found = read(tmp_path, f"# rate 2\n{cut}\n# rate 4\n{BLOCK}\n")
    assert [one.measured.output_tokens_per_s for one in found.records] == [640, 1280]
    assert [one.line for one in found.records] == [2, 23]


def test_what_sglang_prints(tmp_path):
    text = """
============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    2.0
Max request concurrency:                 not set
Successful requests:                     100
Benchmark duration (s):                  50.00
Total input tokens:                      1000
Total generated tokens:                  2000
Total generated tokens (retokenized):    1500
Input token throughput (tok/s):          20.00
Total throughput (tok/s):                60.00
Concurrency:                             12.34
Accept length:                           2.90
Mean E2E Latency (ms):                   6170.00
Mean TPOT (ms):                          1.76
Median TPOT (ms):                        -0.00
Mean ITL (ms):                           0.00
P99 ITL (ms):                            0.00
==================================================
"""
    found = read(tmp_path, text)
    (record,) = found.records
    out = record.measured
    assert found.tool == "sglang bench"
    assert (record.stated.engine, record.stated.request_rate, record.stated.concurrency) == ("sglang", 2.0, None)
    assert (out.output_tokens, out.in_flight, out.total_tokens_per_s) == (2000, 12.34, 60)
    assert (out.request_s, out.tpot_s, out.itl_s) == (Spread(mean=6.17), Spread(mean=0.00176), None)
    assert record.stated.speculative is True


def test_the_first_way_to_print_them(tmp_path):
    """benchmark_serving.py of early 2024: the unit behind the value."""
    text = BLOCK[: BLOCK.index("Successful")] + "Mean TTFT: 50.00 ms\nMean TPOT: 0.5 s\nSuccessful requests: 3\n"
    (record,) = read(tmp_path, text).records
    assert (record.measured.ttft_s, record.measured.tpot_s) == (Spread(mean=0.05), Spread(mean=0.5))


COMMAND = "python -m vllm.entrypoints.openai.api_server --model org/m -tp 4 --max-model-len 8192 --max-num-seqs=256\n"


def test_the_command_in_front_of_it(tmp_path):
    client = "vllm bench serve --num-prompts 1000 --max-concurrency 40 --request-rate inf --random-input-len 1024\n"
    (record,) = read(tmp_path, COMMAND + client + BLOCK).records
    how = record.stated
    assert (how.model, how.engine, how.tp, how.gpus, how.context_tokens) == ("org/m", "vllm", 4, 4, 8192)
    assert (how.max_num_seqs, how.concurrency, how.num_prompts, how.isl, how.request_rate) == (
        256,
        40,
        1000,
        1024,
        None,
    )


@pytest.mark.parametrize("client", ["--max-concurrency 10", "--num-prompts 100"])
def test_a_command_that_the_results_contradict_is_not_theirs(tmp_path, client):
    """40 were in flight, 1,000 requests: not at concurrency 10, not of 100 prompts. The server may be the same."""
    found = read(tmp_path, f"{COMMAND}vllm bench serve {client} --random-input-len 1024\n{BLOCK}")
    how = found.records[0].stated
    assert (how.tp, how.concurrency, how.num_prompts, how.isl) == (4, None, None, None)
    assert "the command in front of a result is not the one that made it" in found.notes


def test_a_flag_with_two_values_says_nothing(tmp_path):
    (record,) = read(tmp_path, f"{COMMAND}vllm serve org/other -tp 8\n{BLOCK}").records
    assert (record.stated.tp, record.stated.gpus, record.stated.model) == (None, None, "org/m")


def test_arguments_as_python_prints_them(tmp_path):
    text = f"Namespace(backend='vllm', model='org/m', num_prompts=1000, max_concurrency=None)\n{BLOCK}"
    (record,) = read(tmp_path, text).records
    assert (record.stated.model, record.stated.num_prompts, record.stated.concurrency) == ("org/m", 1000, None)


def test_what_is_printed_stands_before_a_command(tmp_path):
    text = BLOCK.replace("Benchmark duration", "Maximum request concurrency:             48\nBenchmark duration")
    (record,) = read(tmp_path, f"vllm bench serve --max-concurrency 64\n{text}").records
    assert record.stated.concurrency == 48


def test_a_throughput_line(tmp_path):
    """12.80 output tokens/s and 128 of them: 10 s, 20 requests of 100 and 6.4 tokens."""
    new = "INFO 01-01 Throughput: 2.00 requests/s, 212.80 total tokens/s, 12.80 output tokens/s\n"
    new += "Total num prompt tokens:  2000\nTotal num output tokens:  128\n"
    old = "Throughput: 13.18 requests/s, 5,393.16 tokens/s\n"
    first, second = read(tmp_path, new + old).records
    out = first.measured
    assert (out.requests_per_s, out.total_tokens_per_s, out.output_tokens_per_s) == (2, 212.8, 12.8)
    assert (out.input_tokens, out.output_tokens) == (2000, 128)
    assert (out.duration_s, out.requests, out.isl, out.osl) == (10, 20, 100, 6.4)
    assert (second.measured.total_tokens_per_s, second.measured.output_tokens_per_s) == (5393.16, None)
    assert (second.measured.isl, second.line) == (None, 4)


def test_latency_of_a_batch(tmp_path):
    text = "Avg latency: 1.5 seconds\n10% percentile latency: 1.4 seconds\n50% percentile latency: 1.49 seconds\n"
    (record,) = read(tmp_path, text + "90% percentile latency: 1.6 seconds\n").records
    assert record.measured.request_s == Spread(mean=1.5, p50=1.49, p90=1.6)


def test_a_batch_of_sglang_after_its_warm_up(tmp_path):
    """8 sequences: 10 ms a step at 800 tok/s; 16,000 tok/s of prompts over 0.5 s are 8,000, 1,000 each."""
    text = """Warmup ...
Prefill. latency: 9.00000 s, throughput:      1.00 token/s
Total. latency:  9.000 s, throughput:      1.00 token/s
Benchmark ...
Prefill. latency: 0.50000 s, throughput:  16000.00 token/s
Decode 0. Batch size: 8, latency: 0.02000 s, throughput:    400.00 token/s
Decode.  median latency: 0.01000 s, median throughput:    800.00 token/s
Total. latency:  1.500 s, throughput:   5872.00 token/s
"""
    (record,) = read(tmp_path, text).records
    assert (record.stated.batch, record.stated.engine, record.line) == (8, "sglang", 8)
    out = record.measured
    assert (out.isl, out.ttft_s, out.tpot_s) == (1000, Spread(mean=0.5), Spread(p50=0.01))
    assert (out.request_s, out.prefill_tokens_per_s, out.total_tokens_per_s) == (Spread(mean=1.5), 16_000, 5872)


@pytest.mark.parametrize("mark", ["=", " ", "!", "= ", "Mean ", "Throughput: 1,"])
def test_long_lines_of_one_mark_take_no_time(tmp_path, mark):
    """Effort grows with a line's length, not with its square: the test would not end."""
    line = mark * (200_000 // len(mark)) + "a"
    (record,) = read(tmp_path, "\n".join([BLOCK.replace("=" * 50, line), line, BLOCK])).records[1:]
    assert record.measured.requests == 1000


def test_a_text_about_it_is_no_result(tmp_path):
    with pytest.raises(BadConfig, match="nothing that is read"):
        read(tmp_path, "the Serving Benchmark Result says Mean TTFT (ms): 12\n")


ODD = [
    COMMAND.strip(), "Throughput: 1 requests/s, 2 tokens/s", "", "x: 1", "Mean TTFT (ms): -1,2.3.4",
    "Total. latency: 0 s, throughput: 0 token/s", "Decode.  median latency: 1..2 s, median throughput: 5 token/s",
    "Total input tokens: nan", "Concurrency: 1e400", "Avg latency: 1.2.3 seconds",
]  # fmt: skip


@given(st.lists(st.sampled_from([*BLOCK.splitlines(), *ODD])))
def test_lines_in_any_order_are_no_traceback(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("fuzz") / "one"
    path.write_text("\n".join(lines))
    try:
        found = recorded(path)
    except RooflightError:
        return
    assert found.format == "bench-console"

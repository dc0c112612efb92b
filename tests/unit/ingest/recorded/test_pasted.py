"""Text of two formats in one file: what its reader does not read is said."""

from __future__ import annotations

import pytest

from rooflight.ingest.recorded.read import recorded_bytes

BENCH = """\
INFO 11-28 10:00:00 [__init__.py:216] Automatically detected platform cuda.
Namespace(subparser='bench', backend='vllm', model='meta-llama/Llama-3.1-8B-Instruct', max_concurrency=32)
============ Serving Benchmark Result ============
Successful requests:                     577
Benchmark duration (s):                  60.20
Total input tokens:                      590848
Total generated tokens:                  147712
Output token throughput (tok/s):         2454.00
Mean TPOT (ms):                          12.74
==================================================
"""
LOG = """\
INFO 11-28 10:00:00 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='org/m', dtype=torch.bfloat16
INFO 11-28 10:00:09 [gpu_model_runner.py:2653] Model loading took 14.99 GiB and 2.1 seconds
INFO 11-28 10:00:30 [kv_cache_utils.py:1087] GPU KV cache size: 432,000 tokens
"""
DCGM = 'DCGM_FI_DEV_GPU_UTIL{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 95\n'
VLLM = 'vllm:num_requests_running{engine="0",model_name="m"} 4\nvllm:generation_tokens_total{engine="0"} 500\n'


def unread(text):
    found = recorded_bytes(text.encode(), "x", most=1 << 24)
    return found.format, [one for one in found.notes if one.startswith("it also holds")]


@pytest.mark.parametrize(
    ("text", "form", "words"),
    [
        (BENCH + LOG, "bench-console", "vLLM's log"),
        (LOG + BENCH, "bench-console", "vLLM's log"),
        (DCGM + LOG, "device-metrics", "vLLM's log"),
        (BENCH + DCGM, "bench-console", "/metrics of DCGM's exporter"),
    ],
)
def test_the_other_format_is_said_not_to_be_read(text, form, words):
    name, notes = unread(text)
    assert name == form
    assert len(notes) == 1
    assert words in notes[0]
    assert notes[0].endswith("that is not read, unless it is a file of its own")


def test_what_lies_far_behind_is_seen_too():
    """A log of more than the 64 KiB that a format is told by, then a result."""
    _, notes = unread(LOG + "INFO 11-28 10:01:00 [x.py:1] nothing that is read\n" * 4000 + BENCH)
    assert ["pasted Serving Benchmark Result" in one for one in notes] == [True]


@pytest.mark.parametrize("text", [BENCH, LOG, DCGM, VLLM, DCGM + VLLM, BENCH + BENCH, LOG + LOG])
def test_one_format_has_no_other_beside_it(text):
    """The lines that an engine's client prints in front of its results are no start-up log of the engine."""
    assert unread(text)[1] == []

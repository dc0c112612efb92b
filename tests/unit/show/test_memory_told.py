"""What a deployment needs of memory, and what it may take: the same two sizes in sentence, text, picture and JSON."""

from __future__ import annotations

import re

import pytest

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.serve.memory import memory as memory_of
from rooflight.show import numbers
from rooflight.show.analysis import memory_line
from rooflight.show.charts import memory
from rooflight.units import to_base

ASKED = (
    ("llama-3.1-70b", "h100-sxm", {}),
    ("llama-3.1-70b", "h100-sxm", {"engine": "vllm", "gpu_memory_utilization": 0.9}),
    ("llama-3.1-70b", "h100-sxm", {"engine": "sglang", "batch": 2}),
    ("llama-3.1-70b", "2xrtx-3090+rtx-4090", {}),
    ("llama-3.1-70b", "4xh100-sxm", {"batch": 2000}),
    ("deepseek-v3", "8xh100-sxm", {"batch": 64}),
    ("deepseek-v3", "4xh100-sxm", {"engine": "vllm", "max_num_batched_tokens": 16384}),
    ("llama-3.1-8b", "h100-sxm", {}),
    ("llama-3.1-8b", "h100-sxm", {"prefill_batch": 1000}),
    ("llama-3.1-8b", "h100-sxm", {"engine": "llama.cpp", "weights": "q4_k_m", "batch": 1000}),
)


@pytest.mark.parametrize(("model", "on", "asked"), ASKED, ids=lambda value: str(value))
def test_one_need_has_one_size(model, on, asked):
    """The sentence that it does not fit, the line of the answer, the picture's title, its last bar and its line."""
    answer = rooflight.analyze(model, on, **asked)
    held = answer.memory
    needed, allowed = (numbers.amount(size, "B") for size in (held.needed_bytes, held.allowed_bytes))
    told = re.search(r"it needs (\S+ \S+), [^;]*?(\d\S* \S?B); ", answer.answer)
    data = memory.rows(answer)

    assert f"= {needed} of {allowed}" in memory_line(answer)
    assert f"{needed} of {allowed}" in memory.memory(answer).title
    assert data["parts"][-1]["x2"] == pytest.approx(held.needed_bytes)
    assert [row["x"] for row in data["capacity"]] == [held.allowed_bytes]
    assert told is None if "decode" in answer.phases else told is None or told.groups() == (needed, allowed)


@pytest.mark.parametrize(("model", "on", "asked"), ASKED, ids=lambda value: str(value))
def test_what_fits_is_what_needs_no_more_than_it_may_take(model, on, asked):
    held = rooflight.analyze(model, on, **asked).memory

    assert held.fits == (held.needed_bytes <= held.allowed_bytes)


def test_the_sum_of_the_parts_is_what_is_needed():
    """Nothing withheld is in it, and what may be taken is what is left beside that: 76.5 of 85 GB by default."""
    held = memory_of(make_scenario("llama-3.1-8b", "h100-sxm"))
    parts = held.weights_bytes + held.kv_bytes + held.activation_bytes + held.engine_bytes

    assert held.needed_bytes == pytest.approx(parts)
    assert held.allowed_bytes == pytest.approx(held.usable_bytes - held.withheld_bytes)
    assert held.by_share


def test_where_not_one_sequence_fits_by_default_the_label_in_full_is_what_there_is():
    """80 GiB of an H100."""
    held = rooflight.analyze("llama-3.1-70b", "h100-sxm").memory

    assert held.allowed_bytes == to_base(80, "GiB")
    assert not held.by_share


def test_a_stated_share_is_what_may_be_taken():
    held = rooflight.analyze("llama-3.1-70b", "h100-sxm", engine="vllm", gpu_memory_utilization=0.9).memory

    assert held.allowed_bytes == pytest.approx(0.9 * held.usable_bytes)


def test_prompts_that_do_not_fit_together_are_what_is_needed():
    """1,000 prompts of 1,024 tokens, 131,072 B each: 134 GB beside the weights, where one sequence has 0.17."""
    answer = rooflight.analyze("llama-3.1-8b", "h100-sxm", prefill_batch=1000)

    assert answer.memory.kv_bytes == pytest.approx(1000 * 1024 * 131_072, rel=0.01)
    assert "of 1,000 prompts prefilled together not all fit" in answer.answer

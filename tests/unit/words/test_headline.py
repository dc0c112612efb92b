"""An answer in one sentence: what is expected, between what, the ceiling above it."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.units import round_significant, scaled
from rooflight.words.headline import CEILINGS, footnote, headline

LLAMA, LARGE = "meta-llama/Meta-Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-70B"
QUESTIONS = [
    (LLAMA, "h100-sxm", {}), (LLAMA, "h100-sxm", {"batch": 64}), (LARGE, "4xh100-sxm", {"batch": 32, "engine": "vllm"}),
    ("deepseek-ai/DeepSeek-V3", "8xh200-sxm", {"batch": 128}), ("mixtral-8x7b", "2xl40s", {"weights": "fp8"}),
    (LLAMA, "rtx-4090+rtx-3090", {}), (LARGE, "4xh100-sxm", {"batch": 20, "draft_tokens": 4, "acceptance": 0.7}),
    (LARGE, "rtx-3090",
     {"weights": "q4_k_m", "n_gpu_layers": 40, "engine": "llama.cpp", "host_memory_bandwidth": "60GB/s"}),
]  # fmt: skip


@pytest.mark.parametrize(("model", "on", "fields"), QUESTIONS)
def test_it_says_what_is_expected_its_interval_and_the_ceiling(model, on, fields):
    answer = rooflight.analyze(model, on, **fields)
    said, token = headline(answer), answer.runs[answer.run].tpot_s
    name = "verify" if "draft_tokens" in fields else "decode"  # the step that tokens come from
    step = answer.phases[name]

    assert scaled(token.expected, "s") in said
    assert all(scaled(one, "s").split()[0] in said for one in (token.low, token.high))
    assert f"a {name} step takes {scaled(step.time_s.ceiling, 's')} at best" in said
    assert f"{round_significant(1 / token.expected)} a second" in said
    assert said.endswith(f"{CEILINGS[step.bound]}.")


def test_it_names_the_model_its_format_the_machine_and_the_users():
    said = headline(rooflight.analyze(LARGE, "4xh100-sxm", batch=1200, weights="fp8", ignore_capacity=True))

    assert said.startswith("Meta-Llama-3.1-70B (fp8) on 4 x h100-sxm: each of 1,200 users gets a token every ")
    assert ": a user gets a token every " in headline(rooflight.analyze(LLAMA, "h100-sxm"))


def test_prompts_alone_have_an_answer_after_some_time():
    answer = rooflight.analyze(LLAMA, "h100-sxm", osl=0)
    said = headline(answer)

    assert f"an answer after {scaled(answer.runs[answer.run].ttft_s.expected, 's')}" in said
    assert said.endswith(f"{CEILINGS[answer.phases['prefill'].bound]}.")


def test_what_does_not_fit_is_said_in_place_of_figures():
    """No ceiling is claimed of it; what would fit may stand beside it."""
    answer = rooflight.analyze(LARGE, "h100-sxm")
    said = headline(answer)

    assert answer.answer.startswith(said)
    assert "fit" in said
    assert not any(words in said for words in CEILINGS.values())


def test_prompts_of_a_card_without_a_peak_cannot_be_told():
    answer = rooflight.analyze("meta-llama/Llama-2-7b-hf", on="tt-p150")

    assert "prefill" not in answer.phases
    assert headline(answer).endswith("where memory bandwidth is the ceiling as far as is known.")


@pytest.mark.parametrize(("model", "on", "fields"), QUESTIONS)
def test_it_is_one_sentence(model, on, fields):
    said = headline(rooflight.analyze(model, on, **fields))

    assert said.count(". ") == 0
    assert said.endswith(".")


def test_a_footnote_is_a_sentence_where_nobody_measured_the_machine():
    measured, inferred = (rooflight.analyze(LLAMA, on, engine="vllm") for on in ("h100-sxm", "rubin"))

    assert footnote(measured) == "" or footnote(measured).endswith(".")
    assert footnote(inferred).endswith(".")
    assert footnote(inferred)[0].isupper()

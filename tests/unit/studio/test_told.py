"""Sentences beside the figures: a size, adapters, drafts, unlike cards, the host; and levels of memory as roofs."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")


def told(studio, **question):
    """Of the scenario in focus, which is not the first."""
    page = {"scenarios": [{"model": "70b", "lora_rank": 8}, question], "focus": 1}
    return studio.post("/api/picture", page).json()["told"]


def test_a_plain_question_needs_no_further_words(studio):
    assert told(studio) == []


def test_a_size_says_how_real_models_of_it_vary(studio):
    (said,) = told(studio, model="70b", tp=2)

    assert said.startswith("Its weights come to the asked size")
    assert "Llama-2-70b-hf" in said


def test_adapters_say_what_they_are_and_take(studio):
    """Of Llama-3.1-8B at rank 16: 32 layers x 16 x (2 x (4096 + 4096) + 2 x (4096 + 1024) + 3 x (4096 + 14336))."""
    each = 32 * 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336))

    assert told(studio, lora_rank=16, max_loras=4) == [
        f"4 LoRA adapters of rank 16: {each:,} parameters each, {4 * each * 2 / 1e6:.0f} MB in all."
    ]
    assert told(studio, lora_rank=16, lora_modules="q_proj,v_proj")[0].startswith("A LoRA adapter of rank 16 on q, v: ")


def test_a_draft_says_what_a_cycle_takes_and_gives(studio):
    (said,) = told(studio, model="llama-3.1-70b", tp=4, draft_model="llama-3.2-1b", draft_tokens=4)

    gives = sum(0.7**place for place in range(5))  # the first token and what of four is accepted
    assert said.startswith("meta-llama/Llama-3.2-1B drafts: 1,235,814,400 parameters of its own")
    assert said.endswith(f"for {gives:.2f} tokens of a sequence.")


def test_unlike_cards_say_which_layers_are_where(studio):
    (said,) = told(studio, on="rtx-4090+rtx-3090")

    assert "layers 1 to 16 on rtx-4090" in said
    assert "layers 17 to 32 on rtx-3090" in said


def test_a_host_says_what_lies_there(studio):
    (said,) = told(
        studio, model="llama-3.1-70b", weights="q4_k_m", on="rtx-3090", n_gpu_layers=40, host_cpu="epyc-9654"
    )

    assert said.startswith("On the host: 21 GB of weights")


def roofs(studio, *others, levels=False, **question):
    page = {"scenarios": [question, *others], "levels": levels}
    rows = studio.post("/api/picture", page).json()["datasets"]
    return {str(value) for some in rows.values() for row in some for value in row.values()}


def test_levels_of_memory_are_roofs_where_they_are_asked_for(studio):
    """Of one scenario: of several their lines would lie on each other."""
    asked, plain, several = roofs(studio, levels=True), roofs(studio), roofs(studio, {"batch": 2}, levels=True)

    assert any(text.startswith("L1 ") for text in asked)
    assert not any(text.startswith("L1 ") for text in plain | several)


def test_what_lies_on_the_host_is_a_roof_unasked(studio):
    assert any(text.startswith("host memory 80 GB/s") for text in roofs(
        studio, model="llama-3.1-70b", weights="q4_k_m", on="rtx-3090", n_gpu_layers=40,
        host_memory_bandwidth="80GB/s",
    ))  # fmt: skip

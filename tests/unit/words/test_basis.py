"""What expected times rest on, as the headline says it: over cards of each kind."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.catalog.accelerators import all_accelerators
from rooflight.catalog.calibration import calibration, engine_named, families, fitted_family
from rooflight.values.basis import BASES
from rooflight.words.basis import listed

MODEL = "qwen3-4b"
# A card of each family that has a rate of memory.
FAMILIES = {fitted_family(card): card.id for card in all_accelerators() if card.memory_bytes_per_s}


def asked(card, **fields):
    return rooflight.analyze(MODEL, on=card, **fields)


def headline(found):
    """The sentence of what is expected."""
    return found.answer[found.answer.rindex(" Expected ") :]


def test_a_card_that_was_measured_has_no_clause():
    """The mean of the serving engines, and SGLang, were fitted on h100-sxm; llama.cpp on the RTX 4090."""
    for card, engine in (("h100-sxm", None), ("h100-sxm", "sglang"), ("rtx-4090", "llama.cpp")):
        found = asked(card, engine=engine)

        assert found.expected_basis.basis == "measured_card"
        assert "no measurement" not in found.answer
        assert "ms (" not in headline(found)


def test_a_family_that_inherits_says_from_whom_and_how_wide():
    found = asked("rx-9070-xt", engine="vllm")
    token = found.runs["alone"].tpot_s

    assert headline(found).endswith("; no measurement of vllm on RDNA4, taken from Ada's kernels.")
    assert f"({token.low * 1e3:.1f} to {token.high * 1e3:.1f} ms)" in headline(found)
    assert found.expected_basis.to_dict() == {
        "basis": "inherited", "accelerator": "rx-9070-xt", "family": "RDNA4", "engine": "vllm", "era": "2025",
        "cards": engine_named("vllm").cards, "of_family": (), "other_versions": False, "inherits": "Ada",
        "why": calibration("RDNA4").why,
    }  # fmt: skip


def test_older_versions_on_a_family_are_no_measurement_of_newer_ones():
    """vLLM of 2024 was fitted on MI300X, which is CDNA3; that of 2025 on no AMD card."""
    assert "no measurement of newer vllm on CDNA3, taken from Hopper's kernels" in asked("mi325x", engine="vllm").answer
    assert "no measurement of older vllm on Blackwell" in asked("b200", engine="vllm", engine_version="0.6").answer


def test_another_card_of_a_measured_family_names_those_that_were():
    cards = "h100-sxm and h200-sxm"
    served, own = asked("h100-pcie"), asked("h100-pcie", engine="vllm")

    assert served.expected_basis.basis == own.expected_basis.basis == "measured_family"
    assert f"; no measurement of served runs on h100-pcie, taken from {cards}." in headline(served)
    assert f"; no measurement of vllm on h100-pcie, taken from {cards}." in headline(own)


def test_kernels_alone_are_less_than_runs():
    """Ada's kernels were timed, but vLLM was fitted on Hopper and Blackwell."""
    found = asked("rtx-4090", engine="vllm")

    assert found.expected_basis.basis == "measured_family"
    assert found.expected_basis.of_family == ()
    assert "no measurement of vllm on Ada, taken from its kernels and from runs on " in headline(found)


def test_an_engine_of_other_machines_says_where_it_was_seen():
    """MLX was timed on Apple's chips alone, none of them an M1."""
    known, unknown = asked("h100-sxm", engine="mlx"), asked("apple-m1-max", engine="mlx")

    assert "; no measurement of mlx on Hopper, taken from its kernels and from runs on apple-m3-max-40" in known.answer
    assert "; no measurement of mlx on M1, taken from " in unknown.answer
    assert "no measurement" not in asked("apple-m4-max-40", engine="mlx").answer


def test_rows_of_your_own_are_a_measurement():
    row = {
        "model": MODEL, "accelerator": "l40s", "engine": "vllm", "phase": "decode", "weights": "bf16", "batch": 1,
        "input_len": 1024, "metric": "tpot_ms", "value": 14,
    }  # fmt: skip
    own = rooflight.calibrate(row, date="2026-11-29")

    assert "no measurement of vllm on Ada, taken from" in asked("l40s", engine="vllm").answer
    assert "no measurement of vllm on Ada but your own, taken" in asked("l40s", engine="vllm", calibration=own).answer


def test_an_interval_of_twice_and_more_is_told_of_a_measured_card_too():
    """llama.cpp's routed experts on a Strix Halo are far less sure than its dense models."""
    routed, dense = (
        rooflight.analyze(model, "ryzen-ai-max-395", engine="llama.cpp", weights="q4_k_m")
        for model in ("qwen3-30b-a3b", "llama-3.1-8b")
    )
    token = routed.runs["alone"].tpot_s

    assert token.high > 2 * token.low
    assert headline(routed).endswith(
        f", then one every {token.expected * 1e3:.1f} ms ({token.low * 1e3:.1f} to {token.high * 1e3:.1f} ms)."
    )
    assert dense.runs["alone"].tpot_s.high < 2 * dense.runs["alone"].tpot_s.low
    assert " ms (" not in headline(dense)


def test_a_backend_that_was_not_measured_is_named_as_it_was_asked_for():
    """llama.cpp ran on the RTX 5090 and on the H100 by CUDA; by Vulkan on other consumer cards alone."""
    line = headline(asked("rtx-5090", engine="llama.cpp-vulkan"))
    other = asked("h100-sxm", engine="llama.cpp-vulkan")

    assert "no measurement" not in asked("rtx-5090", engine="llama.cpp").answer
    assert "no measurement of llama.cpp-vulkan on Blackwell GDDR7" in line
    assert "no measurement of ik_llama.cpp on Blackwell GDDR7" in asked("rtx-5090", engine="ik_llama.cpp").answer
    assert "no measurement of llama.cpp-vulkan on h100-sxm, taken from llama.cpp on gh200-96gb" in headline(other)
    assert other.expected_basis.basis == "measured_family"


def test_another_backend_has_a_wider_interval():
    """By 1.25 each way in a step, and by 1.25 x 1.4 in a prompt, of the same times."""
    own, other = (asked("h100-sxm", engine=name, weights="q4_k_m") for name in ("llama.cpp", "llama.cpp-vulkan"))
    by = {"decode": 1.25, "prefill": 1.25 * 1.4}

    for phase, wider in by.items():
        plain, wide = own.phases[phase].time_s, other.phases[phase].time_s
        assert wide.expected == plain.expected
        assert wide.high == pytest.approx(plain.high * wider)


def test_rocm_is_what_llama_cpp_ran_on_instinct_cards_by():
    named, plain = (asked("mi300x", engine=name, weights="q4_k_m") for name in ("llama.cpp-rocm", "llama.cpp"))

    assert "no measurement" not in named.answer
    assert named.phases["decode"].time_s == plain.phases["decode"].time_s


def test_of_two_cards_the_one_that_is_known_less_counts():
    """Prompts on a Gaudi 3, tokens on an H100."""
    found = asked("h100-sxm", prefill_on="1xgaudi3", prefill_workers=1, decode_workers=1, schedule="apart")

    assert found.expected_basis.accelerator == "gaudi3"
    assert found.expected_basis.basis == "inherited"


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_has_a_basis(family):
    """Those without measurements of their own are inherited unless an engine ran there, and say why."""
    basis = asked(FAMILIES[family], ignore_capacity=True).expected_basis

    assert basis.basis in BASES
    if family not in families():
        assert (basis.basis, basis.inherits) == ("inherited", calibration(family).inherits)
        assert basis.why
    else:
        assert basis.basis in ("measured_card", "measured_family")
        assert basis.inherits is None


def test_moves_comparisons_goals_and_verdicts_say_it_too():
    words = "no measurement of served runs on CDNA3, taken from Hopper's kernels"
    moved = rooflight.moves(MODEL, on="h100-sxm", cards=["mi300x"])
    goal = rooflight.sweep(MODEL, "mi300x", {"batch": [1]}, tpot_slo_ms=50)
    slow = rooflight.check({"model": MODEL, "accelerator": "mi300x", "metric": "tpot_ms", "value": 90, "batch": 1})

    assert any(words in one.cost for one in moved.moves if one.kind == "card")
    assert words in rooflight.moves(MODEL, on="mi300x").answer
    assert words in goal.to_dict()["answer"]
    assert f" ms expected; {words}); look at" in slow.rows[0].reason


def test_long_lists_of_cards_are_cut():
    assert listed(("a",)) == "a"
    assert listed(("a", "b")) == "a and b"
    assert listed(("a", "b", "c", "d", "e")) == "a, b, c and 2 more"

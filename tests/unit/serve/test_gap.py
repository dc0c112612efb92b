"""What lies between ceiling, roofline and expected time: each part by its own name, and all of it."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.roofline.step import is_fusible
from rooflight.serve import gap, phases
from rooflight.serve.analyze import phase_block
from unit.models import llama_3_8b

TO_ROOFLINE = gap.ORDER[1 : gap.ORDER.index(gap.KERNELS)]

EVERY_KIND = (
    ("llama-3.1-8b", "h100-sxm", {}),
    ("qwen3-0.6b", "h100-sxm", {}),
    ("deepseek-v3", "8xh200-sxm", {"batch": 64}),
    ("llama-3.1-70b", "8xh100-sxm", {"tp": 4, "pp": 2, "prefill_batch": 3, "batch": 16}),
    ("llama-3.1-8b", "rtx-3090", {"cpu_offload_gb": 6}),
    ("qwen3-30b-a3b", "rtx-4090", {"cpu_moe": True, "host_memory_bandwidth": "80GB/s"}),
    ("llama-3.1-8b", "rtx-3090+rtx-4090", {}),
    ("llama-3.1-8b", "h100-sxm", {"lora_rank": 16, "max_loras": 8, "batch": 8}),
)


def told(model, on, **asked):
    """The answer's phases."""
    return rooflight.analyze(model, on, **asked).phases


def parts(phase):
    return {step.name: step.seconds for step in phase.waterfall}


@pytest.mark.parametrize(("model", "on", "asked"), EVERY_KIND, ids=lambda value: str(value))
def test_the_parts_up_to_the_roofline_add_up_to_it(model, on, asked):
    """None is less than nothing, they stand in one order, and what is expected beyond the roofline stands behind."""
    for phase in told(model, on, **asked).values():
        named = parts(phase)
        assert all(seconds > 0 for seconds in named.values())
        assert list(named) == [name for name in gap.ORDER if name in named]
        reached = named["ceiling"] + sum(named.get(name, 0.0) for name in TO_ROOFLINE)
        assert reached == pytest.approx(phase.time_s.roofline)
        assert sum(named.values()) == pytest.approx(phase.time_s.expected)


def test_experts_that_tokens_do_not_share_are_named_so():
    """DeepSeek-V3, 64 tokens: 256 x (1 - (1 - 8 / 256)^64) = 222.4 experts a layer are read, a ceiling has half.

    Memory binds with and without, so they take what their bytes take: 58 layers x half of the touched / 8 devices of
    3 x 7,168 x 2,048 x 1 B at 4.8 TB/s; scales of blocks are on top.
    """
    phase = told("deepseek-v3", "8xh200-sxm", batch=64)["decode"]
    touched = 256 * (1 - (1 - 8 / 256) ** 64)
    by_hand = 58 * touched / 2 / 8 * 3 * 7168 * 2048 / 4.8e12

    assert parts(phase)[gap.CHOSEN] == pytest.approx(by_hand, rel=0.01)
    assert parts(phase)[gap.CHOSEN] > 0.85 * (phase.time_s.roofline - phase.time_s.ceiling)
    assert gap.IN_TURN not in parts(phase)


def test_no_expert_is_named_of_a_dense_model():
    for phase in told("llama-3.1-70b", "4xh100-sxm", batch=32).values():
        assert not any("expert" in name for name in parts(phase))


def test_operators_in_turn_are_what_overlap_would_spare():
    """One H100, a prompt: the larger of compute and memory of each operator, less the larger of both sums."""
    sc = make_scenario(llama_3_8b(), "h100-sxm")
    phase = phases.prefill(sc)
    rows = [(one, op.count) for op, _, one in phase.time.timed]
    each = sum(max(one.compute, one.memory) * count for one, count in rows)
    both = [sum(getattr(one, name) * count for one, count in rows) for name in ("compute", "memory")]

    assert parts(phase_block(sc, phase))[gap.IN_TURN] == pytest.approx(each - max(both))


def test_what_fused_kernels_keep_on_chip_is_what_element_wise_ones_move():
    """One sequence decodes on one H100, memory binds throughout: their bytes at its rate."""
    sc = make_scenario(llama_3_8b(), "h100-sxm")
    phase = phases.decode(sc)
    moved = sum(op.work.activation_bytes * op.count for op, _, _ in phase.time.timed if is_fusible(op))

    assert parts(phase_block(sc, phase))[gap.FUSED] == pytest.approx(moved / sc.rates.memory_bytes_per_s)


def test_kernels_shorter_than_their_launch_are_named_so():
    """Each to the launch floor, from the larger of what it computes and moves."""
    sc = make_scenario(llama_3_8b(), "h100-sxm")
    phase = phases.decode(sc)
    short = sum(
        max(one.launch - max(one.compute, one.memory, one.link), 0) * op.count for op, _, one in phase.time.timed
    )

    assert parts(phase_block(sc, phase))[gap.LAUNCHES] == pytest.approx(short)


def test_links_are_named_once():
    """What collectives are expected to take: at their rates beside kernels that wait, and what is beyond."""
    sc = make_scenario(llama_3_8b(), "4xh100-sxm", batch=16)
    phase = phases.decode(sc)
    named = parts(phase_block(sc, phase))
    rated = sum(one.link * op.count for op, _, one in phase.time.timed)

    assert named[gap.LINKS] == pytest.approx(rated)
    assert named[gap.LINKS] + named[gap.BEYOND] == pytest.approx(phase.expected.link_s)


def test_a_pipeline_that_fills_and_drains_is_named_so():
    """Two passes of a prompt or two through two stages: (2 + 1) / 2 passes' time, where 2 / 2 are the least."""
    found = told("llama-3.1-70b", "8xh100-sxm", tp=4, pp=2, prefill_batch=3, batch=16)

    assert parts(found["prefill"])[gap.STAGES] == pytest.approx(found["prefill"].time_s.ceiling * (1.5 - 1))
    assert gap.STAGES not in parts(found["decode"])


def test_what_lies_on_the_host_is_named_so():
    assert gap.PLACES in parts(told("llama-3.1-8b", "rtx-3090", cpu_offload_gb=6)["decode"])

"""What engines' marks say of their steps."""

from __future__ import annotations

import pytest

from rooflight.ingest.recorded.traces.marks import BARE, FULL, PROFILERS, mark

DECODE = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)"
PREFILL = "execute_64_context_2(sq64sk128sqsq1sqsk1)_generation_0(sq0sk0sqsq0sqsk0)"
SUMS = "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)"


@pytest.mark.parametrize(
    ("name", "phase", "batch", "tokens", "context"),
    [
        # 32,785 keys of 32 sequences, each with its own new token among them
        (DECODE, "decode", 32, None, 1023.53125),
        (SUMS, "mixed", 37, 8155, (34489 - 37) / 37),
        (PREFILL, "prefill", None, 64, (128 - 64) / 2),
        ("execute_context_3(100)_generation_2(2)", "mixed", 2, 100, None),
        ("execute_context_0(0)_generation_8(8)", "decode", 8, None, None),
        ("step[DECODE bs=32]", "decode", 32, None, None),
        ("step[EXTEND bs=2 toks=107]", "prefill", None, 107, None),
        ("step[MIXED bs=2]", "mixed", None, None, None),
        ("[Executor] _forward_step 60: 0 ctx reqs, 0 ctx tokens, 32 gen reqs", "decode", 32, None, None),
        ("[Executor] _forward_step 7: 2 ctx reqs, 5 gen reqs", "mixed", 5, None, None),
        ("executeStep: 1 ctx reqs, 0 gen reqs", "prefill", None, None, None),
    ],
)  # fmt: skip
def test_a_full_mark_says_its_step(name, phase, batch, tokens, context):
    said = mark(name)

    assert said.rank == FULL
    assert (said.phase, said.batch, said.tokens) == (phase, batch, tokens)
    assert said.context == (None if context is None else pytest.approx(context))


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("ProfilerStep#6", PROFILERS),
        ("execute_model", BARE),
        ("gpu_model_runner: forward", BARE),
        ("execute_new_2_cached_7", BARE),
        ("execute_context_1024_generation_64", BARE),
        ("step[IDLE bs=0]", BARE),
    ],
)
def test_other_marks_say_that_a_step_ran(name, rank):
    assert mark(name).rank == rank


@pytest.mark.parametrize("name", ["", "## forward ##", "nccl:all_to_all", "Optimizer.step#Adam", "a ProfilerStep#1"])
def test_anything_else_is_no_step(name):
    assert mark(name) is None

"""Profiles under the roof: verdicts on small profiles made by hand, with the arithmetic beside them."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight.answers.diagnose.kernels import kernels
from rooflight.answers.diagnose.setting import setting
from rooflight.catalog.accelerators import load
from rooflight.values.recorded import DeviceTrace, Launched, Recorded, StepSeen, Traced
from rooflight.values.sample import Timing
from rooflight.words.diagnosis.kernels import told

MS, US = 1e-3, 1e-6


def once(seconds):
    return Timing(median=seconds, low=seconds, high=seconds)


def kernel(operator, total_s, calls=1, **more):
    return Launched(name=more.pop("name", operator), operator=operator, device="gpu 0", calls=calls, total_s=total_s,
                    time_s=once(total_s / calls), **more)  # fmt: skip


def profile(*launched, span_s=None, steps=(), timeline=True, gaps=0, gap_s=None, exposed_s=0.0, **more):
    busy = sum(one.total_s for one in launched)
    device = DeviceTrace(
        device="gpu 0", span_s=busy if span_s is None else span_s, busy_s=busy, gaps=gaps, exposed_s=exposed_s,
        gap_s=None if gap_s is None else once(gap_s), kernels=sum(one.calls for one in launched),
        communication_s=sum(one.total_s for one in launched if one.operator == "communication"),
    )  # fmt: skip
    traced = Traced(devices=(device,), kernels=launched, steps=steps, timeline=timeline, **more)
    return Recorded(file="a.json", format="torch", traced=traced)


def found(*files, model=None, on=None, **fields):
    at = setting(files, None if model is None else rooflight.model(model), None if on is None else load(on), fields)
    return kernels(files, at)


def row(one, operator):
    return next(row for row in one.rows if row.operator == operator)


def test_nothing_of_a_profile_is_no_finding():
    assert found(Recorded(file="x", format="log")) is None


def test_collectives_are_said_call_by_call():
    """All-reduce 30 % of 20 ms over 96 calls: 6 ms / 96 = 62.5 us each."""
    one = found(profile(kernel("communication", 6 * MS, 96), kernel("gemm", 14 * MS, 200), exposed_s=6 * MS))

    assert row(one, "communication").share == pytest.approx(0.30)
    assert one.each_s == pytest.approx(62.5 * US)
    assert one.share("link") == pytest.approx(0.30)
    assert any(item.value == pytest.approx(62.5 * US) for item in told(one).evidence)


def test_bytes_over_time():
    """64 MB in 120 us: 533 GB/s, 16 % of 3.35 TB/s."""
    one = found(profile(kernel("gemm", 120 * US, bytes=64e6, flop=1e6), timeline=False), on="h100-sxm")

    assert row(one, "gemm").bytes_per_s == pytest.approx(64e6 / (120 * US))
    assert row(one, "gemm").bytes_per_s == pytest.approx(533e9, rel=0.001)
    assert row(one, "gemm").of_roof == pytest.approx(533e9 / 3.35e12, rel=0.001)
    assert one.bound == "memory"


def test_amounts_are_of_all_calls():
    """Ten calls of 1 GFLOP and 1 MB in 1 ms: 10 TFLOP/s, 10 GB/s, 1000 FLOP/byte."""
    gemm = row(found(profile(kernel("gemm", 1 * MS, 10, flop=1e9, bytes=1e6))), "gemm")

    assert (gemm.flop, gemm.bytes) == (10e9, 10e6)
    assert gemm.flop_per_s == pytest.approx(10e12)
    assert gemm.bytes_per_s == pytest.approx(10e9)
    assert gemm.intensity_flop_per_byte == pytest.approx(1000)


def test_a_product_at_the_peak_is_bound_by_compute():
    """800 TFLOP/s of 989.4 in bf16."""
    one = found(profile(kernel("gemm", 1 * MS, flop=0.8e12, bytes=1e8, format="bf16")), on="h100-sxm")

    assert (one.bound, one.confidence) == ("compute", "high")
    assert row(one, "gemm").of_roof == pytest.approx(800 / 989.4, rel=0.001)


# The published trace: 32 sequences, 32,785 keys in sum (their own tokens among them), 9.77 ms of kernels in 474 ms.
DECODE = StepSeen(
    name="step", phase="decode", batch=32.0, context=(32_785 - 32) / 32, wall_s=465.7 * MS, busy_s=9.77 * MS
)
# Qwen3-8B: 36 layers of hidden 4096, 32 query and 8 key heads of 128, feed-forward 12,288, a head of 151,936 rows.
LAYER = 4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 12_288
HEAD = 151_936 * 4096
PARAMETERS = 8_190_735_360
KEYS = 2 * 36 * 8 * 128 * 2


def test_a_decode_step_by_the_model():
    """Weights but the input table and the cache, in 16 bits, over 9.77 ms: 2.04 TB/s, with activations 2.08."""
    one = found(
        profile(kernel("gemm", 9.77 * MS, 555), span_s=474 * MS, steps=(DECODE,)), model="qwen3-8b", on="mi300x"
    )
    moved = 2 * (36 * LAYER + HEAD) + KEYS * (32_785 - 32)

    assert one.time.busy == pytest.approx(9.77 / 474)
    assert one.steps.bytes == pytest.approx(moved, rel=0.025)
    assert one.steps.bytes_per_s == pytest.approx(one.steps.bytes / (9.77 * MS))
    assert one.steps.of_bandwidth == pytest.approx(one.steps.bytes_per_s / 5.3e12)
    assert one.steps.bound == "memory"
    assert one.bound == "launch"


def test_the_rule_of_thumb_for_decode_reads_the_whole_checkpoint():
    """(16.38 + 4.83 GB) / 9.77 ms = 2.17 TB/s, 41 % of an MI300X."""
    one = found(
        profile(kernel("gemm", 9.77 * MS, 555), span_s=474 * MS, steps=(DECODE,)), model="qwen3-8b", on="mi300x"
    )
    thumb = (2 * PARAMETERS + KEYS * (32_785 - 32)) / (9.77 * MS)

    assert thumb == pytest.approx(2.17e12, rel=0.002)
    assert one.steps.checkpoint_bytes_per_s == pytest.approx(thumb, rel=0.002)
    shares = [item.value for item in told(one).evidence if item.unit == "share"]
    assert pytest.approx(0.41, abs=0.002) in shares


PREFILL = StepSeen(name="step", phase="prefill", tokens=15_360.0, prompts=15.0, wall_s=0.1, busy_s=492.8 * MS)


def test_a_prefill_step_by_the_model():
    """15 prompts of 1,024 tokens in 492.8 ms: layers, the causal triangle, the head on 15 rows."""
    one = found(profile(kernel("gemm", 492.8 * MS, 500), steps=(PREFILL,)), model="qwen3-8b", on="mi300x")
    layers = 2 * 36 * LAYER * 15_360
    scores = 36 * 4 * 32 * 128 * 15 * 1024 * 1025 / 2
    head = 2 * HEAD * 15

    assert one.steps.flop == pytest.approx(layers + scores + head, rel=1e-6)
    assert one.steps.flop_per_s == pytest.approx(442e12, rel=0.005)
    assert (one.bound, one.confidence) == ("compute", "high")
    # two FLOP a parameter and token: what a published reading of this trace says, 511 TFLOP/s
    assert one.steps.parameters_flop_per_s == pytest.approx(2 * PARAMETERS * 15_360 / (492.8 * MS))
    assert one.steps.parameters_flop_per_s == pytest.approx(511e12, rel=0.001)


def test_a_mixed_step_is_its_decoding_and_its_prompts():
    """32 sequences as in the decode step, and 2 prompts' 512 tokens each behind 1,024 that are cached."""
    step = msgspec.structs.replace(DECODE, phase="mixed", tokens=1024.0, prompts=2.0, prompt_context=1024.0)
    one = found(profile(kernel("gemm", 9.77 * MS, 555), steps=(step,)), model="qwen3-8b", on="mi300x")
    layers = 2 * 36 * LAYER * (32 + 1024)
    # each of 512 queries meets the 1,024 before and its own triangle
    prompts = 36 * 4 * 32 * 128 * 2 * (512 * 1024 + 512 * 513 / 2)
    decoding = 36 * 4 * 32 * 128 * 32_785
    head = 2 * HEAD * (32 + 2)

    assert not one.steps.assumed
    assert one.steps.flop == pytest.approx(layers + prompts + decoding + head, rel=1e-3)


def test_lengths_that_no_mark_states_are_taken_from_the_question():
    step = msgspec.structs.replace(DECODE, context=None)
    given = profile(kernel("gemm", 9.77 * MS, 555), steps=(step,))
    one = found(given, model="qwen3-8b", on="mi300x", context=1024)
    same = found(profile(kernel("gemm", 9.77 * MS, 555), steps=(DECODE,)), model="qwen3-8b", on="mi300x")

    assert one.steps.assumed
    assert one.steps.bytes == pytest.approx(same.steps.bytes, rel=1e-3)
    assert any("taken from the question" in note for note in told(one).notes)


def test_operators_are_counted_by_the_model_where_the_steps_are_all_there_was():
    one = found(
        profile(kernel("gemm", 7 * MS, 145), kernel("attention", 2.77 * MS, 36), steps=(DECODE,)), model="qwen3-8b",
        on="mi300x",
    )  # fmt: skip
    attention = row(one, "attention")

    assert attention.counted == "model"
    # the cache is read once, queries and outputs are little beside it
    assert attention.bytes == pytest.approx(KEYS * 32_785, rel=0.01)
    assert attention.bound == "memory"
    assert attention.of_roof == pytest.approx(attention.bytes / (2.77 * MS) / 5.3e12)


def test_the_model_counts_no_operators_of_steps_that_are_a_part_of_it():
    one = found(
        profile(kernel("gemm", 70 * MS, 145), kernel("attention", 27 * MS, 36), steps=(DECODE,)), model="qwen3-8b",
        on="mi300x",
    )  # fmt: skip
    assert row(one, "attention").counted is None


def test_a_device_that_waits_is_bound_by_launches():
    """30 of 100 ms, 4,000 gaps of 17.5 us: launches make them."""
    one = found(profile(kernel("gemm", 30 * MS, 4001), span_s=100 * MS, gaps=4000, gap_s=17.5 * US, launches=4001))
    words = told(one)

    assert (one.bound, one.confidence) == ("launch", "high")
    assert "30 ms of 100 ms (30 %)" in words.answer
    assert "4,000 gaps of 17.5 us" in words.answer
    assert any("graphs" in step.what and step.gain == pytest.approx(100 / 30) for step in words.next)


def test_a_few_long_waits_are_no_launches_one_by_one():
    one = found(profile(kernel("gemm", 30 * MS, 4001), span_s=100 * MS, gaps=4000, gap_s=0.1 * US))

    assert (one.bound, one.confidence) == ("launch", "medium")
    assert "a few long waits" in told(one).answer


def test_few_kernels_tell_little():
    assert found(profile(kernel("gemm", 3 * MS, 3), span_s=100 * MS, gaps=2, gap_s=40 * MS)).confidence == "low"


def test_a_host_that_waits_for_an_idle_device_shows_a_part_of_what_ran():
    """Of 390 ms in which nothing that was recorded runs, the host waits for at least 380 - 10."""
    one = found(profile(kernel("gemm", 10 * MS, 500), span_s=400 * MS, gaps=400, gap_s=1 * US, synchronize_s=380 * MS))
    words = told(one)

    assert one.cut
    assert (one.bound, one.confidence, one.cannot_tell) == (None, "low", True)
    assert any("part of what ran" in note for note in words.notes)
    assert "Launch" not in words.answer
    assert "10 ms of 400 ms (2.5 %)" in words.answer
    assert "Record several whole steps" in words.next[0].what


def test_a_part_of_what_ran_is_told_by_its_marked_step():
    """20.4 GB in 9.77 ms are 39 % of 5.3 TB/s; the host waits 463 of 474 ms for what was not recorded."""
    one = found(
        profile(kernel("gemm", 9.77 * MS, 555), span_s=474 * MS, steps=(DECODE,), synchronize_s=463 * MS),
        model="qwen3-8b", on="mi300x",
    )  # fmt: skip
    words = told(one)

    assert (one.cut, one.bound, one.confidence) == (True, "memory", "medium")
    assert words.answer.startswith("Memory-bound: a decode step of 32 sequences")
    assert "39 % of the bandwidth" in words.answer
    assert "9.77 ms of 474 ms (2.1 %)" in words.answer
    assert "waits 463 ms for the device" in words.answer
    assert all("long waits" not in step.what for step in words.next)


def test_a_part_of_what_ran_with_few_kernels_tells_less():
    one = found(
        profile(kernel("gemm", 9.77 * MS, 20), span_s=474 * MS, steps=(DECODE,), synchronize_s=463 * MS),
        model="qwen3-8b", on="mi300x",
    )  # fmt: skip
    assert (one.bound, one.confidence) == ("memory", "low")


def test_short_kernels_of_a_part_do_not_make_it_launch_bound():
    """An H100 launches a kernel in 2.47 us; those of 4 us may be what was recorded of a graph of larger ones."""
    one = found(profile(kernel("elementwise", 4 * MS, 1000), span_s=400 * MS, synchronize_s=390 * MS), on="h100-sxm")
    assert (one.cut, one.bound) == (True, None)


@pytest.mark.parametrize(("waits", "cut"), [(50 * MS, False), (80 * MS, True)])
def test_a_host_waits_for_what_runs_too(waits, cut):
    """40 of 100 ms busy: 50 ms of waiting may be 40 of work and 10 of 60 idle; 80 ms are at least 40 of 60."""
    one = found(profile(kernel("gemm", 40 * MS, 500), span_s=100 * MS, gaps=400, gap_s=50 * US, synchronize_s=waits))

    assert one.cut is cut
    assert (one.bound == "launch") is not cut


def test_threads_that_wait_for_their_own_devices_are_not_added_up():
    """Two threads of 30 ms each, for devices busy 20 of 100 ms: 10 of 80 ms idle."""
    both = profile(kernel("gemm", 20 * MS, 500), span_s=100 * MS, gaps=400, gap_s=0.2 * MS, synchronize_s=60 * MS)
    device = both.traced.devices[0]
    two = msgspec.structs.replace(both.traced, devices=(device, msgspec.structs.replace(device, device="gpu 1")))

    assert not found(msgspec.structs.replace(both, traced=two)).cut


def test_a_first_step_that_compiles_is_left_out():
    """Ten steps of 10 ms, 9 of them busy, behind one of 20 s: busy 90 %, not 0.5 %."""
    steps = [StepSeen(name="step", phase="decode", batch=8.0, wall_s=20.0, busy_s=9 * MS)]
    steps += [
        StepSeen(name="step", phase="decode", batch=8.0, start_s=20 + n * 10 * MS, wall_s=10 * MS, busy_s=9 * MS)
        for n in range(10)
    ]
    one = found(profile(kernel("elementwise", 99 * MS, 990), span_s=20.1, steps=tuple(steps)))

    assert one.time.busy == pytest.approx(0.9)
    assert one.steps.left_out == 1
    assert one.bound == "memory"


def test_link_binds_where_collectives_that_nothing_hides_lead():
    """60 of 100 ms; hidden they bind nothing."""
    launched = kernel("communication", 60 * MS, 100), kernel("elementwise", 40 * MS, 400)

    assert found(profile(*launched, exposed_s=60 * MS)).bound == "link"
    assert found(profile(*launched, exposed_s=0)).bound != "link"
    assert "100 calls of 600 us each" in told(found(profile(*launched, exposed_s=60 * MS))).answer


def test_kernels_as_short_as_their_launch():
    """An H100 launches a kernel in 2.47 us: 1,000 of 4 us each are mostly that."""
    one = found(profile(kernel("elementwise", 4 * MS, 1000), kernel("gemm", 1 * MS, 10)), on="h100-sxm")

    assert one.short_share == pytest.approx(0.8)
    assert one.bound == "launch"
    assert "1,000 kernels" in told(one).answer


def test_element_wise_kernels_are_bound_by_memory_on_any_machine():
    one = found(profile(kernel("elementwise", 80 * MS, 100), kernel("gemm", 20 * MS, 100)))

    assert one.bound == "memory"
    assert any("Fuse" in step.what for step in told(one).next)


def shares_in(text):
    """The whole per cents of a list in brackets: operators' own, not those of their roof."""
    return [int(number) for number in re.findall(r"(?<!at )\b(\d+) %", text)]


def test_a_roof_lists_its_own_operators_which_add_up_to_it():
    """60 % is of memory: 30, 18, 8 and 4 of others; 28 % of products at 80 % of theirs; 12 % is not known.

    28 ms at 80 % of 989.4 TFLOP/s; 1 MB of them takes no time beside it.
    """
    products = kernel("gemm", 28 * MS, 280, flop=0.8 * 989.4e12 * 28 * MS / 280, bytes=1e6, format="bf16")
    one = found(
        profile(
            kernel("elementwise", 30 * MS, 300), products, kernel("copy", 18 * MS, 180), kernel("other", 12 * MS, 100),
            kernel("activation", 8 * MS, 80), kernel("norm", 4 * MS, 40),
        ), on="h100-sxm",
    )  # fmt: skip
    answer = told(one).answer
    under, rest = answer.split("; ", 1)

    assert one.bound == "memory"
    assert "60 % of the device's time is in kernels under that roof" in under
    assert "(element-wise kernels 30 %, copies 18 %, activation functions 8 %, others 4 %)" in under
    assert "28 % is compute-bound (matrix products 28 % at 80 % of that roof)" in rest
    assert "the other 12 % (other kernels 12 %) is not known" in rest


def test_an_operator_under_two_roofs_is_split():
    """Of 60 ms of products 45 are under compute, 15 under memory: 12 GB of 3.35 TB/s are 3.6 of 15 ms."""
    many = kernel("gemm", 45 * MS, 45, flop=0.9e12, bytes=1e6, format="bf16")
    few = kernel("gemm", 15 * MS, 15, flop=1e9, bytes=0.8e9, format="bf16")
    one = found(profile(many, few, kernel("copy", 40 * MS, 40)), on="h100-sxm")
    answer = told(one).answer

    assert one.share("memory") == pytest.approx(0.55)
    assert "(copies 40 %, matrix products 15 % at 24 % of that roof)" in answer
    assert "45 % is compute-bound (matrix products 45 % at 91 % of that roof)" in answer


@given(st.lists(st.floats(0.2, 100), min_size=1, max_size=7))
def test_listed_operators_add_up_whatever_is_rounded(times):
    names = ["elementwise", "norm", "copy", "activation", "embedding", "memset", "reduction"]
    one = found(profile(*(kernel(name, ms * MS, 100) for name, ms in zip(names, times, strict=False))))
    listed = re.search(r"under that roof \(([^)]*)\)", told(one).answer)

    assert sum(shares_in(listed[1])) == 100


# Llama-3.1-8B: 32 layers; a step reads its weights but the input table (7.5e9 in 16 bits) in 4.48 ms of an H100.
LLAMA = {"model": "llama-3.1-8b", "on": "h100-sxm"}


def unmarked(step_s, steps=3, calls=32):
    """So many steps of 32 layers, four products and one attention each."""
    return profile(
        kernel("gemm", 0.9 * step_s * steps, 4 * 32 * steps), kernel("attention", 0.1 * step_s * steps, calls * steps)
    )


def test_unmarked_steps_are_the_questions_where_calls_and_times_fit():
    """96 calls of attention over 32 layers are 3 steps; 4 sequences of 101 cached tokens are the question's."""
    one = found(unmarked(6 * MS), **LLAMA, batch=4, context=101)
    words = told(one)
    # 32 layers (q and o, k and v, three of the feed-forward) and the head; keys and values of 8 heads of 128
    weights = 2 * (32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14_336) + 4096 * 128_256)

    assert one.steps.count == 3
    assert one.steps.bytes == pytest.approx(weights + 4 * 101 * 2 * 2 * 32 * 8 * 128, rel=0.01)
    assert one.steps.of_bandwidth == pytest.approx(one.steps.bytes / (6 * MS) / 3.35e12)
    assert (one.bound, one.confidence) == ("memory", "low")
    assert words.answer.startswith("Memory-bound, if its 3 unmarked steps are those of the question: a decode step")
    assert any("(96) over the model's 32 layers are 3 steps" in note for note in words.notes)
    assert row(one, "attention").counted == "model"


@pytest.mark.parametrize(
    ("file", "refused"),
    [
        (unmarked(6 * MS, calls=31), "calls"),
        (unmarked(2 * MS), "faster"),  # of 4.5 ms that its bytes take
        (unmarked(40 * MS), "slower"),
    ],
)
def test_steps_that_the_question_cannot_be_are_not_counted(file, refused):
    one = found(file, **LLAMA, batch=4, context=101)
    words = told(one)

    assert (one.bound, one.supposed.refused, one.steps) == (None, refused, None)
    assert any("is not taken for theirs" in note for note in words.notes)
    assert all("Name the" not in step.what for step in words.next)


def test_a_batch_without_lengths_is_said_not_to_be_used():
    one = found(unmarked(6 * MS), **LLAMA, batch=4)
    words = told(one)

    assert one.supposed.refused == "question"
    assert "no step is marked" in words.answer
    assert any("are not taken for theirs" in note for note in words.notes)
    assert any("--isl or --context" in step.what for step in words.next)
    assert any(step.command and "step[DECODE bs=32]" in step.command for step in words.next)
    assert all("Name the" not in step.what for step in words.next)


def test_layers_of_which_some_do_not_attend_tell_no_steps():
    """A hybrid's recurrent layers run kernels of the same family."""
    one = found(unmarked(6 * MS), model="qwen3-next-80b-a3b", on="h200", batch=4, context=101)

    assert one.supposed.refused == "calls"


def test_two_devices_in_one_file_are_not_counted_by_the_question():
    one = unmarked(6 * MS)
    device = one.traced.devices[0]
    two = msgspec.structs.replace(one.traced, devices=(device, msgspec.structs.replace(device, device="gpu 1")))
    seen = found(msgspec.structs.replace(one, traced=two), **LLAMA, batch=4, context=101)

    assert seen.supposed.refused == "devices"
    assert any("several devices" in note for note in told(seen).notes)


def test_sums_of_kernels_alone_are_counted_too():
    one = unmarked(6 * MS)
    sums = msgspec.structs.replace(one.traced, devices=(), timeline=False)
    seen = found(msgspec.structs.replace(one, traced=sums), **LLAMA, batch=4, context=101)

    assert (seen.bound, seen.steps.count) == ("memory", 3)
    assert seen.steps.busy_s == pytest.approx(6 * MS)


def test_shapes_that_are_recorded_lead_the_question():
    shaped = kernel("gemm", 18 * MS, 384, flop=1e9, bytes=1e8, format="bf16")
    one = found(profile(shaped, kernel("attention", 2 * MS, 96)), **LLAMA, batch=4, context=101)

    assert one.supposed is None
    assert one.steps is None


def test_a_device_that_waits_says_if_of_the_questions_steps():
    one = found(
        msgspec.structs.replace(
            unmarked(6 * MS),
            traced=msgspec.structs.replace(
                unmarked(6 * MS).traced, devices=(DeviceTrace(device="0", span_s=60 * MS, busy_s=18 * MS, kernels=480),)
            ),
        ), **LLAMA, batch=4, context=101,
    )  # fmt: skip
    assert one.bound == "launch"
    assert "if it runs the question's steps" in told(one).answer


def test_marks_without_sizes_are_said():
    step = StepSeen(name="ProfilerStep#1", wall_s=18 * MS, busy_s=18 * MS)
    one = found(
        msgspec.structs.replace(
            unmarked(6 * MS), traced=msgspec.structs.replace(unmarked(6 * MS).traced, steps=(step,))
        ), **LLAMA,
    )  # fmt: skip
    assert one.uncounted == "sizes"
    assert "no mark says the sizes of a step" in told(one).answer


def test_only_what_is_not_named_is_asked_for():
    one = found(profile(kernel("gemm", 9.77 * MS, 555), steps=(DECODE,)), on="mi300x")
    (named,) = [step for step in told(one).next if step.command and "--model" in step.command]

    assert named.what.startswith("Name the model:")
    assert named.command.endswith("--model MODEL --on mi300x")


def test_products_that_nobody_counted_are_not_told():
    one = found(profile(kernel("gemm", 80 * MS, 100), kernel("elementwise", 20 * MS, 100)))
    words = told(one)

    assert (one.bound, one.cannot_tell) == (None, True)
    assert "cannot be told" in words.answer
    assert any(step.command and "--model" in step.command for step in words.next)


def test_counters_need_no_card():
    """DRAM 91 % against 20 % of the multiprocessors."""
    one = found(profile(kernel("gemm", 1 * MS, counters={"dram_active": 0.91, "sm_throughput": 0.2}), timeline=False))
    assert one.bound == "memory"
    assert one.rows[0].of_roof == pytest.approx(0.91)


def test_tensor_units_that_work_most_of_the_time_bind():
    counters = {"dram_active": 0.3, "tensor_active": 0.8, "sm_throughput": 0.5}

    assert found(profile(kernel("gemm", 1 * MS, counters=counters), timeline=False)).bound == "compute"


def test_faster_than_the_card_can_be_is_said():
    """10 GB in 1 ms is 10 TB/s; an H100 has 3.35."""
    one = found(profile(kernel("gemm", 1 * MS, bytes=10e9, flop=1e9), timeline=False), on="h100-sxm")

    assert one.faster[0].least_s > 2.9 * MS
    assert one.confidence == "low"
    assert any("is the accelerator the right one?" in note for note in told(one).notes)


@pytest.mark.parametrize(("active", "said"), [(0.9, True), (0.31, False)])
def test_a_counter_that_contradicts_the_named_card_is_said(active, said):
    """1 GB in 1 ms is 30 % of an H100's 3.35 TB/s: a counter of 90 % is of another memory."""
    counters = {"dram_active": active, "sm_throughput": 0.1}
    one = found(profile(kernel("gemm", 1 * MS, bytes=1e9, flop=1e6, counters=counters), timeline=False), on="h100-sxm")

    assert (one.counted_active is not None) is said
    assert any("another accelerator" in note for note in told(one).notes) is said


def test_what_a_cache_holds_may_be_faster():
    """20 MB in 4 us are 5 TB/s: they may lie in 50 MB of cache."""
    one = found(profile(kernel("gemm", 4 * US, bytes=20e6, flop=1e6), timeline=False), on="h100-sxm")

    assert one.faster == ()


def test_a_step_faster_than_physics_names_the_wrong_model():
    fast = msgspec.structs.replace(DECODE, busy_s=1 * MS)
    one = found(profile(kernel("gemm", 1 * MS, 555), steps=(fast,)), model="qwen3-8b", on="mi300x")

    assert one.steps.faster
    assert one.confidence == "low"


def test_host_without_kernels():
    one = found(Recorded(file="h.json", format="torch", traced=Traced(launches=50)))

    assert (one.host_only, one.cannot_tell) == (True, True)
    assert "no kernel" in told(one).answer
    assert told(one).next[0].command is not None


def test_a_timeline_leads_counters_beside_it():
    counters = profile(kernel("gemm", 9 * MS, counters={"dram_active": 0.9, "sm_throughput": 0.1}), timeline=False)
    waits = profile(kernel("gemm", 30 * MS, 100), span_s=100 * MS, gaps=99, gap_s=0.7 * MS)

    assert found(counters, waits).bound == "launch"


def test_ranks_are_added_up():
    one = found(*(profile(kernel("gemm", 10 * MS, 10, flop=1e9)) for _ in range(4)))

    assert row(one, "gemm").calls == 40
    assert row(one, "gemm").flop_per_s == pytest.approx(10 * 1e9 / (10 * MS))


def test_moves_promise_what_a_larger_batch_gains():
    one = found(profile(kernel("gemm", 9.77 * MS, 555), steps=(DECODE,)), model="qwen3-8b", on="mi300x")

    assert one.bound == "memory"
    assert one.gains[0].move.key == "batch"
    assert one.gains[0].times > 1.5
    assert any("Batch 32 to" in step.what for step in told(one).next)


OPERATORS = st.sampled_from(["gemm", "attention", "communication", "elementwise", "other", "moe"])
LAUNCHED = st.builds(
    kernel, OPERATORS, st.floats(1e-7, 1), st.integers(1, 1000),
    flop=st.none() | st.floats(0, 1e15), bytes=st.none() | st.floats(0, 1e12),
    format=st.none() | st.sampled_from(["bf16", "fp8", "mxfp4", "tf32", "nonsense"]),
    counters=st.none() | st.fixed_dictionaries({"dram_active": st.floats(0, 1)}),
)  # fmt: skip


@given(
    st.lists(LAUNCHED, min_size=1, max_size=5), st.floats(1, 100), st.booleans(),
    st.sampled_from([None, "h100-sxm", "rtx-4090"]),
)  # fmt: skip
def test_any_profile_gets_one_sentence(launched, longer, timeline, on):
    busy = sum(one.total_s for one in launched)
    one = found(profile(*launched, span_s=busy * longer, timeline=timeline), on=on)
    words = told(one)

    assert sum(row.share for row in one.rows) == pytest.approx(1)
    assert words.answer.endswith(".")
    assert (one.bound is None) == one.cannot_tell
    assert all(item.value is None or item.unit != "share" or item.value >= 0 for item in words.evidence)

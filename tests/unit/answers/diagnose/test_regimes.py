"""Monitoring's values to the ceiling that binds: scenarios of the definitions and of public reports, and laws.

A case named u.. or r.. is one of the public questions that the project collected (their values of monitoring are what
the report's own numbers come to: bytes of a step over its time and the card's bandwidth, and so on).
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rooflight.answers.diagnose.regimes import regimes
from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.watched.facts import Facts
from rooflight.answers.diagnose.watched.judged import Verdict, judge
from rooflight.answers.diagnose.watched.thresholds import TABLE
from rooflight.answers.diagnose.watched.together import Seen
from rooflight.catalog.accelerators import load
from rooflight.library.questions import make_scenario
from rooflight.values.recorded import Record, Recorded, Spread, Stated, Watched
from rooflight.words.diagnosis.regimes import told

LEVELS = ("low", "medium", "high")


def gpu(subject="gpu 0", **values) -> Watched:
    return Watched(subject=subject, kind="device", **values)


def engine(subject="vllm at h:8000", span="interval", **values) -> Watched:
    return Watched(subject=subject, kind="engine", span=span, **values)


def found(*rows, at=None, records=()):
    at = Setting() if at is None else at
    return regimes([Recorded(file="seen", format="test", watched=rows, records=records)], at)


def card(name):
    return Setting(card=load(name)[0])


def question(model, on, **fields):
    scenario = make_scenario(model, on, **fields)
    return Setting(model=scenario.model, card=scenario.accelerator, count=scenario.layout.devices, scenario=scenario)


# Name and where from, rows, what binds (None: cannot tell), how sure at least, the rule's reason.
SCENARIOS = [
    # memory
    ("the classic one: utilisation 95 %, tensor 6 %, DRAM 78 %",
     [gpu(gpu_util=0.95, tensor_active=0.06, dram_active=0.78)],
     "memory", "high", "memory"),
    ("the classic one with the engine beside",
     [gpu(gpu_util=0.95, tensor_active=0.06, dram_active=0.78),
      engine(running=12, waiting=0, kv_usage=0.2)],
     "memory", "high", "memory"),
    ("DRAM alone is recorded",
     [gpu(dram_active=0.7)],
     "memory", "low", "memory"),
    ("u87: 36.15 tok/s of a 27B on an RTX 3090 are 66.5 % of its bandwidth",
     [gpu(engine_active=0.97, sm_active=0.9, tensor_active=0.02, dram_active=0.665)],
     "memory", "high", "memory"),
    ("u73: 60 of 91 tok/s that an L40S allows at batch 4",
     [gpu(gpu_util=1.0, tensor_active=0.04, dram_active=0.66),
      engine(running=4, waiting=0, kv_usage=0.05)],
     "memory", "high", "memory"),
    ("u12: an H100 PCIe decodes as an A100 does, both at 2 TB/s",
     [gpu(gpu_util=0.98, sm_active=0.85, tensor_active=0.08, dram_active=0.7)],
     "memory", "high", "memory"),
    ("r04: 11 of 13.7 tok/s, 80 %, without any other counter but utilisation",
     [gpu(gpu_util=0.99, dram_active=0.8)],
     "memory", "medium", "memory"),
    ("u63: a bubble of 2 ms before a step of 8 ms is less than what memory takes",
     [gpu(engine_active=0.8, tensor_active=0.1, dram_active=0.64),
      engine(running=64, waiting=0, kv_usage=0.6)],
     "memory", "medium", "memory"),
    ("chunked prefill beside decode, nearer to memory",
     [gpu(engine_active=0.96, sm_active=0.9, tensor_active=0.42, dram_active=0.6)],
     "memory", "medium", "memory"),
    ("decode under a power cap at the full memory clock",
     [gpu(gpu_util=1.0, tensor_active=0.05, dram_active=0.75, sm_clock_hz=1.2e9, max_sm_clock_hz=1.98e9,
         throttled=("power",))],
     "memory", "high", "memory"),
    # compute
    ("prefill: tensor cores 65 %",
     [gpu(engine_active=0.97, sm_active=0.92, tensor_active=0.65, dram_active=0.25)],
     "compute", "high", "compute"),
    ("u55: 50 prompts of 40k tokens, others wait for arithmetic",
     [gpu(gpu_util=1.0, tensor_active=0.62, dram_active=0.2),
      engine(running=8, waiting=40, kv_usage=0.7)],
     "compute", "high", "compute"),
    ("u53: time to first token grows with the tokens of a step",
     [gpu(gpu_util=1.0, sm_active=0.88, tensor_active=0.55, dram_active=0.22)],
     "compute", "medium", "compute"),
    ("u59: verifying 20 x 33 drafted tokens is above the ridge of 295",
     [gpu(gpu_util=0.97, tensor_active=0.58, dram_active=0.35),
      engine(running=20, waiting=0, kv_usage=0.3)],
     "compute", "medium", "compute"),
    ("a compute-bound job at its power limit loses a tenth of its clock, as usual",
     [gpu(gpu_util=1.0, tensor_active=0.7, dram_active=0.2, power_w=398, power_limit_w=400, sm_clock_hz=1.27e9,
         max_sm_clock_hz=1.41e9, throttled=("power",))],
     "compute", "high", "compute"),
    # launch and host: a sixth of all public ones
    ("utilisation 98 %, but SM, DRAM and tensor all low",
     [gpu(gpu_util=0.98, sm_active=0.25, tensor_active=0.03, dram_active=0.2)],
     "launch", "high", "small-kernels"),
    ("u62: a 1B model, SM and memory busy 60 % of the time with a batch running",
     [gpu(gpu_util=0.6, memory_util=0.6),
      engine(running=32, waiting=0, kv_usage=0.3)],
     "launch", "medium", "gaps"),
    ("u62 later: 50 % and 30 %",
     [gpu(gpu_util=0.5, memory_util=0.3),
      engine(running=32, waiting=0, kv_usage=0.3)],
     "launch", "medium", "gaps"),
    ("u75: 15 % of what the card could, the tokenizer in the way, all 1000 prompts waiting",
     [gpu(gpu_util=0.4, tensor_active=0.05, dram_active=0.15),
      engine(running=256, waiting=700, kv_usage=0.7, max_num_seqs=256)],
     "launch", "high", "gaps"),
    ("u56: prompts cached whole, 100k of them waiting for the scheduler",
     [gpu(engine_active=0.3, tensor_active=0.02, dram_active=0.1),
      engine(running=200, waiting=5000, kv_usage=0.2, max_num_seqs=256)],
     "launch", "high", "gaps"),
    ("u11: 35 % of what HBM allows, and no faster with 1.4 times the bandwidth",
     [gpu(gpu_util=0.99, sm_active=0.45, tensor_active=0.08, dram_active=0.3)],
     "launch", "medium", "small-kernels"),
    ("u28: the small experts of an A3B at batch 1",
     [gpu(gpu_util=0.99, sm_active=0.3, tensor_active=0.02, dram_active=0.33)],
     "launch", "high", "small-kernels"),
    ("u17: 2.5 of 6.3 ms are memory, with two cards and their small all-reduces",
     [gpu(gpu_util=1.0, sm_active=0.3, tensor_active=0.02, dram_active=0.16),
      gpu("gpu 1", gpu_util=1.0, sm_active=0.3, tensor_active=0.02, dram_active=0.16),
      engine(running=1, waiting=0, kv_usage=0.01)],
     "launch", "low", "small-kernels"),
    ("eager mode, SM not recorded",
     [gpu(gpu_util=0.97, tensor_active=0.03, dram_active=0.22)],
     "launch", "low", "small-kernels"),
    # link
    ("all-to-all over NVLink at 72 % of its 900 GB/s",
     [gpu(gpu_util=0.99, tensor_active=0.2, dram_active=0.25, nvlink_bytes_per_s=650e9)],
     "link", "high", "link"),
    ("u85: experts come over PCIe 4 x16 at 24.7 of 31.5 GB/s",
     [gpu(gpu_util=0.9, tensor_active=0.01, dram_active=0.05, pcie_bytes_per_s=24.7e9)],
     "link", "high", "link"),
    # starved
    ("three requests on a card that takes 150",
     [gpu(gpu_util=0.35, tensor_active=0.02, dram_active=0.12),
      engine(running=3, waiting=0, kv_usage=0.02)],
     "starved", "medium", "few"),
    ("u89: the decode half of a split machine is 92 % idle",
     [gpu(engine_active=0.08, tensor_active=0.01, dram_active=0.06),
      engine(running=0.6, waiting=0, kv_usage=0.01)],
     "starved", "high", "few"),
    ("the engine alone: 2 of 256 run, none waits",
     [engine(running=2, waiting=0, kv_usage=0.01, max_num_seqs=256)],
     "starved", "medium", "few"),
    # queue
    ("256 run, the cap, and 100 wait while half of the cache is free",
     [gpu(gpu_util=0.97, tensor_active=0.1, dram_active=0.7),
      engine(running=256, waiting=100, kv_usage=0.5, max_num_seqs=256)],
     "queue", "medium", "cap"),
    ("u68: no faster from 4 to 16 clients, the first token after 11.8 s, four slots",
     [gpu(gpu_util=0.96, tensor_active=0.05, dram_active=0.55),
      engine(running=4, waiting=12, kv_usage=0.2, max_num_seqs=4, queue_s=Spread(mean=11.5),
         ttft_s=Spread(mean=11.8))],
     "queue", "high", "cap"),
    ("u91: overloaded errors of a server whose slots are all taken",
     [engine(running=128, waiting=372, kv_usage=0.6, max_num_seqs=128)],
     "queue", "high", "cap"),
    ("u98: most of the time to first token is the queue's",
     [engine(running=60, waiting=40, kv_usage=0.4, queue_s=Spread(mean=4.0), ttft_s=Spread(mean=5.0))],
     "queue", "high", "no-cap"),
    ("faults 13: a first token after 40 s with 0.2 s of prefill",
     [engine(running=24, waiting=60, kv_usage=0.5, queue_s=Spread(mean=39.8), ttft_s=Spread(mean=40.0))],
     "queue", "high", "no-cap"),
    # capacity
    ("u34: 72 run, 184 wait, 480 preemptions, 77,088 tokens of cache in use",
     [engine(running=72, waiting=184, kv_usage=0.99, preemptions=480, requests=256)],
     "capacity", "high", "thrown-out"),
    ("u34 with the device: memory-bound steps, and yet the cache keeps the batch small",
     [gpu(gpu_util=0.98, tensor_active=0.1, dram_active=0.7),
      engine(running=72, waiting=184, kv_usage=0.99, preemptions=480, requests=256)],
     "capacity", "high", "thrown-out"),
    ("u42: half a MiB a token fills the pool of a 7B without grouped heads",
     [engine(running=80, waiting=500, kv_usage=0.98, preemptions=0)],
     "capacity", "medium", "full"),
    ("sequences swapped out, in older vLLM",
     [engine(running=40, waiting=0, swapped=6, kv_usage=0.97)],
     "capacity", "medium", "thrown-out"),
    ("preempted since the start: one in ten requests",
     [engine(span="lifetime", running=10, waiting=0, kv_usage=0.5, preemptions=120, requests=1200)],
     "capacity", "low", "thrown-out"),
    # throttled
    ("four RTX 3090 limited to 220 W each",
     [gpu(gpu_util=1.0, tensor_active=0.5, dram_active=0.3, power_w=219, power_limit_w=220, sm_clock_hz=1.2e9,
         max_sm_clock_hz=2.1e9, throttled=("power",))],
     "throttled", "high", "power"),
    ("heat at 90 C",
     [gpu(gpu_util=0.99, tensor_active=0.3, dram_active=0.3, temperature_c=90, sm_clock_hz=1.5e9,
         max_sm_clock_hz=1.98e9, throttled=("thermal",))],
     "throttled", "medium", "heat"),
    ("the memory clock in a lower step",
     [gpu(gpu_util=0.99, tensor_active=0.03, dram_active=0.8, memory_clock_hz=5e9, max_memory_clock_hz=9e9)],
     "throttled", "medium", "memory-clock"),
    # idle
    ("nobody asks",
     [gpu(gpu_util=0.0, memory_util=0.0, power_w=35, power_limit_w=350)],
     "idle", "high", "idle"),
    ("an engine without requests",
     [engine(running=0, waiting=0, kv_usage=0.0)],
     "idle", "medium", "idle"),
    # cannot tell
    ("faults 14: utilisation 100 % and nothing else",
     [gpu(gpu_util=1.0)],
     None, "low", "only-util"),
    ("nvidia-smi alone: utilisation 97 %, memory 55 %, 300 W",
     [gpu(gpu_util=0.97, memory_util=0.55, power_w=300, power_limit_w=700)],
     None, "low", "only-util"),
    ("a GPU without a kernel 60 % of the time, no word of the engine",
     [gpu(gpu_util=0.4, tensor_active=0.05, dram_active=0.2)],
     None, "low", "gaps-of-whom"),
    ("u82: 29 % of the bandwidth with all multiprocessors active: slow kernels, or latency",
     [gpu(engine_active=0.98, sm_active=0.95, tensor_active=0.01, dram_active=0.29)],
     None, "low", "nothing-full"),
    ("u103: 700 GB/s of 2 TB/s, SM active",
     [gpu(engine_active=0.97, sm_active=0.9, tensor_active=0.01, dram_active=0.35)],
     None, "low", "nothing-full"),
    ("tensor active 5 %, DRAM not recorded",
     [gpu(gpu_util=0.99, tensor_active=0.05)],
     None, "low", "half"),
    ("an engine under load, nothing of the device, model and card not named",
     [engine(running=64, waiting=0, kv_usage=0.4)],
     None, "low", "engine-only"),
    ("utilisation 100 % with 64 running",
     [gpu(gpu_util=1.0),
      engine(running=64, waiting=0, kv_usage=0.4)],
     None, "low", "only-util"),
]  # fmt: skip
CARDS = {"all-to-all over NVLink at 72 % of its 900 GB/s": "h100-sxm",
         "u85: experts come over PCIe 4 x16 at 24.7 of 31.5 GB/s": "rtx-4090"}  # fmt: skip


@pytest.mark.parametrize("name, rows, bound, least, why", SCENARIOS, ids=[one[0] for one in SCENARIOS])
def test_values_of_monitoring_give_the_ceiling_that_binds(name, rows, bound, least, why):
    one = found(*rows, at=card(CARDS[name]) if name in CARDS else None)

    assert (one.bound, one.why) == (bound, why)
    assert LEVELS.index(one.confidence) >= LEVELS.index(least)
    assert one.cannot_tell == (bound is None)
    assert told(one).answer.endswith(".")
    assert bound is not None or told(one).next[0].command


def test_there_are_forty_of_which_five_cannot_be_told_and_a_sixth_is_bound_by_the_host():
    bounds = [one[2] for one in SCENARIOS]

    assert len(bounds) >= 40
    assert bounds.count(None) >= 5
    assert 6 * bounds.count("launch") >= len(bounds)
    assert set(bounds) == {
        "memory", "compute", "launch", "link", "starved", "queue", "capacity", "throttled", "idle", None,
    }  # fmt: skip


# With model and card, and no counter: arithmetic of the step beside the time per token.
@pytest.mark.parametrize(
    ("name", "at", "row", "bound"),
    [
        # 16.4 GB of weights and 8 x 1,100 x 147,456 B at 2.04 TB/s are 8.7 ms of the 35.1 that were seen
        ("u40: eager mode hides what is read", ("Qwen/Qwen3-8B", "a100-sxm4-80gb"),
         {"running": 8, "tpot_s": Spread(mean=0.0351), "isl": 1024, "osl": 128}, "launch"),
        # 69.7 GB a card at 1.935 TB/s are 36 of 58.8 ms
        ("r16: a 70B in 16 bits on two A100 PCIe at 17 tok/s", ("llama-3.1-70b", "2xa100-pcie-80gb"),
         {"running": 1, "tpot_s": Spread(mean=1 / 17), "isl": 1000, "osl": 500}, "memory"),
        # 1.8 ms of reading in a step of 33
        ("r14: DeepSeek-V3.2 on eight H20 at 30 tok/s", ("deepseek-ai/DeepSeek-V3.2", "8xh20"),
         {"running": 1, "tpot_s": Spread(mean=1 / 30), "isl": 2048, "osl": 1024}, "launch"),
        # 141 GB in halves: 258 of 333 ms
        ("r03: a 70B in 16 bits on two GB10 at 3 tok/s", ("llama-3.3-70b", "2xgb10"),
         {"running": 1, "tpot_s": Spread(mean=1 / 3), "isl": 512, "osl": 256}, "memory"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)  # fmt: skip
def test_without_counters_arithmetic_of_the_step_tells_the_ceiling(name, at, row, bound):
    one = found(engine(waiting=0, kv_usage=0.3, **row), at=question(*at, weights="bf16" if "70b" in at[0] else None))

    assert one.bound == bound, name
    assert LEVELS.index(one.confidence) <= LEVELS.index("medium")
    assert one.step.tpot_s == row["tpot_s"].mean


def test_a_token_faster_than_the_ceiling_is_of_another_deployment():
    """15.0 GB in 1 ms are 15 TB/s: no H100 does that, so nothing is made of the arithmetic."""
    row = engine(running=64, waiting=0, kv_usage=0.4, tpot_s=Spread(mean=0.001))

    assert found(row, at=question("llama-3.1-8b", "h100-sxm")).bound is None


def test_dram_active_is_bytes_a_second_on_a_card():
    """faults 14: DRAM active 0.55 of 3.35 TB/s is 1.84 TB/s."""
    one = found(gpu(gpu_util=0.95, tensor_active=0.06, dram_active=0.55), at=card("h100-sxm"))

    assert one.bytes_per_s == pytest.approx(0.55 * 3.35e12)
    assert any("1.84 TB/s" in note for note in told(one).notes)


def test_the_classic_sentence():
    words = told(found(gpu(gpu_util=0.95, tensor_active=0.06, dram_active=0.78)))

    assert words.answer == (
        "Memory binds: DRAM is active 78 % of the time and the tensor cores 6 %, as in decode at a small batch; "
        "GPU utilisation of 95 % says only that some kernel ran."
    )
    assert words.next[0].what.startswith("Raise the batch")


def test_a_power_cap_on_a_compute_bound_job_says_how_much_clock_is_lost():
    row = gpu(gpu_util=1.0, tensor_active=0.7, dram_active=0.2, sm_clock_hz=1.27e9, max_sm_clock_hz=1.41e9)

    assert "the SM clock is 9.9 % below its highest" in told(found(row)).answer


def test_times_of_one_subject_are_summed_up():
    """Two minutes of memory, one of compute, one idle: memory leads with two thirds of the loaded time."""
    memory = {"gpu_util": 0.95, "tensor_active": 0.06, "dram_active": 0.78}
    compute = {"gpu_util": 0.95, "tensor_active": 0.7, "dram_active": 0.2}
    times = [f"2026-11-20T10:0{minute}:00+00:00" for minute in range(4)]
    values = (memory, memory, compute, {"gpu_util": 0.0})
    one = found(*(gpu(start=start, seconds=60, **some) for start, some in zip(times, values, strict=True)))

    assert [row.bound for row in one.rows] == ["memory", "memory", "compute", "idle"]
    assert [(part.bound, part.share) for part in one.parts] == [("memory", 0.5), ("compute", 0.25), ("idle", 0.25)]
    assert (one.bound, one.share, one.idle) == ("memory", pytest.approx(2 / 3), 0.25)
    assert "(67 % of the time with a load)" in told(one).answer
    assert any("Nothing ran 25 % of the time" in note for note in told(one).notes)


MEMORY = {"gpu_util": 0.95, "tensor_active": 0.06, "dram_active": 0.78}
COMPUTE = {"gpu_util": 0.95, "tensor_active": 0.7, "dram_active": 0.2}


def test_devices_of_one_moment_are_no_time():
    """One of two GPUs works: that is not half of the time, and nothing was idle for a while."""
    one = found(gpu("gpu 0", **MEMORY), gpu("gpu 1", gpu_util=0.0))
    words = told(one)

    assert (one.bound, one.share, one.idle, one.on, one.of) == ("memory", 1, 0, 1, 2)
    assert words.answer.endswith("(on 1 of 2 GPUs).")
    assert not any("of the time" in note for note in words.notes)
    assert any("gpu 1 is idle" in note for note in words.notes)


def test_of_many_devices_the_one_with_a_load_is_judged():
    """31 of 32 idle devices are not a machine that is idle for 97 % of the time."""
    one = found(gpu("gpu 0", **MEMORY), *(gpu(f"gpu {number}", gpu_util=0.0) for number in range(1, 32)))

    assert (one.bound, one.on, one.of) == ("memory", 1, 32)


def test_devices_that_differ_are_counted_and_their_time_is_their_own():
    """gpu 0: memory for two minutes of three with a load, idle for one of four; gpu 1: arithmetic all the time."""
    times = [f"2026-11-20T10:0{minute}:00+00:00" for minute in range(4)]
    values = (MEMORY, MEMORY, COMPUTE, {"gpu_util": 0.0})
    rows = [gpu("gpu 0", start=start, seconds=60, **some) for start, some in zip(times, values, strict=True)]
    one = found(*rows, *(gpu("gpu 1", start=start, seconds=20, **COMPUTE) for start in times))

    # 60 + 4 x 20 s of arithmetic are more than 120 s of memory; gpu 1 alone is mostly in it
    assert (one.bound, one.on, one.of, one.share, one.idle) == ("compute", 1, 2, 1, 0)
    assert one.confidence == "medium"  # 140 of 260 s are less than 0.6
    assert "(on 1 of 2 GPUs)" in told(one).answer


def test_engines_and_slices_are_counted_as_such():
    few = {"running": 2, "waiting": 0, "kv_usage": 0.01, "max_num_seqs": 256}
    engines = found(engine("vllm at a:1", **few), engine("vllm at b:1", running=0, waiting=0, kv_usage=0.0))
    slices = found(gpu("gpu 0 / mig 3", mig="1g.10gb", **MEMORY), gpu("gpu 0 / mig 4", mig="1g.10gb", gpu_util=0.0))

    assert "(on 1 of 2 engines)" in told(engines).answer
    assert "(on 1 of 2 MIG slices)" in told(slices).answer


def test_a_clock_that_no_file_says_the_highest_of_is_set_against_the_cards():
    """1,155 of an H100's 1,980 MHz: 42 % are lost, more than the quarter of a rated limit."""
    row = gpu(
        gpu_util=0.99, tensor_active=0.66, dram_active=0.3, sm_clock_hz=1.155e9, throttled=("power",), power_w=512
    )
    one, blank = found(row, at=card("h100-sxm")), found(row)

    assert (one.bound, one.why) == ("throttled", "power")
    assert one.clock_lost == pytest.approx(1 - 1155 / 1980)
    assert "42 % below its highest" in told(one).answer
    assert blank.bound == "compute"  # which card it is, nobody says
    assert "the driver lowers the clock (power), nobody recorded by how much" in told(blank).answer


def test_a_lowered_clock_is_said_beside_whatever_binds():
    row = gpu(**MEMORY, sm_clock_hz=1.2e9, max_sm_clock_hz=1.98e9, throttled=("power",), power_w=690, temperature_c=60)
    one = found(row)
    words = told(one)

    assert one.bound == "memory"
    assert {each.what: each.value for each in words.evidence}["SM clock below its highest"] == 1 - 1.2 / 1.98
    assert any("39 % below its highest (power), which is not what binds here" in note for note in words.notes)
    assert one.rows[0].values["clock_lost"] == 1 - 1.2 / 1.98
    assert {"power_w", "sm_clock_hz", "temperature_c"} <= one.rows[0].values.keys()


def test_a_full_clock_is_no_lowered_one():
    one = found(gpu(**MEMORY, sm_clock_hz=1.98e9, max_sm_clock_hz=1.98e9, throttled=("power",), power_w=690))

    assert "clock_lost" not in one.rows[0].values
    assert one.rows[0].values["power_w"] == 690
    assert not any("clock" in note for note in told(one).notes)


SERVED = {"running": 32, "waiting": 0, "kv_usage": 0.2, "isl": 1024, "osl": 256}


def test_the_time_between_tokens_stands_in_for_that_per_token():
    at = question("llama-3.1-8b", "h100-sxm", engine="vllm")
    one = found(engine(**SERVED, tpot_s=Spread(mean=0.01274)), at=at)
    other = found(engine(**SERVED, itl_s=Spread(mean=0.01274)), at=at)

    assert (other.bound, other.confidence, other.step.tpot_s) == (one.bound, one.confidence, 0.01274)
    assert {sign.name for sign in other.signs} == {sign.name for sign in one.signs} - {"tpot_s"} | {"itl_s"}
    assert other.rows[0].values == one.rows[0].values


def test_times_between_chunks_of_several_tokens_are_no_times_of_a_token():
    """32 requests that put out 5,000 tokens a second have one each 6.4 ms: chunks of 51.2 ms hold eight."""
    row = engine(**SERVED, itl_s=Spread(mean=0.0512), output_tokens_per_s=5000)
    drafts = engine(**SERVED, itl_s=Spread(mean=0.012), acceptance=0.6)
    at = question("llama-3.1-8b", "h100-sxm")

    assert found(row, at=at).step.tpot_s == 32 / 5000
    assert found(drafts, at=at).step is None


def test_what_was_named_is_not_asked_for():
    """With model and card a scrape's gauges lack a time per token, which a second scrape gives."""
    row = engine(span="moment", running=64, waiting=0, kv_usage=0.4)

    assert found(row).missing == ("counters", "model")
    assert found(row, at=question("llama-3.1-8b", "h100-sxm")).missing == ("counters", "engine")


def test_expected_output_is_that_of_the_served_run_with_its_prompts():
    from rooflight.serve.schedule import whole

    at = question("llama-3.1-8b", "h100-sxm", batch=32, isl=1024, osl=256)
    values = found(engine(**SERVED, tpot_s=Spread(mean=0.01274)), at=at).rows[0].values

    assert values["expected_output_tokens_per_s"] == whole(at.scenario).output_tokens_per_s.expected
    assert values["expected_output_tokens_per_s"] < 32 / values["expected_tpot_s"]  # prompts take time too


def test_a_regime_of_less_than_most_of_the_time_is_less_sure():
    memory = {"gpu_util": 0.95, "tensor_active": 0.06, "dram_active": 0.78}
    compute = {"gpu_util": 0.95, "tensor_active": 0.7, "dram_active": 0.2}
    times = [f"2026-11-20T10:0{minute}:00+00:00" for minute in range(9)]
    rows = [
        gpu(start=start, seconds=60, **(memory if number < 5 else compute)) for number, start in enumerate(times)
    ]  # fmt: skip

    assert found(*rows[:5]).confidence == "high"
    assert found(*rows).confidence == "medium"  # 5 of 9 is less than 0.6


def test_devices_and_the_engine_of_one_time_are_read_together():
    """Scraped 20 s apart: each device's row has the queue, the engine's row the devices' mean."""
    at = "2026-11-20T10:00:00+00:00", "2026-11-20T10:00:20Z"
    busy = {"gpu_util": 0.9, "tensor_active": 0.1, "dram_active": 0.6}
    one = found(
        gpu("gpu 0", start=at[0], **busy), gpu("gpu 1", start=at[0], **(busy | {"dram_active": 0.8})),
        engine(start=at[1], running=30, waiting=0, kv_usage=0.4),
    )  # fmt: skip
    rows = {row.subject: row for row in one.rows}

    assert rows["gpu 0"].values["running"] == 30
    assert rows["vllm at h:8000"].values["dram_active"] == pytest.approx((0.6 + 0.8) / 2)
    assert one.devices == 2


def test_rows_of_other_times_are_not_read_together():
    one = found(
        gpu(start="2026-11-20T10:00:00Z", gpu_util=0.9, dram_active=0.6),
        engine(start="2026-11-20T12:00:00Z", running=30, waiting=0, kv_usage=0.4),
    )

    assert all("running" not in row.values for row in one.rows if row.subject == "gpu 0")


def test_with_several_engines_nobody_guesses_whose_a_device_is():
    one = found(
        gpu(gpu_util=0.9, dram_active=0.7, tensor_active=0.1),
        engine("vllm at a:8000", running=3, waiting=0), engine("vllm at b:8000", running=3, waiting=0),
    )  # fmt: skip

    assert one.rows[0].subject == "gpu 0"
    assert "running" not in one.rows[0].values
    assert any("each is judged by itself" in note for note in told(one).notes)


def test_a_device_without_load_is_idle_beside_one_that_serves():
    busy = {"gpu_util": 0.95, "tensor_active": 0.06, "dram_active": 0.78}
    one = found(gpu("gpu 0", **busy), gpu("gpu 1", gpu_util=0.0), engine(running=20, waiting=0, kv_usage=0.3))

    assert {row.subject: row.bound for row in one.rows} == {
        "gpu 0": "memory", "gpu 1": "idle", "vllm at h:8000": "memory",
    }  # fmt: skip
    assert any("gpu 1 is idle" in note for note in told(one).notes)


def test_slices_of_a_device_are_judged_alone():
    """Two MIG slices: one memory-bound, one starved of a reason; nothing is summed, and no engine is either's."""
    one = found(
        gpu("gpu 0 / mig 3", mig="1g.10gb", engine_active=0.95, tensor_active=0.05, dram_active=0.7),
        gpu("gpu 0 / mig 4", mig="1g.10gb", engine_active=0.9, tensor_active=0.7, dram_active=0.2),
        engine(running=5, waiting=0), at=card("h100-sxm"),
    )  # fmt: skip

    assert [row.bound for row in one.rows[:2]] == ["memory", "compute"]
    assert all("running" not in row.values for row in one.rows[:2])
    assert one.bytes_per_s is None  # a slice has an unknown part of the bandwidth


def test_the_cap_of_the_engines_log_is_its_cap():
    log = Record(stated=Stated(max_num_seqs=64))
    one = found(engine(running=64, waiting=30, kv_usage=0.5), records=(log,))

    assert (one.bound, one.why) == ("queue", "cap")


def test_counters_since_the_start_are_weaker_and_said():
    values = {"running": 60, "waiting": 40, "kv_usage": 0.4}
    times = {"queue_s": Spread(mean=4.0), "ttft_s": Spread(mean=5.0)}
    now, ever = found(engine(**values, **times)), found(engine(span="lifetime", **values, **times))

    assert (now.confidence, ever.confidence) == ("high", "medium")
    assert any("since its start" in note for note in told(ever).notes)


def test_a_scrape_is_one_row_of_its_gauges_and_its_counters():
    """A reader gives what a scrape sees now and what it counted since the start as two rows."""
    gauges = {"running": 1, "waiting": 2, "kv_usage": 0.001}
    counters = {"queue_s": Spread(mean=68.0), "ttft_s": Spread(mean=72.0), "requests": 52043, "preemptions": 0}
    one = found(engine(span="moment", **gauges), engine(span="lifetime", **counters))

    assert [row.bound for row in one.rows] == ["queue"]
    assert one.confidence == "medium"
    assert {sign.name: sign.value for sign in one.signs}["queued"] == pytest.approx(68 / 72)


def test_an_interval_without_gauges_is_told_by_its_times():
    """Nobody waits where the queue takes 0.04 ms of the 5 s to the first token."""
    row = engine(running=3.9, queue_s=Spread(mean=4e-5), ttft_s=Spread(mean=5.3))

    assert (found(row).bound, found(row).confidence) == ("starved", "low")


def test_files_without_monitoring_are_for_others():
    assert found() is None


def test_every_threshold_has_its_reason():
    assert all(one.why for one in TABLE.values())


shares = st.one_of(st.none(), st.floats(0, 1))
counts = st.one_of(st.none(), st.integers(0, 300).map(float))
VALUES = {
    "gpu_util": shares, "engine_active": shares, "sm_active": shares, "tensor_active": shares, "dram_active": shares,
    "memory_util": shares, "kv_usage": shares, "running": counts, "waiting": counts, "preemptions": counts,
    "requests": counts, "max_num_seqs": st.one_of(st.none(), st.integers(1, 300)),
    "power_w": st.one_of(st.none(), st.just(300.0), st.just(690.0)),
    "power_limit_w": st.one_of(st.none(), st.just(700.0)), "sm_clock_hz": st.one_of(st.none(), st.floats(1e8, 2e9)),
    "max_sm_clock_hz": st.one_of(st.none(), st.just(2e9)), "memory_clock_hz": st.one_of(st.none(), st.floats(1e9, 9e9)),
    "max_memory_clock_hz": st.one_of(st.none(), st.just(9e9)),
    "temperature_c": st.one_of(st.none(), st.floats(20, 100)),
    "throttled": st.sampled_from([None, (), ("power",), ("thermal",), ("hw-slowdown", "power")]),
    "nvlink_bytes_per_s": st.one_of(st.none(), st.floats(0, 900e9)), "swapped": counts,
    "queue_s": st.one_of(st.none(), st.builds(Spread, mean=st.floats(0, 9))),
    "ttft_s": st.one_of(st.none(), st.builds(Spread, mean=st.floats(0, 9))),
}  # fmt: skip
watched = st.builds(lambda values: gpu(**values), st.fixed_dictionaries(VALUES))
H100 = card("h100-sxm")


def judged(row) -> Verdict:
    return judge(Facts(Seen(row=row, queue_span="interval"), H100, None, None))


@given(row=watched, name=st.sampled_from(sorted(VALUES)))
def test_a_blank_value_never_makes_the_same_verdict_surer(row, name):
    whole, less = judged(row), judged(replace(row, **{name: None}))

    assert less.bound != whole.bound or LEVELS.index(less.confidence) <= LEVELS.index(whole.confidence), name


@given(row=watched)
def test_any_values_are_judged_and_worded(row):
    one = found(row, at=H100)
    words = told(one)

    assert words.answer.endswith(".")
    assert not {"None", ": .", ", .", " ,"} & {part for part in ("None", ": .", ", .", " ,") if part in words.answer}
    assert one.cannot_tell == (one.bound is None)
    assert one.bound is not None or (one.confidence == "low" and words.next)
    assert words.evidence or one.bound is None


@given(rows=st.lists(watched, min_size=2, max_size=6), seed=st.integers(0, 99))
def test_the_order_of_subjects_changes_nothing(rows, seed):
    named = [replace(row, subject=f"gpu {number}") for number, row in enumerate(rows)]
    mixed = random.Random(seed).sample(named, len(named))

    assert found(*mixed, at=H100) == found(*named, at=H100)


@given(row=watched, factor=st.sampled_from([0.5, 2.0, 1000.0]))
def test_clocks_powers_and_queues_in_another_unit_change_nothing(row, factor):
    """Only shares decide: clock of clock, watt of watt, waiting time of time to first token.

    A clock whose highest is not recorded is held against the card's own, in Hz.
    """
    row = replace(row, sm_clock_hz=None) if row.max_sm_clock_hz is None else row

    def times(value):
        return None if value is None else value * factor

    plain = [name for name in VALUES if name.startswith("power") or name.endswith("clock_hz")]
    spreads = {name: value for name in ("queue_s", "ttft_s") if (value := getattr(row, name)) is not None}
    scaled = replace(
        row, **{name: times(getattr(row, name)) for name in plain},
        **{name: Spread(mean=times(value.mean)) for name, value in spreads.items()},
    )  # fmt: skip
    one, other = judged(row), judged(scaled)

    assert (one.bound, one.why, one.confidence) == (other.bound, other.why, other.confidence)


@given(row=watched, times=st.integers(2, 5))
def test_the_same_minute_seen_again_changes_nothing(row, times):
    clocked = [replace(row, start=f"2026-11-20T10:0{number}:00Z") for number in range(times)]
    one, many = found(row, at=H100), found(*clocked, at=H100)

    assert (one.bound, one.confidence, one.why) == (many.bound, many.confidence, many.why)
    assert many.share == 1


def test_twice_the_requests_of_a_memory_bound_decode_gain_up_to_twice():
    """Eight sequences of an 8B on an H100 read 15 GB of weights a step, sixteen the same and their caches."""
    row = engine(running=8, waiting=0, kv_usage=0.1, tpot_s=Spread(mean=0.0075), isl=512, osl=256)
    one = found(row, at=question("llama-3.1-8b", "h100-sxm", engine="vllm"))

    assert one.bound == "memory"
    assert 1.5 < one.doubled < 2
    assert told(one).next[0].gain == one.doubled
    assert any("MBU" in note for note in told(one).notes)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 0.0, -1.0, 1e-300, 1e300])
@pytest.mark.parametrize(
    "name",
    [
        "running",
        "waiting",
        "kv_usage",
        "isl",
        "osl",
        "output_tokens_per_s",
        "gpu_util",
        "dram_active",
        "seconds",
        "max_sm_clock_hz",
    ],
)
def test_numbers_that_are_none_do_no_harm(name, odd):
    values = {
        "running": 8.0,
        "waiting": 0.0,
        "kv_usage": 0.1,
        "tpot_s": Spread(mean=0.0075),
        "isl": 512.0,
        "osl": 256.0,
    }
    one = found(
        engine(**{**values, **({name: odd} if name in Watched.__struct_fields__ else {})}), gpu(dram_active=0.5),
        at=question("llama-3.1-8b", "h100-sxm"),
    )  # fmt: skip

    assert told(one).answer

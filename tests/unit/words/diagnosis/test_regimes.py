"""What monitoring says, in words: a sentence with numbers for each ceiling, and what to do or to record next."""

from __future__ import annotations

import pytest

from rooflight.answers.diagnose.regimes import Part, RegimesFound
from rooflight.answers.diagnose.watched.judged import Sign
from rooflight.words.diagnosis.regimes import NAMES, percent, told
from rooflight.words.diagnosis.regimes_next import COUNTERS, ENGINE, PROFILE


def saying(bound, why, *, running=None, takes=None, **values):
    values |= {} if running is None else {"running": running}
    signs = tuple(Sign(name=name, value=value) for name, value in values.items())
    return RegimesFound(
        bound=bound, why=why, signs=signs, confidence="high" if bound else "low", cannot_tell=bound is None,
        running=running, takes=takes,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        (saying("memory", "memory", dram_active=0.7, tensor_active=0.3),
         "Memory binds: DRAM is active 70 % of the time and the tensor cores 30 %, as in decode."),
        (saying("compute", "compute", tensor_active=0.65),
         "Compute binds: the tensor cores are active 65 % of the time, as in prefill or at a large batch."),
        (saying("link", "link", link_share=0.9, dram_active=0.2),
         "The link binds: the link between GPUs carries 90 % of what it can, while DRAM is active 20 % of the time."),
        (saying("launch", "gaps", active=0.4, running=32.0),
         "The host binds: the GPU has no kernel 60 % of the time while 32 requests run."),
        (saying("launch", "gaps", active=0.4, running=1.0),
         "The host binds: the GPU has no kernel 60 % of the time while 1 request runs."),
        (saying("starved", "few", running=2.0, waiting=0.0, takes=100.0),
         "Too few requests fill the machine: 2 requests run where about 100 could and none waits."),
        (saying("queue", "cap", waiting=1.0, kv_usage=0.5, running=4.0),
         "The queue binds: 1 request waits while 50 % of the KV cache is in use, with 4 running, the "
         "engine's own cap."),
        (saying("capacity", "full", kv_usage=0.99, waiting=20.0, running=70.0),
         "The KV cache binds: 99 % of the KV cache is in use and 20 requests wait, with 70 running."),
        (saying("throttled", "heat", clock_lost=0.3, temperature_c=88.0),
         "The GPU is slowed by heat or the board's protection: the SM clock is 30 % below its highest, at 88 C."),
        (saying("throttled", "memory-clock", clock_lost=0.0, memory_clock_lost=0.4),
         "The GPU is slowed by a lower memory clock: the memory clock is 40 % below its highest."),
        (saying("idle", "idle", active=0.01),
         "Nothing binds, the machine is idle: the GPU has a kernel 1 % of the time."),
    ],
)  # fmt: skip
def test_each_ceiling_has_a_sentence_with_its_numbers(found, answer):
    assert told(found).answer == answer


@pytest.mark.parametrize(
    ("why", "missing", "step"),
    [("only-util", "counters", COUNTERS), ("gaps-of-whom", "engine", ENGINE), ("nothing-full", "profile", PROFILE)],
)
def test_what_cannot_be_told_has_the_command_that_records_it(why, missing, step):
    found = RegimesFound(
        bound=None, why=why, cannot_tell=True, missing=(missing,), signs=(Sign(name="active", value=0.95),)
    )
    words = told(found)

    assert words.answer.startswith("Which ceiling binds cannot be told")
    assert words.next[0] == step
    assert step.command


def test_next_steps_carry_what_is_known_of_the_deployment():
    found = RegimesFound(
        bound="memory", why="memory", confidence="high", model="org/m", accelerator="2xh100-sxm", running=12.2,
        signs=(Sign(name="dram_active", value=0.78),),
    )  # fmt: skip

    assert told(found).next[0].command == "rooflight moves org/m --on 2xh100-sxm --batch 12"


def test_a_full_cache_is_not_told_to_take_more_requests():
    found = RegimesFound(
        bound="memory", why="memory", kv_usage=0.97, signs=(Sign(name="dram_active", value=0.78),)
    )  # fmt: skip

    assert not any("Raise the batch" in step.what for step in told(found).next)


def test_subjects_that_differ_are_named():
    others = tuple(Part(subject=f"gpu {number}", bound="throttled", share=1.0) for number in range(1, 7))
    found = RegimesFound(
        bound="memory", why="memory", devices=8, others=others, signs=(Sign(name="dram_active", value=0.78),)
    )
    note = told(found).notes[-1]

    assert "gpu 1 is throttled" in note
    assert "and 2 more" in note
    assert "slowest GPU" in note


def test_every_value_of_a_rule_has_its_words():
    from pathlib import Path

    import rooflight.answers.diagnose.watched.judged as rules

    text = Path(rules.__file__).read_text()
    named = {part.split('"')[0] for part in text.split('.add("')[1:]}
    assert named <= set(NAMES)


@pytest.mark.parametrize(
    ("share", "words"), [(0.78, "78 %"), (0.06, "6 %"), (0.004, "0.4 %"), (1.0, "100 %"), (0.996, "99.6 %")]
)
def test_shares_are_percents(share, words):
    assert percent(share) == words

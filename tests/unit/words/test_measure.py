"""What is said of a measured machine."""

from __future__ import annotations

from machines import machine, rate
from rooflight.words.measure import answer, notes


def test_one_sentence_for_a_colleague():
    # 500 GFLOP/s over 50 GB/s is 10 FLOP/byte
    assert answer(machine()) == (
        "AMD EPYC, 2 threads, as measured: memory at 50 GB/s, fp32 at 200 GFLOP/s, bf16 at 500 GFLOP/s; below "
        "10 FLOP/byte, bf16 work waits for memory."
    )


def test_without_memory_there_is_no_ridge():
    assert answer(machine((rate("peak", "fp32", 200e9),))) == ("AMD EPYC, 2 threads, as measured: fp32 at 200 GFLOP/s.")
    assert any("no figure stands for memory" in note for note in notes(machine((rate("peak", "fp32", 200e9),))))


def test_nothing_was_done():
    assert answer(machine((), complete=False)).endswith("nothing was measured to its end.")


def test_a_quiet_machine_needs_no_excuse():
    assert notes(machine(others=0.01, stolen=0.0)) == (
        "2 threads, kept on a processor each, cpu clock 2.5 GHz, 50 °C, python 3.13, torch 2.9",
    )


def test_what_may_be_doubted_is_said():
    said = notes(
        machine(others=0.5, stolen=0.25, complete=False, detours={"fp16": 2e9}, undone=(("all-reduce", "no way"),))
    )
    assert said[:4] == (
        "other programs used 0.5 of a processor meanwhile: rates may be low",
        "the host gave 0.25 of a processor to other machines meanwhile: rates may be low",
        "no units of their own: fp16 at 2 GFLOP/s, slower than fp32, in which such numbers can be multiplied instead",
        "not done: all-reduce (no way)",
    )


def test_a_quick_look_says_so():
    assert any(note.startswith("a quick look") for note in notes(machine(complete=False)))

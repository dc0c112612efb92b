"""Timed kernels beside their times, and why they stay below the roof: figures of a machine with round rates."""

from __future__ import annotations

from pathlib import Path

import pytest

import rooflight
from rooflight.answers.check.kernels import beside, explained, of_steps
from rooflight.roofline.rates import rates
from rooflight.values.kernels import Job
from rooflight.values.sample import Sample, Timing
from rooflight.values.work import Gemm, Operator, Work
from rooflight.words.kernels import _CLAUSES, WORDS
from rooflight.work.layout import Layout

# 24 GB/s (25.5 x (1 + 1/25) at best), fp32 165 GFLOP/s, bf16 650 GFLOP/s, 260 MiB of cache, 3 us a call
MACHINE = rooflight.accelerator(str(Path(__file__).parents[3] / "measured.toml"))
RATES = rates(MACHINE, Layout(), graphs=False)
GB = 10**9


def timed(
    seconds, *, tokens=1, flop=0.0, moved=0.0, compute="fp32", inputs=4096, outputs=4096, per_step=1, phase="decode"
):
    """A product of so many bytes and flop that took so long."""
    work = Work(flop=flop, weight_bytes=moved, launches=1)
    shape = Gemm(tokens=tokens, inputs=inputs, outputs=outputs, stored=compute)
    op = Operator(name="up", kind="linear", count=per_step, compute=compute, work=work, shape=shape)
    job = Job(phase=phase, operator=op, tokens=tokens, per_step=per_step)
    sample = Sample(
        kind="kernel", name="linear", operator="up", time_s=Timing(median=seconds, low=seconds, high=seconds, n=5),
        flop=flop, bytes=moved, format=compute, compute=compute, batch=tokens,
        shape={"tokens": tokens, "inputs": inputs, "outputs": outputs},
    )  # fmt: skip
    return beside(job, op, sample, RATES, None)


def test_times_of_a_kernel():
    """2.4 GB at 24 GB/s are 0.1 s, half of 0.2; less 260 MiB of cache, at 25.5 x (1 + 1 / 25) GB/s, is its ceiling."""
    one = timed(0.2, flop=1.65 * GB, moved=2.4 * GB)
    assert one.memory_s == pytest.approx(0.1)
    assert one.compute_s == pytest.approx(1.65 / 165)
    assert one.launch_s == pytest.approx(3e-6)
    assert one.roofline_s == pytest.approx(0.1)
    assert one.ceiling_s == pytest.approx((2.4 * GB - 260 * 2**20) / (25.5 * GB * (1 + 1 / 25)))
    assert one.of_roof == pytest.approx(0.5)
    assert one.bound == "memory"
    assert one.bytes_per_s == pytest.approx(12 * GB)


@pytest.mark.parametrize(
    "why, one",
    [
        (None, timed(0.11, moved=2.4 * GB)),
        ("launch", timed(5e-6, moved=24_000)),
        ("format", timed(0.1, tokens=64, flop=1.65 * GB, compute="fp16", moved=100.0)),
        ("ridge", timed(0.2, tokens=8, flop=16.5 * GB, moved=2.4 * GB)),
        ("small", timed(60e-6, moved=240_000)),
        ("memory", timed(0.2, moved=2.4 * GB)),
        ("arithmetic", timed(0.2, tokens=64, flop=16.5 * GB, moved=1000.0)),
        ("rows", timed(0.2, tokens=16, flop=16.5 * GB, moved=1000.0)),
        ("tail", timed(0.2, tokens=65, flop=16.5 * GB, moved=1000.0)),
        ("tail", timed(0.2, tokens=64, outputs=4097, flop=16.5 * GB, moved=1000.0)),
    ],
)
def test_why_a_kernel_stays_below_its_roof(why, one):
    """0.1 s of bytes, or of arithmetic, in 0.2 s; fp16 has no peak here."""
    machine = RATES
    (found,) = explained([one], machine)
    assert found.why == why


def test_few_rows_are_told_from_the_same_matrix_with_one():
    """22 GB/s with one row, 12 with four: below 80 % of it. Another matrix says nothing of it."""
    alone, four = timed(2.4 / 22, moved=2.4 * GB), timed(0.2, tokens=4, moved=2.4 * GB)
    found = explained([alone, four], RATES)
    assert [one.why for one in found] == [None, "rows"]
    assert found[1].alone_bytes_per_s == pytest.approx(22 * GB)
    other = timed(2.4 / 22, moved=2.4 * GB, outputs=1024)
    assert [one.why for one in explained([other, four], RATES)] == [None, "memory"]


def test_kernels_of_a_step_count_by_their_time():
    """10 of 0.1 s at the roof and one of 1 s at a tenth of it: 1.1 s of 2."""
    full, slow = timed(0.1, moved=2.4 * GB, per_step=10), timed(1.0, moved=2.4 * GB)
    assert of_steps([full, slow]) == {("decode", 1): pytest.approx(1.1 / 2)}


def test_every_reason_has_words():
    assert set(WORDS) == set(_CLAUSES)

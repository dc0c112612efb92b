"""What is said where a device and the figures it stands beside are of two kinds."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.values.sample import MachineState
from rooflight.words.seen import mismatched


@pytest.mark.parametrize(
    ("card", "threads", "said"),
    [
        ("h100-sxm", 2, " But it is a CPU and h100-sxm is none: they do not belong together."),
        ("epyc-9654", None, " But it is no CPU and epyc-9654 is one: they do not belong together."),
        ("h100-sxm", None, ""), ("epyc-9654", 96, ""), ("apple-m4", 10, ""), ("apple-m4", None, ""),
    ],
)  # fmt: skip
def test_a_cpu_is_not_held_against_a_card_in_silence(card, threads, said):
    assert mismatched("it", MachineState(threads=threads), rooflight.accelerator(card)) == said

"""Rates that are tried: the same card, so many times as fast, by one spelling in the commands and one in Python."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import rooflight
from rooflight.cli.app import app
from rooflight.errors import BadInput
from rooflight.values.accelerator import WhatIf


def run(*words):
    return CliRunner().invoke(app, [*words], standalone_mode=True)


def asked(*words):
    found = run(*words, "--json")
    assert found.exit_code == 0, found.output
    return json.loads(found.output)


def test_bandwidth_moves_the_memory_roof_alone():
    """3.35 TB/s x 1.5; decode of one sequence is memory-bound, so its ceiling takes 1 / 1.5 of the time."""
    plain, faster = (
        asked("analyze", "llama-3.1-8b", "--on", "h100", *more) for more in ([], ["--bandwidth-times", "1.5"])
    )
    assert faster["accelerator"]["memory_bytes_per_s"] == pytest.approx(3.35e12 * 1.5)
    assert faster["accelerator"]["peak_flop_per_s"] == plain["accelerator"]["peak_flop_per_s"]
    times = [one["phases"]["decode"]["time_s"]["ceiling"] for one in (plain, faster)]
    assert times[0] / times[1] == pytest.approx(1.5)
    assert any("what if: h100-sxm with 1.5 times its memory bandwidth" in one for one in faster["assumptions"])


def test_the_command_and_python_say_the_same():
    words = ["analyze", "llama-3.1-70b", "--on", "4xh100-sxm", "--batch", "8", "--peak-times", "2"]
    found = rooflight.analyze("llama-3.1-70b", WhatIf("4xh100-sxm", peak_times=2), batch=8)
    assert asked(*words) == json.loads(json.dumps(found.to_dict()))


def test_every_accelerator_of_a_comparison_and_a_sweep_has_the_rates():
    found = asked("compare", "llama-3.1-8b", "--on", "h100,h200", "--bandwidth-times", "2", "--price", "h100=2")
    assert [one["label"] for one in found["compared"]] == ["h100-sxm (what if)", "h200-sxm (what if)"]
    assert found["compared"][0]["hardware"]["price_usd_per_hour"] == 2
    rows = run("sweep", "llama-3.1-8b", "--on", "h100", "--peak-times", "2", "--format", "csv").output
    assert "h100-sxm (what if)" in rows


def test_moves_of_a_card_with_other_rates_are_of_that_card():
    found = asked("moves", "llama-3.1-8b", "--on", "h100", "--bandwidth-times", "2")
    assert found["accelerator"] == "h100-sxm (what if)"


@pytest.mark.parametrize("times", ["0", "11", "nan", "many"])
def test_times_that_are_none_are_refused(times):
    found = run("analyze", "llama-3.1-8b", "--on", "h100", "--bandwidth-times", times)
    assert found.exit_code == 2
    assert "--bandwidth-times" in found.output


@pytest.mark.parametrize("times", [True, "2", None])
def test_times_that_are_no_number_are_refused(times):
    with pytest.raises(BadInput):
        rooflight.analyze("llama-3.1-8b", WhatIf("h100", bandwidth_times=times))


def test_unlike_cards_are_each_changed():
    """936 and 1,008 GB/s in the mean, twice."""
    found = rooflight.analyze("llama-3.1-8b", WhatIf("rtx-4090+rtx-3090", bandwidth_times=2))
    assert found.accelerator.memory_bytes_per_s == pytest.approx(2 * (936.2e9 + 1008e9) / 2, rel=1e-3)

"""Rates of a machine: formats fall back to wider ones, and a missing fact is named, never guessed."""

from __future__ import annotations

import math

import msgspec
import pytest

from rooflight.catalog import accelerators
from rooflight.errors import MissingFact
from rooflight.roofline.rates import communicates, hardware_format, no_peak, rates, ridges, unrated
from rooflight.values.accelerator import Link
from rooflight.values.formats import FORMATS, WIDER
from rooflight.work.layout import Layout
from unit.models import card


@pytest.mark.parametrize(
    ("wanted", "peaks", "used"),
    [
        ("fp8", ["bf16", "fp8"], "fp8"),
        ("fp8", ["bf16", "fp16"], "bf16"),  # A100: no FP8 path
        ("fp8", ["int8", "fp16"], "fp16"),  # T4: int8 is no stand-in for a float
        ("fp4", ["fp8", "bf16"], "fp8"),
        ("fp4", ["fp6", "fp8"], "fp6"),
        ("fp4", ["bf16"], "bf16"),
        ("int4", ["int8", "bf16"], "int8"),
        ("int8", ["fp8", "bf16"], "bf16"),
        ("bf16", ["fp16", "fp32"], "fp16"),  # V100: no bf16
        ("fp16", ["bf16"], "bf16"),
        ("bf16", ["fp32"], "fp32"),
        ("fp32", ["fp32"], "fp32"),
    ],
)
def test_a_format_without_a_path_runs_in_the_next_wider_one(wanted, peaks, used):
    assert hardware_format(card(peak_flop_per_s=dict.fromkeys(peaks, 1.0)), wanted) == used


def test_where_fp32_is_faster_nobody_multiplies_in_16_bits():
    """Pascal's P40: fp16 at a 64th of fp32's rate."""
    pascal = card(peak_flop_per_s={"fp16": 0.18e12, "fp32": 11.76e12})

    assert {hardware_format(pascal, form) for form in ("fp8", "bf16", "fp16", "fp32")} == {"fp32"}


def test_every_format_that_products_run_in_has_a_chain():
    multiplied = {form.compute for form in FORMATS.values() if form.compute}

    assert multiplied <= set(WIDER)
    assert all(set(chain) <= set(WIDER) for chain in WIDER.values())


@pytest.mark.parametrize(("wanted", "peaks"), [("fp32", ["bf16"]), ("bf16", ["fp8", "int8"]), ("fp8", [])])
def test_a_narrower_peak_never_stands_in(wanted, peaks):
    """Arithmetic is then free, as a ceiling may have it; what hangs on it names the file and the fact to add."""
    bare = card(peak_flop_per_s=dict.fromkeys(peaks, 1.0))
    machine = rates(bare, Layout(), graphs=True)

    assert hardware_format(bare, wanted) == wanted
    assert unrated(bare, {wanted, *peaks}) == (wanted,)
    assert machine.peak(wanted) == machine.fastest(wanted) == math.inf
    error = no_peak(bare, (wanted,), "prefill")
    assert error.where == "tests/hand-card.toml"
    assert f'dtype = "{wanted}"' in error.want
    assert error.exit_status == 3


def test_of_two_bandwidths_the_ceiling_takes_the_faster():
    machine = rates(card(memory_bytes_per_s=2.0, fast_memory_bytes_per_s=3.0), Layout(), graphs=True)

    assert (machine.memory_bytes_per_s, machine.fast_memory_bytes_per_s) == (2, 3)
    assert rates(card(memory_bytes_per_s=2.0), Layout(), graphs=True).fast_memory_bytes_per_s == 2


def test_a_missing_bandwidth_names_file_and_fact():
    with pytest.raises(MissingFact) as caught:
        rates(card(memory_bytes_per_s=None), Layout(), graphs=True)

    assert caught.value.where == "tests/hand-card.toml"
    assert 'what = "memory-bandwidth"' in caught.value.want


def test_a_missing_link_is_an_error_only_where_devices_talk():
    alone = card(link=None, pcie_bytes_per_s=None)

    assert rates(alone, Layout(dp=8), graphs=True).link_bytes_per_s is None
    with pytest.raises(MissingFact) as caught:
        rates(alone, Layout(tp=2), graphs=True)
    assert caught.value.where == "tests/hand-card.toml"
    assert 'what = "link" or "pcie"' in caught.value.want


def test_pcie_stands_in_where_there_is_no_link():
    both = card(link=Link(name="bridge", bytes_per_s=50.0), pcie_bytes_per_s=10.0)

    assert rates(both, Layout(tp=2), graphs=True).link_bytes_per_s == 50
    assert rates(msgspec.structs.replace(both, link=None), Layout(tp=2), graphs=True).link_bytes_per_s == 10


@pytest.mark.parametrize(
    ("layout", "talks"),
    [
        (Layout(), False),
        (Layout(dp=8), False),  # replicas share nothing
        (Layout(tp=2), True),
        (Layout(pp=2), True),
        (Layout(tp=4, ep=4), True),
        (Layout(dp=4, ep=4), True),  # pooled experts
    ],
)
def test_who_communicates(layout, talks):
    assert communicates(layout) is talks


def test_a_blank_cache_is_the_assumption_of_the_family_and_a_known_one_is_not():
    assumed = msgspec.structs.replace(card().assumed, last_level_cache_bytes=64.0)
    blank = card(assumed=assumed, last_level_cache_bytes=None)

    assert rates(blank, Layout(), graphs=True).cache_bytes == 64
    assert rates(card(assumed=assumed, last_level_cache_bytes=0.0), Layout(), graphs=True).cache_bytes == 0


def test_graphs_and_eager_have_floors_of_their_own():
    assert rates(card(), Layout(), graphs=True).launch_s == card().assumed.launch_graph_s
    assert rates(card(), Layout(), graphs=False).launch_s == card().assumed.launch_eager_s


def test_a_ceiling_takes_the_fastest_rate_and_a_roof_the_datasheet():
    """fp16's half-width accumulation is no rate of bf16."""
    fast = card(
        peak_flop_per_s={"bf16": 1000.0, "fp16": 1000.0, "fp8": 1500.0},
        fast_flop_per_s={"bf16": 1100.0, "fp16": 2000.0, "fp8": 1600.0},
    )
    machine = rates(fast, Layout(), graphs=True)

    assert (machine.peak("bf16"), machine.fastest("bf16")) == (1000, 1100)
    assert (machine.peak("fp8"), machine.fastest("fp8")) == (1500, 1600)
    assert rates(card(), Layout(), graphs=True).fastest("bf16") == 1000  # nothing faster is known


def test_no_shipped_card_has_a_peak_above_its_ceiling():
    for accelerator in accelerators.all_accelerators():
        if accelerator.memory_bytes_per_s is None:
            continue
        machine = rates(accelerator, Layout(), graphs=True)
        for form in set(accelerator.peak_flop_per_s) & set(WIDER):
            assert machine.fastest(form) >= machine.peak(form), (accelerator.id, form)


@pytest.mark.parametrize(
    ("name", "form", "peak", "bandwidth"),
    [
        ("h100-sxm", "bf16", 989.4e12, 3.35e12),
        ("h100-sxm", "fp8", 1978.9e12, 3.35e12),
        ("a100-sxm4-80gb", "bf16", 312e12, 2039e9),
    ],
)
def test_ridges_are_datasheet_peaks_over_bandwidth(name, form, peak, bandwidth):
    assert ridges(accelerators.load(name)[0])[form] == pytest.approx(peak / bandwidth, rel=1e-12)


def test_no_bandwidth_no_ridge():
    assert ridges(card(memory_bytes_per_s=None)) == {}

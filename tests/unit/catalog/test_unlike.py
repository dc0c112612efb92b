"""Several kinds of devices under one name: how many, which figures stand for them, and what is refused."""

from __future__ import annotations

import pytest

from rooflight.catalog.accelerators import counted, file_name, load, shipped
from rooflight.catalog.unlike import changed_each, groups, mean_of, pooled, slowest_of
from rooflight.errors import BadInput, UnknownName
from rooflight.values.accelerator import devices_named


def entry(name):
    found = shipped(name)
    assert found is not None
    return found


def test_a_plus_joins_cards_and_counts_them():
    card, count = load("2xrtx-3090+rtx-4090")

    assert count == 2 + 1
    assert [(one.id, many) for one, many in groups(card)] == [("rtx-4090", 1), ("rtx-3090", 2)]
    assert card.id == "rtx-4090+2xrtx-3090"


@pytest.mark.parametrize("name", ["rtx-4090 + 2x rtx-3090", "rtx-3090+rtx-4090+rtx-3090", "2xRTX3090+4090"])
def test_the_order_and_the_spelling_of_cards_say_nothing(name):
    assert load(name) == load("2xrtx-3090+rtx-4090")
    assert counted(name) == load(name)


def test_the_mean_makes_sums_over_devices_right():
    """936 and 1,008 GB/s: 972 each, 1,944 together; 24,564 + 24,576 MiB of memory and what a program gets of it."""
    slow, fast = entry("rtx-3090"), entry("rtx-4090")
    card, count = load("rtx-3090+rtx-4090")

    assert card.memory_bytes_per_s * count == pytest.approx((936.2e9 + 1008e9), rel=1e-3)
    for name in ("memory_bytes_per_s", "memory_bytes", "program_bytes", "label_bytes"):
        assert getattr(card, name) * count == pytest.approx(getattr(slow, name) + getattr(fast, name))
    assert card.peak_flop_per_s["bf16"] * 2 == slow.peak_flop_per_s["bf16"] + fast.peak_flop_per_s["bf16"]


def test_a_format_that_one_card_has_no_path_for_has_no_peak_of_both():
    """Ada multiplies in fp8, Ampere does not."""
    assert "fp8" in entry("rtx-4090").peak_flop_per_s
    assert "fp8" not in load("rtx-3090+rtx-4090")[0].peak_flop_per_s


def test_the_slowest_has_the_least_of_each():
    one = slowest_of([entry("rtx-4090"), entry("rtx-3060-12gb")])

    assert one.memory_bytes_per_s == entry("rtx-3060-12gb").memory_bytes_per_s
    assert one.given_bytes == entry("rtx-3060-12gb").given_bytes


def test_pooled_devices_can_together_what_unlike_ones_can():
    """936 + 1,008 GB/s as one device, or as two of 972; 24 + 24 GB alike."""
    card, _ = load("rtx-3090+rtx-4090")

    for devices in (1, 2):
        one = pooled(card, devices)
        assert one.memory_bytes_per_s * devices == pytest.approx(card.memory_bytes_per_s * 2)
        assert one.given_bytes * devices == pytest.approx(card.given_bytes * 2)
        assert one.peak_flop_per_s["bf16"] * devices == pytest.approx(card.peak_flop_per_s["bf16"] * 2)
        assert one.joined == ()
        assert one == pooled(slowest_of(card.joined), devices)


def test_links_of_unlike_cards_are_what_they_have_in_common():
    """Two H100 with NVLink keep it; beside a card with PCIe alone that is left."""
    nvlink, pcie = entry("h100-sxm"), entry("rtx-4090")
    mixed = mean_of([nvlink, pcie])

    assert mean_of([nvlink, entry("h200-sxm")]).link == nvlink.link
    assert mixed.link is None
    assert mixed.pcie_bytes_per_s == min(nvlink.pcie_bytes_per_s, pcie.pcie_bytes_per_s)


def test_a_change_of_unlike_cards_is_of_each():
    card, _ = load("rtx-3090+rtx-4090")
    import msgspec

    twice = changed_each(card, lambda one: msgspec.structs.replace(one, memory_bytes_per_s=2 * one.memory_bytes_per_s))

    assert twice.memory_bytes_per_s == pytest.approx(2 * card.memory_bytes_per_s)
    assert [one.memory_bytes_per_s for one in twice.joined] == [2 * one.memory_bytes_per_s for one in card.joined]


WRONG = (
    "rtx-4090+", "+rtx-4090", "+", "rtx-4090++rtx-3090", "rtx-4090+epyc-9654", "64xrtx-4090+rtx-3090",
    "1000000xrtx-4090+rtx-3090", "0xrtx-4090+rtx-3090",
)  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_joined_is_refused(name):
    with pytest.raises(BadInput):
        load(name)


def test_an_unknown_part_is_named():
    with pytest.raises(UnknownName, match="rtx-4096"):
        load("rtx-4090+rtx-4096")


def test_joined_cards_are_no_file():
    assert file_name("rtx-4090+rtx-3090") is None


ONE = [("AMD Ryzen AI Max+ 395", "ryzen-ai-max-395"), ("xeon-8592+", "xeon-8592plus")]


@pytest.mark.parametrize(("name", "entry_id"), ONE)
def test_a_name_with_a_plus_in_it_is_one_machine(name, entry_id):
    for look_up in (load, counted):
        card, count = look_up(f"2x {name}")
        assert (card.id, count, card.joined) == (entry_id, 2, ())


def test_names_that_say_their_number_are_not_counted_again():
    assert devices_named("rtx-4090+2xrtx-3090", 3) == "rtx-4090+2xrtx-3090"
    assert devices_named("h100-sxm", 2) == "2 x h100-sxm"
    assert devices_named("mine+", 2) == "2 x mine+"

"""Levels of memory: rates and sizes of caches from facts, host links, and what a measurement makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import rooflight
from rooflight.catalog import accelerators
from rooflight.errors import BadConfig
from rooflight.roofline.rates import level_roofs
from rooflight.values.accelerator import Accelerator, Level

CARD = """
id = "x"
[[fact]]
what = "memory-bandwidth"
value = 1000
unit = "GB/s"
"""
RATE = '[[fact]]\nwhat = "cache-bandwidth"\nlevel = "L2"\nvalue = 4\nunit = "TB/s"\nkind = "measured"\n'
SIZE = '[[fact]]\nwhat = "cache-size"\nlevel = "L2"\nvalue = 40\nunit = "MB"\nkind = "whole"\n'
UNITS = '[[fact]]\nwhat = "compute-units"\nvalue = 10\n'
MEASURED = Path(__file__).parents[2] / "measured.toml"


def read(tmp_path: Path, text: str) -> Accelerator:
    path = tmp_path / "card.toml"
    path.write_text(CARD + text, encoding="utf-8")
    return accelerators.load(str(path))[0]


def named(card: Accelerator) -> dict[str, Level]:
    return {level.name: level for level in card.levels}


def test_an_a100_has_its_caches_and_its_slot() -> None:
    """L1: 19218.6 GB/s measured, 192 KiB in each of 108 units; L2 5376.2 GB/s at 24 MB, 40 MiB; PCIe 4 x16."""
    levels = rooflight.accelerator("a100-sxm4-80gb").levels

    assert [level.name for level in levels] == ["L1", "L2", "PCIe"]  # the fastest first
    l1, l2, pcie = levels
    assert (l1.bytes_per_s, l1.bytes, l1.shared) == (19218.6e9, 108 * 192 * 1024, False)
    assert (l2.bytes_per_s, l2.bytes, l2.shared, l2.kind) == (5376.2e9, 40 * 2**20, True, "measured")
    assert (pcie.bytes_per_s, pcie.place, pcie.bytes) == (32e9, "link", None)


def test_a_level_has_a_ridge_point_of_its_own() -> None:
    """312 TFLOP/s over 5376.2 GB/s is 58 FLOP/byte; out of memory (2039 GB/s) 153."""
    card = rooflight.accelerator("a100-sxm4-80gb")
    l2 = next(level for level in level_roofs(card) if level.name == "L2")

    assert l2.ridge_flop_per_byte["bf16"] == card.peak_flop_per_s["bf16"] / 5376.2e9
    assert round(l2.ridge_flop_per_byte["bf16"]) == 58


def test_a_superchip_has_its_link_and_its_hosts_memory() -> None:
    """GH200: NVLink-C2C 450 GB/s one way, LPDDR5X 384 GB/s in its slower version."""
    levels = named(rooflight.accelerator("gh200-96gb"))

    assert (levels["NVLink-C2C"].bytes_per_s, levels["NVLink-C2C"].place) == (450e9, "link")
    assert (levels["host memory"].bytes_per_s, levels["host memory"].place) == (384e9, "host")


def test_a_processor_is_its_own_host() -> None:
    """Its PCIe slots lead to others, not to memory of its own."""
    card = rooflight.accelerator("epyc-9654")

    assert card.pcie_bytes_per_s is not None
    assert card.levels == ()


def test_derived_rates_say_so() -> None:
    """132 units x 128 bytes a cycle x 1830 MHz are 30.92 TB/s: nobody measured it."""
    l1 = named(rooflight.accelerator("h100-sxm"))["L1"]

    assert l1.kind == "derived"
    assert l1.bytes_per_s == pytest.approx(132 * 128 * 1830e6, rel=1e-2)


def test_a_size_per_unit_needs_their_number(tmp_path: Path) -> None:
    each = SIZE.replace("whole", "per-unit").replace("40", "128").replace("MB", "kB")

    assert read(tmp_path, RATE).levels[0].bytes is None
    assert read(tmp_path, RATE + SIZE).levels[0].bytes == 40 * 2**20
    assert read(tmp_path, RATE + each).levels[0].bytes is None
    assert read(tmp_path, RATE + each + UNITS).levels[0].bytes == 10 * 128 * 2**10


def test_a_size_without_a_rate_is_no_level(tmp_path: Path) -> None:
    assert read(tmp_path, SIZE).levels == ()


def test_devices_of_a_package_share_a_cache_as_printed(tmp_path: Path) -> None:
    """4 TB/s and 40 MiB of a package of two: 2 TB/s and 20 MiB a device."""
    path = tmp_path / "pair.toml"
    path.write_text("devices = 2\n" + CARD + RATE + SIZE, encoding="utf-8")
    level = accelerators.load(str(path))[0].levels[0]

    assert (level.bytes_per_s, level.bytes) == (4e12 / 2, 20 * 2**20)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RATE.replace('level = "L2"\n', ""), "of which cache"),
        (RATE.replace('"L2"', '" "'), "of which cache"),
        (RATE.replace('"L2"', '"' + "L" * 41 + '"'), "of which cache"),
        (RATE.replace('"L2"', "2"), "is not text"),
        (RATE.replace('kind = "measured"\n', ""), "does not say its kind"),
        (RATE.replace('"measured"', '"guessed"'), "does not say its kind"),
        (RATE.replace("TB/s", "TB"), "unit"),
        (RATE + RATE, "given twice"),
        (UNITS + 'level = "L2"\n', "has no level"),
    ],
)
def test_slips_are_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        read(tmp_path, text)


def test_two_caches_stand_beside_each_other(tmp_path: Path) -> None:
    other = RATE.replace("L2", "L1").replace("= 4", "= 20")

    assert [level.name for level in read(tmp_path, RATE + other).levels] == ["L1", "L2"]


def test_what_was_measured_outranks_what_is_known() -> None:
    """The machine's own L2, by its median; its datasheet's caches are not lent where a part of it was measured."""
    card = accelerators.load(str(MEASURED))[0]
    rate = next(rate for rate in card.measured.of("level") if rate.name == "L2")

    assert named(card)["L2"] == Level(
        name="L2", place="cache", bytes_per_s=rate.median, bytes=rate.bytes, kind="measured"
    )


def test_no_time_is_made_of_a_level() -> None:
    """A card without its caches and links gives the same phases."""
    import msgspec

    card = rooflight.accelerator("h200-sxm")
    bare = msgspec.structs.replace(card, id="h200-bare", caches=())
    one, other = (rooflight.analyze("llama-3.2-1b", on) for on in (card, bare))

    assert one.accelerator.levels
    assert {level.name for level in other.accelerator.levels} == {"PCIe"}
    for name, phase in one.phases.items():
        assert phase.time_s.ceiling == other.phases[name].time_s.ceiling
        assert phase.time_s.roofline == other.phases[name].time_s.roofline

"""Levels of memory in text, in the list of accelerators and its CSV, and in charts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import rooflight
from rooflight.show import analysis as show
from rooflight.show import levels as show_levels
from rooflight.show.accelerators import list_rows, listing, page
from rooflight.show.blocks import Bullets, Prose, Table
from rooflight.show.charts.roof_lines import levels_of
from rooflight.show.charts.roof_rows import rows

MEASURED = Path(__file__).parents[2] / "measured.toml"


def asked(model: str = "llama-3.1-8b", on: str = "a100-sxm4-80gb", **fields: object) -> rooflight.Analysis:
    return rooflight.analyze(model, on, **fields)


def table(answer: rooflight.Analysis) -> Table:
    return next(one for one in show_levels.level_blocks(answer) if isinstance(one, Table))


def bullets(answer: rooflight.Analysis) -> tuple[str, ...]:
    return next((one.items for one in show_levels.level_blocks(answer) if isinstance(one, Bullets)), ())


def test_levels_stand_around_the_devices_memory() -> None:
    """Ridge points in bf16: 312e12 over 19218.6, 5376.2, 2039 and 32 GB/s are 16.2, 58, 153 and 9,750."""
    found = table(asked())

    assert [row[0] for row in found.rows] == ["L1", "L2", "its memory", "PCIe"]
    assert [row[2] for row in found.rows] == ["19.2 TB/s", "5.38 TB/s", "2.04 TB/s", "32 GB/s"]
    assert found.heads[4:] == ("ridge\nbf16",)
    assert [row[4] for row in found.rows] == ["16.2", "58", "153", "9,750"]
    assert found.rows[0][1] == "21.2 MB\nin parts"  # 108 x 192 KiB = 21,233,664 bytes


def test_levels_are_listed_where_they_are_asked_for() -> None:
    answer = asked()
    plain, more = show.blocks(answer, drawn=False), show.blocks(answer, drawn=False, levels=True)

    assert [one for one in more if one not in plain] == show_levels.level_blocks(answer)
    assert [one for one in more if one in plain] == plain


def test_kernels_that_fit_a_cache_are_named() -> None:
    """o of Llama-3.1-8B: 4096 x 4096 x 2 B = 33.6 MB, less than 41.9 MB; down: 4096 x 14336 x 2 B = 117 MB, more."""
    (line,) = (one for one in bullets(asked()) if one.startswith("decode"))

    assert "one run of o, " in line  # the largest first
    assert "down" not in line
    assert "less than L2 holds (41.9 MB at 5.38 TB/s)" in line


def test_a_device_of_several_holds_its_part() -> None:
    """down over 4 devices: 117 MB / 4 = 29 MB."""
    (line,) = (one for one in bullets(asked(on="4xa100-sxm4-80gb")) if one.startswith("decode"))

    assert "down" in line


def test_a_step_that_fits_is_bounded_by_its_cache() -> None:
    """SmolLM2-135M in 4 bits moves less than an MI300X's 256 MiB of Infinity Cache: 115 MB over 17 TB/s is 6.77 us."""
    answer = asked("HuggingFaceTB/SmolLM2-135M", "mi300x", weights="int4", isl=16, osl=2)
    moved = answer.phases["decode"].bytes.total
    (line,) = (one for one in bullets(answer) if one.startswith("decode"))

    assert moved < 256 * 2**20
    assert "a step moves" in line
    assert f"{moved / 17e12 * 1e6:.3g} us" in line


def test_a_machine_without_levels_says_so() -> None:
    answer = asked("llama-3.2-1b", "epyc-9654")
    (said,) = show_levels.level_blocks(answer)

    assert answer.accelerator.levels == ()
    assert isinstance(said, Prose)
    assert "no source gives the rate" in said.text


def test_a_measured_machine_lists_its_caches() -> None:
    answer = asked("llama-3.2-1b", str(MEASURED))

    assert [level.name for level in answer.accelerator.levels] == ["L2"]
    assert answer.accelerator.levels[0].kind == "measured"
    assert answer.accelerator.levels[0].bytes_per_s == answer.accelerator.measured.levels[0].bytes_per_s


def test_documents_say_the_same() -> None:
    """analyze, accelerators and accelerators ID have one list of levels."""
    card = rooflight.accelerator("h200-sxm")
    said = asked(on="h200-sxm").accelerator.levels

    assert page(card).accelerator.levels == listing([card]).accelerators[0].levels == said
    assert asked(on="h200-sxm").to_dict()["accelerator"]["levels"] == msgspec.to_builtins(said)


def test_the_list_as_csv_has_a_column_for_each_level() -> None:
    (row,) = list_rows(listing([rooflight.accelerator("gh200-96gb")])).records()

    assert row["level_bytes_per_s.NVLink-C2C"] == 450e9
    assert row["level_bytes_per_s.host memory"] == 384e9
    assert not any(name.startswith("levels") for name in row)


def slopes(data: dict[str, list[dict[str, object]]]) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for row in data["roofs"]:
        if row["kind"] == "level":
            found.setdefault(row["roof"], []).append(row)
    return found


def test_each_level_is_a_slope_with_its_name() -> None:
    """Of two devices: twice the rate, both ends on the line y = x times the rate, the name beside it."""
    answer = asked(on="2xa100-sxm4-80gb")
    data = rows(answer, levels=True)
    found = slopes(data)

    assert list(found) == ["L1", "L2", "PCIe"]
    for level in answer.accelerator.levels:
        ends = found[level.name]
        assert len(ends) == 2
        for end in ends:
            assert end["rate"] == 2 * level.bytes_per_s
            assert end["y"] == pytest.approx(end["x"] * 2 * level.bytes_per_s)
        assert ends[0]["x"] < ends[1]["x"]
    assert {end["hue"] for end in found["PCIe"]} == {"link"}
    said = [row["text"] for row in data["roof_names"]]
    assert "L2 10.8 TB/s" in said
    assert "PCIe 64 GB/s" in said


def test_levels_are_drawn_where_they_are_asked_for_alone() -> None:
    """And the roofs are the same with them."""
    answer = asked()
    without, with_them = rows(answer), rows(answer, levels=True)

    assert slopes(without) == {}
    kept = [(row["roof"], row["rate"]) for row in with_them["roofs"] if row["kind"] != "level"]
    assert kept == [(row["roof"], row["rate"]) for row in without["roofs"]]


def test_of_different_machines_no_level_is_drawn() -> None:
    assert levels_of([asked(), asked(on="h200-sxm")], every=True) == ()


@pytest.mark.slow
@pytest.mark.parametrize("on", ["a100-sxm4-80gb", "gh200-96gb", "8xmi300x", "b200", str(MEASURED)])
def test_slopes_lie_inside_the_picture(on: str) -> None:
    answer = asked("llama-3.2-1b", on)
    data = rows(answer, levels=True)
    left, right = (corner["x"] for corner in data["corners"])
    bottom, top = (corner["y"] for corner in data["corners"])

    assert len(slopes(data)) == len(answer.accelerator.levels)
    for ends in slopes(data).values():
        for end in ends:
            assert left <= end["x"] * 1.0001
            assert end["x"] <= right * 1.0001
            assert bottom <= end["y"] * 1.0001
            assert end["y"] <= top * 1.0001


@pytest.mark.slow
def test_the_picture_says_how_to_read_them() -> None:
    chart = asked().chart("roofline", levels=True)

    assert any("Thin dotted lines" in note for note in chart.notes)
    assert not any("Thin dotted lines" in note for note in asked().chart("roofline").notes)
    assert "L2 5.38 TB/s" in chart.svg()


def test_explain_names_what_a_level_attains() -> None:
    """50 FLOP/byte: out of L2 50 x 9628.8 GB/s = 481 TFLOP/s, over PCIe 50 x 64 GB/s = 3.2, out of L1 the peak."""
    said = rooflight.explain(on="h200-sxm", ai=50).answer

    assert "L1 989 TFLOP/s, L2 481 TFLOP/s, PCIe 3.2 TFLOP/s" in said

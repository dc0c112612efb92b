"""The roofline chart shows the analysis' own figures, and nothing of it is clipped or covered."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.serve.landmarks import landmarks
from rooflight.show.charts.kernels import kernels
from rooflight.show.charts.kernels import rows as kernel_rows
from rooflight.show.charts.place import Plane, placed, ranges, spread
from rooflight.show.charts.roof_lines import Level
from rooflight.show.charts.roof_rows import rows
from rooflight.show.charts.roofline import roofline
from rooflight.show.charts.theme import Look
from rooflight.values.sample import Sample, Timing
from unit.show.charts.pictures import drawn, overlaps

pytestmark = pytest.mark.slow  # draws pictures

MACHINE = Path(__file__).parents[3] / "measured.toml"
H100 = Path(__file__).parents[3] / "measured_h100.toml"
WIDTHS = (400, 560, 800, 1100, 1600)


def answered(model, on, **fields):
    return rooflight.analyze(model, on, **fields), landmarks(make_scenario(model, on, **fields))


@pytest.fixture(scope="module")
def llama():
    return answered("llama-3.1-8b", "h100-sxm")


@pytest.fixture(scope="module")
def machine():
    return answered("llama-3.2-1b", str(MACHINE))


def test_dots_are_the_phases(llama):
    """A phase stands at its intensity and at its FLOP over its roofline time."""
    data = rows(llama[0])
    for dot in data["phases"]:
        phase = llama[0].phases[dot["name"]]
        assert dot["x"] == phase.intensity_flop_per_byte
        assert dot["y"] == phase.flop / phase.time_s.roofline
        assert dot["time_s"] == phase.time_s.roofline
    for ring in data["expected"]:
        phase = llama[0].phases[ring["name"]]
        span = phase.time_s
        assert (ring["y"], ring["low"], ring["high"]) == tuple(
            phase.flop / t for t in (span.expected, span.high, span.low)
        )


def test_operators_are_the_analysis_own(llama):
    """Every row is an operator with its own time and share, the largest first."""
    table = rows(llama[0])["table"]
    for row in table:
        name = row["name"].partition(" x ")[0]
        op = next(op for op in llama[0].phases[row["phase"]].operators if op.name == name)
        assert (row["share"], row["time_s"], row["bound"]) == (op.share, op.time_s, op.bound)
        if op.flop:
            assert row["x"] == op.intensity_flop_per_byte
            assert row["y"] == op.flop / op.time_s
    decode = [row["share"] for row in table if row["phase"] == "decode"]
    assert decode == sorted(decode, reverse=True)


def test_roofs_are_the_datasheet():
    """Slopes and flats of all devices: two cards have twice the rates of one."""
    analysis, _ = answered("llama-3.1-8b", "2xh100-sxm", weights="fp8")
    card = analysis.accelerator
    data = rows(analysis)
    rates = {row["roof"].rpartition(" ")[2]: row["rate"] for row in data["roofs"]}
    assert rates == {
        "memory": 2 * card.memory_bytes_per_s,
        "fp8": 2 * card.peak_flop_per_s["fp8"],
        "bf16": 2 * card.peak_flop_per_s["bf16"],  # attention and lm_head
    }
    for row in data["roofs"]:
        if row["roof"].endswith("memory"):
            assert row["y"] / row["x"] == pytest.approx(row["rate"])
        else:
            assert row["y"] == row["rate"]


def test_the_ridge_and_the_batch_that_reaches_it():
    """At short contexts the 8B model reaches the ridge; the label says at which batch."""
    analysis, marks = answered("llama-3.1-8b", "h100-sxm", context=64)
    data = rows(analysis, landmarks=[marks])
    assert marks.ridge_batch is not None
    assert data["ridges"][0]["x"] == analysis.phases["decode"].ridge_flop_per_byte
    assert data["ridges"][0]["batch"] == marks.ridge_batch
    assert f"batch {marks.ridge_batch:,}" in data["ridge_names"][0]["text"]
    assert data["zones"][0]["x2"] == data["zones"][1]["x"] == data["ridges"][0]["x"]


def test_a_link_roof_where_devices_communicate():
    """The line stands at the phase's FLOP over what the link alone takes."""
    analysis, _ = answered("llama-3.1-70b", "8xa10g", weights="int4-g128", batch=8)
    data = rows(analysis)
    assert data["links"]
    for line in data["links"]:
        phase = analysis.phases[line["name"]]
        assert line["y"] == phase.flop / phase.ceilings_s.link


def test_measured_roofs_and_memory_levels(llama):
    """A measured device stands beside the datasheet, a cache level above the memory."""
    card = rooflight.accelerator("h100-pcie")  # stands in for what a measurement returns
    data = rows(llama[0], measured=card, levels=[Level("L2 cache", 2 * llama[0].accelerator.memory_bytes_per_s)])
    kinds = {row["roof"]: row["kind"] for row in data["roofs"]}
    assert sorted(set(kinds.values())) == ["datasheet", "level", "measured"]
    measured = {row["rate"] for row in data["roofs"] if row["kind"] == "measured"}
    assert measured == {card.memory_bytes_per_s, card.peak_flop_per_s["bf16"]}


def test_a_measured_machine_stands_beside_its_datasheet(machine):
    """Its own roofs are medians and solid, the printed ones dashed; its cache is a level."""
    data = rows(machine[0], levels=[Level("L2", 90e9)])
    lines = {row["roof"]: (row["kind"], row["line"], row["rate"]) for row in data["roofs"]}
    sheet = rooflight.accelerator("xeon-8480plus")
    assert lines["this memory"] == ("measured", "solid", 24e9)
    assert lines["this bf16"] == ("measured", "solid", 650e9)
    assert lines["xeon-8480plus memory"] == ("datasheet", "dashed", sheet.memory_bytes_per_s)
    assert lines["L2"] == ("level", "dotted", 90e9)
    said = " ".join(row["text"] for row in data["roof_names"])
    assert "measured memory 24" in said
    assert "datasheet memory 307" in said
    drawn_levels = {row["roof"] for row in roofline(machine[0]).datasets["roofs"] if row["kind"] == "level"}
    assert drawn_levels == {"L2"}
    notes = " ".join(roofline(machine[0]).notes)
    assert "measured 2026-11-28T22:00:00Z" in notes
    assert "Datasheet rates" not in notes


def gemm(tokens, seconds, **more):
    """A bf16 product of tokens x 2048 x 2048, all of it out of memory, timed."""
    flop, moved = 2 * tokens * 2048 * 2048, 2 * (2048 * 2048 + 2 * tokens * 2048)
    time = Timing(median=seconds, low=0.9 * seconds, high=1.2 * seconds, n=9)
    fields = {"kind": "kernel", "name": f"gemm {tokens}", "compute": "bf16", "time_s": time, "flop": flop}
    return Sample(**{**fields, "bytes": moved, **more})


def test_samples_are_dots_at_their_flop_over_their_time(machine):
    one, twice = gemm(8, 1e-3), gemm(64, 4e-3, runs=2)
    found = rows(machine[0], samples=[one, twice, gemm(1, 1e-3, flop=None), gemm(1, 1e-3, kind="step")])["samples"]
    assert [row["x"] for row in found] == [one.flop / one.bytes, twice.flop / twice.bytes]
    assert [row["y"] for row in found] == [one.flop / 1e-3, 2 * twice.flop / 4e-3]  # 4 ms are of two runs
    assert found[0]["low"] == pytest.approx(one.flop / 1.2e-3)
    chart = roofline(machine[0], samples={"before": [one], "after": [twice]})
    assert [row["hue"] for row in chart.datasets["samples"]] == ["1", "2"]
    assert any("before" in note and "after" in note for note in chart.notes)
    assert chart.svg()


def test_kernels_stand_under_the_roofs_of_a_machine():
    """The share of the roof is FLOP/s over the lower of slope and flat; the lowest is listed first."""
    card, sheet = rooflight.accelerator(str(MACHINE)), rooflight.accelerator("xeon-8480plus")
    samples = [gemm(1, 1e-3), gemm(1024, 20e-3)]
    data = kernel_rows(card, samples, datasheet=sheet)
    slow = data["table"][0]
    assert slow["operator"] == "gemm 1"
    assert slow["share"] == pytest.approx(samples[0].bytes / 1e-3 / 24e9)  # under the slope: of the bandwidth
    assert data["table"][1]["share"] == pytest.approx(samples[1].flop / 20e-3 / 650e9)
    assert {row["line"] for row in data["roofs"]} == {"solid", "dashed", "dotted"}
    assert "2 kernels" in kernels(card, samples).title


@pytest.mark.parametrize("width", WIDTHS)
def test_kernels_are_not_clipped(width):
    card = rooflight.accelerator(str(MACHINE))
    samples = [gemm(2**n, 1e-3 * (1 + 2**n / 30)) for n in range(11)]
    chart = kernels(card, samples, datasheet=rooflight.accelerator("xeon-8480plus"), look=Look(width))
    wide, _, texts = drawn(chart)
    assert wide == pytest.approx(width, abs=3)
    assert not overlaps(texts)


def test_a_move_is_an_arrow_with_its_gain(llama):
    after, _ = answered("llama-3.1-8b", "h200-sxm", batch=32, weights="fp8")
    data = rows(llama[0], after=after)
    gains = {row["name"]: row["gain"] for row in data["moves"]}
    for name, gain in gains.items():
        assert gain == after.phases[name].tokens_per_s.expected / llama[0].phases[name].tokens_per_s.expected
    assert set(gains) == {"prefill", "decode"}
    assert all(0 < row["angle"] < 90 for row in data["moves"])  # up and to the right


def test_four_cards_side_by_side():
    on = ("2xh100-sxm", "2xh200-sxm", "2xmi300x", "2xb200")
    several = [rooflight.analyze("llama-3.1-70b", card, weights="fp8", batch=16) for card in on]
    data = rows(*several)
    for row, one in zip(data["table"], several, strict=True):
        assert row["rate"] == one.accelerator.memory_bytes_per_s * one.accelerator.count
    assert len({row["hue"] for row in data["roofs"]}) == 4
    assert len(data["phases"]) == 8
    title = roofline(*several).title
    best = max(several, key=lambda one: one.phases["decode"].tokens_per_s.roofline)
    assert best.accelerator.id in title


CASES = {
    "machine": lambda: (answered("llama-3.2-1b", str(MACHINE)), {"samples": [gemm(1, 1e-3), gemm(64, 4e-3)]}),
    "graphics": lambda: (answered("llama-3.1-8b", str(H100)), {}),
    "8b": lambda: (answered("llama-3.1-8b", "h100-sxm"), {}),
    "short": lambda: (answered("llama-3.1-8b", "h100-sxm", context=16, batch=300), {}),
    "70b": lambda: (answered("llama-3.1-70b", "4xh100-sxm", weights="fp8", batch=64), {}),
    "moe": lambda: (answered("deepseek-ai/DeepSeek-V3", "8xh200-sxm", batch=128), {}),
    "apple": lambda: (answered("qwen3-8b", "apple-m4-max-40", weights="int4"), {}),
    "small": lambda: (answered("HuggingFaceTB/SmolLM2-135M", "h100-sxm"), {}),
    "move": lambda: (
        answered("llama-3.1-8b", "h100-sxm"),
        {"after": rooflight.analyze("llama-3.1-8b", "h200-sxm", batch=32, weights="fp8")},
    ),
    "measured": lambda: (answered("llama-3.1-8b", "h100-sxm"), {"measured": rooflight.accelerator("h100-pcie")}),
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("case", CASES)
def test_nothing_is_clipped_and_no_label_covers_another(case, width):
    """The picture is as wide as asked, so nothing sticks out; texts keep clear of each other."""
    (analysis, marks), options = CASES[case]()
    wide, _, texts = drawn(roofline(analysis, landmarks=[marks], look=Look(width), **options))
    assert wide == pytest.approx(width, abs=3)
    assert not overlaps(texts)


@pytest.mark.parametrize("width", WIDTHS)
def test_several_cards_are_not_clipped(width):
    on = ("2xh100-sxm", "2xh200-sxm", "2xmi300x", "2xb200")
    several = [rooflight.analyze("llama-3.1-70b", card, weights="fp8", batch=16) for card in on]
    wide, _, texts = drawn(roofline(*several, look=Look(width)))
    assert wide == pytest.approx(width, abs=3)
    assert not overlaps(texts)


def test_what_does_not_fit_shows_its_roof_alone():
    analysis, marks = answered("llama-3.1-70b", "h100-sxm")
    chart = roofline(analysis, landmarks=[marks])
    assert chart.title == analysis.answer
    assert chart.datasets["phases"] == []
    assert chart.datasets["roofs"]


def test_a_page_gets_the_chart_without_its_words(llama):
    """Title and tables are the page's own; the chart takes the width it is given."""
    spec = roofline(llama[0], look=Look(None)).to_dict()
    assert spec["width"] == "container"
    assert "title" not in spec
    assert "vconcat" not in spec


def test_labels_move_off_what_is_taken():
    plane = Plane(left=1, right=100, bottom=1, top=100, width=200, height=200)
    taken = []
    first = placed(plane, 10, 10, "label", size=12, taken=taken)
    second = placed(plane, 10, 10, "label", size=12, taken=taken)
    assert (first["dx"], first["dy"]) != (second["dx"], second["dy"])
    assert taken[0].overlap(taken[1]) == 0
    edge = placed(plane, 99, 10, "a label at the edge", size=12, taken=[])
    assert edge["dx"] < 0  # to the left, since it would stick out on the right


def test_a_plane_turns_back():
    plane = Plane(left=0.1, right=1000, bottom=1e9, top=1e15, width=300, height=200)
    assert plane.at_x(plane.x(7.0)) == pytest.approx(7.0)
    assert plane.at_y(plane.y(3e12)) == pytest.approx(3e12)
    assert plane.x(math.sqrt(0.1 * 1000)) == pytest.approx(150)  # halfway in logarithms


def test_spread_and_ranges():
    assert spread([100, 98, 50], 10) == [100, 90, 50]
    assert ranges([1, 2, 3, 5]) == "1-3,5"
    assert ranges([1, 2]) == "1,2"

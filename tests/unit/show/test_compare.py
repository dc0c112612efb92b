"""The comparison as blocks: columns that say nothing are left out, and a row without times stays where it can."""

from __future__ import annotations

from io import StringIO

import pytest

import rooflight
from rooflight.show import compare as show
from rooflight.show.blocks import Bullets, Prose, Table
from rooflight.show.text import write
from rooflight.span import Span

MODEL = "meta-llama/Meta-Llama-3.1-8B"


def blocks(*on, model=MODEL, **fields):
    return show.blocks(rooflight.compare(model, list(on), **{"batch": 8, **fields}))


def tables(shown) -> list[Table]:
    return [one for one in shown if isinstance(one, Table)]


def titles(shown) -> str:
    return "\n".join(one.title for one in shown if isinstance(one, Table | Bullets))


def test_the_tables_of_an_answer():
    shown = blocks("h100", "h200")
    assert isinstance(shown[0], Prose)
    assert shown[0].kind == "answer"
    time, given, speeds, memory = tables(shown)
    assert [row[0] for row in time.rows] == ["h100-sxm", "h200-sxm"]
    assert "tokens\nper J" in given.heads
    assert "tokens\nper $" not in given.heads
    # 4.8 / 3.35 TB/s at the ceilings
    assert speeds.rows[1][1] == "1.43"
    assert speeds.rows[1][4].startswith("1.43 (")
    assert memory.rows[0][-2:] == ("compute", "memory")


def test_dollars_are_shown_where_there_is_a_price():
    _, given, *_ = tables(blocks("h100", "h200", prices={"h100": 2}))
    place = given.heads.index("tokens\nper $")
    assert [bool(row[place]) for row in given.rows] == [True, False]


def test_one_deployment_has_nothing_to_be_faster_than():
    assert "Times h100" not in titles(blocks("h100"))


def test_what_has_no_times_is_in_memory_and_in_the_reasons():
    shown = blocks("l4", "4xh100", model="meta-llama/Meta-Llama-3.1-70B")
    time, *_, memory = tables(shown)
    assert [row[0] for row in time.rows] == ["4 x h100-sxm"]
    assert [row[0] for row in memory.rows] == ["l4", "4 x h100-sxm"]
    assert "Without times:" in titles(shown)


def test_nothing_fits():
    shown = blocks("l4", model="meta-llama/Meta-Llama-3.1-70B")
    assert len(tables(shown)) == 1
    assert "Who wins" not in titles(shown)


def test_the_ceilings_are_told_where_they_tell_another_story():
    (lines,) = [one.items for one in blocks("a100", "h20", isl=1155, osl=211, batch=32) if str(one).count("Who wins")]
    assert lines[0].startswith("Fastest: h20 up to ")
    assert "a100-sxm4-80gb beyond. At the ceilings: h20 up to " in lines[0]
    assert [line.split(":")[0] for line in lines] == [
        "Fastest", "Most per joule at TDP", "As fast as a100-sxm4-80gb, as expected",
    ]  # fmt: skip


def test_the_objective_asked_for_is_told_too():
    (lines,) = [one.items for one in blocks("a100", "h20", objective="latency") if str(one).count("Who wins")]
    assert any(line.startswith("Fastest for each user:") for line in lines)


@pytest.mark.parametrize("on", [("h100", "rtx-pro-6000-blackwell-maxq"), ("a100", "h20", "mi300x")])
def test_no_line_is_wider_than_a_plain_screen(on):
    out = StringIO()
    write(blocks(*on, prices={on[0]: 2}), out)
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    labels = [one.label for one in rooflight.compare(MODEL, list(on)).compared]
    for label in labels:  # nor is a name of usual length broken for want of room
        assert len(label) > 20 or text.count(f"\n  {label} ") == 4


def test_intervals_are_in_the_unit_of_their_middle():
    assert show.interval(Span(ceiling=0.001, roofline=0.001, expected=0.25, low=0.2, high=1.5)) == "250 ms\n200-1,500"
    assert show.interval(Span(ceiling=1, roofline=1, expected=1)) == ""


def test_rows_are_flat_and_without_empty_blocks():
    table = show.rows(rooflight.compare("meta-llama/Meta-Llama-3.1-70B", ["l4", "2xh100"]))
    assert "prefill" not in table.header
    assert "prefill.time_s.expected" in table.header
    assert len(list(table.rows)) == 2


def test_what_puts_out_nothing_yields_requests():
    table = next(one for one in tables(blocks("l4", "2xa10", model="bge-m3", isl=512)) if "yields" in one.title)
    assert table.heads == ("on", "requests\na second", "each\ndevice", "no engine\nabove")
    together, each = (float(cell) for cell in table.rows[1][1:3])
    assert each == pytest.approx(together / 2, rel=0.01)

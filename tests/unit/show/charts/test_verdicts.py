"""The picture of a check has the rows its sentence speaks of."""

from __future__ import annotations

import re

import pytest

import rooflight
from rooflight.show.charts import verdicts
from rooflight.values.measurement import Verdict

ROW = {"model": "llama-3.1-8b", "accelerator": "h100-sxm", "batch": 1, "input_len": 1024, "output_len": 256}


def judged(line, verdict, over=None, **others):
    """A row of a check as it was judged."""
    ceiling = None if over is None else 200.0
    value = 100.0 if over is None else 200.0 * over
    return Verdict(
        line=line, verdict=verdict, reason="", model="m", accelerator="a", metric="output_tok_s", unit="tok/s",
        value=value, ceiling=ceiling, over_ceiling=over, **others,
    )  # fmt: skip


def test_every_verdict_that_the_sentence_counts_is_drawn():
    """Three slow ones among sixty that are ok and faster than they: twenty strips, the slow ones first."""
    rows = [judged(line, "ok", 0.5 + line / 1000) for line in range(60)]
    rows += [judged(100 + line, "slow", 0.1 + line / 10) for line in range(3)]
    shown = verdicts.picked(rows)

    assert [one.line for one in shown.rows[:3]] == [100, 101, 102]
    assert [one.line for one in shown.rows[3:]] == list(range(59, 42, -1))
    notes = " ".join(verdicts.verdicts(rows, answer="No row of 63 is faster; 3 slower than expected.").notes)
    assert "3 of 3 slow, 17 of 60 ok" in notes


def test_no_verdict_takes_all_the_room():
    """Of a hundred each there are four at least; the impossible take what is left."""
    kinds = ("ok", "slow", "fast", "impossible", "cannot-judge")
    shown = verdicts.picked(judged(line, kinds[line % 5], 0.5 + line / 100) for line in range(500))

    assert len(shown.rows) == verdicts.MOST
    assert set(shown.drawn.values()) == {verdicts.EACH}
    assert shown.of == dict.fromkeys(kinds, 100)


def test_what_is_impossible_without_a_ceiling_is_drawn_and_says_why():
    """Memory that cannot hold it has no ceiling; values that exclude each other are each below theirs."""
    rows = [judged(1, "impossible", bound="capacity"), judged(2, "impossible", 0.6), judged(3, "ok", 0.5)]
    data = verdicts.rows(rows)

    said = {row["name"].partition(":")[0]: row["text"] for row in data["said"]}
    assert said["line 1"].endswith("impossible: memory does not hold it")
    assert said["line 2"].endswith("impossible together with others of its run")
    assert [row["name"].partition(":")[0] for row in data["marks"]] == ["line 2", "line 3"]


def test_rows_that_cannot_be_judged_are_told_as_left_out():
    """An unknown card has no ceiling; the sentence counts it, so the picture says where it is."""
    report = rooflight.check([
        {**ROW, "metric": "output_tok_s", "value": 150},
        {**ROW, "accelerator": "nobody-9", "metric": "output_tok_s", "value": 150},
    ])  # fmt: skip
    chart = verdicts.verdicts(report)

    assert "1 cannot be judged" in chart.title
    assert any("0 of 1 that cannot be judged" in note for note in chart.notes)


def test_a_file_of_which_no_row_can_be_judged_has_a_picture_that_says_so():
    report = rooflight.check([{**ROW, "accelerator": "nobody-9", "metric": "output_tok_s", "value": 150}])
    chart = verdicts.verdicts(report)

    assert chart.title == report.answer
    assert chart.notes == (
        "Drawn, the furthest of each: 0 of 1 that cannot be judged. A row without a ceiling has no place here.",
    )
    assert chart.svg()


@pytest.mark.parametrize("value", [20, 150, 199, 800])
def test_counts_of_sentence_and_picture_agree(value):
    """Each verdict as often as the summary has it."""
    report = rooflight.check(
        [{**ROW, "metric": "output_tok_s", "value": value}, {**ROW, "metric": "tpot_ms", "value": 9}]
    )
    shown = verdicts.picked(report.rows)

    for name, count in shown.of.items():
        assert count == getattr(report.summary, name.replace("-", "_"))
    assert sum(shown.of.values()) == report.summary.rows
    drawn = [re.search(r": (.+)$", row["text"])[1] for row in verdicts.rows(shown)["said"]]
    assert drawn == [{"cannot-judge": "cannot be judged"}.get(one.verdict, one.verdict) for one in shown.rows]

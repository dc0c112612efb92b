"""The Python door to diagnose and to what is watched: what is of the wrong kind is said in words."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.errors import BadInput
from rooflight.show.diagnosis import blocks
from rooflight.values.diagnosis import Diagnosis, Evidence, Regime
from rooflight.values.watching import Watching

POINTS = ["batch=1 tpot_ms=12", "batch=33 tpot_ms=15.2"]


@pytest.mark.parametrize(
    "given",
    [{"points": 5}, {"points": [5]}, {"watching": 5}, {"watching": "http://127.0.0.1:9"}, {"points": POINTS, "no": 1},
     {"points": POINTS, "batch": "x"}],
)  # fmt: skip
def test_what_is_of_the_wrong_kind_is_refused(given):
    with pytest.raises(BadInput):
        rooflight.diagnose(**given)


@pytest.mark.parametrize("file", [5, None, b"abc", ["a"]])
def test_a_file_goes_by_its_path(file):
    with pytest.raises(BadInput, match="by its path"):
        rooflight.diagnose(file)


@pytest.mark.parametrize(
    "given",
    [{"prometheus": 5}, {"scrape": (5,)}, {"scrape": ("a",), "headers": None}, {"scrape": ("a",), "headers": {"a": 1}},
     {"scrape": ("a",), "range_s": True}, {"prometheus": "a", "selector": None}],
)  # fmt: skip
def test_what_cannot_be_watched_is_refused(given):
    with pytest.raises(BadInput):
        Watching(**given)


def test_headers_of_the_wrong_kind_are_not_shown():
    with pytest.raises(BadInput) as caught:
        Watching(scrape=("a",), headers=[("Authorization", "sekret")])

    assert "sekret" not in str(caught.value)


def test_one_address_or_point_stands_for_itself():
    assert Watching(scrape="http://a/metrics").scrape == ("http://a/metrics",)
    assert Watching(scrape=["a", "b"]).scrape == ("a", "b")
    assert rooflight.diagnose(points="batch=1 tpot_ms=12").cannot_tell


def test_a_term_is_text():
    with pytest.raises(BadInput, match="a term is text"):
        rooflight.explain(5)


def test_many_regimes_are_a_row_for_each_subject_and_bound():
    values = {"dram_active": 0.5, "tensor_active": 0.1}
    rows = [Regime(subject="gpu 0", start=f"{at}", bound="memory", values=values) for at in range(30)]
    rows += [Regime(subject="vllm", start=f"{at}", bound="launch", values={"running": at}) for at in (1, 3)]
    tables = [block for block in blocks(Diagnosis(regimes=tuple(rows))) if hasattr(block, "heads")]

    # what accelerators and engines have in common is nothing: a table each, with means of the rows
    assert [table.rows for table in tables] == [
        (("gpu 0", "30 of 30", "memory", "50 %", "10 %"),),
        (("vllm", "2 of 2", "launch", "2"),),
    ]


@pytest.mark.parametrize(
    ("starts", "shown"),
    [
        (("2026-11-29T03:01:41.241Z", "2026-11-29T03:01:56.241Z"), ("03:01:41", "03:01:56")),
        (("2026-11-28T23:59:50Z", "2026-11-29T00:00:05Z"), ("2026-11-28 23:59:50", "2026-11-29 00:00:05")),
        (("0 s", "15 s"), ("0 s", "15 s")),
        ((None, None), ()),
    ],
)
def test_times_of_rows_are_as_short_as_they_can_be(starts, shown):
    rows = tuple(Regime(subject="a", start=start, values={"running": 1.0}) for start in starts)
    (table,) = [block for block in blocks(Diagnosis(regimes=rows)) if hasattr(block, "heads")]

    assert tuple(row[1] for row in table.rows if "from" in table.heads) == shown


@pytest.mark.parametrize(
    ("preempted", "shown"),
    [
        (0.0, ("running", "waiting", "kv usage", "output tokens per s", "tpot s", "of ceiling")),
        (2.0, ("running", "waiting", "kv usage", "preemptions", "output tokens per s", "of ceiling")),
    ],
)
def test_a_table_of_engines_has_no_more_columns_than_a_terminal(preempted, shown):
    """MBU is near the share of the ceiling, no preemption is no news, and the time per token is in the sentence."""
    values = {
        "running": 64, "waiting": 9, "kv_usage": 0.99, "preemptions": preempted, "output_tokens_per_s": 2860,
        "tpot_s": 0.02, "of_ceiling": 0.31, "mbu": 0.31,
    }  # fmt: skip
    row = Regime(subject="vllm engine 0", bound="capacity", values=values)
    (table,) = [block for block in blocks(Diagnosis(regimes=(row,))) if hasattr(block, "heads")]

    assert table.heads == ("", "bound", *shown)


@pytest.mark.parametrize(("bound", "title"), [(None, "Seen:"), ("memory", "Speaks for it:")])
def test_of_no_verdict_nothing_speaks_for_it(bound, title):
    found = Diagnosis(bound=bound, cannot_tell=bound is None, evidence=(Evidence(what="requests running", value=32),))

    assert title in [block.title for block in blocks(found) if hasattr(block, "items")]

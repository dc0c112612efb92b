"""Counts of verdicts, and the sentence they make."""

from __future__ import annotations

import pytest

from rooflight.answers.check.tally import Counts, answer
from rooflight.values.measurement import Verdict


def counted(*verdicts: Verdict):
    counts = Counts()
    assert list(counts.over(verdicts)) == list(verdicts)
    return counts.tally()


def verdict(word: str, **fields) -> Verdict:
    return Verdict(line=1, verdict=word, reason="because", **fields)


def test_nothing_expected_leaves_errors_open():
    tally = counted(verdict("ok"), verdict("impossible"), verdict("cannot-judge"))
    assert (tally.rows, tally.judged, tally.cannot_judge) == (3, 2, 1)
    assert tally.median_error is tally.mean_error is tally.coverage is None


def test_an_impossible_row_says_nothing_about_the_expectation():
    tally = counted(verdict("ok", value=10.0, expected=11.0), verdict("impossible", value=1.0, expected=100.0))
    assert tally.mean_error == pytest.approx(0.1)
    assert tally.coverage == 1


def test_the_median_needs_no_list_of_errors():
    rows = [verdict("ok", value=1000.0, expected=1000.0 + step) for step in range(0, 1000, 10)]
    assert counted(*rows).median_error == pytest.approx(0.49, abs=1e-3)


@pytest.mark.parametrize(
    "words, said",
    [
        (["ok"], "The row is possible."),
        (["ok", "ok"], "No row of 2 is faster than physics allows."),
        (["impossible"], "The row is faster than physics allows."),
        (["cannot-judge"], "The row cannot be judged."),
        (["cannot-judge", "cannot-judge"], "None of the 2 rows can be judged."),
        (["impossible", "ok"], "1 of 2 rows is faster than physics allows."),
        (["impossible", "impossible", "slow"], "2 of 3 rows are faster than physics allows; 1 slower than expected."),
        (["ok", "cannot-judge"], "No row of 2 is faster than physics allows; 1 cannot be judged."),
    ],
)
def test_the_sentence(words, said):
    assert answer(counted(*map(verdict, words))) == said

"""The tool says today what the committed dump says it said."""

from __future__ import annotations

import pytest

from replay.chosen import QUESTIONS
from replay.documents import TOLERANCE, differences, lines
from replay.write import answered, committed

# Differences shown; a changed formula makes thousands.
_SHOWN = 20


@pytest.mark.parametrize("door", QUESTIONS)
def test_every_answer_is_unchanged(door):
    """Strings are compared exactly, numbers to a relative 1e-12: another processor may round the last digit otherwise.

    The dump holds every digit, so `make replay` and `git diff` show changes smaller than that too. A difference is
    either a mistake or an intended change: then run `make replay` and show the diff.
    """
    was = committed(door)
    now = dict(answered(door, QUESTIONS[door]))
    found = []
    for question in dict.fromkeys([*was, *now]):
        if question in was and question in now:
            found += [f"{door}: {question}: {one}" for one in differences(was[question], now[question])]
        else:
            found.append(f"{door}: {question}: {'no longer asked' if question in was else 'not in the dump'}")

    assert not found, "\n".join([f"{len(found):,} values differ:", *found[:_SHOWN]])


def test_differences_are_named_by_their_path():
    was = list(lines({"answer": "fits", "phases": {"decode": {"bound": "memory", "time_s": {"ceiling": 0.5}}}}))
    now = list(lines({"answer": "fits", "phases": {"decode": {"bound": "link", "time_s": {"ceiling": 0.25}}}}))

    assert differences(was, now) == [
        'phases.decode.bound: was "memory", now "link"',
        "phases.decode.time_s.ceiling: was 0.5, now 0.25",
    ]


def test_rounding_is_no_difference_and_a_kind_of_number_is():
    assert not differences(list(lines([1.0, 5])), list(lines([1.0 + TOLERANCE / 2, 5])))
    assert differences(list(lines([1.0, 5])), list(lines([1.0 + TOLERANCE * 2, 5.0]))) != []


def test_what_is_gone_or_new_is_a_difference():
    assert differences(list(lines({"a": ["x" * 50, "y" * 50]})), list(lines({"a": ["x" * 50]}))) == [
        f'a[1]: was "{"y" * 50}", now not there',
    ]

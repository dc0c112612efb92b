"""The law of equal doors: a number that two doors print for one question is equal to the last digit.

A question is put to every door (laws.doors.ask); what two of them have in common (laws/doors/quantities.csv) is
compared with ==. Where doors part today laws.doors.apart says so and why, as failures that are expected and strict:
whoever mends one takes its line out. The suite asks 100 questions; by hand, 2,000 in some 15 minutes:

    ROOFLIGHT_DOORS=2000 python -m pytest tests/laws/test_doors.py
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

import rooflight
from laws.doors import ask
from laws.doors.apart import REFUSING, TIMES_WITHOUT_ROOM, reason
from laws.doors.names import equal
from laws.doors.table import ARRAYS, ONE_RUN, PARTIAL, found, listed, table

# On one worker, so that the questions are put once.
pytestmark = pytest.mark.xdist_group("doors")
NUMBER = int(os.environ.get("ROOFLIGHT_DOORS", "100"))
# Fewer questions than this in common prove little.
LEAST = 4
# Whole documents of the slow door that are compared.
SLOW_DOCUMENTS = 3
STUDIO = pytest.mark.skipif(not ask.HAS_STUDIO, reason="needs the extra `studio` and httpx")


def marks(door: str, why: str | None) -> list[pytest.MarkDecorator]:
    """Skipped without the studio, expected to fail where a reason is given."""
    expected = [] if why is None else [pytest.mark.xfail(reason=why, raises=pytest.fail.Exception)]
    return [*expected, *([STUDIO] if "studio" in door else [])]


PAIRS = [
    pytest.param(name, one, other, id=f"{name}-{one}-{other}", marks=marks(one + other, reason(name, one, other)))
    for name, doors in listed().items()
    for one, other in combinations(doors, 2)
]


@pytest.fixture(scope="module")
def answered():
    return table(NUMBER)


@STUDIO
def test_the_list_says_all_that_two_doors_print(answered):
    """A door that prints one more of them, or one less: `python -m laws.doors.table` writes the list anew."""
    assert found(answered) == listed()


def _not_asked(name, door, row):
    return (door in PARTIAL or (door in ONE_RUN and name.startswith("runs."))) and name not in row


def _without_room(*values):
    """Of a question that does not fit: that it has no such number, or what binds it."""
    return any(value is None or value == "capacity" for value in values)


@pytest.mark.parametrize(("name", "one", "other"), PAIRS)
def test_two_doors_print_one_number(answered, name, one, other):
    """None is equal to None alone; of a question that does not fit, what both doors give."""
    compared = 0
    for place, fits in enumerate(answered.fits):
        rows = [answered.answers[door].get(place) for door in (one, other)]
        if None in rows or _not_asked(name, one, rows[0]) or _not_asked(name, other, rows[1]):
            continue
        first, second = (row.get(name) for row in rows)
        if not fits and _without_room(first, second):
            continue
        compared += 1
        if not equal(
            first, second, to_the_last_bit=not {one, other} & {*ARRAYS}
        ):  # no assert: hundreds are expected, and each would be drawn with its source
            pytest.fail(f"{answered.asked[place]}: {one} {first!r}, {other} {second!r}", pytrace=False)
    assert compared >= LEAST


@pytest.mark.parametrize("door", [pytest.param(door, marks=marks(door, REFUSING.get(door))) for door in ask.DOORS])
def test_what_analyze_answers_every_door_answers(answered, door):
    if answered.refused[door]:
        pytest.fail("\n".join(answered.refused[door].values()), pytrace=False)


TIMED = ("time_s.", "tokens_per_s", "ceilings_s.", "tpot_s.", "ttft_s.")


@pytest.mark.parametrize(
    "door", [pytest.param(door, marks=marks(door, TIMES_WITHOUT_ROOM.get(door))) for door in ask.DOORS]
)
def test_no_door_gives_a_time_where_not_one_sequence_fits(answered, door):
    for place, quantities in answered.answers[door].items():
        if answered.answers["analyze"][place]["memory.max_batch"] == 0:
            times = {name: value for name, value in quantities.items() if any(part in name for part in TIMED)}
            if said := [name for name, value in times.items() if value is not None]:
                pytest.fail(f"{answered.asked[place]}: {', '.join(said)}", pytrace=False)


def test_some_questions_fit_and_some_do_not(answered):
    assert NUMBER / 20 < answered.fits.count(False) < NUMBER / 2


SAME = [
    pytest.param(ask.analyze, ask.analyze_json, NUMBER, id="analyze"),
    pytest.param(ask.compare, ask.compare_json, NUMBER, id="compare"),
    pytest.param(ask.moves, ask.moves_json, SLOW_DOCUMENTS, id="moves"),
    pytest.param(ask.analyze, ask.studio, NUMBER, id="studio", marks=STUDIO),
]


@pytest.mark.parametrize(("library", "other", "number"), SAME)
def test_a_document_is_the_library_own(answered, library, other, number):
    """Word for word, not in its numbers alone."""
    for place, one in enumerate(answered.asked[:number]):
        if place not in answered.refused[library.__name__]:
            document = other(one)
            assert document is None or document == library(one)


def test_a_file_of_rows_is_judged_as_rows_are(answered, tmp_path):
    rows = [ask.row_of(one, phase, metric) for one in answered.asked[:3] for phase, metric in ask.ROWS]
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        table.writeheader()
        table.writerows(rows)
    judged = (ask.plain(rooflight.check(rows).to_dict())["rows"], ask.cli_json("check", str(path))["rows"])

    own = {"line", "given"}  # the header is a line of a file, and a cell of it may be blank
    one, other = ([{name: row[name] for name in row.keys() - own} for row in rows] for rows in judged)
    assert one == other


@pytest.mark.parametrize("command", ["analyze", "compare"])
def test_a_process_prints_what_the_library_gives(answered, command):
    one = answered.asked[0]
    source = str(Path(rooflight.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "rooflight", command, one.model, *ask.words(one), "--json"],
        capture_output=True, env={**os.environ, "PYTHONPATH": source}, timeout=120, check=True,
    )  # fmt: skip

    assert json.loads(done.stdout) == getattr(ask, command)(one)

"""The doors' answers to all questions, and the committed list of what two doors or more have in common.

`quantities.csv` has a line for each quantity and the doors that print it. `python -m laws.doors.table` writes it anew.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import NamedTuple

from laws.doors.ask import DOORS, HAS_STUDIO
from laws.doors.names import Value, named
from laws.doors.questions import WITNESSES, Question, questions
from rooflight import RooflightError

LIST = Path(__file__).with_name("quantities.csv")
# Doors that take longer are asked one question in so many, and every witness.
EVERY = dict.fromkeys(("moves", "sweep", "sweep landmarks", "check row", "check claim"), 4)
# Doors that answer a part of the question: what they leave out is not None, it is not asked.
PARTIAL = ("models", "models MODEL")
# Doors that print one run of several.
ONE_RUN = ("compare", "moves")
# Doors that compute with arrays (of rows, those of one deployment together). NumPy takes powers from the processor,
# whose last bits are not the C library's.
ARRAYS = ("sweep columns", "check row")


class Table(NamedTuple):
    """answers[door][place] are the quantities of the question at that place; refused[door] why there are none."""

    asked: tuple[Question, ...]
    fits: tuple[bool, ...]
    answers: dict[str, dict[int, dict[str, Value]]]
    refused: dict[str, dict[int, str]]


@functools.cache
def table(number: int) -> Table:
    """So many questions put to every door."""
    asked = questions(number)
    answers: dict[str, dict[int, dict[str, Value]]] = {door: {} for door in DOORS}
    refused: dict[str, dict[int, str]] = {door: {} for door in DOORS}
    for place, one in enumerate(asked):
        for door, ask in DOORS.items():
            if place >= len(WITNESSES) and place % EVERY.get(door, 1):
                continue
            try:
                document = ask(one)
            except RooflightError as error:
                refused[door][place] = f"{one}: {error.what}"
                continue
            if document is not None:
                answers[door][place] = named(door, document)
    fits = tuple(bool(answers["analyze"][place]["memory.fits"]) for place in range(len(asked)))
    return Table(asked, fits, answers, refused)


def listed() -> dict[str, tuple[str, ...]]:
    """The committed list: doors by quantity."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return {row["quantity"]: tuple(row["doors"].split(", ")) for row in csv.DictReader(file)}


def found(answered: Table) -> dict[str, tuple[str, ...]]:
    """Doors by quantity as they answer today; quantities of one door alone are left out."""
    printed: dict[str, dict[str, None]] = {}
    for door, rows in answered.answers.items():
        for quantities in rows.values():
            for name in quantities:
                printed.setdefault(name, {})[door] = None
    return {name: tuple(doors) for name, doors in sorted(printed.items()) if len(doors) > 1}


def main() -> None:
    """Write the list."""
    if not HAS_STUDIO:
        raise SystemExit("the list needs the extra `studio` and httpx")
    with LIST.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("quantity", "doors"))
        lines.writerows((name, ", ".join(doors)) for name, doors in found(table(100)).items())


if __name__ == "__main__":
    main()

"""Rewrite the replay dump: what the tool says today to a few hundred questions, one file for each front door.

    python tests/replay/write.py                the files that test_replay.py holds the code to (`make replay`)
    python tests/replay/write.py --all FOLDER   the answers to thousands more, to compare by `diff -r` before and after

A refactoring must leave all of them as they are; a changed formula shows here, line by line, in the diff.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

if __name__ == "__main__":  # run as a file: the package is the folder above
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from replay.chosen import QUESTIONS, wide
from replay.documents import lines
from replay.doors import answer

HERE = Path(__file__).parent
# Begins the line that names a question.
_MARK = "== "


def dump(door: str, folder: Path = HERE) -> Path:
    """The file of a door."""
    return folder / f"{door}.txt"


def answered(door: str, questions: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Each question and the lines of its answer."""
    for question in questions:
        yield question, list(lines(answer(door, question)))


def committed(door: str) -> dict[str, list[str]]:
    """The lines of a door's file by question."""
    found: dict[str, list[str]] = {}
    said: list[str] = []
    for line in dump(door).read_text(encoding="utf-8").splitlines():
        if line.startswith(_MARK):
            said = found[line.removeprefix(_MARK)] = []
        else:
            said.append(line)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="ask the larger sample, write its files there")
    folder = parser.parse_args().all
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    for door, questions in (QUESTIONS if folder is None else wide()).items():
        with dump(door, folder or HERE).open("w", encoding="utf-8", newline="\n") as file:
            for question, said in answered(door, questions):
                file.writelines(f"{line}\n" for line in (_MARK + question, *said))
    return 0


if __name__ == "__main__":
    sys.exit(main())

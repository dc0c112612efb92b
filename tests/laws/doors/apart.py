"""Where doors disagree today, and why. The failures are expected and strict: mend one, and its line must go."""

from __future__ import annotations

import re
from typing import NamedTuple

MOVES = ("moves",)


class Apart(NamedTuple):
    """Every door of `ones` disagrees with every door of `others` on the quantities that match."""

    quantities: str
    ones: tuple[str, ...]
    others: tuple[str, ...]
    reason: str


LINES: tuple[Apart, ...] = (
    Apart(
        r"decode\.(bound|ceilings_s\.(compute|memory)|intensity_flop_per_byte|time_s\.\w+)",
        MOVES, ("sweep columns",),
        "where memory holds fewer sequences than are in flight, moves shows the step of those that it holds; the "
        "columns say what a step of all would take",
    ),
    Apart(
        r"decode\.intensity_flop_per_byte",
        MOVES, ("sweep",),
        "as above: a row of sweep has the intensity of a step of all, but no time",
    ),
)  # fmt: skip

# Doors that refuse a question which analyze answers.
REFUSING: dict[str, str] = {}
# Doors that give times of what does not fit.
TIMES_WITHOUT_ROOM = {
    "sweep columns": "columns() holds the times of every point, beside a column `fits`; the rows of sweep have null",
    "check row": "a row is refused for its weights alone: sequences that memory cannot hold have a ceiling and more",
}


def reason(quantity: str, one: str, other: str) -> str | None:
    """Why two doors disagree on a quantity today; None where they must not."""
    for line in LINES:
        pair = (one in line.ones and other in line.others) or (other in line.ones and one in line.others)
        if pair and re.fullmatch(line.quantities, quantity):
            return line.reason
    return None

"""Moves as bars: how many times as good each would be by what was asked, with its ceiling."""

from __future__ import annotations

from rooflight.show.charts.chart import Chart
from rooflight.show.charts.comparison import ticks
from rooflight.show.charts.layers import finished
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import axis_x, bar, behind, ends, names, strips
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.wording import short, times
from rooflight.values.moves import Move, Moves, wanted

# Bars of one picture, the best first.
MOST = 14
_READ = (
    "Bars: the gain expected of a well-run engine, in the hue of what binds decode then. The upright line is the gain "
    "of the ceiling. Below 1 it makes things worse."
)
_SEEN = " Of a machine that was measured the ceiling is the fastest seen there."


def rows(moves: Moves, look: Look = STANDARD) -> Datasets:
    """A bar a move at its expected gain, and the ceiling's; moves that cannot be made have none."""
    bars: Rows = []
    tops: Rows = []
    for number, (one, expected, ceiling) in enumerate(_evaluated(moves)):
        bars.append({
            "row": number, "name": one.title, "x": 0.0, "x2": expected, "end": max(expected, ceiling),
            "text": f"{times(expected)}, at the ceiling {times(ceiling)}",
            "hue": _hue(one),
        })  # fmt: skip
        tops.append({"row": number, "x": ceiling, "hue": "ink"})
    return {"bars": bars, "ceilings": tops, "ends": ends([row["end"] for row in bars], look)}


def _hue(one: Move) -> str:
    """What binds the decode step, of a prompt alone its prefill."""
    dot = None if one.after is None else one.after.decode or one.after.prefill
    return "capacity" if dot is None else dot.bound


def _evaluated(moves: Moves) -> list[tuple[Move, float, float]]:
    gains = ((one, wanted(one.gains, moves.objective)) for one in moves.moves if one.gains)
    found = [(one, gain.expected, gain.ceiling) for one, gain in gains]
    return sorted(found, key=lambda entry: -entry[1])[:MOST]


def gains(moves: Moves, *, look: Look = STANDARD) -> Chart:
    """What each move would gain, ranked."""
    data = rows(moves, look)
    layers = [
        *names("bars", look),
        bar("bars", look),
        ticks("ceilings", look),
        *behind("bars", look),
    ]
    main = strips(look, len(data["bars"]), axis_x(f"{moves.objective}, times as good as now"), layers)
    title = f"{short(moves.model)} on {moves.accelerator}: what would help {moves.objective}"
    return finished(
        "gains",
        main,
        data,
        look,
        start=0,
        title=title,
        subtitle=moves.answer,
        notes=(_READ + (_SEEN if moves.measured else ""),),
    )

"""Moves as bars: how many times as good each would be by what was asked, with its ceiling."""

from __future__ import annotations

from rooflight.show.charts.chart import Chart
from rooflight.show.charts.interval import INTERVAL_NOTE
from rooflight.show.charts.layers import finished
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import axis_x, bar, behind, ends, names, strips, ticks, tips
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.wording import short, times
from rooflight.span import Span
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
    for number, (one, gain) in enumerate(_evaluated(moves)):
        low, high = gain.low, gain.high
        between = "" if low is None or high is None else f" ({times(min(low, high))} to {times(max(low, high))})"
        same = {"row": number, "name": one.title}
        bars.append({
            **same, "x": 0.0, "x2": gain.expected, "end": max(gain.expected, gain.ceiling),
            "text": f"{times(gain.expected)}, at the ceiling {times(gain.ceiling)}",
            "hue": _hue(one), "said": f"{times(gain.expected)}{between}",
            "share": times(gain.ceiling),
        })  # fmt: skip
        tops.append({**same, "x": gain.ceiling, "hue": "ink", "said": bars[-1]["said"], "share": bars[-1]["share"]})
    texts = [row["text"] for row in bars]
    return {"bars": bars, "ceilings": tops, "ends": ends([row["end"] for row in bars], look, texts)}


def _hue(one: Move) -> str:
    """What binds the decode step, of a prompt alone its prefill."""
    dot = None if one.after is None else one.after.decode or one.after.prefill
    return "capacity" if dot is None else dot.bound


def _evaluated(moves: Moves) -> list[tuple[Move, Span]]:
    found = [(one, wanted(one.gains, moves.objective)) for one in moves.moves if one.gains]
    return sorted(found, key=lambda entry: -entry[1].expected)[:MOST]


def gains(moves: Moves, *, look: Look = STANDARD) -> Chart:
    """What each move would gain, ranked."""
    data = rows(moves, look)
    shown = tips("move", "expected gain", "at the ceiling")
    layers = [
        *names("bars", look, shown),
        bar("bars", look, shown),
        ticks("ceilings", look, shown),
        *behind("bars", look, shown),
    ]
    main = strips(look, len(data["bars"]), axis_x(f"{moves.objective}, times as good as now", factors=True), layers)
    title = f"{short(moves.model)} on {moves.accelerator}: what would help {moves.objective}"
    return finished(
        "gains",
        main,
        data,
        look,
        start=0,
        title=title,
        subtitle=moves.answer,
        notes=(_READ + (_SEEN if moves.measured else ""), INTERVAL_NOTE),
    )

"""Moves on a roofline: where the best of them would put a phase, as hollow dots with what they gain."""

from __future__ import annotations

import math
from typing import Any

from rooflight.show import numbers
from rooflight.show.charts import roof_labels
from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import hue, words
from rooflight.show.charts.place import Box, Datasets, Plane, Rows, placed
from rooflight.show.charts.theme import Look, text_width
from rooflight.show.charts.wording import times
from rooflight.values.moves import Dot, Move, Moves, Outcome, wanted

# Dots that can be told apart.
MOST = 6
NONE: Datasets = {"ghosts": [], "ghost_names": []}
READ = (
    "Hollow dots, dashed: where a move would put {phase}, as expected, with the {objective} that it gains; the best of "
    "each kind on the same machine."
)
_LONGEST = 26  # letters of a move's title
_RADIUS = 6.0  # px
_LEAST = 0.005  # of a place, below which nothing has moved


def phase_of(moves: Moves) -> str:
    """The phase that moves are shown of: prompts where the first token decides or nothing is put out, else decode."""
    decodes = moves.before is None or moves.before.decode is not None
    return "prefill" if moves.objective == "ttft" or not decodes else "decode"


def rows(moves: Moves, most: int = MOST, *, of: tuple[str, ...] = ("settings",)) -> Rows:
    """A dot a move that helps, the best of its kind, at the intensity of its phase and the FLOP/s expected of it.

    Only what moves the phase on the roof that is drawn: not what takes more devices, nor what leaves the phase alone.

    of      the machine's settings; "model" too where it might have had another shape
    at      in a row: which of moves.moves it is
    """
    phase, found, kinds = phase_of(moves), Rows(), set[str]()
    for at, one in enumerate(moves.moves):
        if one.verdict != "helps" or one.of not in of or one.kind in kinds or not one.gains or one.after is None:
            continue
        dot = getattr(one.after, phase)
        if dot is None or not _moved(moves.before, one.after, phase):
            continue
        kinds.add(one.kind)
        found.append(_row(at, one, dot, phase, moves.objective))
        if len(found) == most:
            break
    return found


def _moved(before: Outcome | None, after: Outcome, phase: str) -> bool:
    """Whether the phase stands elsewhere, on as many devices."""
    was, now = None if before is None else getattr(before, phase), getattr(after, phase)
    if before is None or was is None:
        return True
    places = ((one.intensity_flop_per_byte, one.flop_per_s) for one in (was, now))
    apart = any(abs(math.log(one / other)) > _LEAST for one, other in zip(*places, strict=True))
    return apart and before.devices == after.devices


def _row(at: int, one: Move, dot: Dot, phase: str, objective: str) -> dict[str, Any]:
    gain = wanted(one.gains, objective)
    name = one.title.partition(",")[0]
    name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
    return {
        "at": at, "x": dot.intensity_flop_per_byte, "y": dot.flop_per_s, "name": name, "title": one.title,
        "phase": phase, "gain": gain.expected, "text": times(gain.expected), "hue": dot.bound,
        "bound": numbers.resource(dot.bound), "time": numbers.seconds(dot.time_s.expected),
        "tip": f"{times(gain.expected)} the {objective} as expected, {times(gain.ceiling)} at the ceilings",
        "because": one.because,
    }  # fmt: skip


def added(data: Datasets, moves: Moves | None, look: Look, most: int = MOST) -> Datasets:
    """A roofline's datasets with those of the moves, and places for their names clear of all that is there."""
    if moves is None:
        return {**data, **NONE}
    plane = plane_in(data, look)
    found = [row for row in rows(moves, most) if _inside(plane, row)]
    data = {**data, "ghosts": found}
    data |= roof_labels.labels(plane, data, look)  # clear of these dots too
    taken = roof_labels.boxes(plane, data, look)
    for name in ("phase_names", "operator_names", "move_names", "link_names"):
        taken += [_box(plane, row, look) for row in data.get(name, [])]
    names = []
    for row in found:
        text = row["text"] if look.narrow else f"{row['name']} {row['text']}"
        label = placed(plane, row["x"], row["y"], text, size=look.size - 1, taken=taken, radius=_RADIUS + 1)
        names.append({**label, "hue": row["hue"]})
    return {**data, "ghost_names": names}


def plane_in(data: Datasets, look: Look) -> Plane:
    """The plane of a roofline that is laid out already."""
    low, high = data["corners"]
    return Plane(
        left=low["x"], right=high["x"], bottom=low["y"], top=high["y"], width=look.plot_width, height=look.plot_height
    )


def _inside(plane: Plane, row: dict[str, Any]) -> bool:
    """Whether it is in sight: axes stay as they are."""
    return bool(plane.left < row["x"] < plane.right and plane.bottom < row["y"] < plane.top)


def _box(plane: Plane, row: dict[str, Any], look: Look) -> Box:
    wide, high = text_width(row["text"], look.size), (row["text"].count("\n") + 1) * (look.size + 2)
    x, y = plane.x(row["x"]) + row["dx"], plane.y(row["y"]) + row["dy"]
    return Box(x - wide / 2, y - high / 2, x + wide / 2, y + high / 2, 4)


def read(data: Datasets, moves: Moves | None) -> str:
    """How to read the dots; "" where there are none."""
    if moves is None or not data["ghosts"]:
        return ""
    return READ.format(phase=phase_of(moves), objective=moves.objective)


def layers(look: Look) -> list[Any]:
    """Hollow dots in the hue of what binds them then, and their names; of the datasets "ghosts" and "ghost_names"."""
    alt = altair()
    tips = [
        alt.Tooltip("title:N", title="move"), alt.Tooltip("tip:N", title="gain"), alt.Tooltip("phase:N"),
        alt.Tooltip("time:N", title="expected"), alt.Tooltip("bound:N"),
        alt.Tooltip("x:Q", format=".3s", title="FLOP/byte"), alt.Tooltip("y:Q", format=".3s", title="FLOP/s"),
    ]  # fmt: skip
    dots = alt.Chart(alt.NamedData("ghosts")).mark_point(
        shape="circle", size=110, filled=True, fill=look.palette.paper, fillOpacity=0.6, strokeWidth=1.8,
        strokeDash=[3, 2], opacity=1,
    ).encode(x="x:Q", y="y:Q", stroke=_stroke(look), tooltip=tips)  # fmt: skip
    return [dots, *words("ghost_names", look, color=hue(look), fontSize=look.size - 1)]


def _stroke(look: Look) -> Any:
    alt, hues = altair(), look.palette.hues
    return alt.Stroke("hue:N", scale=alt.Scale(domain=[*hues], range=[*hues.values()]), legend=None)

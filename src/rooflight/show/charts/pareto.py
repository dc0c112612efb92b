"""Throughput of a device against speed for a user: what a deployment can trade for what."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from rooflight.serve.sweep import SweepPoints
from rooflight.show import numbers
from rooflight.show.charts.batch import _left_out, _source
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import ROUND, finished, hue, log_x, log_y, refilled, sized, words
from rooflight.show.charts.place import Box, Datasets, Plane, Rows, around, placed
from rooflight.show.charts.series import Lines, dots, lines
from rooflight.show.charts.theme import STANDARD, Look, text_width
from rooflight.show.charts.wording import short

_READ = (
    "Each point is a batch, written beside some, at the speed a well-run engine gets: up is more from each device, "
    "right is faster for each user. Both axes are logarithmic."
)
# Of a line, points whose batch is written beside them.
_NAMED = 5


def rows(sweep: SweepPoints, *, ignore_capacity: bool = False, look: Look = STANDARD) -> Datasets:
    """Expected tokens a second of a user and of a device, a point a batch."""
    return rows_of(lines(sweep, ignore_capacity=ignore_capacity), look=look)


def rows_of(told: Lines, *, slo_tpot_s: float | None = None, look: Look = STANDARD) -> Datasets:
    """The same of lines. slo_tpot_s: a goal for the time of a token, an upright line."""
    points: Rows = []
    for number, line in enumerate(told.lines, 1):
        for row in line.points:
            user, whole = row.tokens_per_s_per_user, row.tokens_per_s
            fast, much = user.expected, whole.expected
            if fast is not None and much is not None:
                points.append(
                    {
                        "x": fast,
                        "y": much / row.devices,
                        "at": told.x(row),
                        "line": number,
                        "hue": str(line.place or number),
                        "name": line.name,
                        "letter": line.letter,
                    }
                )
    xs, ys = ([point[name] for point in points] or [1.0] for name in ("x", "y"))
    xs += [] if slo_tpot_s is None else [1 / slo_tpot_s]
    plane = Plane(
        left=min(xs) / 1.5, right=max(xs) * 1.6, bottom=min(ys) / 2, top=max(ys) * 2,
        width=look.full_width, height=look.plot_height,
    )  # fmt: skip
    own = [point for point in points if point["at"] == told.lines[point["line"] - 1].own]
    shown = dots(points, "at")
    goals, goal_names = _goal(plane, slo_tpot_s, look)
    return {"corners": plane.corners, "points": points, "dots": shown, "own": own, "goals": goals,
            "goal_names": goal_names, "labels": _labels(plane, told, points, shown, look)}  # fmt: skip


def _goal(plane: Plane, slo_tpot_s: float | None, look: Look) -> tuple[Rows, Rows]:
    """The line of a goal for the time of a token, and what it is called: right of it the goal is kept."""
    if slo_tpot_s is None:
        return [], []
    x, within = 1 / slo_tpot_s, numbers.seconds(slo_tpot_s)
    text = f"a token within {within} →"
    inside = plane.x(x) + text_width(text, look.size) + 8 < plane.width
    text, side = (text, 1) if inside else (f"within {within} →", -1)
    name = {"x": x, "y": plane.top, "dx": side * (text_width(text, look.size) / 2 + 6), "dy": 9, "text": text}
    return [{"x": x, "text": text}], [name]


def _labels(plane: Plane, told: Lines, points: Rows, shown: Rows, look: Look) -> Rows:
    """The batch beside some dots, clear of all points, and the names of the lines."""
    taken: list[Box] = [around(plane.x(point["x"]), plane.y(point["y"]), 5, 0.6) for point in points]
    found: Rows = []
    for number, line in enumerate(told.lines, 1):
        own = [point for point in shown if point["line"] == number]
        step = max(1, -(-len(own) // (_NAMED - 2 * look.narrow)))
        for point in own[::step]:
            label = placed(plane, point["x"], point["y"], f"{point['at']:,}", size=look.size - 1, taken=taken)
            found.append({**label, "hue": str(line.place or number)})
        if line.name:  # low and slow is always empty: the names stand there, one on the other
            called = line.called(look)
            wide = text_width(called, look.size)
            dy = (look.size + 5) * (number - len(told.lines)) - 12
            corner = {"x": plane.left, "y": plane.bottom, "dx": wide / 2 + 8, "dy": dy}
            found.append({**corner, "text": called, "hue": str(line.place or number)})
    return found


def pareto(sweep: SweepPoints, *, model: str = "", ignore_capacity: bool = False, look: Look = STANDARD) -> Chart:
    """Tokens a second of a device against those of a user, over the sweep."""
    told = lines(sweep, ignore_capacity=ignore_capacity)
    who = short(model or sweep.scenarios[0].model.id)
    return of_lines(told, who=who, notes=(*_left_out(told), _source(sweep)), look=look)


def of_lines(
    told: Lines, *, who: str, notes: Sequence[str] = (), slo_tpot_s: float | None = None, look: Look = STANDARD
) -> Chart:
    """The same of lines that somebody has put together; `who` begins the title."""
    data = rows_of(told, slo_tpot_s=slo_tpot_s, look=look)
    title, notes = _title(who, data["points"]), (_READ, *notes)
    if look.width is None:
        return refilled(_on_page(told.axis, look), "pareto", data, title=title, notes=notes)
    return finished("pareto", _drawn(told.axis, look), data, look, title=title, notes=notes)


@functools.lru_cache(maxsize=32)
def _on_page(axis: str, look: Look) -> dict[str, Any]:
    """The document without rows, made once for a look."""
    return finished("pareto", _drawn(axis, look), {}, look, title="").spec


def _drawn(axis: str, look: Look) -> Any:
    """Lines with a dot a batch, the goal, the batches and names beside them."""
    alt = altair()
    of, color = alt.NamedData, hue(look)
    tips = [alt.Tooltip("name:N"), alt.Tooltip("at:Q", format=",d", title=axis.replace("_", " ")),
            alt.Tooltip("x:Q", format=",.4~r", title="tok/s a user"),
            alt.Tooltip("y:Q", format=",.4~r", title="tok/s a device")]  # fmt: skip
    own = alt.Chart(of("own")).encode(x="x:Q", y="y:Q", color=color, tooltip=tips)
    dot = alt.Chart(of("dots")).encode(x="x:Q", y="y:Q", color=color, tooltip=tips)
    goal = alt.Chart(of("goals")).mark_rule(strokeDash=[2, 3], strokeWidth=1.5, color=look.palette.ink)
    line = alt.Chart(of("points")).encode(x="x:Q", y="y:Q", color=color, order="at:Q", detail="line:N")
    main = alt.layer(
        alt.Chart(of("corners")).mark_point(opacity=0).encode(
            log_x("tokens per second and user", values=ROUND), log_y("tokens per second and device", values=ROUND)
        ),
        line.mark_line(strokeWidth=2.5),
        goal.encode(x="x:Q"),
        dot.mark_circle(size=60, opacity=1),
        own.mark_point(size=130, filled=True, opacity=1, stroke=look.palette.ink, strokeWidth=2),
        *words("goal_names", look),
        *words("labels", look, color=color),
    )  # fmt: skip
    return sized(main, look, look.full_width)


def _title(model: str, points: Rows) -> str:
    if not points:
        return f"{model} fits at none of these points"
    quick, much = (max(points, key=lambda point: point[name]) for name in ("x", "y"))
    several = len({point["line"] for point in points}) > 1
    fast, large = (f" ({one['letter']})" if several and one["letter"] else "" for one in (quick, much))
    return (
        f"{model}: from {numbers.plain(quick['x'])} tok/s for one user{fast} to {numbers.plain(much['y'])} tok/s from "
        f"each device{large}, where a user gets {numbers.plain(much['x'])}"
    )

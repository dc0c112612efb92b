"""Throughput of a device against speed for a user: what a deployment can trade for what."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from rooflight.serve.sweep import SweepPoints
from rooflight.show import numbers
from rooflight.show.charts import tips
from rooflight.show.charts.batch import _left_out, _source, box_of
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import ROUND, finished, hue, log_x, log_y, refilled, sized, words
from rooflight.show.charts.place import Box, Datasets, Plane, Rows, along, around, placed
from rooflight.show.charts.series import Lines, dots, lines
from rooflight.show.charts.theme import STANDARD, Look, text_width
from rooflight.show.charts.wording import BOUND_WORDS, short

_READ = (
    "Each point is a batch, written beside some, at the speed a well-run engine gets: up is more from each device, "
    "right is faster for each user. Both axes are logarithmic."
)
_GOAL = "Right of the dashed line a token takes no longer than the goal."
# Of a line, points whose batch is written beside them.
_NAMED = 5


def rows(
    sweep: SweepPoints, *, ignore_capacity: bool = False, names: Sequence[str] = (), slo_tpot_s: float | None = None,
    look: Look = STANDARD,
) -> Datasets:  # fmt: skip
    """Expected tokens a second of a user and of a device, a point a batch.

    names       what the lines are called, in their order; left out: what sets each apart
    slo_tpot_s  the most a token may take: an upright line, right of which users get it as fast
    """
    return rows_of(lines(sweep, ignore_capacity=ignore_capacity).named(names), slo_tpot_s=slo_tpot_s, look=look)


def rows_of(told: Lines, *, slo_tpot_s: float | None = None, look: Look = STANDARD) -> Datasets:
    """The same of lines."""
    points: Rows = []
    for number, line in enumerate(told.lines, 1):
        for row in line.points:
            user, whole = row.tokens_per_s_per_user, row.tokens_per_s
            fast, much = user.expected, whole.expected
            if fast is not None and much is not None:
                points.append({
                    "x": fast, "y": much / row.devices, "at": told.x(row), "line": number,
                    "hue": line.hue(number), "name": line.name, "letter": line.letter, "low": user.low,
                    "high": user.high, "bound": BOUND_WORDS.get(row.bound or "", ""), "inferred": line.inferred,
                })  # fmt: skip
    xs, ys = ([point[name] for point in points] or [1.0] for name in ("x", "y"))
    at = [1 / slo_tpot_s] if slo_tpot_s else []
    plane = Plane(
        left=min([*xs, *at]) / 1.5, right=max([*xs, *at]) * 1.6, bottom=min(ys) / 2, top=max(ys) * 2,
        width=look.full_width, height=look.plot_height,
    )  # fmt: skip
    own = [point for point in points if point["at"] == told.lines[point["line"] - 1].own]
    shown = dots(points, "at")
    goals, goal_names = _goal(plane, slo_tpot_s, look)
    labels = _labels(plane, points, shown, look, goal_names)
    return {"corners": plane.corners, "points": points, "dots": shown, "own": own, "labels": labels, "goals": goals,
            "goal_names": goal_names, "names": _line_names(plane, told, look)}  # fmt: skip


def _goal(plane: Plane, slo_tpot_s: float | None, look: Look) -> tuple[Rows, Rows]:
    """The line of a goal for the time of a token, and what it is called."""
    if not slo_tpot_s:
        return [], []
    x, text = 1 / slo_tpot_s, f"{numbers.seconds(slo_tpot_s)} TPOT"
    side = -1 if plane.x(x) > plane.width / 2 else 1
    name = {"x": x, "y": plane.top, "dx": side * (text_width(text, look.size) / 2 + 6), "dy": 10, "text": text}
    return [{"x": x, "text": text}], [name]


def _labels(plane: Plane, points: Rows, shown: Rows, look: Look, fixed: Rows) -> Rows:
    """The batch beside some dots of each line, clear of all points."""
    taken: list[Box] = [around(plane.x(point["x"]), plane.y(point["y"]), 5, 0.6) for point in points]
    for row in fixed:
        taken += [box_of(plane, row, look), *along(plane, [(row["x"], plane.bottom), (row["x"], plane.top)])]
    found: Rows = []
    for number in dict.fromkeys(point["line"] for point in shown):
        own = [point for point in shown if point["line"] == number]
        step = max(1, -(-len(own) // (_NAMED - 2 * look.narrow)))
        for point in own[::step]:
            label = placed(plane, point["x"], point["y"], f"{point['at']:,}", size=look.size - 1, taken=taken)
            found.append({**label, "hue": point["hue"]})
    return found


def _line_names(plane: Plane, told: Lines, look: Look) -> Rows:
    """The names of the lines: low and slow is always empty, so they stand there, one on the other."""
    corner = {"x": plane.left, "y": plane.bottom, "dx": 8}
    return [
        {**corner, "dy": (look.size + 5) * (number - len(told.lines)) - 12, "text": line.called(look),
         "hue": line.hue(number)}
        for number, line in enumerate(told.lines, 1)
        if line.name
    ]  # fmt: skip


def pareto(
    sweep: SweepPoints, *, model: str = "", ignore_capacity: bool = False, names: Sequence[str] = (),
    slo_tpot_s: float | None = None, look: Look = STANDARD,
) -> Chart:  # fmt: skip
    """Tokens a second of a device against those of a user, over the sweep; names and slo_tpot_s as in `rows`."""
    told = lines(sweep, ignore_capacity=ignore_capacity).named(names)
    who = short(model or sweep.scenarios[0].model.id)
    return of_lines(told, who=who, notes=(*_left_out(told), _source(sweep)), slo_tpot_s=slo_tpot_s, look=look)


def of_lines(
    told: Lines, *, who: str, notes: Sequence[str] = (), slo_tpot_s: float | None = None, look: Look = STANDARD
) -> Chart:
    """The same of lines that somebody has put together; `who` begins the title."""
    data = rows_of(told, slo_tpot_s=slo_tpot_s, look=look)
    read = f"{_READ} {_GOAL}" if data["goals"] else _READ
    title, notes = _title(who, data["points"]), (read, *notes)
    if look.width is None:
        return refilled(_on_page(told.axis, look), "pareto", data, title=title, notes=notes)
    return finished(
        "pareto", sized(drawn(told.axis, look), look, look.full_width), data, look, title=title, notes=notes
    )


@functools.lru_cache(maxsize=32)
def _on_page(axis: str, look: Look) -> dict[str, Any]:
    """The document without rows, made once for a look."""
    return finished("pareto", sized(drawn(axis, look), look, look.full_width), {}, look, title="").spec


def drawn(axis: str, look: Look) -> Any:
    """The marks of the chart: corners, a goal's line, lines, dots and names."""
    alt = altair()
    of, color = alt.NamedData, hue(look)
    said = tips.tip(
        **{"line": tips.of("name"), axis: tips.count("at")}, a_user=tips.amount("x", "tok/s"),
        interval=tips.span("low", "high", "tok/s"), a_device=tips.amount("y", "tok/s"), bound_by=tips.of("bound"),
        inferred=tips.of("inferred"),
    )  # fmt: skip
    own = alt.Chart(of("own")).encode(x="x:Q", y="y:Q", color=color)
    dot = alt.Chart(of("dots")).encode(x="x:Q", y="y:Q", color=color)
    line = alt.Chart(of("points")).encode(x="x:Q", y="y:Q", color=color, order="at:Q", detail="line:N")
    goal_tip = tips.tip(goal=tips.of("text"), a_user=tips.amount("x", "tok/s"))
    goal = alt.Chart(of("goals")).encode(x="x:Q")
    return alt.layer(
        alt.Chart(of("corners")).mark_point(opacity=0).encode(
            log_x("tokens per second and user", values=ROUND), log_y("tokens per second and device", values=ROUND)
        ),
        goal.mark_rule(strokeWidth=10, opacity=0, tooltip=goal_tip),
        goal.mark_rule(strokeWidth=1.5, strokeDash=[6, 3], color=look.palette.ink, tooltip=goal_tip),
        line.mark_line(strokeWidth=2.5),
        dot.mark_circle(size=60, opacity=1, tooltip=said),
        own.mark_point(size=130, filled=True, opacity=1, stroke=look.palette.ink, strokeWidth=2, tooltip=said),
        *words("labels", look, color=color),
        *words("names", look, color=color, align="left"),
        *words("goal_names", look),
    )  # fmt: skip


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

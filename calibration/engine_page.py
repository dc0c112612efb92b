"""docs/accuracy.md: how far off an answer is for one's own question, in rows that no fit saw."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from engine_asked import OPEN, SERVED, TABLES
from engine_evenness import ALL_ALIKE, Tried
from engine_noise import repeated
from engine_odd import odd_of, sources_odd
from engine_points import ASKED, CARDS, LEAST, MODELS, NEWEST_TABLE, PHASES, POINTS, Point, grouped, summed
from engine_report import Judged
from goals import Caught, goals, slices
from goals import table as goals_table

from rooflight.roofline import expected

HEAD = """# How accurate it is

*How far off is an expected time, for a question like mine?*

Written by `python calibration/fit_engines.py` on {date}. Ceilings are not fitted: this page is about expected times.
Errors are |expected / measured - 1| of rows that the fit did not see: *new points* (fifths of the operating points
left out in turn, with every row of each), *models* (whole models left out, checkpoints of one shape being one) and
*cards* (whole accelerators left out). "Inside" is the share of rows inside the interval that is meant to hold 80 %,
"width" how many times its upper end is its lower one, in the median. "As asked" is what the library answers when rows
are checked as anybody would check them: all rows of the kind, those in no fit among them, which "rows" does not count.
Your question is nearest to the row of its engine, family and weights [by slice](#by-slice), else in the
[newest data](#newest-data), else of its entry [by engine and family](#by-engine-and-family).

"""
_HEADS = {POINTS: "new points", MODELS: "models", CARDS: "cards"}
# Groups of the newest rows that are shown, and of what is far off.
_LEAST_NEW, _LEAST_FAR = 20, 3
_LEAST_MODEL = 20
_FAR, _VERY_FAR = 3.0, 10.0


class Page(NamedTuple):
    """Everything that the page is made of.

    points      held out, and as asked; tried: under other evenness of routing, none where that was not asked for
    against     the part about version 0.1.0
    """

    date: str
    data: Path
    judged: Sequence[Judged]
    points: Sequence[Point]
    claims: Caught
    tried: Sequence[Tried]
    against: Sequence[str]


def write_page(path: Path, page: Page) -> None:
    """Write it."""
    points = page.points
    lines = [
        HEAD.format(date=page.date), *_short(points), *_goals(page), *_slices(points), *_newest(points),
        *_far(points), *_noise(page.data), *_true(page), *_engines(page.judged),
        *_by("card", points, lambda one: one.accelerator), *_by("model", points, lambda one: one.model),
        *sources_odd(page.data), *_evenness(page.tried), *page.against,
    ]  # fmt: skip
    path.write_text("".join(lines))


def rows_of(lines: Sequence[Sequence[object]], *heads: str) -> list[str]:
    """A table of Markdown."""
    told = [f"| {' | '.join(map(str, cells))} |\n" for cells in lines]
    return [f"| {' | '.join(heads)} |\n", "|" + "---|" * len(heads) + "\n", *told]


def percent(share: float, digits: int = 0) -> str:
    """A share; "-" where there is none."""
    return f"{share:.{digits}%}" if math.isfinite(share) else "-"


def times(number: float) -> str:
    """So many times."""
    return f"{number:.2f}" if math.isfinite(number) else "-"


def _both(found: Sequence[Point]) -> str:
    one = summed(found)
    return f"{percent(one.mean, 1)} / {percent(one.median, 1)}" if found else "-"


def _short(points: Sequence[Point]) -> list[str]:
    """By phase and kind of model: mean and median error by what was left out, what is inside, how wide."""
    lines = []
    for phase in PHASES:
        for routed in (False, True):
            mine = [one for one in points if one.phase == phase and one.routed is routed and math.isfinite(one.ratio)]
            kind = f"{phase}, {'routed experts' if routed else 'dense'}"
            for how in (MODELS, ASKED):
                found = {name: [one for one in mine if one.how == name and not one.apart] for name in (*_HEADS, ASKED)}
                if not found[how] or (how == ASKED and found[MODELS]):
                    continue
                shown = [_both(found[name]) if how != ASKED else "-" for name in _HEADS]
                inside = " ".join(percent(summed(found[name]).coverage) for name in _HEADS if found[name])
                if how == ASKED:
                    inside = percent(summed(found[ASKED]).coverage)
                rows = len(found[POINTS if how != ASKED else ASKED])
                lines.append((kind, rows, *shown, _both(found[ASKED]), inside, times(summed(found[how]).width)))
    apart = [one for one in points if one.apart and one.how == ASKED and math.isfinite(one.ratio)]
    for phase in ("TPOT", "TTFT"):
        mine = [one for one in apart if one.phase == phase]
        if mine:
            one = summed(mine)
            lines.append(
                (
                    f"{phase}, workers apart",
                    one.rows,
                    "-",
                    "-",
                    "-",
                    _both(mine),
                    percent(one.coverage),
                    times(one.width),
                )
            )
    heads = ("", "rows", *_HEADS.values(), "as asked", "inside", "width")
    return [
        "Mean / median error:\n\n", *rows_of(lines, *heads),
        "\nInside: of new points, models left out and cards left out, or as asked where no row was left out.\n",
    ]  # fmt: skip


def _goals(page: Page) -> list[str]:
    return [
        "\n## Goals\n\nWhat these times are meant to reach (`python calibration/goals.py` prints it of the catalog's\n"
        "fits), by the rows that the last column names.\n\n",
        *goals_table(goals(page.points, page.claims)),
    ]  # fmt: skip


def _slices(points: Sequence[Point]) -> list[str]:
    """Engine, family, weights, phase, load: all with enough rows."""
    lines = []
    asked = slices(points, ASKED)
    held, new = slices(points, MODELS), slices(points, POINTS)
    for key in sorted({*held, *(key for key in asked if key not in held and key[3] != OPEN)}):
        one, fresh = summed(held.get(key, ())), summed(new.get(key, ()))
        if key in held:
            cells = (percent(fresh.median, 1), percent(one.median, 1), percent(one.mean, 1), f"{one.bias:+.1%}")
            inside = f"{percent(fresh.coverage)} {percent(one.coverage)}"
        else:
            one = summed(asked[key])
            cells = ("-", f"({percent(one.median, 1)})", f"({percent(one.mean, 1)})", f"({one.bias:+.1%})")
            inside = f"({percent(one.coverage)})"
        lines.append((*key, one.rows, *cells, inside, times(one.width)))
    heads = (
        "engine",
        "family",
        "weights",
        "what",
        "at once",
        "rows",
        "new points",
        "models",
        "mean",
        "bias",
        "inside",
        "width",
    )
    return [
        f"\n## By slice\n\nSlices of {LEAST} rows and more: median error of new points and of models left out, of the\n"
        "latter mean error and bias (the median of expected / measured - 1), the share inside of both, and the width.\n"
        "In brackets: as asked, no row left out.\n\n",
        *rows_of(lines, *heads),
    ]  # fmt: skip


def _newest(points: Sequence[Point]) -> list[str]:
    """By backend, family and phase, as asked and, where a fit has them, with their model left out."""
    asked = [one for one in points if one.table == NEWEST_TABLE and one.how == ASKED]
    if not asked:
        return []
    held = grouped(
        (one for one in points if one.table == NEWEST_TABLE and one.how == MODELS),
        lambda one: (one.backend, one.family, one.phase),
    )
    lines, rest = [], []
    groups = grouped(asked, lambda one: (one.backend, one.family, one.phase))
    for key, found in sorted(groups.items()):
        if len(found) < _LEAST_NEW:
            rest += found
            continue
        lines.append((*key, *_new_cells(found, held.get(key, ()))))
    everything = [one for key, found in held.items() if key in groups for one in found]
    lines.append(("others", "", "", *_new_cells(rest, ())))
    lines.append(("all", "", "", *_new_cells(asked, everything)))
    heads = (
        "backend",
        "family",
        "what",
        "rows",
        "judged",
        "median",
        "mean",
        "bias",
        "inside",
        "width",
        "model left out",
        "inside",
    )
    return [
        f"\n## Newest data\n\nRows of {NEWEST_TABLE} (engines of 2026 on consumer, workstation and unified machines),\n"
        "as asked: how many can be judged, and of those the error. The last two columns: median error and share\n"
        "inside with the row's model left out, where the rows are in a fit.\n\n",
        *rows_of(lines, *heads),
    ]  # fmt: skip


def _new_cells(found: Sequence[Point], held: Sequence[Point]) -> tuple[object, ...]:
    known = [one for one in found if math.isfinite(one.ratio)]
    one, out = summed(known), summed(held)
    judged = len(known) / len(found) if found else math.nan
    bias = f"{one.bias:+.1%}" if known else "-"
    return (
        len(found), percent(judged), percent(one.median, 1), percent(one.mean, 1), bias, percent(one.coverage),
        times(one.width), percent(out.median, 1), percent(out.coverage),
    )  # fmt: skip


def _far(points: Sequence[Point]) -> list[str]:
    """Rows more than three times off, in groups; those more than ten times off, one by one."""
    known = [one for one in points if one.how == ASKED and math.isfinite(one.ratio)]
    far = [one for one in known if one.times_off > _FAR]
    lines, rest = [], 0
    groups = grouped(
        far, lambda one: (one.table, one.backend, one.family, one.phase, one.ratio < 1, odd_of(one) or "-")
    )
    for key, found in sorted(groups.items(), key=lambda item: -len(item[1])):
        if len(found) < _LEAST_FAR:
            rest += len(found)
            continue
        off = sorted(one.times_off for one in found)
        way = "too little" if key[4] else "too much"
        lines.append((*key[:4], len(found), f"{off[0]:.1f} to {off[-1]:.1f}x {way}", key[5]))
    very = sorted((one for one in far if one.times_off > _VERY_FAR), key=lambda one: -one.times_off)
    alike = grouped(
        very, lambda one: (one.table, one.backend, one.accelerator, one.model, one.phase, odd_of(one) or "-")
    )
    each = [
        (
            f"`{found[0].id}`",
            f"{len(found) - 1} more" if len(found) > 1 else "",
            key[4],
            f"{found[0].ratio:.3g}",
            key[5],
        )
        for key, found in alike.items()
    ]
    return [
        f"\n## Rows off by more than {_FAR:g}x\n\n{len(far):,} of {len(known):,} rows as asked; {rest} of them in\n"
        f"groups of fewer than {_LEAST_FAR}, not shown.\n\n",
        *rows_of(lines, "table", "backend", "family", "what", "rows", "expected", "why, where known"),
        f"\nMore than {_VERY_FAR:g}x, the worst row of each engine, card and model, expected over measured time:\n\n",
        *rows_of(each, "row", "and alike", "what", "ratio", "why, where known"),
    ]  # fmt: skip


def _noise(data: Path) -> list[str]:
    lines = []
    for what, names in (("served runs", SERVED), *((f"`{name}`", (name,)) for name in TABLES if name not in SERVED)):
        found = repeated(data, names)
        if found.questions:
            spread = [percent(float(np.quantile(found.apart, share)), 1) for share in (0.5, 0.9)]
            lines.append((what, found.questions, found.rows, *spread))
    return [
        "\n## Noise\n\nWhat was measured twice or more, of the same model, card, layout, formats, lengths and load,\n"
        "in any version of the engine: how far the larger value is above the smaller one. No fit can be nearer.\n\n",
        *rows_of(lines, "", "questions", "rows", "median", "nine of ten within"),
    ]  # fmt: skip


def _true(page: Page) -> list[str]:
    """Claims that are too fast."""
    told = [
        f"{100 * seen / runs:.0f} of 100 of {runs:,} served runs are called impossible were they {by:g} times as fast"
        for by, (seen, runs) in sorted(page.claims.items())
        if runs
    ]
    called = [one for one in page.points if one.how == ASKED and one.verdict == "impossible"]
    rows = sum(one.how == ASKED for one in page.points)
    return [
        f"\n## Claims\n\nOf {rows:,} rows that nobody doubts {len(called)} are called impossible. "
        + (f"{'; '.join(told)}.\n" if told else "\n")
    ]  # fmt: skip


def _engines(judged: Sequence[Judged]) -> list[str]:
    """The entries of the catalog, a line each."""
    lines = []
    for group in judged:
        out, entry = group.out, group.entry
        error = np.abs(out.fifths - 1)
        errors = [
            percent(float(np.nanmedian(np.abs(ratio - 1))) if np.isfinite(ratio).any() else math.nan, 1)
            for ratio in out
        ]
        lines.append((
            group.key[0], group.key[1] or _place(entry), group.key[2],
            len(error), len({row.model for row in group.rows}),
            errors[0], percent(float(np.quantile(error, 0.9)), 1), *errors[1:], *_blind(group),
            times(entry["high"] / entry["low"]), times(entry["moe_high"] / entry["moe_low"]),
        ))  # fmt: skip
    heads = (
        "engine", "family", "era", "rows", "models", "new points", "nine of ten within", "models", "cards",
        "blind", "width, dense", "routed",
    )  # fmt: skip
    return [
        "\n## By engine and family\n\nThe entries of the catalog: median error of steps. Era 2025 is served runs, all\n"
        "engines fitted together; 2024 is offline runs, each engine and family by itself. A line of families, which\n"
        "stands in for those of it without an entry, is named as in catalog/calibration/default.toml, a backend\n"
        "behind it. Blind: the share of rows inside an interval that, like the fit, never saw the row's model.\n\n",
        *rows_of(lines, *heads),
    ]  # fmt: skip


def _place(entry: Mapping[str, Any]) -> str:
    """What an entry of several families is of: a line of them, a backend, or all."""
    return f"{entry.get('family') or 'all'} {entry.get('backend', '')}".strip()


def _blind(group: Judged) -> tuple[str]:
    known = group.blind[np.isfinite(group.blind)]
    return (percent(float(known.mean())) if len(known) else "-",)


def _by(what: str, points: Sequence[Point], key: Callable[[Point], Any]) -> list[str]:
    """Steps and batches by card or model: new points, and with models left out."""
    plain = [one for one in points if one.phase in ("TPOT", "decode", "end to end") and math.isfinite(one.ratio)]
    new = grouped((one for one in plain if one.how == POINTS), key)
    held = grouped((one for one in plain if one.how == MODELS), key)
    lines = []
    for name, found in sorted(new.items()):
        if len(found) >= _LEAST_MODEL:
            one, out = summed(found), summed(held.get(name, ()))
            cells = (percent(one.median, 1), percent(one.mean, 1), f"{one.bias:+.1%}", percent(one.coverage))
            lines.append((name, one.rows, *cells, percent(out.median, 1), percent(out.coverage), times(one.width)))
    heads = (what, "rows", "median", "mean", "bias", "inside", "model left out", "inside", "width")
    return [
        f"\n## By {what}\n\nSteps and batches of new points, {_LEAST_MODEL} rows and more, and with the row's model\n"
        "left out.\n\n",
        *rows_of(lines, *heads),
    ]  # fmt: skip


def _evenness(tried: Sequence[Tried]) -> list[str]:
    """Errors of routed experts by how alike experts are taken to be; how to get them, where they were not asked for."""
    lines = [
        "\n## Evenness of routing\n\nSome experts are chosen more often than others: the shape of that is "
        f"{expected.EVENNESS:g} (`roofline.expected.EVENNESS`). `fit_engines.py --evenness`\n"
        "fits everything under other values and puts the errors here.\n"
    ]
    if not tried:
        return lines
    cells = []
    for one in tried:
        errors = [
            percent(float(f(np.abs(ratio - 1))), 1) if len(ratio) else "-"
            for ratio in (one.served, one.offline)
            for f in (np.median, np.mean)
        ]
        cells.append(("all alike" if one.evenness == ALL_ALIKE else f"{one.evenness:g}", *errors))
    return [*lines, "\n", *rows_of(cells, "evenness", "served, median", "mean", "offline, median", "mean")]

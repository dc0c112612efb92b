"""What the expected times are meant to reach, and where they stand: issue 17's list, each a figure, met or not.

    python calibration/goals.py --data DATA [--claims]

asks the library with the catalog's fits, as anybody would ask it: no row is held out, so it is quick (minutes), and
kinder than docs/accuracy.md, which has the same table of rows that the fits did not see (fit_engines.py).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from engine_asked import OPEN, asked, caught
from engine_odd import proven, wrong_of
from engine_points import (
    ASKED,
    LEAST,
    MODELS,
    NEWEST_TABLE,
    POINTS,
    Point,
    grouped,
    summed,
)

SERVED_TABLES = ("served", "served.csv", "served2.csv")
OFFLINE_TABLES = ("offline", "measured.csv")
CONSUMER = ("rtx-3090", "rtx-4090", "rtx-5090")
STEPS = ("decode", "TPOT")
UNIFIED = {"Strix Halo": "ryzen-ai-max-395", "GB10": "gb10", "Apple": "apple-"}
_LEFT_OUT = {POINTS: "operating points", MODELS: "models"}
# Of a slice; intervals of all rows; how much wider than the median slice one may be.
_SLICE, _ALL, _WIDER = (0.65, 0.92), (0.75, 0.85), 2.0


class Goal(NamedTuple):
    """A goal: of what, what is wanted, what there is, whether that is enough (None: no row says it), on which rows."""

    what: str
    wanted: str
    figure: str
    met: bool | None
    on: str


# Of tests on the claims that are too fast: (caught, of so many) by how many times.
Caught = dict[float, tuple[int, int]]
Test = Callable[[Point], bool]


def goals(points: Sequence[Point], claims: Caught | None = None) -> list[Goal]:
    """All goals. points: of rows that fits did not see where there are such, and of all rows as asked."""
    return [
        *_served(points), *_far_off(points), *_intervals(points), *_offline(points), *_newest(points), *_true(points),
        *_claims(claims or {}),
    ]  # fmt: skip


def picked(points: Sequence[Point], how: str, test: Test) -> tuple[list[Point], str]:
    """Points that pass: left out in this way, and as asked those of rows that were not; and how many of which.

    Where no fit is at hand, all as asked.
    """
    held = [one for one in points if one.how == how and test(one)]
    fitted_ = {_row(one) for one in points if one.how == how}
    rest = [one for one in points if one.how == ASKED and test(one) and math.isfinite(one.ratio)]
    rest = [one for one in rest if _row(one) not in fitted_]
    if not fitted_:
        return rest, f"{len(rest):,} rows, as asked"
    told = [f"{len(held):,} rows, {_LEFT_OUT[how]} left out"] if held else []
    told += [f"{len(rest):,} as asked"] if rest else []
    return [*held, *rest], "; ".join(told) or "no rows"


def _row(one: Point) -> tuple[str, str]:
    """A row's run, whichever of its lines it is named by, and what of it is measured."""
    name = one.id.rsplit("-", 1)[0] if one.id.endswith(("-tpot", "-ttft")) else one.id
    return (name, one.phase)


def _error(
    points: Sequence[Point], what: str, how: str, test: Test, *, mean: float | None = None, median: float
) -> Goal:
    mine, on = picked(points, how, test)
    found = summed(mine)
    wanted = f"{median:.0%} median" if mean is None else f"{_bare(mean)} / {_bare(median)} % mean / median"
    if not mine:
        return Goal(what, wanted, "-", None, "no rows")
    figure = f"{found.median:.1%}" if mean is None else f"{found.mean:.1%} / {found.median:.1%}"
    met = found.median <= median and (mean is None or found.mean <= mean)
    return Goal(what, wanted, figure, met, on)


def _bare(share: float) -> str:
    return f"{100 * share:g}"


def _of(phase: str, *, routed: bool | None = None, tables: Sequence[str] = (), apart: bool = False) -> Test:
    return lambda one: (
        one.phase == phase
        and (routed is None or one.routed is routed)
        and (not tables or one.table in tables)
        and one.apart is apart
    )


def _served(points: Sequence[Point]) -> list[Goal]:
    told = []
    for phase, dense, experts in (("TPOT", (0.07, 0.045), (0.15, 0.09)), ("TTFT", (0.32, 0.20), (0.38, 0.22))):
        for routed, (mean, median) in ((False, dense), (True, experts)):
            kind = "routed experts" if routed else "dense"
            test = _of(phase, routed=routed, tables=SERVED_TABLES)
            told.append(_error(points, f"served {phase}, {kind}", POINTS, test, mean=mean, median=median))
    test = _of("TPOT", routed=True, tables=SERVED_TABLES)
    told.insert(2, _error(points, "served TPOT, routed experts", MODELS, test, mean=0.16, median=0.12))
    apart = [one for one in points if one.how == ASKED and _of("TPOT", apart=True)(one) and math.isfinite(one.ratio)]
    told.append(_error(apart, "TPOT of workers apart", POINTS, lambda _: True, mean=0.25, median=0.18))
    if apart:
        told[-1] = told[-1]._replace(on=f"{len(apart):,} rows, as asked, in no fit")
    return told


def _far_off(points: Sequence[Point]) -> list[Goal]:
    """Of first tokens as anybody would ask for them."""
    first = [one for one in points if one.how == ASKED and one.phase == "TTFT" and math.isfinite(one.ratio)]
    first = [one for one in first if one.table in SERVED_TABLES]
    ten = [one for one in first if one.times_off > 10]
    odd = sum(map(proven, ten))
    three = sum(one.times_off > 3 for one in first)
    on, known = f"{len(first):,} rows, as asked", None if not first else True
    return [
        Goal("served TTFT off by more than 10x", "none but proven odd", f"{len(ten)}, {odd} of them odd",
             known and len(ten) == odd, on),
        Goal("served TTFT off by more than 3x", "100 rows at most", f"{three}", known and three <= 100, on),
    ]  # fmt: skip


def slices(points: Sequence[Point], how: str = MODELS) -> dict[tuple[str, ...], list[Point]]:
    """Engine, family, weights, phase, load: those with enough rows."""
    mine = [one for one in points if one.how == how and math.isfinite(one.ratio) and not one.apart]
    groups = grouped(mine, lambda one: one.slice_key)
    return {key: found for key, found in sorted(groups.items()) if len(found) >= LEAST}


def _intervals(points: Sequence[Point]) -> list[Goal]:
    mine, on = picked(points, MODELS, lambda one: not one.apart)
    found = summed(mine)
    told = [
        Goal("coverage of the 80 % interval", "75 to 85 % of all rows", f"{found.coverage:.0%}",
             _ALL[0] <= found.coverage <= _ALL[1] if mine else None, on)
    ]  # fmt: skip
    each = {key: summed(one) for key, one in (slices(points, ASKED) | slices(points, MODELS)).items()}
    bad = sum(not _SLICE[0] <= one.coverage <= _SLICE[1] for one in each.values())
    told.append(
        Goal("coverage of every slice", "65 to 92 %", f"{len(each) - bad} of {len(each)} slices",
             not bad if each else None, f"of {LEAST} rows and more, with models left out where they were")
    )  # fmt: skip
    wide = 0
    for phase in {key[3] for key in each}:
        widths = sorted(one.width for key, one in each.items() if key[3] == phase)
        middle = summed([one for one in mine if one.phase == phase]).width
        wide += sum(width > _WIDER * middle for width in widths)
    told.append(
        Goal("width of every slice", "at most twice the median of its phase",
             f"{len(each) - wide} of {len(each)} slices", not wide if each else None, "high over low")
    )  # fmt: skip
    for phase, most in (("TPOT", 1.6), ("TTFT", 2.5), ("prefill", 3.0)):
        some, on = picked(points, MODELS, _of(phase))
        width = summed(some).width
        told.append(
            Goal(f"median width, {phase}", f"{most:g} at most", f"{width:.2f}" if some else "-",
                 width <= most if some else None, on)
        )  # fmt: skip
    return told


def _offline(points: Sequence[Point]) -> list[Goal]:
    decode = lambda one: one.phase == "decode" and one.load == "1" and one.table in OFFLINE_TABLES  # noqa: E731
    whole = lambda one: one.phase == "end to end" and one.table in OFFLINE_TABLES  # noqa: E731
    told = [
        _error(points, "decode of one sequence, offline", POINTS, decode, median=0.12),
        _error(points, "batches from end to end, offline", POINTS, whole, median=0.12),
    ]
    rates = [
        one
        for one in points
        if one.how == ASKED and one.engine == "tensorrt-llm" and one.table == "measured.csv"
        and (one.phase == OPEN or (one.phase == "end to end" and one.id.startswith("tr")))
        and one.verdict not in ("cannot-judge", "no ceiling")
    ]  # fmt: skip
    share = sum(one.inside for one in rates) / len(rates) if rates else math.nan
    told.append(
        Goal("TensorRT-LLM's throughput pages", "75 % inside", f"{share:.0%}" if rates else "-",
             share >= 0.75 if rates else None, f"{len(rates):,} rows, as asked")
    )  # fmt: skip
    return told


def _newest(points: Sequence[Point]) -> list[Goal]:
    """measured2.csv: of models left out where it is in a fit, else as asked."""
    new = [one for one in points if one.table == NEWEST_TABLE]
    told = [
        _error(new, "newest rows, decode", MODELS, _of("decode"), median=0.15),
        _error(new, "newest rows, prefill", MODELS, _of("prefill"), median=0.30),
    ]
    mine, on = picked(new, MODELS, lambda _: True)
    found = summed(mine)
    told.append(
        Goal("newest rows, coverage", "75 to 85 %", f"{found.coverage:.0%}" if mine else "-",
             _ALL[0] <= found.coverage <= _ALL[1] if mine else None, on)
    )  # fmt: skip
    told.append(
        Goal("kernels of an RTX PRO 6000, unseen", "15 % median", "-", None, "no such kernel in the data folder")
    )
    for engine in ("llama.cpp", "vllm"):
        some = [one for one in points if one.engine == engine]
        what = f"RTX 3090, 4090, 5090 in {engine}, a token"
        told.append(_error(some, what, MODELS, _on(CONSUMER, STEPS), median=0.15))
    for name, cards in UNIFIED.items():
        for phase, median in (("decode", 0.15), ("prefill", 0.25)):
            told.append(_error(points, f"{name}, {phase}", MODELS, _on((cards,), (phase,)), median=median))
    return told


def _on(cards: tuple[str, ...], phases: tuple[str, ...]) -> Test:
    """Phases on cards whose ids begin so."""
    return lambda one: one.accelerator.startswith(cards) and one.phase in phases


def _true(points: Sequence[Point]) -> list[Goal]:
    rows = [one for one in points if one.how == ASKED]
    called = [one for one in rows if one.verdict == "impossible"]
    wrong = sum(wrong_of(one) is not None for one in called)
    figure = f"{len(called)}, {wrong} of them wrong as they stand"
    return [
        Goal("true rows called impossible", "none", figure, len(called) == wrong if rows else None,
             f"{len(rows):,} rows, as asked")
    ]  # fmt: skip


def _claims(claims: Caught) -> list[Goal]:
    told = []
    for times, least in ((2.0, 0.10), (4.0, 0.58)):
        seen, runs = claims.get(times, (0, 0))
        share = seen / runs if runs else math.nan
        told.append(
            Goal(f"served runs {times:g}x too fast, caught", f"{100 * least:.0f} of 100",
                 f"{100 * share:.0f} of 100" if runs else "-", share >= least if runs else None,
                 f"{runs:,} runs" if runs else "not asked (--claims)")
        )  # fmt: skip
    return told


def table(found: Sequence[Goal]) -> list[str]:
    """The goals as lines of Markdown."""
    lines = ["| | wanted | is | met | on |\n|---|---|---|---|---|\n"]
    for one in found:
        met = {True: "yes", False: "no", None: "-"}[one.met]
        lines.append(f"| {one.what} | {one.wanted} | {one.figure} | {met} | {one.on} |\n")
    return lines


def main() -> None:
    """Print the goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with served*.csv, measured*.csv, configs")
    parser.add_argument("--claims", action="store_true", help="also: claims too fast (served runs twice over)")
    options = parser.parse_args()
    claims = {times: caught(options.data, times) for times in (2.0, 4.0)} if options.claims else None
    print("The catalog's fits, rows not held out.\n")
    print("".join(table(goals(asked(options.data), claims))), end="")


if __name__ == "__main__":
    main()

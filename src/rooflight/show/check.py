"""The answer of `check`: the document rooflight.check/1, the input's columns with ours behind them, and the few rows
that matter as text.

The JSON document: schema, rows (one a row of the input, the fields of values.measurement.Verdict), then summary
(Tally), notes and answer, which are known only when all rows have passed.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TextIO

import msgspec

from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, encode, json_texts, write_list
from rooflight.units import round_significant
from rooflight.values.measurement import SCHEMA, Report, Tally, Verdict

# What CSV appends to the input's columns; an input column of such a name is passed on as input_NAME.
APPENDED = ("ceiling", "expected", "low", "high", "over_ceiling", "verdict", "reason", "mfu", "mbu")
# Rows of a kind that text shows: those furthest from what they should be.
TEXT_ROWS = 20
_REASONS = 8
# Of a benchmark's results so many values are listed one by one.
RESULTS = 40
_MOST_REASONS = 10_000


def flat_rows(columns: Sequence[str], verdicts: Iterable[Verdict], *, calibrated: bool = False) -> Rows:
    """The input's columns as they were, then ours; with your own calibration what would be expected without it."""
    added = (*APPENDED, "expected_uncalibrated") if calibrated else APPENDED
    header = [f"input_{name}" if name in added else name for name in columns]

    def cells(one: Verdict) -> list[object]:
        return [*(one.given.get(name, "") for name in columns), *(getattr(one, name) for name in added)]

    return Rows([*header, *added], map(cells, verdicts))


def rows(report: Report) -> Rows:
    """A whole report for CSV: rows with their own columns, or claims."""
    columns = list(dict.fromkeys(name for one in report.rows for name in one.given))
    calibrated = any(one.expected_uncalibrated is not None for one in report.rows)
    return flat_rows(columns, report.rows, calibrated=calibrated) if columns else claim_rows(report)


def blocks(report: Report) -> list[Block]:
    """A whole report as text."""
    if any(one.given for one in report.rows):
        return Picked(report.rows).blocks(report.answer, report.summary, report.notes)
    return claim_blocks(report)


def results_blocks(report: Report) -> list[Block]:
    """A benchmark's results as text: the sentence, a line a value, why; of many values those that matter."""
    if len(report.rows) > RESULTS:
        return Picked(report.rows).blocks(report.answer, report.summary, report.notes)
    numbers = {name: place for place, name in enumerate(dict.fromkeys(map(_run, report.rows)), start=1)}
    shown: list[Block] = [Prose(report.answer, "answer")]
    if any(one.ceiling is not None for one in report.rows):
        shown.append(_claim_table(report.rows, runs=numbers))
    alike: dict[tuple[str, str], list[str]] = {}
    for one in report.rows:
        if one.verdict != "ok" and one.reason.rstrip(".") not in report.answer:
            alike.setdefault((_run(one), one.reason), []).append(one.metric)
    reasons = [
        f"run {numbers[run]} ({run}), {' and '.join(metrics)}: {reason}" for (run, reason), metrics in alike.items()
    ]
    shown += [Bullets("Why:", tuple(reasons))] if reasons else []
    shown += [Bullets("Noted:", report.notes)] if report.notes else []
    return shown


def _run(one: Verdict) -> str:
    return one.given.get("run", "")


def claim_rows(report: Report) -> Rows:
    """Claims for CSV: what was claimed, then our columns."""
    names = ("model", "accelerator", "metric", "unit", "value", *APPENDED)
    return Rows(names, [[getattr(one, name) for name in names] for one in report.rows])


def write_json(
    stream: TextIO, verdicts: Iterator[Verdict], tail: Callable[[], tuple[str, Tally, Sequence[str]]]
) -> None:
    """The document, written as the rows come; `tail` gives answer, counts and notes when they have passed."""
    stream.write(f'{{"schema":{encode(SCHEMA)},"rows":')
    write_list(stream, json_texts(verdicts))
    answer, tally, notes = tail()
    rest = encode({"summary": msgspec.to_builtins(tally), "notes": list(notes), "answer": answer})
    stream.write("," + rest[1:] + "\n")


class Picked:
    """The rows text shows, chosen as they pass: the furthest above their ceiling, the slowest, and why others cannot
    be judged."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self._impossible: list[tuple[float, int, Verdict]] = []
        self._beyond: list[tuple[float, int, Verdict]] = []
        self._slow: list[tuple[float, int, Verdict]] = []
        self._reasons: Counter[str] = Counter()
        for one in verdicts:
            if one.verdict == "impossible":
                _keep(self._impossible, one.over_ceiling or 0.0, one)
            elif one.faster_than_measured:
                _keep(self._beyond, one.over_ceiling or 0.0, one)
            elif one.verdict == "slow":
                _keep(self._slow, -(one.over_ceiling or 0.0), one)
            elif one.verdict == "cannot-judge" and (len(self._reasons) < _MOST_REASONS or one.reason in self._reasons):
                self._reasons[one.reason] += 1

    def blocks(self, answer: str, tally: Tally, notes: Sequence[str]) -> list[Block]:
        """Sentence, counts, then the rows."""
        shown: list[Block] = [Prose(answer, "answer")]
        shown += [Prose(f"Warning: {note}", "warning") for note in notes]
        shown.append(_counts(tally))
        shown += _rows("Faster than physics allows", self._impossible, tally.impossible)
        shown += _rows("Faster than this machine was measured", self._beyond, tally.faster_than_measured)
        shown += _rows("Slower than a well-run engine", self._slow, tally.slow)
        if self._reasons:
            items = [f"{count:,} x {reason}" for reason, count in self._reasons.most_common(_REASONS)]
            left = len(self._reasons) - len(items)
            shown.append(Bullets("Cannot be judged:", (*items, *([f"and {left:,} other reasons"] if left else []))))
        if tally.rows:
            shown.append(Prose("--format csv or json gives every row.", "note"))
        return shown


def _keep(heap: list[tuple[float, int, Verdict]], weight: float, one: Verdict) -> None:
    """Keep the TEXT_ROWS heaviest; of equals the first."""
    entry = (weight, -one.line, one)
    if len(heap) < TEXT_ROWS:
        heapq.heappush(heap, entry)
    elif entry[:2] > heap[0][:2]:
        heapq.heapreplace(heap, entry)


def _counts(tally: Tally) -> Table:
    def share(value: float | None) -> str:
        return "n/a" if value is None else f"{value:.1%}".replace("%", " %")

    heads = (
        "rows", "judged", "ok", "fast", "slow", "impossible", "cannot\njudge", "median\nerror", "mean\nerror",
        "in the\ninterval",
    )  # fmt: skip
    counts = (
        tally.rows, tally.judged, tally.ok, tally.fast, tally.slow, tally.impossible, tally.cannot_judge,
    )  # fmt: skip
    errors = (tally.median_error, tally.mean_error, tally.coverage)
    return Table(heads=heads, rows=((*(f"{count:,}" for count in counts), *map(share, errors)),))


def _rows(title: str, heap: list[tuple[float, int, Verdict]], total: int) -> list[Block]:
    if not heap:
        return []
    worst = [one for _, _, one in sorted(heap, key=lambda entry: entry[:2], reverse=True)]
    more = f" (the {len(worst)} furthest of {total:,})" if total > len(worst) else ""
    table = Table(
        title=f"{title}{more}:",
        heads=("line", "model", "on", "metric", "value", *_limits(worst)),
        left=("model", "on", "metric"),
        rows=tuple(_cells(one) for one in worst),
    )
    return [table, Bullets("Why:", tuple(f"line {one.line:,}: {one.reason}" for one in worst))]


def _limits(rows: Sequence[Verdict]) -> tuple[str, str]:
    """What the limit and the speed over it are called."""
    if rows and all(one.on_measured for one in rows):
        return "fastest\nseen here", "over\nthat"
    return "ceiling", "over\nceiling"


def _cells(one: Verdict) -> tuple[str, ...]:
    return (
        f"{one.line:,}",
        one.model,
        one.accelerator,
        one.metric,
        numbers.plain(one.value),
        numbers.plain(one.ceiling),
        "" if one.over_ceiling is None else round_significant(one.over_ceiling),
    )


def claim_blocks(report: Report) -> list[Block]:
    """Claims as text: the sentence, the numbers, what was assumed."""
    shown: list[Block] = [Prose(report.answer, "answer")]
    if any(one.ceiling is not None for one in report.rows):
        shown.append(_claim_table(report.rows))
    shown += [Bullets("Assumed:", report.notes)] if report.notes else []
    return shown


def _claim_table(rows: Sequence[Verdict], *, runs: Mapping[str, int] | None = None) -> Table:
    """Claimed values; or measured ones, of runs by number where there are several."""
    limit, over = _limits(rows)
    value = "claimed" if runs is None else "measured"
    several = runs if runs is not None and len(runs) > 1 else {}
    heads = ("metric", value, limit, "expected", "low", "high", over, "bound", "verdict")
    return Table(
        heads=("run", *heads) if several else heads,
        left=("metric", "bound", "verdict"),
        rows=tuple(
            (
                *((str(several[_run(one)]),) if several else ()),
                one.metric,
                *(numbers.plain(value) for value in (one.value, one.ceiling, one.expected, one.low, one.high)),
                "" if one.over_ceiling is None else round_significant(one.over_ceiling),
                numbers.resource(one.bound),
                one.verdict,
            )
            for one in rows
        ),
    )

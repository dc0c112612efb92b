"""Which of a page's scenarios does best as they stand, in a sentence: of the answers that are there, none asked anew.

The view Compare puts them on one mix of requests, and with as many at once as goals allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rooflight.serve.goals import Wanted
from rooflight.show import numbers
from rooflight.show.charts.wording import times as times_of
from rooflight.show.figures import Got, got_of
from rooflight.span import Span
from rooflight.studio.answered import Answered
from rooflight.studio.page import Page
from rooflight.studio.views.goals import said
from rooflight.values.analysis import Analysis
from rooflight.words.comparison import against, differ
from rooflight.words.quantities import bound_by

_WORKLOAD = ("isl", "osl", "context")


class _Run(NamedTuple):
    """A scenario that runs: all its output tokens a second, what else its line says, and its time to a first token."""

    one: Answered
    analysis: Analysis
    rate: Span
    got: Got
    ttft_s: Span | None

    @property
    def letter(self) -> str:
        return self.one.label.letter

    @property
    def name(self) -> str:
        """B (2xh200-sxm)."""
        return f"{self.letter} ({self.one.label.name})"


def standing(found: Sequence[Answered], page: Page) -> str:
    """Who puts out the most, under the page's goals if it has some; "" of one scenario, and where they cannot be told.

    Figures are those of the lines, so the interval of what is expected decides whether one is ahead, as in Compare.
    """
    if len(found) < 2 or any(one.question.given()["request_rate"] is not None for one in found):
        return ""
    runs = list(_runs(found))
    if len(runs) < 2:
        return f"Of these scenarios {runs[0].name} alone runs." if runs else ""
    if len({tuple(one.analysis.workload[name] for name in _WORKLOAD) for one in runs}) > 1:
        return "Their requests are of unlike lengths: Compare, below, puts them on one mix."
    if len({one.got.steps for one in runs}) > 1:
        return ""
    goals = page.goals
    kept = runs if goals is None else [one for one in runs if goals.kept(one.ttft_s, one.got.step)]
    if goals is None:
        return _best(runs, "")
    if not kept:
        return f"None of them keeps {said(goals)} as expected{_nearest(runs, goals)}."
    if len(kept) == 1:
        return f"{kept[0].name} alone keeps {said(goals)}, as expected."
    them = "All" if len(kept) == len(runs) else " and ".join(one.letter for one in kept)
    return _best(kept, f"{them} keep {said(goals)}, as expected; of them ")


def _runs(found: Sequence[Answered]) -> Iterator[_Run]:
    for one in found:
        analysis = one.analysis
        run = None if analysis is None or analysis.run is None else analysis.runs.get(analysis.run)
        if analysis is None or run is None:
            continue
        got = got_of(analysis, run, steps=one.side.steps)
        rate = analysis.phases["decode"].tokens_per_s if got.steps else run.output_tokens_per_s
        if rate is not None and rate.expected and analysis.workload["osl"]:
            yield _Run(one, analysis, rate, got, run.ttft_s)


def _nearest(runs: Sequence[_Run], goals: Wanted) -> str:
    """Of a goal for a token alone, who comes nearest."""
    timed = [(one.got.step.expected, one) for one in runs if one.got.step is not None]
    if goals.ttft_s is not None or not timed:
        return ""
    time, one = min(timed, key=lambda pair: pair[0])
    return f"; {one.name} comes nearest with {numbers.seconds(time)}"


def _best(runs: Sequence[_Run], front: str) -> str:
    """Who puts out most, against the first of them or, where that is it, the next; and who else is ahead in what."""
    first, *others = sorted(runs, key=lambda one: -one.rate.expected)
    near = [one for one in others if _reaches(one.rate, first.rate)]
    other = runs[0] if runs[0] is not first else others[0]
    if near:
        close = near[0]
        told = f"{first.name} and {close.name} are too close to call in tokens a second"
        gain = times_of(first.rate.expected / close.rate.expected)
        told += f": {gain} as expected, within their intervals"
    else:
        most = numbers.plain(first.rate.expected)
        gain = times_of(first.rate.expected / other.rate.expected)
        told = f"{first.name} puts out the most, {most} tok/s as expected, {gain} that of {other.letter}"
        told += _why(first, other)
    return f"{front}{told}{_elsewhere(runs, first)}."


def _reaches(span: Span, best: Span) -> bool:
    """Whether its expected interval reaches into that of a better one."""
    return span.high is None or best.low is None or span.high >= best.low


def _why(first: _Run, other: _Run) -> str:
    """What of the machine decides, where the resource that binds decode is the one that differs."""
    phase, rates = first.analysis.phases.get("decode"), (_bandwidth(first), _bandwidth(other))
    if phase is None:
        return ""
    if phase.expected_bound == "memory" and rates[0] > rates[1] and differ(*rates):
        return f" (decode is {bound_by('memory')}: {against(*rates, 'B/s')})"
    weights = [one.analysis.deployment["weights"] for one in (first, other)]
    if weights[0] != weights[1]:
        return f" ({weights[0]} weights against {weights[1]})"
    return ""


def _bandwidth(one: _Run) -> float:
    return one.analysis.accelerator.memory_bytes_per_s * one.analysis.accelerator.count


_OTHERS: dict[str, Callable[[_Run], Span | None]] = {
    "a card": lambda one: one.got.card,
    "for each user": lambda one: one.got.user,
}


def _elsewhere(runs: Sequence[_Run], first: _Run) -> str:
    """Who is ahead by a card and for a user, where that is another one."""
    parts = []
    for words, of in _OTHERS.items():
        spans = [(span.expected, one) for one in runs if (span := of(one)) is not None]
        if not spans:
            continue
        best, one = max(spans, key=lambda pair: pair[0])
        mine = of(first)
        if mine is not None and numbers.plain(best) != numbers.plain(mine.expected):
            parts.append(f"{one.letter} gives the most {words}")
    return f"; {' and '.join(parts)}" if parts else ""

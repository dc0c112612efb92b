"""The best few settings of the same machine, one on top of the other."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.moves.judge import NOTHING, gains, wanted
from rooflight.answers.moves.option import KINDS, Asked, Option
from rooflight.answers.moves.outcome import outcome
from rooflight.errors import RooflightError
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.values.moves import Combined, Outcome

_MOST_COMBINED = 3


def combined(sc: Scenario, before: Outcome | None, objective: str, asked: Asked) -> Combined | None:
    """The best few settings of the same machine together, evaluated as one; None where there are not two."""
    if before is None:
        return None
    _, titles, best = best_settings(sc, before, objective, asked)
    return Combined(titles=tuple(titles), gains=gains(before, best), after=best) if len(titles) > 1 else None


def best_settings(sc: Scenario, before: Outcome, objective: str, asked: Asked) -> tuple[Scenario, list[str], Outcome]:
    """The scenario with the best setting, then the best beside it, and so on; what was set, and its outcome."""
    now = sc
    titles: list[str] = []
    used: set[str] = set()
    best = before
    for _ in range(_MOST_COMBINED):
        step = max(
            _settings(now, used, asked),
            key=lambda found: wanted(gains(before, found[2]), objective).expected,
            default=None,
        )
        if step is None or _no_gain(before, best, step[2], objective):
            break
        kind, option, best = step
        used.add(kind)
        titles.append(option.title)
        now = option.after or now
    return _filled(sc, now, titles, best, objective, asked) if len(titles) > 1 else (now, titles, best)


def _filled(
    sc: Scenario, now: Scenario, titles: list[str], best: Outcome, objective: str, asked: Asked
) -> tuple[Scenario, list[str], Outcome]:
    """Where the batch was raised to what memory holds: raised again to what it holds by now."""
    full = changed(now, batch=best.max_batch) if best.max_batch > best.batch > sc.workload.batch else now
    found = outcome(full, asked.price(sc))
    if full is now or wanted(gains(best, found), objective).expected < 1 + NOTHING:
        return now, titles, best
    named = [title for title in titles if not title.startswith("batch ")]
    return full, [f"batch {sc.workload.batch:,} to {found.batch:,}", *named], found


def _no_gain(before: Outcome, held: Outcome, tried: Outcome, objective: str) -> bool:
    one, other = (wanted(gains(before, result), objective).expected for result in (held, tried))
    return other < one * (1 + NOTHING)


def _settings(sc: Scenario, used: set[str], asked: Asked) -> Iterator[tuple[str, Option, Outcome]]:
    """What may be set on this machine beside what is set already: that fits, and is a scenario of its own."""
    for kind in KINDS:
        if kind.of != "settings" or kind.alone or kind.name in used:
            continue
        for option in kind.options(sc, asked):
            if option.after is None:
                continue
            try:
                found = outcome(option.after, asked.price(sc))
            except RooflightError:
                continue
            if found.fits or sc.deployment.ignore_capacity:
                yield kind.name, option, found

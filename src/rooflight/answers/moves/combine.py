"""The best few settings of the same machine, one on top of the other."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.moves.fields import fields_of
from rooflight.answers.moves.judge import NOTHING
from rooflight.answers.moves.option import KINDS, Asked, noted
from rooflight.answers.outcome import outcome
from rooflight.answers.pair import gains
from rooflight.errors import RooflightError
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.values.moves import Outcome, Together, wanted
from rooflight.values.note import Note

_MOST_COMBINED = 3


def combined(sc: Scenario, before: Outcome | None, objective: str, asked: Asked) -> Together | None:
    """The best few settings of the same machine together, evaluated as one; None where there are not two."""
    if before is None:
        return None
    after, moves, best = best_settings(sc, before, objective, asked)
    if len(moves) < 2:
        return None
    fields = fields_of(asked.question or sc, sc, after)
    return Together(moves=moves, gains=gains(before, best), after=best, fields=fields)


Set = tuple[Scenario, tuple[Note, ...], Outcome]


def best_settings(sc: Scenario, before: Outcome, objective: str, asked: Asked) -> Set:
    """The scenario with the best setting, then the best beside it, and so on; what was set, and its outcome."""

    def gain(after: Outcome) -> float:
        return wanted(gains(before, after), objective).expected

    now, moves, best = sc, tuple[Note, ...](), before
    while len(moves) < _MOST_COMBINED:
        after, move, found = max(
            _settings(now, {one.key for one in moves}, asked), key=lambda one: gain(one[2]), default=(now, None, best)
        )
        if move is None or gain(found) < gain(best) * (1 + NOTHING):
            break
        now, moves, best = after, (*moves, move), found
    return _filled(sc, (now, moves, best), objective, asked) if len(moves) > 1 else (now, moves, best)


def _filled(sc: Scenario, done: Set, objective: str, asked: Asked) -> Set:
    """Where the batch was raised to what memory holds: raised again to what it holds by now."""
    now, moves, best = done
    batch = sc.workload.batch
    if best.max_batch is None or not best.max_batch > best.batch > batch:
        return done
    full = changed(now, batch=best.max_batch)
    found = outcome(full, asked.price(sc), decode_alone=asked.decode_alone)
    if wanted(gains(best, found), objective).expected < 1 + NOTHING:
        return done
    cache_bytes = memory(full).kv_bytes_per_sequence * (found.batch - batch)
    raised = Note(key="batch", value=(batch, found.batch, False, cache_bytes))
    return full, (raised, *(one for one in moves if one.key != "batch")), found


def _settings(sc: Scenario, used: set[str], asked: Asked) -> Iterator[tuple[Scenario, Note, Outcome]]:
    """What may be set on this machine beside what is set already: that fits, and is a scenario of its own."""
    for kind in KINDS:
        if kind.of != "settings" or kind.alone or kind.name in used or (asked.decode_alone and kind.needs_peak):
            continue
        for option in kind.options(sc, asked):
            try:
                after = option.made()
                if option.stays is not None and after.rates.beside is not None:  # a batch may use the room better
                    after = option.stays()
                found = option.outcome(after, asked)
            except RooflightError:
                continue
            if found.max_batch != 0 or sc.deployment.ignore_capacity:
                yield after, noted(kind, option, sc, after), found

"""Your own calibration in words: what it does to an answer, and the answer without it."""

from __future__ import annotations

from collections.abc import Callable

from rooflight.units import percent, scaled
from rooflight.values.analysis import Analysis
from rooflight.values.note import Note
from rooflight.values.own import OwnEntry, OwnError
from rooflight.values.run import WholeRun

# What each factor is on.
TIMES = {"step": "steps", "prefill": "a prefill by itself", "first": "first tokens", "request": "whole requests"}
_FEW = 3


def beside(found: Analysis) -> str:
    """What would be expected without it, as the last sentence of an answer; "" where it does nothing."""
    own = found.calibration
    if own is None:
        return ""
    if not own.used:
        return f" Your own calibration of {own.date} has no entry for {engine(own.engine)} on {own.accelerator}."
    by = f" That is by your own calibration of {own.date} ({_rows(own.rows or 0)})"
    run = found.runs.get(found.run or "")
    plain = (own.runs or {}).get(found.run or "")
    if isinstance(run, WholeRun) and plain is not None and plain.ttft_s is not None:
        first = f"a first token after {scaled(plain.ttft_s.expected, 's')}"
        then = "" if plain.tpot_s is None else f", then one every {scaled(plain.tpot_s.expected, 's')}"
        return f"{by}; without it {first}{then}."
    steps = [(name, span) for name, span in (own.phases or {}).items() if span is not None]
    told = ", ".join(f"{name} {scaled(span.expected, 's')}" for name, span in steps)
    return (
        f" That is by your own calibration of {own.date} ({_rows(own.rows or 0)}); without it {told}." if told else ""
    )


def engine(name: str) -> str:
    """An engine by its id; the mean of several by that."""
    return "the mean of the serving engines" if name == "generic" else name


def factors(found: dict[str, float]) -> str:
    """Which times are how much longer: "steps take 1.08 times as long, first tokens 0.9 times"."""
    told = [f"{TIMES[name]} {factor:.3g} times" for name, factor in found.items()]
    return f"{', '.join(told)} as long" if told else "nothing shifted, intervals alone are its own"


def error(entry: OwnEntry) -> str:
    """How far off its rows are, before and after: those that are shifted, where others are not."""
    pairs = [pair for of in (entry.others, *entry.models) for pair in of.factors.items()]
    shifted = {name for name, factor in pairs if factor != 1}
    judged = [one for one in entry.errors if one.of in shifted and one.after is not None]
    if entry.dropped and judged:
        return "leaving one out " + ", ".join(f"{TIMES[one.of]} are {_off(one)}" for one in judged)
    one = entry.all
    if one is None:
        return ""
    if one.after is None:
        return f"{percent(one.before)} off before; one run alone cannot be left out, so the error after is not known"
    return f"leaving one out they are {_off(one)}"


def _off(one: OwnError) -> str:
    return f"{percent(one.after or 0.0)} off in the median, without it {percent(one.before)}"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _calibration(note: Note) -> str:
    date, name, entry, shifts = note.value
    return (
        f"expected times of {engine(name)} on {note.why} are by your own calibration of {date}, {_rows(entry.rows)} of "
        f"{entry.runs} run{'s' * (entry.runs != 1)}: {factors(dict(shifts))}; {error(entry)}"
    )


def _unused(note: Note) -> str:
    name, era, others = note.value
    held = "; ".join(f"{engine(one)} ({when}) on {card}" for one, when, card in others[:_FEW])
    more = f" and {len(others) - _FEW} more" if len(others) > _FEW else ""
    here = next((one for one, _, card in others if card == note.why and name == "generic"), None)
    hint = "" if here is None else f": --engine {here} is what it is of"
    return (
        f"your own calibration is not used: it is of {held}{more}, and expected times here are of {engine(name)} "
        f"({era}) on {note.why}{hint}"
    )


def _other_models(note: Note) -> str:
    named = ", ".join(note.value[:_FEW]) + (f" and {len(note.value) - _FEW} more" if len(note.value) > _FEW else "")
    return f"your own calibration has no row of {note.why}: what {named} would share with it counts, less and wider"


OWN: dict[str, Callable[[Note], str]] = {
    # value: (date, engine, the entry, (quantity, factor) of each that is shifted)
    # why: the accelerator's id, here and in the next
    "own_calibration": _calibration,
    # value: (engine, era of its fits, (engine, era, accelerator) of each entry there is)
    "own_unused": _unused,
    # value: models among the rows; why: the model
    "own_other_models": _other_models,
}

"""The answer of `moves` as text, rows and JSON: what helps, what it costs, what does nothing and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from rooflight.serve.goals import Wanted
from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, flat, rows_of
from rooflight.show.seen import note, renamed
from rooflight.span import Span
from rooflight.units import round_significant, scaled
from rooflight.values.moves import GAIN_OF, Combined, Dot, Move, Moves, Outcome

_HEADINGS = {
    "settings": "On the same machine:",
    "machine": "Another machine:",
    "model": "If the model or the requests were others:",
}
# Moves of a kind that text shows; CSV and JSON have all.
_TEXT_MOVES = 6
# Times that goals are for.
_TIMES = {"ttft_s": "TTFT", "tpot_s": "TPOT"}
_GAINS = ("throughput", "request", "ttft", "prefill", "decode", "cost")
_DOES = {
    "nothing": "Do nothing for it:",
    "hurts": "Make it worse:",
    "does-not-fit": "Do not fit:",
    "not-possible": "Not possible here:",
}


class Listed(NamedTuple):
    """A block, and what its rows or lines are of, where they are of moves."""

    block: Block
    of: tuple[Move | Combined, ...] = ()


def blocks(found: Moves) -> list[Block]:
    """The sentence; where it stands; what helps, by where; what does not, and why; together; beliefs; assumptions."""
    return [one.block for one in listed(found)]


def listed(found: Moves, goals: Wanted | None = None) -> list[Listed]:
    """The blocks, each with the moves that it has a row or a line of.

    goals   for users' times: tables say which moves keep them, and have the best that do
    """
    whole = [] if found.combined is None else [Listed(_together(found.combined), (found.combined,))]
    shown = [
        *map(Listed, _stated(found)), *_tables(found, goals), *map(Listed, _others(found)), *whole,
        *map(Listed, _told(found)),
    ]  # fmt: skip
    named = renamed([one.block for one in shown], bool(found.measured))
    shown = [one._replace(block=block) for one, block in zip(shown, named, strict=True)]
    return [*shown, *map(Listed, note(found.measured))]


def _stated(found: Moves) -> list[Block]:
    """The sentence, and where it stands."""
    shown: list[Block] = [Prose(found.answer, "answer")]
    return shown if found.before is None else [*shown, _stands(found.before, found)]


def keeps(one: Move, goals: Wanted) -> bool:
    """Whether a run after the move is expected to keep the goals."""
    return one.after is not None and goals.kept(one.after.run.ttft_s, one.after.run.tpot_s)


def _tables(found: Moves, goals: Wanted | None) -> Iterator[Listed]:
    """What helps, by where."""
    for of, title in _HEADINGS.items():
        helping = [one for one in found.moves if one.of == of and one.verdict == "helps"]
        if helping:
            yield from _helping(title, helping, found.objective, goals)


def _others(found: Moves) -> Iterator[Block]:
    """What does not help, and why."""
    for verdict, title in _DOES.items():
        others = [one for one in found.moves if one.verdict == verdict]
        if others:
            yield Bullets(title, tuple(f"{one.title}{_shortly(one)}: {one.because}" for one in others))


def _told(found: Moves) -> Iterator[Block]:
    """Beliefs, and what is assumed."""
    if found.stories:
        yield Bullets("Often believed, and not so here:", tuple(f'"{s.name}": {s.words}' for s in found.stories))
    yield Bullets("Assumed:", found.assumptions)
    yield Prose("Gains are as expected, in brackets at the ceiling. --format csv or json gives every move.", "note")


def _stands(before: Outcome, found: Moves) -> Block:
    left = {one.phase: one for one in found.left}

    def row(name: str, dot: Dot) -> tuple[str, ...]:
        more = left[name]
        nearest = "" if more.next is None or more.to_next is None else f"{_times(more.to_next)} ({more.next})"
        return (
            name, numbers.resource(dot.bound), scaled(dot.time_s.ceiling, "s"), scaled(dot.time_s.expected, "s"),
            round_significant(dot.intensity_flop_per_byte),
            "" if dot.ridge_flop_per_byte is None else round_significant(dot.ridge_flop_per_byte),
            _times(more.to_ceiling), nearest,
        )  # fmt: skip

    return Table(
        title=f"Now, at batch {before.batch:,}: {_rate(before)}",
        heads=("phase", "bound", "ceiling", "expected", "FLOP/\nbyte", "ridge", "left to\nceiling", "then to the next"),
        left=("phase", "bound", "then to the next"),
        rows=tuple(row(name, getattr(before, name)) for name in left),
    )


def _rate(one: Outcome) -> str:
    each = one.rate
    all_ = each.expected * one.devices if one.tokens_per_s is None else one.tokens_per_s.expected
    kind = "prompt" if one.decode is None else "output"
    said = f"{round_significant(all_)} {kind} tok/s expected"
    if one.devices > 1:
        said += f", {round_significant(each.expected)} an accelerator"
    if one.usd_per_million_tokens is not None:
        said += f", ${round_significant(one.usd_per_million_tokens.expected)} a million tokens"
    if one.request_s is None:
        return said + " in decode alone"
    return said + f"; a request takes {scaled(one.request_s.expected, 's')} ({one.run.schedule})"


def _helping(title: str, moves: Sequence[Move], objective: str, goals: Wanted | None) -> list[Listed]:
    shown = _shown(moves, goals)
    asked = GAIN_OF[objective]
    first = asked if any(asked in one.gains for one in shown) else "throughput"
    others = [name for name in _GAINS if name != first and any(name in one.gains for one in shown)]
    which = "the best" if goals is None else "the best, and the best that keep the goals,"
    more = f" ({which} {len(shown)} of {len(moves)})" if len(moves) > len(shown) else ""
    wanted = {} if goals is None else {name: most for name in _TIMES if (most := getattr(goals, name)) is not None}

    def cells(one: Move) -> tuple[str, ...]:
        gains = (_gain(one.gains.get(first)), *(_expected(one.gains.get(name)) for name in others))
        return (one.title, *gains, *(_beside_goal(one, name, most) for name, most in wanted.items()))

    then = [f"{_TIMES[name]}\n(goal {numbers.seconds(most)})" for name, most in wanted.items()]
    table = Table(
        title=title + more,
        heads=("move", f"{first}\n(ceiling)", *others, *then),
        left=("move",),
        whole=("move",),
        rows=tuple(map(cells, shown)),
    )
    why = Bullets("What they do, and cost:", tuple(f"{one.title}: {one.because}. Cost: {one.cost}" for one in shown))
    return [Listed(table, tuple(shown)), Listed(why)]


def _shown(moves: Sequence[Move], goals: Wanted | None) -> list[Move]:
    """The best few, the best few of those that keep the goals, and all that were asked about."""
    best = set(range(_TEXT_MOVES))
    if goals is not None:
        best |= set([place for place, one in enumerate(moves) if keeps(one, goals)][:_TEXT_MOVES])
    return [one for place, one in enumerate(moves) if one.asked or place in best]


def _beside_goal(one: Move, name: str, most: float) -> str:
    """A time of the run after the move, and whether it is above the goal."""
    span = None if one.after is None else getattr(one.after.run, name)
    if span is None:
        return ""
    return f"{numbers.seconds(span.expected)}{', over' if span.expected > most else ''}"


def _expected(gain: Span | None) -> str:
    return "" if gain is None else _times(gain.expected)


def _gain(gain: Span | None) -> str:
    """As expected, with the ceiling's in brackets where it differs."""
    if gain is None:
        return ""
    expected, ceiling = _times(gain.expected), _times(gain.ceiling)
    return expected if expected == ceiling else f"{expected} ({ceiling})"


def _times(value: float) -> str:
    return f"{value:.2f}x" if value < 10 else f"{value:,.0f}x"


def _shortly(one: Move) -> str:
    if not one.gains:
        return ""
    named = {name: gain for name, gain in one.gains.items() if name in ("throughput", "request")}
    return " (" + ", ".join(f"{name} {_gain(gain)}" for name, gain in named.items()) + ")"


def _together(one: Combined) -> Block:
    gains = ", ".join(f"{name} {_gain(gain)}" for name, gain in one.gains.items())
    return Bullets("Together:", (f"{'; '.join(one.titles)}: {gains} (evaluated as one, not multiplied)",))


def rows(found: Moves) -> Rows:
    """A row a move, best first."""
    return rows_of([flat(_plain(one)) for one in found.moves])


def _plain(one: Move) -> dict[str, Any]:
    """The fields in one cell, as JSON: a column each would not tell a default that is set from what stays."""
    result: dict[str, Any] = msgspec.to_builtins(one)
    said = None if one.fields is None else msgspec.json.encode(one.fields).decode()
    return {**result, "fields": said}

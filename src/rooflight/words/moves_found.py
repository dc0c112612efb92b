"""The answer of `moves` in words: the sentence over all, and why each move gains what it gains."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rooflight.scenario.assume import file_notes
from rooflight.scenario.basis import basis_of
from rooflight.scenario.definite import Scenario
from rooflight.units import round_significant, scaled
from rooflight.values.moves import Combined, Dot, Found, Left, Move, Moves, Tried
from rooflight.values.note import Note
from rooflight.words.analysis import does_not_fit
from rooflight.words.basis import basis_clause, behind
from rooflight.words.moves import from_to, said
from rooflight.words.notes import worded
from rooflight.words.quantities import bound_by, resource
from rooflight.words.seen import measured_among
from rooflight.words.stories import told


def answered(sc: Scenario, found: Found) -> Moves:
    """The documented answer: what answers.moves found of a scenario, with its words."""
    together, before = found.together, found.before
    moves = tuple(map(_move, found.tried))
    assumed = (words for one in moves for words in one.assumed)
    return Moves(
        answer=_answer(sc, found),
        objective=found.objective,
        model=sc.model.id,
        accelerator=sc.devices,
        before=before,
        memory="" if found.memory.whole else does_not_fit(sc, found.memory),
        moves=moves,
        combined=None if together is None else Combined(
            titles=_titles(together.moves), gains=together.gains, after=together.after, fields=together.fields
        ),
        left=tuple(_left(one, getattr(before, one.phase)) for one in found.left),
        stories=tuple(map(told, found.stories)),
        measured_or_absent=measured_among([sc.accelerator]) or msgspec.UNSET,
        assumptions=tuple(dict.fromkeys((*worded((*file_notes(sc.model.warnings), *sc.assumptions)), *assumed))),
    )  # fmt: skip


_OBJECTIVES = {
    "throughput": "output tokens per second per accelerator",
    "latency": "a request's time",
    "ttft": "the time to first token",
    "cost": "the cost of a token",
}


# Where prompts cannot be told.
_OF_DECODE = {
    "throughput": "decode's output tokens per second per accelerator",
    "latency": "the time of a token",
    "cost": "the cost of a token in decode",
}


# Where nothing is put out.
_OF_PROMPTS = {
    "throughput": "prompt tokens per second per accelerator",
    "latency": "a request's time",
    "ttft": "the time to a result",
    "cost": "the cost of a prompt's token",
}


def _answer(sc: Scenario, found: Found) -> str:
    """The sentence; values of `answer` by key:

    too-big         up to three moves that make it fit
    nothing-helps   nothing
    best            the best setting's move, its gain, and how many times as long a request takes (None: no longer)
    together        the best setting's move, its gain, the moves combined, their gain, how many times as long
    """
    key, value = found.answer.key, found.answer.value
    if key == "too-big":
        would = f"It would with {', or '.join(_titles(value))}." if value else "No move tried makes it fit."
        return f"{does_not_fit(sc, found.memory)} {would}"
    where, what = f"{sc.model.id} on {sc.devices}", _OBJECTIVES[found.objective]
    if found.before is not None and found.before.prefill is None:
        what = _OF_DECODE[found.objective]
        where += f" (no published {' or '.join(sc.unrated)} peak, so decode alone is compared)"
    elif found.before is not None and found.before.decode is None:
        what = _OF_PROMPTS[found.objective]
    if key == "nothing-helps":
        return f"{where}: no setting of the same machine improves {what}."
    best, gain, *more, slower = value
    text = f"{where}: {said(best).title} improves {what} {round_significant(gain)}x"
    if more:
        moves, whole = more
        text += f"; together, {', '.join(_titles(moves))} make it {round_significant(whole)}x"
    text += "" if slower is None else f", with each request taking {round_significant(slower)} times as long"
    return f"{text}{behind(basis_clause(basis_of(sc), sc.deployment.engine))}."


def _titles(moves: tuple[Note, ...]) -> tuple[str, ...]:
    return tuple(said(one).title for one in moves)


def _move(one: Tried) -> Move:
    words = said(one.move)
    because = "".join(_WHY[why.key](words.acts, *why.value) for why in one.why)
    return Move(
        kind=one.move.key, of=one.of, title=words.title, verdict=one.verdict, because=because, cost=words.cost,
        gains_or_null=one.gains, after=one.after, assumed=words.assumed, asked=one.asked,
        fields=one.fields,
    )  # fmt: skip


def _left(one: Left, dot: Dot) -> Left:
    """With the seconds of the ceiling, and of the resource next to it."""
    further = None
    if one.next is not None and one.to_next is not None:
        further = f"{resource(one.next)}, {scaled(dot.time_s.ceiling / one.to_next, 's')}"
    nearest = f"{resource(one.ceiling)}, {scaled(dot.time_s.ceiling, 's')}"
    return msgspec.structs.replace(one, ceiling=nearest, next=further)


def _moves_it(acts: str, phase: str, bound: str, was_s: float, now_s: float, then: str) -> str:
    turned = "" if then == bound else f"; then it is {bound_by(then)}"
    return f"it {acts}: {resource(bound)}, which binds {phase}, {from_to(was_s, now_s)}{turned}"


def _stays(
    acts: str, phase: str, bound: str, seconds: float, weights: float, cache: float,
    moved: tuple[tuple[str, float, float], ...],
) -> str:  # fmt: skip
    changes = "".join(f"; {resource(name)} {from_to(was_s, now_s)}" for name, was_s, now_s in moved)
    share = f", {weights:.0%} of it weights, {cache:.0%} KV cache" if bound == "memory" else ""
    return f"it {acts}{changes}; {phase} waits for {resource(bound)} ({scaled(seconds, 's')}{share}), which stays"


# What each reason says: of what the move does, and its values in their order.
_WHY: dict[str, Callable[..., str]] = {
    "refused": lambda _, what: what,
    "does-not-fit": lambda _, sc, held: does_not_fit(sc, held),
    "fits": lambda acts, most: f"it {acts}: then it fits, up to batch {most:,}",
    "no-peak": lambda acts, card, forms: (
        f"it {acts}: what that takes hangs on the {' or '.join(forms)} peak of {card}, which nobody published"
    ),
    "unpriced": lambda _, own, card: f"no price was given for both cards: --price {own}=USD --price {card}=USD",
    "binding-moves": _moves_it,
    "binding-turns": lambda acts, phase, then, seconds: (
        f"it {acts}: {resource(then)} binds {phase} then, {scaled(seconds, 's')}"
    ),
    "expected-moves": lambda acts, phase, was_s, now_s: f"it {acts}: {phase} {from_to(was_s, now_s)} as expected",
    "binding-stays": _stays,
    "both-views": lambda _, user, user_now, all_, all_now, batch: (
        f"; a user gets {round_significant(user_now)} tok/s in place of {round_significant(user)}, all together "
        f"{round_significant(all_now)} in place of {round_significant(all_)} at batch {batch:,}"
    ),
    "devices": lambda _, was, now: f", on {now} accelerators in place of {was}",
}

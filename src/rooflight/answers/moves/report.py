"""The answer of `moves`, in numbers; words.moves adds the sentences."""

from __future__ import annotations

import msgspec

from rooflight.answers.moves.combine import best_settings, combined
from rooflight.answers.moves.judge import NOTHING, judged
from rooflight.answers.moves.option import Asked
from rooflight.answers.moves.stories import stories
from rooflight.answers.outcome import outcome
from rooflight.errors import BadInput, Named
from rooflight.roofline.rates import no_peak
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.serve.schedule import chosen
from rooflight.span import Span
from rooflight.values.moves import OBJECTIVES, Dot, Found, Left, Outcome, Together, Tried, wanted
from rooflight.values.note import Note


def moves(sc: Scenario, objective: str = "throughput", asked: Asked | None = None) -> Found:
    """Every move on a scenario, ranked; by decode alone where prompts cannot be told.

    Raises BadInput for an objective that is none, MissingFact where it is the first token and the peak is not known.
    """
    if objective not in OBJECTIVES:
        raise BadInput(
            f"moves are not ranked for {objective!r}", where=Named.of("objective"), got=objective,
            want="one of " + ", ".join(OBJECTIVES),
        )  # fmt: skip
    if sc.deployment.prefill_on is not None:
        raise BadInput(
            "moves are of one kind of card", where=Named.of("prefill_on"), got=sc.deployment.prefill_on,
            want="a question without it", try_this="analyze for each of the deployments you think of",
        )  # fmt: skip
    if sc.unrated and (objective == "ttft" or sc.workload.osl == 0):
        raise no_peak(sc.accelerator, sc.unrated, "what a prompt takes")
    asked = msgspec.structs.replace(asked or Asked(), decode_alone=bool(sc.unrated), question=sc)
    sc = _asked(sc)
    held = memory(sc)
    holds = held.most >= 1 or sc.deployment.ignore_capacity
    before = outcome(sc, asked.price(sc), decode_alone=asked.decode_alone) if holds else None
    tried = judged(sc, before, objective, asked)
    together = combined(sc, before, objective, asked)
    return Found(
        answer=_answer(before, objective, tried, together),
        objective=objective,
        before=before,
        memory=held,
        tried=tried,
        together=together,
        left=() if before is None else _lefts(before),
        stories=() if before is None else stories(sc, before, asked),
    )


def _asked(sc: Scenario) -> Scenario:
    """The scenario with a definite layout; alone there is one request, whatever is compared with it."""
    return changed(sc, batch=1) if chosen(sc) == "alone" else changed(sc)


def improved(sc: Scenario, objective: str = "throughput") -> Scenario | None:
    """The scenario with the best settings of the same machine; None where it does not fit or nothing helps."""
    sc = _asked(sc)
    if memory(sc).most < 1:
        return None
    asked = Asked(decode_alone=bool(sc.unrated))
    before = outcome(sc, decode_alone=asked.decode_alone)
    after, chosen, _ = best_settings(sc, before, objective, asked)
    return after if chosen else None


def _answer(before: Outcome | None, objective: str, tried: tuple[Tried, ...], together: Together | None) -> Note:
    """The best setting, or the best few where together they gain more; what would make it fit, where it does not."""
    helping = [one for one in tried if one.verdict == "helps"]
    if before is None:
        return Note(key="too-big", value=tuple(one.move for one in helping if one.of != "model")[:3])
    best = next((one for one in helping if one.of == "settings"), None)
    if best is None or best.gains is None:
        return Note(key="nothing-helps")
    gain = wanted(best.gains, objective).expected
    whole = 0.0 if together is None else wanted(together.gains, objective).expected
    if together is None or whole < gain * (1 + NOTHING):
        return Note(key="best", value=(best.move, gain, _slower(best.gains)))
    return Note(key="together", value=(best.move, gain, together.moves, whole, _slower(together.gains)))


def _slower(found: dict[str, Span]) -> float | None:
    """How many times as long a request takes, where it pays for the gain."""
    if "request" not in found:
        return None
    request = found["request"].expected
    return None if request > 1 - NOTHING else 1 / request


def _lefts(before: Outcome) -> tuple[Left, ...]:
    dots = {"prefill": before.prefill, "decode": before.decode}
    return tuple(left(name, dot) for name, dot in dots.items() if dot is not None)


def left(phase: str, dot: Dot) -> Left:
    """The largest gain left in a phase: down to its ceiling, and then to the next resource's.

    Times are of a token, where a step yields more of them; the resources' own are of the step.
    """
    terms = {name: seconds for name, seconds in dot.terms_s.items() if name != "launch" and seconds > 0}
    first, *rest = sorted(terms, key=lambda name: -terms[name])
    return Left(
        phase=phase, to_ceiling=dot.time_s.expected / dot.time_s.ceiling, ceiling=first,
        to_next=terms[first] / terms[rest[0]] if rest else None, next=rest[0] if rest else None,
    )  # fmt: skip

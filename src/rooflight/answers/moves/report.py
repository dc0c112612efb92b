"""The answer of `moves`."""

from __future__ import annotations

from rooflight.answers.moves.combine import best_settings, combined
from rooflight.answers.moves.judge import NOTHING, judged, wanted
from rooflight.answers.moves.option import Asked
from rooflight.answers.moves.outcome import outcome
from rooflight.answers.moves.stories import stories
from rooflight.errors import BadInput, Named
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.span import Span
from rooflight.units import round_significant, scaled
from rooflight.values.moves import OBJECTIVES, Combined, Dot, Left, Move, Moves, Outcome
from rooflight.words.analysis import does_not_fit
from rooflight.words.notes import worded

_WORDS = {
    "throughput": "output tokens per second per accelerator",
    "latency": "a request's time",
    "ttft": "the time to first token",
    "cost": "the cost of a token",
}


def moves(sc: Scenario, objective: str = "throughput", asked: Asked | None = None) -> Moves:
    """Every move on a scenario, ranked. Raises BadInput for an objective that is none."""
    if objective not in OBJECTIVES:
        raise BadInput(
            f"moves are not ranked for {objective!r}",
            where=Named.of("objective"),
            got=objective,
            want="one of " + ", ".join(OBJECTIVES),
        )
    asked = asked or Asked()
    sc = changed(sc)  # a definite layout
    held = memory(sc)
    before = outcome(sc, asked.price(sc)) if held.fits or sc.deployment.ignore_capacity else None
    found = judged(sc, before, objective, asked)
    together = combined(sc, before, objective, asked)
    return Moves(
        answer=_answer(sc, before, objective, found, together),
        objective=objective,
        model=sc.model.id,
        accelerator=sc.devices,
        before=before,
        memory="" if held.fits else does_not_fit(sc, held),
        moves=tuple(found),
        combined=together,
        left=_left(before),
        stories=stories(sc, before, asked) if before is not None else (),
        assumptions=tuple(dict.fromkeys((*worded(sc.assumptions), *(words for one in found for words in one.assumed)))),
    )


def improved(sc: Scenario, objective: str = "throughput") -> Scenario | None:
    """The scenario with the best settings of the same machine; None where it does not fit or nothing helps."""
    sc = changed(sc)  # a definite layout
    if not memory(sc).fits:
        return None
    after, titles, _ = best_settings(sc, outcome(sc), objective, Asked())
    return after if titles else None


def _answer(sc: Scenario, before: Outcome | None, objective: str, found: list[Move], together: Combined | None) -> str:
    helps = [one for one in found if one.verdict == "helps" and one.of == "settings"]
    if before is None:
        said = does_not_fit(sc, memory(sc))
        fits = [one.title for one in found if one.verdict == "helps" and one.of != "model"]
        return f"{said} It would with {', or '.join(fits[:3])}." if fits else f"{said} No move tried makes it fit."
    what = _WORDS[objective]
    if not helps:
        return f"{sc.model.id} on {sc.devices}: no setting of the same machine improves {what}."
    best = helps[0]
    gain = wanted(best.gains or {}, objective)
    said = f"{sc.model.id} on {sc.devices}: {best.title} improves {what} {round_significant(gain.expected)}x"
    whole = None if together is None else wanted(together.gains, objective)
    if together is None or whole is None or whole.expected < gain.expected * (1 + NOTHING):
        return f"{said}{_slower(best.gains or {})}."
    more = f"together, {', '.join(together.titles)} make it {round_significant(whole.expected)}x"
    return f"{said}; {more}{_slower(together.gains)}."


def _slower(found: dict[str, Span]) -> str:
    """What a request pays for the gain, where it pays."""
    request = found["request"].expected
    return "" if request > 1 - NOTHING else f", with each request taking {round_significant(1 / request)} times as long"


def _left(before: Outcome | None) -> tuple[Left, ...]:
    """The largest gain left in each phase: down to its ceiling, and then to the next resource's."""
    if before is None:
        return ()
    return tuple(_left_of(name, dot) for name, dot in (("prefill", before.prefill), ("decode", before.decode)))


def _left_of(phase: str, dot: Dot) -> Left:
    terms = {name: seconds for name, seconds in dot.terms_s.items() if name != "launch" and seconds > 0}
    first, *rest = sorted(terms, key=lambda name: -terms[name])
    ceiling = dot.time_s.ceiling
    return Left(
        phase=phase, to_ceiling=dot.time_s.expected / ceiling, ceiling=f"{first}, {scaled(ceiling, 's')}",
        to_next=ceiling / terms[rest[0]] if rest else None,
        next=f"{rest[0]}, {scaled(terms[rest[0]], 's')}" if rest else None,
    )  # fmt: skip

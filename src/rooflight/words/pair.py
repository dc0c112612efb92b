"""Two scenarios in words: what the second gets in place of the first, expected first."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.pair import Found
from rooflight.answers.pair import Side as Numbers
from rooflight.span import Span
from rooflight.units import round_significant, scaled, several
from rooflight.values.pair import Pair, Quantity, Side
from rooflight.words.analysis import does_not_fit, too_big
from rooflight.words.quantities import bound_by

# What leads the sentence, the first that both have, and what is said of it.
_LEADS = {
    "tokens_per_s": "the run makes {times} tokens a second, {after} in place of {before} tok/s",
    "decode_tokens_per_s": "decode makes {times} tokens a second, {after} in place of {before} tok/s",
    "ttft_s": "the first token comes after {after} in place of {before}",
}
_SAID = {
    "tokens_per_s_per_user": "a user gets {after} tok/s in place of {before}",
    "ttft_s": "the first token comes after {after} in place of {before}",
    "usd_per_million_tokens": "a million tokens cost ${after} in place of ${before}",
}


def told(found: Found) -> Pair:
    """The answer, with its sentence."""
    before, after = _side(found.before), _side(found.after)
    return Pair(answer=_answer(found, before, after), before=before, after=after, quantities=found.quantities)


def _side(one: Numbers) -> Side:
    sc, held, got = one.scenario, one.held, one.outcome
    return Side(
        setting=f"{sc.model.id} on {sc.devices}",
        devices=sc.layout.devices if got is None else got.devices,
        batch=int(sc.workload.batch) if got is None else got.batch,
        max_batch=None if held is None else held.max_batch,
        fits=None if held is None else held.fits,
        reason=_reason(one),
        prefill_bound=None if got is None or got.prefill is None else got.prefill.bound,
        decode_bound=None if got is None or got.decode is None else got.decode.bound,
    )


def _reason(one: Numbers) -> str | None:
    """Why there are no numbers, or not all requests run at once."""
    if one.error is not None:
        return f"{one.error.what}."
    if one.held is None or one.held.whole:
        return None
    return f"{too_big(one.scenario, one.held)}." if one.outcome is not None else does_not_fit(one.scenario, one.held)


def _answer(found: Found, before: Side, after: Side) -> str:
    without = [("Before", before)] * (found.before.outcome is None) + [("After", after)] * (found.after.outcome is None)
    if without:
        return " ".join([*(f"{when}: {side.reason}" for when, side in without), *_alone(found)])
    named = {one.name: one for one in found.quantities if one.times is not None}
    lead = next((name for name in _LEADS if name in named), None)
    if lead is None:
        return "Nothing is known of both."
    said = [_worded(_LEADS[lead], named[lead]) + _at_the_ceilings(named[lead].times)]
    said += [_worded(text, named[name]) for name, text in _SAID.items() if name in named and name != lead]
    return " ".join([f"As expected, {'; '.join([*said, *_bounds(before, after)])}.", *_unlike(found)])


def _unlike(found: Found) -> Iterator[str]:
    """Why tokens or requests of the one are not those of the other."""
    one, other = found.before.scenario, found.after.scenario
    if one.checkpoint.id != other.checkpoint.id:
        yield f"Tokens are of different models: {one.model.id} before, {other.model.id} after."
    was, now = ((sc.workload.isl, sc.workload.osl) for sc in (one, other))
    if was != now:
        before = f"{several(was[0], 'token')} in and {was[1]:,} out before"
        yield f"Requests differ: {before}, {now[0]:,} and {now[1]:,} after."


def _alone(found: Found) -> Iterator[str]:
    """What the one that has numbers gets."""
    for when, side in (("Before", "before"), ("After", "after")):
        rates = ((one.name, getattr(one, side)) for one in found.quantities)
        rate = next((span for name, span in rates if name in _LEADS and name != "ttft_s" and span is not None), None)
        if rate is not None:
            yield f"{when}, {round_significant(rate.expected)} tok/s are expected."


def _worded(text: str, one: Quantity) -> str:
    def shown(span: Span | None) -> str:
        if span is None:
            return ""
        return (
            scaled(span.expected, "s")
            if one.name.endswith("_s") and one.less_is_better
            else round_significant(span.expected)
        )

    ratio = "" if one.times is None else round_significant(one.times.expected)
    times = "as many" if ratio == "1" else f"{ratio} times the"
    return text.format(times=times, before=shown(one.before), after=shown(one.after))


def _at_the_ceilings(times: Span | None) -> str:
    """The same at the ceilings, where that is another story."""
    if times is None:
        return ""
    ceiling = round_significant(times.ceiling)
    return "" if ceiling == round_significant(times.expected) else f" ({ceiling} times at the ceilings)"


def _bounds(before: Side, after: Side) -> Iterator[str]:
    """What binds each phase, before and after."""
    for phase in ("decode", "prefill"):
        was, now = (getattr(side, f"{phase}_bound") for side in (before, after))
        if was is None or now is None or (phase == "prefill" and was == now):
            continue
        yield f"{phase} is {bound_by(now)}{' as before' if was == now else f', {bound_by(was)} before'}"

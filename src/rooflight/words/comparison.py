"""A comparison in words: which deployment for this mix, and which rate decides."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rooflight.answers.compare.contenders import Contender
from rooflight.answers.compare.ranking import Ranked
from rooflight.answers.compare.report import Found
from rooflight.scenario.basis import basis_of
from rooflight.units import round_significant, scaled, several
from rooflight.values.comparison import OBJECTIVES, Compared, Comparison
from rooflight.values.mix import Mix
from rooflight.words.analysis import does_not_fit, too_big
from rooflight.words.basis import basis_clause, behind
from rooflight.words.notes import worded
from rooflight.words.quantities import bound_by
from rooflight.words.seen import FASTEST, measured_among

_BEST = {
    "throughput": "serves {model} fastest",
    "accelerator": "serves the most of {model} per accelerator",
    "latency": "serves each user of {model} fastest",
    "cost": "serves the most of {model} per dollar",
    "energy": "serves the most of {model} per joule at TDP",
}
# What may not be known of a deployment.
_UNKNOWN = {"cost": "price", "energy": "known TDP"}
# A rate is a reason where it differs by more.
_MATTERS = 1.02
# Mean tokens below which a fraction is shown.
_SHORT = 10


def told(found: Found) -> Comparison:
    """The documented answer to a comparison."""
    return Comparison(
        answer=_sentence(found),
        model=", ".join(found.models),
        objective=found.objective,
        mix=found.mix,
        baseline=found.baseline,
        winner=found.ranked[0].one.label if found.ranked else None,
        too_close=found.too_close,
        compared=tuple(
            msgspec.structs.replace(one, reason=_reason(row))
            for one, row in zip(found.compared, found.rows, strict=True)
        ),
        stretches=found.crossed.stretches,
        crossings=found.crossed.crossings,
        curves=found.crossed.curves,
        assumptions=worded(found.assumptions),
        warnings=worded(found.warnings),
        measured_or_absent=_measured(found) or msgspec.UNSET,
    )


def _served(found: Found) -> str:
    """What is served: the model, or, where they differ, the mix of requests alone."""
    return found.models[0] if len(found.models) == 1 else "the mix"


def _measured(found: Found) -> tuple[str, ...]:
    return measured_among(row.scenario.accelerator for row in found.rows if row.scenario is not None)


def _reason(row: Contender) -> str | None:
    """Why a deployment has no times; None where it fits."""
    if row.scenario is None or row.held is None:
        return row.error.what if row.error else None
    if row.held.most < 1 and not row.whole:
        return too_big(row.scenario, row.held)
    if row.error:
        return row.error.what
    return None if row.held.whole else too_big(row.scenario, row.held)


def _decodes(found: Found) -> list[str]:
    """What decode steps alone say of deployments whose prompts cannot be told, the fastest first."""
    told = [(one.decode, one) for one in found.compared if one.decode is not None and one.request is None]
    ranked = sorted(told, key=lambda pair: -pair[0].tokens_per_s.expected)
    seen = _measured(found)
    return [
        f"{one.label} takes {scaled(part.step_s.ceiling, 's')} a step "
        f"at {FASTEST if one.accelerator in seen else 'best'} and {scaled(part.step_s.expected, 's')} "
        f"as expected for {several(one.batch or 0, 'sequence')}"
        for part, one in ranked
    ]


def _sentence(found: Found) -> str:
    """Who wins by how much and why, if it can be told; or that nothing fits."""
    ranked, compared, objective = found.ranked, found.compared, found.objective
    if not ranked:
        return _none(found)
    winner = ranked[0].one
    mix = f"For {asked(found.mix)}{_load(winner, found)}"
    if found.too_close:
        return f"{mix}, {_too_close(found, winner)}{_at_the_ceilings(ranked, winner)}{_inferred(winner, found.rows)}."
    what = f"{mix}, {winner.label} {_BEST[objective].format(model=_served(found))}"
    if len(ranked) == 1:
        return f"{what}: {_alone(compared, objective)}; {_dominant(winner)}{_inferred(winner, found.rows)}."
    other = _other(found)
    gain = round_significant(ranked[0].expected / other.expected)
    second = other.one
    over = f"{gain} times {second.label}" if gain != "1" else f"though {second.label} is as good"
    why = f"{_why(winner, second, objective)}{_at_the_ceilings(ranked, winner)}{_inferred(winner, found.rows)}"
    return f"{what}, {over} as expected: {why}."


def _too_close(found: Found, winner: Compared) -> str:
    """The two best where the expected interval of one reaches into the other's: which is ahead, and why."""
    second = next(place for place in found.ranked if place.one.label == found.too_close[0])
    gain = round_significant(found.ranked[0].expected / second.expected)
    what = OBJECTIVES[found.objective] if found.mix.osl else "requests per second"
    ahead = f"the first gives {gain} times the {what} of the other"
    told = "both are as good" if gain == "1" else f"{ahead}, which is within their intervals"
    if gain == "1" and found.per_s is not None:
        told = "both finish what arrives"
    others = len(found.too_close) - 1
    more = f", and {others} more {'are' if others > 1 else 'is'} as near" if others else ""
    why = _why(winner, second.one, found.objective)
    if found.per_s is not None:
        why = f"a user waits {scaled(found.ranked[0].user_s, 's')} for a token against {scaled(second.user_s, 's')}"
    return (
        f"{winner.label} and {second.one.label} are too close to call for {_served(found)}{more}: as expected {told}; "
        f"{why}"
    )


def asked(mix: Mix) -> str:
    """The mix in words: 1,024 tokens in and 256 out, or those of a log."""
    sizes = f"{tokens(mix.isl)} token{'s' * (mix.isl != 1)} in and {tokens(mix.osl)} out"
    if mix.source is None:
        return sizes
    return f"{mix.requests:,} requests of {sizes} in the mean" if mix.requests > 1 else f"one request of {sizes}"


def tokens(mean: float) -> str:
    """A mean length: whole, but for short ones."""
    return f"{mean:,.0f}" if mean >= _SHORT or mean == int(mean) else round_significant(mean)


def _load(winner: Compared, found: Found) -> str:
    if found.per_s is not None:
        return f", {round_significant(found.per_s)} requests a second"
    if found.largest:
        return ", each at the largest batch that fits"
    alike = len({one.batch for one in found.compared if one.batch is not None}) == 1
    return f" at batch {winner.batch:,}" if alike else ", each with its own requests in flight"


def _other(found: Found) -> Ranked:
    """What the winner is measured against: the baseline, or the next best where that one wins."""
    ranked, named = found.ranked, (one for one in found.compared if one.label == found.baseline)
    first = next(place for one in (*named, *found.compared) for place in ranked if place.one is one)
    return ranked[1] if first is ranked[0] else first


def _alone(compared: Sequence[Compared], objective: str) -> str:
    if len(compared) == 1:
        return "nothing else is compared"
    if sum(one.request is not None for one in compared) > 1:
        return f"nothing else that fits has a {_UNKNOWN[objective]}"
    others = [one for one in compared if one.request is None]
    unrated = sum(one.decode is not None for one in others)
    if unrated:
        return f"of {unrated} other{'s' * (unrated > 1)} no compute peak is published, so that decode alone is told"
    late = any(one.fits is not False for one in others)
    return f"nothing else of the {len(compared)} {'keeps up' if late else 'fits'}"


def _inferred(winner: Compared, rows: Sequence[Contender]) -> str:
    """Where nothing was measured on the winner's card, whose measurements its expected times come from."""
    one = next(row for row in rows if row.label == winner.label).scenario
    return "" if one is None else behind(basis_clause(basis_of(one), one.deployment.engine))


def _none(found: Found) -> str:
    """Why nothing has times, or an amount of what decides."""
    rows, objective = found.rows, found.objective
    decodes = _decodes(found)
    if decodes and found.per_s is None and all(one.request is None for one in found.compared):
        lacking = next(one.error.what for one in rows if one.decodes and one.error)
        return f"{lacking}. Decode of {_served(found)} alone: {'; '.join(decodes)}."
    if any(one.request is not None for one in found.compared):
        return f"Nothing that fits has a {_UNKNOWN[objective]}, so nothing can be said of {OBJECTIVES[objective]}."
    untold = next((one.error.what for one in rows if one.decodes and one.error), None)
    if untold is not None and found.per_s is None:
        return f"{untold}; no step in which all decode is known of any either."
    held = ((one.scenario, one.held) for one in rows if not one.answers and not one.late)
    late = next((one.error.what for one in rows if one.late and one.error), None)
    why = next((does_not_fit(sc, memory) for sc, memory in held if sc is not None and memory is not None), None)
    if why is None and late is not None:
        return f"{late}." if len(rows) == 1 else f"None of the {len(rows)} deployments keeps up: {late}."
    if why is None:
        return f"{_served(found)} fits on none of the {len(rows)} deployments compared."
    return why if len(rows) == 1 else f"None of the {len(rows)} deployments holds it: {why}"


def _dominant(one: Compared) -> str:
    """The phase that takes most of its machine time, and what binds that; or how many wait for memory."""
    parts = (("prefill", one.prefill), ("decode", one.decode))
    name, part = max(parts, key=lambda pair: pair[1].share.expected if pair[1] and pair[1].share else 0)
    if one.decode is None and one.run is not None and one.run.waiting is not None:
        return f"{numbered(one.run.waiting)} of {one.batch:,} requests wait for room in its memory"
    if part is None or part.share is None:
        return ""
    return f"{name} is {percent(part.share.expected)} of its machine time and is {bound_by(part.bound)}"


def _why(winner: Compared, other: Compared, objective: str) -> str:
    """The phase in which most of the time is saved, what binds it, and the numbers that differ there."""
    if other.decode is None and other.run is not None and winner.run is not None:  # not all of them fit at once
        run = other.run
        if run.waiting is not None and (run.running or 0) < (winner.run.running or 0):
            told = _told(_circumstances(winner, other, objective))
            return f"{numbered(run.waiting)} of {other.batch:,} requests wait for room on {other.label}{told}"
    phases = {"prefill": (winner.prefill, other.prefill), "decode": (winner.decode, other.decode)}
    saved = {
        name: theirs.time_s.expected - ours.time_s.expected
        for name, (ours, theirs) in phases.items()
        if ours is not None and theirs is not None
    }
    name = max(saved, key=lambda name: saved[name], default="")
    ours, theirs = phases.get(name, (None, None))
    numbers = _circumstances(winner, other, objective)
    if ours is None or theirs is None or theirs.share is None or saved[name] <= 0:
        return f"{_dominant(winner)}{_told(numbers)}"
    told = _told([*_rates(winner, other, ours.bound), *numbers])
    share = percent(theirs.share.expected)
    bound = bound_by(ours.bound)
    if theirs.bound != ours.bound:
        bound = f"{bound_by(theirs.bound)} there and {bound} on {winner.label}"
    return f"{name}, {share} of the machine time on {other.label}, is {bound}{told}"


def _told(numbers: Sequence[str]) -> str:
    return f": {', '.join(numbers)}" if numbers else ""


def _rates(winner: Compared, other: Compared, bound: str) -> list[str]:
    """The rates of the resource that binds, where they differ."""
    ours, theirs = winner.hardware, other.hardware
    if ours is None or theirs is None:
        return []
    if bound == "memory" and differ(ours.memory_bytes_per_s, theirs.memory_bytes_per_s):
        return [f"{against(ours.memory_bytes_per_s, theirs.memory_bytes_per_s, 'B/s')} of memory"]
    if bound == "compute" and differ(ours.flop_per_s, theirs.flop_per_s):
        return [f"{against(ours.flop_per_s, theirs.flop_per_s, 'FLOP/s')} in {ours.format}"]
    return []


def _circumstances(winner: Compared, other: Compared, objective: str) -> list[str]:
    """What else differs and matters for the objective."""
    said = []
    if (winner.batch or 0) > (other.batch or 0):
        said.append(f"{winner.batch:,} sequences at once against {other.batch:,}")
    if winner.weights != other.weights:
        said.append(f"{winner.weights} weights against {other.weights}")
    if objective == "accelerator" and winner.devices != other.devices:
        said.append(f"{several(winner.devices, 'accelerator')} against {other.devices}")
    ours, theirs = winner.hardware, other.hardware
    if ours is None or theirs is None:
        return said
    if objective == "cost" and ours.price_usd_per_hour and theirs.price_usd_per_hour:
        said.append(f"${ours.price_usd_per_hour:.2f} an hour against ${theirs.price_usd_per_hour:.2f}")
    if objective == "energy" and ours.tdp_w and theirs.tdp_w:
        said.append(f"{ours.tdp_w:,.0f} W against {theirs.tdp_w:,.0f} W")
    return said


def numbered(requests: float) -> str:
    """A mean number of requests, as a count."""
    return f"{requests:,.0f}"


def percent(share: float) -> str:
    """70 %."""
    return f"{share:.0%}".replace("%", " %")


def differ(one: float, other: float) -> bool:
    """Whether two rates are far enough apart to be a reason."""
    return max(one, other) > _MATTERS * min(one, other)


def against(one: float, other: float, unit: str) -> str:
    """3.35 TB/s against 0.86 TB/s."""
    return f"{scaled(one, unit)} against {scaled(other, unit)}"


def _at_the_ceilings(ranked: Sequence[Ranked], winner: Compared) -> str:
    """Who would win at the ceilings, where it is another one."""
    first = max(ranked, key=lambda place: place.ceiling).one
    return "" if first is winner else f"; at the ceilings {first.label} would win"

"""The one sentence of a comparison: which deployment for this mix, and which rate decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rooflight.advise.contenders import Contender
from rooflight.serve.answer import does_not_fit
from rooflight.spec.comparison import Compared
from rooflight.spec.mix import Mix
from rooflight.units import round_significant, scaled

_BEST = {
    "throughput": "serves {model} fastest",
    "accelerator": "serves the most of {model} per accelerator",
    "latency": "serves each user of {model} fastest",
    "cost": "serves the most of {model} per dollar",
    "energy": "serves the most of {model} per joule at TDP",
}
# A rate is a reason where it differs by more.
_MATTERS = 1.02


class Ranked(NamedTuple):
    """A deployment with how much of the objective it gives, as expected and at its ceilings."""

    expected: float
    ceiling: float
    one: Compared


def sentence(
    model: str, rows: Sequence[Contender], compared: Sequence[Compared], ranked: Sequence[Ranked],
    mix: Mix, objective: str,
) -> str:  # fmt: skip
    """Who wins by how much and why; or that nothing fits. `ranked`: those with times, the best first."""
    if not ranked:
        return _none(model, rows)
    winner = ranked[0].one
    what = f"For {asked(mix)}{_batch(winner)}, {winner.label} {_BEST[objective].format(model=model)}"
    if len(ranked) == 1:
        only = f": nothing else of the {len(compared)} fits" if len(compared) > 1 else ": nothing else is compared"
        return f"{what}{only}; {_dominant(winner)}."
    other = _other(ranked, compared)
    gain = round_significant(ranked[0].expected / other.expected)
    second = other.one
    ceilings = _at_the_ceilings(ranked, winner)
    over = f"{gain} times {second.label}" if gain != "1" else f"though {second.label} is as good"
    return f"{what}, {over} as expected: {_dominant(winner)}{_why(winner, second, objective)}{ceilings}."


def asked(mix: Mix) -> str:
    """The mix in words: 1,024 tokens in and 256 out, or those of a log."""
    sizes = f"{mix.isl:,.0f} tokens in and {mix.osl:,.0f} out"
    return sizes if mix.source is None else f"{mix.requests:,} requests of {sizes} in the mean"


def _batch(winner: Compared) -> str:
    return f" at batch {winner.batch:,}" if winner.batch else ""


def _other(ranked: Sequence[Ranked], compared: Sequence[Compared]) -> Ranked:
    """What the winner is measured against: the first named one with times, or the next best where that one wins."""
    first = next(place for one in compared for place in ranked if place.one is one)
    return ranked[1] if first is ranked[0] else first


def _none(model: str, rows: Sequence[Contender]) -> str:
    told = next((one for one in rows if one.scenario is not None and one.held is not None), None)
    if told is None or told.scenario is None or told.held is None:
        return f"{model} fits on none of the {len(rows)} deployments compared."
    if len(rows) == 1:
        return does_not_fit(told.scenario, told.held)
    return f"None of the {len(rows)} deployments holds it: {does_not_fit(told.scenario, told.held)}"


def _dominant(one: Compared) -> str:
    """The phase that takes most of its machine time, and what binds that."""
    name, part = max(
        (("prefill", one.prefill), ("decode", one.decode)), key=lambda pair: pair[1].share.expected if pair[1] else 0
    )
    if part is None:
        return ""
    share = f"{part.share.expected:.0%}".replace("%", " %")
    return f"{name} is {share} of its machine time and is {part.bound}-bound"


def _why(winner: Compared, other: Compared, objective: str) -> str:
    """The rates behind it: of the resource that binds the winner's larger phase; batch, devices and price beside."""
    if winner.hardware is None or other.hardware is None or winner.prefill is None or winner.decode is None:
        return ""
    larger = winner.prefill if winner.prefill.share.expected > winner.decode.share.expected else winner.decode
    ours, theirs = winner.hardware, other.hardware
    said = []
    if larger.bound == "memory" and _differ(ours.memory_bytes_per_s, theirs.memory_bytes_per_s):
        said.append(f"{_against(ours.memory_bytes_per_s, theirs.memory_bytes_per_s, 'B/s')} of memory")
    elif larger.bound == "compute" and _differ(ours.flop_per_s, theirs.flop_per_s):
        said.append(f"{_against(ours.flop_per_s, theirs.flop_per_s, 'FLOP/s')} in {ours.format}")
    if winner.batch != other.batch:
        said.append(f"{winner.batch:,} sequences at once against {other.batch:,}")
    if objective == "accelerator" and winner.devices != other.devices:
        said.append(f"{winner.devices} accelerators against {other.devices}")
    if objective == "cost" and ours.price_usd_per_hour and theirs.price_usd_per_hour:
        said.append(f"${ours.price_usd_per_hour:.2f} an hour against ${theirs.price_usd_per_hour:.2f}")
    if objective == "energy" and ours.tdp_w and theirs.tdp_w:
        said.append(f"{ours.tdp_w:,.0f} W against {theirs.tdp_w:,.0f}")
    return f" ({', '.join(said)})" if said else ""


def _differ(one: float, other: float) -> bool:
    return max(one, other) > _MATTERS * min(one, other)


def _against(one: float, other: float, unit: str) -> str:
    return f"{scaled(one, unit)} against {scaled(other, unit)}"


def _at_the_ceilings(ranked: Sequence[Ranked], winner: Compared) -> str:
    """Who would win at the ceilings, where it is another one."""
    first = max(ranked, key=lambda place: place.ceiling).one
    return "" if first is winner else f"; at the ceilings {first.label} would win"

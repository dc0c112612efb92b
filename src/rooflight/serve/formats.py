"""The formats that a step's arithmetic runs in, and the intensity of steps that memory has no room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rooflight.roofline.rates import hardware_format
from rooflight.scenario.definite import Scenario
from rooflight.scenario.pools import prompts_on
from rooflight.scenario.unlike import rates_for
from rooflight.serve import phases
from rooflight.values.analysis import Intensity, Phase


def intensities(sc: Scenario, shown: Mapping[str, Phase | None], whole: bool) -> dict[str, Intensity]:
    """What the steps would do that memory alone has no room for: a roof is that of the formats they would run in."""
    steps: dict[str, Callable[[Scenario], phases.PhaseTime]] = {}
    if not sc.unrated:
        steps["prefill"] = lambda one: phases.prefill(one, bounds_only=True)
    if sc.workload.osl and not whole:
        steps["decode"] = lambda one: phases.decode(one, bounds_only=True)
    return {
        name: _intensity(prompts_on(sc) if name == "prefill" else sc, step(sc))
        for name, step in steps.items()
        if shown.get(name) is None
    }


def _intensity(sc: Scenario, phase: phases.PhaseTime) -> Intensity:
    work = phase.work
    return Intensity(
        flop=work.flop,
        flop_by_format=by_format(sc, phase),
        intensity_flop_per_byte=work.flop / work.moved_bytes,
        ridge_flop_per_byte=phases.ridge(sc, phase.time),
    )


def by_format(sc: Scenario, phase: phases.PhaseTime) -> dict[str, float]:
    """FLOP by the format that the hardware does them in, all devices."""
    found: dict[str, float] = {}
    for row in phase.time.operators:
        op = row.operator
        if op.work.flop:
            used = hardware_format(rates_for(sc.rates, op.name).accelerator, op.compute)
            found[used] = found.get(used, 0.0) + op.work.flop * op.count * phase.copies(op)
    return found

"""The one sentence a colleague could repeat."""

from __future__ import annotations

from rooflight.errors import BadInput, MissingFact
from rooflight.scenario.definite import Scenario, context_tokens, scenario
from rooflight.serve.memory import memory
from rooflight.units import round_significant, scaled
from rooflight.values.analysis import MemoryBlock, Phase
from rooflight.values.deployment import Deployment
from rooflight.values.workload import Workload

_WORDS = {
    "compute": "compute-bound",
    "memory": "memory-bound",
    "link": "link-bound",
    "launch": "launch-bound",
}
_NARROWER = ("fp8", "int4-g128")


def answer(sc: Scenario, phases: dict[str, Phase] | None, held: MemoryBlock) -> str:
    """Which ceiling binds each phase and the fastest it can go; or that it does not fit, because."""
    if phases is None:
        return does_not_fit(sc, held)
    decode, prefill = phases["decode"], phases["prefill"]
    fit = "" if held.fits else f"{does_not_fit(sc, held)} Ignoring that: "
    rate, user = decode.tokens_per_s.ceiling, decode.time_s.ceiling
    load = sc.workload
    together = f"{round_significant(rate)} tok/s together"
    crowd = "" if load.batch == 1 else f" for each of {load.batch:,} sequences ({together})"
    return (
        f"{fit}{sc.model.id} ({weights_of(sc)} weights) on {where(sc)}: decode at {context_tokens(load):,} tokens of "
        f"context is {_WORDS[decode.bound]}, at best {scaled(user, 's')} a token ({round_significant(1 / user)} tok/s)"
        f"{crowd}{_launches(decode)}; prefill of {_prompts(load)} is {_WORDS[prefill.bound]}, at best "
        f"{scaled(prefill.time_s.ceiling, 's')}{_launches(prefill)}{_others(sc, phases)}."
    )


def weights_of(sc: Scenario) -> str:
    """The format the weights are kept in."""
    return sc.numbers.weights.id if sc.numbers.weights is not None else sc.model.quantization or sc.model.dtype


def _others(sc: Scenario, phases: dict[str, Phase]) -> str:
    """Verify and mixed steps, where they were asked for."""
    load, said = sc.workload, ""
    if "verify" in phases:
        best = scaled(phases["verify"].time_s.ceiling, "s")
        said += f"; verifying {load.draft_tokens} drafted tokens a sequence takes {best} at best"
    if "mixed" in phases:
        best = scaled(phases["mixed"].time_s.ceiling, "s")
        said += f"; a decode step with {load.chunk_tokens:,} prompt tokens beside it takes {best} at best"
    return said


def _launches(phase: Phase) -> str:
    """Where launching binds: how long it takes, since the ceiling leaves it out (kernels can be fused)."""
    if phase.bound != "launch":
        return ""
    spent = scaled(phase.ceilings_s.launch, "s")
    return f" if all its kernels were fused, while launching {phase.launches:,.0f} of them takes {spent}"


def _prompts(load: Workload) -> str:
    new = load.isl - load.cached_prefix
    words = f"{new:,} tokens" if new == load.isl else f"{new:,} new of {load.isl:,} tokens"
    return words if load.prefill_batch == 1 else f"{load.prefill_batch:,} x {words}"


def where(sc: Scenario) -> str:
    """The devices by name: `4 x h100-sxm`."""
    return sc.accelerator.id if sc.layout.devices == 1 else f"{sc.layout.devices} x {sc.accelerator.id}"


def does_not_fit(sc: Scenario, held: MemoryBlock) -> str:
    """Why it does not fit, and what would: more devices, or a narrower format."""
    return f"{too_big(sc, held)}. {_remedy(sc)}"


def too_big(sc: Scenario, held: MemoryBlock) -> str:
    """Why it does not fit: what is needed, what there is, and which part is too much."""
    allowed = held.usable_bytes - held.withheld_bytes
    needed = held.weights_bytes + held.kv_bytes + held.activation_bytes + held.engine_bytes
    if held.max_batch >= 1:
        cause = f"of {sc.workload.batch:,} sequences at most {held.max_batch:,} fit"
    elif held.weights_bytes < allowed:
        cause = f"the weights, {scaled(held.weights_bytes, 'B')}, leave no room for a sequence of that length"
    else:
        cause = f"the weights alone are {scaled(held.weights_bytes, 'B')}"
    return (
        f"{sc.model.id} does not fit on {where(sc)}: it needs {scaled(needed, 'B')}, an engine may use "
        f"{scaled(allowed, 'B')}; {cause}"
    )


def _remedy(sc: Scenario) -> str:
    """What would hold the scenario: another layout of these devices, more of them, a narrower format."""
    said = []
    try:
        found = _layout_that_holds(sc)
        said.append(_spelled(sc, found) if found else f"No layout of up to 1,024 {sc.accelerator.id} holds it")
    except MissingFact:
        said.append(
            f"How many {sc.accelerator.id} would hold it cannot be told: nothing is known of a link between them"
        )
    if sc.deployment.weights is None:
        fits = (form for form in _NARROWER if _holds(sc, weights=form))
        said += [f"--weights {form} would fit on {where(sc)}" for form in (next(fits, None),) if form]
    return "; ".join(said) + "."


def _spelled(sc: Scenario, layout: dict[str, int]) -> str:
    devices = layout["tp"] * layout["pp"] * layout["dp"]
    degrees = " ".join(f"--{name} {degree}" for name, degree in layout.items() if degree > 1 or name == "tp")
    return f"{devices} x {sc.accelerator.id} would hold it with {degrees}"


def _layout_that_holds(sc: Scenario) -> dict[str, int] | None:
    """The layout of fewest devices that holds the scenario; raises MissingFact where devices cannot be joined."""
    here = sc.layout
    layouts = [
        {"tp": tp, "pp": pp, "dp": here.dp, "ep": here.ep}
        for tp in (1, 2, 4, 8, 16)
        for pp in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
    ]
    if any(layer.experts is not None for layer in sc.model.layers):
        layouts += [{"tp": 1, "pp": 1, "dp": n, "ep": n} for n in (2, 4, 8, 16, 32, 64, 128)]
    layouts.sort(key=lambda way: (way["tp"] * way["pp"] * way["dp"], way["pp"], way["dp"]))
    same = {"tp": here.tp, "pp": here.pp, "dp": here.dp, "ep": here.ep}
    enough = (way for way in layouts if way != same and way["tp"] * way["pp"] * way["dp"] >= here.devices)
    return next((way for way in enough if _holds(sc, **way)), None)


def _holds(sc: Scenario, **changes: object) -> bool:
    changed = _with(sc, **changes)
    return changed is not None and memory(changed).fits


def _with(sc: Scenario, **changes: object) -> Scenario | None:
    """The scenario with another deployment, None where that cannot be laid out. Raises MissingFact."""
    fields = {name: getattr(sc.deployment, name) for name in sc.deployment.__struct_fields__}
    fields["tp"], fields["pp"] = sc.layout.tp, sc.layout.pp
    try:
        return scenario(sc.model, sc.accelerator, None, sc.workload, Deployment(**{**fields, **changes}))
    except BadInput:
        return None

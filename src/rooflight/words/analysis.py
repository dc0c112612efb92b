"""An analysis in words: the one sentence a colleague could repeat, and what was taken for granted."""

from __future__ import annotations

import msgspec

from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve.analyze import analyze
from rooflight.serve.remedy import remedy
from rooflight.units import round_significant, scaled
from rooflight.values.analysis import Analysis, MemoryBlock, Phase
from rooflight.values.workload import Workload
from rooflight.words.notes import worded
from rooflight.work.layout import Layout

_WORDS = {
    "compute": "compute-bound",
    "memory": "memory-bound",
    "link": "link-bound",
    "launch": "launch-bound",
}


def analyzed(sc: Scenario, *, serving: bool = True) -> Analysis:
    """The documented answer to a scenario: serve.analyze's numbers with their words."""
    found = analyze(sc, serving=serving)
    return msgspec.structs.replace(
        found,
        answer=answer(sc, found.phases, found.memory),
        assumptions=worded(sc.assumptions),
        warnings=worded(sc.warnings),
    )


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
        f"{fit}{sc.model.id} ({sc.weights} weights) on {sc.devices}: decode at {context_tokens(load):,} tokens of "
        f"context is {_WORDS[decode.bound]}, at best {scaled(user, 's')} a token ({round_significant(1 / user)} tok/s)"
        f"{crowd}{_launches(decode)}; prefill of {_prompts(load)} is {_WORDS[prefill.bound]}, at best "
        f"{scaled(prefill.time_s.ceiling, 's')}{_launches(prefill)}{_others(sc, phases)}."
    )


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


def does_not_fit(sc: Scenario, held: MemoryBlock) -> str:
    """Why it does not fit, and what would: more devices, or a narrower format."""
    return f"{too_big(sc, held)}. {_remedies(sc)}"


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
        f"{sc.model.id} does not fit on {sc.devices}: it needs {scaled(needed, 'B')}, an engine may use "
        f"{scaled(allowed, 'B')}; {cause}"
    )


def _remedies(sc: Scenario) -> str:
    """What would hold the scenario: another layout of these devices, more of them, a narrower format."""
    found = remedy(sc)
    if found.unjoined:
        said = [f"How many {sc.accelerator.id} would hold it cannot be told: nothing is known of a link between them"]
    elif found.layout is None:
        said = [f"No layout of up to 1,024 {sc.accelerator.id} holds it"]
    else:
        said = [_spelled(sc, found.layout)]
    said += [f"--weights {found.weights} would fit on {sc.devices}"] if found.weights else []
    return "; ".join(said) + "."


def _spelled(sc: Scenario, layout: Layout) -> str:
    degrees = {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "ep": layout.ep}
    options = " ".join(f"--{name} {degree}" for name, degree in degrees.items() if degree > 1 or name == "tp")
    return f"{layout.devices} x {sc.accelerator.id} would hold it with {options}"

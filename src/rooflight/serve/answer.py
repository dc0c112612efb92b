"""The one sentence a colleague could repeat."""

from __future__ import annotations

from rooflight.errors import BadInput, MissingFact
from rooflight.serve.memory import memory
from rooflight.serve.scenario import Scenario, scenario
from rooflight.spec.analysis import MemoryBlock, Phase
from rooflight.spec.deployment import Deployment
from rooflight.units import round_significant, scaled

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
        f"{fit}{sc.model.id} on {where(sc)}: decode is {_WORDS[decode.bound]}, at best {scaled(user, 's')} a token "
        f"({round_significant(1 / user)} tok/s){crowd}{_launches(decode)}; prefill of "
        f"{_prompts(load.prefill_batch, load.isl)} is {_WORDS[prefill.bound]}, at best "
        f"{scaled(prefill.time_s.ceiling, 's')}{_launches(prefill)}."
    )


def _launches(phase: Phase) -> str:
    """Where launching binds: how long it takes, since the ceiling leaves it out (kernels can be fused)."""
    if phase.bound != "launch":
        return ""
    spent = scaled(phase.ceilings_s.launch, "s")
    return f" if all its kernels were fused, while launching {phase.launches:,.0f} of them takes {spent}"


def _prompts(prompts: int, isl: int) -> str:
    return f"{isl:,} tokens" if prompts == 1 else f"{prompts:,} x {isl:,} tokens"


def where(sc: Scenario) -> str:
    """The devices by name: `4 x h100-sxm`."""
    return sc.accelerator.id if sc.layout.devices == 1 else f"{sc.layout.devices} x {sc.accelerator.id}"


def does_not_fit(sc: Scenario, held: MemoryBlock) -> str:
    """Why it does not fit, and what would: more devices, or a narrower format."""
    allowed = held.usable_bytes - held.withheld_bytes
    needed = held.weights_bytes + held.kv_bytes + held.activation_bytes + held.engine_bytes
    if held.max_batch >= 1:
        cause = f"the KV cache of {sc.workload.batch:,} sequences does not: at most {held.max_batch:,} fit"
    else:
        cause = f"weights alone are {scaled(held.weights_bytes, 'B')}"
    return (
        f"{sc.model.id} does not fit on {where(sc)}: it needs {scaled(needed, 'B')} of the "
        f"{scaled(allowed, 'B')} an engine may use there; {cause}. {_remedy(sc)}"
    )


def _remedy(sc: Scenario) -> str:
    """The smallest number of cards, and the first narrower format, that would hold the scenario."""
    said = []
    try:
        cards = _cards_needed(sc)
        said.append(
            f"{cards} x {sc.accelerator.id} would hold it" if cards else "No layout of up to 1,024 cards holds it"
        )
    except MissingFact:
        said.append(
            f"How many {sc.accelerator.id} would hold it cannot be told: nothing is known of a link between them"
        )
    if sc.deployment.weights is None:
        for form in _NARROWER:
            narrower = _with(sc, weights=form)
            if narrower is not None and memory(narrower).fits:
                said.append(
                    f"so would --weights {form} on {where(sc)}"
                    if "would hold" in said[0]
                    else f"--weights {form} would fit"
                )
                break
    return "; ".join(said) + "."


def _cards_needed(sc: Scenario) -> int | None:
    """The smallest tp x pp that holds the scenario, tp in powers of two as far as the heads divide."""
    best = None
    for tp in (1, 2, 4, 8, 16):
        for pp in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64):
            if tp * pp <= sc.layout.tp * sc.layout.pp or (best is not None and tp * pp >= best):
                continue
            wider = _with(sc, tp=tp, pp=pp)
            if wider is not None and memory(wider).fits:
                best = tp * pp
    return None if best is None else best * sc.layout.dp


def _with(sc: Scenario, **changes: object) -> Scenario | None:
    """The scenario with another deployment, None where that cannot be laid out. Raises MissingFact."""
    fields = {name: getattr(sc.deployment, name) for name in sc.deployment.__struct_fields__}
    fields["tp"], fields["pp"] = sc.layout.tp, sc.layout.pp
    try:
        return scenario(sc.model, sc.accelerator, None, sc.workload, Deployment(**{**fields, **changes}))
    except BadInput:
        return None

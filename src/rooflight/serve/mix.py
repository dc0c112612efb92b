"""A mix of requests on a scenario: machine seconds of a request in prefill and in decode."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from rooflight.numeric import Number, largest_of
from rooflight.scenario.definite import Scenario
from rooflight.serve import formulas, phases
from rooflight.serve.phases import PhaseTime
from rooflight.span import Span
from rooflight.values.mix import Lengths, Mix, Requests

# Places of a request's decode steps that stand for all of them, where a step is no straight line of its context.
_PLACES = 64
# Of many requests each gets fewer, and places near each other are taken together.
_FEW_PLACES = 4
_FEW_REQUESTS = 16
_BINS = 64

Array = np.ndarray[Any, Any]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A phase of a mix: its mean step, and how many of those steps a request takes; every number may be an array.

    step            ceiling, roofline and expected seconds of the step
    steps, sharers  steps of a request, and the requests that share each
    compute_s ... launch_s      what each resource alone takes of a step at its ceiling; weights_s: reading weights
    bound           index into values.steptime.BOUNDS of the largest
    time            of the steps, as the phase gives them
    """

    step: Span
    steps: Number
    sharers: Number
    compute_s: Number
    memory_s: Number
    link_s: Number
    launch_s: Number
    weights_s: Number
    bound: Number
    time: PhaseTime

    @property
    def span(self) -> Span:
        """Machine seconds of a request."""
        return self.step.each(self.of_request)

    def of_request(self, step_s: Number) -> Number:
        """A request's part of what its steps take."""
        return formulas.machine_s(step_s, self.steps, self.sharers)


def single(*, isl: int, osl: int, cached: int = 0) -> Requests:
    """One kind of request."""
    return Requests(isl=np.array([float(isl)]), osl=np.array([float(osl)]), cached=np.array([float(cached)]))


def summary(requests: Requests, *, source: str | None = None, bad_rows: int = 0) -> Mix:
    """The mix in numbers. Requests are met in a decode batch as often as they have decode steps."""
    isl, osl, cached = requests.isl, requests.osl, requests.cached
    steps = formulas.decode_steps(osl)
    met = steps / steps.sum() if steps.any() else np.full(len(steps), 1 / len(steps))
    mean_isl, mean_osl = float(isl.mean()), float(osl.mean())
    return Mix(
        source=source,
        requests=len(isl),
        bad_rows=bad_rows,
        isl=mean_isl,
        osl=mean_osl,
        cached_prefix=float(cached.mean()),
        decode_steps=float(steps.mean()),
        context=float((met * formulas.mean_context_tokens(isl, steps)).sum()),
        batch_isl=_up((met * isl).sum()),
        batch_osl=_up((met * osl).sum()),
        longest=int((isl + osl).max()),
        ratio=mean_isl / mean_osl if mean_osl else None,
    )


def _up(value: float) -> int:
    """The whole number at or above, a float's last bits aside."""
    return int(np.ceil(round(float(value), 6)))


def lengths(requests: Requests, mix: Mix, *, bends: bool) -> Lengths:
    """What the phases depend on: every prompt that differs, and the places of the decode steps.

    Where a step's resources are straight lines of the context, its mean place stands for all; where layers bend them
    (windows, chunks), some dozens do.
    """
    isl, cached, counts = _kinds(requests)
    places, weights = _places(requests) if bends else (np.array([mix.context]), np.ones(1))
    return Lengths(
        isl=isl,
        cached=cached,
        prompt_share=counts / counts.sum(),
        contexts=places,
        context_share=weights,
        osl=np.array(mix.osl),
        steps=np.array(mix.decode_steps),
    )


def _kinds(requests: Requests) -> tuple[Array, Array, Array]:
    """(isl, cached, how many) of the prompts that differ."""
    if not requests.cached.any():
        isl, counts = np.unique(requests.isl, return_counts=True)
        return isl, np.zeros(1), counts
    pairs = np.stack([requests.isl, requests.cached])
    kinds, counts = np.unique(pairs, axis=1, return_counts=True)
    return kinds[0], kinds[1], counts


def _places(requests: Requests) -> tuple[Array, Array]:
    """Contexts of decode steps with the share of the steps at each, neighbours taken together."""
    kinds, counts = np.unique(np.stack([requests.isl, requests.osl]), axis=1, return_counts=True)
    isl, steps = kinds[0], formulas.decode_steps(kinds[1])
    each = _PLACES if len(steps) <= _FEW_REQUESTS else _FEW_PLACES
    contexts = _spread(isl, steps, each).ravel()
    weights = np.repeat(counts * steps if steps.any() else counts, each).astype(float)
    order = np.argsort(contexts)
    contexts, weights = contexts[order], weights[order] / weights.sum()
    if len(contexts) <= _FEW_REQUESTS * _PLACES:
        return contexts, weights
    bins = np.minimum((np.cumsum(weights) * _BINS).astype(int), _BINS - 1)
    held = np.bincount(bins, weights, _BINS)
    means = np.bincount(bins, weights * contexts, _BINS)
    return means[held > 0] / held[held > 0], held[held > 0]


def _spread(isl: Array, steps: Array, places: int) -> Array:
    """`places` contexts evenly within each request's decode steps, along a new last axis."""
    middles = (np.arange(places) + 0.5) / places
    spread: Array = np.maximum(isl[..., None] + steps[..., None] * middles - 0.5, 0)
    return spread


def at_ratios(mix: Mix, ratios: Array, *, bends: bool) -> Lengths:
    """Requests of the mix's mean total tokens, cut into input and output at each ratio; the cached share kept."""
    isl = formulas.input_tokens(mix.isl + mix.osl, ratios)
    osl = mix.isl + mix.osl - isl
    steps = formulas.decode_steps(osl)
    contexts = _spread(isl, steps, _PLACES) if bends else formulas.mean_context_tokens(isl, steps)[..., None]
    return Lengths(
        isl=isl[..., None],
        cached=(isl * mix.cached_prefix / mix.isl)[..., None],
        prompt_share=np.ones(1),
        contexts=contexts,
        context_share=np.full(contexts.shape[-1], 1 / contexts.shape[-1]),
        osl=osl,
        steps=steps,
    )


def prompts_together(sc: Scenario) -> int:
    """Prompts of one prefill: as asked, and at least one a replica, for a replica without one would stand idle."""
    return max(int(sc.workload.prefill_batch), sc.layout.dp)


def prefill_part(sc: Scenario, mix: Lengths) -> Part:
    """The prefill of a prompt, in the mean over the prompts."""
    prompts = prompts_together(sc)
    phase = phases.prefill(sc, isl=mix.isl, prompts=prompts, cached_prefix=mix.cached)
    return _part(sc, phase, mix.prompt_share, steps=1, sharers=prompts)


def decode_part(sc: Scenario, mix: Lengths) -> Part:
    """A decode step of the batch; a request takes its steps, each shared by all sequences in it.

    Requests of all lengths are in a batch at once, so resources are averaged over the places before the largest is
    taken: the ceiling stays one.
    """
    batch = float(sc.workload.batch)
    phase = phases.decode(sc, batch=batch, context=mix.contexts)
    part = _part(sc, phase, mix.context_share, steps=mix.steps, sharers=batch)
    least = np.maximum(np.maximum(part.compute_s, part.memory_s), part.link_s)
    return msgspec.structs.replace(part, step=msgspec.structs.replace(part.step, ceiling=least))


def _part(sc: Scenario, phase: PhaseTime, share: Array, *, steps: Number, sharers: Number) -> Part:
    """A step's numbers averaged over the last axis."""

    def mean(values: Any) -> Array:
        summed: Array = (np.asarray(values) * share).sum(axis=-1)
        return summed

    time = phase.time
    weights = np.minimum(phase.time.work.weight_bytes / sc.rates.memory_bytes_per_s, time.memory_s)
    parts = [mean(values) for values in (time.compute_s, time.memory_s, time.link_s, time.launch_s)]
    return Part(
        step=phase.span.each(mean),
        steps=steps,
        sharers=sharers,
        compute_s=parts[0],
        memory_s=parts[1],
        link_s=parts[2],
        launch_s=parts[3],
        weights_s=mean(weights),
        bound=largest_of(*parts)[1],
        time=phase,
    )

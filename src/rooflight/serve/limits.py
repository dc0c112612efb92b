"""What no schedule beats: sums of one resource over a run, any overlap of prefill and decode allowed."""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number, clipped, is_plain, maximum, minimum, where
from rooflight.roofline.formulas import CACHE_REUSE_LIMIT, largest
from rooflight.roofline.rates import Rates
from rooflight.scenario.definite import Scenario
from rooflight.serve.drafted import draft_steps
from rooflight.serve.replica import NO_STEPS, Replica
from rooflight.values.steptime import StepTime


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Ceilings of a run; every number may be an array.

    first_s     one prompt's prefill alone; token_s: a token of one sequence alone, in the mean over its contexts
    lone_s      a request alone; request_s: a request in a run in which all its users are served in that time
    """

    first_s: Number
    token_s: Number
    lone_s: Number
    request_s: Number


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of each resource for all users' requests, and lone_s of one request alone; they add up.

    host_memory_s   of what lies in the host's memory; nothing where nothing does
    """

    compute_s: Number
    memory_s: Number
    link_s: Number
    lone_s: Number
    host_memory_s: Number = 0.0

    def __add__(self, other: Sums) -> Sums:
        return Sums(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})

    @property
    def request_s(self) -> Number:
        """The least a request takes in a run in which all are served meanwhile."""
        return largest(self.compute_s, self.memory_s, self.link_s, self.lone_s, self.host_memory_s)

    @property
    def terms(self) -> dict[str, Number]:
        """Seconds by resource."""
        found = {"compute": self.compute_s, "memory": self.memory_s, "link": self.link_s}
        return {**found, "host_memory": self.host_memory_s}


def limits(one: Replica) -> Limits:
    """The ceilings of a run of a pass's users.

    request_s = max(t_1 + N s_1, K, Q, L): t_1, s_1 as in Limits; K = FLOP of all users' requests / peak; Q = bytes of N
    reads of the weights (each less the step's cache credit, routing at its narrowest) and of all users' KV cache, over
    bandwidth, or of more reads for fewer users each where the caches then hold more; L = link bytes of all / link rate.
    A pipeline's stages work at once, so their passes share each sum. A named draft's steps count in each; without one
    drafting is free. Where something lies in the host's memory, its bytes are a sum of their own, and of the arithmetic
    only what no way of running it takes off the devices counts.
    Leaves out: activations of prompts, which chunks of them keep on chip; of a first token, the prompt's pass of a
    draft, which may come after it.
    """
    prompts, steps = prompt_sums(one), decode_sums(one)
    both = prompts + steps
    return Limits(
        first_s=prompts.lone_s, token_s=least_token_s(one), lone_s=both.lone_s, request_s=both.request_s,
    )  # fmt: skip


def least_token_s(one: Replica) -> Number:
    """A token of one sequence alone: its step and the draft steps before that, by the tokens that these give."""
    drafts = (count * one.draft_bounds(sc, 1, None).ceiling_s for sc, count in draft_steps(one.sc, one.drafted))
    return (one.bounds(1, None).ceiling_s + sum(drafts)) / one.each


def prompt_sums(one: Replica) -> Sums:
    """Of the users' prompts: their KV cache moves, weights may be read beside decode steps."""
    stages, users = one.sc.layout.pp, one.users * one.passes
    step = one.bounds(None, one.prompt, overlap=1 / stages)
    found = _prompt_sums(step, one.sc.rates, users, stages, step.ceiling_s)
    for sc, _ in draft_steps(one.sc, one.drafted)[:1]:
        step = one.draft_bounds(sc, None, one.prompt, overlap=1 / stages)
        found = found + _prompt_sums(step, sc.rates, users, stages, 0.0)
    return found


def _prompt_sums(step: StepTime, rates: Rates, users: Number, stages: int, lone_s: Number) -> Sums:
    cache_bytes = step.work.kv_read_bytes + step.work.kv_write_bytes
    return Sums(
        compute_s=users * _compute_s(step),
        memory_s=users * cache_bytes / (rates.fast_memory_bytes_per_s * stages),
        link_s=users * step.link_s,
        lone_s=lone_s,
    )


def decode_sums(one: Replica) -> Sums:
    """Of the users' decode steps, all of them sharing each, or as many as a stated limit lets run at once."""
    users = one.users * one.passes
    cap = one.sc.deployment.max_num_seqs
    shared = users if cap is None else minimum(users, cap)
    # a lone question comes to these steps again, and asks for more of them
    bounds_only = not is_plain(shared) or one.busy != 1
    alone, together = (one.bounds(count, None, bounds_only=bounds_only) for count in (1, shared))
    steps = where(one.steps > NO_STEPS, one.steps, 0.0)
    found = _decode_sums(alone, together, one.sc, users, shared, steps)
    for sc, count in draft_steps(one.sc, one.drafted):
        alone, together = (one.draft_bounds(sc, size, None) for size in (1, shared))
        found = found + _decode_sums(alone, together, sc, users, shared, steps * count)
    return found


def _decode_sums(
    alone: StepTime, together: StepTime, sc: Scenario, users: Number, shared: Number, steps: Number
) -> Sums:
    """So many steps of one scenario, each by one sequence alone and by those that share it."""
    stages = sc.layout.pp
    return Sums(
        compute_s=users * steps * _compute_s(alone) / stages,
        memory_s=steps * users * _least_memory_s(sc, alone, together, shared) / stages,
        link_s=users * steps * alone.link_s / stages,
        lone_s=steps * alone.ceiling_s,
        host_memory_s=steps * users * _least_host_s(sc, alone, together, shared),
    )


def _compute_s(step: StepTime) -> Number:
    return step.compute_s if step.own_compute_s is None else step.own_compute_s


def _least_host_s(sc: Scenario, alone: StepTime, together: StepTime, users: Number) -> Number:
    """The least time of the host's memory for a user's part of a decode step.

    Of k users a step its bytes are concave in k, so (bytes(k) - what its caches hold) / k is least at an end.
    """
    beside = sc.rates.beside
    if beside is None or alone.hosted_bytes is None or together.hosted_bytes is None:
        return 0.0
    held, rate = beside.rates.cache_bytes, beside.rates.fast_memory_bytes_per_s
    ends = (maximum(alone.hosted_bytes - held, 0), maximum(together.hosted_bytes - held, 0) / users)
    return minimum(*ends) / rate


def _least_memory_s(sc: Scenario, alone: StepTime, together: StepTime, users: Number) -> Number:
    """The least memory time of a user's part of a decode step, whether all share a step or fewer do.

    Of k users a step it is (bytes(k) - credit) / k: without credit it falls with k, with it it is least at an end of
    1 .. k_c, where the step outgrows its caches' credit. bytes(k) lies on or above its chord, so k_c is no larger than
    where that does.
    """
    rates, stages = sc.rates, sc.layout.pp
    limit = CACHE_REUSE_LIMIT * rates.cache_bytes * stages
    slope = (together.streamed_bytes - alone.streamed_bytes) / maximum(users - 1, 1)
    outgrown = 1 + (limit - alone.streamed_bytes) / maximum(slope, 1)
    most = clipped(outgrown, 1, users)
    credited = (limit - rates.cache_bytes * stages) / rates.fast_memory_bytes_per_s
    at_most = where((outgrown > 1) & (outgrown < users), credited / most, alone.memory_s)
    least = minimum(minimum(alone.memory_s, together.memory_s / users), at_most)
    return minimum(least, _least_unlike_s(rates, together, users)) if _some_stage_small(rates, alone) else least


def _some_stage_small(rates: Rates, alone: StepTime) -> bool:
    """Whether a stage among unlike devices may keep some of its step in its caches, the others or not."""
    last = max((stage.last for stage in rates.unlike), default=1)
    limits = [
        CACHE_REUSE_LIMIT * stage.rates.cache_bytes * stage.devices * last / stage.layers for stage in rates.unlike
    ]
    streamed = alone.streamed_bytes
    least = streamed if is_plain(streamed) else streamed.min()
    return bool(limits) and least < max(limits)


def _least_unlike_s(rates: Rates, together: StepTime, users: Number) -> Number:
    """The least memory time of a user's part where stages outgrow their caches one by one: at the fastest's rate.

    (bytes(k) - caches) / k, whichever of them are credited, is no less than bytes(users) / users - caches.
    """
    caches = sum(stage.rates.cache_bytes * stage.devices for stage in rates.unlike)
    fastest = max(stage.rates.fast_memory_bytes_per_s for stage in rates.unlike)
    return maximum(together.streamed_bytes / users - caches, 0.0) / fastest

"""A run `apart`: workers that prefill, workers that decode, and each prompt's cache sent from ones to others."""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number, maximum, minimum
from rooflight.scenario.cards import between_pools
from rooflight.scenario.definite import Scenario
from rooflight.scenario.pools import prefill_worker
from rooflight.serve.formulas import prompts_ahead
from rooflight.serve.held import device_sequence_bytes
from rooflight.serve.limits import Limits, decode_sums, least_token_s, prompt_sums
from rooflight.serve.replica import Clock, Replica, replica, room, step_interval
from rooflight.serve.run import Course, Times, first_interval, made, whole_interval
from rooflight.serve.solve import solved
from rooflight.values.run import Pool, WholeRun


class Pools(msgspec.Struct, frozen=True, kw_only=True):
    """Both kinds of workers; the scenario of each is one worker."""

    prefill: Scenario
    decode: Scenario
    prefill_workers: int
    decode_workers: int

    @property
    def devices(self) -> int:
        """Accelerators of all workers."""
        return self.prefill_workers * self.prefill.layout.devices + self.decode_workers * self.decode.layout.devices


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """One basis of the run, all users in it."""

    step_s: Number
    request_s: Number
    decoding: Number
    prompt_s: Number


def is_apart(sc: Scenario) -> bool:
    """Whether the scenario is of workers apart."""
    return sc.deployment.is_apart


def pools(sc: Scenario) -> Pools:
    """The workers that a scenario asks for, one of each kind where it names the other alone.

    Raises BadInput where a prefill worker cannot be laid out.
    """
    asked = sc.deployment
    return Pools(
        prefill=prefill_worker(sc), decode=sc, prefill_workers=asked.prefill_workers or 1,
        decode_workers=asked.decode_workers or 1,
    )  # fmt: skip


def apart(sc: Scenario, *, users: Number | None = None) -> WholeRun:
    """The run of prefill and decode workers. Raises BadInput as pools does."""
    both = pools(sc)
    users = sc.workload.batch if users is None else users
    one, other = _replicas(both, users)
    sent_s = _sent_s(both)
    engine = sc.engine
    found = _found(
        both, users, one, other, (one.expected_s, other.expected_s), engine.server_s + sent_s, engine.first_share
    )  # fmt: skip
    fast = _found(both, users, one, other, (one.roofline_s, other.roofline_s), sent_s)
    token = other.each
    times = [Times(token_s=each.step_s / token, request_s=each.request_s, cycle_s=each.request_s)
             for each in (found, fast)]  # fmt: skip
    prompts, least = users / found.request_s * found.prompt_s, _limits(both, users, one, other)
    return made(Course(
        schedule="apart", sc=sc, users=users, devices=both.devices, tokens=other.steps * token,
        limits=least, least_s=least.request_s, expected=times[0], roofline=times[1],
        running=minimum(found.decoding + prompts, users), decoding=found.decoding, prefill_share=None, used=None,
        first=first_interval(both.prefill, one.users), steps=step_interval(sc, other.users),
        whole=_whole_interval(both, other.users),
        prefill=_pool(both.prefill, both.prefill_workers, prompts, found.prompt_s),
        decode=_pool(both.decode, both.decode_workers, found.decoding, found.step_s),
    ))  # fmt: skip


def _whole_interval(both: Pools, requests: Number) -> tuple[Number, Number]:
    """That of the workers whose interval is the wider, at each end."""
    (low, high), (other_low, other_high) = (whole_interval(one, requests) for one in (both.prefill, both.decode))
    return minimum(low, other_low), maximum(high, other_high)


def _sent_s(both: Pools) -> Number:
    """Seconds of a prompt's cache on its way: whole, each device its part, at the side where that is more.

    A decode worker of fewer tensor ranks takes in more a device than a prefill worker's gives out, and the reverse.
    """
    sc = both.decode
    parts = [
        sum(
            device_sequence_bytes(each.model, sc.workload.isl, each.layout, each.numbers)
            for each in (one, *(() if one.draft is None else (one.draft.own,)))
        )
        for one in (both.prefill, sc)
    ]
    cards = both.prefill.accelerator, sc.accelerator
    return maximum(*parts) / between_pools(*cards, sc.deployment.network, both.devices)[1]


def apart_limits(sc: Scenario) -> Limits:
    """The ceilings of the run alone. Raises BadInput as pools does."""
    both, users = pools(sc), sc.workload.batch
    return _limits(both, users, *_replicas(both, users))


def _replicas(both: Pools, users: Number) -> tuple[Replica, Replica]:
    """A pass of a prefill worker's replica, and one of a decode worker's, with the users spread over all."""
    prefill = replica(both.prefill, maximum(users / both.prefill_workers, 1.0))
    return prefill, replica(both.decode, maximum(users / both.decode_workers, 1.0))


def _found(
    both: Pools, users: Number, one: Replica, other: Replica, clocks: tuple[Clock, Clock], besides_s: Number,
    first_share: float = 1.0,
) -> _Found:  # fmt: skip
    """F + N T of all users, where prefill and decode workers have their own steps.

    one, other  passes of a prefill and of a decode worker's replica; besides_s: of a first token, beside prefills;
                first_share: as in values.calibration.Engine
    """
    prefill, decode = clocks
    layout = both.decode.layout
    prefill_replicas = both.prefill_workers * both.prefill.layout.dp
    passes = both.decode_workers * layout.dp * layout.pp
    prompt_s = one.prompt_s(prefill)
    queue = both.decode.engine.queue
    ahead = prompts_ahead(maximum(users / prefill_replicas, 1), queue)
    first_s = (besides_s + (1 + ahead) * prompt_s) * first_share
    most = minimum(users, maximum(both.decode_workers * layout.dp * room(both.decode), 1))

    def at(decoding: Number) -> Number:
        return decode(maximum(1, decoding / passes), None)

    decoding, step_s = solved(at, lambda step_s: first_s / (other.steps * step_s), users, most)
    rate = prefill_replicas * one.budget / (one.prompt * prefill(None, one.budget))
    finished = minimum(minimum(users / (first_s + other.steps * step_s), rate), decoding / (other.steps * step_s))
    return _Found(
        step_s=step_s, request_s=users / finished, decoding=finished * other.steps * step_s, prompt_s=prompt_s
    )


def _limits(both: Pools, users: Number, one: Replica, other: Replica) -> Limits:
    """Each pool's own sums, and one request alone."""
    prompts = prompt_sums(one.with_users(users / (both.prefill_workers * one.copies)))
    steps = decode_sums(other.with_users(maximum(users / (both.decode_workers * other.copies), 1)))
    lone_s = prompts.lone_s + steps.lone_s
    return Limits(
        first_s=prompts.lone_s, token_s=least_token_s(other), lone_s=lone_s,
        request_s=maximum(lone_s, maximum(prompts.request_s, steps.request_s)),
    )  # fmt: skip


def _pool(sc: Scenario, workers: int, running: Number, step_s: Number) -> Pool:
    cut = sc.layout
    return Pool(
        accelerator=sc.accelerator.id, workers=workers, tp=cut.tp, ep=cut.ep, dp=cut.dp, running=running, step_s=step_s
    )

"""What arithmetic says of the step that an engine takes: its time at the running batch, beside the one measured."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.serve.analyze import phase_block
from rooflight.serve.efficiency import Efficiency, demand, efficiency, streamed_bytes
from rooflight.serve.memory import largest_batch
from rooflight.serve.phases import decode
from rooflight.serve.room import room
from rooflight.serve.schedule import scheduled
from rooflight.span import Span
from rooflight.values.recorded import Watched
from rooflight.values.run import WholeRun

# The field that a token's time is from.
Timed = Literal["tpot_s", "itl_s"]
# A share above one by so much is a measurement's own error, beyond it another deployment than the one named.
_TOO_FAST = 1.05
# Times between what comes out that are so much longer than a token by the rate are of several tokens each.
_CHUNKS = 1.5


class Stepped(msgspec.Struct, frozen=True, kw_only=True):
    """A decode step as predicted, beside the time per token that was measured.

    batch           sequences that decode in it, of the whole deployment
    tpot_s          measured, None: not; timed_by: by which field (else what runs and comes out is divided)
    expected        of the served run (of the step alone where prompts are withheld)
    memory_s, compute_s, link_s     what each resource alone takes at its ceiling; None: no peak
    bound           the largest part of the expected time
    moved_bytes     streamed by all devices in a step, as MBU counts; bytes_per_s: by one of them, at the measured time
    output_tokens_per_s     of the served run as expected, prompts included; None: prompts are withheld
    replicas        engines that share the batch; efficiency: MFU and MBU in the measured time, None: not measured
    """

    batch: int
    tpot_s: float | None
    expected: Span
    memory_s: float
    compute_s: float | None
    link_s: float
    bound: str
    moved_bytes: float
    bytes_per_s: float | None
    timed_by: Timed = "tpot_s"
    output_tokens_per_s: float | None = None
    replicas: int = 1
    efficiency: Efficiency | None = None

    @property
    def figures(self) -> dict[str, float]:
        """What a table and the exporter show of it, by name: of one engine."""
        found = {"expected_tpot_s": float(self.expected.expected or self.expected.roofline)}
        if self.output_tokens_per_s:
            found["expected_output_tokens_per_s"] = self.output_tokens_per_s / self.replicas
        if self.tpot_s:
            found["tpot_s"] = self.tpot_s
            found["of_ceiling"] = max(self.shares.values())
            found["of_expected"] = found["expected_tpot_s"] / self.tpot_s
        if self.efficiency is not None:
            shares = {"mbu": self.efficiency.mbu, "mfu": self.efficiency.mfu}
            found |= {name: float(value) for name, value in shares.items() if value is not None}
        return found

    @property
    def as_expected(self) -> bool:
        """What a well-run engine takes, or less."""
        return self.tpot_s is not None and self.expected.high is not None and self.tpot_s <= self.expected.high

    @property
    def shares(self) -> dict[str, float]:
        """Of the measured time, what each resource takes at least."""
        if not self.tpot_s:
            return {}
        seconds = {"memory": self.memory_s, "compute": self.compute_s, "link": self.link_s}
        return {name: value / self.tpot_s for name, value in seconds.items() if value is not None}

    @property
    def possible(self) -> bool:
        """Whether the measured time is not faster than the ceiling of what was named."""
        return all(share <= _TOO_FAST for share in self.shares.values())


def stepped(sc: Scenario, row: Watched, replicas: int) -> Stepped | None:
    """The step of an engine's running requests; None where none run, or the question has no such step.

    replicas    engines that were watched
    """
    if row.running is None or row.running < 0.5 or sc.workload.osl < 2:
        return None
    if row.acceptance or sc.workload.draft_tokens:  # a step yields several tokens
        return None
    timed_by, measured = _timed(row)
    try:
        at = _loaded(sc, row, replicas, times=1)
        phase = decode(at)
        block = phase_block(at, phase)
        run = scheduled(at) if sc.accelerator.memory_bytes is None or largest_batch(at, room(at)) >= 1 else None
    except RooflightError:
        return None
    found = run.tpot_s if isinstance(run, WholeRun) else None
    output = run.output_tokens_per_s.expected if isinstance(run, WholeRun) else None
    streamed = float(streamed_bytes(phase.own_work))
    rate = None if not measured else streamed / measured / phase.layout.devices
    return Stepped(
        batch=at.workload.batch, tpot_s=measured,
        expected=found or block.time_s, memory_s=float(block.ceilings_s.memory),
        compute_s=block.ceilings_s.compute, link_s=float(block.ceilings_s.link), bound=block.expected_bound,
        moved_bytes=streamed, bytes_per_s=rate, timed_by=timed_by,
        output_tokens_per_s=None if output is None else float(output), replicas=_ranks(sc, replicas),
        efficiency=efficiency(demand(at, phase), measured) if measured else None,
    )  # fmt: skip


def doubled(sc: Scenario, row: Watched, replicas: int) -> float | None:
    """Times the output tokens a second where twice as many requests run; None: they do not fit, or nobody knows."""
    if not row.running or row.running < 0.5 or sc.workload.osl < 2:
        return None
    try:
        one, two = (_loaded(sc, row, replicas, times=times) for times in (1, 2))
        most = holds(sc, replicas=0)
        if most is not None and two.workload.batch > most:
            return None
        rates = [scheduled(at, "served").output_tokens_per_s for at in (one, two)]
    except RooflightError:
        return None
    if rates[0] is None or rates[1] is None:
        return None
    return rates[1].expected / rates[0].expected


def _loaded(sc: Scenario, row: Watched, replicas: int, *, times: int) -> Scenario:
    """The scenario with so many times the requests that run, of the lengths that were seen.

    With as many engines watched as there are data-parallel ranks each runs its own share.
    """
    ranks = _ranks(sc, replicas)
    load = replace(
        sc.workload, batch=max(1, round((row.running or 0.0) * ranks)) * times,
        isl=max(1, round(row.isl or sc.workload.isl)), osl=max(2, round(row.osl or sc.workload.osl)),
        request_rate=None,
    )  # fmt: skip
    return replace(sc, workload=replace(load, cached_prefix=min(load.cached_prefix, load.isl - 1)))


def _ranks(sc: Scenario, replicas: int) -> int:
    """Data-parallel ranks that the watched engines are, one each."""
    return sc.layout.dp if replicas == sc.layout.dp else 1


def token_s(row: Watched) -> float | None:
    """A token's time as measured."""
    return _timed(row)[1]


def _timed(row: Watched) -> tuple[Timed, float | None]:
    """A token's time as measured, and by which field; else by Little's law from how many run and what comes out.

    The time between tokens is the same without drafts, which come several at once and are not asked for here.
    """
    if row.tpot_s is not None and row.tpot_s.middle:
        return "tpot_s", row.tpot_s.middle
    rate = None if row.span == "lifetime" else row.output_tokens_per_s
    by_rate = row.running / rate if row.running and rate else None
    between = None if row.itl_s is None else row.itl_s.middle
    if between and (by_rate is None or between <= _CHUNKS * by_rate):
        return "itl_s", between
    return "tpot_s", by_rate


def holds(sc: Scenario, replicas: int) -> float | None:
    """Sequences that what was watched takes at once, by memory and the engine's own limit; None: neither is known."""
    limits = [] if sc.most_sequences is None else [float(sc.most_sequences * sc.layout.dp)]
    try:
        if sc.accelerator.memory_bytes is not None:
            limits.append(float(largest_batch(sc, room(sc))))
    except RooflightError:
        pass
    most = min(limits, default=None)
    return most / sc.layout.dp if most is not None and replicas == sc.layout.dp else most

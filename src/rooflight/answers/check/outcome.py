"""What judging a row gives, as values; words.verdicts makes its sentences."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.answers.check.filled import Filled
from rooflight.ingest.rows import GivenRow
from rooflight.scenario.definite import Scenario
from rooflight.serve.efficiency import Efficiency
from rooflight.span import Span
from rooflight.values.held import MemoryBlock
from rooflight.values.measurement import Measurement
from rooflight.values.note import Note


class Finding(msgspec.Struct, frozen=True):
    """A mix-up, a doubt or a cause: which one it is, and what it is told with.

    kind    words.verdicts lists all of them with what their `value` holds
    share   a cause's, of the step that a well-run engine takes
    """

    kind: str
    value: Any = None
    share: float = 0.0


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers behind a ceiling, of one device: `amount` bytes or FLOP a step, at most `rate` of them a second.

    prompt      the step is the prefill, else a decode step
    form        the hardware format of the FLOP; None for bytes
    whole       no step: all requests of the run together
    level       of links: "within" a domain, network, PCIe; host_memory, host_link of what lies in the host's memory;
                None where none of them binds
    """

    amount: float
    rate: float
    prompt: bool
    form: str | None = None
    whole: bool = False
    level: str | None = None


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What values of one run say together of how many requests were in flight, by Little's law.

    rate, token_ms, first_ms, request_ms    the values it is taken from: output tokens a second, ms; None: not given
    in_flight   that they make; decoding: that of them decode, where the first token is not known
    stated      as the rows say, None where they do not
    wait_ms     a first token that would make both true; None where nothing does
    """

    rate: float
    token_ms: float | None
    first_ms: float | None
    request_ms: float | None
    in_flight: float
    decoding: bool
    stated: int | None = None
    wait_ms: float | None = None


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A first token and a time per token that no schedule gives together: their request takes less than its ceiling."""

    first_ms: float
    token_ms: float
    tokens: int
    batch: int
    ceiling_ms: float
    least_token_ms: float


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A row judged against its ceiling.

    asked       the row as it was given; row: as it is judged
    verdict     one of values.measurement.VERDICTS
    scenario    the fastest that the row may have run as
    span        of that, in the row's metric; without an interval nothing is expected
    bound       what sets the ceiling: compute, memory, link; None where nobody asks (a row that is ok)
    limit       above its ceiling: the ceiling's numbers; else None
    found       above its ceiling: the mix-ups that would explain it; slow: what to look at, the largest first; fast:
                what would spare the time, the nearest first; cannot-judge: the one thing that leaves it open
    others      cannot-judge: the mix-ups that would explain it as well
    notes       what was taken for granted
    filled      no batch is stated: what the value needs of one
    claimed     it is a claim
    held        a claim's memory that cannot hold it
    load        values of its run whose batch, rate and time cannot be together
    pair        values of its run that nothing does together
    efficiency  of the step that is timed, in the value's time; None of a run, and where its batch is open
    uncalibrated    what would be expected without your own calibration; None where there is none, or nothing expected
    """

    asked: GivenRow
    row: Measurement
    verdict: str
    scenario: Scenario
    span: Span
    bound: str | None = None
    limit: Limit | None = None
    found: tuple[Finding, ...] = ()
    others: tuple[Finding, ...] = ()
    notes: tuple[Note, ...] = ()
    filled: Filled | None = None
    claimed: bool = False
    held: MemoryBlock | None = None
    load: Load | None = None
    pair: Pair | None = None
    efficiency: Efficiency | None = None
    uncalibrated: float | None = None

    @property
    def over(self) -> float:
        """Measured speed over the ceiling's: above 1 is faster than physics allows, or than a machine was measured."""
        return self.row.measures.speed_over(self.row.value, self.span.ceiling)

    @property
    def on_measured(self) -> bool:
        """Whether the machine was measured, so that its ceiling is the fastest seen there."""
        return self.scenario.accelerator.measured is not None

    @property
    def above(self) -> bool:
        """Whether it is above its ceiling, by itself or together with others of its run."""
        return self.limit is not None or self.pair is not None


class NoCeiling(msgspec.Struct, frozen=True, kw_only=True):
    """A row without a ceiling.

    problem     why none can be computed, as an error says it; None where the weights leave no room for a sequence
    scenario    that lacks the room; held: what a claim would take of memory that cannot hold it, so that it is
                impossible; else the row cannot be judged
    """

    asked: GivenRow
    problem: str | None = None
    scenario: Scenario | None = None
    held: MemoryBlock | None = None

    @property
    def verdict(self) -> str:
        """One of values.measurement.VERDICTS."""
        return "cannot-judge" if self.held is None else "impossible"

"""What judging a row gives, as values; words.verdicts makes its sentences."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.ingest.rows import GivenRow
from rooflight.scenario.definite import Scenario
from rooflight.span import Span
from rooflight.values.analysis import MemoryBlock
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
    """

    amount: float
    rate: float
    prompt: bool
    form: str | None = None


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A row judged against its ceiling.

    asked       the row as it was given; row: as it is judged
    verdict     one of values.measurement.VERDICTS
    scenario    the fastest that the row may have run as
    span        of that, in the row's metric; without an interval nothing is expected
    bound       what sets the ceiling: compute, memory, link; None where nobody asks (a row that is ok)
    limit       impossible: the ceiling's numbers; else None
    found       impossible: the mix-ups that would explain it; slow: what to look at, the largest first; cannot-judge:
                the one thing that leaves it open
    notes       what was taken for granted
    """

    asked: GivenRow
    row: Measurement
    verdict: str
    scenario: Scenario
    span: Span
    bound: str | None = None
    limit: Limit | None = None
    found: tuple[Finding, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def over(self) -> float:
        """Measured speed over the ceiling's: above 1 is faster than physics allows."""
        return self.row.measures.speed_over(self.row.value, self.span.ceiling)


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

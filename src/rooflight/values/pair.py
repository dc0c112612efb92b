"""Two scenarios side by side, the one as it is and the other after a change."""

from __future__ import annotations

import msgspec

from rooflight.span import Span
from rooflight.values.known import Known
from rooflight.values.shown import Part


class Quantity(Part, msgspec.Struct, frozen=True, kw_only=True):
    """What both are measured by.

    name            with its unit: decode_tokens_per_s, tokens_per_s_per_user, ttft_s, request_s, tokens_per_s (of the
                    run), tokens_per_s_per_accelerator, usd_per_million_tokens, prefill_step_s, decode_step_s
    before, after   None where one of them has none
    times           how many times as good, above 1 is better; it has no interval. Its expected value comes first
    less_is_better  of times and money
    """

    brief = ("name", "before", "after", "times")

    name: str
    before: Span | None
    after: Span | None
    times: Span | None
    less_is_better: bool


class Side(Part, msgspec.Struct, frozen=True, kw_only=True):
    """One of the two.

    setting         the model on its devices
    fits            all requests in flight at once; None where the size of the memory is not known, or it has no answer
    reason          why it has no numbers, or not all of its requests run at once; None where they do
    prefill_bound, decode_bound     which ceiling binds the phase; None where it has none
    """

    brief = ("setting", "fits", "reason")

    setting: str
    devices: int
    batch: int
    max_batch: int | None
    fits: bool | None
    reason: str | None
    prefill_bound: str | None
    decode_bound: str | None


class Pair(Part, msgspec.Struct, frozen=True, kw_only=True):
    """Two scenarios: what each gets, and how many times as good the second is.

    answer      a sentence
    quantities  those that at least one of them has
    """

    brief = ("answer",)

    answer: str
    before: Side
    after: Side
    quantities: tuple[Quantity, ...]

    @property
    def times(self) -> Known[Span]:
        """How many times as good by quantity; [] of what not both have raises NotThere, `get` gives None."""
        named = {one.name: one.times for one in self.quantities}
        return Known(named, "ratio", self.before.reason or self.after.reason or "")

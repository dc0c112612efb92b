"""Your own calibration: what measured rows of an engine on an accelerator shift and narrow of what is expected there.

A file of it is what `rooflight calibrate` writes and --calibration takes; answers/calibrate says how it is reckoned.
"""

# Types are not texts here: evaluating those costs a tenth of a millisecond each, at every start.

from typing import Annotated

import msgspec
from msgspec import Meta

from rooflight.span import Span
from rooflight.values.shown import Displayed, Part

SCHEMA = "rooflight.calibration/1"
# What a factor acts on. A request has none of its own: it is made of the others (Little's law), and so are all rates.
SHIFTED = ("step", "prefill", "first")
QUANTITIES = (*SHIFTED, "request")
# The kinds of models that an engine's intervals tell apart.
KINDS = ("dense", "routed")

# Further off than that a row is of something else than it says.
Factor = Annotated[float, Meta(ge=0.05, le=20)]
Below = Annotated[float, Meta(ge=0.02, le=1)]
Above = Annotated[float, Meta(ge=1, le=50)]
Share = Annotated[float, Meta(ge=0)]
Text = Annotated[str, Meta(max_length=300)]
Count = Annotated[int, Meta(ge=0)]


class Shift(Part, msgspec.Struct, frozen=True, kw_only=True):
    """One quantity: the factor on its expected time, and the interval around that as factors on it.

    rows        that measured it; with none the factor is 1 and the interval the engine's own
    """

    brief = ("factor", "low", "high", "rows")

    factor: Factor = 1.0
    low: Below
    high: Above
    rows: Count = 0


class Shifts(Part, msgspec.Struct, frozen=True, kw_only=True):
    """What is shifted: a step in which sequences decode, a prefill with nobody decoding beside it, the time to a first
    token in a run; of a whole request and of rates the interval alone.

    model       whose they are; "" of any other model on this engine and accelerator
    """

    brief = ("model", "step", "prefill", "first", "request")

    model: Text = ""
    step: Shift
    prefill: Shift
    first: Shift
    request: Shift

    @property
    def factors(self) -> dict[str, float]:
        """By quantity."""
        return {name: getattr(self, name).factor for name in SHIFTED}


class OwnError(Part, msgspec.Struct, frozen=True, kw_only=True):
    """How far off rows of one quantity ("all": of any) are, as shares of the measured value.

    before      median, without the calibration; after: each row by factors from the other runs, None where there is
                but one run
    mean_...    the same in the mean
    inside      share of the rows in their interval; inside_after: in that made from the others
    """

    brief = ("of", "rows", "before", "after")

    of: Text
    rows: Count
    before: Share
    mean_before: Share
    after: Share | None = None
    mean_after: Share | None = None
    inside: Share
    inside_after: Share | None = None


class OwnEntry(Part, msgspec.Struct, frozen=True, kw_only=True):
    """An engine on an accelerator.

    era, fit            of the engine's fits that the factors are relative to: the digits of their hash
    widened             by how much its intervals are wider on this accelerator without rows of it
    kinds               of models among the rows: dense, routed
    rows, sha256        that it was made of, and the first digits of their hash
    runs                among them: what is left out together
    dropped             quantities whose factor is 1 because none helps, leaving one out
    others              of models that are not among the rows; models: of those that are
    """

    brief = ("engine", "accelerator", "rows", "others")

    engine: Text
    era: Text
    engine_versions: tuple[Text, ...] = ()
    accelerator: Text
    fit: Text
    widened: Annotated[float, Meta(ge=1, le=20)] = 1.0
    kinds: tuple[Text, ...] = ()
    rows: Count
    runs: Count
    sha256: Text
    dropped: tuple[Text, ...] = ()
    others: Shifts
    models: tuple[Shifts, ...] = ()
    errors: tuple[OwnError, ...] = ()

    def of(self, model: str) -> Shifts:
        """What holds for a model."""
        return next((one for one in self.models if one.model == model), self.others)

    @property
    def shifts(self) -> bool:
        """Whether any factor is another than 1."""
        return any(factor != 1 for of in (self.others, *self.models) for factor in of.factors.values())

    @property
    def all(self) -> OwnError | None:
        """How far off all rows are."""
        return next((one for one in self.errors if one.of == "all"), None)


class LeftOut(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A row that counts for nothing, and why."""

    brief = ("line", "reason")

    line: Count
    model: str = ""
    accelerator: str = ""
    metric: str = ""
    value: float | None = None
    reason: str


# Compared and hashed by what it is, not by what is in it: scenarios are remembered by their deployment.
class OwnCalibration(Displayed, msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What `rooflight.calibrate` returns, and what a file of it holds.

    answer      one sentence
    date        of the calibration; rooflight: the version that made it; source: the file of rows
    notes       what was odd about that file
    """

    brief = ("answer",)

    schema: str = SCHEMA
    answer: str = ""
    date: Text
    rooflight: Text
    source: str = ""
    notes: tuple[str, ...] = ()
    entries: tuple[OwnEntry, ...]
    left_out: tuple[LeftOut, ...] = ()

    def entry(self, engine: str, era: str, accelerator: str) -> OwnEntry | None:
        """The one of an engine's fits on an accelerator; None where there is none."""
        named = (engine, era, accelerator)
        return next((one for one in self.entries if (one.engine, one.era, one.accelerator) == named), None)


class OwnRun(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A run as it would be expected without your own calibration."""

    brief = ("ttft_s", "tpot_s")

    ttft_s: Span | None
    tpot_s: Span | None
    request_s: Span | None
    output_tokens_per_s: Span | None


class OwnBlock(Part, msgspec.Struct, frozen=True, kw_only=True):
    """What your own calibration does to an answer.

    used        whether an entry of it is of this engine and accelerator; with none all below is null
    model       whose factors they are; "" those of any model that is not among its rows
    factors     by quantity, 1 where there is none
    error       of all its rows
    phases, runs    without it: times of phases and runs by name, as they are with it in the answer
    """

    brief = ("used", "engine", "accelerator", "factors")

    date: str
    used: bool
    engine: str
    accelerator: str
    rows: int | None = None
    model: str | None = None
    factors: dict[str, float] | None = None
    error: OwnError | None = None
    phases: dict[str, Span | None] | None = None
    runs: dict[str, OwnRun | None] | None = None

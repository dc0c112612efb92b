"""What several measurements of one thing say together, as values: words.diagnosis.fits makes its sentences."""

from __future__ import annotations

from typing import Literal

import msgspec

from rooflight.answers.diagnose.fitted.line import Line
from rooflight.answers.diagnose.fitted.series import Axis, Quantity, Series
from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.timed.placed import StepRoof, placed, step_roof
from rooflight.answers.diagnose.timed.seen import Seen
from rooflight.values.diagnosis import Bound, Confidence, Found

# Faster than its ceiling by more than that is beyond it.
_BEYOND = 0.03
# A batch that is set and the one that rates and times make may differ by so much, as a finite run drains.
_CLOSES = 1.5
# Shares of a time from which on what takes it binds, and binds clearly.
BINDS, CLEARLY = 0.5, 0.65
# Residuals of a line, as a share of its values, under which it holds.
HOLDS = 0.05

# Why a point is left out: faster than its ceiling; its own batch, rate and time are not those of one run; far from the
# line through the others.
Why = Literal["beyond", "open", "off"]


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A point that is left out. value: the ceiling's seconds, the number in flight that it makes, or None."""

    label: str
    why: Why
    value: float | None = None


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of one time by what takes them."""

    memory: float = 0.0
    compute: float = 0.0
    link: float = 0.0
    launch: float = 0.0

    @property
    def whole(self) -> float:
        """All of them."""
        return self.memory + self.compute + self.link + self.launch

    @property
    def largest(self) -> tuple[Bound, float]:
        """What takes most, and its share."""
        parts: dict[Bound, float] = {
            "memory": self.memory, "compute": self.compute, "link": self.link, "launch": self.launch,
        }  # fmt: skip
        name = max(parts, key=lambda one: parts[one])
        return name, parts[name] / self.whole if self.whole else 0.0


class Fit(Found, frozen=True, kw_only=True):
    """A series and what it says. Numbers that were not to be had are None.

    said            which sentence it is; words.diagnosis.fits lists all of them
    labels, values  the axis's value of each point that was taken, and its seconds
    line            through them; of `tp` over 1 / degree; of formats and cards over the time that memory takes
    split           of the last point's time
    weights_s       reading the weights at the datasheet's rate; left_s: of the fixed part beside them; host_s: what is
                    expected of launches and host there
    grows_s         of the last point what grows along the axis beside the weights, slope_s a step of it
    bytes_each      bytes that one more step along the axis moves, bytes_per_s: the rate that makes; roof_: the
                    datasheet's; flop alike
    prompts_s       of the last point's time, that the prompts of other requests take between tokens; not in grows_s
    cached_tokens   of a sequence, that the slope comes to at the memory's rate where no length is stated
    share           of the last point's time, that goes with the axis
    gain            measured, from the first point to the last; expected_gain by the library, ideal_gain by the devices
    next_gain       of going as far again along the axis, by the line; limit_gain: of going on for ever
    added_s         what more devices add to a step, of `collectives` exchanges
    slots           sequences that run at once; waiting: beside them; room: sequences that memory should hold
    knee            where the axis stops paying
    """

    axis: Axis
    said: str
    quantity: Quantity
    labels: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    line: Line | None = None
    left_out: tuple[LeftOut, ...] = ()
    split: Split | None = None
    weights_s: float | None = None
    left_s: float | None = None
    grows_s: float | None = None
    slope_s: float | None = None
    host_s: float | None = None
    prompts_s: float | None = None
    bytes_each: float | None = None
    bytes_per_s: float | None = None
    roof_bytes_per_s: float | None = None
    cached_tokens: float | None = None
    flop_per_s: float | None = None
    roof_flop_per_s: float | None = None
    share: float | None = None
    gain: float | None = None
    expected_gain: float | None = None
    ideal_gain: float | None = None
    next_gain: float | None = None
    limit_gain: float | None = None
    added_s: float | None = None
    collectives: float | None = None
    slots: float | None = None
    waiting: float | None = None
    room: float | None = None
    knee: float | None = None


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """The points of a series that close, each with its step under the roof (none where one of them has none)."""

    runs: tuple[Seen, ...]
    labels: tuple[str, ...]
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    roofs: tuple[StepRoof, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def without(self, place: int) -> Taken:
        """The others, that one being off their line."""
        keep = [one for one in range(len(self.runs)) if one != place]

        def of(values: tuple) -> tuple:  # type: ignore[type-arg]
            return tuple(values[one] for one in keep) if values else ()

        gone = (*self.left_out, LeftOut(label=self.labels[place], why="off"))
        return Taken(
            runs=of(self.runs), labels=of(self.labels), xs=of(self.xs), ys=of(self.ys), roofs=of(self.roofs),
            left_out=gone,
        )  # fmt: skip


def taken(one: Series, quantity: Quantity, setting: Setting, *, steps: bool = True) -> Taken:
    """The points that can be true. steps: the quantity is a decode step's, held against its ceiling."""
    scenarios = [placed(setting, run, own_device=one.axis == "device") for run in one.runs]
    roofs = [None if sc is None or not steps else step_roof(sc) for sc in scenarios]
    keep: list[int] = []
    gone: list[LeftOut] = []
    ys = one.values(quantity)
    for place, run in enumerate(one.runs):
        roof, label = roofs[place], one.labels[place]
        drafted = run.record.stated.speculative or run.record.stated.draft_tokens
        implied, stated = run.implied, run.in_flight
        alone = quantity == "each_s" and run.in_flight is None
        if roof is not None and not drafted and not alone and _step_s(run, quantity, ys[place]) < _least(roof):
            gone.append(LeftOut(label=label, why="beyond", value=roof.ceiling_s))
        elif implied and stated and not stated / _CLOSES <= implied <= stated * _CLOSES and not _drains(run):
            gone.append(LeftOut(label=label, why="open", value=implied))
        else:
            keep.append(place)
    kept = [roof for place in keep if (roof := roofs[place]) is not None]
    return Taken(
        runs=tuple(one.runs[place] for place in keep), labels=tuple(one.labels[place] for place in keep),
        xs=tuple(one.xs[place] for place in keep) if one.xs else (), ys=tuple(ys[place] for place in keep),
        roofs=tuple(kept) if len(kept) == len(keep) else (), left_out=tuple(gone),
    )  # fmt: skip


def _least(roof: StepRoof) -> float:
    return roof.ceiling_s * (1 - _BEYOND)


def _step_s(run: Seen, quantity: Quantity, value: float) -> float:
    """A step's seconds, of a value a sequence or of all together."""
    return value * (run.in_flight or 1) if quantity == "each_s" else value


def _drains(run: Seen) -> bool:
    """Whether so few requests ran that most of the time fewer were in flight than were set."""
    stated = run.record.stated
    asked = stated.num_prompts or run.record.measured.requests
    return bool(asked and run.in_flight and asked < 3 * run.in_flight)


def settled(
    split: Split, line: Line | None, ys: tuple[float, ...], *, most: Confidence = "high"
) -> tuple[Bound, Confidence]:
    """What binds by a split, and how sure that is: two points leave no rest that could say whether a line holds."""
    bound, share = split.largest
    # what is left is the host's, the launches' and that of kernels below the roof, which a small part cannot tell apart
    if share < (CLEARLY if bound == "launch" else BINDS):
        return bound, "low"
    sure: Confidence = "high" if share >= CLEARLY else "medium"
    mean = sum(ys) / len(ys)
    if line is None or line.spread is None or line.spread > HOLDS * mean:
        sure = "medium" if share >= CLEARLY else "low"
    order: tuple[Confidence, ...] = ("low", "medium", "high")
    return bound, order[min(order.index(sure), order.index(most))]

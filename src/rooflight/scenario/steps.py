"""Steps of a plan, each evaluated once: what a step takes follows from the plan alone, whatever is asked of it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.affine import elements, form
from rooflight.numeric import Number, is_plain
from rooflight.roofline.places import PlacedPass, placed_pass, placed_time, staged_pass, stretched
from rooflight.roofline.rates import Rates
from rooflight.roofline.step import Pass, evaluated, is_fusible, step_time
from rooflight.values.calibration import Calibration
from rooflight.values.model import Model
from rooflight.values.steptime import Parts, StepTime
from rooflight.values.work import Operator
from rooflight.work.layout import Layout
from rooflight.work.mixers import Slice
from rooflight.work.numbers import Numbers
from rooflight.work.places import Split, in_turn, placed
from rooflight.work.step import Step, operators

# Passes remembered of one plan: more than a question comes to. Of arrays: so many points in all.
_MOST = 512
_MOST_POINTS = 1 << 16
# Arrays of so many elements are worth the cost of their forms.
_MANY = 512


class Steps:
    """A model in definite formats on laid-out machines, evaluated step by step.

    A step that was evaluated before is looked up.
    """

    __slots__ = ("_fits", "_fused", "_layout", "_model", "_numbers", "_of_arrays", "_rates", "_seen")

    def __init__(
        self, model: Model, layout: Layout, numbers: Numbers, rates: Rates, fits: Calibration, *, fused: bool = False
    ) -> None:
        self._fused = fused
        self._model, self._layout, self._numbers = model, layout, numbers
        self._rates, self._fits = rates, fits
        self._seen: dict[object, Pass | PlacedPass] = {}
        self._of_arrays: dict[object, Pass | PlacedPass] = {}

    def __eq__(self, other: object) -> bool:
        """Whether it is the same plan, whatever was evaluated of it."""
        return isinstance(other, Steps) and self._plan == other._plan

    __hash__ = None  # type: ignore[assignment]

    @property
    def _plan(self) -> tuple[Model, Layout, Numbers, Rates, Calibration, bool]:
        return self._model, self._layout, self._numbers, self._rates, self._fits, self._fused

    def fused(self) -> Steps:
        """The same with element-wise kernels inside their neighbours, where they cost nothing."""
        return Steps(self._model, self._layout, self._numbers, self._rates, self._fits, fused=True)

    def time(
        self, step: Step, *, overlap: Number = 1, fill: Number = 1, passes: Number = 1, bounds_only: bool = False
    ) -> StepTime:
        """Bounds of a step, and unless bounds_only what is expected of one pass; overlap, fill as in step_time.

        passes  that follow each other through the stages: where these are unlike, the longest sets the pace
        """
        one = self._passed(step, bounds_only)
        if not isinstance(one, PlacedPass):
            return step_time(one, self._rates, stages=self._layout.pp, overlap=overlap, fill=fill)
        times = one.stretch(self._layout.pp, fill, passes)
        found = placed_time(one, self._rates, overlap=overlap, fill=fill * times)
        return found if found.parts is None else msgspec.structs.replace(found, parts=stretched(found.parts, times))

    def roofline_s(self, step: Step, *, passes: Number = 1) -> Number:
        """Roofline time of one pass: what `time` has, without the rest."""
        one = self._passed(step, bounds_only=True)
        times = one.stretch(self._layout.pp, 1, passes) if isinstance(one, PlacedPass) else 1
        return elements(one.roofline_s * times)

    def parts(self, step: Step, *, passes: Number = 1) -> Parts:
        """What is expected of one pass, before an engine takes its shares."""
        one = self._passed(step, bounds_only=False)
        parts = Parts() if one.parts is None else one.parts
        return stretched(parts, one.stretch(self._layout.pp, 1, passes)) if isinstance(one, PlacedPass) else parts

    def _passed(self, step: Step, bounds_only: bool) -> Pass | PlacedPass:
        seen, points = self._seen, 0
        key: object = step
        try:
            found = seen.get(key)
        except TypeError:  # arrays have no hash
            seen, key, points = self._of_arrays, _content(step), _points(step)
            found = seen.get(key)
        if found is not None and (bounds_only or found.parts is not None):
            return found
        fits = None if bounds_only else self._fits
        one: Pass | PlacedPass
        if self._rates.unlike:
            one = self._staged(step, bounds_only)
        elif self._rates.beside is None:
            asked = _as_forms(step) if points >= _MANY else step
            ops = self._whole(operators(self._model, asked, self._layout, self._numbers))
            one = evaluated(ops, self._rates, fits, stages=self._layout.pp, expert_devices=self._layout.ep)
        else:
            one = self._placed(self._rates.beside.split, step, fits)
        # a new one when it is full: another thread may be reading the old
        if points and (len(seen) + 1) * points > _MOST_POINTS:
            seen = self._of_arrays = {}
        elif not points and len(seen) >= _MOST:
            seen = self._seen = {}
        seen[key] = one
        return one

    def _placed(self, split: Split, step: Step, fits: Calibration | None) -> PlacedPass:
        """A pass of which a host does or holds a part."""
        ops = placed(self._model, split, step, self._layout, self._numbers)
        ops = type(ops)(**{name: self._whole(getattr(ops, name)) for name in ops.__struct_fields__})
        cut = {"stages": self._layout.pp, "expert_devices": self._layout.ep}
        return placed_pass(ops, self._rates, fits, tokens=step.tokens, **cut)

    def _staged(self, step: Step, bounds_only: bool) -> PlacedPass:
        """A pass through unlike devices in turn."""
        stages = self._rates.unlike
        cuts = [(stage.first, stage.last) for stage in stages]
        ops = in_turn(self._model, cuts, step, self._layout, self._numbers)
        return staged_pass(tuple(map(self._whole, ops)), stages, bounds_only=bounds_only)

    def _whole(self, ops: tuple[Operator, ...]) -> tuple[Operator, ...]:
        """Operators that cost something."""
        return tuple(op for op in ops if not is_fusible(op)) if self._fused else ops


def _numbers_of(step: Step) -> Iterator[Number]:
    yield step.busy
    for part in step.slices:
        yield from (
            part.sequences, part.new, part.context, part.steps, part.head_positions, part.source, part.media,
        )  # fmt: skip


def _points(step: Step) -> int:
    """How many points its arrays make together."""
    import numpy as np

    return int(np.broadcast(*_numbers_of(step)).size)


def _content(step: Step) -> object:
    """What tells it from others: the elements of its arrays."""
    numbers = tuple(
        value if is_plain(value) else (value.shape, value.dtype.char, value.tobytes()) for value in _numbers_of(step)
    )
    return tuple(part.absorbed for part in step.slices), numbers


def _as_forms(step: Step) -> Step:
    """The step over linear forms of its arrays; one that stands in several places is one form."""
    met: dict[int, Number] = {}

    def one(value: Number) -> Number:
        return met.setdefault(id(value), form(value))

    slices = tuple(
        Slice(
            sequences=one(part.sequences), new=one(part.new), context=one(part.context), steps=one(part.steps),
            head_positions=one(part.head_positions), absorbed=part.absorbed, source=one(part.source),
            media=one(part.media),
        )
        for part in step.slices
    )  # fmt: skip
    return Step(slices=slices, busy=one(step.busy))


class Plans:
    """The plans that one question comes to, each with its steps.

    Scenarios changed from one another share it, so those that come to the same plan, by whatever way, share what was
    evaluated of it. It lives as long as they do.
    """

    __slots__ = ("_met",)

    def __init__(self) -> None:
        self._met: list[Steps] = []

    def __eq__(self, other: object) -> bool:
        """What else was asked makes no scenario another one."""
        return isinstance(other, Plans)

    __hash__ = None  # type: ignore[assignment]

    def steps(self, model: Model, layout: Layout, numbers: Numbers, rates: Rates, fits: Calibration) -> Steps:
        """The steps of a plan: those of an equal one met before, else new ones."""
        new = Steps(model, layout, numbers, rates, fits)
        found = next((one for one in self._met if one == new), None)
        if found is None:
            self._met.append(new)
        return found or new

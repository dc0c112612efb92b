"""Steps of a plan, each evaluated once: what a step takes follows from the plan alone, whatever is asked of it."""

from __future__ import annotations

from rooflight.numeric import Number, is_plain
from rooflight.roofline.rates import Rates
from rooflight.roofline.step import Pass, evaluated, is_fusible, step_time
from rooflight.values.calibration import Calibration
from rooflight.values.model import Model
from rooflight.values.steptime import Parts, StepTime
from rooflight.work.layout import Layout
from rooflight.work.numbers import Numbers
from rooflight.work.step import Step, operators

# Passes remembered of one plan: more than a question comes to.
_MOST = 512


class Steps:
    """A model in definite formats on laid-out machines, evaluated step by step.

    A step of plain numbers that was evaluated before is looked up; one over arrays is evaluated anew.
    """

    __slots__ = ("_fits", "_fused", "_layout", "_model", "_numbers", "_rates", "_seen")

    def __init__(
        self, model: Model, layout: Layout, numbers: Numbers, rates: Rates, fits: Calibration, *, fused: bool = False
    ) -> None:
        self._fused = fused
        self._model, self._layout, self._numbers = model, layout, numbers
        self._rates, self._fits = rates, fits
        self._seen: dict[Step, Pass] = {}

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

    def time(self, step: Step, *, overlap: Number = 1, fill: Number = 1, bounds_only: bool = False) -> StepTime:
        """Bounds of a step, and unless bounds_only what is expected of one pass; overlap, fill as in step_time."""
        one = self._passed(step, bounds_only)
        return step_time(one, self._rates, stages=self._layout.pp, overlap=overlap, fill=fill)

    def roofline_s(self, step: Step) -> Number:
        """Roofline time of one pass: what `time` has, without the rest."""
        return self._passed(step, bounds_only=True).roofline_s

    def parts(self, step: Step) -> Parts:
        """What is expected of one pass, before an engine takes its shares."""
        parts = self._passed(step, bounds_only=False).parts
        return Parts() if parts is None else parts

    def _passed(self, step: Step, bounds_only: bool) -> Pass:
        sizes = (
            size
            for part in step.slices
            for size in (part.sequences, part.new, part.context, part.steps, part.head_positions)
        )
        plain = is_plain(step.busy, *sizes)
        found = self._seen.get(step) if plain else None
        if found is not None and (bounds_only or found.parts is not None):
            return found
        ops = operators(self._model, step, self._layout, self._numbers)
        ops = tuple(op for op in ops if not is_fusible(op)) if self._fused else ops
        fits = None if bounds_only else self._fits
        one = evaluated(ops, self._rates, fits, stages=self._layout.pp, expert_devices=self._layout.ep)
        if plain:
            if len(self._seen) >= _MOST:
                self._seen = {}  # a new one: another thread may be reading the old
            self._seen[step] = one
        return one


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

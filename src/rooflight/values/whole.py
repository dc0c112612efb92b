"""A whole model run on a machine, beside what was predicted for it before."""

from __future__ import annotations

from typing import Literal

import msgspec

from rooflight.span import Span
from rooflight.values.accelerator import Accelerator
from rooflight.values.note import Note
from rooflight.values.sample import MachineState, Sample, Timing
from rooflight.values.shown import Displayed, Part

Phase = Literal["prefill", "decode"]


class StepTimed(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A step of the whole model: a prefill of one prompt, or a decode step.

    sequences, new, context     it is of so many sequences, with so many new tokens each after so many cached ones
    predicted       seconds, computed before anything ran
    sample          of the layers that were run; time_s: of all layers, the others in proportion
    extrapolated    share of time_s that was not timed: of layers that did not fit
    tokens_per_s    measured, and predicted_tokens_per_s
    over_ceiling    measured speed over that of the ceiling; over_expected: over what was expected
    faster          than the ceiling, by more than runs differ: than this machine was measured, or than physics allows
    """

    brief = ("phase", "sequences", "new", "tokens_per_s", "over_expected")

    phase: Phase
    sequences: int
    new: int
    context: int
    predicted: Span
    sample: Sample
    time_s: Timing
    extrapolated: float
    tokens_per_s: float
    predicted_tokens_per_s: Span
    over_ceiling: float
    over_expected: float
    faster: bool


class WholeModel(Displayed, msgspec.Struct, frozen=True, kw_only=True):
    """A model's steps as they were timed. by: torch (a decoder made of its plan), or transformers.

    engine      whose expected times: torch by the machine's own tables, else "" for the mean of the serving engines
    layers      of the model; run: those that fitted
    pace        seconds of a kernel of the machine's tables that streams weights ("memory"), and of one that multiplies
                ("arithmetic"), run in turns with the steps, over what the tables say: above 1 the machine was slower
                meanwhile than when it was measured; empty where it has no tables
    interrupted whether somebody ended it: the steps are those that were timed until then
    notes       what the prediction takes for granted
    """

    brief = ("model", "device", "steps")

    model: str
    device: str
    on: Accelerator
    by: str
    weights: str
    engine: str
    layers: int
    run: int
    machine: MachineState
    steps: tuple[StepTimed, ...]
    interrupted: bool = False
    pace: dict[str, float] = {}
    notes: tuple[Note, ...] = ()

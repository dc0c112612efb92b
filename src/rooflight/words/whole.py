"""A whole model's steps in words."""

from __future__ import annotations

import math

from rooflight.units import round_significant
from rooflight.values.whole import StepTimed, WholeModel
from rooflight.words.notes import worded
from rooflight.words.seen import at_best, mismatched


def answer(found: WholeModel) -> str:
    """The sentence that a colleague could repeat."""
    decodes = [one for one in found.steps if one.phase == "decode"]
    told = max(decodes or found.steps, key=lambda one: -one.sequences)
    rate = round_significant(told.tokens_per_s)
    what = f"at batch {told.sequences}" if decodes else f"in a prefill of {told.new} tokens"
    expected = round_significant(told.predicted_tokens_per_s.expected)
    said = f"{found.model} in {found.weights} makes {rate} tok/s {what} on {found.device}: {expected} were expected"
    outside = [one for one in found.steps if _outside(one)]
    if outside:
        which = "all" if len(outside) == len(found.steps) else f"{len(outside)} of {len(found.steps)}"
        said += f"; {which} steps lie outside the interval of what was expected, "
        furthest = max(outside, key=lambda one: abs(math.log(one.over_expected)))
        said += f"{_step(furthest)} makes {round_significant(furthest.over_expected, 2)} times as much"
    elif len(found.steps) > 1:
        off = max(abs(one.over_expected - 1) for one in found.steps)
        said += f", and no step is more than {off:.0%} from what was".replace("%", " %")
    faster = next((f"{_step(one)} is faster" for one in found.steps if one.faster), "nothing is faster")
    return f"{said}; {faster} than {_limit(found)}.{mismatched(found.device, found.machine, found.on)}"


def _outside(one: StepTimed) -> bool:
    """Whether its time lies outside the interval of what was expected, where there is one."""
    low, high = one.predicted.low, one.predicted.high
    return low is not None and high is not None and not low <= one.time_s.median <= high


def _limit(found: WholeModel) -> str:
    return "the fastest seen here allows" if found.on.measured is not None else "physics allows"


def _step(one: StepTimed) -> str:
    return f"batch {one.sequences}" if one.phase == "decode" else f"a prefill of {one.new}"


def ceiling(found: WholeModel) -> str:
    """The head of the ceiling's column."""
    return at_best(found.on)


def notes(found: WholeModel) -> tuple[str, ...]:
    """What a reader should know of how it was run, then what the prediction takes for granted."""
    made = (
        "a decoder made of the model's plan, its kernels called one by one" if found.by == "torch"
        else "transformers' own module of the config"
    )  # fmt: skip
    told = [f"random weights, {made}; the prediction was made before anything ran"]
    if found.interrupted:
        told.append("interrupted: the steps are those that were timed until then, some less often than others")
    if found.pace:
        told.append(
            "in turns with the steps, kernels of the machine's tables took "
            f"{round_significant(found.pace['memory'])} times what the tables say where they stream weights, and "
            f"{round_significant(found.pace['arithmetic'])} times where they multiply: so much slower (above 1) was "
            "the machine itself meanwhile, and the prediction does not know of it"
        )
    if found.run < found.layers:
        share = max(one.extrapolated for one in found.steps)
        told.append(
            f"{found.run} of {found.layers} layers fitted and were timed: up to {share:.0%} of a time is theirs in "
            "proportion".replace("%", " %")
        )
    if not found.engine:
        told.append(
            f"{found.on.id} has no tables of kernels, so the mean of the serving engines is expected, not torch: "
            "`rooflight measure` makes them"
        )
    if found.by == "transformers" and found.engine:
        told.append("the tables are of our own decoder's kernels: what transformers adds is not in them")
    return (*told, *worded(found.notes))

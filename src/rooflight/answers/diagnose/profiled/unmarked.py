"""Steps of a profile that no mark sizes: the question's own step, where the kernels are as many as its layers ask for.

A decode step calls each kernel of attention once a layer (or a few times): calls of it over layers is how many steps
there are. That these are the question's steps is the user's word; it is refused where calls or times contradict it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rooflight.answers.diagnose.profiled.steps import StepsFound, found_steps
from rooflight.answers.diagnose.setting import Setting
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.values.model import Attention, LatentAttention
from rooflight.values.recorded import DeviceTrace, StepSeen, Traced

# Matrix products a layer and step: projections and feed-forward fused to two or apart, parts of one added up after it.
_FEWEST, _MOST = 2, 12
# Kernels that take so many times what physics allows are rather of other steps (of prompts, of more sequences).
_SLOWEST = 4.0

Refused = Literal["question", "devices", "calls", "faster", "slower"]


class Supposed(msgspec.Struct, frozen=True, kw_only=True):
    """Steps as the question states them. traced None: they are not taken for the profile's, because of refused.

    calls, layers   of attention, on the profile's device and of the model
    """

    traced: Traced | None = None
    found: StepsFound | None = None
    refused: Refused | None = None
    calls: int = 0
    layers: int = 0


def supposed(lead: Traced, at: Setting) -> Supposed | None:
    """The question's decode step as the profile's; None where no model and machine are there to count it."""
    sc = at.scenario
    if sc is None:
        return None
    if "batch" not in at.given or not at.given & {"isl", "context"}:
        return Supposed(refused="question")
    layout = sc.layout
    one = len(lead.devices) == 1 or (not lead.devices and layout.devices == 1)
    if not one or layout.pp > 1 or layout.dp > 1:
        return Supposed(refused="devices")
    layers = _layers(sc)
    calls = _calls(lead)
    count = _count(lead, calls, layers)
    if not count:
        return Supposed(refused="calls", calls=min(calls, default=0), layers=layers)
    traced = _stepped(lead, sc, count)
    found = found_steps(traced, sc)
    if found is None or found.bound is None or found.ceiling_s is None or found.busy_s is None:
        return None
    late = found.busy_s > _SLOWEST * found.ceiling_s
    refused: Refused | None = "faster" if found.faster else "slower" if late else None
    return Supposed(
        traced=None if refused else traced, found=found, refused=refused, calls=min(calls), layers=layers,
    )  # fmt: skip


def _layers(sc: Scenario) -> int:
    """Layers that attend; none where others mix tokens by kernels that count as attention too."""
    mixers = [(layer.mixer, layer.count) for layer in sc.model.layers]
    if not all(mixer is None or isinstance(mixer, Attention | LatentAttention) for mixer, _ in mixers):
        return 0
    return sum(count for mixer, count in mixers if mixer is not None)


def _calls(lead: Traced) -> list[int]:
    """Of each kernel of attention, by its name."""
    calls: dict[str, int] = {}
    for one in lead.kernels:
        if one.operator == "attention":
            calls[one.name] = calls.get(one.name, 0) + one.calls
    return list(calls.values())


def _count(lead: Traced, calls: list[int], layers: int) -> int:
    """How many steps there are; 0 where calls do not say."""
    if not layers or not calls or any(number % layers for number in calls):
        return 0
    count = min(calls) // layers
    products = sum(one.calls for one in lead.kernels if one.operator == "gemm")
    return count if _FEWEST <= products / (count * layers) <= _MOST else 0


def _stepped(lead: Traced, sc: Scenario, count: int) -> Traced:
    """The profile with so many equal steps, each with its part of the device's time."""
    busy = sum(one.busy_s for one in lead.devices) or sum(one.total_s for one in lead.kernels)
    span = sum(one.span_s for one in lead.devices) or busy
    step = StepSeen(
        name="", phase="decode", batch=float(sc.workload.batch), context=float(context_tokens(sc.workload)),
        wall_s=span / count, busy_s=busy / count,
    )  # fmt: skip
    devices = lead.devices or (DeviceTrace(device="", span_s=span, busy_s=busy),)
    return msgspec.structs.replace(lead, steps=(step,) * count, devices=devices)

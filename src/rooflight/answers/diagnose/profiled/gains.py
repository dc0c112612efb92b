"""What the moves promise for the load that a profile shows."""

from __future__ import annotations

import msgspec

from rooflight.answers.diagnose.profiled.steps import StepsFound
from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.moves.report import moves
from rooflight.errors import RooflightError
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.values.diagnosis import Bound
from rooflight.values.moves import wanted
from rooflight.values.note import Note

# Which moves lift a ceiling; others may help too, but by another one.
_LIFTS: dict[str, tuple[str, ...]] = {
    "memory": ("batch", "weights", "kv-cache"), "compute": ("weights",), "launch": ("graphs", "batch"),
    "link": ("layout",),
}  # fmt: skip
_MOST = 3


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """A move (words.moves says it) and how many times the throughput it promises."""

    move: Note
    times: float


def gains(bound: Bound | None, step: StepsFound | None, at: Setting) -> tuple[Gain, ...]:
    """The best of each kind of move that lifts the ceiling, for the load of the steps; none without model and card."""
    kinds = _LIFTS.get(bound or "", ())
    if at.scenario is None or not kinds:
        return ()
    try:
        tried = moves(_loaded(at.scenario, step)).tried
    except RooflightError:
        return ()
    found: dict[str, Gain] = {}
    for one in tried:
        if one.move.key in kinds and one.verdict == "helps" and one.gains is not None:
            times = wanted(one.gains, "throughput").expected
            best = found.get(one.move.key)
            if best is None or times > best.times:
                found[one.move.key] = Gain(move=one.move, times=times)
    return tuple(sorted(found.values(), key=lambda one: -one.times)[:_MOST])


def _loaded(sc: Scenario, step: StepsFound | None) -> Scenario:
    """With as many sequences as a step decodes, and prompts that make its context."""
    if step is None or not step.batch or step.phase == "prefill":
        return sc
    batch = max(1, round(step.batch * sc.layout.dp))
    if step.context is None:
        return changed(sc, batch=batch)
    # half of the answer is there in the mean: context = isl + osl / 2 - 1
    isl = max(1, round(step.context - sc.workload.osl / 2 + 1))
    return changed(sc, batch=batch, isl=isl)

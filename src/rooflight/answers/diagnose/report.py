"""All analyses of recorded files, and which of their findings leads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

import msgspec
from msgspec.structs import replace

from rooflight.answers.diagnose.setting import Setting
from rooflight.values.diagnosis import Analysis, Bound, Confidence, Found
from rooflight.values.recorded import Recorded

# In the order in which one leads where several are as sure of a bound: what saw the device itself comes first.
ANALYSES: tuple[Analysis, ...] = ("kernels", "regimes", "fits", "benchmarks", "memory")
# A queue that a run shows itself is no prediction.
_WAITS: tuple[Bound, ...] = ("queue", "capacity", "starved")
_SURE: tuple[Confidence, ...] = ("high", "medium", "low")

Analyse = Callable[[Sequence[Recorded], Setting], Found | None]


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What each analysis found, the leading one first; none: nothing recorded is for any of them."""

    files: tuple[Recorded, ...]
    setting: Setting
    found: tuple[tuple[Analysis, Found], ...]


def findings(files: Sequence[Recorded], at: Setting) -> Findings:
    """Every analysis's finding, ranked: those that name a ceiling, the surer first, then those that do not.

    Of those that name the ceiling of the surest, the one that saw most speaks first.
    """
    saying = _agreed(list(_found(files, at)))
    loaded = any(one.bound not in (None, "idle") for _, one in saying)  # what was idle was so at another time
    found = sorted(saying, key=lambda one: (loaded and one[1].bound == "idle", *_place(*one)))
    if found and (bound := found[0][1].bound) is not None:
        lead = min((one for one in found if one[1].bound == bound), key=lambda one: ANALYSES.index(one[0]))
        found = [lead, *(one for one in found if one is not lead)]
    return Findings(files=tuple(files), setting=at, found=tuple(found))


def _found(files: Sequence[Recorded], at: Setting) -> Iterator[tuple[Analysis, Found]]:
    for name in ANALYSES:
        analyse: Analyse = getattr(import_module(f"rooflight.answers.diagnose.{name}"), name)
        one = analyse(files, at)
        if one is not None:
            yield name, one


def _agreed(found: list[tuple[Analysis, Found]]) -> list[tuple[Analysis, Found]]:
    """What one run's prediction says is no surer than what several measurements say where they say something else."""
    fits = next((one for name, one in found if name == "fits" and one.bound is not None), None)
    return [
        (name, replace(one, confidence=max(one.confidence, fits.confidence, key=_SURE.index)))
        if fits is not None and name == "benchmarks" and one.bound not in (None, fits.bound, *_WAITS) else (name, one)
        for name, one in found
    ]  # fmt: skip


def _place(name: Analysis, one: Found) -> tuple[int, int, int]:
    # several measurements that show that no ceiling binds say as much as a ceiling's name
    told = 0 if one.bound is not None else 2 if one.cannot_tell else 0 if name == "fits" else 1
    return told, _SURE.index(one.confidence), ANALYSES.index(name)


def surest(found: Sequence[Found]) -> Confidence:
    """The confidence of findings that agree: that of the surest."""
    return min((one.confidence for one in found), key=_SURE.index)

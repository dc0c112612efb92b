"""All analyses of recorded files, and which of their findings leads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

import msgspec
from msgspec.structs import replace

from rooflight.answers.diagnose.memory import accounts
from rooflight.answers.diagnose.setting import Setting
from rooflight.values.diagnosis import Analysis, Bound, Confidence, Found
from rooflight.values.recorded import Recorded

# In the order in which one leads where several are as sure of a bound: what saw the device itself comes first.
ANALYSES: tuple[Analysis, ...] = ("kernels", "regimes", "fits", "benchmarks", "memory")
# A queue that a run shows itself is no prediction.
_WAITS: tuple[Bound, ...] = ("queue", "capacity", "starved")
# What an accelerator counts of itself: the resource that it works at is seen there, not predicted.
_COUNTERS = ("tensor_active", "dram_active", "sm_active", "fp16_active", "fp32_active")
_PREDICT: tuple[Analysis, ...] = ("fits", "benchmarks", "memory")
_SURE: tuple[Confidence, ...] = ("high", "medium", "low")

Analyse = Callable[[Sequence[Recorded], Setting], Found | None]


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What each analysis found, the leading one first; none: nothing recorded is for any of them.

    confidence  of the leading one, that of the surest that agrees; less where one of `against` names another ceiling
    against     analyses that do; seen: the leading one saw the device, where those predict
    cannot_tell no ceiling is named: an engine's account of its memory is an answer where nothing else was given
    """

    files: tuple[Recorded, ...]
    setting: Setting
    found: tuple[tuple[Analysis, Found], ...]
    confidence: Confidence = "low"
    against: tuple[tuple[Analysis, Bound], ...] = ()
    seen: bool = False
    cannot_tell: bool = True


def findings(files: Sequence[Recorded], at: Setting) -> Findings:
    """Every analysis's finding, ranked: those that name a ceiling, the surer first, then those that do not.

    What was seen of the device comes before what is predicted, however sure. Of those that name the ceiling of the
    first, the one that saw most speaks first. An account of memory comes last where more was given.
    """
    saying = _agreed(list(_found(files, at)))
    more = _given(files) and any(name != "memory" for name, _ in saying)
    loaded = any(one.bound not in (None, "idle") for _, one in saying)  # what was idle was so at another time
    sees = any(_seen(*one) for one in saying)
    found = sorted(
        saying,
        key=lambda one: (
            loaded and one[1].bound == "idle", more and one[0] == "memory" and one[1].bound is None,
            sees and one[0] in _PREDICT and one[1].bound not in _WAITS, *_place(*one),
        ),
    )  # fmt: skip
    if found and (bound := found[0][1].bound) is not None:
        lead = min((one for one in found if one[1].bound == bound), key=lambda one: ANALYSES.index(one[0]))
        found = [lead, *(one for one in found if one is not lead)]
    if not found:
        return Findings(files=tuple(files), setting=at, found=())
    return _ranked(files, at, found)


def _ranked(files: Sequence[Recorded], at: Setting, found: list[tuple[Analysis, Found]]) -> Findings:
    """The findings in their order, with what all of them make of the first."""
    name, lead = found[0]
    others = tuple((other, one.bound) for other, one in found[1:] if _against(lead, one))
    sure = surest([one for _, one in found if one.bound == lead.bound])
    accounts_only = name != "memory" or not _given(files)
    told_all = lead.bound is not None or (not lead.cannot_tell and accounts_only)
    if others and lead.bound is not None:
        sure = _SURE[min(_SURE.index(sure) + 1, len(_SURE) - 1)]
    return Findings(
        files=tuple(files), setting=at, found=tuple(found), confidence=sure if told_all else "low",
        against=tuple((other, bound) for other, bound in others if bound is not None),
        seen=_seen(name, lead), cannot_tell=not told_all,
    )  # fmt: skip


def _given(files: Sequence[Recorded]) -> bool:
    """Whether anything else than engines' accounts of their memory was given."""
    return any(is_other(one) for one in files)


def is_other(one: Recorded) -> bool:
    """Whether a file has no engine's account of its memory."""
    return not any(accounts(record.measured) for record in one.records)


def _seen(name: Analysis, one: Found) -> bool:
    """Whether a finding is of what was seen of the device: its kernels, or the counters it keeps of its resources."""
    if one.bound is None or one.bound in ("idle", *_WAITS):
        return False
    rows = getattr(one, "rows", ())
    return name == "kernels" or (name == "regimes" and any(row.values.keys() & set(_COUNTERS) for row in rows))


def _against(lead: Found, one: Found) -> bool:
    """Whether a finding that is not a guess names another ceiling of the machine."""
    hardware = one.bound is not None and one.bound not in ("idle", *_WAITS)
    of_it = lead.bound is not None and lead.bound not in ("idle", *_WAITS)
    return hardware and of_it and one.bound != lead.bound and one.confidence != "low"


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

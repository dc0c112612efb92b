"""Two or more measurements of one thing: what is fixed in them, what grows, and which ceiling that makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rooflight.answers.diagnose.fitted.degrees import degrees, layouts
from rooflight.answers.diagnose.fitted.fit import Fit
from rooflight.answers.diagnose.fitted.growth import growth
from rooflight.answers.diagnose.fitted.hosts import answers, drafts, offloaded, threads
from rooflight.answers.diagnose.fitted.kinds import engines, moved
from rooflight.answers.diagnose.fitted.loads import loads
from rooflight.answers.diagnose.fitted.prompts import behind, prompts
from rooflight.answers.diagnose.fitted.series import Series, series
from rooflight.answers.diagnose.setting import Setting
from rooflight.values.diagnosis import Found
from rooflight.values.recorded import Record, Recorded

# Series that are looked into, those of the most points first, and points of one, evenly picked.
_MOST_SERIES, _MOST_POINTS = 16, 48
_SURE = {"high": 0, "medium": 1, "low": 2}
# What tells more first, where all else is equal.
_ORDER = (
    "batch", "context", "prompt", "tp", "weights", "kv_cache", "device", "mixed", "layout", "pp", "dp", "engine",
    "offload", "threads", "cached", "answer", "draft_tokens",
)  # fmt: skip


class FitsFound(Found, frozen=True, kw_only=True):
    """The series of the records, the one that says most first; bound and confidence are that one's."""

    fits: tuple[Fit, ...]


def fits(recorded: Sequence[Recorded], setting: Setting) -> FitsFound | None:
    """What records say together, those of several files too; None where no two are of one thing."""
    return fits_of([record for one in recorded for record in one.records], setting)


def fits_of(records: Sequence[Record], setting: Setting) -> FitsFound | None:
    """The same of records."""
    found = [fit for one in _picked(series(records)) for fit in _fits(one, setting)]
    if not found:
        return None
    found.sort(
        key=lambda fit: (
            fit.cannot_tell, fit.bound not in ("queue", "capacity"), _SURE[fit.confidence], -len(fit.values),
            _ORDER.index(fit.axis), fit.values, fit.labels,
        )
    )  # fmt: skip
    first = found[0]
    return FitsFound(bound=first.bound, confidence=first.confidence, cannot_tell=first.cannot_tell, fits=tuple(found))


def _picked(found: Sequence[Series]) -> Iterator[Series]:
    """Few enough to look into all of them."""
    largest = sorted(found, key=lambda one: (-len(one.runs), _ORDER.index(one.axis)))[:_MOST_SERIES]
    for one in largest:
        if one.axis == "mixed" and len({run.record.stated.model for run in one.runs}) > 1:
            continue  # several models are not one thing
        yield _thinned(one)


def _thinned(one: Series) -> Series:
    count = len(one.runs)
    if count <= _MOST_POINTS:
        return one
    places = sorted({round(step * (count - 1) / (_MOST_POINTS - 1)) for step in range(_MOST_POINTS)})
    return Series(
        axis=one.axis, runs=tuple(one.runs[place] for place in places),
        labels=tuple(one.labels[place] for place in places),
        xs=tuple(one.xs[place] for place in places) if one.xs else (),
    )  # fmt: skip


def _fits(one: Series, setting: Setting) -> Iterator[Fit]:
    found: list[Fit | None]
    if one.axis == "batch":
        found = [loads(one, setting), growth(one, setting)]
        if found[0] is not None:
            found.pop()  # steps are no longer those of all in flight
    elif one.axis == "context":
        found = [growth(one, setting)]
    elif one.axis == "prompt":
        found = [prompts(one, setting)]
    elif one.axis == "cached":
        found = [behind(one)]
    elif one.axis in ("tp", "pp", "dp"):
        found = [degrees(one, setting)]
    elif one.axis == "layout":
        found = [layouts(one, setting)]
    elif one.axis == "engine":
        found = [engines(one, setting)]
    elif one.axis in ("weights", "kv_cache", "device", "mixed"):
        found = [moved(one, setting)]
    else:
        found = [{"offload": offloaded, "threads": threads, "draft_tokens": drafts, "answer": answers}[one.axis](one)]
    return (fit for fit in found if fit is not None)

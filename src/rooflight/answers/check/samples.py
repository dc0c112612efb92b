"""Stored samples: those of one thing together, and the same thing in two files held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from msgspec.structs import replace

from rooflight.probe.timing import timing
from rooflight.values.sample import Sample, Timing
from rooflight.values.samples import Kind, Samples, Stored


def together(first: Stored, second: Stored | None = None) -> Samples:
    """Everything that was measured, each thing once."""
    met: dict[object, tuple[list[Sample], list[Sample]]] = {}
    for place, file in enumerate((first,) if second is None else (first, second)):
        for one in (part for sample in file.samples for part in _timed(sample)):
            met.setdefault(_thing(one), ([], []))[place].append(one)
    return Samples(
        files=(first,) if second is None else (first, second), kinds=tuple(_kind(a, b) for a, b in met.values())
    )


def _timed(one: Sample) -> Iterator[Sample]:
    """A sample; of a request its first token too, as a time of its own."""
    yield one
    if one.kind == "request" and one.ttft_s is not None:
        first = Timing(median=one.ttft_s, low=one.ttft_s, high=one.ttft_s)
        yield replace(one, name=f"{one.name}, first token", time_s=first, tokens_per_s=None)


def _thing(one: Sample) -> object:
    """What tells one thing from another, wherever it was measured: a device or a date makes no other kernel.

    Requests of one load are one thing, though each has lengths of its own.
    """
    sizes = tuple(sorted((one.shape or {}).items()))
    lengths = () if one.kind == "request" else (one.isl, one.osl)
    return (
        one.kind, one.name, one.operator, one.model, one.count, one.runs, one.format, one.compute, sizes, one.batch,
        lengths, one.context, one.outcome,
    )  # fmt: skip


def _kind(first: Sequence[Sample], second: Sequence[Sample]) -> Kind:
    one, other = _pooled(first), _pooled(second)
    shown = (first or second)[0]
    ratio = None if one is None or other is None or not other.median else one.median / other.median
    return Kind(
        sample=shown, samples=len(first) + len(second), first=one, second=other, ratio=ratio, differs=_apart(one, other)
    )


def _pooled(samples: Sequence[Sample]) -> Timing | None:
    """The times of one thing: its own; of several measurements the median of their medians, within all that was seen.

    Of many single runs low and high are their 10th and 90th percentile.
    """
    times = [one.time_s for one in samples if one.time_s is not None]
    if len(times) <= 1:
        return times[0] if times else None
    medians = [one.median for one in times]
    if all(one.n == 1 for one in times):
        return timing(medians)
    low, high = min(one.low for one in times), max(one.high for one in times)
    return Timing(median=median(medians), low=low, high=high, n=sum(one.n for one in times))


def _apart(one: Timing | None, other: Timing | None) -> bool | None:
    """Whether two intervals of runs have nothing in common; of a single run there is no interval."""
    if one is None or other is None or 1 in (one.n, other.n):
        return None
    return one.high < other.low or other.high < one.low

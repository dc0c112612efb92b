"""Stored samples in a sentence: what a file holds, and by how much two of them differ."""

from __future__ import annotations

from collections import Counter
from statistics import median

from msgspec.structs import replace

from rooflight.units import round_significant
from rooflight.values.samples import Samples

PLURALS = {
    "kernel": "kernels", "collective": "collectives", "bandwidth": "bandwidths", "step": "steps",
    "request": "requests", "interval": "intervals",
}  # fmt: skip


def told(found: Samples) -> Samples:
    """With its sentence."""
    return replace(found, answer=_one(found) if len(found.files) == 1 else _two(found))


def _one(found: Samples) -> str:
    (file,) = found.files
    counts = Counter(one.kind for one in file.samples)
    what = ", ".join(f"{count:,} {PLURALS[kind] if count > 1 else kind}" for kind, count in counts.items())
    devices = list(dict.fromkeys(one.device for one in file.samples if one.device))
    dates = sorted(one.start for one in file.samples if one.start)
    on = f" on {' and '.join(devices)}" if devices else ""
    when = (
        "" if not dates else f", {dates[0][:10]}" + (f" to {dates[-1][:10]}" if dates[0][:10] != dates[-1][:10] else "")
    )
    return f"{file.source} holds {what}{on}{when}{_lost(found)}."


def _two(found: Samples) -> str:
    first, second = found.files
    both = [one for one in found.kinds if one.ratio is not None]
    if not both:
        return f"{first.source} and {second.source} have nothing in common{_lost(found)}."
    ratios = [one.ratio for one in both if one.ratio is not None]
    apart = [one for one in both if one.differs]
    said = f"Of {len(both):,} things that both files time, {len(apart):,} differ by more than their runs do"
    middle = round_significant(median(ratios))
    low, high = round_significant(min(ratios)), round_significant(max(ratios))
    return f"{said}: {second.source} is {middle} times as fast in the median ({low} to {high}){_lost(found)}."


def _lost(found: Samples) -> str:
    count = sum(len(file.lost) for file in found.files)
    return f"; {count:,} lines are no samples" if count > 1 else "; one line is no sample" if count else ""

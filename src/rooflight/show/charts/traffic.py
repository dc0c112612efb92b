"""What a step moves through memory: weights, KV cache, activations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.layers import finished
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import axis_x, bar, behind, ends, names, strips, tips
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.wording import deployed, source
from rooflight.values.analysis import Analysis

PARTS = {"weights": "weights", "kv_read": "KV cache read", "kv_write": "KV cache written", "activations": "activations"}
_HUES = {"weights": "1", "kv_read": "2", "kv_write": "3", "activations": "4"}
_READ = (
    "Bytes through the memory of all devices in one step. Bars of a phase follow each other and add up to its total."
)


def rows(analysis: Analysis, look: Look = STANDARD) -> Datasets:
    """A bar a phase and part, from where the last part ended."""
    found: Rows = []
    for name, phase in sorted(analysis.phases.items()):
        start = 0.0
        for part, words in PARTS.items():
            size: float = getattr(phase.bytes, part)
            share = numbers.percent(size / phase.bytes.total)
            found.append({
                "row": len(found), "phase": name, "part": part, "name": f"{name}: {words}", "bytes": size,
                "x": start, "x2": start + size, "end": start + size, "hue": _HUES[part],
                "text": f"{numbers.amount(size, 'B')}, {share}", "said": numbers.amount(size, "B"), "share": share,
            })  # fmt: skip
            start += size
    texts = [row["text"] for row in found]
    return {"parts": found, "ends": ends([row["end"] for row in found], look, texts)}


def traffic(analysis: Analysis, *, look: Look = STANDARD) -> Chart:
    """The bytes of a step of each phase, by what they are."""
    data = rows(analysis, look)
    shown = tips("part", "bytes", "of the step")
    layers = [*names("parts", look, shown), bar("parts", look, shown), *behind("parts", look, shown)]
    main = strips(look, max(1, len(data["parts"])), axis_x("bytes of a step", unit="B"), layers)
    notes = (_READ, source([analysis])) if "decode" in analysis.phases else ()
    return finished("traffic", main, data, look, start=0, title=_title(analysis), notes=notes)


def _title(analysis: Analysis) -> str:
    phases: Mapping[str, Any] = analysis.phases
    if "decode" not in phases:
        return analysis.answer
    moved = phases["decode"].bytes
    part = max(PARTS, key=lambda name: getattr(moved, name))
    size = getattr(moved, part)
    return (
        f"{deployed(analysis)}: a decode step moves {numbers.amount(moved.total, 'B')}, "
        f"{numbers.percent(size / moved.total)} of it {PARTS[part]}"
    )

"""What lies in memory, against what may."""

from __future__ import annotations

from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.layers import finished
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import axis_x, bar, behind, edge, ends, names, strips, tips
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.wording import deployed, source
from rooflight.values.analysis import Analysis
from rooflight.values.held import MemoryBlock

PARTS = {
    "weights_bytes": ("weights", "1"),
    "kv_bytes": ("KV cache of the sequences asked for", "2"),
    "activation_bytes": ("working memory", "4"),
    "engine_bytes": ("the engine itself", "3"),
}
_READ = (
    "Memory of all devices; each bar starts where the one above ends. What passes the upright line does not fit: it is "
)
_ALL = "all there is."
_SHARE = "what an engine may use, {kept} of {there} being withheld from it."


def rows(analysis: Analysis, look: Look = STANDARD) -> Datasets:
    """A bar a part, from where the last one ended; the line of the capacity."""
    held: MemoryBlock = analysis.memory
    found: Rows = []
    start = 0.0
    for part, (words, hue) in PARTS.items():
        size: float = getattr(held, part)
        found.append({
            "row": len(found), "part": part, "name": words, "bytes": size, "x": start, "x2": start + size,
            "end": start + size, "hue": hue, "text": numbers.amount(size, "B"), "said": numbers.amount(size, "B"),
            "share": numbers.percent(size / held.needed_bytes) if held.needed_bytes else "",
        })  # fmt: skip
        start += size
    most = [] if held.allowed_bytes is None else [held.allowed_bytes]
    edges: Rows = [{"x": one, "name": _edge_name(held), "said": numbers.amount(one, "B"), "share": ""} for one in most]
    texts = [row["text"] for row in found]
    return {"parts": found, "capacity": edges, "ends": ends([*(row["end"] for row in found), *most], look, texts)}


def _edge_name(held: MemoryBlock) -> str:
    return "what an engine may use" if held.withheld_bytes and held.by_share else "all there is"


def memory(analysis: Analysis, *, look: Look = STANDARD) -> Chart:
    """Weights, KV cache and reserve against the devices' capacity."""
    data = rows(analysis, look)
    shown = tips("part", "bytes", "of what is needed")
    layers = [
        edge("capacity", look, tips("line", "bytes")),
        *names("parts", look, shown),
        bar("parts", look, shown),
        *behind("parts", look, shown),
    ]
    main = strips(look, len(data["parts"]), axis_x("bytes of memory, all devices", unit="B"), layers)
    notes = tuple(text for text in (_edge(analysis.memory), source([analysis])) if text)
    return finished("memory", main, data, look, start=0, title=_title(analysis), notes=notes)


def _edge(held: MemoryBlock) -> str:
    """What the upright line is; nothing where there is none."""
    if held.usable_bytes is None:
        return ""
    if not held.withheld_bytes or not held.by_share:
        return _READ + _ALL
    kept, there = numbers.amount(held.withheld_bytes, "B"), numbers.amount(held.usable_bytes, "B")
    return _READ + _SHARE.format(kept=kept, there=there)


def _title(analysis: Analysis) -> str:
    held = analysis.memory
    needed = numbers.amount(held.needed_bytes, "B")
    if held.allowed_bytes is None:
        return f"{deployed(analysis)} takes {needed}; no source has the devices' size"
    sizes = f"{needed} of {numbers.amount(held.allowed_bytes, 'B')}"
    if not held.fits:
        return f"{deployed(analysis)} does not fit: it needs {sizes}"
    return f"{deployed(analysis)} fits: it takes {sizes}; at most {held.most:,} such sequences fit at once"

"""What lies in memory, against what there is."""

from __future__ import annotations

from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import finished
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import axis_x, bar, behind, ends, names, strips
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.wording import deployed, source
from rooflight.values.analysis import Analysis
from rooflight.values.held import MemoryBlock

PARTS = {
    "weights_bytes": ("weights", "1"),
    "kv_bytes": ("KV cache of the sequences asked for", "2"),
    "activation_bytes": ("working memory", "4"),
    "engine_bytes": ("the engine itself", "3"),
    "withheld_bytes": ("withheld from the engine by its share", "capacity"),
}
_READ = (
    "Memory of all devices; each bar starts where the one above ends. The upright line is all there is: what passes it "
    "does not fit."
)


def rows(analysis: Analysis, look: Look = STANDARD) -> Datasets:
    """A bar a part, from where the last one ended; the line of the capacity."""
    held: MemoryBlock = analysis.memory
    found: Rows = []
    start = 0.0
    for part, (words, hue) in PARTS.items():
        size: float = getattr(held, part)
        found.append({
            "row": len(found), "part": part, "name": words, "bytes": size, "x": start, "x2": start + size,
            "end": start + size, "hue": hue, "text": numbers.amount(size, "B"),
        })  # fmt: skip
        start += size
    most = [] if held.usable_bytes is None else [held.usable_bytes]
    return {"parts": found, "capacity": [{"x": one} for one in most], "ends": ends([start, *most], look)}


def memory(analysis: Analysis, *, look: Look = STANDARD) -> Chart:
    """Weights, KV cache and reserve against the devices' capacity."""
    alt = altair()
    data = rows(analysis, look)
    edge = alt.Chart(alt.NamedData("capacity")).mark_rule(strokeWidth=2, color=look.palette.ink).encode(x="x:Q")
    layers = [edge, *names("parts", look), bar("parts", look), *behind("parts", look)]
    main = strips(look, len(data["parts"]), axis_x("bytes of memory, all devices", unit="B"), layers)
    return finished("memory", main, data, look, start=0, title=_title(analysis), notes=(_READ, source([analysis])))


def taken_bytes(held: MemoryBlock) -> float:
    """What all of it takes: weights, cache and reserve."""
    return held.weights_bytes + held.kv_bytes + held.reserve_bytes


def _title(analysis: Analysis) -> str:
    held = analysis.memory
    taken = taken_bytes(held)
    if held.usable_bytes is None:
        return f"{deployed(analysis)} takes {numbers.amount(taken, 'B')}; no source has the devices' size"
    sizes = f"{numbers.amount(taken, 'B')} of {numbers.amount(held.usable_bytes, 'B')}"
    if not held.fits:
        return f"{deployed(analysis)} does not fit: it would take {sizes}"
    return f"{deployed(analysis)} fits: it takes {sizes}; at most {held.most:,} such sequences fit at once"

"""Timed kernels as text, rows and a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Drawing, Prose, Table
from rooflight.show.data import Rows, flat, rows_of
from rooflight.units import several
from rooflight.values.kernels import Kernels, KernelTime
from rooflight.values.sample import MachineState
from rooflight.words.kernels import WORDS

SCHEMA = "rooflight.measure-kernels/1"
_MARKS = {"decode": "D", "prefill": "P", "product": "x"}


def blocks(found: Kernels) -> list[Block]:
    """The sentence, dots under the roof, a table a step, why some stay below it, what was left out."""
    shown: list[Block] = [Prose(found.answer, "answer")]
    if found.kernels:
        marks = "D decode, P prefill" if found.model is not None else "x the product"
        shown.append(Drawing((*_drawing(found), f"{marks}; of one device, under the roofs of {found.on.id}")))
    for title, some in _steps(found.kernels).items():
        shown.append(_table(some, title, measured=found.on.measured is not None))
    if len(found.kernels) > 1 and (below := _below(found.kernels)):
        shown.append(Bullets("Below the roof:", below))
    if found.left_out:
        shown.append(Bullets("Left out:", found.left_out))
    shown.append(Bullets("How:", found.notes))
    return shown


def _steps(kernels: Sequence[KernelTime]) -> dict[str, list[KernelTime]]:
    """The kernels of each step under its title."""
    found: dict[str, list[KernelTime]] = {}
    for one in kernels:
        at = one.sample
        title = {
            "decode": f"Decode, batch {at.batch or 0:,.0f} at {several(at.context or 0, 'token')} of context:",
            "prefill": f"Prefill of {several(at.isl or 0, 'token')}:",
        }.get(one.phase, "The product:")
        found.setdefault(title, []).append(one)
    return found


def _below(kernels: Sequence[KernelTime]) -> tuple[str, ...]:
    """Each reason with the kernel that it keeps furthest from its roof."""
    met: dict[str, list[KernelTime]] = {}
    for one in kernels:
        if one.why is not None:
            met.setdefault(one.why, []).append(one)
    lines = []
    for why, some in sorted(met.items(), key=lambda item: -len(item[1])):
        worst = min(some, key=lambda one: one.of_roof)
        such = f", such as {_called(worst)}" if len(some) > 1 else f", {_called(worst)}"
        lines.append(f"{WORDS[why]} ({len(some)}){such}: {worst.because}")
    return tuple(lines)


def _drawing(found: Kernels) -> list[str]:
    from rooflight.show.roof import Dot, Flat, draw

    used = {one.sample.compute for one in found.kernels if one.flop_per_s}
    peaks = found.on.peak_flop_per_s
    flats = [Flat(form, peaks[form]) for form in peaks if form in used]
    dots = [
        Dot(_MARKS[one.phase], one.intensity_flop_per_byte, one.flop_per_s) for one in found.kernels if one.flop_per_s
    ]
    return draw(flats, found.on.memory_bytes_per_s or 0.0, dots)


def _called(one: KernelTime) -> str:
    at = {"decode": one.sample.batch, "prefill": one.sample.isl}.get(one.phase)
    return one.sample.name if at is None else f"{one.operator} at {at:,.0f}"


def _table(some: Sequence[KernelTime], title: str, *, measured: bool) -> Table:
    ceiling = "fastest\nseen" if measured else "ceiling"
    return Table(
        title=title,
        heads=("kernel", "sizes", "time", "±", ceiling, "roofline", "expected", "of\nroof", "below"),
        left=("kernel", "sizes", "below"),
        rows=tuple(
            (
                one.operator,
                sizes(one.sample.shape),
                numbers.seconds(one.median_s),
                numbers.percent(0 if one.sample.time_s is None else one.sample.time_s.spread / 2),
                numbers.seconds(one.ceiling_s),
                numbers.seconds(one.roofline_s),
                numbers.seconds(one.expected_s),
                numbers.percent(one.of_roof),
                "" if one.why is None else WORDS[one.why],
            )
            for one in some
        ),
    )


def sizes(shape: Mapping[str, float] | None) -> str:
    """Sizes with x between, 8 x 4096 x 6144; of attention sequences, heads with those of the cache, and keys."""
    if not shape:
        return ""
    if {"sequences", "heads", "kv_heads", "keys"} <= shape.keys():
        return f"{shape['sequences']:g} x {shape['heads']:g}/{shape['kv_heads']:g} x {shape['keys']:g}"
    return " x ".join(f"{size:.15g}" for size in shape.values())


def rows(found: Kernels) -> Rows:
    """A kernel a row."""
    return rows_of([_flat(one) for one in found.kernels])


def _flat(one: KernelTime) -> dict[str, Any]:
    fields = msgspec.to_builtins(one)
    kept = fields.pop("sample")
    machine = {"machine": kept.pop("machine"), "source": kept.pop("source")}
    shape = {"shape": sizes(kept.pop("shape"))}
    for name in ("schema", "kind", "counters", "operator", "osl", "link_bytes", "tokens_per_s", "count", "runs"):
        kept.pop(name, None)
    return flat({**fields, **shape, **kept, **{"threads": (machine["machine"] or {}).get("threads")}})


class Roofs(msgspec.Struct, frozen=True, kw_only=True):
    """The machine beside which kernels are set: rates of one device.

    measured    when it was; None: they are its datasheet's
    launch_s    the least a call costs
    """

    id: str
    measured: str | None
    peak_flop_per_s: dict[str, float]
    memory_bytes_per_s: float | None
    cache_bytes: float
    launch_s: float


class Document(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """The JSON document of timed kernels."""

    answer: str
    model: str | None
    device: str
    on: Roofs
    weights: str
    tp: int
    machine: MachineState
    complete: bool
    interrupted: bool
    kernels: tuple[KernelTime, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def written(found: Kernels) -> Document:
    """What the document says."""
    card = found.on
    roofs = Roofs(
        id=card.id, measured=None if card.measured is None else card.measured.date,
        peak_flop_per_s=card.peak_flop_per_s, memory_bytes_per_s=card.memory_bytes_per_s,
        cache_bytes=found.cache_bytes, launch_s=found.launch_s,
    )  # fmt: skip
    same = {name: getattr(found, name) for name in Document.__struct_fields__ if name != "on"}
    return Document(on=roofs, **same)


def document(found: Kernels) -> dict[str, Any]:
    """The JSON document as Python values."""
    made: dict[str, Any] = msgspec.to_builtins(written(found))
    return made

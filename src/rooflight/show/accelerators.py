"""Accelerators as a list and one by one: rooflight.accelerators/1 and rooflight.accelerator/1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.roofline.rates import level_roofs, ridges
from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, flat, rows_of
from rooflight.show.levels import level_table
from rooflight.values.accelerator import Accelerator, Assumed, Fact, LevelRoof, Link
from rooflight.values.measured import Measured, Rate
from rooflight.words.notes import worded

LIST_SCHEMA = "rooflight.accelerators/1"
ONE_SCHEMA = "rooflight.accelerator/1"
# Printed figures are dense datasheet rates; this confidence marks an entry as uncertain.
UNCERTAIN = "C"
_LISTED = ("bf16", "fp8", "fp4")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One accelerator: per device, dense, base units; null is what no source gives. uncertain: confidence C."""

    id: str
    name: str
    vendor: str
    family: str
    kind: str
    memory_bytes: float | None
    program_memory_bytes: float | None
    label_memory_bytes: float | None
    memory_bytes_per_s: float | None
    peak_flop_per_s: dict[str, float]
    ridge_flop_per_byte: dict[str, float]
    link: Link | None
    pcie_bytes_per_s: float | None
    last_level_cache_bytes: float | None
    levels: tuple[LevelRoof, ...]
    tdp_w: float | None
    release_year: int | None
    confidence: str
    uncertain: bool


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The document of the list."""

    schema: str = LIST_SCHEMA
    answer: str
    accelerators: tuple[Entry, ...]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The document of one: the entry, the facts as printed, and apart from them what rooflight assumes.

    measured_or_absent      the JSON has `measured` where the machine was: peaks are then medians, ceilings the fastest
                            that was seen
    """

    schema: str = ONE_SCHEMA
    answer: str
    accelerator: Entry
    ceiling_flop_per_s: dict[str, float]
    ceiling_memory_bytes_per_s: float | None
    facts: tuple[Fact, ...]
    assumed: Assumed
    assumptions: tuple[str, ...]
    notes: str
    origin: str
    measured_or_absent: Measured | msgspec.UnsetType = msgspec.field(name="measured", default=msgspec.UNSET)

    @property
    def measured(self) -> Measured | None:
        """How it was measured, with every rate; None of a datasheet's entry."""
        return None if self.measured_or_absent is msgspec.UNSET else self.measured_or_absent


def entry(card: Accelerator) -> Entry:
    """An accelerator as the documents show it."""
    return Entry(
        id=card.id,
        name=card.name,
        vendor=card.vendor,
        family=card.family,
        kind=card.kind,
        memory_bytes=card.memory_bytes,
        program_memory_bytes=card.given_bytes,
        label_memory_bytes=card.most_bytes,
        memory_bytes_per_s=card.memory_bytes_per_s,
        peak_flop_per_s=card.peak_flop_per_s,
        ridge_flop_per_byte=ridges(card),
        link=card.link,
        pcie_bytes_per_s=card.pcie_bytes_per_s,
        last_level_cache_bytes=card.last_level_cache_bytes,
        levels=level_roofs(card),
        tdp_w=card.tdp_w,
        release_year=card.release_year,
        confidence=card.confidence,
        uncertain=card.confidence == UNCERTAIN,
    )


def listing(cards: Sequence[Accelerator]) -> Listing:
    """The document of several."""
    unsure = sum(card.confidence == UNCERTAIN for card in cards)
    answer = f"{len(cards)} accelerator{'s' * (len(cards) != 1)}"
    if unsure:
        answer += f", {unsure} of them uncertain (marked ?: one source, derived, or only announced)"
    return Listing(answer=answer + ".", accelerators=tuple(map(entry, cards)))


def page(card: Accelerator) -> Page:
    """The document of one."""
    return Page(
        answer=_sentence(card),
        accelerator=entry(card),
        ceiling_flop_per_s=card.fast_flop_per_s,
        ceiling_memory_bytes_per_s=card.fast_memory_bytes_per_s or card.memory_bytes_per_s,
        facts=card.facts,
        assumed=card.assumed,
        assumptions=worded(card.assumptions),
        notes=card.notes,
        origin=card.origin,
        measured_or_absent=msgspec.UNSET if card.measured is None else card.measured,
    )


def _sentence(card: Accelerator) -> str:
    memory = (
        "unknown size of memory" if card.memory_bytes is None else f"{numbers.amount(card.memory_bytes, 'B')} of memory"
    )
    rate = (
        "a bandwidth nobody published"
        if card.memory_bytes_per_s is None
        else numbers.amount(card.memory_bytes_per_s, "B/s")
    )
    found = ridges(card)
    ridge = ", ".join(
        f"{form} {numbers.plain(found[form])}" for form in ("bf16", "fp16", "fp8", "int8", "fp4") if form in found
    )
    doubt = " Its figures are uncertain (confidence C)." if card.confidence == UNCERTAIN else ""
    tail = f"; ridge points in FLOP/byte: {ridge}" if ridge else ""
    seen = "" if card.measured is None else f", as measured on {card.measured.date}"
    return f"{card.name} ({card.id}): {memory} at {rate}{seen}{tail}.{doubt}"


def list_blocks(document: Listing) -> list[Block]:
    """The list as a table: dense peaks, `?` behind the id of an uncertain one."""
    heads = ("id", "memory", "bandwidth", "bf16\nFLOP/s", "fp8\nFLOP/s", "fp4\nFLOP/s", "ridge\nbf16", "link\none way")
    rows = tuple(
        (
            one.id + ("?" if one.uncertain else ""),
            numbers.amount(one.memory_bytes, "B"),
            numbers.amount(one.memory_bytes_per_s, "B/s"),
            *(numbers.amount(one.peak_flop_per_s.get(form), "") for form in _LISTED),
            numbers.plain(one.ridge_flop_per_byte.get("bf16")),
            numbers.amount(one.link.bytes_per_s, "B/s") if one.link else "",
        )
        for one in document.accelerators
    )
    answer = Prose(document.answer, "answer")
    if not rows:
        return [answer]
    return [
        answer,
        Table(heads=heads, left=("id",), whole=("id",), rows=rows),
        Prose(
            "Per device; peaks are dense. A blank is a figure no source gives. "
            "`rooflight accelerators ID` shows the sources.",
            "note",
        ),
    ]


def list_rows(document: Listing) -> Rows:
    """The list for CSV; a peak and a ridge a column for each format."""
    return rows_of([_flat_entry(one) for one in document.accelerators])


def blocks(card: Accelerator) -> list[Block]:
    """An accelerator as a page."""
    return page_blocks(page(card))


def document(card: Accelerator) -> dict[str, Any]:
    """The document of one, as Python values."""
    result: dict[str, Any] = msgspec.to_builtins(page(card))
    return result


def rows(card: Accelerator) -> Rows:
    """Its facts for CSV."""
    return page_rows(page(card))


def page_blocks(document: Page) -> list[Block]:
    """Sentence, peaks with their ridge points, facts, what is assumed."""
    shown: list[Block] = [Prose(document.answer, "answer")]
    one = document.accelerator
    if one.peak_flop_per_s:
        shown.append(_peak_table(document))
    if one.levels:
        shown.append(level_table(one))
    if document.measured is not None:
        shown.append(_rate_table(document.measured))
    heads = ("fact", "value", "kind", "read", "conf.", "source")
    rows = tuple(_fact_row(fact) for fact in document.facts)
    shown.append(Table(title="Facts, as printed:", heads=heads, left=heads, whole=heads[:2], rows=rows))
    if document.notes:
        shown.append(Prose(f"Note: {document.notes}"))
    shown.append(Bullets("Assumed, not published (used only where said):", _assumed_lines(document)))
    shown.append(Prose(f"From {document.origin}.", "note"))
    return shown


def page_rows(document: Page) -> Rows:
    """The facts for CSV."""
    facts = [{"accelerator": document.accelerator.id, **msgspec.to_builtins(fact)} for fact in document.facts]
    return rows_of(facts or [_flat_entry(document.accelerator)])


def _flat_entry(one: Entry) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(one)
    fields["link"] = fields["link"] or dict.fromkeys(Link.__struct_fields__)
    del fields["levels"]
    beyond = {level.name: level.bytes_per_s for level in one.levels if level.name != "PCIe"}  # which has its own column
    return flat(fields) | flat({"level_bytes_per_s": beyond})


def _peak_table(document: Page) -> Table:
    one = document.accelerator
    found = document.measured
    measured = None if found is None else {rate.name for rate in found.of("peak")}
    heads = ("format", "dense peak", "no faster than", "ridge point")
    if measured is not None:
        heads = ("format", "median", "fastest seen here", "ridge point")
    rows = tuple(
        (
            form if measured is None or form in measured else f"{form} (printed)",
            numbers.amount(peak, "FLOP/s"),
            numbers.amount(document.ceiling_flop_per_s.get(form), "FLOP/s"),
            f"{numbers.plain(one.ridge_flop_per_byte[form])} FLOP/byte" if form in one.ridge_flop_per_byte else "",
        )
        for form, peak in one.peak_flop_per_s.items()
    )
    return Table(heads=heads, left=("format",), rows=rows)


def _rate_table(found: Measured) -> Table:
    """Every rate that was measured, in the order of its measurement."""
    heads = ("measured", "by", "median", "eight of ten", "best", "runs", "working set")

    def cells(rate: Rate) -> tuple[str, ...]:
        unit = {"peak": "FLOP/s", "launch": "s"}.get(rate.what, "B/s")
        middle, low, high, best = (
            numbers.amount(value, unit) for value in (rate.median, rate.low, rate.high, rate.best)
        )
        size = "" if rate.bytes is None else numbers.amount(rate.bytes, "B")
        return f"{rate.what} {rate.name}", rate.by, middle, f"{low} to {high}", best, f"{rate.n:,}", size

    title = f"Measured on {found.date} by `{found.command}` ({found.device}):"
    return Table(title=title, heads=heads, left=heads[:2], whole=heads[:1], rows=tuple(map(cells, found.rates)))


def _fact_row(fact: Fact) -> tuple[str, ...]:
    value = f"{fact.value:.15g}" if isinstance(fact.value, float) else str(fact.value)
    if isinstance(fact.value, bool):
        value = "yes" if fact.value else "no"
    what = " ".join(part for part in (fact.what, fact.dtype, fact.level) if part)
    details = ", ".join(part for part in (fact.kind, fact.note, "in doubt" if fact.doubt else "") if part)
    return what, f"{value} {fact.unit}".rstrip(), details, fact.read, fact.confidence, fact.source


def _assumed_lines(document: Page) -> tuple[str, ...]:
    assumed = document.assumed
    cache = document.accelerator.last_level_cache_bytes is None
    clock = (
        f"where no maximum clock is known, clocks may carry it to {numbers.plain(assumed.peak_margin)} times its peak"
    )
    lines = [
        *([clock] if document.measured is None else []),
        f"a kernel takes at least {numbers.seconds(assumed.launch_graph_s)} from a graph, "
        f"{numbers.seconds(assumed.launch_eager_s)} launched alone",
        f"an engine of which no more is known keeps {numbers.amount(assumed.engine_reserve_bytes, 'B')} for itself",
        f"basis for {assumed.family}: {assumed.source}",
    ]
    if cache:
        lines.insert(
            len(lines) - 3,
            f"its last-level cache is {numbers.amount(assumed.last_level_cache_bytes, 'B')}: no source gives a figure",
        )
    return (*document.assumptions, *lines)

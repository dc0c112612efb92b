"""The `[measured]` table of an accelerator's file: checked key by key, and what it makes of the accelerator.

A file that `rooflight measure` writes is an accelerator's file with this table behind its facts. What was measured
outranks a fact of the same thing; what was not is taken from the catalog's entry that `datasheet` names.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from rooflight.catalog.figures import DTYPES
from rooflight.catalog.refusal import near, refuse
from rooflight.values.accelerator import Accelerator, Assumed, Fact, Level, Link
from rooflight.values.measured import LEAST, MOST, MOST_RUNS, UNSTEADY, Measured, Rate
from rooflight.values.note import Note
from rooflight.values.sample import MachineState
from rooflight.values.tables import AXES, PLAIN, Grid, Tables, Tried

# What rates of a kind may be called; of the others any name.
_NAMES = {"peak": DTYPES, "launch": ("eager", "graph"), "host-link": ("up", "down")}
_TIMES = ("launch",)
_MOST_SPREAD = 10.0
# Seconds of a kernel, or of what is around one: further ones are slips.
_LONGEST_S = 1e3
_HOTTEST_C = 1e4
# Fields of Tables that are grids by number format.
_KERNELS = tuple(name for name in AXES if name != "elementwise")
_PLACE = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
# Fields that an entry of the same device has where the file does not.
_OF_THE_DEVICE = (
    "link", "unrated_link", "pcie_bytes_per_s", "pcie_peer_to_peer", "cpu_link_bytes_per_s", "cpu_link_name",
    "host_memory_bytes_per_s", "tdp_w", "release_year",
)  # fmt: skip
# Fields that hold of all of the device alone, not of a part of it that a virtual machine or an instance is given.
_OF_ALL_OF_IT = ("last_level_cache_bytes", "compute_units")
_MEMORY = ("memory_bytes", "program_bytes", "label_bytes")


def read(raw: Any, where: str) -> Measured:
    """The table as a value. Raises BadConfig, which says the key."""
    if not isinstance(raw, dict):
        refuse("measured is not a table", where, raw, "a [measured] table, as `rooflight measure` writes it")
    _refuse_unknown(raw, where)
    try:
        found = msgspec.convert(_dates_as_text(raw), Measured)
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        said = str(error)
        place = _PLACE.fullmatch(said)
        at = f"{where}, {place[2]}" if place and place[2] else where
        refuse("a value is of another kind", at, place[1] if place else said, "what `rooflight measure` writes")
    for name in ("device", "command", "date"):
        if not (text := getattr(found, name)).strip() or not text.isprintable():
            refuse(f"{name} is not plain text", f"{where}, {name}", text, "text in quotes")
    _check_date(found.date, f"{where}, date")
    _check_state(found.state, f"{where}, state")
    if not found.rates:
        refuse("nothing was measured", f"{where}, rates", "no rate", "a [[measured.rates]] table for each rate")
    for number, rate in enumerate(found.rates):
        _check_rate(rate, f"{where}, rates[{number}]")
    if found.tables is not None:
        _check_tables(found.tables, f"{where}, tables")
    return found


def applied(card: Accelerator, found: Measured, datasheet: Accelerator | None) -> Accelerator:
    """The accelerator with what was measured in place of what was printed, and the rest from its datasheet.

    Medians become the rates, the best seen and its spread (Rate.fastest) those of ceilings. A link has one rate, so
    the best seen counts. The datasheet's rates stand in only where all of the device was measured, not a part of it.
    """
    part = is_part(card, datasheet)
    taken = {} if datasheet is None else _taken(card, datasheet, found, part)
    base = msgspec.structs.replace(card, **taken)
    peaks, fast = _peaks(found)
    peaks, fast = {**base.peak_flop_per_s, **peaks}, {**base.fast_flop_per_s, **fast}
    memory = found.of("memory")
    made = msgspec.structs.replace(
        base,
        facts=card.facts if datasheet is None else _facts(card, datasheet),
        peak_flop_per_s={form: peaks[form] for form in DTYPES if form in peaks},
        fast_flop_per_s={form: fast[form] for form in DTYPES if form in fast},
        memory_bytes_per_s=max((rate.median for rate in memory), default=base.memory_bytes_per_s),
        fast_memory_bytes_per_s=_fastest(memory) if memory else base.fast_memory_bytes_per_s,
        unrated_matrix_units=base.unrated_matrix_units and not peaks,
        link=_link(found.of("link"), base.link),
        pcie_bytes_per_s=_fastest(found.of("host-link")) or base.pcie_bytes_per_s,
        assumed=_assumed(base.assumed, found),
        caches=_caches(found, (*card.caches, *(() if datasheet is None or part else datasheet.caches))),
        measured=found,
    )
    notes = _notes(made, datasheet, tuple(taken), part)
    return msgspec.structs.replace(made, assumptions=(*notes, *made.assumptions))


def is_part(card: Accelerator, datasheet: Accelerator | None) -> bool:
    """Whether a part of the device was measured: a virtual machine's share of cores, an instance of a GPU.

    Where that cannot be told, of a CPU it is taken to be: machines that are rented by the core are the rule.
    """
    if datasheet is None:
        return False
    if card.compute_units is None or datasheet.compute_units is None:
        return card.kind == "cpu"
    return card.compute_units != datasheet.compute_units


def _taken(card: Accelerator, datasheet: Accelerator, found: Measured, part: bool) -> dict[str, Any]:
    """Fields that the entry has and the file has not."""
    names = [name for name in _OF_THE_DEVICE if not getattr(card, name)]
    known = datasheet.network is not None and not datasheet.network.assumed
    if known and (card.network is None or card.network.assumed):
        names.append("network")
    if not part:
        names += [name for name in _OF_ALL_OF_IT if getattr(card, name) is None]
        names += _MEMORY if card.memory_bytes is None else ()
    lent = {name: value for name in names if (value := getattr(datasheet, name)) is not None and value != ""}
    if not part:
        measured = {rate.name for rate in found.of("peak")}
        for name in ("peak_flop_per_s", "fast_flop_per_s"):
            own, other = getattr(card, name), getattr(datasheet, name)
            if other.keys() - own.keys() - measured:
                lent[name] = {**other, **own}
        if card.memory_bytes_per_s is None and not found.of("memory"):
            lent |= {name: getattr(datasheet, name) for name in ("memory_bytes_per_s", "fast_memory_bytes_per_s")}
    return lent


def _facts(card: Accelerator, datasheet: Accelerator) -> tuple[Fact, ...]:
    """The file's, and behind them the datasheet's of other things."""
    own = {_thing(fact) for fact in card.facts}
    return (*card.facts, *(fact for fact in datasheet.facts if _thing(fact) not in own))


def _thing(fact: Fact) -> tuple[str | None, ...]:
    return fact.what, fact.dtype, fact.level, fact.kind


def _fastest(rates: tuple[Rate, ...]) -> float | None:
    return max((rate.fastest for rate in rates), default=None)


def _peaks(found: Measured) -> tuple[dict[str, float], dict[str, float]]:
    """By number format: the largest median, and the most of any kernel with its spread."""
    peaks: dict[str, float] = {}
    fast: dict[str, float] = {}
    for rate in found.of("peak"):
        peaks[rate.name] = max(rate.median, peaks.get(rate.name, 0.0))
        fast[rate.name] = max(rate.fastest, fast.get(rate.name, 0.0))
    return peaks, fast


def _link(rates: tuple[Rate, ...], known: Link | None) -> Link | None:
    rate = _fastest(rates)
    if rate is None:
        return known
    if known is None:
        return Link(name=rates[0].name, bytes_per_s=rate)
    peer = None if known.peer_bytes_per_s is None else min(known.peer_bytes_per_s, rate)
    return msgspec.structs.replace(known, bytes_per_s=rate, peer_bytes_per_s=peer)


def _caches(found: Measured, known: tuple[Level, ...]) -> tuple[Level, ...]:
    """Medians as they were measured here, and known ones of other names."""
    own = [
        Level(name=rate.name, place="cache", bytes_per_s=rate.median, bytes=rate.bytes, kind="measured")
        for rate in found.of("level")
    ]
    named = {level.name: level for level in (*reversed(known), *own)}
    return tuple(sorted(named.values(), key=lambda level: -level.bytes_per_s))


def _assumed(assumed: Assumed, found: Measured) -> Assumed:
    """The family's, with the cost of a call as it was measured; of a mode that was not, the other's bounds it."""
    floors = {rate.name: rate.median for rate in found.of("launch")}
    if not floors:
        return assumed
    eager = floors.get("eager", max(assumed.launch_eager_s, floors.get("graph", 0.0)))
    graph = floors.get("graph", min(assumed.launch_graph_s, eager))
    said = f"a call measured on {found.device}, {found.date}; {assumed.source}"
    return msgspec.structs.replace(assumed, launch_eager_s=eager, launch_graph_s=graph, source=said)


def _notes(card: Accelerator, datasheet: Accelerator | None, taken: tuple[str, ...], part: bool) -> Iterator[Note]:
    """That it was measured, when and by what; and what stands in from the datasheet."""
    found = card.measured
    if found is None:
        return
    yield Note(key="measured", value=(found.device, found.date, found.command, found.complete), why=card.id)
    roofs = (*found.of("memory"), *found.of("peak"))
    unsteady = tuple((rate.what, rate.name, rate.spread) for rate in roofs if rate.spread > UNSTEADY)
    if unsteady:
        yield Note(key="unsteady", value=unsteady, why=card.id)
    if datasheet is not None and taken:
        measured = {rate.name for rate in found.of("peak")}
        forms = tuple(form for form in card.peak_flop_per_s if form not in measured)
        yield Note(key="from_datasheet", value=(taken, forms), why=datasheet.id)
    if datasheet is not None and part:  # how many units there are may not be known
        yield Note(key="part_of", value=(card.compute_units, datasheet.compute_units), why=datasheet.id)


def _refuse_unknown(raw: dict[str, Any], where: str) -> None:
    """Keys that no table of this kind has: slips, which would be lost without a word."""
    _known(raw, Measured, where)
    rates = raw.get("rates", [])
    for number, rate in enumerate(rates if isinstance(rates, list) else []):
        _known(rate, Rate, f"{where}, rates[{number}]")
    tables = raw.get("tables")
    _known(tables, Tables, f"{where}, tables")
    for path, grid in _grids(tables):
        _known(grid, Grid, f"{where}, tables.{path}")
    tried = tables.get("tried") if isinstance(tables, dict) else None
    for number, one in enumerate(tried if isinstance(tried, list) else []):
        _known(one, Tried, f"{where}, tables.tried[{number}]")


def _grids(tables: Any) -> Iterator[tuple[str, Any]]:
    """Everything in the place of a grid, with its path."""
    for kernel, by_format in tables.items() if isinstance(tables, dict) else ():
        for form, found in by_format.items() if isinstance(by_format, dict) else ():
            if kernel in _KERNELS:
                yield f"{kernel}.{form}", found
            elif kernel == "elementwise" and isinstance(found, dict):
                yield from ((f"{kernel}.{form}.{name}", grid) for name, grid in found.items())


def _known(raw: Any, kind: type[msgspec.Struct], where: str) -> None:
    if not isinstance(raw, dict):
        return
    names = kind.__struct_fields__
    for key in raw:
        if key not in names:
            refuse(f"{key!r} is not known here", where, key, ", ".join(names), near(key, names))


def _check_rate(rate: Rate, where: str) -> None:
    known = _NAMES.get(rate.what)
    if known is not None and rate.name not in known:
        refuse(f"{rate.what} has no such name", f"{where}.name", rate.name, ", ".join(known), near(rate.name, known))
    if not rate.name.strip() or not rate.name.isprintable():
        refuse("a rate has no name", f"{where}.name", rate.name, "plain text")
    for name in ("median", "low", "high", "best"):
        _check_amount(getattr(rate, name), f"{where}.{name}")
    if rate.bytes is not None:
        _check_amount(rate.bytes, f"{where}.bytes")
    if not 1 <= rate.n <= MOST_RUNS:
        refuse("a rate of no such number of runs", f"{where}.n", rate.n, f"a whole number from 1 to {MOST_RUNS:,}")
    if not rate.low <= rate.median <= rate.high:
        got = f"low {rate.low:g}, median {rate.median:g}, high {rate.high:g}"
        refuse("low, median and high are not in order", where, got, "low <= median <= high")
    slower = rate.best > rate.median if rate.what in _TIMES else rate.best < rate.median
    if slower:
        refuse("the best run is slower than the median", where, f"best {rate.best:g}, median {rate.median:g}",
               "the fastest of the runs")  # fmt: skip


def _check_date(text: str, where: str) -> None:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        refuse("the date is none", where, text, "a date of ISO 8601, such as 2026-11-28T22:00:00Z")


def _check_state(state: MachineState, where: str) -> None:
    for name, hz in (state.clocks_hz or {}).items():
        _check_amount(hz, f"{where}.clocks_hz.{name}")
    if state.threads is not None and not 1 <= state.threads <= MOST_RUNS:
        refuse("threads are counted from 1", f"{where}.threads", state.threads, "a whole number from 1")
    bounds = {"temperature_c": (-_HOTTEST_C, _HOTTEST_C), "power_w": (0.0, MOST)}
    for name, (low, high) in bounds.items():
        value = getattr(state, name)
        if value is not None:
            _check_within(value, low, high, f"{where}.{name}")


def _check_tables(tables: Tables, where: str) -> None:
    for kernel in (*AXES, "layer_s", "expert_s"):
        for form in getattr(tables, kernel):
            if form not in DTYPES:
                refuse("there is no such number format", f"{where}.{kernel}.{form}", form, ", ".join(DTYPES),
                       near(form, DTYPES))  # fmt: skip
    for kernel in _KERNELS:
        for form, grid in getattr(tables, kernel).items():
            _check_grid(grid, f"{where}.{kernel}.{form}", AXES[kernel])
    for form, plain in tables.elementwise.items():
        for name, grid in plain.items():
            at = f"{where}.elementwise.{form}.{name}"
            if name not in PLAIN:
                refuse("there is no such kernel", at, name, ", ".join(PLAIN), near(name, PLAIN))
            _check_grid(grid, at, AXES["elementwise"])
    _check_whole(tables, where)
    several = {f"{name}.{form}": value for name in ("layer_s", "expert_s")
               for form, value in getattr(tables, name).items()}  # fmt: skip
    for name, value in (several | {"step_s": tables.step_s, "sequence_s": tables.sequence_s}).items():
        _check_within(value, 0.0, _LONGEST_S, f"{where}.{name}")
    _check_within(tables.spread, 0.0, _MOST_SPREAD, f"{where}.spread")
    for number, one in enumerate(tables.tried):
        _check_tried(one, tables, f"{where}.tried[{number}]")


def _check_whole(tables: Tables, where: str) -> None:
    """Refuses a format of which a part is not there: without a word it would take no time.

    One with linear layers alone is none of a model's steps, and is said where it is asked for.
    """
    parts = (*AXES, "layer_s", *(("expert_s",) if tables.expert_s else ()))
    for form in dict.fromkeys(form for name in parts if name != "gemm" for form in getattr(tables, name)):
        missing = [name for name in parts if form not in getattr(tables, name)]
        if missing:
            refuse(f"a part of {form} was not timed", f"{where}.{missing[0]}.{form}", "nothing",
                   f"{', '.join(parts)}: each in {form}, or none but gemm")  # fmt: skip


def _check_tried(one: Tried, tables: Tables, where: str) -> None:
    if one.kernel not in _KERNELS or one.format not in getattr(tables, one.kernel):
        refuse("a kernel without a table", where, f"{one.kernel} in {one.format}", ", ".join(_KERNELS))
    if len(one.sizes) != len(AXES[one.kernel]):
        refuse("sizes and axes are not as many", where, one.sizes, ", ".join(AXES[one.kernel]))
    for value in one.sizes:
        _check_amount(value, where)
    _check_within(one.seconds, LEAST, _LONGEST_S, f"{where}.seconds")


def _check_grid(grid: Grid, where: str, axes: tuple[str, ...]) -> None:
    if grid.names != axes:
        refuse("the axes are not those of the kernel", f"{where}.names", grid.names, ", ".join(axes))
    if len(grid.names) != len(grid.points) or not grid.names:
        got = f"{len(grid.names)} names, {len(grid.points)} axes"
        refuse("names and points are not as many", where, got, "a name for each axis")
    for name, axis in zip(grid.names, grid.points, strict=True):
        for size in axis:
            _check_amount(size, f"{where}.points of {name!r}")
        if not axis or any(after <= before for before, after in pairwise(axis)):
            refuse("the points do not grow", f"{where}.points of {name!r}", axis, "sizes from small to large")
    cells = math.prod(len(axis) for axis in grid.points)
    if len(grid.seconds) != cells:
        got = f"{len(grid.seconds)} seconds for {cells} combinations"
        refuse("a table is not of the length of its sizes", f"{where}.seconds", got, f"{cells} numbers")
    for seconds in grid.seconds:
        _check_within(seconds, LEAST, _LONGEST_S, f"{where}.seconds")


def _check_amount(value: float, where: str) -> None:
    _check_within(value, LEAST, MOST, where)


def _check_within(value: float, low: float, high: float, where: str) -> None:
    if not low <= value <= high:  # NaN is in no interval
        refuse("the value is none that a machine has", where, value, f"{low:g} to {high:g}, in base units")


def _dates_as_text(raw: dict[str, Any]) -> dict[str, Any]:
    """TOML has dates of its own, which are read as well as text."""
    date: Any = raw.get("date")
    return {**raw, "date": date.isoformat()} if hasattr(date, "isoformat") else raw

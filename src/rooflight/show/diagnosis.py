"""A diagnosis as text, rows and a document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, flat, rows_of
from rooflight.units import round_significant, scaled
from rooflight.values.diagnosis import Bound, Diagnosis, Evidence, KernelRow, Next, Regime
from rooflight.values.recorded import Measurements, Record, Stated

# Values of a regime that the text leaves to JSON and CSV: the sentence and the evidence say what matters of them.
_LEFT_OUT = (
    "bytes_per_s",
    "expected_tpot_s",
    "expected_output_tokens_per_s",
    "of_expected",
    "mfu",
    "clock_lost",
    "memory_clock_lost",
    "throttled",
)
# And of these what stands there where a clock is lowered, as the other name says.
_CLOCKS = {
    "power_w": "clock_lost", "sm_clock_hz": "clock_lost", "temperature_c": "clock_lost",
    "memory_clock_hz": "memory_clock_lost",
}  # fmt: skip
# Rows of a table that are shown; the JSON and CSV have all.
_MOST_ROWS = 24
# An instant as the recorded ones are spelled, without the rest of its second.
_INSTANT = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)T(?P<time>\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)?")
# Columns that a narrow terminal has room for.
_MOST_HEADS = 6
# Records that stand side by side.
_MOST_RECORDS = 6
_ENDINGS = {"_bytes_per_s": "B/s", "_flop_per_s": "FLOP/s", "_hz": "Hz", "_w": "W", "_s": "s"}
_PLAIN = ("_tokens_per_s", "_per_s", "_tokens_per_s_per_user")
_SHARES = (
    "memory_share", "kv_usage", "acceptance", "gpu_util", "memory_util", "engine_active", "sm_active", "sm_occupancy",
    "tensor_active", "dram_active", "fp16_active", "fp32_active", "prefix_hit", "share", "of_roof", "of_bandwidth",
    "of_peak", "of_ceiling", "of_expected", "mbu", "mfu",
)  # fmt: skip


def blocks(found: Diagnosis) -> list[Block]:
    """The sentence, what speaks for and against it, the tables behind it, what comes next."""
    steps = tuple(_next(one) for one in found.next)
    return [
        Prose(found.answer, "answer"), *verdict(found), *tables(found),
        *([Bullets("Next:", steps)] if steps else []), *sources(found),
    ]  # fmt: skip


def verdict(found: Diagnosis) -> list[Block]:
    """What binds and how sure that is, what speaks for and against it, and what other analyses say."""
    shown: list[Block] = []
    said = "Bound: none is named." if found.bound is None else f"Bound: {found.bound}, confidence {found.confidence}."
    shown.append(Prose("Cannot tell." if found.cannot_tell else said))
    held = "Seen:" if found.cannot_tell else "Speaks for it:"  # nothing speaks for no verdict
    for title, supports in ((held, True), ("Speaks against it:", False)):
        items = tuple(_evidence(one) for one in found.evidence if one.supports is supports)
        if items:
            shown.append(Bullets(title, items))
    if found.findings:
        shown.append(Bullets("Beside it:", found.findings))
    return shown


def tables(found: Diagnosis) -> list[Block]:
    """The values behind it."""
    shown: list[Block] = []
    if found.regimes:
        shown += _regimes(found.regimes)
    if found.kernels:
        shown.append(_kernels(found.kernels))
    if found.recorded:
        shown += _records(found.recorded)
    return shown


def sources(found: Diagnosis) -> list[Block]:
    """What was read, and what to know of it."""
    shown: list[Block] = [Bullets("Read:", tuple(_sources(found)))]
    if found.notes:
        shown.append(Bullets("To know:", found.notes))
    return shown


def _evidence(one: Evidence) -> str:
    value = quantity(one.value, one.unit)
    return f"{one.what}: {value}" if value else one.what


def quantity(value: float | None, unit: str) -> str:
    """A value as a person reads it: a share as percent, a base unit with its prefix."""
    if value is None:
        return ""
    if unit == "share":
        return numbers.percent(value)
    if unit in ("B", "B/s", "FLOP", "FLOP/s", "s", "Hz", "W"):
        return scaled(value, unit)
    return f"{round_significant(value)} {unit}".rstrip()


def named(name: str, value: Any) -> str:
    """The value of a field as a person reads it, by the unit in its name."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return ", ".join(named(name, one) for one in value)
    if name in _SHARES:
        return numbers.percent(value)
    if "_bytes" in name and not name.endswith("_per_s"):
        return scaled(value, "B")
    ending = next((unit for end, unit in _ENDINGS.items() if name.endswith(end)), None)
    if ending is None or (ending == "s" and name.endswith(_PLAIN)):
        return f"{value:,}" if isinstance(value, int) else round_significant(value, 4)
    return scaled(value, ending)


def _regimes(rows: Sequence[Regime]) -> Iterator[Table]:
    """Rows with the same values in a table each; where they are many, those of one subject and bound together."""
    folded = len(rows) > _MOST_ROWS
    title = "Regimes, means of each:" if folded else "Regimes:"
    for group in _alike(rows):
        shown = _folded(group) if folded else list(zip(group, _times(group), strict=True))
        heads = list(dict.fromkeys(name for row, _ in shown for name in row.values if name not in _LEFT_OUT))
        heads = [name for name in heads if name not in _CLOCKS or _lowered(name, [row for row, _ in shown])]
        if len(heads) > _MOST_HEADS and "of_ceiling" in heads:
            heads = [name for name in heads if name != "mbu"]
        if len(heads) > _MOST_HEADS and "engine_active" in heads:
            heads = [name for name in heads if name != "gpu_util"]
        if len(heads) > _MOST_HEADS and not any(row.values.get("preemptions") for row, _ in shown):
            heads = [name for name in heads if name != "preemptions"]
        if len(heads) > _MOST_HEADS and "of_ceiling" in heads:
            heads = [name for name in heads if name != "tpot_s"]
        timed = any(when for _, when in shown)
        yield Table(
            title=f"{title[:-1]}{_of_all(shown)}:",
            heads=("", *([("readings" if folded else "from")] if timed else []), "bound",
                   *(name.replace("_", " ") for name in heads)),
            left=("", "from", "bound"),
            rows=tuple(
                (
                    row.subject, *([when] if timed else []), row.bound or "cannot tell",
                    *(named(name, row.values[name]) if name in row.values else "" for name in heads),
                )
                for row, when in shown[:_MOST_ROWS]
            ),
        )  # fmt: skip


def _lowered(name: str, rows: Sequence[Regime]) -> bool:
    """Whether rows say that the clock is lowered which this value is of, or lack what else would tell."""
    names = (_CLOCKS[name], *(("throttled",) if _CLOCKS[name] == "clock_lost" else ()))
    blank = name == "power_w" and any(row.bound is None for row in rows)
    return blank or any(one in row.values for row in rows for one in names)


def _times(rows: Sequence[Regime]) -> list[str]:
    """When rows begin, to the second; the time of day alone where all are of one."""
    found = [_INSTANT.fullmatch(row.start or "") for row in rows]
    days = {one["day"] for one in found if one}
    if not all(found) or not found:
        return [row.start or "" for row in rows]
    return [one["time"] if len(days) == 1 else f"{one['day']} {one['time']}" for one in found if one]


def _alike(rows: Sequence[Regime]) -> list[list[Regime]]:
    """Rows in groups that have values in common: accelerators, engines."""
    groups: list[tuple[set[str], list[Regime]]] = []
    for row in rows:
        names = {name for name in row.values if name not in _LEFT_OUT}
        found = next((group for group in groups if group[0] & names or not names), None)
        if found is None:
            groups.append((names, [row]))
        else:
            found[0].update(names)
            found[1].append(row)
    return [group for _, group in groups]


def _folded(rows: Sequence[Regime]) -> list[tuple[Regime, str]]:
    """The means of each subject's rows of one bound, with how many of all its rows they are."""
    groups: dict[tuple[str, Bound | None], list[Regime]] = {}
    whole = Counter(row.subject for row in rows)
    for row in sorted(rows, key=lambda row: list(whole).index(row.subject)):
        groups.setdefault((row.subject, row.bound), []).append(row)
    found = []
    for (subject, bound), some in groups.items():
        names = dict.fromkeys(name for row in some for name in row.values)
        given = {name: [row.values[name] for row in some if name in row.values] for name in names}
        means = {name: sum(values) / len(values) for name, values in given.items()}
        found.append((Regime(subject=subject, bound=bound, values=means), f"{len(some)} of {whole[subject]}"))
    return found


def _kernels(rows: Sequence[KernelRow]) -> Table:
    return Table(
        title=f"Kernels by operator{_of_all(rows)}:",
        heads=("", "calls", "time", "share", "bytes/s", "FLOP/s", "bound", "of roof", "counted by"),
        left=("", "bound", "counted by"),
        rows=tuple(
            (
                row.operator, numbers.count(row.calls), numbers.seconds(row.total_s), numbers.percent(row.share),
                numbers.amount(row.bytes_per_s, "B/s"), numbers.amount(row.flop_per_s, "FLOP/s"), row.bound or "",
                "" if row.of_roof is None else numbers.percent(row.of_roof), row.counted or "",
            )
            for row in rows[:_MOST_ROWS]
        ),
    )  # fmt: skip


def _of_all(rows: Sequence[object]) -> str:
    return f" ({_MOST_ROWS} of {len(rows):,})" if len(rows) > _MOST_ROWS else ""


def _records(recorded: Sequence[Record]) -> Iterator[Block]:
    """What the files say: what all records say alike in a line, the rest a column a record."""
    some = recorded[:_MOST_RECORDS]
    rows = [*_fields("stated", Stated, some), *_fields("measured", Measurements, some)]
    alike = [row for row in rows if len(some) > 1 and row[1] and len(set(row[1:])) == 1]
    if alike:
        yield Prose(f"Of all {len(recorded)} recorded: {', '.join(f'{name} {value}' for name, value, *_ in alike)}.")
    rows = [row for row in rows if row not in alike]
    if rows:
        heads = tuple(one.name or (f"{number}" if len(some) > 1 else "said") for number, one in enumerate(some, 1))
        more = f" ({len(some)} of {len(recorded):,})" if len(recorded) > len(some) else ""
        yield Table(title=f"Recorded{more}:", heads=("", *heads), left=("",), rows=tuple(rows))


def _fields(part: str, kind: type[msgspec.Struct], some: Sequence[Record]) -> Iterator[tuple[str, ...]]:
    for name in kind.__struct_fields__:
        values = [getattr(getattr(one, part), name) for one in some]
        if any(value is not None for value in values):
            words = name.replace("_", " ")
            yield words, *("" if value is None else _value(name, value) for value in values)


def _value(name: str, value: Any) -> str:
    if isinstance(value, msgspec.Struct):  # a spread of seconds
        parts = {key: one for key in value.__struct_fields__ if (one := getattr(value, key)) is not None}
        return ", ".join(f"{key} {scaled(one, 's')}" for key, one in parts.items())
    return named(name, value)


def step(one: Next) -> str:
    """What to do next and what it gains, without its command."""
    if not one.gain:
        return one.what
    return f"{one.what.rstrip('.')} ({round_significant(one.gain)} x)."


def _next(one: Next) -> str:
    if not one.command:
        return step(one)
    kind = "Option" if one.command.startswith("-") else "Code" if one.command.startswith("torch.") else "Command"
    return f"{step(one).rstrip('.')}. {kind}: {one.command}"


def _sources(found: Diagnosis) -> Iterator[str]:
    for one in found.sources:
        tool = f", {one.tool} {one.version}".rstrip() if one.tool else ""
        yield f"{one.file}: {one.format}{tool}"


def rows(found: Diagnosis) -> Rows:
    """One value a row: of which part of the answer, whose, its name, value and unit."""
    return rows_of(list(_rows(found)))


def _rows(found: Diagnosis) -> Iterator[dict[str, Any]]:
    def row(part: str, of: str, name: str, value: Any, unit: str = "") -> dict[str, Any]:
        return {"part": part, "of": of, "name": name, "value": value, "unit": unit}

    yield row("verdict", "", "bound", found.bound)
    yield row("verdict", "", "confidence", found.confidence)
    for one in found.evidence:
        yield row("for" if one.supports else "against", "", one.what, one.value, one.unit)
    for record in found.recorded:
        for part in ("stated", "measured"):
            for name, value in flat(msgspec.to_builtins(getattr(record, part))).items():
                yield row(part, record.name, name, value)
    for regime in found.regimes:
        yield row("regime", regime.subject, "bound", regime.bound, regime.start or "")
        for name, value in regime.values.items():
            yield row("regime", regime.subject, name, value, regime.start or "")
    for kernel in found.kernels:
        for name in ("calls", "total_s", "share", "bytes_per_s", "flop_per_s", "of_roof", "bound"):
            yield row("kernel", kernel.operator, name, getattr(kernel, name))

"""The answer of `analyze` as blocks, and as flat rows for CSV. Its JSON is the value itself (values.analysis)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rooflight.serve.gap import ORDER
from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Drawing, Prose, Table
from rooflight.show.data import Rows, flat, rows_of
from rooflight.show.levels import level_blocks
from rooflight.show.roof import Dot, Flat, draw
from rooflight.show.seen import renamed
from rooflight.span import Span
from rooflight.units import percent, several, to_base
from rooflight.values.accelerator import devices_named
from rooflight.values.analysis import Analysis, MeasuredBlock, OperatorBlock, Phase
from rooflight.values.held import HostMemory, MemoryBlock, Pool
from rooflight.values.run import Run
from rooflight.words.like import like_line
from rooflight.words.seen import FASTEST, IN_TURN, PHYSICS, WELL_RUN

# Operators are listed one by one until they cover this share of a phase's roofline time.
COVERED = 0.95
_MARKS = {"prefill": "P", "decode": "D", "verify": "V", "draft": "F", "mixed": "M"}
_WORDS = (
    f"Ceiling: {PHYSICS}. Roofline: {IN_TURN}. Expected: {WELL_RUN}, eight times of ten within the interval "
    "below it. Bound: the resource whose ceiling is longest. Well above the ridge that is "
    "arithmetic, well below it memory, unless links or launches take longer."
)

_RUN_WORDS = (
    "alone: one request and nobody else. batch: started together, all prompts first, then in lock-step. served: "
    "newcomers are prefilled beside the others' tokens, as servers do; those that do not fit wait, which is in the "
    "first token. prefill: its share of the machine's time."
)


_SEEN_WORDS = (
    "Fastest seen here: every resource used fully and at once, each at the best rate of any kernel when this machine "
    "was measured, and as much again as fast runs lay above the median; more may be possible. Roofline: each operator "
    f"at its own limit (medians), one after the other. Expected: {WELL_RUN}, eight times of ten within "
    "the interval below it. Bound: the resource whose time is longest. Well above the ridge that is arithmetic, well "
    "below it memory, unless links or launches take longer."
)


def blocks(analysis: Analysis, *, drawn: bool = True, ascii_only: bool = False, levels: bool = False) -> list[Block]:
    """Sentence, warnings, phases, bytes, memory, operators, levels if asked for, request, assumptions, roofline."""
    shown: list[Block] = [Prose(analysis.answer, "answer")]
    shown += [Prose(f"Warning: {text}", "warning") for text in analysis.warnings]
    phases = analysis.phases
    measured = analysis.accelerator.measured
    if phases:
        words = _WORDS if measured is None else _SEEN_WORDS
        shown += renamed([_phase_table(phases)], measured is not None)
        shown += [
            Prose(words, "note"),
            *datasheet(measured),
            *gap_blocks(phases, measured is not None),
            _byte_table(phases),
        ]
        shown += _efficiency(phases)
    shown.append(Prose(memory_line(analysis)))
    like = analysis.model.like
    if like is not None:
        shown.append(Prose(f"{like_line(like)}."))
    if analysis.memory.kv_pool is not None:
        shown.append(Prose(pool_line(analysis.memory.kv_pool)))
    shown += [_operator_table(name, phase) for name, phase in phases.items()]
    if levels:
        shown += level_blocks(analysis)
    if analysis.answered:
        shown += [run_table(analysis.runs, analysis.workload), Prose(_RUN_WORDS, "note")]
    beside = () if like is None else (like_line(like),)
    shown.append(Bullets("Assumed:", tuple(one for one in analysis.assumptions if one not in beside)))
    if drawn and phases:
        here = {name: phase for name, phase in phases.items() if name in analysis.on_roof}
        shown += _roofline(analysis, here, ascii_only)
    return shown


def rows(analysis: Analysis) -> Rows:
    """One row a phase (a single one with bound capacity where nothing fits), without the operators."""
    same = {
        "model": analysis.model.id,
        "accelerator": analysis.accelerator.id,
        **{name: analysis.deployment[name] for name in ("devices", "tp", "pp", "ep", "dp", "weights", "kv_cache")},
        **analysis.workload,
        "fits": analysis.memory.fits,
        "max_batch": analysis.memory.max_batch,
    }
    if not analysis.phases:
        return rows_of([{**same, "phase": None, "bound": analysis.bound}])
    found = []
    for name, phase in analysis.phases.items():
        fields = msgspec.to_builtins(phase)
        del fields["operators"], fields["flop_by_format"], fields["waterfall"]
        fields["tokens_per_s_per_user"] = fields["tokens_per_s_per_user"] or dict.fromkeys(fields["time_s"])
        found.append(flat({**same, "phase": name, **fields}))
    return rows_of(found)


def _phase_table(phases: dict[str, Phase]) -> Table:
    return Table(
        heads=(
            "phase", "bound", "ceiling", "roofline", "expected", "tok/s\nexpected",
            "FLOP/byte\n(ridge)", "time is\nbound by",
        ),
        left=("phase", "bound", "time is\nbound by"),
        rows=tuple(
            (
                name,
                numbers.resource(phase.bound),
                numbers.seconds(phase.time_s.ceiling),
                numbers.seconds(phase.time_s.roofline),
                told(phase.time_s),
                numbers.plain(phase.tokens_per_s.expected),
                f"{numbers.plain(phase.intensity_flop_per_byte)}\n({numbers.plain(phase.ridge_flop_per_byte) or '?'})",
                spent(phase.split),
            )
            for name, phase in phases.items()
        ),
    )  # fmt: skip


def spent(split: dict[str, float]) -> str:
    """What operators are bound by, weighted by their time, largest first."""
    parts = sorted(split.items(), key=lambda part: -part[1])
    return "\n".join(f"{numbers.resource(name)} {numbers.percent(share)}" for name, share in parts if share >= 0.005)


def datasheet(measured: MeasuredBlock | None) -> list[Block]:
    """What the datasheet of a measured device would allow."""
    sheet = None if measured is None else measured.datasheet
    if sheet is None:
        return []
    known = [f"{name} {numbers.seconds(value)}" for name, value in sheet.ceilings_s.items() if value is not None]
    lacking = [name for name, value in sheet.ceilings_s.items() if value is None]
    said = [f"at best {', '.join(known)}"] if known else []
    said += [f"{', '.join(lacking)} cannot be told, for a rate it needs is not printed"] if lacking else []
    whole = "" if sheet.whole else ", of which a part is here"
    return [Prose(f"By the datasheet of {sheet.id}{whole}: {'; '.join(said)}.")] if said else []


def gap_blocks(phases: dict[str, Phase], measured: bool = False) -> list[Block]:
    """What lies between ceiling and expected time, a row a cause."""
    least = FASTEST if measured else "the ceiling"
    title, first = f"from {least} to what is expected", least.removeprefix("the ")
    told = {name: phase for name, phase in phases.items() if phase.waterfall}
    if not told:
        return []
    there = {step.name for phase in told.values() for step in phase.waterfall}
    causes = [cause for cause in ORDER if cause in there]
    added = {name: {step.name: step.seconds for step in phase.waterfall} for name, phase in told.items()}
    rows_ = [
        (
            first if cause == "ceiling" else cause,
            *(numbers.seconds(added[name][cause]) if cause in added[name] else "" for name in told),
        )
        for cause in causes
    ]
    rows_.append(("= expected", *(numbers.seconds(phase.time_s.expected) for phase in told.values())))
    return [
        Table(
            heads=(title, *told),
            left=(title,),
            rows=tuple(rows_),
        )
    ]


def _byte_table(phases: dict[str, Phase]) -> Table:
    heads = ("bytes of a step", "weights", "KV cache read", "KV cache written", "activations", "total")
    parts = ("weights", "kv_read", "kv_write", "activations")

    def cell(phase: Phase, part: str) -> str:
        value: float = getattr(phase.bytes, part)
        return f"{numbers.amount(value, 'B')} {numbers.percent(value / phase.bytes.total):>5}"

    return Table(
        heads=heads,
        left=heads[:1],
        rows=tuple(
            (name, *(cell(phase, part) for part in parts), numbers.amount(phase.bytes.total, "B"))
            for name, phase in phases.items()
        ),
    )


def _efficiency(phases: dict[str, Phase]) -> list[Block]:
    """What share of the datasheet's rates is used, where it has them."""
    said = []
    for name, phase in phases.items():
        shares = {"MFU": phase.mfu, "MBU": phase.mbu}
        known = [f"{word} {percent(share)}" for word, share in shares.items() if share is not None]
        said += [f"{name} {', '.join(known)}"] if known else []
    return [Prose(f"Of the datasheet's rates, as expected: {'; '.join(said)}.")] if said else []


def memory_line(analysis: Analysis) -> str:
    """What lies in memory against what there is, how many sequences would fit, and what lies on the host."""
    held: MemoryBlock = analysis.memory
    there = "" if held.host is None else f" {host_line(held.host)}"

    def size(value: float) -> str:
        return numbers.amount(value, "B")

    weights = f"weights {size(held.weights_bytes)}{_of_adapters(analysis)}"
    cache = f" + KV cache {size(held.kv_bytes)}" if held.kv_bytes_per_sequence else ""
    said = (
        f"Memory: {weights}{cache} + working memory {size(held.activation_bytes)} + the engine itself "
        f"{size(held.engine_bytes)} = {size(held.needed_bytes)}"
    )
    if held.usable_bytes is None or held.allowed_bytes is None:
        return f"{said}; no source has the size of {analysis.accelerator.id}.{there}"
    return (
        f"{said} of {size(held.allowed_bytes)}{_kept(held)}; at most {held.most:,} such sequences fit at once.{there}"
    )


def _kept(held: MemoryBlock) -> str:
    """What the memory that may be used is of."""
    if held.usable_bytes is None or not held.withheld_bytes:
        return ""
    kept, there = numbers.amount(held.withheld_bytes, "B"), numbers.amount(held.usable_bytes, "B")
    if held.by_share:
        return f" that an engine may use ({kept} of {there} are withheld from it)"
    return f", all there is ({kept} of {there} would be withheld from the engine)"


def _of_adapters(analysis: Analysis) -> str:
    one, held = analysis.model.adapters, analysis.memory.adapter_bytes
    if one is None or held is None:
        return ""
    return f" ({numbers.amount(held, 'B')} of them {one.count:,} LoRA adapter{'s' * (one.count > 1)})"


def host_line(held: HostMemory) -> str:
    """What lies in the host's memory."""
    parts = (("weights", held.weights_bytes), ("KV cache", held.kv_bytes))
    taken = " + ".join(f"{numbers.amount(held_bytes, 'B')} of {name}" for name, held_bytes in parts if held_bytes)
    taken = taken or "nothing"
    taken += f", read at {numbers.amount(held.memory_bytes_per_s, 'B/s')}"
    if held.usable_bytes is None:
        return f"On the host: {taken}."
    return f"On the host: {taken}, of {numbers.amount(held.usable_bytes, 'B')}{'' if held.fits else ': too much'}."


def _whole(count: float) -> str:
    """Sequences that fit: whole ones, of fewer than two what there is of them."""
    return numbers.plain(count) if count < 2 or math.isinf(count) else f"{math.floor(count):,}"


def pool_line(pool: Pool) -> str:
    """What is left for the cache, and the line of the engine's log to compare with."""
    low, high = (numbers.amount(value, "B") for value in (pool.bytes.low, pool.bytes.high))
    said = (
        f"Left for KV cache: {numbers.amount(pool.bytes.expected, 'B')} ({low} to {high}), "
        f"{pool.tokens.expected:,.0f} tokens ({pool.tokens.low:,.0f} to {pool.tokens.high:,.0f}), "
        f"{_whole(pool.sequences.expected)} sequences of {pool.sequence_tokens:,}."
    )
    log = pool.log
    if log is None:
        return said
    device = f"{log.device_bytes / to_base(1, 'GiB'):.2f} GiB a device"
    if log.compare == "tokens":
        return f"{said} Compare {log.engine}'s log, {log.line!r}: {log.tokens or 0:,} tokens a replica, {device}."
    if log.tokens is None:
        return f"{said} Compare {log.engine}'s log, {log.line!r}: {device}."
    return (
        f"{said} Compare {log.engine}'s log by bytes: {device}; the {log.tokens:,} tokens it prints as {log.line!r} "
        "are no capacity here."
    )


def _operator_table(name: str, phase: Phase) -> Table:
    heads = ("operator", "count", "FLOP", "bytes", "FLOP/byte", "bound", "time", "share")
    main, rest = split_operators(phase.operators)
    table = [_operator_row(op) for op in main]
    if rest:
        table.append(_others(rest))
    title = (
        f"{name.capitalize()}: the operators that take the roofline time (formats: {', '.join(phase.flop_by_format)})"
    )
    return Table(title=title, heads=heads, left=("operator", "bound"), rows=tuple(table))


def split_operators(operators: tuple[OperatorBlock, ...]) -> tuple[list[OperatorBlock], list[OperatorBlock]]:
    """The largest that together cover COVERED of the time, and the rest (a single one is no rest)."""
    ranked = sorted(operators, key=lambda op: -op.share)
    covered, taken = 0.0, 0
    while taken < len(ranked) and covered < COVERED:
        covered += ranked[taken].share
        taken += 1
    if len(ranked) - taken == 1:
        taken += 1
    return ranked[:taken], ranked[taken:]


def _operator_row(op: OperatorBlock) -> tuple[str, ...]:
    return (
        op.name,
        f"{op.count:,}",
        numbers.amount(op.flop, ""),
        f"{numbers.amount(op.link_bytes, 'B')} sent"
        if op.link_bytes and not op.bytes
        else numbers.amount(op.bytes, "B"),
        numbers.plain(op.intensity_flop_per_byte),
        numbers.resource(op.bound),
        numbers.seconds(op.time_s),
        numbers.percent(op.share),
    )


def _others(rest: list[OperatorBlock]) -> tuple[str, ...]:
    return (
        f"{len(rest)} others",
        f"{sum(op.count for op in rest):,}",
        numbers.amount(sum(op.flop for op in rest), ""),
        numbers.amount(sum(op.bytes for op in rest), "B"),
        "",
        "",
        numbers.seconds(sum(op.time_s for op in rest)),
        numbers.percent(sum(op.share for op in rest)),
    )


def run_table(runs: Mapping[str, Run], load: dict[str, Any]) -> Table:
    """What requests get under each schedule, as expected."""
    heads = ("requests", "at once", "wait", "first token", "then one every", "the whole", "output tok/s", "prefill")
    return Table(
        title=f"What requests of {several(load['isl'], 'token')} in and {load['osl']:,} out get, as expected",
        heads=heads, left=heads[:1],
        rows=tuple(
            (
                name,
                numbers.plain(one.running),
                numbers.plain(one.waiting) if one.waiting and one.waiting >= 0.05 else "",
                told(one.ttft_s),
                told(one.tpot_s),
                told(one.request_s),
                told(one.output_tokens_per_s, numbers.plain),
                "" if one.prefill_share is None else numbers.percent(one.prefill_share),
            )
            for name, one in runs.items()
        ),
    )  # fmt: skip


def told(span: Span | None, show: Callable[[float], str] = numbers.seconds) -> str:
    """The expected value over its interval, in its unit; blank where there is none."""
    if span is None:
        return ""
    if span.low is None or span.high is None:
        return show(span.expected)
    unit = show(span.expected).rpartition(" ")[2] if show is numbers.seconds else ""
    scale = to_base(1, unit) if unit else 1
    low, high = (numbers.plain(value / scale) for value in (span.low, span.high))
    return f"{show(span.expected)}\n{low}-{high}"


def _roofline(analysis: Analysis, phases: dict[str, Phase], ascii_only: bool) -> list[Block]:
    """The roof of all devices with a dot a phase, at the speed of its roofline time."""
    card = analysis.accelerator
    used = {
        form for phase in phases.values() for form, flop in phase.flop_by_format.items() if flop >= 0.01 * phase.flop
    }
    known = sorted(used & card.peak_flop_per_s.keys())
    flats = [Flat(form, card.peak_flop_per_s[form] * card.count) for form in known]
    dots = [
        Dot(_MARKS[name], phase.intensity_flop_per_byte, phase.flop / phase.time_s.roofline)
        for name, phase in phases.items()
        if phase.flop
    ]
    if not dots:
        return []
    bandwidth = card.memory_bytes_per_s * card.count
    where = devices_named(card.id, card.count)
    peaks = ", ".join(f"{flat.name} {numbers.amount(flat.flop_per_s, 'FLOP/s')}" for flat in flats)
    peaks = peaks or "no compute roof, for no peak is published"
    marks = ", ".join(f"{_MARKS[name]} {name}" for name in phases)
    medians = "" if card.measured is None else "medians "
    title = f"Roofline of {where}: {medians}{numbers.amount(bandwidth, 'B/s')}, {peaks}. {marks}, at roofline time."
    return [Prose(title), Drawing(tuple(draw(flats, bandwidth, dots, ascii_only=ascii_only)))]

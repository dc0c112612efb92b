"""The answer of `compare` as text and as rows; its JSON is rooflight.comparison/1 (values.comparison) as it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, flat, rows_of
from rooflight.show.seen import note, renamed
from rooflight.span import Span
from rooflight.units import round_significant, to_base
from rooflight.values.comparison import Compared, Comparison, Stretch
from rooflight.words.comparison import tokens

_PARTS = ("run", "hardware", "memory", "prefill", "decode", "request", "equal_at")
# What is won along the ratio, as text says it; the others are in the JSON.
_WON = {
    "throughput": "Fastest",
    "accelerator": "Most per accelerator",
    "latency": "Fastest for each user",
    "cost": "Most per dollar",
    "energy": "Most per joule at TDP",
}
_ALWAYS_SHOWN = ("throughput", "cost", "energy")


def rows(comparison: Comparison) -> Rows:
    """One row a deployment, the paths of the JSON as columns."""
    table = []
    for one in comparison.compared:
        fields = msgspec.to_builtins(one)
        table.append(flat({name: value for name, value in fields.items() if name not in _PARTS or value is not None}))
    return rows_of(table)


def blocks(comparison: Comparison) -> list[Block]:
    """The sentence, then time, yield, what each rate is worth, memory, and who wins where."""
    shown: list[Block] = [Prose(comparison.answer, "answer")]
    shown += [Prose(f"Warning: {text}", "warning") for text in comparison.warnings]
    timed = [one for one in comparison.compared if one.request is not None]
    if timed:
        shown += [_time_table(comparison, timed), _yield_table(timed)]
        if len(timed) > 1:
            shown.append(_speed_up_table(comparison, timed))
    shown += _decode_table(comparison)
    shown.append(_memory_table(comparison.compared))
    shown += _wins(comparison)
    for title, there in (("Waiting for room in memory:", True), ("Without times:", False)):
        told = [
            f"{one.label}: {one.reason}" for one in comparison.compared if one.reason and bool(one.request) is there
        ]
        if told:
            shown.append(Bullets(title, tuple(told)))
    shown.append(Bullets("Assumed:", comparison.assumptions))
    alone = all(one.accelerator in comparison.measured for one in comparison.compared)
    return renamed(shown, alone) if alone else [*shown, *note(comparison.measured)]


def _time_table(comparison: Comparison, timed: Sequence[Compared]) -> Table:
    mix = comparison.mix
    heads = ("on", "batch", "TTFT", "TPOT", "expected", "at the\nceilings", "prefill\nis", "times\nas fast")
    lines = []
    for one in timed:
        whole, prefill, run = one.request, one.prefill, one.run
        if whole is None or prefill is None or prefill.share is None or run is None or run.ttft_s is None:
            continue
        lines.append(
            (
                one.label,
                numbers.count(one.batch),
                numbers.seconds(run.ttft_s.expected),
                "" if run.tpot_s is None else numbers.seconds(run.tpot_s.expected),
                interval(whole.time_s),
                numbers.seconds(whole.time_s.ceiling),
                numbers.percent(prefill.share.expected),
                times(None if whole.speed_up is None else whole.speed_up.expected),
            )
        )
    size = f"{tokens(mix.isl)} token{'s' * (mix.isl != 1)} in, {tokens(mix.osl)} out"
    return Table(
        title=f"Times of a request ({size}), those of the machine, and speed over {comparison.baseline}, as expected:",
        heads=heads,
        left=("on",),
        rows=tuple(lines),
    )


def _decode_table(comparison: Comparison) -> list[Block]:
    """Decode steps of all, where prompts of some cannot be told."""
    parts = [(one, one.decode) for one in comparison.compared if one.decode is not None]
    if all(one.request is not None for one, _ in parts):
        return []
    lines = [
        (one.label, numbers.count(one.batch), numbers.seconds(part.step_s.ceiling), interval(part.step_s),
         numbers.plain(part.tokens_per_s.expected), numbers.resource(part.bound))
        for one, part in parts
    ]  # fmt: skip
    heads = ("on", "batch", "ceiling", "expected", "tok/s\nexpected", "bound")
    return [Table(title="Decode steps alone:", heads=heads, left=("on", "bound"), rows=tuple(lines))]


def interval(span: Span) -> str:
    """The expected time over its interval."""
    if span.low is None or span.high is None:
        return ""
    unit = numbers.seconds(span.expected).rpartition(" ")[2]
    low, high = (numbers.plain(value / to_base(1, unit)) for value in (span.low, span.high))
    return f"{numbers.seconds(span.expected)}\n{low}-{high}"


def times(ratio: float | None) -> str:
    """1.43; blank where there is none."""
    return "" if ratio is None else round_significant(ratio)


def _yield_table(timed: Sequence[Compared]) -> Table:
    """Of requests that put out nothing, requests a second."""
    if not any(one.request.output_tokens_per_s.ceiling for one in timed if one.request is not None):
        return _requests_table(timed)
    heads = [
        "on", "output\ntok/s", "each\ndevice", "each\nuser", "no engine\nabove", "tokens\nper $", "tokens\nper J",
    ]  # fmt: skip
    lines = []
    for one in timed:
        whole = one.request
        if whole is None:
            continue
        output, user = whole.output_tokens_per_s, whole.output_tokens_per_s_per_user
        lines.append(
            [
                one.label,
                numbers.plain(output.expected),
                numbers.plain(whole.output_tokens_per_s_per_accelerator.expected),
                numbers.plain(user.expected if user else None),
                numbers.plain(output.ceiling),
                numbers.plain(whole.tokens_per_usd.expected if whole.tokens_per_usd else None),
                numbers.plain(whole.tokens_per_joule.expected if whole.tokens_per_joule else None),
            ]
        )
    kept = [place for place in range(len(heads)) if any(line[place] for line in lines)]
    return Table(
        title="What that yields, as expected:",
        heads=tuple(heads[place] for place in kept),
        left=("on",),
        rows=tuple(tuple(line[place] for place in kept) for line in lines),
    )


def _requests_table(timed: Sequence[Compared]) -> Table:
    found = [(one, one.request.requests_per_s) for one in timed if one.request is not None]
    rows = (
        (one.label, *map(numbers.plain, (rate.expected, rate.expected / one.devices, rate.ceiling)))
        for one, rate in found
    )
    return Table(
        title="What that yields, as expected:", heads=("on", "requests\na second", "each\ndevice", "no engine\nabove"),
        left=("on",), rows=tuple(rows),
    )  # fmt: skip


def _speed_up_table(comparison: Comparison, timed: Sequence[Compared]) -> Table:
    """Rates of the datasheet beside what becomes of them."""
    heads = ("on", "memory\nrate", "compute\nrate", "prefill", "decode", "whole")
    lines = []
    for one in timed:
        if one.hardware is None or one.prefill is None or one.request is None:
            continue
        rates = (times(one.hardware.memory_ratio), times(one.hardware.flop_ratio))
        decode = None if one.decode is None else one.decode.speed_up
        parts = (one.prefill.speed_up, decode, one.request.speed_up)
        lines.append((one.label, *rates, *map(_both, parts)))
    printed = "rates" if comparison.measured else "datasheet rates"
    title = (
        f"Times {comparison.baseline}, {printed}, then speeds at the ceilings (and as expected), of steps of "
        "prompts, of decode steps, and of the run:"
    )
    return Table(title=title, heads=heads, left=("on",), rows=tuple(lines))


def _both(ratio: Span | None) -> str:
    return "" if ratio is None else f"{times(ratio.ceiling)} ({times(ratio.expected)})"


def _memory_table(compared: Iterable[Compared]) -> Table:
    heads = ("on", "weights", "memory", "largest\nbatch", "fits", "prefill\nbound", "decode\nbound")
    lines = []
    for one in compared:
        held = one.memory
        lines.append(
            (
                one.label,
                numbers.amount(held.weights_bytes, "B") if held else "",
                numbers.amount(held.usable_bytes, "B") if held else "",
                numbers.count(held.max_batch) if held else "",
                "not known" if one.fits is None else "yes" if one.fits else "no",
                numbers.resource(one.prefill.bound) if one.prefill else "",
                numbers.resource(one.decode.bound) if one.decode else "",
            )
        )
    return Table(
        title="Memory, and what binds:",
        heads=heads,
        left=("on", "fits", "prefill\nbound", "decode\nbound"),
        rows=tuple(lines),
    )


def _wins(comparison: Comparison) -> list[Block]:
    """Who wins at which ratio: as expected, and at the ceilings where that is another story."""
    if comparison.curves is None or not comparison.stretches:
        return []
    lines = []
    shown = [name for name in _WON if name in _ALWAYS_SHOWN or name == comparison.objective]
    for objective in shown:
        told = {}
        for basis in ("expected", "ceiling"):
            along = [one for one in comparison.stretches if (one.objective, one.basis) == (objective, basis)]
            if along:
                told[basis] = _along(along)
        if told:
            other = "" if told["ceiling"] == told["expected"] else f" At the ceilings: {told['ceiling']}."
            lines.append(f"{_WON[objective]}: {told['expected']}.{other}")
    met = [
        f"{one.label} at {', '.join(map(numbers.plain, one.equal_at.expected))}"
        for one in comparison.compared
        if one.equal_at and one.equal_at.expected
    ]
    if met:
        lines.append(f"As fast as {comparison.baseline}, as expected: {'; '.join(met)}.")
    total = comparison.curves.total_tokens
    ratio = "" if comparison.mix.ratio is None else f" This mix has {numbers.plain(comparison.mix.ratio)}."
    title = f"Who wins at which number of input tokens per output token, {tokens(total)} tokens in all.{ratio}"
    return [Bullets(title, tuple(lines))]


def _along(stretches: Sequence[Stretch]) -> str:
    """`a up to 3.2, b from there to 40, c beyond`."""
    if len(stretches) == 1:
        return f"{stretches[0].winner} at every ratio"
    said = [f"{stretches[0].winner} up to {numbers.plain(stretches[0].to_ratio)}"]
    said += [f"{one.winner} up to {numbers.plain(one.to_ratio)}" for one in stretches[1:-1]]
    return ", ".join([*said, f"{stretches[-1].winner} beyond"])

"""Why an operator lands where it does: its FLOP, bytes, intensity and ceilings, written out with their numbers.

Everything is of one run on one device, as the formulas count it; only the last lines are of all runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rooflight.errors import UnknownName
from rooflight.roofline.links import link_seconds
from rooflight.roofline.rates import hardware_format, no_peak, unrated
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.scenario.pools import prompts_on
from rooflight.scenario.unlike import rates_for
from rooflight.serve import phases
from rooflight.show import numbers
from rooflight.units import round_significant, scaled, whole
from rooflight.values.steptime import BINDING, OperatorTime
from rooflight.values.work import Exchange, Gemm, Operator, Scores

_ABOUT = {
    "linear": "a matrix product: weights are read once however many tokens there are, arithmetic grows with them",
    "experts": "the routed experts' product: only experts that some token chose are read",
    "attention": "the products with keys and values: every sequence reads its own, so a larger batch shares nothing",
    "recurrent": "a recurrent layer: its state is read and written once a step",
    "elementwise": "no product, only traffic: what good engines fuse into its neighbours",
    "collective": "an exchange between the devices",
}
_WHY = {
    "compute": "Arithmetic takes longest: more FLOP/s or a narrower format would help, bandwidth would not.",
    "memory": "Moving its bytes takes longest: narrower formats or more bandwidth would help, FLOP/s would not.",
    "link": "The link takes longest: fewer devices in the exchange, or a faster link, would help.",
    "host_memory": "Reading its bytes from the host's memory takes longest: more of it on the device would help.",
    "launch": "Starting its kernels takes longest: fusing it, or more work in each run, would hide that.",
}


class Term(msgspec.Struct, frozen=True):
    """A number of a line, and how it is written: 4096, "4,096 inputs"."""

    value: float
    text: str


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """what = terms[0] sign terms[1] ... = value; sign is "×", "+", "÷" or "max".

    Without terms the value is counted by rules that no short product says.
    """

    what: str
    sign: str
    terms: tuple[Term, ...]
    value: float
    text: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """An operator of a phase: what it is, its arithmetic line by line, what bounds it and why."""

    name: str
    phase: str
    count: int
    about: str
    lines: tuple[Line, ...]
    bound: str
    why: str


def explain(sc: Scenario, phase: str, name: str) -> Explanation:
    """The arithmetic of one operator; "norm#2" is the second row called norm.

    Raises UnknownName for one the phase does not have, MissingFact for a prefill whose peak is not known.
    """
    if phase == "prefill" and sc.unrated:
        raise no_peak(sc.accelerator, sc.unrated, "prefill")
    time = phases.prefill(sc, bounds_only=True).time if phase == "prefill" else phases.decode(sc, bounds_only=True).time
    rows = _by_name(time.operators)
    if name not in rows:
        raise UnknownName(
            f"{phase} has no operator {name!r}", where="operator", got=name, want=f"one of {', '.join(rows)}"
        )
    row = rows[name]
    bound = BINDING[row.bound]
    return Explanation(
        name=name,
        phase=phase,
        count=row.operator.count,
        about=_ABOUT[row.operator.kind],
        lines=tuple(_lines(prompts_on(sc) if phase == "prefill" else sc, phase, row)),
        bound=bound,
        why=_WHY[bound],
    )


def _by_name(operators: Iterable[OperatorTime]) -> dict[str, OperatorTime]:
    rows: dict[str, OperatorTime] = {}
    seen: dict[str, int] = {}
    for row in operators:
        name = row.operator.name
        seen[name] = seen.get(name, 0) + 1
        rows[name if seen[name] == 1 else f"{name}#{seen[name]}"] = row
    return rows


def _lines(sc: Scenario, phase: str, row: OperatorTime) -> Iterator[Line]:
    op = row.operator
    yield from _arithmetic(sc, phase, op)
    yield from _traffic(op)
    yield from _exchange(op)
    yield from _ceilings(sc, row)


def _arithmetic(sc: Scenario, phase: str, op: Operator) -> Iterator[Line]:
    flop, shape = op.work.flop, op.shape
    if not flop:
        return
    terms: tuple[Term, ...] = ()
    if isinstance(shape, Gemm):
        rows = "rows, a token at each of its experts" if op.kind == "experts" else "tokens"
        terms = (_count(2, ""), _count(shape.tokens, rows), _count(shape.inputs, "inputs"),
                 _count(shape.outputs, "outputs"))  # fmt: skip
    elif isinstance(shape, Scores):
        keys = (
            shape.keys if sc.numbers.flash else shape.new + (0 if phase == "prefill" else context_tokens(sc.workload))
        )
        front = 2 * shape.sequences * shape.new * keys * shape.heads
        terms = (_count(2, ""), _count(shape.sequences, "sequences"), _count(shape.new, "new tokens"),
                 _count(keys, "keys"), _count(shape.heads, "heads"),
                 _count(flop / front, "elements of a key and a value"))  # fmt: skip
    yield Line(what="FLOP", sign="×", terms=terms, value=flop, text=scaled(flop, "FLOP"))


def _traffic(op: Operator) -> Iterator[Line]:
    """Bytes through device memory, by what they are, and their sum."""
    work, shape = op.work, op.shape
    parts = []
    if work.weight_bytes:
        terms: tuple[Term, ...] = ()
        if isinstance(shape, Gemm):
            elements = shape.inputs * shape.outputs
            several = (_count(shape.matrices, "experts touched"),) if op.kind == "experts" else ()
            each = work.weight_bytes / elements / (shape.matrices if several else 1)
            terms = (*several, _count(shape.inputs, "inputs"), _count(shape.outputs, "outputs"),
                     Term(each, f"{round_significant(each, 4)} B a weight ({shape.stored})"))  # fmt: skip
        parts.append(Line(what="weights read", sign="×", terms=terms, value=work.weight_bytes,
                          text=scaled(work.weight_bytes, "B")))  # fmt: skip
    if work.kv_read_bytes:
        parts.append(_cache_line(op))
    if work.kv_write_bytes:
        written = work.kv_write_bytes
        parts.append(Line(what="cache written", sign="×", terms=(), value=written, text=scaled(written, "B")))
    if work.activation_bytes:
        moved = work.activation_bytes
        terms = ()
        if isinstance(shape, Gemm):
            row = moved / shape.tokens
            terms = (_count(shape.tokens, "tokens"), Term(row, f"{round_significant(row, 6)} B in and out each"))
        parts.append(Line(what="activations in and out", sign="×", terms=terms, value=moved, text=scaled(moved, "B")))
    yield from parts
    if len(parts) > 1:
        total = work.moved_bytes
        yield Line(what="bytes moved", sign="+", terms=tuple(Term(part.value, part.text) for part in parts),
                   value=total, text=scaled(total, "B"))  # fmt: skip


def _cache_line(op: Operator) -> Line:
    read, shape = op.work.kv_read_bytes, op.shape
    terms: tuple[Term, ...] = ()
    if isinstance(shape, Scores) and shape.keys > shape.new:
        cached = shape.keys - shape.new
        each = read / shape.sequences / cached
        if _is_whole(2 * each):  # else it is not counted by the position (strides, picks)
            terms = (_count(shape.sequences, "sequences"), _count(cached, "cached tokens"),
                     Term(each, f"{round_significant(each, 6)} B a token of this layer"))  # fmt: skip
    return Line(what="cache read", sign="×", terms=terms, value=read, text=scaled(read, "B"))


def _exchange(op: Operator) -> Iterator[Line]:
    sent, shape = op.work.link_bytes, op.shape
    if sent and isinstance(shape, Exchange):
        factor = sent / shape.payload_bytes
        terms = (
            Term(shape.payload_bytes, f"{scaled(shape.payload_bytes, 'B')} held by each of {shape.devices:g}"),
            Term(factor, f"{round_significant(factor, 4)} sent of it"),
        )
        yield Line(what="bytes sent by a device", sign="×", terms=terms, value=sent, text=scaled(sent, "B"))


def _ceilings(sc: Scenario, row: OperatorTime) -> Iterator[Line]:
    """Seconds of each resource, the largest of them, and what all runs take."""
    op = row.operator
    there = sc.rates.beside.rates if row.terms.on_host and sc.rates.beside is not None else None
    rates = there or rates_for(sc.rates, op.name)
    work, moved = op.work, op.work.moved_bytes
    if work.flop and moved:
        intensity = work.flop / moved
        yield Line(what="arithmetic intensity", sign="÷", value=intensity,
                   terms=(Term(work.flop, scaled(work.flop, "FLOP")), Term(moved, scaled(moved, "B"))),
                   text=f"{round_significant(intensity)} FLOP/byte")  # fmt: skip
    found = []
    if work.flop and not unrated(rates.accelerator, (op.compute,)):
        peak, used = rates.peak(op.compute), hardware_format(rates.accelerator, op.compute)
        if moved:
            ridge = peak / rates.memory_bytes_per_s
            yield Line(what=f"ridge point ({used})", sign="÷", value=ridge,
                       terms=(Term(peak, scaled(peak, "FLOP/s")),
                              Term(rates.memory_bytes_per_s, scaled(rates.memory_bytes_per_s, "B/s"))),
                       text=f"{round_significant(ridge)} FLOP/byte")  # fmt: skip
        found.append(_ceiling("compute", work.flop, scaled(work.flop, "FLOP"), peak, scaled(peak, "FLOP/s")))
    if moved:
        speed = rates.memory_bytes_per_s
        found.append(
            _ceiling(
                "memory" if there is None else "the host's memory",
                moved,
                scaled(moved, "B"),
                speed,
                scaled(speed, "B/s"),
            )
        )
    near_s, far_s = link_seconds(op, rates.links, fastest=False)
    for name, sent, seconds in (
        ("link", work.link_bytes - work.network_bytes, near_s), ("link, across", work.network_bytes, far_s),
    ):  # fmt: skip
        if sent and seconds:
            found.append(_ceiling(name, sent, scaled(sent, "B"), sent / seconds, scaled(sent / seconds, "B/s")))
    if work.launches and rates.launch_s:
        floor, kernels = rates.launch_s, "kernel" if work.launches == 1 else "kernels"
        terms = (_count(work.launches, kernels), Term(floor, numbers.seconds(floor)))
        seconds = work.launches * floor
        found.append(Line(what="launch", sign="×", terms=terms, value=seconds, text=numbers.seconds(seconds)))
    yield from found
    longest = max((line.value for line in found), default=0.0)
    yield Line(what="one run: the longest", sign="max", value=longest, text=numbers.seconds(longest),
               terms=tuple(Term(line.value, f"{line.what} {line.text}") for line in found))  # fmt: skip
    yield from _all_runs(row, longest)


def _ceiling(what: str, amount: float, amount_text: str, rate: float, rate_text: str) -> Line:
    seconds = amount / rate
    return Line(what=what, sign="÷", terms=(Term(amount, amount_text), Term(rate, rate_text)), value=seconds,
                text=numbers.seconds(seconds))  # fmt: skip


def _all_runs(row: OperatorTime, one: float) -> Iterator[Line]:
    count = row.operator.count
    if one and count > 1:
        terms = [_count(count, "runs"), Term(one, numbers.seconds(one))]
        yield Line(what="all runs of the step", sign="×", terms=tuple(terms), value=row.time_s,
                   text=f"{numbers.seconds(row.time_s)}, {numbers.percent(row.share)} of it")  # fmt: skip


def _count(value: float, name: str) -> Term:
    text = f"{round(value):,}" if _is_whole(value) else round_significant(value, 5)
    return Term(value, f"{text} {name}".rstrip())


def _is_whole(value: float) -> bool:
    """Up to what rounding of floats leaves."""
    return isinstance(whole(value), int)

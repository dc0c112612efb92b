"""Kernels timed on a grid of sizes, and between its points: what `--engine torch` expects of any model.

The kernels are those of probe/network.py at sizes of no particular model. Weights and caches come out of memory, as in a
step of a real model; activations lie where the kernel before them left them.
"""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from rooflight.probe import network
from rooflight.probe.device import Device, torch_here, torch_type
from rooflight.probe.timing import graph_timed, quantiles, timed, timing
from rooflight.values.tables import Grid, Tables, Tried

# Rows of a linear layer: every batch that has a kernel of its own in the libraries, then prompts.
_TOKENS = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512)
# On devices that take thousands of rows to fill.
_MORE_TOKENS = (1024, 2048, 4096)
_INPUTS = (512, 2048, 8192)
_OUTPUTS = (512, 2048, 8192, 32768)
# A larger matrix is not timed: it takes what the one of fewer inputs does, in proportion.
_MOST_WEIGHTS = 1 << 26
_DECODE_AXES, _PREFILL_AXES = ("items", "group", "keys", "head_dim"), ("heads", "new", "head_dim")
_DECODE = ((1, 2, 4, 16, 64), (1, 2, 8), (32, 512, 4096), (64, 128))
_PREFILL = ((4, 16, 64), (16, 64, 128, 256, 512, 1024), (64, 128))
# Rows of kernels without a product, at so many elements a row.
_ROWS = (1, 4, 16, 64, 256, 1024)
_WIDTH = 2048
_HEAD_DIM = 128
_HEADS = (16, 8)
_GROUP = 4
_ROOM = 24
_VOCABULARY = 1 << 17
_TINY = 64
_SEVERAL = 8
# Sizes between the points, of no model in particular: odd ones too.
_TRIED: dict[str, tuple[tuple[int, ...], ...]] = {
    "gemm": (
        (1, 1000, 3000), (1, 3000, 1000), (1, 5120, 6912), (1, 1500, 60000), (3, 1280, 5000), (8, 1280, 5000),
        (8, 4500, 1100), (8, 1200, 60000), (24, 2600, 2600), (96, 1000, 7000), (128, 6000, 1300), (384, 1100, 4100),
    ),
    "decode": ((2, 2, 700, 64), (8, 2, 1500, 128), (32, 3, 250, 64), (40, 5, 600, 128)),
    "prefill": ((12, 100, 64), (24, 400, 128), (32, 150, 64), (16, 600, 128)),
}  # fmt: skip
# How the budget of a format is shared: the rest is for what is no product and for sizes between the points.
_GEMM_SHARE = 0.65
_POINT_S = 0.03
_LEAST = 2
_ROUNDS = 2
# Runs of a point with those that warm it up; and the shape by which its cost is told.
_RUNS = _LEAST + 2
_SHAPE, _SHAPE_ROWS = (2048, 2048), 128
# Buffers together so large that none is in a cache when its turn comes again.
_TIMES_CACHE = 3.0
_MOST_COPIES = 256


class _Clock(msgspec.Struct):
    """The device, how much must lie between two uses of a buffer, and how far runs differed so far."""

    device: Device
    cold_bytes: float
    spreads: list[float] = []

    def median(self, run: Callable[[int], object]) -> float:
        """Seconds of a run in the median; of a device with graphs without what launches it."""
        given = {"least": _LEAST, "budget_s": _POINT_S}
        seconds = graph_timed(run, self.device, calls=4, **given) or timed(run, self.device, warmup=1, **given)
        found = timing(seconds)
        self.spreads.append(found.spread)
        return found.median


class _Pool:
    """Random numbers of a format, made once: buffers of any shape are views of it."""

    def __init__(self, form: str, clock: _Clock) -> None:
        self.wide = torch_type(form).itemsize
        self.make = functools.partial(network.weights, format=form, device=clock.device)
        least = math.ceil(clock.cold_bytes / self.wide)
        self._numbers = self.make((max(least, _MOST_WEIGHTS) + _MOST_WEIGHTS,))

    def several(self, shape: tuple[int, ...]) -> list[Any]:
        """Buffers of a shape that together are so large that none is in a cache when it is used again in turn."""
        one = math.prod(shape)
        count = min(len(self._numbers) // one, _MOST_COPIES)
        return list(self._numbers[: count * one].view(count, *shape).unbind(0))


def tables(device: Device, formats: Sequence[str], *, cache_bytes: float, budget_s: float = 70.0) -> Iterator[Tables]:
    """Tables that grow by a number format each: the last one that came is whole, wherever the caller stops.

    formats     those that are measured; of others than torch's floating-point types none is
    cache_bytes the last-level cache of the device
    budget_s    seconds for all of them; where they are few, the longest prompts are not timed
    """
    torch = torch_here()
    found = Tables()
    wanted = [form for form in formats if form in ("fp32", "bf16", "fp16")]
    clock = _Clock(device=device, cold_bytes=cache_bytes * _TIMES_CACHE)
    with torch.no_grad():
        for form in wanted:
            found = _with_format(found, form, clock, budget_s / len(wanted))
            yield found


def _with_format(found: Tables, form: str, clock: _Clock, budget_s: float) -> Tables:
    """The tables with another format, of rounds at different moments: a machine that others share has slow spells."""
    pool = _Pool(form, clock)
    rounds = [_round(form, clock, pool, budget_s / _ROUNDS) for _ in range(_ROUNDS)]
    new = functools.reduce(_faster, rounds)
    return Tables(
        gemm=found.gemm | new.gemm,
        decode=found.decode | new.decode,
        prefill=found.prefill | new.prefill,
        elementwise=found.elementwise | new.elementwise,
        layer_s=found.layer_s | new.layer_s,
        expert_s=found.expert_s | new.expert_s,
        step_s=max(found.step_s, new.step_s),
        sequence_s=max(found.sequence_s, new.sequence_s),
        tried=(*found.tried, *new.tried),
        spread=quantiles(clock.spreads, (0.5,))[0],
    )


def _round(form: str, clock: _Clock, pool: _Pool, budget_s: float) -> Tables:
    gemm = _gemm(pool, clock, budget_s * _GEMM_SHARE)
    tiny = _Tiny(pool.make, form, clock)
    logits = [pool.make((rows, _VOCABULARY)) for rows in (1, _SEVERAL)]
    one, several = (clock.median(lambda _, one=one: network.chosen(one)) for one in logits)
    return Tables(
        gemm={form: gemm},
        decode={form: _grid(_DECODE_AXES, _DECODE, functools.partial(_decode_s, pool, clock))},
        prefill={form: _grid(_PREFILL_AXES, _PREFILL, functools.partial(_prefill_s, pool, clock))},
        elementwise={form: {name: _by_bytes(run, pool, clock) for name, run in _plain(pool.make).items()}},
        layer_s={form: tiny.layer_s()},
        expert_s={form: tiny.expert_s()},
        step_s=one,
        sequence_s=max(several - one, 0.0) / (_SEVERAL - 1),
        tried=tuple(_tried(form, pool, clock, longest=gemm.points[0][-1])),
    )


def _faster(one: Tables, other: Tables) -> Tables:
    """Of two rounds of a format the faster run of each kernel."""

    def grids(mine: dict[str, Grid], theirs: dict[str, Grid]) -> dict[str, Grid]:
        return {name: _faster_grid(grid, theirs[name]) for name, grid in mine.items()}

    def least(mine: dict[str, float], theirs: dict[str, float]) -> dict[str, float]:
        return {name: min(value, theirs[name]) for name, value in mine.items()}

    return Tables(
        gemm=grids(one.gemm, other.gemm),
        decode=grids(one.decode, other.decode),
        prefill=grids(one.prefill, other.prefill),
        elementwise={form: grids(plain, other.elementwise[form]) for form, plain in one.elementwise.items()},
        layer_s=least(one.layer_s, other.layer_s),
        expert_s=least(one.expert_s, other.expert_s),
        step_s=min(one.step_s, other.step_s),
        sequence_s=min(one.sequence_s, other.sequence_s),
        tried=tuple(min(pair, key=lambda tried: tried.seconds) for pair in zip(one.tried, other.tried, strict=False)),
    )


def _faster_grid(one: Grid, other: Grid) -> Grid:
    """Of grids that may end at different counts of rows: up to where the shorter one does."""
    short = one if len(one.points[0]) <= len(other.points[0]) else other
    seconds = tuple(map(min, one.seconds, other.seconds))
    return msgspec.structs.replace(short, seconds=seconds[: len(short.seconds)])


def _grid(names: tuple[str, ...], points: tuple[tuple[int, ...], ...], seconds: Callable[..., float]) -> Grid:
    axes = tuple(tuple(map(float, along)) for along in points)
    return Grid(names=names, points=axes, seconds=tuple(seconds(*sizes) for sizes in itertools.product(*points)))


def _gemm(pool: _Pool, clock: _Clock, budget_s: float) -> Grid:
    """Linear layers; where the budget is short, more rows are left to proportion."""
    counts = _TOKENS if clock.device.kind == "cpu" else (*_TOKENS, *_MORE_TOKENS)
    counts = counts[: _affordable(pool, clock, budget_s, counts)]
    found: dict[tuple[int, int], tuple[float, ...]] = {}
    for inputs, outputs in itertools.product(_INPUTS, _OUTPUTS):
        if inputs * outputs <= _MOST_WEIGHTS:
            found[inputs, outputs] = _gemm_s(pool, clock, counts, inputs, outputs)
            continue
        fewer = _INPUTS[_INPUTS.index(inputs) - 1]
        found[inputs, outputs] = tuple(one * inputs / fewer for one in found[fewer, outputs])
    points = (tuple(map(float, counts)), tuple(map(float, _INPUTS)), tuple(map(float, _OUTPUTS)))
    rows = itertools.chain(*zip(*found.values(), strict=True))
    return Grid(names=("tokens", "inputs", "outputs"), points=points, seconds=tuple(rows))


def _affordable(pool: _Pool, clock: _Clock, budget_s: float, counts: tuple[int, ...]) -> int:
    """How many of the counts of rows the budget holds, by what one shape takes of it."""
    inputs, outputs = _SHAPE
    shapes = [(one, two) for one, two in itertools.product(_INPUTS, _OUTPUTS) if one * two <= _MOST_WEIGHTS]
    times = sum(one * two for one, two in shapes) / (inputs * outputs)
    few, many = _gemm_s(pool, clock, (1, _SHAPE_ROWS), inputs, outputs)
    spent = 0.0
    for place, rows in enumerate(counts):
        one_s = max(few, many * rows / _SHAPE_ROWS) * times
        spent += max(one_s * _RUNS, _POINT_S * len(shapes))
        if spent > budget_s and place > 1:
            return place
    return len(counts)


def _gemm_s(pool: _Pool, clock: _Clock, counts: Sequence[int], inputs: int, outputs: int) -> tuple[float, ...]:
    """Of one shape, by rows."""
    linear = torch_here().nn.functional.linear
    held = pool.several((outputs, inputs))
    count = len(held)
    rows = [pool.make((tokens, inputs)) for tokens in counts]
    return tuple(clock.median(lambda i, x=x: linear(x, held[i % count])) for x in rows)


def _decode_s(pool: _Pool, clock: _Clock, items: int, group: int, keys: int, head_dim: int) -> float:
    sequences, kv_heads = (items // _GROUP, _GROUP) if items % _GROUP == 0 else (1, items)
    # some room behind the keys, as a cache that still grows has
    held = [one[..., :keys, :] for one in pool.several((2, sequences, kv_heads, keys + _ROOM, head_dim))]
    count = len(held)
    q = pool.make((sequences, kv_heads, group, head_dim))
    return clock.median(lambda i: network.attended(q, *held[i % count]))


def _prefill_s(pool: _Pool, clock: _Clock, heads: int, new: int, head_dim: int) -> float:
    q, k = pool.make((1, heads, new, head_dim)), pool.make((1, heads // _GROUP, new, head_dim))
    v = k.clone()
    return clock.median(lambda _: network.prompted(q, k, v))


class _Plain(msgspec.Struct):
    """A kernel without a product: what makes a run of it for so many rows, and the elements a row moves.

    calls   of it in a run
    """

    of: Callable[[int], Callable[[int], object]]
    elements: int
    calls: int = 1


def _plain(make: Callable[..., Any]) -> dict[str, _Plain]:
    """The kernels without a product by their operators' names; each moves what the plan's operator does."""
    heads, kv_heads = _HEADS
    scale, inner = make((_WIDTH,)), make((_HEAD_DIM,))
    table = make((1 << 15, _WIDTH))
    torch = torch_here()

    def norm(rows: int) -> Callable[[int], object]:
        x, y = make((rows, _WIDTH)), make((rows, _WIDTH))
        return lambda _: network.normed(x.add_(y), scale)

    def inner_norm(rows: int) -> Callable[[int], object]:
        both = make((rows, heads + kv_heads, _HEAD_DIM))
        return lambda _: network.inner_normed(both, (inner, heads, inner))

    def rope_cache(rows: int) -> Callable[[int], object]:
        sequences = min(rows, 8)
        new = rows // sequences
        heads_of = make((sequences, new, heads + 2 * kv_heads, _HEAD_DIM))
        angles = make((new, 1, _HEAD_DIM // 2)), make((new, 1, _HEAD_DIM // 2))
        cache = make((sequences, kv_heads, new + 64, _HEAD_DIM)), make((sequences, kv_heads, new + 64, _HEAD_DIM))
        q_and_k, v = heads_of[:, :, : heads + kv_heads], heads_of[:, :, heads + kv_heads :]
        return lambda _: network.appended(q_and_k, v, angles, cache, 32)

    def act(rows: int) -> Callable[[int], object]:
        x = make((rows, 2 * _WIDTH))
        return lambda _: network.gated(x)

    def embedding(rows: int) -> Callable[[int], object]:
        picked = torch.randint(0, 1 << 15, (rows,), device=table.device)
        return lambda _: torch.nn.functional.embedding(picked, table)

    def copy(rows: int) -> Callable[[int], object]:
        x = make((rows, _WIDTH))
        return lambda _: x.clone()

    return {
        "norm": _Plain(norm, 4 * _WIDTH),
        "inner_norm": _Plain(inner_norm, (heads + kv_heads) * _HEAD_DIM, calls=2),
        "rope_cache": _Plain(rope_cache, (2 * heads + 4 * kv_heads) * _HEAD_DIM),
        "act": _Plain(act, 3 * _WIDTH),
        "embedding": _Plain(embedding, 2 * _WIDTH),
        "copy": _Plain(copy, 2 * _WIDTH),
    }


def _by_bytes(one: _Plain, pool: _Pool, clock: _Clock) -> Grid:
    return Grid(
        names=("bytes",),
        points=(tuple(float(rows * one.elements * pool.wide) for rows in _ROWS),),
        seconds=tuple(clock.median(one.of(rows)) / one.calls for rows in _ROWS),
    )


class _Tiny:
    """A layer so small that it is nothing but calls: what they take beyond the kernels' own time."""

    def __init__(self, make: Callable[..., Any], form: str, clock: _Clock) -> None:
        self._make, self._clock = make, clock
        self._layer = network.tiny_layer(form, clock.device, hidden=_TINY)
        self._x = make((1, 1, _TINY))
        self._angles = make((1, _TINY // 2)), make((1, _TINY // 2))

    def layer_s(self) -> float:
        """What a layer takes beyond its kernels."""
        make, median = self._make, self._clock.median
        linear = torch_here().nn.functional.linear
        x, square, pair = self._x, make((_TINY, _TINY)), make((1, 1, 2 * _TINY))
        heads, angles = make((1, 1, 3, _TINY)), tuple(one.unsqueeze(-2) for one in self._angles)
        cache = make((1, 1, 64, _TINY)), make((1, 1, 64, _TINY))
        q = make((1, 1, 1, _TINY))
        scale, other = make((_TINY,)), x.clone()
        kernels = (
            4 * median(lambda _: linear(x, square))
            + 2 * median(lambda _: network.normed(other.add_(x), scale))
            + median(lambda _: network.appended(heads[:, :, :2], heads[:, :, 2:], angles, cache, 32))
            + median(lambda _: network.attended(q, *(one[:, :, :33] for one in cache)))
            + median(lambda _: network.gated(pair))
        )
        return max(median(lambda _: self._layer(x, self._angles, 32)) - kernels, 0.0)

    def expert_s(self) -> float:
        """What is around one routed expert's products."""
        torch = torch_here()
        rows, out = self._make((8, _TINY)), self._make((8, _TINY))
        picked = torch.arange(16, device=rows.device).view(8, 2)
        shares = self._make((8, 2))
        if self._clock.device.kind != "cpu":  # it waits for the device, so no graph holds it
            run = timed(lambda _: network.routed(rows, picked, 3, shares, out, lambda x: x.clone()), self._clock.device)
            return timing(run).median
        return self._clock.median(lambda _: network.routed(rows, picked, 3, shares, out, lambda x: x.clone()))


def _tried(form: str, pool: _Pool, clock: _Clock, *, longest: float) -> Iterator[Tried]:
    """Sizes between the points; of linear layers those with no more rows than were timed."""
    seconds: dict[str, Callable[..., float]] = {
        "gemm": lambda tokens, *shape: _gemm_s(pool, clock, (tokens,), *shape)[0],
        "decode": functools.partial(_decode_s, pool, clock),
        "prefill": functools.partial(_prefill_s, pool, clock),
    }
    for kernel, several in _TRIED.items():
        for sizes in several:
            if kernel != "gemm" or sizes[0] <= longest:
                yield Tried(kernel=kernel, format=form, sizes=tuple(map(float, sizes)), seconds=seconds[kernel](*sizes))

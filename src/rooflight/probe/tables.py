"""Kernels timed on a grid of sizes, and between its points: what `--engine torch` expects of any model.

The kernels are those of probe/network.py at sizes of no particular model. Weights and caches come out of memory, as in
a step of a real model; activations lie where the kernel before them left them.
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
from rooflight.probe.rounds import Cell, in_turns
from rooflight.probe.timing import graph_timed, quantiles, timed, timing
from rooflight.values.tables import AXES, Grid, Tables, Tried

# Rows of a linear layer: every batch that has a kernel of its own in the libraries, then prompts.
_TOKENS = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512)
# On devices that take thousands of rows to fill.
_MORE_TOKENS = (1024, 2048, 4096)
_INPUTS = (512, 2048, 8192)
_OUTPUTS = (512, 2048, 8192, 32768)
# A larger matrix is not timed: it takes what the one of fewer inputs does, in proportion.
_MOST_WEIGHTS = 1 << 26
# Nor are many rows of a large one: a turn would be of little else.
_MOST_PRODUCTS = 1 << 32
_ALWAYS_WEIGHTS = 1 << 24
# Where memory is short, and what of it may be taken.
_LEAST_WEIGHTS = 1 << 24
_FREE_SHARE = 1 / 3
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
# Of a format's part of the budget, what one turn of its linear layers may take: longer prompts are left out.
_TURN_SHARE = 0.15
_LEAST_TURNS = 3
# A short kernel runs so long a turn, after one run that is not counted; a long one once.
_POINT_S = 0.01
_LONG_S = 0.005
_SHAPE, _SHAPE_ROWS = (2048, 2048), 128
# Buffers together so large that none is in a cache when its turn comes again.
_TIMES_CACHE = 3.0
_MOST_COPIES = 256
_FORMATS = ("fp32", "bf16", "fp16")

Run = Callable[[int], object]
# (field of Tables, name of what is no product, sizes) of a point.
Key = tuple[str, str, tuple[int, ...]]


class _Pool:
    """Random numbers of a format, made once: weights and caches of any shape are views of them.

    most    elements of the largest matrix that is timed
    """

    def __init__(self, form: str, device: Device, cache_bytes: float, most: int) -> None:
        self.form, self.device, self.most = form, device, most
        self.wide = torch_type(form).itemsize
        self.make = functools.partial(network.weights, format=form, device=device)
        self.counts = _TOKENS if device.kind == "cpu" else (*_TOKENS, *_MORE_TOKENS)
        self._cold = math.ceil(cache_bytes * _TIMES_CACHE / self.wide)
        self._far = self.make((self._cold + 2 * most,))
        self._near = self.make((max(self.counts) * max(_INPUTS),))

    def several(self, shape: tuple[int, ...]) -> list[Any]:
        """Buffers of a shape that together are so large that none is in a cache when it is used again in turn."""
        one = math.prod(shape)
        count = min(max(2, math.ceil(self._cold / one)), _MOST_COPIES, len(self._far) // one)
        return list(self._far[: count * one].view(count, *shape).unbind(0))

    def inputs(self, shape: tuple[int, ...]) -> Any:
        """Activations."""
        return self._near[: math.prod(shape)].view(shape)

    def holds(self, tokens: int, inputs: int, outputs: int) -> bool:
        """Whether a linear layer is timed."""
        size = inputs * outputs
        return size <= self.most and (size <= _ALWAYS_WEIGHTS or tokens * size <= _MOST_PRODUCTS)

    def shapes(self, tokens: int) -> list[tuple[int, int]]:
        """Inputs and outputs of the matrices that are timed with so many rows."""
        return [shape for shape in itertools.product(_INPUTS, _OUTPUTS) if self.holds(tokens, *shape)]


def tables(
    device: Device, formats: Sequence[str], *, cache_bytes: float, free_bytes: float, budget_s: float = 65.0,
    tick: Callable[[float], None] = lambda _: None,
) -> Tables:  # fmt: skip
    """Every point of every format once a turn, so that a slow spell of the machine falls on all of them alike.

    formats     those that are measured; of others than torch's floating-point types none is
    cache_bytes the last-level cache of the device; free_bytes: of its memory, of which a third at most is used
    budget_s    seconds of timing; where they are few, the longest prompts are not timed
    tick        called with the share of the budget that is spent
    """
    wanted = [form for form in formats if form in _FORMATS]
    most = _MOST_WEIGHTS
    while most > _LEAST_WEIGHTS and len(wanted) * 4 * (2 * most + cache_bytes) > free_bytes * _FREE_SHARE:
        most //= 2
    with torch_here().no_grad():
        pools = [_Pool(form, device, cache_bytes, most) for form in wanted]
        counts = {pool.form: _affordable(pool, budget_s / len(wanted) * _TURN_SHARE) for pool in pools}
        runs = {(pool.form, key): run for pool in pools for key, run in _runs(pool, counts[pool.form])}
        cells = [
            # what sends rows to an expert waits for the device, so no graph holds it
            Cell(name=key[0], by=key[1], run=functools.partial(_turn, run, device, graph=key[1] != "expert"))
            for (_, key), run in runs.items()
        ]
        found = in_turns(cells, budget_s, tick, least=_LEAST_TURNS)
    seconds: dict[str, dict[Key, float]] = {form: {} for form in wanted}
    for (form, key), one in zip(runs, found, strict=True):
        seconds[form][key] = _middle(one.seconds)
    spread = quantiles([timing(one.seconds).spread for one in found], (0.5,))[0] if found else 0.0
    each = [_of_format(pool, seconds[pool.form], counts[pool.form]) for pool in pools]
    return msgspec.structs.replace(functools.reduce(_joined, each, Tables()), spread=spread)


# Points of every grid by which a machine's pace is told later: one that streams weights, one that multiplies.
PACE = {"memory": (1, 2048, 8192), "arithmetic": (128, 2048, 2048)}


def pace_runs(form: str, device: Device, cache_bytes: float) -> dict[str, Run]:
    """The linear layers of PACE, to be timed beside something else."""
    pool = _Pool(form, device, cache_bytes, _LEAST_WEIGHTS)
    return {name: _linear(pool, *sizes) for name, sizes in PACE.items()}


def _middle(seconds: Sequence[float]) -> float:
    """The mean of the middle half: of a machine with two speeds it lies between, as often as it has each."""
    ranked = sorted(seconds)
    cut = len(ranked) // 4
    middle = ranked[cut : len(ranked) - cut]
    return sum(middle) / len(middle)


def _joined(one: Tables, other: Tables) -> Tables:
    return Tables(
        gemm=one.gemm | other.gemm,
        decode=one.decode | other.decode,
        prefill=one.prefill | other.prefill,
        elementwise=one.elementwise | other.elementwise,
        layer_s=one.layer_s | other.layer_s,
        expert_s=one.expert_s | other.expert_s,
        step_s=max(one.step_s, other.step_s),
        sequence_s=max(one.sequence_s, other.sequence_s),
        tried=(*one.tried, *other.tried),
    )


def _of_format(pool: _Pool, seconds: dict[Key, float], counts: tuple[int, ...]) -> Tables:
    form = pool.form
    small = {name: value for (kernel, name, _), value in seconds.items() if kernel == "small"}
    around = small["layer"] - sum(times * small[name] for name, times in _LAYER.items())
    return Tables(
        gemm={form: _grid("gemm", (counts, _INPUTS, _OUTPUTS), functools.partial(_gemm_s, pool, seconds))},
        decode={form: _grid("decode", _DECODE, lambda *at: seconds["decode", "", at])},
        prefill={form: _grid("prefill", _PREFILL, lambda *at: seconds["prefill", "", at])},
        elementwise={form: _plain_grids(pool, seconds)},
        layer_s={form: max(around, 0.0)},
        expert_s={form: small["expert"]},
        step_s=small["choice"],
        sequence_s=max(small["choices"] - small["choice"], 0.0) / (_SEVERAL - 1),
        tried=tuple(_tried(seconds, form)),
    )


def _turn(run: Run, device: Device, *, graph: bool = True) -> tuple[float, ...]:
    """Seconds of a run, several of a short one; of a device with graphs without what launches it."""
    if device.kind != "cpu":
        in_graph = graph_timed(run, device, calls=4, least=3, budget_s=_POINT_S) if graph else None
        return in_graph or timed(run, device, least=3, budget_s=_POINT_S, warmup=1)
    start = time.perf_counter()
    run(0)
    once_s = time.perf_counter() - start
    if once_s > _LONG_S:
        return (once_s,)
    return timed(lambda i: run(i + 1), device, least=2, budget_s=_POINT_S, warmup=1)


def _grid(kernel: str, points: tuple[tuple[int, ...], ...], seconds: Callable[..., float]) -> Grid:
    axes = tuple(tuple(map(float, along)) for along in points)
    return Grid(names=AXES[kernel], points=axes, seconds=tuple(seconds(*at) for at in itertools.product(*points)))


def _gemm_s(pool: _Pool, seconds: dict[Key, float], tokens: int, inputs: int, outputs: int) -> float:
    """Of a matrix too large to be timed in proportion to the one with fewer inputs."""
    if pool.holds(tokens, inputs, outputs):
        return seconds["gemm", "", (tokens, inputs, outputs)]
    fewer = _INPUTS[_INPUTS.index(inputs) - 1]
    return _gemm_s(pool, seconds, tokens, fewer, outputs) * inputs / fewer


def _affordable(pool: _Pool, turn_s: float) -> tuple[int, ...]:
    """The counts of rows that one turn holds, by what one shape takes of it; the first three always."""
    counts = pool.counts
    inputs, outputs = _SHAPE
    few, many = (min(_turn(_linear(pool, rows, *_SHAPE), pool.device)) for rows in (1, _SHAPE_ROWS))
    spent = 0.0
    for place, rows in enumerate(counts):
        times = sum(one * two for one, two in pool.shapes(rows)) / (inputs * outputs)
        spent += max(few, many * rows / _SHAPE_ROWS) * times
        if spent > turn_s and place > 2:
            return counts[:place]
    return counts


def _runs(pool: _Pool, counts: tuple[int, ...]) -> Iterator[tuple[Key, Run]]:
    """Every point of the format, then sizes between the points and the smallest calls."""
    for rows in counts:
        for shape in pool.shapes(rows):
            yield ("gemm", "", (rows, *shape)), _linear(pool, rows, *shape)
    for sizes in (*itertools.product(*_DECODE), *_TRIED["decode"]):
        yield ("decode", "", sizes), _decode(pool, *sizes)
    for sizes in (*itertools.product(*_PREFILL), *_TRIED["prefill"]):
        yield ("prefill", "", sizes), _prefill(pool, *sizes)
    for name, of in _plain(pool.make).items():
        for rows in _ROWS:
            yield ("elementwise", name, (rows,)), of(rows)
    for sizes in _TRIED["gemm"]:
        if sizes[0] <= counts[-1]:
            yield ("gemm", "", sizes), _linear(pool, *sizes)
    for name, run in _smallest(pool).items():
        yield ("small", name, ()), run


def _tried(seconds: dict[Key, float], form: str) -> Iterator[Tried]:
    for kernel, several in _TRIED.items():
        for sizes in several:
            if (kernel, "", sizes) in seconds:
                at = tuple(map(float, sizes))
                yield Tried(kernel=kernel, format=form, sizes=at, seconds=seconds[kernel, "", sizes])


def _linear(pool: _Pool, tokens: int, inputs: int, outputs: int) -> Run:
    linear = torch_here().nn.functional.linear
    held, x = pool.several((outputs, inputs)), pool.inputs((tokens, inputs))
    return lambda i: linear(x, held[i % len(held)])


def _decode(pool: _Pool, items: int, group: int, keys: int, head_dim: int) -> Run:
    sequences, kv_heads = (items // _GROUP, _GROUP) if items % _GROUP == 0 else (1, items)
    # some room behind the keys, as a cache that still grows has
    held = [one[..., :keys, :] for one in pool.several((2, sequences, kv_heads, keys + _ROOM, head_dim))]
    q = pool.make((sequences, kv_heads, group, head_dim))
    return lambda i: network.attended(q, *held[i % len(held)])


def _prefill(pool: _Pool, heads: int, new: int, head_dim: int) -> Run:
    q, k = pool.make((1, heads, new, head_dim)), pool.make((1, heads // _GROUP, new, head_dim))
    v = k.clone()
    return lambda _: network.prompted(q, k, v)


# Of the kernels without a product by their operators' names: the elements a row moves, and calls of it in a run.
_PLAIN = {
    "norm": (4 * _WIDTH, 1),
    "inner_norm": (sum(_HEADS) * _HEAD_DIM, 2),
    "rope_cache": ((2 * _HEADS[0] + 4 * _HEADS[1]) * _HEAD_DIM, 1),
    "act": (3 * _WIDTH, 1),
    "embedding": (2 * _WIDTH, 1),
    "copy": (2 * _WIDTH, 1),
}


def _plain(make: Callable[..., Any]) -> dict[str, Callable[[int], Run]]:
    """What makes a run of each of them for so many rows; it moves what the plan's operator does."""
    heads, kv_heads = _HEADS
    scale, inner = make((_WIDTH,)), make((_HEAD_DIM,))
    table = make((1 << 15, _WIDTH))
    torch = torch_here()

    def norm(rows: int) -> Run:
        x, y = make((rows, _WIDTH)), make((rows, _WIDTH))
        return lambda _: network.normed(x.add_(y), scale)

    def inner_norm(rows: int) -> Run:
        both = make((rows, heads + kv_heads, _HEAD_DIM))
        return lambda _: network.inner_normed(both, (inner, heads, inner))

    def rope_cache(rows: int) -> Run:
        sequences = min(rows, 8)
        new = rows // sequences
        heads_of = make((sequences, new, heads + 2 * kv_heads, _HEAD_DIM))
        angles = make((new, 1, _HEAD_DIM // 2)), make((new, 1, _HEAD_DIM // 2))
        cache = make((sequences, kv_heads, new + 64, _HEAD_DIM)), make((sequences, kv_heads, new + 64, _HEAD_DIM))
        q_and_k, v = heads_of[:, :, : heads + kv_heads], heads_of[:, :, heads + kv_heads :]
        return lambda _: network.appended(q_and_k, v, angles, cache, 32)

    def act(rows: int) -> Run:
        x = make((rows, 2 * _WIDTH))
        return lambda _: network.gated(x)

    def embedding(rows: int) -> Run:
        picked = torch.randint(0, 1 << 15, (rows,), device=table.device)
        return lambda _: torch.nn.functional.embedding(picked, table)

    def copy(rows: int) -> Run:
        x = make((rows, _WIDTH))
        return lambda _: x.clone()

    made = (norm, inner_norm, rope_cache, act, embedding, copy)
    return {of.__name__: of for of in made}


def _plain_grids(pool: _Pool, seconds: dict[Key, float]) -> dict[str, Grid]:
    return {
        name: Grid(
            names=AXES["elementwise"],
            points=(tuple(float(rows * elements * pool.wide) for rows in _ROWS),),
            seconds=tuple(seconds["elementwise", name, (rows,)] / calls for rows in _ROWS),
        )
        for name, (elements, calls) in _PLAIN.items()
    }


# The kernels of a layer so small that it is nothing but calls, and how often it has each.
_LAYER = {"linear": 4, "norm": 2, "append": 1, "attend": 1, "gate": 1}


def _smallest(pool: _Pool) -> dict[str, Run]:
    """A tiny layer and its kernels one by one, what is around an expert's products, and the choice of tokens."""
    make = pool.make
    torch = torch_here()
    layer = network.tiny_layer(pool.form, pool.device, hidden=_TINY)
    x, square, pair = make((1, 1, _TINY)), make((_TINY, _TINY)), make((1, 1, 2 * _TINY))
    angles = make((1, _TINY // 2)), make((1, _TINY // 2))
    turned = tuple(one.unsqueeze(-2) for one in angles)
    heads, q = make((1, 1, 3, _TINY)), make((1, 1, 1, _TINY))
    cache = make((1, 1, 64, _TINY)), make((1, 1, 64, _TINY))
    keys, values = (one[:, :, :33] for one in cache)
    scale, other = make((_TINY,)), x.clone()
    rows, out, shares = make((_SEVERAL, _TINY)), make((_SEVERAL, _TINY)), make((_SEVERAL, 2))
    picked = torch.arange(2 * _SEVERAL, device=rows.device).view(_SEVERAL, 2)
    one, several = make((1, _VOCABULARY)), make((_SEVERAL, _VOCABULARY))
    return {
        "layer": lambda _: layer(x, angles, 32),
        "linear": lambda _: torch.nn.functional.linear(x, square),
        "norm": lambda _: network.normed(other.add_(x), scale),
        "append": lambda _: network.appended(heads[:, :, :2], heads[:, :, 2:], turned, cache, 32),
        "attend": lambda _: network.attended(q, keys, values),
        "gate": lambda _: network.gated(pair),
        "expert": lambda _: network.routed(rows, picked, 3, shares, out, torch.clone),
        "choice": lambda _: network.chosen(one),
        "choices": lambda _: network.chosen(several),
    }

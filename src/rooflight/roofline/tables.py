"""What operators take by a machine's own tables of measured kernels: interpolated between sizes, never fitted."""

from __future__ import annotations

import itertools
import math

import msgspec

from rooflight.affine import elements
from rooflight.errors import MissingFact, Named
from rooflight.numeric import Number, is_plain, maximum, minimum
from rooflight.values.tables import Grid, Tables
from rooflight.values.work import Gemm, Operator, Scores

# Kernels without a product that were not timed by name: those they are like, else a copy of as many bytes.
_COPY = "copy"
_LIKE = {"final_norm": "norm", "expert_act": "act", "shared_act": "act"}
# Where no size between the points was tried: nothing says how far off the tables are, so the interval is wide.
_UNTRIED = (0.7, 1.4)


class Aside(msgspec.Struct, frozen=True, kw_only=True):
    """Measured seconds over interpolated ones at sizes between the points: how far off the grids are.

    low, high   eight of ten lie between, widened by how far runs of one kernel differ
    median      of how far they are from 1, as a share; n: how many were tried
    """

    low: float
    high: float
    median: float
    n: int


def aside(tables: Tables) -> Aside:
    """How far off the tables are at sizes that were timed for that alone."""
    ratios = sorted(
        one.seconds / seconds_at(getattr(tables, one.kernel)[one.format], *one.sizes) for one in tables.tried
    )
    if not ratios:
        return Aside(low=_UNTRIED[0], high=_UNTRIED[1], median=0.0, n=0)
    runs = 1 + tables.spread
    last = len(ratios) - 1
    return Aside(
        low=min(ratios[round(last * 0.1)], 1.0) / runs,
        high=max(ratios[round(last * 0.9)], 1.0) * runs,
        median=sorted(abs(one - 1) for one in ratios)[len(ratios) // 2],
        n=len(ratios),
    )


def seconds_at(grid: Grid, *sizes: Number) -> Number:
    """Seconds of a kernel at sizes, one an axis: linear between the points in logarithms of sizes and of seconds.

    Below an axis' first point as at it (never less than the smallest call that was timed), beyond its last in
    proportion.
    Check: points 1, 4 with 2 s and 8 s, size 2 -> 4; size 8 -> 16; size 0.5 -> 2.
    """
    places = [_place(points, size) for points, size in zip(grid.points, sizes, strict=True)]
    lengths = [len(points) for points in grid.points]
    strides = [math.prod(lengths[axis + 1 :]) for axis in range(len(lengths))]
    logs = _logs(grid.seconds, plain=is_plain(*(index for index, _, _ in places)))
    total: Number = 0.0
    for corner in itertools.product((0, 1), repeat=len(places)):
        at: Number = 0
        weight: Number = 1.0
        for (index, fraction, _), stride, upper, length in zip(places, strides, corner, lengths, strict=True):
            at = at + minimum(index + upper, length - 1) * stride
            weight = weight * (fraction if upper else 1 - fraction)
        total = total + logs[at] * weight
    beyond: Number = 1.0
    for _, _, times in places:
        beyond = beyond * times
    return _exp(total) * beyond


def _place(points: tuple[float, ...], size: Number) -> tuple[Number, Number, Number]:
    """(index of the point before a size, how far it is towards the next one, how many times the last point it is)."""
    size = elements(size)
    inside = maximum(minimum(size, points[-1]), points[0])
    beyond = maximum(size / points[-1], 1.0)
    if len(points) == 1:
        return 0, 0.0, beyond
    index: Number
    if is_plain(inside):
        index = sum(inside >= point for point in points[1:-1])
        first, last = points[index], points[index + 1]
        return index, math.log(inside / first) / math.log(last / first), beyond
    import numpy as np

    along = np.asarray(points, dtype=float)
    index = np.clip(np.searchsorted(along, inside, side="right") - 1, 0, len(points) - 2)
    return index, np.log(inside / along[index]) / np.log(along[index + 1] / along[index]), beyond


def _logs(seconds: tuple[float, ...], *, plain: bool) -> Number:
    if plain:
        return _Logs(seconds)
    import numpy as np

    return np.log(np.asarray(seconds, dtype=float))


class _Logs:
    """Logarithms of those that are asked for: a single point needs few of a grid."""

    __slots__ = ("_seconds",)

    def __init__(self, seconds: tuple[float, ...]) -> None:
        self._seconds = seconds

    def __getitem__(self, index: int) -> float:
        return math.log(self._seconds[index])


def _exp(value: Number) -> Number:
    if is_plain(value):
        return math.exp(value)
    import numpy as np

    return np.exp(value)


def operator_s(op: Operator, tables: Tables) -> Number:
    """Seconds of one run of an operator that is no collective; what calls a layer is in its attention.

    tables  of one number format for all that is no product (Tables.among)

    Raises MissingFact for a number format that was not timed.
    """
    shape = op.shape
    if isinstance(shape, Gemm):
        one = _gemm_s(shape, timed(tables.gemm, op.compute, "linear layers"))
        # once an expert: its first matrix is sent the rows, its last one's are added up
        return one + shape.matrices * sum(tables.expert_s.values()) if op.name.startswith("expert_down") else one
    if isinstance(shape, Scores):
        return _attention_s(op, shape, tables) + sum(tables.layer_s.values())
    grids = next(iter(tables.elementwise.values()), {})
    name = op.name.partition(" ")[0]
    name = _LIKE.get(name, name)
    return seconds_at(timed(grids, name if name in grids else _COPY, "kernels without a product"), op.work.moved_bytes)


def _gemm_s(shape: Gemm, grid: Grid) -> Number:
    """A linear layer; of routed experts one call for each that is touched, with the rows that reach it."""
    if is_plain(shape.matrices) and shape.matrices == 1:
        return seconds_at(grid, shape.tokens, shape.inputs, shape.outputs)
    return seconds_at(grid, shape.tokens / shape.matrices, shape.inputs, shape.outputs) * shape.matrices


def _attention_s(op: Operator, shape: Scores, tables: Tables) -> Number:
    """Decode by its grid; a prompt by that of causal ones, in proportion to the pairs of query and key."""
    if shape.decoding:
        grid = timed(tables.decode, op.compute, "attention over a cache")
        items, rows = shape.sequences * shape.kv_heads, shape.heads / shape.kv_heads * shape.new
        return seconds_at(grid, items, rows, shape.keys, shape.head_dim)
    grid = timed(tables.prefill, op.compute, "attention of a prompt")
    longest = grid.points[1][-1]
    inside = minimum(shape.new, longest)
    pairs = shape.new * shape.keys / (inside * (inside + 1) / 2)
    return seconds_at(grid, shape.sequences * shape.heads, inside, shape.head_dim) * maximum(pairs, 1.0)


def timed(grids: dict[str, Grid], name: str, what: str) -> Grid:
    """The grid of a number format, or of a kernel. Raises MissingFact."""
    if name not in grids:
        raise MissingFact(
            f"{what} in {name} were not timed on this machine",
            got=", ".join(grids) or "none",
            want="a full measurement of this machine, and a format that it multiplies in",
            try_this=Named("rooflight measure -o this.toml, then {on}", on="this.toml"),
        )
    return grids[name]

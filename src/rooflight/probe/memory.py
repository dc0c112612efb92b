"""How fast memory and the caches in front of it are read and written, by the size of what is gone over."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from rooflight.probe import device as devices
from rooflight.probe import host
from rooflight.probe.device import Device
from rooflight.probe.loops import Pattern, patterns
from rooflight.probe.plateaus import plateaus
from rooflight.probe.rounds import Cell, Timed, in_turns, rate
from rooflight.probe.timing import graph_timed, timed
from rooflight.probe.workers import Workers
from rooflight.units import to_base
from rooflight.values.measured import Rate

# A pass over memory is over so many times the last-level cache: nothing of it is there from the pass before.
PAST_CACHE = 4
_LEAST_BYTES = to_base(64, "MiB")
# Where a cache may be that nothing tells of, and on a card, whose passes are short beside their calls.
_LARGE_BYTES = to_base(1, "GiB")
# Of what is free, for buffers: two working sets, turned about.
_SHARE_OF_FREE = 0.25
_CALLS = 20  # a pass takes so many times the cost of its call
_FIRST_BYTES = to_base(4, "KiB")  # a thread
_PASSES_S = 4e-3  # passes that are timed as one, of the compiled loops
# Another cache is there where four times as much is slower by more than this, at its best.
_SAME = 1.3
_DOUBTS, _DOUBT_S = 3, 0.6
_GRAPH_S = 0.01  # a turn of a pattern in a graph
_COLUMNS = 4096
_WIDE = ("fp32", "bf16", "fp16")
_WIDE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}


def cache_bytes(device: Device) -> float | None:
    """The last level of cache in front of memory, all of it that the device's cores reach; None: nothing tells."""
    if device.kind in ("cpu", "mps"):
        return next((size for _, size in reversed(cache_levels())), None)
    properties = getattr(devices.torch_here(), device.kind).get_device_properties(device.index)
    said = getattr(properties, "L2_cache_size", None) or getattr(properties, "last_level_cache_size", None)
    return float(said) if said else None


def cache_levels() -> tuple[tuple[str, float], ...]:
    """Levels of the processors in use, from the smallest, each with the bytes of all its caches together."""
    total: dict[str, float] = {}
    for cache in host.caches():
        total[cache.name] = total.get(cache.name, 0.0) + cache.bytes
    return tuple(total.items())


def memory_set_bytes(device: Device) -> tuple[float, bool]:
    """What a pass over memory goes over, and whether that is past the caches for certain."""
    cache = cache_bytes(device)
    told = device.kind == "cpu" and any(name == "L3" for name, _ in cache_levels())
    wanted = max(_LEAST_BYTES if told else _LARGE_BYTES, PAST_CACHE * (cache or 0.0))
    given = min(wanted, _SHARE_OF_FREE * free_bytes(device))
    return given, given >= PAST_CACHE * (cache or _LEAST_BYTES)


def past_caches(processors: tuple[int, ...], most: float, past: bool) -> tuple[float, bool]:
    """The same, doubted: a system may tell of a smaller cache than there is. Loops over four times as much say so."""
    for _ in range(_DOUBTS):
        more = PAST_CACHE * most
        if not past or more > _SHARE_OF_FREE * (host.free_bytes() or 0.0):
            break
        with Workers(processors, more) as workers:
            found = in_turns(cells_of_loops(workers, (most, more)), _DOUBT_S, lambda _: None)
        here, there = (max(max(one.rates) for one in found if one.cell.bytes == size) for size in (most, more))
        if here < _SAME * there:
            break
        most = more
    return most, past


def free_bytes(device: Device) -> float:
    """Of the device's memory, what no program holds."""
    if device.kind in ("cpu", "mps"):
        return host.free_bytes() or _LARGE_BYTES
    return float(getattr(devices.torch_here(), device.kind).mem_get_info(device.index)[0])


def cells_of_loops(workers: Workers, sizes: Sequence[float]) -> tuple[Cell, ...]:
    """Each loop at each size; passes over a small set are timed many at once."""
    return tuple(cell for size in sizes for pattern in patterns() if (cell := _loop_cell(workers, pattern, size)))


def _loop_cell(workers: Workers, pattern: Pattern, size: float) -> Cell | None:
    """None: a pass is too short beside its own call."""
    once_s = min(workers.seconds(pattern, size, 1) for _ in range(3))
    if pattern.compiled:
        once_s = workers.seconds(pattern, size, max(1, round(_PASSES_S / 4 / once_s)))
    elif once_s < _CALLS * min(workers.seconds(pattern, 1, 1) for _ in range(3)):
        return None
    passes = max(1, round(_PASSES_S / once_s)) if pattern.compiled else 1
    return Cell(
        name=pattern.name, by=pattern.by, bytes=size, moved_bytes=workers.moved_bytes(pattern, size), format="fp32",
        run=lambda: (workers.seconds(pattern, size, passes),),
    )  # fmt: skip


def sizes_between(first: float, last: float, an_octave: int) -> tuple[float, ...]:
    """From first to last, evenly in logarithms."""
    steps = max(1, round(math.log2(last / first) * an_octave))
    return tuple(float(round(first * (last / first) ** (i / steps))) for i in range(steps + 1))


def loop_sizes(workers: int, last: float, an_octave: int) -> tuple[float, ...]:
    """Working sets of so many threads: from L1 on."""
    return sizes_between(_FIRST_BYTES * workers, last, an_octave)


class Pool:
    """Memory of a device for torch's kernels: two working sets, turned about; numbers are ones and small fractions."""

    def __init__(self, device: Device, set_bytes: float) -> None:
        torch = devices.torch_here()
        self.device = device
        self._floats = int(set_bytes) // 4 // 3 // _COLUMNS * _COLUMNS * 3
        self.set_bytes = 4 * self._floats
        self._all = torch.ones(2 * self._floats, dtype=torch.float32, device=devices.torch_device(device))

    def parts(self, turn: int, arrays: int, share: float = 1.0) -> tuple[Any, ...]:
        """Arrays of one working set, or of a share of it."""
        length = int(self._floats * share) // arrays
        start = turn % 2 * self._floats
        return tuple(self._all[start + i * length : start + (i + 1) * length] for i in range(arrays))

    def matrix(self, turn: int, format: str) -> Any:
        """One working set as the weights of a layer."""
        return self.parts(turn, 1)[0].view(devices.torch_type(format)).view(-1, _COLUMNS)


def _torch_patterns(pool: Pool, share: float = 1.0) -> tuple[tuple[str, str, int, Callable[[int], object]], ...]:
    """Name, kernel, arrays and a run, of the whole set in turns or of a share of it, which then stays the same."""
    torch = devices.torch_here()
    turns = 2 if share == 1.0 else 1
    one, two, three = ([pool.parts(turn, arrays, share) for turn in range(turns)] for arrays in (1, 2, 3))

    def read(i: int) -> object:
        return one[i % turns][0].sum()

    def copy(i: int) -> object:
        to, of = two[i % turns]
        return to.copy_(of)

    def triad(i: int) -> object:
        to, first, second = three[i % turns]
        return torch.add(first, second, alpha=0.5, out=to)

    return (("read", "torch sum", 1, read), ("copy", "torch copy", 2, copy), ("triad", "torch add", 3, triad))


def torch_cells(pool: Pool, turn_s: float) -> tuple[Cell, ...]:
    """torch's kernels over all of a pool's working set: patterns, and a matrix by a vector in each wide format."""
    device = pool.device
    cells = [
        Cell(
            name=name, by=by, bytes=pool.set_bytes, moved_bytes=pool.set_bytes, format="fp32",
            run=_runner(device, run, turn_s),
        )
        for name, by, _, run in _torch_patterns(pool)
    ]  # fmt: skip
    there = devices.formats(device)
    cells += [_vector_cell(pool, format, turn_s) for format in _WIDE if format in there]
    return tuple(cells)


def _vector_cell(pool: Pool, format: str, turn_s: float) -> Cell:
    torch = devices.torch_here()
    matrices = [pool.matrix(turn, format) for turn in range(2)]
    vector = torch.ones(_COLUMNS, dtype=matrices[0].dtype, device=matrices[0].device)
    rows = matrices[0].shape[0]

    def run(i: int) -> object:
        return torch.mv(matrices[i % 2], vector)

    return Cell(
        name=f"gemv-{format}", by=f"torch mv, {rows} x {_COLUMNS}", bytes=pool.set_bytes, format=format,
        moved_bytes=pool.set_bytes + _WIDE_BYTES[format] * (rows + _COLUMNS), run=_runner(pool.device, run, turn_s),
    )  # fmt: skip


def _runner(device: Device, run: Callable[[int], object], turn_s: float) -> Callable[[], Sequence[float]]:
    def turn() -> Sequence[float]:
        with devices.torch_here().no_grad():
            return timed(run, device, least=2, budget_s=turn_s, warmup=1)

    return turn


def card_cells(pool: Pool, call_s: float, an_octave: int) -> tuple[Cell, ...]:
    """torch's patterns over working sets down to one whose pass takes _CALLS times its call; in graphs if it can."""
    cells: list[Cell] = []
    sizes = sizes_between(_FIRST_BYTES, pool.set_bytes, an_octave)
    going = {"read", "copy", "triad"}
    for size in reversed(sizes):
        for name, by, arrays, run in _torch_patterns(pool, size / pool.set_bytes):
            if name not in going:
                continue
            if min(_in_graph(run, pool.device, 0.0)) < _CALLS * call_s:
                going.discard(name)
                continue
            moved = 4.0 * arrays * (int(size / 4) // arrays)
            turn = functools.partial(_in_graph, run, pool.device, _GRAPH_S)
            cells.append(Cell(name=name, by=by, bytes=size, moved_bytes=moved, format="fp32", run=turn))
    return tuple(reversed(cells))


def _in_graph(run: Callable[[int], object], device: Device, budget_s: float) -> Sequence[float]:
    return graph_timed(run, device, budget_s=budget_s) or timed(run, device, budget_s=budget_s)


def memory_rates(found: Sequence[Timed]) -> tuple[Rate, ...]:
    """A rate of each kernel that went past the caches, the fastest first."""
    rates = [rate("memory", one.cell.name, one.rates, by=one.cell.by, bytes=one.cell.bytes) for one in found]
    return tuple(sorted(rates, key=lambda one: -one.median))


def level_rates(found: Sequence[Timed], caches: Sequence[tuple[str, float]], memory: bool) -> tuple[Rate, ...]:
    """The plateaus that are caches, from the smallest: by their names where their sizes are known, else by number.

    What lies past the last cache is memory, and no level; where no size is known the last plateau is taken for
    memory, if `memory` says that it may be.
    """
    sizes = sorted({one.cell.bytes for one in found if one.cell.bytes is not None})
    best = [max((one for one in found if one.cell.bytes == size), key=lambda one: one.median) for size in sizes]
    steps = plateaus([one.median for one in best])
    if not caches and memory:
        steps = steps[:-1]
    levels: dict[str, Rate] = {}
    for number, step in enumerate(steps, 1):
        middle = math.sqrt(sizes[step.first] * sizes[step.last])
        name = next((name for name, size in caches if middle <= size), None) if caches else f"level {number}"
        if name is None or name in levels:
            continue
        on_it = [one for one in found if one.cell.bytes in sizes[step.first : step.last + 1]]
        levels[name] = _of_kernels(name, on_it, sizes[step.last])
    return tuple(levels.values())


def _of_kernels(name: str, found: Sequence[Timed], last_bytes: float) -> Rate:
    """Of the kernel that is fastest all along a plateau."""
    kernels: dict[tuple[str, str], list[float]] = {}
    for one in found:
        kernels.setdefault((one.cell.name, one.cell.by), []).extend(one.rates)
    rates = [rate("level", name, all, by=f"{kernel}, {by}", bytes=last_bytes) for (kernel, by), all in kernels.items()]
    return max(rates, key=lambda one: one.median)

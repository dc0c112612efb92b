"""`rooflight measure` against C and the BLAS libraries, in pairs taken in turns: the machine's mood is that of both.

    python bench/measure_truth.py            # a few minutes; gcc and numba needed
    python bench/measure_truth.py --rounds 5

Memory and caches: the loops of `rooflight measure` beside the same loops in C (stream.c, gcc -O3 -march=native, as many
threads), and its best kernel beside STREAM's triad over arrays of four times the last-level cache each. Arithmetic: the
shape and library it found beside NumPy's and torch's product of 2048 x 2048. Printed are medians of the pairs' ratios.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait by spinning would take the other's processors

KERNELS = ("read", "copy", "triad")
ARRAYS = {"read": 1, "copy": 2, "triad": 3}
TURN_S = 0.05


def compiled(folder: str) -> ctypes.CDLL:
    """stream.c as a library."""
    library = Path(folder) / "libstream.so"
    any_order = ("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-fno-math-errno")
    flags = ("-O3", "-march=native", *any_order, "-fopenmp", "-shared", "-fPIC")
    subprocess.run(["gcc", *flags, str(Path(__file__).parent / "stream.c"), "-o", str(library)], check=True)
    found = ctypes.CDLL(str(library))
    found.run.restype = ctypes.c_double
    found.run.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    found.make.argtypes = [ctypes.c_int, ctypes.c_long]
    return found


def passes_for(once: Callable[[int], float]) -> int:
    """So many passes that a turn takes TURN_S; once(passes): seconds of one of them."""
    passes = 1
    while once(passes) * passes < TURN_S / 4:
        passes *= 4
    return max(1, round(TURN_S / once(passes)))


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def line(what: str, ours: list[float], other: list[float], unit: float, name: str) -> None:
    ratios = [a / b for a, b in zip(ours, other, strict=True)]
    low, high = min(ratios), max(ratios)
    print(
        f"{what:<28} {median(ours) / unit:9.1f} {median(other) / unit:9.1f} {name}   "
        f"ratio {median(ratios):5.2f} ({low:.2f} to {high:.2f})",
        flush=True,
    )


def caches(library: ctypes.CDLL, processors: tuple[int, ...], rounds: int) -> None:
    """Each level at half its size, and memory, best kernel of each side."""
    from rooflight.probe import memory
    from rooflight.probe.device import cpu
    from rooflight.probe.loops import patterns
    from rooflight.probe.workers import Workers

    most, _ = memory.past_caches(processors, *memory.memory_set_bytes(cpu()))
    threads = len(processors)
    levels = {name: size / 2 for name, size in memory.cache_levels()} | {"memory": most}
    library.make(threads, int(memory.PAST_CACHE * most) // 4 // threads // 3)
    loops = {one.name: one for one in patterns()}
    with Workers(processors, most) as workers:
        for level, size in levels.items():
            turns: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {}
            for number, kernel in enumerate(KERNELS):
                moved = workers.moved_bytes(loops[kernel], size)
                length = int(moved) // threads // ARRAYS[kernel] // 4

                def ours_once(passes: int, kernel: str = kernel, size: float = size) -> float:
                    return workers.seconds(loops[kernel], size, passes)

                def c_once(passes: int, number: int = number, length: int = length) -> float:
                    return library.run(threads, number, length, passes)

                mine, theirs = passes_for(ours_once), passes_for(c_once)
                turns[kernel] = (
                    lambda once=ours_once, n=mine, moved=moved: moved / once(n),
                    lambda once=c_once, n=theirs, moved=moved: moved / once(n),
                )
            found = [{kernel: (a(), b()) for kernel, (a, b) in turns.items()} for _ in range(rounds)]
            for kernel in KERNELS:
                line(f"{level} {kernel}", [f[kernel][0] for f in found], [f[kernel][1] for f in found], 1e9, "GB/s")
            mine, theirs = (
                max(([f[kernel][side] for f in found] for kernel in KERNELS), key=median) for side in (0, 1)
            )
            line(f"{level}, best of each", mine, theirs, 1e9, "GB/s")


def stream(library: ctypes.CDLL, processors: tuple[int, ...], rounds: int) -> None:
    """The kernels of `rooflight measure` beside STREAM's triad, whose arrays are four times the last cache each."""
    from rooflight.probe import memory
    from rooflight.probe.device import cpu
    from rooflight.probe.workers import Workers

    most, _ = memory.past_caches(processors, *memory.memory_set_bytes(cpu()))
    threads = len(processors)
    length = int(most) // 4 // threads
    library.make(threads, length)
    with Workers(processors, most) as workers:
        cells = [*memory.cells_of_loops(workers, (most,)), *memory.torch_cells(memory.Pool(cpu(), most), TURN_S)]
        ours, other = [], []
        for _ in range(rounds):
            ours.append([median([cell.moved_bytes / one for one in cell.run()]) for cell in cells])
            other.append(median([3 * 4 * length * threads / library.run(threads, 2, length, 1) for _ in range(3)]))
    best = max(range(len(cells)), key=lambda i: median([turn[i] for turn in ours]))
    name = f"{cells[best].name}, {cells[best].by}"
    line(f"{name} / STREAM triad", [turn[best] for turn in ours], other, 1e9, "GB/s")


def arithmetic(rounds: int) -> None:
    """The shape and library that the measurement finds beside both libraries' square product."""
    from rooflight.probe import peaks
    from rooflight.probe.device import cpu

    found = peaks.measure(cpu(), ("fp32",), 8.0, lambda _: None, torch=True)
    best = max(found, key=lambda one: one.median).cell
    shape = (2048, 2048, 2048)
    others = (peaks.numpy_cell(shape), peaks.torch_cell(cpu(), "fp32", shape))
    ours: list[float] = []
    theirs: list[list[float]] = [[] for _ in others]
    for _ in range(rounds):
        ours.append(best.flop / median(list(best.run())))
        for one, found_by in zip(others, theirs, strict=True):
            found_by.append(one.flop / median(list(one.run())))
    line(f"fp32 {best.by}", ours, max(theirs, key=median), 1e9, "GFLOP/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    from rooflight.probe import host
    from rooflight.probe.device import set_threads

    count = set_threads()
    processors = host.allowed()[:count]
    start = time.perf_counter()
    print(f"{host.processor()}, {count} threads, {rounds} pairs; ours, then the other, medians")
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(folder)
        caches(library, processors, rounds)
        stream(library, processors, rounds)
    arithmetic(rounds)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

"""How fast products run in each number format, at the shape that suits the device best."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooflight.probe import device as devices
from rooflight.probe.device import Device
from rooflight.probe.rounds import Cell, Timed, in_turns, rate
from rooflight.probe.timing import timed
from rooflight.values.measured import Rate

# Tokens, inputs, outputs, growing. Large ones hide a kernel's ends, small ones stay in a cache.
_CPU_SHAPES = (
    (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (512, 2048, 2048), (2048, 2048, 2048), (1024, 4096, 4096),
)  # fmt: skip
_CARD_SHAPES = (
    (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 4096, 4096), (8192, 8192, 8192),
    (16384, 8192, 8192),
)  # fmt: skip
# A format whose best run does not even reach this share of fp32 is computed by a detour, not by units of its own.
_DETOUR = 0.9
_TURN_S = 0.05
_KEPT = 3  # shapes that get a second look
_NUMPY = "NumPy"

Shape = tuple[int, int, int]


def torch_cell(device: Device, format: str, shape: Shape) -> Cell:
    """torch's product in a format. The caller sees to it that `computing_in(format)` holds while it runs."""
    tokens, inputs, outputs = shape
    x, weights = devices.filled(format, (tokens, inputs), device), devices.filled(format, (outputs, inputs), device)
    multiply = devices.linear(format)
    return _cell(format, "torch", shape, _turn(device, lambda _: multiply(x, weights)))


def numpy_cell(shape: Shape) -> Cell:
    """NumPy's product of 32-bit numbers, by the BLAS it was built with."""
    tokens, inputs, outputs = shape
    random = np.random.default_rng(0)
    x, weights = (random.standard_normal(size, dtype=np.float32) for size in ((tokens, inputs), (inputs, outputs)))
    out = np.empty((tokens, outputs), dtype=np.float32)
    return _cell("fp32", _NUMPY, shape, _turn(devices.cpu(), lambda _: np.matmul(x, weights, out=out)))


def _cell(format: str, by: str, shape: Shape, run: Callable[[], Sequence[float]]) -> Cell:
    tokens, inputs, outputs = shape
    return Cell(
        name=f"gemm-{format}", by=f"{by}, {tokens} x {inputs} x {outputs}", run=run, format=format,
        flop=2.0 * tokens * inputs * outputs, shape={"tokens": tokens, "inputs": inputs, "outputs": outputs},
    )  # fmt: skip


def _turn(device: Device, run: Callable[[int], object]) -> Callable[[], Sequence[float]]:
    return functools.partial(timed, run, device, least=1 if device.kind == "cpu" else 3, budget_s=_TURN_S, warmup=1)


def measure(
    device: Device, formats: Sequence[str], budget_s: float, tick: Callable[[float], None], *, torch: bool
) -> tuple[Timed, ...]:
    """Every format at every shape that the budget allows, the best shapes for longer."""
    found: list[Timed] = []
    share_s = budget_s / max(len(formats), 1)
    for number, format in enumerate(formats):

        def part(done: float, before: int = number) -> None:
            tick((before + done) / len(formats))

        found += _of_format(device, format, share_s, part, torch=torch)
    return tuple(found)


def _of_format(
    device: Device, format: str, budget_s: float, tick: Callable[[float], None], *, torch: bool
) -> tuple[Timed, ...]:
    if not torch:
        return _searched(lambda shape: [numpy_cell(shape)], _CPU_SHAPES, budget_s, tick)
    shapes = _CPU_SHAPES if device.kind == "cpu" else _CARD_SHAPES

    def at(shape: Shape) -> list[Cell]:
        made = [torch_cell(device, format, shape)]
        return [*made, numpy_cell(shape)] if (device.kind, format) == ("cpu", "fp32") else made

    with devices.torch_here().no_grad(), devices.computing_in(format):
        return _searched(at, shapes, budget_s, tick)


def _searched(
    at: Callable[[Shape], list[Cell]], shapes: Sequence[Shape], budget_s: float, tick: Callable[[float], None]
) -> tuple[Timed, ...]:
    """A turn of each shape that takes no more than a twelfth of the budget, then the best in turns."""
    first: list[Timed] = []
    for shape in shapes:
        longest_s = 2.0 * shape[0] * shape[1] * shape[2] / first[-1].median if first else 0.0
        if longest_s > budget_s / 12:
            break
        try:
            first += [Timed(cell=cell, seconds=tuple(cell.run())) for cell in at(shape)]
        except RuntimeError:  # torch's for want of memory: larger shapes find none either
            break
    best = sorted(first, key=lambda one: -max(one.rates))[:_KEPT]
    return in_turns([one.cell for one in best], budget_s / 2, tick)


def untimed(formats: Sequence[str], found: Sequence[Timed]) -> list[tuple[str, str]]:
    """Parts that were not done: formats of which no shape ran, and why."""
    there = {one.cell.format for one in found}
    return [(f"arithmetic in {one}", "none of its shapes could be run") for one in formats if one not in there]


def peak_rates(found: Sequence[Timed]) -> tuple[Rate, ...]:
    """A rate of each format that has units of its own: the shape with the best median.

    One slower than fp32 is left out: its products are computed by a detour, and whoever has such numbers can compute
    with them in fp32.
    """
    best: dict[str, Timed] = {}
    fastest: dict[str, float] = {}
    for one in found:
        format = one.cell.format or ""
        fastest[format] = max(fastest.get(format, 0.0), *one.rates)
        if format not in best or one.median > best[format].median:
            best[format] = one
    plain = best["fp32"].median if "fp32" in best else 0.0
    return tuple(
        rate("peak", format, one.rates, by=one.cell.by)
        for format, one in best.items()
        if fastest[format] >= _DETOUR * plain  # its best run: one bad moment of the machine must not hide a format
    )


def detours(found: Sequence[Timed], rates: Sequence[Rate]) -> dict[str, float]:
    """FLOP/s of formats without units of their own."""
    there = {one.name for one in rates}
    slow: dict[str, Any] = {}
    for one in found:
        format = one.cell.format or ""
        if format not in there:
            slow[format] = max(slow.get(format, 0.0), one.median)
    return slow

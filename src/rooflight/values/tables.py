"""What kernels take on one machine, measured on a grid of sizes: the calibration of `--engine torch`."""

from __future__ import annotations

import msgspec


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of one kernel at every combination of sizes.

    names       of the axes; points: the sizes along each, growing
    seconds     row by row: the last axis changes fastest
    """

    names: tuple[str, ...]
    points: tuple[tuple[float, ...], ...]
    seconds: tuple[float, ...]


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Grids by number format.

    gemm        seconds of a linear layer by tokens, inputs, outputs, its weights out of memory
    decode      seconds of attention of one query a sequence over its cache
    prefill     seconds of causal attention of a prompt
    """

    gemm: dict[str, Grid] = {}
    decode: dict[str, Grid] = {}
    prefill: dict[str, Grid] = {}

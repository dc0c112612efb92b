"""A measured machine with tables of kernels in round numbers, for tests."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec

from rooflight.catalog.accelerators import load
from rooflight.values.accelerator import Accelerator
from rooflight.values.tables import AXES, Grid, Tables, Tried

MACHINE = Path(__file__).parent / "measured.toml"
# Seconds that each unit of work takes: of a product's multiply-adds, a pair of query and key, a byte.
PRODUCT_S = 1e-11
PAIR_S = 1e-11
BYTE_S = 1e-10
POINTS = {
    "gemm": ((1.0, 8.0, 128.0), (512.0, 2048.0), (512.0, 8192.0)),
    "decode": ((1.0, 64.0), (1.0, 8.0), (32.0, 4096.0), (64.0, 128.0)),
    "prefill": ((4.0, 64.0), (16.0, 1024.0), (64.0, 128.0)),
    "elementwise": ((1000.0, 1e6),),
}


def grid(kernel: str, unit_s: float) -> Grid:
    """Seconds in proportion to the product of the sizes."""
    points = POINTS[kernel]
    seconds = []
    for sizes in itertools.product(*points):
        amount = 1.0
        for size in sizes:
            amount *= size
        seconds.append(amount * unit_s)
    return Grid(names=AXES[kernel], points=points, seconds=tuple(seconds))


def made(*forms: str, **more: object) -> Tables:
    """Tables of these formats."""
    plain = {"copy": grid("elementwise", BYTE_S), "norm": grid("elementwise", 2 * BYTE_S)}
    given: dict[str, object] = {
        "gemm": {form: grid("gemm", PRODUCT_S) for form in forms},
        "decode": {form: grid("decode", PAIR_S) for form in forms},
        "prefill": {form: grid("prefill", PAIR_S) for form in forms},
        "elementwise": dict.fromkeys(forms, plain),
        "layer_s": dict.fromkeys(forms, 1e-6),
        "step_s": 5e-4,
        "sequence_s": 1e-4,
    }
    return Tables(**(given | more))  # type: ignore[arg-type]


def tried(*ratios: float, form: str = "fp32") -> tuple[Tried, ...]:
    """Products at (8, 512, 512), so many times slower than the table says."""
    return tuple(
        Tried(kernel="gemm", format=form, sizes=(8.0, 512.0, 512.0), seconds=8 * 512 * 512 * PRODUCT_S * ratio)
        for ratio in ratios
    )


def machine(tables: Tables | None) -> Accelerator:
    """The measured machine of the tests, with tables."""
    card = load(str(MACHINE))[0]
    assert card.measured is not None
    return msgspec.structs.replace(card, measured=msgspec.structs.replace(card.measured, tables=tables))

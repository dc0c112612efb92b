"""Operators of a profile in words: their names, what they take of the time, what they reach."""

from __future__ import annotations

from collections.abc import Sequence

from rooflight.answers.diagnose.profiled.shares import Part
from rooflight.units import scaled
from rooflight.values.diagnosis import KernelRow

OPERATORS = {
    "gemm": "matrix products", "attention": "attention", "norm": "norms", "activation": "activation functions",
    "embedding": "embedding", "sampling": "sampling", "moe": "routed experts", "communication": "collectives",
    "copy": "copies", "memset": "clearing memory", "elementwise": "element-wise kernels", "reduction": "reductions",
    "other": "other kernels",
}  # fmt: skip
# So many are named, those of less than that share of the time are not.
LISTED, LITTLE = 3, 0.05


def percent(share: float) -> str:
    """12 %, 4.3 %, over 100 % as times."""
    return f"{share:.1%}".replace("%", " %") if share < 0.1 else f"{share:.0%}".replace("%", " %")


def operators(rows: Sequence[KernelRow]) -> str:
    """The operators that take most of the time, with what they reach."""
    shown = [row for row in rows[:LISTED] if row.share >= LITTLE] or list(rows[:1])
    return ", ".join(_operator(row) for row in shown)


def _operator(row: KernelRow) -> str:
    name = f"{OPERATORS.get(row.operator, row.operator)} {percent(row.share)}"
    if row.of_roof is not None:
        return f"{name} at {percent(row.of_roof)} of the roof"
    if row.bytes_per_s is not None:
        return f"{name} at {scaled(row.bytes_per_s, 'B/s')}"
    return name


def under(parts: Sequence[Part], bound: str | None, share: float) -> str:
    """The operators under a roof, which add up to its share: element-wise kernels 35 %, copies 22 %, others 11 %."""
    ones = [part for part in parts if part.bound == bound]
    shown = [part for part in ones[:LISTED] if part.share >= LITTLE] or ones[:1]
    whole = [round(100 * part.share) for part in shown]
    rest = round(100 * share) - sum(whole)
    others = len(ones) > len(shown) and rest > 0
    if whole and not others:  # what rounding leaves
        whole[-1] += rest
    said = [_part(part, share) for part, share in zip(shown, whole, strict=True)]
    return ", ".join([*said, f"others {rest} %"] if others else said)


def _part(part: Part, whole: int) -> str:
    reached = "" if part.of_roof is None else f" at {percent(part.of_roof)} of that roof"
    return f"{OPERATORS.get(part.operator, part.operator)} {whole} %{reached}"

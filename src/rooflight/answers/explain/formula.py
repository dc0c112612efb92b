"""A formula as text: the same line is worked out, shown in words, and shown with its numbers."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping

_SIGNS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
_CALLS: dict[str, Callable[..., float]] = {"min": min, "max": max}


@functools.cache
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


@functools.cache
def names(formula: str) -> tuple[str, ...]:
    """What it is made of, each once."""
    found = (node.id for node in ast.walk(_parsed(formula)) if isinstance(node, ast.Name))
    return tuple(dict.fromkeys(name for name in found if name not in _CALLS))


def worked(formula: str, values: Mapping[str, float]) -> float:
    """Its value: sums, products, min and max. Raises ZeroDivisionError, KeyError.

    Check: worked("bytes / seconds", {"bytes": 64, "seconds": 2}) -> 32.
    """
    return _worked(_parsed(formula), values)


def _worked(node: ast.expr, values: Mapping[str, float]) -> float:
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.BinOp):
        return _SIGNS[type(node.op)](_worked(node.left, values), _worked(node.right, values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _CALLS[node.func.id](*(_worked(one, values) for one in node.args))
    raise ValueError(f"no formula: {ast.unparse(node)}")


def rendered(formula: str, told: Callable[[str], str]) -> str:
    """It as a person reads it, each name as `told` writes it."""
    return _rendered(_parsed(formula), told)


_SHOWN: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "x", ast.Div: "/"}


def _rendered(node: ast.expr, told: Callable[[str], str], tight: bool = False) -> str:
    """tight: inside a product, so that a sum needs brackets."""
    if isinstance(node, ast.Name):
        return told(node.id)
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.BinOp):
        product = isinstance(node.op, ast.Mult | ast.Div)
        left = _rendered(node.left, told, product)
        right = _rendered(node.right, told, product)
        text = f"{left} {_SHOWN[type(node.op)]} {right}"
        return f"({text})" if tight and not product else text
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        parts = ", ".join(_rendered(one, told) for one in node.args)
        return f"the {'smaller' if node.func.id == 'min' else 'larger'} of ({parts})"
    raise ValueError(f"no formula: {ast.unparse(node)}")

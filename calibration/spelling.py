"""How a value stands in a TOML file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def spelled(value: Any, number: Callable[[float], str] = repr) -> str:
    """On one line, its floats as `number` writes them; empty texts in a table are left out."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {spelled(item, number)}" for key, item in value.items() if item != "") + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(spelled(item, number) for item in value) + "]"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else number(float(value))

"""Writes a file an engine, with an entry a family and era; numbers to four digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

HEAD = """# {name}: what it gets out of kernels and what its host takes. Ours, fitted by calibration/fit_engines.py to
# measured and served runs (docs/accuracy.md says which). The fields are explained, with their plausible ranges, in
# values/calibration.py. low and high are factors on the expected time that hold 80 % of held-out rows.

"""


def write_toml(folder: Path, entries: list[dict[str, Any]], date: str) -> None:
    """Write the entries of each engine in their order, into a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(str(entry["id"]) for entry in entries):
        lines = [HEAD.format(name=name), f'date = "{date}"\n']
        for entry in (entry for entry in entries if entry["id"] == name):
            lines.append("\n[[engine]]\n")
            lines += [f"{field} = {_spelled(value)}\n" for field, value in entry.items() if not _empty(value)]
        (folder / f"{name}.toml").write_text("".join(lines))


def _empty(value: Any) -> bool:
    return isinstance(value, list | tuple) and not value


def _spelled(value: Any) -> str:
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_spelled(item)}" for name, item in value.items() if item != "") + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    if isinstance(value, int):
        return str(value)
    return f'"{value}"' if isinstance(value, str) else f"{float(value):.4g}"

"""Writes engines.toml: one entry an engine and family, numbers to four digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

HEAD = """# Serving engines: what they get out of kernels and what their hosts take. Ours, fitted by
# calibration/fit_engines.py to measured and served runs (docs/accuracy.md says which). The fields are explained, with
# their plausible ranges, in values/calibration.py. The first entry is what is taken where no engine is named. low and
# high are factors on the expected time that hold 80 % of held-out rows.

"""


def write_toml(path: Path, entries: list[dict[str, Any]], date: str) -> None:
    """Write the entries in their order."""
    lines = [HEAD, f'date = "{date}"\n']
    for entry in entries:
        lines.append("\n[[engine]]\n")
        lines += [f"{name} = {_spelled(value)}\n" for name, value in entry.items() if not _empty(value)]
    path.write_text("".join(lines))


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

"""Writes engines.toml: one entry an engine and family, numbers to four digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
        lines += [f"{name} = {_spelled(value)}\n" for name, value in entry.items()]
    path.write_text("".join(lines))


def _spelled(value: str | float | list[str]) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else f"{float(value):.4g}"

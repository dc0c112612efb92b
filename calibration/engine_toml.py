"""Writes a file an engine, with an entry a family and era; numbers to four digits."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
from spelling import spelled

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
            plain = msgspec.to_builtins(entry, enc_hook=float)
            lines += [
                f"{field} = {spelled(value, _digits)}\n" for field, value in plain.items() if value not in ([], ())
            ]
        (folder / f"{name}.toml").write_text("".join(lines))


def with_others(folder: Path, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries, and beside them those of other families and eras that the same engines' files hold."""
    keys = {_key(entry) for entry in entries}
    kept = [
        entry
        for name in sorted({str(entry["id"]) for entry in entries})
        if (folder / f"{name}.toml").exists()
        for entry in tomllib.loads((folder / f"{name}.toml").read_text())["engine"]
        if _key(entry) not in keys
    ]
    return sorted([*kept, *entries], key=_key)


def _key(entry: dict[str, Any]) -> tuple[str, str, str]:
    return str(entry["id"]), str(entry["family"]), str(entry["era"])


def _digits(value: float) -> str:
    return f"{value:.4g}"

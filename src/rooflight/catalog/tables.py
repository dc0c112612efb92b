"""The catalog's TOML files as plain values, read from what the build made of them where that is still true.

Parsing TOML is half of what a short command costs. So a build (hatch_build.py) writes beside the catalog, in
`compiled/`, each file as JSON under the checksum of the text it was made of. The TOML is the only truth: it is read
every time, and where there is no compiled file for exactly this text, it is parsed.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

_HERE = os.path.dirname(__file__)
_COMPILED = os.path.join(_HERE, "compiled")
# A key of n parts takes a parser n^2 steps: 50,000 of them take minutes. Keys have a few, sentences a dozen dots.
_DOTS = 20
_MOST_STEPS = 1_000_000


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """One of the catalog's files as plain values, dates as text. Raises OSError, or ValueError for what is no TOML."""
    import msgspec

    with open(path, "rb") as file:
        text = file.read()
    try:
        with open(compiled_path(path), "rb") as file:
            stamp, _, document = file.read().partition(b"\n")
    except OSError:
        stamp = b""
    if stamp == _stamp(text):
        with contextlib.suppress(msgspec.DecodeError):  # a build stopped in the middle
            found: dict[str, Any] = msgspec.json.decode(document)
            return found
    return _parsed(text)


def too_many_dots(text: bytes) -> bool:
    """Whether a TOML file has keys of so many parts that it would keep its parser busy for long."""
    dots = (part.count(b".") for line in text.splitlines() for part in line.split(b"="))
    return sum(count * count for count in dots if count > _DOTS) > _MOST_STEPS


def stems(folder: str | os.PathLike[str]) -> list[str]:
    """The names of a folder's TOML files without their ending, sorted."""
    return sorted(name.removesuffix(".toml") for name in os.listdir(folder) if name.endswith(".toml"))


def compiled_path(path: str | os.PathLike[str]) -> str:
    """Where the compiled form of a file of the catalog lies."""
    inside = os.path.relpath(path, _HERE).removesuffix(".toml")
    return os.path.join(_COMPILED, f"{inside}.json")


def compile_all() -> None:
    """Write the compiled form of every file of the catalog, and of none besides. Raises OSError, ValueError."""
    import json
    import shutil

    shutil.rmtree(_COMPILED, ignore_errors=True)
    for folder, _, names in list(os.walk(_HERE)):
        for name in (name for name in names if name.endswith(".toml")):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                text = file.read()
            document = json.dumps(_parsed(text), ensure_ascii=False, separators=(",", ":"))
            target = compiled_path(path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(_stamp(text) + b"\n" + document.encode())


def _stamp(text: bytes) -> bytes:
    """What tells one text from another: its length and checksum."""
    from zlib import crc32

    return f"{len(text)} {crc32(text):08x}".encode()


def _parsed(text: bytes) -> dict[str, Any]:
    import tomllib

    found: dict[str, Any] = dates_as_text(tomllib.loads(text.decode()))
    return found


def dates_as_text(value: Any) -> Any:
    """The same with what JSON lacks written out: TOML's dates, as they stand in the file."""
    if isinstance(value, dict):
        return {key: dates_as_text(one) for key, one in value.items()}
    if isinstance(value, list):
        return [dates_as_text(one) for one in value]
    return value if isinstance(value, str | int | float) else value.isoformat()

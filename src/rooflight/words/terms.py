"""The terms that `explain` knows, from terms.toml: looked up by name, or by what any tool calls them."""

from __future__ import annotations

import difflib
import functools
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from rooflight.errors import UnknownName
from rooflight.values.explain import Listed, Term

_FILE = Path(__file__).parent / "terms.toml"
# Longer names are no terms, and are not compared with all of them.
_LONGEST = 100


@functools.cache
def terms() -> tuple[Term, ...]:
    """All of them, in the order of the file."""
    raw: dict[str, dict[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(msgspec.convert({"name": name, **fields}, Term) for name, fields in raw.items())


def listed() -> tuple[Listed, ...]:
    """Their names and titles."""
    return tuple(Listed(name=one.name, title=one.title) for one in terms())


@functools.cache
def _by_name() -> dict[str, Term]:
    found: dict[str, Term] = {}
    for one in terms():
        for name in (one.name, one.title, *one.aliases):
            found.setdefault(_plain(name), one)
    return found


def _plain(name: str) -> str:
    """Letters and digits alone, in one case: GPU-Util, gpu_util and "GPU util" are one name."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def term(name: str) -> Term:
    """The term of a name, however it is written, with or without a metric's labels. Raises UnknownName."""
    asked = name[:_LONGEST].partition("{")[0].strip()
    plain, known = _plain(asked), _by_name()
    for form in (plain, re.sub(r"(bucket|sum|count|total|pct|percent|perc|avg|mean)$", "", plain), plain.rstrip("s")):
        if form in known:
            return known[form]
    near = difflib.get_close_matches(plain, known, n=6, cutoff=0.5) if plain else []
    near += [other for other in known if len(plain) > 3 and plain in other]
    names = list(dict.fromkeys(known[other].name for other in near))[:3]
    raise UnknownName(
        f"{asked!r} is no term that is explained here", where="explain", got=asked or "nothing",
        want=f"one of {', '.join(one.name for one in terms())}, or a tool's name for it",
        try_this=" or ".join(names) or None,
    )  # fmt: skip

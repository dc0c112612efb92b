"""Every name in the catalog of models -> the files it may stand for: the one index of all who look a name up."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path

from rooflight.catalog import forms, tables

FOLDER = Path(__file__).parent / "models"
_ENDING = re.compile(r"-(instruct|chat|base|it|hf|v0\.[0-9])$")


def stems() -> list[str]:
    """The stems of all files."""
    return tables.stems(FOLDER)


def matching(name: str) -> tuple[str, ...]:
    """The files a name may stand for, of the first kind of names that has it."""
    known = index()
    return known.get(plain(name)) or known.get(squeezed(name)) or ()


def plain(name: str) -> str:
    """A name in lower case, its words with hyphens between."""
    return re.sub(r"[\s_]+", "-", name.strip().lower())


def squeezed(name: str) -> str:
    """A name without what stands between its words: llama3.1:8b and llama-3.1-8b alike. No other name begins so."""
    return "~" + re.sub(r"[\s_:/-]+", "", name.lower())


@functools.lru_cache(maxsize=1)
def index() -> dict[str, tuple[str, ...]]:
    """Every name in the catalog -> files: ids and aliases, then what is behind an id's slash, then behind an alias's,
    then those without the endings that name a variant of the same shape, then those without a format of weights.
    The first kind that has a name counts. All of them also without what stands between words."""
    kinds: tuple[dict[str, dict[str, None]], ...] = ({}, {}, {}, {}, {})
    for stem in stems():
        known = [plain(name) for name in heading(stem)]
        tails = [name.rpartition("/")[2] for name in known]
        short = [bare for tail in tails for bare in _without_endings(tail)]
        unformed = [bare for tail in tails[:1] for bare, _ in forms.bare_names(tail)]
        listed = (known, tails[:1], tails, short, [*unformed, *_short_of(unformed)])
        for kind, names in zip(kinds, listed, strict=True):
            for name in names:
                kind.setdefault(name, {})[stem] = None
                kind.setdefault(squeezed(name), {})[stem] = None
    return {name: tuple(files) for kind in reversed(kinds) for name, files in kind.items()}


def _short_of(names: list[str]) -> list[str]:
    """Without the endings of variants, and without a maker's name in front: nvidia-nemotron-3-nano-30b-a3b."""
    short = [bare for name in names for bare in _without_endings(name)]
    return [*short, *(name.removeprefix("nvidia-") for name in (*names, *short) if name.startswith("nvidia-"))]


def _without_endings(name: str) -> Iterator[str]:
    """llama-2-7b-chat-hf as llama-2-7b-chat and llama-2-7b."""
    while name != (shorter := _ENDING.sub("", name)):
        yield shorter
        name = shorter


def heading(stem: str) -> list[str]:
    """The id and the aliases of a file, read off its first lines without parsing the rest."""
    with open(os.path.join(FOLDER, f"{stem}.toml"), "rb") as file:
        return re.findall(r'"([^"]+)"', file.read().partition(b"\nsource")[0].decode())


def spelled(stem: str) -> str:
    """The id as its file spells it."""
    return heading(stem)[0]

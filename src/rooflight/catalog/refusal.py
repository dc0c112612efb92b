"""What is wrong in an accelerator's file: where, what was found, what is wanted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from rooflight.errors import BadConfig


def refuse(what: str, where: str, got: object, want: str, try_this: str | None = None) -> NoReturn:
    """Raises BadConfig; where: the file, and behind a comma the place in it."""
    text = repr(got)
    raise BadConfig(
        f"{where.split(',')[0]}: {what}",
        where=where,
        got=text if len(text) <= 80 else text[:80] + "…",
        want=want,
        try_this=try_this,
    )


def near(word: object, words: Iterable[str]) -> str | None:
    """Words that are spelled alike; None for none."""
    import difflib

    close = difflib.get_close_matches(str(word)[:60], list(words), n=2, cutoff=0.4)
    return " or ".join(close) or None

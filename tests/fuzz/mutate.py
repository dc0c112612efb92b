"""Values, texts and bytes made wrong in the ways that files are, by a seeded generator."""

from __future__ import annotations

import copy
import math
from random import Random
from typing import Any

NUMBERS = (
    0, -1, 1, 2, 3, 7, 100, 4096, 65_536, 2**31, 2**40, 2**63, 10**30, -(10**9), 0.5, -0.0, 1.5, 1e-300, 1e308,
    math.inf, -math.inf, math.nan,
)  # fmt: skip
TEXTS = (
    "", " ", "4096", "1,000", "1,5", "-3.5", "None", "null", "true", "auto", "nan", "inf", "1e999", "0x10", "８", "é",
    "=1+1", "@SUM(A1)", "+x", "-x", "'", '"', '""', ",", ";", "\t", "\n", "\r", "\0", "\x1b[31m", "\ud800", "a" * 300,
    "../../etc/passwd", "%s%n", "{0}", "{model}", "bf16", "fp8", "mxfp4", "full_attention", "sliding_attention", "*",
    "(a+)+$", "model.layers.*", "h100-sxm", "100GB", "400Gb/s",
)  # fmt: skip
ENDS = ("\n", "\r\n", "\r")


def scalar(rng: Random) -> Any:
    """Something that stands where something else was meant."""
    return rng.choice((None, True, False, rng.choice(NUMBERS), rng.choice(NUMBERS), rng.choice(TEXTS)))


def value(rng: Random) -> Any:
    """The same, or a list or an object of such, a deep one now and then."""
    kind = rng.randrange(10)
    if kind < 6:
        return scalar(rng)
    if kind < 8:
        return [scalar(rng) for _ in range(rng.choice((0, 1, 2, 5, 64)))]
    if kind < 9:
        return {rng.choice(TEXTS): scalar(rng) for _ in range(rng.randrange(3))}
    deep: Any = scalar(rng)
    for _ in range(rng.choice((2, 5, 50))):
        deep = [deep] if rng.random() < 0.5 else {"a": deep}
    return deep


def tree(rng: Random, root: dict[str, Any], times: int) -> dict[str, Any]:
    """A copy of nested objects and lists with so many places dropped, replaced, moved, repeated or scaled."""
    root = copy.deepcopy(root)
    for _ in range(times):
        places = list(_places(root))
        if not places:
            return {rng.choice(TEXTS): value(rng)}
        where, key = rng.choice(places)
        change, old = rng.randrange(7), where[key]
        if change == 0:
            del where[key]
        elif change == 1 and isinstance(old, int | float) and not isinstance(old, bool):
            where[key] = rng.choice(
                (old * 2, old + 1, -old, old * 1000, old / 2, old // 3 if math.isfinite(old) else 0)
            )
        elif change == 2 and isinstance(old, list):
            where[key] = old * rng.choice((2, 3, 40)) if old else [scalar(rng)]
        elif change == 3 and isinstance(where, dict):
            other = rng.choice(list(where))
            where[key], where[other] = where[other], old
        elif change == 4:
            where[key] = rng.choice(([old], {"a": old}, str(old)))
        else:
            where[key] = value(rng)
    return root


def _places(node: Any) -> Any:
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from _places(node[key])


def text(rng: Random, whole: str, times: int) -> str:
    """A text with so many pieces cut, repeated, moved or put in."""
    for _ in range(times):
        start = rng.randrange(len(whole) + 1)
        stop = min(len(whole), start + rng.choice((1, 1, 2, 10, 200)))
        change = rng.randrange(5)
        if change == 0:
            whole = whole[:start] + whole[stop:]
        elif change == 1:
            whole = whole[:stop] + whole[start:stop] + whole[stop:]
        elif change == 2:
            whole = whole[:start]
        else:
            whole = whole[:start] + rng.choice(TEXTS) + whole[stop if change == 3 else start :]
    return whole


def encoded(rng: Random, whole: str) -> bytes:
    """A text as bytes, mostly UTF-8, with other line ends, marks and broken bytes now and then."""
    if rng.random() < 0.2:
        whole = rng.choice(ENDS).join(whole.split("\n"))
    if rng.random() < 0.05:
        whole = "".join(rng.choice(ENDS) if one == "\n" else one for one in whole)
    raw = whole.encode(rng.choice(("utf-8",) * 8 + ("utf-8-sig", "utf-16", "cp1252")), "replace")
    for _ in range(rng.choice((0,) * 8 + (1, 5))):
        place = rng.randrange(len(raw) + 1)
        raw = raw[:place] + bytes([rng.randrange(256)]) + raw[place + 1 :]
    return raw

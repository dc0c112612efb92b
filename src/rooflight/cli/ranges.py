"""Lists and ranges of a sweep, as written on the command line. Pure functions.

    1,2,4,8         these
    1:8             1 to 8, one by one
    128:1024:128    128, 256, ... 1024; +128 is the same
    1:512:x2        1, 2, 4, ... 512
    1,2,4:64:x4     both

Ends are included where a step meets them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from rooflight.errors import BadInput
from rooflight.values.field import LARGEST

MOST_POINTS = 10_000_000
_WANT = "numbers as 1,2,4 or a range START:STOP:STEP, STEP being x2 (times two) or 128 (plus 128)"


def numbers(text: str, where: str) -> Sequence[int]:
    """The whole numbers a list or range stands for, in order, each once. Raises BadInput."""
    items = [item.strip() for item in text.split(",")]
    if len(items) > 1 and any(re.fullmatch(r"0\d+", item) for item in items):
        raise _bad(f"{text!r} reads as a list", text, where, try_this=text.replace(",", ""))
    parts = [_one(item, text, where) for item in items]
    total = sum(map(len, parts))
    if total > MOST_POINTS:
        raise _bad(f"{total:,} values are too many", text, where, want=f"at most {MOST_POINTS:,}")
    return parts[0] if len(parts) == 1 else tuple(dict.fromkeys(value for part in parts for value in part))


def names(text: str, where: str) -> tuple[str, ...]:
    """The names of a list with commas, each once. Raises BadInput for an empty one."""
    found = [item.strip() for item in text.split(",")]
    if not all(found):
        raise BadInput("a name is empty", where=where, got=text, want="names with commas between")
    return tuple(dict.fromkeys(_joined(found)))


def _joined(found: Sequence[str]) -> Iterator[str]:
    """Formats by part are one name: `experts=iq2_xxs,rest=q6_k`; a part that was named begins the next."""
    told = ""
    for name in found:
        part = name.partition("=")[0]
        if "=" in name and "=" in told and part not in (term.partition("=")[0] for term in told.split(",")):
            told += f",{name}"
            continue
        if told:
            yield told
        told = name
    if told:
        yield told


def check_points(sizes: dict[str, int]) -> int:
    """The number of points of a grid; raises BadInput where it is beyond what a sweep takes."""
    total = math.prod(sizes.values())
    if total > MOST_POINTS:
        grid = " x ".join(f"{size:,} of {name}" for name, size in sizes.items() if size > 1)
        raise BadInput(
            f"{total:,} points are too many",
            where="the axes of the sweep",
            got=grid,
            want=f"at most {MOST_POINTS:,}",
            try_this="a coarser step, such as 1:4096:x2",
        )
    return total


def _one(item: str, text: str, where: str) -> Sequence[int]:
    fields = [field.strip() for field in item.split(":")]
    if len(fields) > 3:
        raise _bad(f"{item!r} has {len(fields)} parts", text, where)
    start = _whole(fields[0], text, where)
    if len(fields) == 1:
        return (start,)
    stop = _whole(fields[1], text, where)
    step = fields[2] if len(fields) == 3 else "1"
    if start > stop:
        raise _bad(f"{start} is above {stop}", text, where, want="START at or below STOP")
    if step[:1] in ("x", "X", "*"):
        return _geometric(start, stop, step, text, where)
    by = _whole(step.removeprefix("+"), text, where)
    if by < 1:
        raise _bad("a step of 0 never arrives", text, where, want="a step of at least 1")
    return range(start, stop + 1, by)


def _geometric(start: int, stop: int, step: str, text: str, where: str) -> tuple[int, ...]:
    """start, start x factor, ... rounded to whole numbers, each once."""
    try:
        factor = float(step[1:])
    except ValueError:
        factor = math.nan
    if not (math.isfinite(factor) and factor >= 1.001):
        raise _bad(f"{step!r} does not grow", text, where, want="a factor of at least x1.001, such as x2")
    if start < 1:
        raise _bad("0 times a factor stays 0", text, where, want="a START of at least 1")
    found, value = [], float(start)
    while round(value) <= stop:
        found.append(round(value))
        value *= factor
    return tuple(dict.fromkeys(found))


def _whole(field: str, text: str, where: str) -> int:
    digits = re.sub(r"(?<=[0-9])_(?=[0-9])", "", field)
    if not re.fullmatch(r"[0-9]{1,20}", digits) or int(digits) > LARGEST:
        hint = None
        if re.fullmatch(r"[0-9]+[kK]", digits) and len(digits) < 10:
            hint = f"{int(digits[:-1]) * 1000} or {int(digits[:-1]) * 1024}"
        raise _bad(f"{field[:60]!r} is not a whole number from 0 to 2^40", text, where, try_this=hint)
    return int(digits)


def _bad(what: str, text: str, where: str, *, want: str = _WANT, try_this: str | None = None) -> BadInput:
    return BadInput(what, where=where, got=text if len(text) <= 80 else text[:80] + "...", want=want, try_this=try_this)

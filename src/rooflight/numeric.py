"""Elementwise choices that work alike on plain numbers and NumPy arrays, and need NumPy only for arrays.

A single operating point must not pay for `import numpy`, so formulas take their maxima from here.
"""

from __future__ import annotations

from typing import Any

from rooflight.affine import Affine, elements, order

# A float or int, or a NumPy array of them; formulas broadcast.
Number = Any

_PLAIN = (float, int)


def is_plain(*values: Number) -> bool:
    """True if every value is a Python number (not an array)."""
    for value in values:  # noqa: SIM110 - a third of the time of all() over a generator, and asked thousands of times
        if not isinstance(value, _PLAIN):
            return False
    return True


def maximum(a: Number, b: Number) -> Number:
    """The larger of two, elementwise."""
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        return a if a >= b else b
    if isinstance(a, Affine) or isinstance(b, Affine):
        first = order(a, b)
        if first is not None:
            return a if first >= 0 else b
    import numpy as np

    return np.maximum(elements(a), elements(b))


def minimum(a: Number, b: Number) -> Number:
    """The smaller of two, elementwise."""
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        return a if a <= b else b
    if isinstance(a, Affine) or isinstance(b, Affine):
        first = order(a, b)
        if first is not None:
            return a if first <= 0 else b
    import numpy as np

    return np.minimum(elements(a), elements(b))


def capped(a: Number, most: float) -> Number:
    """The smaller of two, elementwise; a plain number where that is `most` everywhere."""
    if not is_plain(a) and bool((a >= most).all()):
        return most
    return minimum(a, most)


def floor(a: Number) -> Number:
    """The largest whole number not above, elementwise."""
    if is_plain(a):
        return a // 1
    import numpy as np

    return np.floor(elements(a))


def ceil(a: Number) -> Number:
    """The smallest whole number not below, elementwise."""
    return -floor(-a)


def where(condition: Number, yes: Number, no: Number) -> Number:
    """`yes` where the condition holds, else `no`, elementwise."""
    if isinstance(condition, bool):
        return yes if condition else no
    import numpy as np

    return np.where(condition, elements(yes), elements(no))


def tidy(value: float) -> float:
    """A plain number as an int where it is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def expm1(a: Number) -> Number:
    """e^a - 1, exact for small a, elementwise."""
    import math

    if is_plain(a):
        return math.expm1(a)
    import numpy as np

    return np.expm1(elements(a))


def clipped(value: Number, least: Number, most: Number) -> Number:
    """The value held between two others, of which the upper one wins, elementwise."""
    return minimum(maximum(value, least), most)


def largest_of(*values: Number) -> tuple[Number, Number]:
    """(the largest of several, which it is: the first, if equal), elementwise."""
    best: Number = values[0]
    index: Number = 0
    if is_plain(*values):
        for position, value in enumerate(values[1:], start=1):
            if value > best:
                best, index = value, position
        return best, index
    import numpy as np

    for position, value in enumerate(values[1:], start=1):
        first = order(value, best)
        if first is not None:
            best, index = (value, position) if first > 0 else (best, index)
            continue
        one, most = elements(value), elements(best)
        index = np.where(one > most, np.int8(position), index)
        best = np.maximum(one, most)
    return best, index

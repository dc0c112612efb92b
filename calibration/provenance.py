"""What a fitted entry says of itself: its rows, and which of its coefficients those rows did not set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from rooflight.values.calibration import Data

# So near the end of its search range, as a share of the range, a coefficient counts as being there.
NEAR = 0.01
_DIGITS = 16


def digest(lines: Iterable[str]) -> str:
    """The first digits of the SHA-256 of rows, a line each; their order does not matter."""
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:_DIGITS]


def data_of(lines: Sequence[str], sources: Iterable[str]) -> Data:
    """The sources, number and hash of the rows of a fit, a line each."""
    return Data(sources=tuple(sorted(set(sources))), rows=len(lines), sha256=digest(lines))


def at_edge(values: Mapping[str, float], ranges: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """The coefficients that ended at an end of their search range (low, high): only the range kept them there."""
    return tuple(
        name
        for name, (low, high) in ranges.items()
        if values[name] - low <= NEAR * (high - low) or high - values[name] <= NEAR * (high - low)
    )

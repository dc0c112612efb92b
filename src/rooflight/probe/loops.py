"""Loops over memory without a library between them and the caches: compiled by numba, else NumPy's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

# May add up in another order, as a vector unit must; may not do away with a pass.
_FAST = {"reassoc", "nsz", "contract", "arcp"}
_COMPILED = "compiled loop"


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """Arrays gone over together. loop(views, passes) holds no lock of Python's while it runs."""

    name: str
    arrays: int
    by: str
    loop: Callable[[tuple[Any, ...], int], None]

    @property
    def compiled(self) -> bool:
        """One call makes many passes, so that the call itself costs nothing of them."""
        return self.by == _COMPILED


@functools.cache
def patterns() -> tuple[Pattern, ...]:
    """Read-only, copy and triad; NumPy has no triad of one pass."""
    try:
        read, copy, triad = _compiled()
    except ImportError:
        return (
            Pattern(name="read", arrays=1, by="NumPy max", loop=_numpy_read),
            Pattern(name="copy", arrays=2, by="NumPy copyto", loop=_numpy_copy),
        )
    return (
        Pattern(name="read", arrays=1, by=_COMPILED, loop=lambda views, passes: read(*views, passes)),
        Pattern(name="copy", arrays=2, by=_COMPILED, loop=lambda views, passes: copy(*views, passes)),
        Pattern(name="triad", arrays=3, by=_COMPILED, loop=lambda views, passes: triad(*views, passes)),
    )


def _numpy_read(views: tuple[Any, ...], passes: int) -> None:
    for _ in range(passes):
        np.max(views[0])


def _numpy_copy(views: tuple[Any, ...], passes: int) -> None:
    for _ in range(passes):
        np.copyto(views[0], views[1])


def _compiled() -> tuple[Callable[..., Any], ...]:
    """Raises ImportError without numba."""
    import numba

    def read(a, passes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - numba finds the types
        total = np.float32(0)
        for _ in range(passes):
            one = np.float32(0)
            for i in range(a.size):
                one += a[i]
            total += one
        return total

    def copy(a, b, passes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        for _ in range(passes):
            for i in range(a.size):
                a[i] = b[i]

    def triad(a, b, c, passes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        for _ in range(passes):
            for i in range(a.size):
                a[i] = b[i] + np.float32(0.5) * c[i]

    made = tuple(numba.njit(one, nogil=True, fastmath=_FAST) for one in (read, copy, triad))
    views = tuple(np.ones(64, dtype=np.float32) for _ in range(3))
    for count, loop in enumerate(made, 1):
        loop(*views[:count], 1)
    return made

"""The last few answers to questions that a moving batch slider asks again: bounded, and lost with the process."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """At most `most` values by key; the one that was not asked for longest goes first. Threads may share it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: dict[str, Value] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> Value | None:
        """The value, if it is kept; it counts as asked for."""
        with self._lock:
            value = self._values.pop(key, None)
            if value is not None:
                self._values[key] = value
        return value

    def get_or_make(self, key: str, make: Callable[[], Value]) -> Value:
        """The value kept, or a new one."""
        value = self.get(key)
        if value is None:
            value = make()
            with self._lock:
                self._values[key] = value
                if len(self._values) > self.most:
                    del self._values[next(iter(self._values))]
        return value

    def __len__(self) -> int:
        return len(self._values)


def digest(parts: Any) -> str:
    """A short name for plain values."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]

"""The last few answers to questions that a moving batch slider asks again: bounded, and lost with the process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from rooflight.studio.question import Question

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """At most `most` values by key; the one that was not asked for longest goes first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: dict[str, Value] = {}

    def get(self, key: str) -> Value | None:
        """The value, if it is kept; it counts as asked for."""
        value = self._values.pop(key, None)
        if value is not None:
            self._values[key] = value
        return value

    def get_or_make(self, key: str, make: Callable[[], Value]) -> Value:
        """The value kept, or a new one."""
        value = self.get(key)
        if value is None:
            value = self._values[key] = make()
            if len(self._values) > self.most:
                del self._values[next(iter(self._values))]
        return value

    def __len__(self) -> int:
        return len(self._values)


def key_without_batch(question: Question, place: int) -> str:
    """What everything but the batch says about cards[place]: a digest, so that a pasted config costs no memory."""
    parts = question.model_dump(exclude={"batch", "before", "cards", "focus", "bandwidth_times", "peak_times"})
    rates = (question.bandwidth_times, question.peak_times) if place == question.shown else (1.0, 1.0)
    return digest([question.cards[place], rates, parts])


def digest(parts: Any) -> str:
    """A short name for plain values."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]

"""What is asked of a deployment: how many sequences, how long, and what of them is cached already."""

from __future__ import annotations

import math
import operator
from typing import Any

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.numeric import Number, is_plain

# Token counts above this are typing errors, and would lose exactness in floats soon after.
LARGEST = 1 << 40

# Field -> the least it may be.
_FIELDS = {
    "batch": 1, "prefill_batch": 1, "isl": 1, "osl": 1, "context": 0, "cached_prefix": 0, "draft_tokens": 0,
    "chunk_tokens": 0,
}  # fmt: skip


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """Token counts; every field may be a whole number, or in a sweep a NumPy array of them.

    batch           sequences decoding at once, whole deployment
    prefill_batch   prompts prefilled together
    isl, osl        input and output tokens of a sequence
    context         tokens cached before the decode step; None: isl + osl / 2, the mean of the request
    cached_prefix   tokens of the prompt whose KV is cached already
    draft_tokens    speculative decoding: tokens drafted per step (adds the phase "verify")
    chunk_tokens    chunked prefill: prompt tokens run beside each decode step (adds the phase "mixed")

    Raises BadInput for a value that is not a whole number of the allowed size, and where the cached prefix or a
    chunk is longer than the prompt allows.
    """

    batch: Number = 1
    prefill_batch: Number = 1
    isl: Number = 1024
    osl: Number = 256
    context: Number | None = None
    cached_prefix: Number = 0
    draft_tokens: Number = 0
    chunk_tokens: Number = 0

    def __post_init__(self) -> None:
        for name in _FIELDS:
            value = getattr(self, name)
            if value is not None or name != "context":
                msgspec.structs.force_setattr(self, name, _whole(name, value))
        if not is_plain(self.cached_prefix, self.isl, self.chunk_tokens):
            return
        if self.cached_prefix >= self.isl:
            raise BadInput(
                "the cached prefix leaves no prompt token to prefill",
                where=Named.of("cached_prefix"),
                got=self.cached_prefix,
                want=f"less than the {self.isl} tokens of the prompt",
                try_this=Named("{cached_prefix} or a longer {isl}", cached_prefix=self.isl - 1),
            )
        if self.chunk_tokens > self.isl - self.cached_prefix:
            raise BadInput(
                "a chunk cannot hold more tokens than the prompt has left to prefill",
                where=Named.of("chunk_tokens"),
                got=self.chunk_tokens,
                want=f"at most {self.isl - self.cached_prefix}",
                try_this=Named("a longer {isl} or a smaller {chunk_tokens}"),
            )


def _whole(name: str, value: Any) -> Number:
    """A Python int (or an array of whole numbers, as it is) of at least the field's least; raises BadInput."""
    least = _FIELDS[name]
    if hasattr(value, "shape") and value.shape:
        kind = value.dtype.kind in "iuf" and value.size
        if kind and bool(((value >= least) & (value <= LARGEST) & (value % 1 == 0)).all()):
            return value
    else:
        number = _index(value)
        if number is not None and least <= number <= LARGEST:
            return number
        if number is not None and number > LARGEST:
            raise BadInput(
                f"{name} is too large", where=Named.of(name), got=_short(value), want="a whole number up to 2^40"
            )
    raise BadInput(
        f"{name} must be a whole number of at least {least}",
        where=Named.of(name),
        got=_short(value),
        want=f"a whole number from {least} to 2^40",
    )


def _index(value: Any) -> int | None:
    """A whole number as an int, whatever type it comes in; None for anything else."""
    if isinstance(value, bool | str | bytes):
        return None
    try:
        return operator.index(value)
    except TypeError:
        pass
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if math.isfinite(number) and number == int(number) else None


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, str | bytes) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."

"""What is asked of a deployment: how many sequences, how long, and what of them is cached already."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from rooflight.errors import BadInput
from rooflight.numeric import Number, is_plain

# Token counts above this are typing errors, and would lose exactness in floats soon after.
LARGEST = 1 << 40

_OPTION = {
    "batch": "--batch",
    "prefill_batch": "--prefill-batch",
    "isl": "--isl",
    "osl": "--osl",
    "context": "--context",
    "cached_prefix": "--cached-prefix",
    "draft_tokens": "--draft-tokens",
    "chunk_tokens": "--chunk",
}


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """Token counts; every field may be a whole number, or in a sweep a NumPy array of them.

    batch           sequences decoding at once, whole deployment
    prefill_batch   prompts prefilled together
    isl, osl        input and output tokens of a sequence
    context         tokens cached before the decode step; None: isl + osl / 2, the mean of the request
    cached_prefix   tokens of the prompt whose KV is cached already
    draft_tokens    speculative decoding: tokens drafted per step (adds the phase "verify")
    chunk_tokens    chunked prefill: prompt tokens run beside each decode step (adds the phase "mixed")

    Raises BadInput for a value that is not a whole number of the allowed size.
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
        for name, least in (("batch", 1), ("prefill_batch", 1), ("isl", 1), ("osl", 1)):
            _check(name, getattr(self, name), least)
        for name in ("cached_prefix", "draft_tokens", "chunk_tokens"):
            _check(name, getattr(self, name), 0)
        if self.context is not None:
            _check("context", self.context, 0)
        if is_plain(self.cached_prefix, self.isl) and self.cached_prefix >= self.isl:
            raise BadInput(
                "the cached prefix leaves no prompt token to prefill",
                where="--cached-prefix",
                got=self.cached_prefix,
                want=f"less than the {self.isl} tokens of the prompt",
                try_this=f"--cached-prefix {self.isl - 1} or a longer --isl",
            )


def _check(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least `least` (arrays: every element)."""
    if not isinstance(value, int | float):
        import numpy as np

        array = np.asarray(value)
        bad = array.dtype.kind not in "iuf" or not bool(
            ((array >= least) & (array <= LARGEST) & (array % 1 == 0)).all()
        )
    else:
        bad = isinstance(value, bool) or not math.isfinite(value) or value < least or value != int(value)
    if bad or (is_plain(value) and value > LARGEST):
        raise BadInput(
            f"{name} must be a whole number of at least {least}",
            where=_OPTION[name],
            got=value,
            want=f"a whole number from {least} to 2^40",
        )

"""What the header of a weight file says: tensors by name, each with its shape, its format and its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Tensor(msgspec.Struct, frozen=True, gc=False):
    """One tensor of a file.

    shape       elements along each dimension, the input dimension first (as GGUF has it)
    format      storage format id (values.formats); "" for what no weight is stored in
    bytes       what it takes in the file
    float8      FP8 numbers: weights, or the scales of narrower ones
    """

    name: str
    shape: tuple[int, ...]
    format: str
    bytes: int
    float8: bool = False

    @property
    def elements(self) -> int:
        """Numbers in it."""
        result = 1
        for size in self.shape:
            result *= size
        return result


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The header of a file, or of all parts of a split one.

    keys        metadata, without what is long
    warnings    what was odd
    """

    tensors: tuple[Tensor, ...]
    origin: str
    keys: Mapping[str, Any] = {}
    warnings: tuple[str, ...] = ()

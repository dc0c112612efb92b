"""A number format: how many bits an element takes in memory, scales included, and what multiplies it."""

from __future__ import annotations

import msgspec


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """How a weight matrix (or a cache) is stored.

    bits                bits of one element, without what it shares
    block_inputs        elements along the input dimension that share a scale (0: all of them)
    block_outputs       the same along the output dimension (0: all of them)
    scale_bits          of the scale, and zero_bits of the zero point, of such a block
    input_bits          further bits per input row (GPTQ's g_idx)
    activations         the format activations take with it (None: weight-only, activations stay wide)
    compute             the format whose peak multiplies it when activations match it
    family              "cast": a checkpoint is turned whole; "gguf": of llama.cpp's files; "mlx", "exl": of theirs
    """

    id: str
    bits: float
    block_inputs: int = 0
    block_outputs: int = 0
    scale_bits: float = 0
    zero_bits: float = 0
    input_bits: float = 0
    activations: str | None = None
    compute: str | None = None
    family: str = ""
    words: str = ""

    @property
    def integer_products(self) -> bool:
        """Whether engines may multiply it in int8 though it is a weight-only format, as llama.cpp does (ggml's mmq)."""
        return self.family == "gguf" and self.bits < 16

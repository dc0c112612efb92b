"""Bytes that formats take: a weight matrix with its scales, a cache or activation element."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from rooflight.values.format import Format
from rooflight.values.formats import element_bits, format_named
from rooflight.values.model import Linear


def matrix_bytes(*, inputs: int, outputs: int, groups: int, form: Format) -> float:
    """Stored bytes of a weight matrix.

    bytes = elements x bits / 8  +  blocks x (scale + zero point bits) / 8  +  inputs x input bits / 8
    with elements = inputs x outputs / groups, and blocks = ceil(inputs / block_inputs) x
    ceil(outputs / block_outputs), a size of 0 meaning the whole dimension.

    Source: the packings named in values.formats. Leaves out: padding to whole words, file headers.
    Check: inputs 4096, outputs 4096, groups 1, form int4-g128 -> 8 912 896 (4.25 bits a weight).
    """
    elements = inputs * outputs / groups
    across = ceil(inputs / groups / form.block_inputs) if form.block_inputs else 1
    along = ceil(outputs / form.block_outputs) if form.block_outputs else 1
    shared_bits = across * along * (form.scale_bits + form.zero_bits) + inputs * form.input_bits
    return (elements * form.bits + shared_bits) / 8


@lru_cache(maxsize=4096)
def linear_bytes(linear: Linear, form: Format) -> float:
    """Stored bytes of a Linear with its bias; biases are kept in 16 bits (32 in an fp32 model and in GGUF files).

    What a file holds of it counts, as long as it stays in the file's format.

    Check: linear_bytes(Linear(name="o", inputs=8, outputs=4, bias=4), format_named("bf16")) == 8 * 4 * 2 + 4 * 2.
    """
    if linear.stored_bytes is not None and form.id == linear.format:
        return linear.stored_bytes
    weights = matrix_bytes(inputs=linear.inputs, outputs=linear.outputs, groups=linear.groups, form=form)
    return weights + linear.bias * (4 if form.id == "fp32" or form.family == "gguf" else 2)


def element_bytes(name: str) -> float:
    """Bytes of one cached or activation element in a format, its share of the scales included.

    Raises UnknownName. Check: name bf16 -> 2. Check: name fp8 -> 1. Check: name nvfp4 -> 0.5625.
    """
    return element_bits(format_named(name, None)) / 8

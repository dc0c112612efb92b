"""Which number formats a step runs in: what is stored, what is multiplied, what is cached."""

from __future__ import annotations

import msgspec

from rooflight.values.format import Format
from rooflight.values.formats import arithmetic, format_named

# 16-bit types, of which activations may name another than the weights'.
_HALVES = ("bf16", "fp16")


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """Formats of a deployment, resolved.

    activations     override for the inputs of products; None: what each weight format brings
    compute         override for the peak that bounds products
    kv              storage format of the cache: kv_bytes an element, and attention multiplies in kv_compute
    act_bytes       bytes of an activation element between kernels
    flash           scores stay on chip
    """

    activations: str | None = None
    compute: str | None = None
    kv: str = "bf16"
    kv_bytes: float = 2
    kv_compute: str = "bf16"
    act_bytes: float = 2
    flash: bool = True


def product_format(form: Format, numbers: Numbers) -> str:
    """The format whose peak bounds a product of weights stored as `form`.

    Both sides narrow (W8A8, W4A4): that format. Weight-only: the activations' format. An explicit compute wins.
    """
    if numbers.compute is not None:
        return arithmetic(numbers.compute, "compute") or "bf16"
    if form.bits >= 16:
        return numbers.activations if numbers.activations in _HALVES else form.compute or "bf16"
    narrow = numbers.activations or form.activations
    return "bf16" if narrow is None else arithmetic(narrow, "activations") or "bf16"


def input_bytes(form: Format, numbers: Numbers) -> float:
    """Bytes of one input element: narrow where the product takes narrow activations."""
    narrow = numbers.activations or form.activations
    if narrow is None or format_named(narrow, "activations").bits >= 16:
        return numbers.act_bytes
    return format_named(narrow, "activations").bits / 8

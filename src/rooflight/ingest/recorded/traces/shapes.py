"""What PyTorch's operators ask of a device, from the sizes that a profiler recorded of their inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

# c10::ScalarType as the profiler prints it: rooflight's format, bytes of an element. torch/csrc/profiler/util.cpp
_TYPES = {
    "c10::BFloat16": ("bf16", 2),
    "c10::Half": ("fp16", 2),
    "float": ("fp32", 4),
    "c10::Float8_e4m3fn": ("fp8", 1),
    "c10::Float8_e4m3fnuz": ("fp8", 1),
    "c10::Float8_e5m2": ("fp8", 1),
    "c10::Float8_e5m2fnuz": ("fp8", 1),
    "signed char": ("int8", 1),
}
_OUT_BYTES = 2
Sizes = list[int]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Work of one call. family: of the kernels that do it; bytes: of its inputs and its output, each once."""

    family: str
    flop: float
    bytes: float
    format: str | None
    sizes: tuple[tuple[str, float], ...]


def asked(name: str, dims: bytes, types: bytes, concrete: bytes) -> Asked | None:
    """What an operator asks, None where its sizes do not say it for sure.

    dims, types, concrete   "Input Dims", "Input type", "Concrete Inputs" as they stand in the file
    """
    of = OPERATORS.get(name)
    if of is None:
        return None
    try:
        return of(_lists(dims), _texts(types), _texts(concrete))
    except (IndexError, ValueError, TypeError, OverflowError):
        return None


def _lists(raw: bytes) -> list[Any]:
    found = msgspec.json.decode(raw or b"[]")
    return found if isinstance(found, list) else []


def _texts(raw: bytes) -> list[str]:
    found = msgspec.json.decode(raw or b"[]")
    return [one if isinstance(one, str) else "" for one in found] if isinstance(found, list) else []


def _sizes(one: Any, least: int, most: int) -> Sizes:
    """Sizes of a tensor of so many dimensions. Raises ValueError for any other."""
    if not isinstance(one, list) or not least <= len(one) <= most or any(type(n) is not int or n < 0 for n in one):
        raise ValueError(one)
    return one


def _product(batch: int, m: int, k: int, n: int, types: list[str], first: int = 0) -> Asked | None:
    """Batch products of [m, k] and [k, n].

    flop    2 m k n each
    bytes   both factors and the result, this in two bytes an element where the factors are narrower
    Check: mm of [8944, 1024] and [1024, 1024] in bf16 -> 18,756,927,488 flop, 38,731,776 bytes.
    """
    form, wide = _TYPES.get(types[first], (None, None))
    if wide is None or form is None or _TYPES.get(types[first + 1], (None, None))[1] != wide:
        return None
    moved = batch * ((m * k + k * n) * wide + m * n * max(wide, _OUT_BYTES))
    sizes: tuple[tuple[str, float], ...] = (("batch", float(batch)),) if batch != 1 else ()
    sizes += (("tokens", float(m)), ("inputs", float(k)), ("outputs", float(n)))
    return Asked(family="gemm", flop=2.0 * batch * m * k * n, bytes=float(moved), format=form, sizes=sizes)


def _mm(first: int) -> Callable[[list[Any], list[str], list[str]], Asked | None]:
    """[m, k] times [k, n], which stand from `first` on."""

    def of(dims: list[Any], types: list[str], _concrete: list[str]) -> Asked | None:
        (m, k), (inner, n) = _sizes(dims[first], 2, 2), _sizes(dims[first + 1], 2, 2)
        return _product(1, m, k, n, types, first) if inner == k else None

    return of


def _bmm(first: int) -> Callable[[list[Any], list[str], list[str]], Asked | None]:
    """[b, m, k] times [b, k, n], which stand from `first` on."""

    def of(dims: list[Any], types: list[str], _concrete: list[str]) -> Asked | None:
        (b, m, k), (other, inner, n) = _sizes(dims[first], 3, 3), _sizes(dims[first + 1], 3, 3)
        return _product(b, m, k, n, types, first) if (other, inner) == (b, k) else None

    return of


def _linear(dims: list[Any], types: list[str], _concrete: list[str]) -> Asked | None:
    """[..., k] times the transpose of [n, k]."""
    *rows, k = _sizes(dims[0], 1, 8)
    n, inner = _sizes(dims[1], 2, 2)
    m = 1
    for one in rows:
        m *= one
    return _product(1, m, k, n, types) if inner == k else None


def _attention(causal_at: int, *, heads_first: bool, plain: tuple[int, ...] = ()) -> Callable[..., Asked | None]:
    """Attention of [batch, tokens, heads, size], or with heads first; `plain`: inputs that must be absent.

    Check: 16 sequences of 559 tokens, 16 heads of 64, causal
        -> 4 x 16 x 16 x 64 x (559 x 560 / 2) = 10,257,694,720 flop, 4 x 16 x 559 x 16 x 64 x 2 = 73,269,248 bytes.
    """

    def of(dims: list[Any], types: list[str], concrete: list[str]) -> Asked | None:
        query, key, value = (_sizes(one, 4, 4) for one in dims[:3])
        if heads_first:
            query, key, value = ([a, c, b, d] for a, b, c, d in (query, key, value))
        (batch, tokens, heads, size), (_, context, kv_heads, _) = query, key
        form, wide = _TYPES.get(types[0], (None, None))
        causal = {"True": True, "False": False, "0": False, "1": True}.get(concrete[causal_at])
        if wide is None or causal is None or (causal and tokens != context) or any(dims[at] for at in plain):
            return None
        pairs = tokens * (tokens + 1) / 2 if causal else float(tokens * context)
        flop = 2.0 * batch * heads * (size + value[3]) * pairs
        stored = batch * (tokens * heads * (size + value[3]) + context * kv_heads * (size + value[3]))
        names = ("batch", "tokens", "context", "q_heads", "kv_heads", "head_dim")
        sizes = tuple(zip(names, map(float, (batch, tokens, context, heads, kv_heads, size)), strict=True))
        return Asked(family="attention", flop=flop, bytes=float(stored * wide), format=form, sizes=sizes)

    return of


# Operators whose sizes say their work: aten/src/ATen/native/native_functions.yaml, vllm/_custom_ops.py
OPERATORS: dict[str, Callable[[list[Any], list[str], list[str]], Asked | None]] = {
    "aten::mm": _mm(0),
    "aten::matmul": _mm(0),
    "aten::_int_mm": _mm(0),
    "aten::_scaled_mm": _mm(0),
    "aten::addmm": _mm(1),
    "aten::_addmm_activation": _mm(1),
    "aten::bmm": _bmm(0),
    "aten::baddbmm": _bmm(1),
    "aten::linear": _linear,
    "_C::cutlass_scaled_mm": _mm(1),
    "vllm::rocm_unquantized_gemm": _linear,
    "vllm::rocm_unquantized_gemm_impl": _linear,
    "aten::_flash_attention_forward": _attention(8, heads_first=False, plain=(3, 4)),
    "aten::_efficient_attention_forward": _attention(9, heads_first=False, plain=(3, 4, 5)),
    "aten::_scaled_dot_product_flash_attention": _attention(4, heads_first=True),
    "aten::_scaled_dot_product_efficient_attention": _attention(6, heads_first=True, plain=(3,)),
    "aten::_scaled_dot_product_cudnn_attention": _attention(6, heads_first=True, plain=(3,)),
}

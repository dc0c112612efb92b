"""How many earlier positions queries see: sums over a triangle, a band, a chunk, a compressed cache."""

from __future__ import annotations

from rooflight.numeric import Number, floor, minimum
from rooflight.values.model import Reach


def triangle(tokens: Number) -> Number:
    """1 + 2 + ... + tokens = tokens (tokens + 1) / 2. Check: tokens 4 -> 10."""
    return tokens * (tokens + 1) / 2


def capped_sum(tokens: Number, cap: Number) -> Number:
    """The sum over p = 1..tokens of min(p, cap): a triangle, then a band. Check: tokens 5, cap 3 -> 12."""
    inside = minimum(tokens, cap)
    return triangle(inside) + (tokens - inside) * cap


def chunk_sum(tokens: Number, chunk: Number) -> Number:
    """The sum over p = 1..tokens of (p - 1) mod chunk + 1: whole triangles, a rest. Check: tokens 5, chunk 3 -> 9."""
    whole = floor(tokens / chunk)
    return whole * triangle(chunk) + triangle(tokens - whole * chunk)


def strided_sum(tokens: Number, stride: Number, top_k: Number | None) -> Number:
    """The sum over p = 1..tokens of min(floor(p / stride), top_k). Check: tokens 7, stride 2, top_k None -> 12."""
    last = tokens if top_k is None else minimum(tokens, stride * (top_k + 1) - 1)
    steps = floor(last / stride)
    total = stride * steps * (steps - 1) / 2 + steps * (last - steps * stride + 1)
    return total if top_k is None else total + (tokens - last) * top_k


def seen_up_to(reach: Reach, tokens: Number) -> Number:
    """Query-key pairs of the first `tokens` positions of a sequence. Check: seen_up_to(Reach(window=3), 5) == 12."""
    if reach.stride > 1:
        near = capped_sum(tokens, reach.window) if reach.window is not None else 0
        return near + strided_sum(tokens, reach.stride, reach.top_k)
    if reach.chunk is not None:
        return chunk_sum(tokens, reach.chunk)
    cap = reach.window if reach.window is not None else reach.top_k
    return triangle(tokens) if cap is None else capped_sum(tokens, cap)


def pairs(reach: Reach, *, new: Number, context: Number) -> Number:
    """Query-key pairs of `new` tokens after `context` others: what causal attention multiplies.

    Check: pairs(Reach(), new=2, context=4) == 5 + 6.
    """
    if reach == Reach():
        return new * context + triangle(new)
    return seen_up_to(reach, context + new) - seen_up_to(reach, context)


def cached_positions(reach: Reach, *, new: Number, context: Number) -> Number:
    """Positions already cached that at least one of `new` queries reads, each counted once.

    A compressed cache counts its near window and its compressed keys. With top_k a single query reads
    top_k at most; several may pick different ones, up to new x top_k or all.
    Check: cached_positions(Reach(window=4), new=2, context=9) == 3.
    """
    if reach.stride > 1:
        far = floor((context + new) / reach.stride)
        far = far if reach.top_k is None else minimum(far, new * reach.top_k)
        near = minimum(context, reach.window - 1) if reach.window is not None else 0
        return near + far
    if reach.chunk is not None:
        return context - floor(context / reach.chunk) * reach.chunk
    if reach.window is not None:
        return minimum(context, reach.window - 1)
    if reach.top_k is not None:
        return minimum(context, new * reach.top_k)
    return context


def held_positions(reach: Reach, tokens: Number) -> Number:
    """Positions a growing-or-bounded cache holds after `tokens` tokens (compressed ones apart).

    Check: held_positions(Reach(window=4), 9) == 4.
    """
    if reach.stride > 1:
        return floor(tokens / reach.stride)
    bound = reach.window if reach.window is not None else reach.chunk
    return tokens if bound is None else minimum(tokens, bound)


def index_keys(reach: Reach, *, new: Number, context: Number) -> Number:
    """Query-key pairs an indexer scores: all earlier positions, or all compressed ones.

    Check: index_keys(Reach(top_k=2), new=2, context=4) == 5 + 6.
    """
    if reach.stride > 1:
        return strided_sum(context + new, reach.stride, None) - strided_sum(context, reach.stride, None)
    return new * context + triangle(new)

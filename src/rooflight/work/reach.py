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


def both_ways(tokens: Number, window: Number | None) -> Number:
    """Query-key pairs of `tokens` positions that see each other: all, or those less than `window` away on each side.

    Each sees 2 window - 1, less what is beyond the ends: tokens x (2 m + 1) - m (m + 1), m = min(window, tokens) - 1.
    Check: tokens 4, window 2 -> 10. Check: tokens 4, window None -> 16.
    """
    if window is None:
        return tokens * tokens
    far = minimum(window, tokens) - 1
    return tokens * (2 * far + 1) - far * (far + 1)


def pairs(reach: Reach, *, new: Number, context: Number, steps: Number = 1) -> Number:
    """Query-key pairs of `new` tokens after `context` others: what causal attention multiplies.

    steps   the mean over so many steps, whose contexts grow by one and are `context` in the mean. Of one new token
            the sum telescopes and is exact; of several, as in verify steps, each is taken at the middle one's place.

    Check: pairs(Reach(), new=2, context=4) == 5 + 6. Check: pairs(Reach(window=4), new=1, context=3, steps=3) == 3 + 2/3.
    """  # noqa: E501 - a Check line runs as it stands
    if reach == Reach():
        return new * context + triangle(new)
    if reach.both:  # a part of a text, in the mean over its parts with as much before it as behind
        whole = new + 2 * context
        return new / whole * both_ways(whole, reach.window)
    if _one(steps):
        return seen_up_to(reach, context + new) - seen_up_to(reach, context)
    first = context - (steps - 1) / 2 + (new - 1) / 2
    return new * (seen_up_to(reach, first + steps) - seen_up_to(reach, first)) / steps


def _one(steps: Number) -> bool:
    """Whether it is a step by itself, no mean of several."""
    return isinstance(steps, int | float) and steps == 1


def mean_capped(mean: Number, steps: Number, cap: Number) -> Number:
    """The mean over `steps` whole numbers, one after the other and `mean` in the mean, of min(number, cap).

    Check: mean 3.5, steps 4, cap 3 -> 2.75.
    """
    first = mean - (steps - 1) / 2
    return (capped_sum(first + steps - 1, cap) - capped_sum(first - 1, cap)) / steps


def cached_positions(reach: Reach, *, new: Number, context: Number, steps: Number = 1) -> Number:
    """Positions already cached that at least one of `new` queries reads, each counted once; steps as in pairs.

    A compressed cache counts its near window and its compressed keys. With top_k a single query reads
    top_k at most; several may pick different ones, up to new x top_k or all.
    Check: cached_positions(Reach(window=4), new=2, context=9) == 3.
    """
    if reach.both:  # nothing is cached: keys and values are the step's own
        return 0
    if not _one(steps):
        return _mean_cached(reach, new=new, context=context, steps=steps)
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


def _mean_cached(reach: Reach, *, new: Number, context: Number, steps: Number) -> Number:
    """The mean of cached_positions over contexts."""
    first = context - (steps - 1) / 2
    if reach.stride > 1:
        top_k = None if reach.top_k is None else new * reach.top_k
        ends = first + new - 1, first + new - 1 + steps
        far = (strided_sum(ends[1], reach.stride, top_k) - strided_sum(ends[0], reach.stride, top_k)) / steps
        return far if reach.window is None else far + mean_capped(context, steps, reach.window - 1)
    if reach.chunk is not None:
        return (chunk_sum(first + steps, reach.chunk) - chunk_sum(first, reach.chunk)) / steps - 1
    if reach.window is not None:
        return mean_capped(context, steps, reach.window - 1)
    return context if reach.top_k is None else mean_capped(context, steps, new * reach.top_k)


def held_positions(reach: Reach, tokens: Number) -> Number:
    """Positions a growing-or-bounded cache holds after `tokens` tokens (compressed ones apart).

    Check: held_positions(Reach(window=4), 9) == 4.
    """
    if reach.stride > 1:
        return floor(tokens / reach.stride)
    bound = reach.window if reach.window is not None else reach.chunk
    return tokens if bound is None else minimum(tokens, bound)


def index_keys(reach: Reach, *, new: Number, context: Number, steps: Number = 1) -> Number:
    """Query-key pairs an indexer scores: all earlier positions, or all compressed ones; steps as in pairs.

    Check: index_keys(Reach(top_k=2), new=2, context=4) == 5 + 6.
    """
    if reach.stride == 1:
        return new * context + triangle(new)
    return pairs(Reach(stride=reach.stride), new=new, context=context, steps=steps)


def compressed_keys(reach: Reach, *, context: Number, steps: Number = 1) -> Number:
    """Keys an indexer finds cached: all positions, or one in `stride`; steps as in pairs.

    Check: compressed_keys(Reach(stride=4), context=10) == 2.
    """
    if reach.stride == 1:
        return context
    if _one(steps):
        return floor(context / reach.stride)
    last = context + (steps - 1) / 2
    return (strided_sum(last, reach.stride, None) - strided_sum(last - steps, reach.stride, None)) / steps

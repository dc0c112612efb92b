"""A model by its size beside real ones of that size, in words."""

from __future__ import annotations

from rooflight.scenario.alike import ACTIVE_WITHIN
from rooflight.units import scaled
from rooflight.values.like import AlikeFigure, LikeBlock

# Models named of those that count.
_NAMED = 4


def like_line(like: LikeBlock) -> str:
    """Which figures hang on the shape that was taken, and how much they vary over real models of the size."""
    near = f"whose parameters are within {like.within:.0%} of that"
    if like.active_parameters is not None:
        near += f", and active ones within {ACTIVE_WITHIN:.0%}"
    if not like.models:
        return (
            "Its weights come to the asked size whatever its shape; its KV cache and what attention takes hang on the "
            f"shape that was taken: the catalog has no model {near}"
        )
    more = len(like.models) - _NAMED
    named = ", ".join(like.models[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    parts = [
        f"{what} {_range(one, unit)}"
        for what, one, unit in (
            ("KV cache a token", like.kv_bytes_per_token, "B"),
            ("weights streamed by a step", like.streamed_weight_bytes, "B"),
            ("ceiling of the decode step", like.decode_ceiling_s, "s"),
        )
        if one is not None
    ]
    told = "; ".join(parts)
    return (
        "Its weights come to the asked size whatever its shape; the rest hangs on the shape that was taken. Real "
        f"models {near} ({named}), have, in the same formats: {told}"
    )


def _range(one: AlikeFigure, unit: str) -> str:
    """a (low_model) to b (high_model), here c."""
    if one.low == one.high:
        return f"{scaled(one.low, unit)} (here {scaled(one.own, unit)})"
    low, high = one.low_model.rpartition("/")[2], one.high_model.rpartition("/")[2]
    return f"{scaled(one.low, unit)} ({low}) to {scaled(one.high, unit)} ({high}), here {scaled(one.own, unit)}"

"""A deployment as a row of an answer names it."""

from __future__ import annotations

import msgspec


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """What a row runs on, how it is cut, and in which formats weights and KV cache are kept."""

    accelerator: str
    devices: int
    tp: int
    pp: int
    ep: int
    dp: int
    weights: str
    kv_cache: str

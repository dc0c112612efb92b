"""The memory of a deployment, as an answer has it: what is held, what is left for a cache, what lies on a host."""

from __future__ import annotations

import msgspec

from rooflight.values.shown import Part

# Sequences where a device's size is in no source: any number may fit.
BOUNDLESS = 1 << 40


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """A number with the interval it lies in."""

    expected: float
    low: float
    high: float


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine's own log says of one replica's pool.

    line            the words it stands behind; tokens: what they print, null where nothing is known to be
    device_bytes    of the pool on one device (llama.cpp: of the cache of this question)
    compare         "tokens" where they are a capacity; "bytes" where layers of several kinds make them something else
    """

    engine: str
    line: str
    tokens: int | None
    device_bytes: float
    compare: str


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """What is left for KV cache and state: bytes of all devices, tokens and sequences of all replicas.

    sequences   of sequence_tokens tokens, no whole number
    log         the engine's own line to compare with; null where no engine is named
    """

    bytes: Range
    tokens: Range
    sequences: Range
    sequence_tokens: int
    log: LogLine | None


class HostMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in the host's memory; usable_bytes and fits null where its size is not known.

    memory_bytes_per_s  of it, stated or assumed; link_bytes_per_s: what a device reads of it, null where nobody knows
    """

    weights_bytes: float
    kv_bytes: float
    usable_bytes: float | None
    fits: bool | None
    memory_bytes_per_s: float
    link_bytes_per_s: float | None


class MemoryBlock(Part, msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of the deployment's memory, all devices. reserve_bytes holds what the engine may not use too.

    needed_bytes    weights, cache, working memory and the engine itself
    allowed_bytes   what they may take: usable less withheld, but the label in full where a default share leaves no room
                    for one sequence. Sentences, tables and pictures have these two sizes alone
    fits: needed <= allowed, on every device. max_batch: sequences of isl + osl tokens that fit at once. Both null where
    the devices' size is in no source, unless the host or a prefill worker is too small already.
    kv_pool_bytes, kv_tokens    the pool as expected; kv_pool: with its interval
    adapter_bytes_or_absent     of weights_bytes, those of LoRA adapters, where there are
    share           of memory that is used, as kv_pool counts it; share_needed: where the default leaves no room for
                    one sequence, what one needs (above 1: only the label in full holds it)
    host            what lies in the memory of the host; null where nothing does
    """

    brief = ("fits", "max_batch", "weights_bytes", "usable_bytes")

    weights_bytes: float
    kv_bytes: float
    reserve_bytes: float
    usable_bytes: float | None
    needed_bytes: float
    allowed_bytes: float | None
    kv_pool_bytes: float | None
    kv_tokens: int | None
    fits: bool | None
    max_batch: int | None
    activation_bytes: float
    engine_bytes: float
    withheld_bytes: float
    kv_bytes_per_sequence: float
    kv_pool: Pool | None
    share: float | None
    share_needed: float | None
    host: HostMemory | None = None
    adapter_bytes_or_absent: float | msgspec.UnsetType = msgspec.field(name="adapter_bytes", default=msgspec.UNSET)

    @property
    def adapter_bytes(self) -> float | None:
        """Of weights_bytes, those of LoRA adapters; None without any."""
        return None if self.adapter_bytes_or_absent is msgspec.UNSET else self.adapter_bytes_or_absent

    @property
    def most(self) -> int:
        """max_batch, without a bound where no size is known."""
        return BOUNDLESS if self.max_batch is None else self.max_batch

    @property
    def whole(self) -> bool:
        """Whether all that are asked for fit; where no size is known they may."""
        return self.fits is not False

    @property
    def by_share(self) -> bool:
        """Whether what may be used is what a share leaves, not the label in full."""
        if self.allowed_bytes is None or self.usable_bytes is None:
            return True
        return self.allowed_bytes < self.usable_bytes - self.withheld_bytes + 1

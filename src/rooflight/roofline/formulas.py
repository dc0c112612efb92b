"""Times of one resource each, and the roofline itself: pure functions of plain numbers or arrays."""

from __future__ import annotations

from rooflight.numeric import Number, maximum, minimum, where

# A step whose bytes are this many times the last-level caches keeps nothing useful in them between steps.
CACHE_REUSE_LIMIT = 16


def compute_s(flop: Number, flop_per_s: Number) -> Number:
    """Seconds the arithmetic takes at a peak. Check: compute_s(989.4, 989.4) == 1."""
    return flop / flop_per_s


def memory_s(moved_bytes: Number, bytes_per_s: Number) -> Number:
    """Seconds the bytes take at a bandwidth. Check: memory_s(3350, 3350) == 1."""
    return moved_bytes / bytes_per_s


def launch_s(launches: Number, floor_s: Number) -> Number:
    """Seconds that launching takes if nothing else does: kernels x the smallest time seen for one."""
    return launches * floor_s


def ridge_flop_per_byte(flop_per_s: Number, bytes_per_s: Number) -> Number:
    """The intensity at which compute and memory take equal time: peak over bandwidth.

    Source: Williams, Waterman, Patterson 2009 (Roofline). Check: 989.4e12 / 3.35e12 -> 295.3 FLOP/byte (H100).
    """
    return flop_per_s / bytes_per_s


def attainable_flop_per_s(intensity: Number, flop_per_s: Number, bytes_per_s: Number) -> Number:
    """min(peak, intensity x bandwidth). Source: Williams et al. 2009."""
    return minimum(flop_per_s, intensity * bytes_per_s)


def step_cache_credit(moved_bytes: Number, cache_bytes: Number) -> Number:
    """Bytes of a whole step that may still lie in the last-level caches from the step before.

    The caches' size while the step streams under 16 times it, else none (DESIGN 2a): a ceiling that forgets
    this is beaten by small models on cards with large caches. Check: step_cache_credit(100, 10) == 10.
    """
    return where(moved_bytes < CACHE_REUSE_LIMIT * cache_bytes, minimum(moved_bytes, cache_bytes), 0.0)


def kernel_cache_credit(moved_bytes: Number, cache_bytes: Number) -> Number:
    """Bytes of a lone kernel that may come from the last-level cache: min(bytes, cache)."""
    return minimum(moved_bytes, cache_bytes)


def largest(*seconds: Number) -> Number:
    """The largest of several times: each resource perfectly overlapped with the others."""
    result = seconds[0]
    for other in seconds[1:]:
        result = maximum(result, other)
    return result

"""Times of one resource each, and the roofline itself: pure functions of plain numbers or arrays."""

from __future__ import annotations

from rooflight.numeric import Number, maximum, minimum, where

# A step whose bytes are this many times the last-level caches keeps nothing useful in them between steps.
CACHE_REUSE_LIMIT = 16


def compute_s(flop: Number, flop_per_s: Number) -> Number:
    """Seconds the arithmetic takes at a peak. Check: flop 1978.8, flop_per_s 989.4 -> 2."""
    return flop / flop_per_s


def memory_s(moved_bytes: Number, bytes_per_s: Number) -> Number:
    """Seconds the bytes take at a bandwidth. Check: moved_bytes 140e9, bytes_per_s 3.35e12 -> 0.0418."""
    return moved_bytes / bytes_per_s


def launch_s(launches: Number, floor_s: Number) -> Number:
    """Seconds that launching takes if nothing else does: kernels x the smallest time seen for one.

    Check: launches 300, floor_s 1.25e-6 -> 375e-6.
    """
    return launches * floor_s


def ridge_flop_per_byte(flop_per_s: Number, bytes_per_s: Number) -> Number:
    """The intensity at which compute and memory take equal time: peak over bandwidth.

    Source: Williams, Waterman, Patterson 2009 (Roofline). Check: flop_per_s 989.4e12, bytes_per_s 3.35e12 -> 295.3.
    """
    return flop_per_s / bytes_per_s


def crossover_batch(*, ridge_flop_per_byte: Number, bits: Number) -> Number:
    """Tokens a step from which on a linear layer whose weights have `bits` bits is bound by 16-bit arithmetic.

    = ridge x bits / 16: a token does 2 FLOP for each weight, whose bits / 8 bytes are read once for all tokens.

    Holds for weight-only formats (W4A16); leaves out activations, attention, and the cost of unpacking.
    Check: ridge_flop_per_byte 295.3, bits 4.25 -> 78.44 (an H100). Check: ridge_flop_per_byte 153, bits 4.25 -> 40.64 (an A100).
    """
    return ridge_flop_per_byte * bits / 16


def attainable_flop_per_s(intensity: Number, flop_per_s: Number, bytes_per_s: Number) -> Number:
    """min(peak, intensity x bandwidth). Source: Williams et al. 2009.

    Check: intensity 295, flop_per_s 989.4e12, bytes_per_s 3.35e12 -> 988.25e12 (just below the ridge of an H100).
    """
    return minimum(flop_per_s, intensity * bytes_per_s)


def step_cache_credit(moved_bytes: Number, cache_bytes: Number) -> Number:
    """Bytes of a whole step that may still lie in the last-level caches from the step before.

    The caches' size while the step streams under 16 times it, else none (DESIGN 2a): a ceiling that forgets
    this is beaten by small models on cards with large caches. Check: moved_bytes 159, cache_bytes 10 -> 10.
    Check: moved_bytes 160, cache_bytes 10 -> 0.
    """
    return where(moved_bytes < CACHE_REUSE_LIMIT * cache_bytes, minimum(moved_bytes, cache_bytes), 0.0)


def kernel_cache_credit(moved_bytes: Number, cache_bytes: Number) -> Number:
    """Bytes of a lone kernel that may come from the last-level cache. Check: moved_bytes 7, cache_bytes 10 -> 7."""
    return minimum(moved_bytes, cache_bytes)


def group_bytes_per_s(*, bytes_per_s: Number, peer_bytes_per_s: Number, devices: Number) -> Number:
    """What a device sends to the others of a group, one way: a link to each of them, all its lanes at most.

    = min(bytes_per_s, (devices - 1) x peer_bytes_per_s)

    Holds for: switches (peer_bytes_per_s is all of it), and meshes, whose links to one peer cannot be pooled; of a
    torus it is the most there can be. Source: ml-engineering, network/README.md (MI300X: 64 GB/s to one, 448 to all).
    Check: bytes_per_s 448, peer_bytes_per_s 64, devices 2 -> 64. Check: bytes_per_s 448, peer_bytes_per_s 64, devices 8 -> 448.
    """
    return minimum(bytes_per_s, (devices - 1) * peer_bytes_per_s)


def largest(*seconds: Number) -> Number:
    """The largest of several times: each resource overlapped with the others. Check: largest(3, 7, 5) == 7."""
    result = seconds[0]
    for other in seconds[1:]:
        result = maximum(result, other)
    return result

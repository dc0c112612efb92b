"""What kernels take on one machine, measured on a grid of sizes: the calibration of `--engine torch`."""

from __future__ import annotations

import msgspec

# The axes of each kernel's grids, by the field of Tables.
AXES = {
    "gemm": ("tokens", "inputs", "outputs"),
    "decode": ("items", "group", "keys", "head_dim"),
    "prefill": ("heads", "new", "head_dim"),
    "elementwise": ("bytes",),
}
# Kernels without a product that are timed by name; what is none of them is like a copy.
PLAIN = ("norm", "inner_norm", "rope_cache", "act", "embedding", "copy")


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of one kernel at every combination of sizes.

    names       of the axes; points: the sizes along each, growing
    seconds     row by row: the last axis changes fastest
    """

    names: tuple[str, ...]
    points: tuple[tuple[float, ...], ...]
    seconds: tuple[float, ...]


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel timed at sizes between the points of its grid, to see how far off the grid is there.

    kernel      the field of Tables: gemm, decode or prefill
    """

    kernel: str
    format: str
    sizes: tuple[float, ...]
    seconds: float


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Grids by number format.

    gemm        seconds of a linear layer by tokens, inputs, outputs, its weights out of memory
    decode      seconds of attention of one query a sequence over its cache, by pairs of sequence and kv head, query
                heads that share one, keys, and elements of a head
    prefill     seconds of causal attention of a prompt, by pairs of sequence and query head, tokens, elements of a head
    elementwise seconds of kernels without a product by their operator's name, by bytes moved
    layer_s     what a layer takes beyond its kernels: what calls them
    expert_s    what sends rows to one routed expert and adds up what it made of them
    step_s      the choice of a token; sequence_s: more of it for each sequence
    tried       kernels at other sizes than the points'
    spread      how far runs of one kernel differ, as a share of their median, in the median of kernels
    """

    gemm: dict[str, Grid] = {}
    decode: dict[str, Grid] = {}
    prefill: dict[str, Grid] = {}
    elementwise: dict[str, dict[str, Grid]] = {}
    layer_s: dict[str, float] = {}
    expert_s: dict[str, float] = {}
    step_s: float = 0.0
    sequence_s: float = 0.0
    tried: tuple[Tried, ...] = ()
    spread: float = 0.0

    @property
    def formats(self) -> tuple[str, ...]:
        """Those in which a whole layer was timed."""
        return tuple(name for name in self.gemm if name in self.decode and name in self.elementwise)

    def among(self, form: str) -> Tables:
        """Those of a step whose activations are in one format: what is no product is in that alone."""
        return msgspec.structs.replace(
            self,
            elementwise={form: self.elementwise[form]} if form in self.elementwise else {},
            layer_s={form: self.layer_s[form]} if form in self.layer_s else {},
            expert_s={form: self.expert_s[form]} if form in self.expert_s else {},
        )

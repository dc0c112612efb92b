"""Work: what an operator asks of a machine, before any machine is named. It adds up."""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """FLOP, bytes through device memory (each byte once; on-chip reuse is no traffic), link bytes, launches.

    One device, in base units; every field may be an array. One multiply-add is 2 FLOP.

    weight_bytes        weights read; of routed experts, those a step touches in expectation
    avoidable_bytes     of weight_bytes, what correlated routing may not touch (a ceiling leaves it out)
    kv_read_bytes       KV cache (or recurrent state) read
    kv_write_bytes      the same written
    activation_bytes    activations read and written
    link_bytes          sent by one device, one way, by whatever link
    network_bytes       of them, those that leave the domain of the link
    launches            kernels
    """

    flop: Number = 0
    weight_bytes: Number = 0
    avoidable_bytes: Number = 0
    kv_read_bytes: Number = 0
    kv_write_bytes: Number = 0
    activation_bytes: Number = 0
    link_bytes: Number = 0
    network_bytes: Number = 0
    launches: Number = 0

    @property
    def moved_bytes(self) -> Number:
        """All bytes through device memory."""
        return self.weight_bytes + self.kv_read_bytes + self.kv_write_bytes + self.activation_bytes

    def __add__(self, other: Work) -> Work:
        return Work(
            flop=self.flop + other.flop,
            weight_bytes=self.weight_bytes + other.weight_bytes,
            avoidable_bytes=self.avoidable_bytes + other.avoidable_bytes,
            kv_read_bytes=self.kv_read_bytes + other.kv_read_bytes,
            kv_write_bytes=self.kv_write_bytes + other.kv_write_bytes,
            activation_bytes=self.activation_bytes + other.activation_bytes,
            link_bytes=self.link_bytes + other.link_bytes,
            network_bytes=self.network_bytes + other.network_bytes,
            launches=self.launches + other.launches,
        )

    def __mul__(self, times: Number) -> Work:
        """The same work `times` over."""
        return Work(
            flop=self.flop * times,
            weight_bytes=self.weight_bytes * times,
            avoidable_bytes=self.avoidable_bytes * times,
            kv_read_bytes=self.kv_read_bytes * times,
            kv_write_bytes=self.kv_write_bytes * times,
            activation_bytes=self.activation_bytes * times,
            link_bytes=self.link_bytes * times,
            network_bytes=self.network_bytes * times,
            launches=self.launches * times,
        )


class Gemm(msgspec.Struct, frozen=True, kw_only=True):
    """A matrix product: tokens rows of `inputs` each, by each of `matrices` like matrices (experts), one kernel.

    held, chance        experts on the device, and the share of tokens that choose a given one, on the mean
    stored              storage format of the matrices
    quantised_bytes     activations read wide and written narrow before it, by a kernel of its own; 0 where none is
    """

    tokens: Number
    inputs: Number
    outputs: Number
    matrices: Number = 1
    held: Number = 1
    chance: float = 1.0
    stored: str = "bf16"
    quantised_bytes: Number = 0


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """Attention of `sequences` sequences with `new` queries each over `keys` positions; heads are one device's.

    decoding    few queries a sequence over a cache (decode, verify); False: a prompt or a chunk of one
    latent      all heads read the one latent cache of MLA; False: each group of them its own head's keys and values
    """

    decoding: bool
    sequences: Number
    new: Number
    keys: Number
    heads: Number
    kv_heads: Number
    head_dim: Number
    latent: bool = False


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A collective among `devices`: `payload_bytes` is the tensor each of them holds (or sends out).

    local, domains      so many of them in each of so many domains of the link
    once_bytes          of an all_to_all, what a device sends across if a domain gets each row once
    least_across_bytes  what crosses domains however the devices are placed; None: as they are
    """

    what: str
    payload_bytes: Number
    devices: float
    local: float
    domains: int = 1
    once_bytes: Number = 0
    least_across_bytes: Number | None = None


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """An element-wise kernel over `tokens` rows: elements of each that are read and written."""

    tokens: Number
    read: float
    written: float


Shape = Gemm | Scores | Exchange | Rows


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """`count` equal kernels (or fused groups of them) of a step.

    kind        "linear", "attention", "experts", "recurrent", "elementwise", "collective"
    compute     number format whose peak bounds its FLOP
    work        of one of them
    shape       its sizes, which an expected time and whoever runs it alone need; None where it has none
    """

    name: str
    kind: str
    count: int
    compute: str
    work: Work
    shape: Shape | None = None


# What tells an operator from others, what its layers are called, and the operator.
Row = tuple[object, str, Operator]

"""What a step takes on a machine: ceilings by resource, roofline time, and what binds."""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number, largest_of
from rooflight.values.work import Operator, Work

# In the order in which `bound` counts them.
BOUNDS = ("compute", "memory", "link", "launch")
# With what a host beside the devices adds.
BINDING = (*BOUNDS, "host_memory", "host_link")


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Expected seconds of a pass by what they are, before an engine takes its shares; may hold arrays.

    body        kernels, beyond their floors; floors: of all kernels; fp4_floors: of those, of products in FP4 that
                are not routed experts', beside each of which another kernel narrows the inputs
    link        collectives
    experts     bodies of the routed experts' products
    host        the host's memory and the link to it, at the share of their rates that an engine gets; host_rated: at
                their rates; host_low, host_high: the ends of its interval
    unit_bytes  bytes (no seconds) that each compute unit moves
    unshared    what decode attention's reads of the cache would take more at memory's rate, were it read once for each
                query head and not once for those that share a head's keys and values; nothing of few sequences
    repeated    decode attention's reads of the cache at memory's rate, once for each query head
    launches    kernels (no seconds) as a framework launches them one by one, those of each routed expert by themselves
    """

    body: Number = 0.0
    floors: Number = 0.0
    fp4_floors: Number = 0.0
    link: Number = 0.0
    experts: Number = 0.0
    unit_bytes: Number = 0.0
    unshared: Number = 0.0
    repeated: Number = 0.0
    launches: Number = 0.0
    host: Number = 0.0
    host_rated: Number = 0.0
    host_low: Number = 0.0
    host_high: Number = 0.0


class Terms(msgspec.Struct, frozen=True):
    """Seconds of one run of an operator by resource, in the order of BOUNDS, at datasheet rates."""

    compute: Number
    memory: Number
    link: Number
    launch: Number
    on_host: bool = False

    @property
    def largest(self) -> Number:
        """Index in BOUNDS."""
        return largest_of(self.compute, self.memory, self.link, self.launch)[1]


class OperatorTime(msgspec.Struct, frozen=True, kw_only=True):
    """An operator on a machine: time_s of all its `count` runs, the terms of one, and step_s of all operators."""

    operator: Operator
    time_s: Number
    terms: Terms
    step_s: Number

    @property
    def bound(self) -> Number:
        """Its largest term, as an index in BINDING."""
        largest = self.terms.largest
        return BINDING.index("host_memory") if self.terms.on_host and largest == 1 else largest

    @property
    def share(self) -> Number:
        """Of the step's roofline time."""
        return self.time_s / self.step_s


class StepTime(msgspec.Struct, frozen=True, kw_only=True):
    """Times of one step; every number may be an array. `bound` indexes BINDING.

    work            of one device and one pass
    streamed_bytes  what a ceiling counts of its bytes, before what may lie in the caches from the step before
    compute_s, memory_s, link_s, launch_s   what each resource alone takes at its ceiling
    network_s       of link_s, what leaves the domain of a link takes
    ceiling_s       the largest of the first three
    roofline_s      the sum over operators of each one's largest term, launch floors included
    timed           (operator, seconds of all its runs in one pass, terms of one), in the order of the pass
    fill            how many times the roofline time of a pass the step takes; overlap: what share of a pass's compute,
                    activations and link traffic its ceilings have
    parts           what is expected of one pass; None where only bounds were asked for
    host_work       of the host, for one replica; host_memory_s, host_link_s: what its memory and the link to it take
    hosted_bytes, own_compute_s     whichever way it is run, what leaves the host's memory at least, and what the
                    devices' arithmetic takes at least
    """

    work: Work
    streamed_bytes: Number
    compute_s: Number
    memory_s: Number
    link_s: Number
    network_s: Number = 0.0
    launch_s: Number
    ceiling_s: Number
    roofline_s: Number
    bound: Number
    timed: tuple[tuple[Operator, Number, Terms], ...]
    fill: Number = 1
    overlap: Number = 1
    parts: Parts | None = None
    host_work: Work | None = None
    host_memory_s: Number | None = None
    host_link_s: Number | None = None
    hosted_bytes: Number | None = None
    own_compute_s: Number | None = None

    @property
    def terms(self) -> dict[str, Number]:
        """Seconds by resource, in the order of BINDING; the host's only where something lies there."""
        named = (
            self.compute_s, self.memory_s, self.link_s, self.launch_s, self.host_memory_s, self.host_link_s
        )  # fmt: skip
        return {name: seconds for name, seconds in zip(BINDING, named, strict=True) if seconds is not None}

    @property
    def operators(self) -> tuple[OperatorTime, ...]:
        """Each operator's part of the step."""
        return tuple(
            OperatorTime(operator=op, time_s=seconds * self.fill, terms=terms, step_s=self.roofline_s)
            for op, seconds, terms in self.timed
        )

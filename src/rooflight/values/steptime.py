"""What a step takes on a machine: ceilings by resource, roofline time, and what binds."""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number
from rooflight.values.work import Operator, Work

# In the order in which `bound` counts them.
BOUNDS = ("compute", "memory", "link", "launch")


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Expected seconds of a pass by what they are, before an engine takes its shares; may hold arrays.

    body        kernels, beyond their floors; floors: of all kernels
    link        collectives
    experts     bodies of the routed experts' products
    unit_bytes  bytes (no seconds) that each compute unit moves
    """

    body: Number = 0.0
    floors: Number = 0.0
    link: Number = 0.0
    experts: Number = 0.0
    unit_bytes: Number = 0.0


class OperatorTime(msgspec.Struct, frozen=True, kw_only=True):
    """An operator on a machine: time_s of all its `count` runs, its largest term, its share of the step."""

    operator: Operator
    time_s: Number
    bound: Number
    share: Number


class StepTime(msgspec.Struct, frozen=True, kw_only=True):
    """Times of one step; every number may be an array. `bound` indexes BOUNDS.

    work            of one device and one pass
    streamed_bytes  what a ceiling counts of its bytes, before what may lie in the caches from the step before
    compute_s, memory_s, link_s, launch_s   what each resource alone takes at its ceiling
    network_s       of link_s, what leaves the domain of a link takes
    ceiling_s       the largest of the first three
    roofline_s      the sum over operators of each one's largest term, launch floors included
    operators       in the order of the pass
    parts           what is expected of one pass; None where only bounds were asked for
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
    operators: tuple[OperatorTime, ...]
    parts: Parts | None = None

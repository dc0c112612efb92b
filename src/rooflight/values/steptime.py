"""What a step takes on a machine: ceilings by resource, roofline time, and what binds."""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number
from rooflight.values.work import Operator, Work

# In the order in which `bound` counts them.
BOUNDS = ("compute", "memory", "link", "launch")


class OperatorTime(msgspec.Struct, frozen=True, kw_only=True):
    """An operator on a machine: time_s of all its `count` runs, its largest term, its share of the step."""

    operator: Operator
    time_s: Number
    bound: Number
    share: Number


class StepTime(msgspec.Struct, frozen=True, kw_only=True):
    """Times of one step; every number may be an array. `bound` indexes BOUNDS.

    work            of one device and one pass
    compute_s, memory_s, link_s, launch_s   what each resource alone takes at its ceiling
    ceiling_s       the largest of the first three
    roofline_s      the sum over operators of each one's largest term, launch floors included
    operators       in the order of the pass
    """

    work: Work
    compute_s: Number
    memory_s: Number
    link_s: Number
    launch_s: Number
    ceiling_s: Number
    roofline_s: Number
    bound: Number
    operators: tuple[OperatorTime, ...]

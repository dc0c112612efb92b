"""The device's busy time by the roof that its kernels stand under."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rooflight.answers.diagnose.profiled.roof import Placed
from rooflight.values.diagnosis import KernelRow
from rooflight.values.recorded import Launched, Traced


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Kernels of one operator under one roof.

    bound       memory, compute, link or launch; None: not known
    share       of the busy time; of_roof: what they reach of that roof, where it is known for half of their time
    """

    bound: str | None
    operator: str
    share: float
    of_roof: float | None = None


# What is known of so much of a part's time is said of the part.
_HALF = 0.5


def parts(ones: Sequence[Placed], found: Sequence[KernelRow], short: Sequence[Launched]) -> tuple[Part, ...]:
    """Most time first; together they are all of the busy time. short: kernels that are mostly their launch."""
    total = sum(one.kernel.total_s for one in ones)
    if not total:
        return ()
    modelled = {row.operator: row for row in found if row.counted == "model"}
    launched = {id(kernel) for kernel in short}
    groups: dict[tuple[str | None, str], list[Placed]] = {}
    for one in ones:
        operator = one.kernel.operator
        bound = modelled[operator].bound if operator in modelled else None
        bound = bound or one.bound
        bound = "launch" if id(one.kernel) in launched and operator != "communication" else bound
        groups.setdefault((bound, operator), []).append(one)
    some = [
        Part(
            bound=bound, operator=operator, share=sum(one.kernel.total_s for one in group) / total,
            of_roof=modelled[operator].of_roof if operator in modelled else _reached(group),
        )
        for (bound, operator), group in groups.items()
    ]  # fmt: skip
    return tuple(sorted(some, key=lambda part: -part.share))


def _reached(group: Sequence[Placed]) -> float | None:
    """Share of the roof, of those whose need is known."""
    total = sum(one.kernel.total_s for one in group)
    known = [one for one in group if one.needed_s is not None]
    covered = sum(one.kernel.total_s for one in known)
    if not covered or covered < _HALF * total:
        return None
    return sum(one.needed_s or 0.0 for one in known) / covered


def shares(some: Sequence[Part], lead: Traced) -> tuple[tuple[str, float], ...]:
    """Shares of the busy time by what binds. Communication that other kernels hide binds nothing."""
    sums: dict[str, float] = {}
    for part in some:
        if part.bound is not None:
            sums[part.bound] = sums.get(part.bound, 0.0) + part.share
    talk = sums.pop("link", 0.0)
    exposed = sum(device.exposed_s for device in lead.devices)
    busy = sum(device.busy_s for device in lead.devices)
    # kernels one by one hide nothing
    link = talk if not lead.timeline else exposed / busy if busy else 0.0
    if some and link:
        sums["link"] = link
    return tuple(sorted(sums.items(), key=lambda pair: -pair[1]))

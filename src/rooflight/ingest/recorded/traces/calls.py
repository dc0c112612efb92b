"""What calls of the host do, by their names: CUDA's, HIP's and Level Zero's, of runtimes and drivers."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

_LAUNCH = re.compile(r"^(?:cuda|cu|hip|ze|ur)\w*Launch(?!HostFunc)", re.IGNORECASE)
_GRAPH = re.compile(r"Graph\w*Launch|LaunchGraph")
_STARTS = re.compile(r"Launch|Memcpy|Memset")
# Calls that return when the device is done: hipMemcpyWithStream waits for its stream, the plain copies do too.
_WAITS = re.compile(
    r"(?:Synchronize|^(?:cuda|hip)Memcpy|^hipMemcpyWithStream|^cuMemcpy[DH]to[DH])(?:_v\d+|_ptsz|_ptds|_spt)*$"
)


class Call(NamedTuple):
    """launches kernels, all of a graph (a launch too), starts anything on a device, waits for it."""

    launches: bool
    graph: bool
    starts: bool
    waits: bool


@functools.lru_cache(maxsize=1 << 12)
def call(name: str) -> Call:
    """What a call does: call("cudaGraphLaunch_v10000").graph is True."""
    name = name[:200]
    launches = _LAUNCH.search(name) is not None
    return Call(
        launches=launches,
        graph=launches and _GRAPH.search(name) is not None,
        starts=_STARTS.search(name) is not None,
        waits=_WAITS.search(name) is not None,
    )


class Calls:
    """Calls of a profile together, in its own unit of time."""

    def __init__(self) -> None:
        self.launches = self.graph_launches = 0
        self.launching = self.waiting = 0.0

    def add(self, name: str, length: float, count: int = 1) -> Call:
        """Some calls of one name, which took so long together."""
        kind = call(name)
        if kind.launches:
            self.launches += count
            self.launching += length
            self.graph_launches += count * kind.graph
        if kind.waits:
            self.waiting += length
        return kind

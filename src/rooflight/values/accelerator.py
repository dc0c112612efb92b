"""One device as the operating system sees it, and the links that join it to its like."""

from __future__ import annotations

import msgspec

from rooflight.values.measured import Measured
from rooflight.values.note import Note
from rooflight.values.shown import Displayed


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """How devices of one kind reach each other.

    bytes_per_s     one way, one device, all its lanes together
    peer_bytes_per_s    of that, what reaches one peer; None: all of it. A mesh or a torus is no switch
    domain          devices the link joins; beyond it only a network is left
    reduces         the switch adds up in flight (NVLink SHARP), so an all-reduce can beat the ring bound
    """

    name: str
    bytes_per_s: float
    peer_bytes_per_s: float | None = None
    domain: int | None = None
    reduces: bool = False


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A level of memory beside the device's own, whose rate is known: a cache, a link to the host, the host's memory.

    place   "cache", "link" or "host"
    bytes   it holds, on all of the device; None: not known, or a link
    shared  all of the device reaches all of it; False: each compute unit a part of its own
    kind    "measured" (there is a run), "datasheet" (a vendor's figure), "derived" (units x bytes a cycle x clock)
    """

    name: str
    place: str
    bytes_per_s: float
    bytes: float | None = None
    shared: bool = True
    kind: str = "datasheet"


class LevelRoof(Level, frozen=True, kw_only=True):
    """A level and its ridge points: dense peak over its rate, by number format."""

    ridge_flop_per_byte: dict[str, float]


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """What joins machines: adapters of the reference node, per device, one way.

    fastest_bytes_per_s     of any node that is known for the card: a ceiling without a stated network takes that
    assumed                 no source names a node of this card: every card's default
    """

    bytes_per_s: float
    fastest_bytes_per_s: float
    assumed: bool = False
    source: str = ""


class Assumed(msgspec.Struct, frozen=True, kw_only=True):
    """What rooflight assumes for a device family where no fact is published. Never mixed into facts.

    peak_margin             how far real clocks may carry a card above its rated peak (a ceiling only)
    last_level_cache_bytes  used where the entry has no figure
    launch_graph_s          smallest time seen for one kernel inside a CUDA/HIP graph
    launch_eager_s          the same, launched one by one
    engine_reserve_bytes    context, workspaces, communication buffers of an engine, per device
    """

    family: str
    peak_margin: float
    last_level_cache_bytes: float
    launch_graph_s: float
    launch_eager_s: float
    engine_reserve_bytes: float
    source: str


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One published number as printed, with where it was read. `where`, `note`, `dtype` as needed.

    level   which cache a rate or a size of one is of
    doubt   why this figure is doubted, where another one for the same thing stands beside it
    """

    what: str
    value: float | str | bool
    unit: str = ""
    dtype: str | None = None
    level: str | None = None
    kind: str | None = None
    confidence: str = "B"
    source: str = ""
    where: str = ""
    read: str = ""
    note: str = ""
    doubt: str = ""


class Accelerator(Displayed, msgspec.Struct, frozen=True, kw_only=True):
    """A device and what it can do per second. Rates are dense, per device, in base units.

    peak_flop_per_s         by number format, datasheet, fp32 accumulation; of figures in conflict the slowest. A vector
                            unit's where no matrix unit's is known, nor one hidden by unrated_matrix_units
    fast_flop_per_s         by number format: the highest dense rate of any accumulator, clock or source that is known
    fast_memory_bytes_per_s the fastest of figures in conflict; None where there is no conflict
    unrated_matrix_units    it multiplies on units of their own whose rate no source gives; the vector units' is no
                            stand-in for it
    memory_bytes            what the driver reports; program_bytes: what a program is given of it; label_bytes: the
                            label in full GiB, which nothing exceeds (catalog/totals.py)
    unrated_link            a link that exists or can be fitted, but whose rate no source gives; PCIe is no
                            stand-in for it
    pcie_peer_to_peer       whether devices reach each other over PCIe without the host's memory; None: not known
    cpu_link_bytes_per_s    chip-to-chip link to its CPU, one way, where that is not PCIe
    cpu_link_name           what that link is called
    host_memory_bytes_per_s memory of the CPU on the same board, of a superchip
    caches                  those whose rate is known; no time is made of them: they are roofs of `levels` alone
    node_devices            devices a machine holds, as far as PCIe joins them
    measured                how it was measured, where it was; rates are then medians, the fast ones the best seen
    network                 what joins machines; None in an entry made by hand: nothing is known of one
    joined                  the devices that this one stands for, where they are of several kinds; none: it is itself
    """

    brief = ("id", "name", "memory_bytes", "memory_bytes_per_s")

    id: str
    name: str
    vendor: str
    family: str
    kind: str
    peak_flop_per_s: dict[str, float]
    fast_flop_per_s: dict[str, float] = {}
    memory_bytes_per_s: float | None = None
    fast_memory_bytes_per_s: float | None = None
    unrated_matrix_units: bool = False
    memory_bytes: float | None = None
    program_bytes: float | None = None
    label_bytes: float | None = None
    last_level_cache_bytes: float | None = None
    compute_units: float | None = None
    link: Link | None = None
    unrated_link: str = ""
    pcie_bytes_per_s: float | None = None
    pcie_peer_to_peer: bool | None = None
    cpu_link_bytes_per_s: float | None = None
    cpu_link_name: str = ""
    host_memory_bytes_per_s: float | None = None
    caches: tuple[Level, ...] = ()
    node_devices: int | None = None
    network: Network | None = None
    tdp_w: float | None = None
    release_year: int | None = None
    confidence: str = "B"
    assumed: Assumed
    facts: tuple[Fact, ...] = ()
    notes: str = ""
    origin: str = ""
    assumptions: tuple[Note, ...] = ()
    measured: Measured | None = None
    joined: tuple[Accelerator, ...] = ()

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels of memory beside its own whose rate is known, the fastest first. A processor is its own host."""
        seen = "measured" if self.measured is not None and self.measured.of("host-link") else "datasheet"
        beyond = (
            ("PCIe", "link", seen, self.pcie_bytes_per_s),
            (self.cpu_link_name or "link to the CPU", "link", "datasheet", self.cpu_link_bytes_per_s),
            ("host memory", "host", "datasheet", self.host_memory_bytes_per_s),
        )
        found = [
            Level(name=name, place=place, bytes_per_s=rate, kind=kind)
            for name, place, kind, rate in beyond
            if rate is not None and self.kind != "cpu"
        ]
        return tuple(sorted((*self.caches, *found), key=lambda level: -level.bytes_per_s))

    @property
    def given_bytes(self) -> float | None:
        """What a program is given; the driver's total where no more is known."""
        return self.memory_bytes if self.program_bytes is None else self.program_bytes

    @property
    def most_bytes(self) -> float | None:
        """What nothing on it exceeds."""
        return self.memory_bytes if self.label_bytes is None else self.label_bytes


class WhatIf(msgspec.Struct, frozen=True):
    """Accelerators with other rates, in the place of their name: WhatIf("4xh100-sxm", bandwidth_times=1.5).

    on      as anywhere else: a name with a count in front, a file, or an Accelerator
    bandwidth_times, peak_times     of the memory bandwidth and of every peak that it has, from 0.1 to 10
    """

    on: str | Accelerator
    bandwidth_times: float = 1.0
    peak_times: float = 1.0


def devices_named(accelerator_id: str, count: float) -> str:
    """So many devices by name: 2 x h100-sxm; a name with + in it says itself how many there are of each kind."""
    several = "+" in accelerator_id and all(accelerator_id.split("+"))
    return accelerator_id if count == 1 or several else f"{count:g} x {accelerator_id}"

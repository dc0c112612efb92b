"""`rooflight.measure`: this machine timed, beside the datasheet of the same device."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from rooflight import __version__
from rooflight.errors import UnknownName
from rooflight.values.accelerator import Accelerator
from rooflight.values.machine import Machine

# What systems and drivers write around a product's name.
_AROUND = re.compile(r"\((?:r|tm)\)|\b\d+-core processor|\bprocessor\b|\bcpu\b.*|\bgraphics\b|data center gpu|\boam\b|"
                     r"platinum|gold|silver", re.IGNORECASE)  # fmt: skip
# How far a driver's total may be from the label of the same card.
_SAME_MEMORY = 0.1
# The catalog's kind of a processor and its GPU on one memory.
_WITH_ITS_HOST = "apu"


def measure(
    device: str | None = None,
    *,
    threads: int | None = None,
    quick: bool = False,
    command: str = "rooflight.measure()",
    progress: Callable[[str, float], None] = lambda _name, _share: None,
) -> Machine:
    """This machine's roofs: memory, caches, arithmetic by number format, the cost of a call, links.

    device      cpu, cuda, cuda:1, xpu, mps; None: the best there is
    threads     on a CPU; None: one a core
    quick       under 20 seconds, with fewer runs; a full measurement takes up to three minutes
    command     what is kept as the command that measured
    progress    called with the part under way, and the share of it that is done

    Raises BadInput for a device or threads that are not there, MissingExtra for another device than the CPU without
    torch. Ctrl-C raises Interrupted (a KeyboardInterrupt), whose `found` is what was done until then.
    """
    from rooflight.probe.machine import Interrupted
    from rooflight.probe.machine import measure as measured

    try:
        found = measured(
            device, threads=threads, quick=quick, command=command, version=__version__, progress=progress
        )  # fmt: skip
    except Interrupted as end:
        raise Interrupted(_beside(end.found)) from None
    return _beside(found)


def _beside(machine: Machine) -> Machine:
    """The machine with its datasheet, where the catalog has it."""
    card = datasheet(machine)
    if card is None:
        return machine
    return msgspec.structs.replace(
        machine, datasheet=card, vendor=card.vendor, family=card.family, kind=card.kind,
        measured=msgspec.structs.replace(machine.measured, datasheet=card.id),
    )  # fmt: skip


def datasheet(machine: Machine) -> Accelerator | None:
    """The catalog's entry of the device; None where it has none, or a part of the device alone was measured."""
    from rooflight.catalog.accelerators import catalogued

    for name in _spellings(machine.measured.device):
        try:
            card = catalogued(name)
        except UnknownName:
            continue
        return card if _is_whole(machine, card) else None
    return None


def _spellings(name: str) -> Iterator[str]:
    yield name
    plain = " ".join(_AROUND.sub(" ", name.replace("+", "plus")).split())
    yield plain
    yield re.sub(r"(?i)\bsxm\d.*", "", plain).strip()
    # a processor goes by its line as well: EPYC 9755 is epyc-9755, AMD or not
    yield " ".join(plain.split()[1:])


def _is_whole(machine: Machine, card: Accelerator) -> bool:
    """A virtual machine's share of a socket, or of a card, has no datasheet."""
    if machine.kind == "cpu":
        return card.kind == "cpu" and machine.compute_units is not None and machine.compute_units == card.compute_units
    if card.kind == _WITH_ITS_HOST:
        return True  # sold with memory of several sizes
    own, label = machine.memory_bytes, card.memory_bytes
    return card.kind == "gpu" and (own is None or label is None or abs(own / label - 1) <= _SAME_MEMORY)

"""Whether the machine that `this` means is the one that asks: its file may have come with a folder that hosts share."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import msgspec

from rooflight.values.note import Note

if TYPE_CHECKING:
    from rooflight.values.accelerator import Accelerator


def told(card: Accelerator) -> Accelerator:
    """The accelerator, with a note where it is the last measurement of this host but of another device than it has."""
    if card.measured is None or not _is_this(card):
        return card
    there = _devices(card.kind)
    if not there or card.measured.device in there:
        return card
    note = Note(key="elsewhere", value=(card.measured.device, there), why=card.id)
    return msgspec.structs.replace(card, assumptions=(note, *card.assumptions))


def _is_this(card: Accelerator) -> bool:
    from rooflight.catalog.this import this_file

    with contextlib.suppress(OSError, RuntimeError):  # no home folder
        return card.origin == str(this_file())
    return False


def _devices(kind: str) -> tuple[str, ...]:
    """This host's devices by name; none where it cannot be told: cards are known to torch, which takes long to load."""
    from rooflight.probe import host

    if "torch" in sys.modules:
        from rooflight.probe.device import devices

        with contextlib.suppress(RuntimeError):  # a driver that does not answer
            return tuple(dict.fromkeys(one.name for one in devices()))
    return (host.processor(),) if kind == "cpu" else ()

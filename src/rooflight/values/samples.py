"""Stored measurements as they are shown: what a file holds, and two files side by side."""

from __future__ import annotations

import msgspec

from rooflight.values.sample import Sample, Timing
from rooflight.values.shown import Part, Shown

SCHEMA = "rooflight.samples/1"


class Lost(msgspec.Struct, frozen=True):
    """A line that is no sample, counted from 1."""

    line: int
    why: str


class Stored(Part, msgspec.Struct, frozen=True, kw_only=True):
    """Samples of a file, in its order.

    lost    lines that are none; blank ones do not count
    notes   what was odd about the file
    """

    brief = ("source", "samples")

    source: str
    samples: tuple[Sample, ...]
    lost: tuple[Lost, ...] = ()
    notes: tuple[str, ...] = ()


class Kind(Part, msgspec.Struct, frozen=True, kw_only=True):
    """What was measured several times, perhaps in both files: a sample of it, and its times together.

    first, second   times in each file; None where it is not there, or has none
    samples         how many there are of it, in both files
    ratio           how many times as fast it is in the second; None unless it is in both
    differs         whether the intervals of runs lie apart; None where there is nothing to tell it by
    """

    brief = ("sample", "first", "second", "ratio", "differs")

    sample: Sample
    samples: int
    first: Timing | None = None
    second: Timing | None = None
    ratio: float | None = None
    differs: bool | None = None


class Samples(Shown, msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """What rooflight.samples answers: one file, or two.

    kinds   samples of one thing together, in the order of their first
    """

    brief = ("files", "kinds")

    answer: str = ""
    files: tuple[Stored, ...]
    kinds: tuple[Kind, ...]

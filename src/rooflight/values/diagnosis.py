"""What recorded files say of the ceiling that binds: the verdict, its evidence, and what comes next."""

from __future__ import annotations

from typing import Literal

import msgspec

from rooflight.values.recorded import Measurements, Record, Stated
from rooflight.values.sample import Sample
from rooflight.values.shown import Part, Shown

SCHEMA = "rooflight.diagnosis/1"
Bound = Literal[
    "memory", "compute", "launch", "link", "host_memory", "capacity", "starved", "queue", "throttled", "idle"
]
Confidence = Literal["high", "medium", "low"]
# Which kind of analysis a finding comes from; each has a module of its name in answers.diagnose and words.diagnosis.
Analysis = Literal["regimes", "kernels", "benchmarks", "fits", "memory"]


class Evidence(Part, msgspec.Struct, frozen=True, kw_only=True):
    """One value and whether it speaks for the verdict. unit: "" a plain number, "share" of 0 to 1, else a base unit."""

    brief = ("what", "value", "unit", "supports")

    what: str
    value: float | None
    unit: str = ""
    supports: bool = True


class Next(Part, msgspec.Struct, frozen=True, kw_only=True):
    """What to do next: in plain words, the command that does it or records what is missing, the gain it promises.

    gain    times as fast (or as much), None: not known
    """

    brief = ("what", "gain")

    what: str
    command: str | None = None
    gain: float | None = None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A finding in words, as `words.diagnosis` makes it: one sentence, evidence, what comes next."""

    answer: str
    evidence: tuple[Evidence, ...] = ()
    next: tuple[Next, ...] = ()
    notes: tuple[str, ...] = ()


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What an analysis found: the base of each analysis's own. bound None: it cannot tell, or nothing binds.

    cannot_tell     the records do not say which ceiling binds
    """

    bound: Bound | None = None
    confidence: Confidence = "low"
    cannot_tell: bool = False


class Regime(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table of regimes: one subject in one time, what bound it, and the values that say so."""

    brief = ("subject", "bound", "start")

    subject: str
    start: str | None = None
    seconds: float | None = None
    bound: Bound | None = None
    values: dict[str, float] = {}


class KernelRow(Part, msgspec.Struct, frozen=True, kw_only=True):
    """Kernels of one operator together, under the roof; None: not known without shapes, counters or a machine.

    share       of the device's busy time; flop, bytes: of all calls together
    bound       what its roof is made of; of_roof: share of what that roof allows
    counted     "counters", "shapes" or "model": where flop and bytes are from
    """

    brief = ("operator", "calls", "total_s", "of_roof")

    operator: str
    calls: int
    total_s: float
    share: float
    flop: float | None = None
    bytes: float | None = None
    flop_per_s: float | None = None
    bytes_per_s: float | None = None
    intensity_flop_per_byte: float | None = None
    bound: str | None = None
    of_roof: float | None = None
    counted: str | None = None
    format: str | None = None


class Source(Part, msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read. samples: how many of the answer's are its own."""

    brief = ("file", "format")

    file: str
    format: str
    samples: int = 0
    tool: str = ""
    version: str = ""


class Diagnosis(Shown, msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """What rooflight.diagnose answers.

    bound           None: it cannot be told from this, or nothing binds (confidence says how sure that is)
    cannot_tell     true: the answer says what to record instead (exit status 1)
    stated, measurements    what the files say of how it ran and of what came out, where they do not contradict
                    each other; recorded: of each run alone
    regimes, kernels    tables, in the order of time and of time taken
    findings        what the other analyses say, one sentence each
    model, accelerator  under whose roof it was put, None: none was named
    """

    brief = ("answer", "bound", "confidence")

    answer: str = ""
    bound: Bound | None = None
    confidence: Confidence = "low"
    cannot_tell: bool = False
    evidence: tuple[Evidence, ...] = ()
    stated: Stated = Stated()
    measurements: Measurements = Measurements()
    recorded: tuple[Record, ...] = ()
    regimes: tuple[Regime, ...] = ()
    kernels: tuple[KernelRow, ...] = ()
    findings: tuple[str, ...] = ()
    next: tuple[Next, ...] = ()
    sources: tuple[Source, ...] = ()
    samples: tuple[Sample, ...] = ()
    notes: tuple[str, ...] = ()
    model: str | None = None
    accelerator: str | None = None
    count: int | None = None

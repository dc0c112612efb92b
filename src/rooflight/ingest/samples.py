"""Samples as JSON lines: damaged lines are said by their number; a killed process loses one at most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from rooflight.errors import BadConfig
from rooflight.files import append_lines, name_of, opened
from rooflight.ingest.lines import lines
from rooflight.ingest.packed import DAMAGED, unpacked
from rooflight.values.sample import SCHEMA, Sample, Timing
from rooflight.values.samples import Lost, Stored

WANT = f"a file of JSON lines, each a {SCHEMA} as `rooflight measure` writes it, gzip or not"
_LONGEST_LINE = 1 << 20
_DECODER = msgspec.json.Decoder(Sample)


def append(path: str | Path, samples: Iterable[Sample]) -> int:
    """Add samples to a file, made where there is none, and say how many. Raises BadInput where it cannot be written."""
    return append_lines(path, (msgspec.json.encode(one).decode() for one in samples))


def read_samples(path: str | Path) -> Stored:
    """The samples of a file ("-": standard input).

    Raises BadInput for a file that cannot be read, BadConfig for one without any sample.
    """
    name = name_of(path)
    notes: list[str] = []
    found: list[Sample] = []
    lost: list[Lost] = []
    try:
        with unpacked(opened(path, WANT)) as file:
            _sort(_each(lines(file, notes, longest=_LONGEST_LINE)), found, lost)
    except DAMAGED as error:
        if not found:
            raise BadConfig(f"{name} cannot be read", where=name, got=str(error)[:200], want=WANT) from None
        notes.append(f"{name} cannot be read to its end: {str(error)[:200]}")
    return _stored(name, found, lost, notes)


def samples_in(text: str, name: str) -> Stored:
    """The samples of a text that somebody sent; name: what a message calls it. Raises BadConfig for one without any."""
    found: list[Sample] = []
    lost: list[Lost] = []
    _sort(_each((number, line, None) for number, line in enumerate(text.split("\n"), 1)), found, lost)
    return _stored(name, found, lost, [])


def _sort(each: Iterable[tuple[int, Sample | str]], found: list[Sample], lost: list[Lost]) -> None:
    for line, one in each:
        if isinstance(one, Sample):
            found.append(one)
        else:
            lost.append(Lost(line, one))


def _stored(name: str, found: list[Sample], lost: list[Lost], notes: list[str]) -> Stored:
    if not found:
        got = f"line {lost[0].line:,}: {lost[0].why}" if lost else "nothing"
        raise BadConfig(f"{name} holds no sample", where=name, got=got, want=WANT)
    return Stored(source=name, samples=tuple(found), lost=tuple(lost), notes=tuple(notes))


def _each(text_lines: Iterable[tuple[int, str, str | None]]) -> Iterator[tuple[int, Sample | str]]:
    """Each line that is not blank as a sample, or why it is none."""
    for number, text, problem in text_lines:
        whole = text.strip().strip("\0")
        if problem is not None:
            yield number, problem
        elif whole:
            yield number, _sample(whole)


def _sample(text: str) -> Sample | str:
    try:
        one = _DECODER.decode(text)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return _why(text, error)
    if '"schema"' not in text:
        return f"the line is no {SCHEMA}: it names no schema"
    return one if (problem := _problem(one)) is None else problem


def _why(text: str, error: Exception) -> str:
    if text.startswith("{") and not text.endswith("}"):
        return "the line is cut short"
    if isinstance(error, msgspec.ValidationError):
        return f"the line is no {SCHEMA}: {str(error)[:160]}"
    return f"the line is not JSON: {str(error)[:160]}"


def _problem(one: Sample) -> str | None:
    """What cannot be so about a sample; None: nothing."""
    amounts = {
        name: getattr(one, name)
        for name in ("flop", "bytes", "link_bytes", "batch", "isl", "osl", "context", "tokens_per_s")
    }
    amounts |= {f"shape.{name}": value for name, value in (one.shape or {}).items()}
    for name, value in amounts.items():
        if value is not None and not (math.isfinite(value) and value >= 0):
            return f"{name} is {value:g}: want 0 or more"
    if one.count < 1 or one.runs < 1:
        return "count and runs are 1 or more"
    return None if one.time_s is None else _untimely(one.time_s)


def _untimely(time_s: Timing) -> str | None:
    median, low, high = time_s.median, time_s.low, time_s.high
    if not (all(map(math.isfinite, (median, low, high))) and 0 <= low <= median <= high and time_s.n >= 1):
        got = f"low {low:g}, median {median:g}, high {high:g} of {time_s.n} runs"
        return f"time_s has {got}: want 0 <= low <= median <= high"
    return None

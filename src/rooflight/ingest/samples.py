"""Samples as JSON lines: damaged lines are said by their number; a killed process loses one at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from rooflight.errors import BadConfig
from rooflight.files import append_lines, name_of, opened
from rooflight.ingest.lines import lines
from rooflight.ingest.packed import DAMAGED, unpacked
from rooflight.values.measured import LEAST, MOST, MOST_RUNS
from rooflight.values.sample import SCHEMA, Sample, Timing
from rooflight.values.samples import Lost, Stored

WANT = f"a file of JSON lines, each a {SCHEMA} as `rooflight measure` writes it, gzip or not"
_LONGEST_LINE = 1 << 20
_AMOUNTS = (
    "flop", "bytes", "link_bytes", "batch", "isl", "osl", "context", "tokens_per_s", "begun_s", "ttft_s",
)  # fmt: skip
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
    with unpacked(opened(path, WANT)) as file:
        _sort(_each(lines(file, notes, longest=_LONGEST_LINE)), found, lost)
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
    """Each line that is not blank as a sample, or why it is none; of a damaged file those in front of the damage."""
    number = 0
    try:
        for number, text, problem in text_lines:
            whole = text.strip().strip("\0")
            if problem is not None:
                yield number, problem
            elif whole:
                yield number, _sample(whole)
    except DAMAGED as error:
        yield number + 1, f"the file cannot be read to its end: {str(error)[:200]}"


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
    amounts = {name: getattr(one, name) for name in _AMOUNTS}
    amounts |= {f"shape.{name}": value for name, value in (one.shape or {}).items()}
    amounts |= {f"counters.{name}": value for name, value in (one.counters or {}).items()}
    amounts |= {f"gaps_s[{number}]": value for number, value in enumerate(one.gaps_s or ())}
    for name, value in amounts.items():
        if value is not None and not _is_amount(value):
            return f"{name} is {value:g}: want 0, or {LEAST:g} to {MOST:g} in base units"
    runs = {"count": one.count, "runs": one.runs} | ({} if one.time_s is None else {"time_s.n": one.time_s.n})
    for name, value in runs.items():
        if not 1 <= value <= MOST_RUNS:
            return f"{name} is {str(value)[:20]}: want 1 to {MOST_RUNS:,}"
    return None if one.time_s is None else _untimely(one.time_s)


def _is_amount(value: float) -> bool:
    """Whether a machine may have it: further values are slips, and what is computed of them would overflow."""
    return value == 0 or LEAST <= value <= MOST


def _untimely(time_s: Timing) -> str | None:
    median, low, high = time_s.median, time_s.low, time_s.high
    if not low <= median <= high or not all(map(_is_amount, (median, low, high))):
        got = f"low {low:g}, median {median:g}, high {high:g}"
        return f"time_s has {got}: want 0 or {LEAST:g} <= low <= median <= high <= {MOST:g}"
    return None

"""The diagnosis that findings come to: the leading sentence, evidence from all of them, what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module

from msgspec import structs
from msgspec.structs import replace

from rooflight.answers.diagnose.report import Findings, surest
from rooflight.answers.diagnose.samples import samples
from rooflight.answers.diagnose.setting import common, records
from rooflight.values.diagnosis import Analysis, Diagnosis, Evidence, Found, Next, Source, Told
from rooflight.values.note import Note
from rooflight.values.recorded import Measurements, Recorded, Spread
from rooflight.words.diagnosis.completed import completed

# What to record where nothing tells the ceiling.
_RECORD = (
    Next(
        what="Record the device's own counters for a minute under load: how long its tensor cores and its memory work.",
        command="dcgmi dmon -e 1001,1002,1004,1005 -d 1000 -c 60 > dcgm.txt",
    ),
    Next(
        what="Or a few steps with PyTorch's profiler and the device's kernels in it: torch.profiler.profile("
        "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True).",
    ),
    Next(
        what="Or a load at two batches, each with its time per token.",
        command="for n in 1 32; do vllm bench serve --max-concurrency $n --num-prompts $((8 * n)) --save-result; done",
    ),
)  # fmt: skip
# What a run says that is not set beside any prediction.
_OPEN = ("unplaced", "uncounted", "open", "")
_SAID = {
    "model_read": "The files name the model {1}: read as {0}.",
    "device_read": "The files name the accelerator {1}: read as {0}.",
    "model_unknown": "The files name a model {value} that is in no catalog: --model says which it is like.",
    "model_other": "The files name the model {1}, and {0} was named: what follows is of {0}.",
    "device_other": "The files name the accelerator {1}, and {0} was named: rates and shares are of {0}.",
    "device_unknown": "The files name an accelerator {value} that is in no catalog: --on says which it is.",
    "given_other": "The files say {0} {1}, and {2} was stated, which counts.",
    "stated_refused": "What the files state of the set-up cannot be together, and is left out: {value}.",
}


def told(found: Findings) -> Diagnosis:
    """The whole answer."""
    at = found.setting
    saying = [(name, one, completed(_told(name, one), found)) for name, one in found.found]
    parts = [record for _, record in records(found.files)]
    taken = samples(found.files)
    known = Diagnosis(
        stated=common([one.stated for one in parts]) if parts else Diagnosis().stated,
        measurements=common([one.measured for one in parts]) if parts else Measurements(),
        recorded=tuple(parts),
        regimes=tuple(row for _, one, _ in saying for row in getattr(one, "rows", ()) if hasattr(row, "subject")),
        kernels=tuple(row for _, one, _ in saying for row in getattr(one, "rows", ()) if hasattr(row, "operator")),
        sources=tuple(_source(file, len(samples([file]))) for file in found.files),
        samples=taken,
        notes=tuple(_notes(found, [one for _, _, one in saying])),
        model=None if at.model is None else at.model.id,
        accelerator=None if at.card is None else at.card.id,
        count=at.count,
    )
    if not saying:
        return replace(known, answer=_nothing(found.files), cannot_tell=True, next=_RECORD)
    (_, lead, first), *others = saying
    cannot = lead.bound is None and (lead.cannot_tell or all(one.cannot_tell for _, one, _ in saying))
    return replace(
        known, answer=first.answer, bound=lead.bound,
        confidence=surest([one for _, one, _ in saying if one.bound == lead.bound]), cannot_tell=cannot,
        evidence=(*first.evidence, *_further(lead, [(one, words) for _, one, words in others])),
        findings=tuple(words.answer for name, one, words in others if lead.bound is None or _says(name, one)),
        next=tuple(_each_once(_steps(lead, saying))) or (_RECORD if cannot else ()),
    )  # fmt: skip


def _told(name: Analysis, found: Found) -> Told:
    words: Told = import_module(f"rooflight.words.diagnosis.{name}").told(found)
    return words


def _further(lead: Found, others: Sequence[tuple[Found, Told]]) -> Iterator[Evidence]:
    """Evidence of findings that name a ceiling too: for the verdict where it is the same, against it where not."""
    for one, words in others:
        if one.bound is not None and one.bound != "idle":
            agrees = one.bound == lead.bound
            yield from (value if agrees else replace(value, supports=not value.supports) for value in words.evidence)


def _says(name: Analysis, one: Found) -> bool:
    """Whether a finding beside a verdict says something of its own, not that it alone could not tell."""
    return name != "benchmarks" or not one.cannot_tell or one.runs[0].said not in _OPEN  # type: ignore[attr-defined]


def _steps(lead: Found, saying: Sequence[tuple[Analysis, Found, Told]]) -> Iterator[Next]:
    """What comes next: the leading finding's steps, and of the others' those that do not follow from another verdict.

    A sure verdict needs nothing more recorded.
    """
    for _, one, words in saying:
        agrees = one.bound == lead.bound if one.bound is not None else not one.cannot_tell
        if agrees and one is not lead and one.bound is not None:
            yield from (step for step in words.next if step.command or step.gain)
        elif one is lead or agrees or (one.bound is None and lead.confidence != "high") or lead.bound is None:
            yield from words.next


def _each_once(steps: Iterable[Next]) -> Iterator[Next]:
    said: set[str] = set()
    for step in steps:
        if step.what not in said:
            said.add(step.what)
            yield step


def _source(file: Recorded, taken: int) -> Source:
    return Source(file=file.file, format=file.format, samples=taken, tool=file.tool, version=file.version)


def _notes(found: Findings, words: Sequence[Told]) -> Iterator[str]:
    read = ("model_read", "device_read")
    yield from (_said(note) for note in found.setting.notes if note.key not in read or len(set(note.value)) > 1)
    for file in found.files:
        yield from (f"{file.file}: {note}" for note in file.notes)
        if file.lacks:
            yield f"{file.file} does not say {', '.join(file.lacks)}."
    for one in words:
        yield from one.notes


def _said(note: Note) -> str:
    values = note.value if isinstance(note.value, tuple) else (note.value,)
    return _SAID[note.key].format(*values, value=note.value)


def _tail(found: Measurements) -> bool:
    """Whether a time is given by its tail alone."""
    return any(isinstance(one, Spread) and one.middle is None for one in structs.astuple(found))


def _nothing(files: Sequence[Recorded]) -> str:
    names = ", ".join(file.file for file in files)
    if any(_tail(record.measured) for _, record in records(files)):
        return (
            f"Which ceiling binds cannot be told from {names}: of times it has percentiles alone (p90, p99), which are "
            "of the slowest requests; the mean or the median is what arithmetic explains."
        )
    if files and all(file.samples for file in files):
        return (
            f"Which ceiling binds cannot be told from {names}: single measurements say what a device reaches, "
            "and nothing of a run."
        )
    return (
        f"Which ceiling binds cannot be told from {names}: nothing in it times the device, its requests or its steps."
    )

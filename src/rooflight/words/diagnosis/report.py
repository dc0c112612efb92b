"""The diagnosis that findings come to: the leading sentence, evidence from all of them, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module

from msgspec.structs import replace

from rooflight.answers.diagnose.report import Findings, surest
from rooflight.answers.diagnose.samples import samples
from rooflight.answers.diagnose.setting import common, records
from rooflight.values.diagnosis import Analysis, Diagnosis, Evidence, Found, Next, Source, Told
from rooflight.values.note import Note
from rooflight.values.recorded import Measurements, Recorded

# What to record where nothing tells the ceiling.
_RECORD = (
    Next(
        what="Record the device's own counters for a minute under load: how long its tensor cores and its memory work.",
        command="dcgmi dmon -e 1001,1002,1004,1005 -d 1000 > dcgm.txt",
    ),
    Next(
        what="Or a few steps with PyTorch's profiler, with the device's kernels in it.",
        command='torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True)',
    ),
    Next(
        what="Or a load at two batches, each with its time per token.",
        command="vllm bench serve --max-concurrency 1 --save-result, and again with 32",
    ),
)  # fmt: skip
_SAID = {
    "model_read": "The files name the model {1}: read as {0}.",
    "device_read": "The files name the accelerator {1}: read as {0}.",
    "model_unknown": "The files name a model {value} that is in no catalog: --model says which it is like.",
    "device_unknown": "The files name an accelerator {value} that is in no catalog: --on says which it is.",
    "stated_refused": "What the files state of the set-up cannot be together, and is left out: {value}.",
}


def told(found: Findings) -> Diagnosis:
    """The whole answer."""
    saying = [(name, one, _told(name, one)) for name, one in found.found]
    at = found.setting
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
        findings=tuple(words.answer for _, _, words in others),
        next=tuple(_each_once([step for _, _, words in saying for step in words.next])) or (_RECORD if cannot else ()),
    )  # fmt: skip


def _told(name: Analysis, found: Found) -> Told:
    words: Told = import_module(f"rooflight.words.diagnosis.{name}").told(found)
    return words


def _further(lead: Found, others: Sequence[tuple[Found, Told]]) -> Iterator[Evidence]:
    """Evidence of findings that name a ceiling too: for the verdict where it is the same, against it where not."""
    for one, words in others:
        if one.bound is not None:
            agrees = one.bound == lead.bound
            yield from (value if agrees else replace(value, supports=not value.supports) for value in words.evidence)


def _each_once(steps: Sequence[Next]) -> Iterator[Next]:
    said: set[str] = set()
    for step in steps:
        if step.what not in said:
            said.add(step.what)
            yield step


def _source(file: Recorded, taken: int) -> Source:
    return Source(file=file.file, format=file.format, samples=taken, tool=file.tool, version=file.version)


def _notes(found: Findings, words: Sequence[Told]) -> Iterator[str]:
    yield from (_said(note) for note in found.setting.notes)
    for file in found.files:
        yield from (f"{file.file}: {note}" for note in file.notes)
        if file.lacks:
            yield f"{file.file} does not say {', '.join(file.lacks)}."
    for one in words:
        yield from one.notes


def _said(note: Note) -> str:
    values = note.value if isinstance(note.value, tuple) else (note.value,)
    return _SAID[note.key].format(*values, value=note.value)


def _nothing(files: Sequence[Recorded]) -> str:
    names = ", ".join(file.file for file in files)
    if files and all(file.samples for file in files):
        return (
            f"Which ceiling binds cannot be told from {names}: single measurements say what a device reaches, "
            "and nothing of a run."
        )
    return (
        f"Which ceiling binds cannot be told from {names}: nothing in it times the device, its requests or its steps."
    )

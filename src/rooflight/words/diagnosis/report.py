"""The diagnosis that findings come to: the leading sentence, evidence from all of them, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module

from msgspec import structs
from msgspec.structs import replace

from rooflight.answers.diagnose.report import Findings, is_other
from rooflight.answers.diagnose.samples import samples
from rooflight.answers.diagnose.setting import common, records
from rooflight.values.diagnosis import Analysis, Bound, Diagnosis, Evidence, Found, Next, Source, Told
from rooflight.values.note import Note
from rooflight.values.recorded import Measurements, Recorded, Spread
from rooflight.words.diagnosis.completed import completed
from rooflight.words.diagnosis.series import bound_words

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
# What a step says of a larger batch where output no longer grows with it, and what another one may say of it.
_LEVEL, _BATCH = "larger batch gains nothing", "larger batch"
# What each analysis goes by.
_OF: dict[Analysis, str] = {
    "kernels": "the kernels say that", "regimes": "the monitoring says that", "fits": "several runs together say that",
    "benchmarks": "a run beside its prediction says that", "memory": "the engine's memory says that",
}  # fmt: skip
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
    said = [words.answer for name, one, words in others if lead.bound is None or _says(name, one)]
    answer = first.answer
    if found.cannot_tell and not lead.cannot_tell:  # an account of memory names no ceiling of what else was given
        answer, said = _nothing([file for file in found.files if is_other(file)]), [first.answer, *said]
    return replace(
        known, answer=answer, bound=lead.bound, confidence=found.confidence, cannot_tell=found.cannot_tell,
        evidence=(*first.evidence, *_further(lead, [(one, words) for _, one, words in others])),
        findings=(*_contradicted(found), *said),
        next=tuple(_each_once(list(_steps(lead, saying)))) or (_RECORD if found.cannot_tell else ()),
    )  # fmt: skip


def _contradicted(found: Findings) -> Iterator[str]:
    """That analyses do not agree, and which of them counts."""
    if not found.against:
        return
    others = " and ".join(f"{_OF[name]} {_binds(bound)}" for name, bound in found.against)
    lead = f"{_OF[found.found[0][0]]} {_binds(found.found[0][1].bound or 'launch')}"
    why = "what was seen of the device counts before a prediction" if found.seen else "the surer one counts"
    yield f"They do not agree, so the confidence is less: {lead}, {others}; {why}."


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


def _binds(bound: Bound) -> str:
    words = bound_words(bound)
    return words if words.startswith("The KV") else words[0].lower() + words[1:]


def _each_once(steps: Sequence[Next]) -> Iterator[Next]:
    """Each step once, and none that another one says gains nothing."""
    said: set[str] = set()
    level = any(_LEVEL in step.what for step in steps)
    for step in steps:
        gains = level and _BATCH in step.what and _LEVEL not in step.what
        if step.what not in said and not gains:
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

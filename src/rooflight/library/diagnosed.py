"""Recorded files put under the roof: which ceiling binds, by what evidence, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from rooflight.errors import BadInput, Named
from rooflight.library.live import Watcher
from rooflight.library.questions import devices_of
from rooflight.library.questions import model as model_of
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Model
from rooflight.values.question import Fields, asked
from rooflight.values.recorded import Recorded
from rooflight.values.watching import Watching

if TYPE_CHECKING:
    from rooflight.values.diagnosis import Diagnosis


def diagnose(
    *files: str | Path | Recorded,
    model: str | Path | Model | None = None,
    on: str | Accelerator | None = None,
    points: Iterable[str] = (),
    watching: Watching | Watcher | None = None,
    interval_s: float | None = None,
    **fields: Unpack[Fields],
) -> Diagnosis:
    """Which ceiling binds, by what profilers, engines, monitoring and load generators recorded.

    files       paths ("-": standard input), each told by its content; gzip or not
    model, on   whose roof they are put under; left out: what the files name, where the catalog knows it
    points      measurements of one's own: "batch=1 tpot_ms=12.0"
    watching    a Prometheus server or /metrics addresses, read now
    interval_s  from one file to the next of those that are scrapes of one address, where no times stand in them
    fields      of Workload and Deployment: how it ran, where the files do not say it

    Raises BadInput for what cannot be read, BadConfig for what nobody knows, MissingFact for a number nobody published.
    """
    from rooflight.answers.diagnose.points import points as records_of
    from rooflight.ingest.recorded.read import recorded

    _typed(files, watching)
    asked(None, None, fields)  # what is wrong with them is said even where nothing comes of them
    given = _paired(_once([one if isinstance(one, Recorded) else recorded(one) for one in files]), interval_s)
    if watching is not None:
        given += (Watcher(watching) if isinstance(watching, Watching) else watching).read()
    own = _texts(points)
    if own:
        given.append(Recorded(file="points", format="points", records=records_of(own)))
    if not given:
        raise BadInput(
            "there is nothing to diagnose", where="files", got="no file",
            want=Named("a profile, a log, metrics or results; or {points} of your own"),
        )  # fmt: skip
    return told_of(given, model=model, on=on, fields=fields)


def _typed(files: tuple[object, ...], watching: object) -> None:
    """Raises BadInput for what is no file and nothing to watch."""
    for one in files:
        if not isinstance(one, str | Path | Recorded):
            raise BadInput(
                "a file goes by its path", where=Named.of("files"), got=type(one).__name__,
                want="text, a Path or what was read already",
            )  # fmt: skip
    if watching is not None and not isinstance(watching, Watching | Watcher):
        raise BadInput(
            "that cannot be watched", where="watching", got=type(watching).__name__,
            want='as rooflight.Watching(prometheus="http://localhost:9090")',
        )  # fmt: skip


def _texts(points: Iterable[str]) -> list[str]:
    found = [points] if isinstance(points, str) else list(points) if isinstance(points, Iterable) else [points]
    for one in found:
        if not isinstance(one, str):
            raise BadInput(
                "a point is text", where="points", got=type(one).__name__, want='such as "batch=33 tpot_ms=15.2"'
            )
    return found


def _once(given: list[Recorded]) -> list[Recorded]:
    """Each file once: what says the same as one before it (the file again, a copy of it) is no second measurement."""
    found: dict[int, Recorded] = {}
    bare = [_bare(one) for one in given]
    for at, one in enumerate(given):
        first = bare.index(bare[at])
        if first == at:
            found[at] = one
        else:
            note = f"{one.file} says the same, and is counted once"
            found[first] = replace(found[first], notes=(*found[first].notes, note))
    return list(found.values())


def _bare(one: Recorded) -> Recorded:
    """What a file says, whatever it is called."""
    origin = [replace(sample, source=replace(sample.source, file=None)) for sample in one.samples]
    return replace(one, file="", notes=(), samples=tuple(origin))


def _paired(files: list[Recorded], interval_s: float | None) -> list[Recorded]:
    """Files, two scrapes of one address as what lies between them. Raises BadInput for seconds between nothing."""
    from rooflight.ingest.recorded.monitoring.between import paired

    if interval_s is not None and not (math.isfinite(interval_s) and interval_s > 0):
        raise BadInput("that is no time", where=Named.of("interval"), got=interval_s, want="seconds, more than 0")
    found = list(paired(files, interval_s))
    if interval_s is not None and len(found) == len(files):
        raise BadInput(
            "there is nothing between the files", where=Named.of("interval"),
            got=", ".join(one.file for one in files) or "no file", want="two scrapes of one engine's /metrics",
        )  # fmt: skip
    return found


def told_of(
    given: list[Recorded], *, model: str | Path | Model | None, on: str | Accelerator | None, fields: Fields
) -> Diagnosis:
    """The diagnosis of what was read already."""
    from rooflight.answers.diagnose.report import findings
    from rooflight.answers.diagnose.setting import setting
    from rooflight.words.diagnosis.report import told

    at = setting(
        given, None if model is None else model_of(model), None if on is None else devices_of(on), dict(fields)
    )  # fmt: skip
    return told(findings(given, at))

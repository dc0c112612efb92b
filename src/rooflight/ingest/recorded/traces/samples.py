"""rooflight's own measurements as JSON lines, kept as the samples they are."""

from __future__ import annotations

import re

from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.ingest.samples import samples_in
from rooflight.values.recorded import Recorded
from rooflight.values.sample import SCHEMA

_SCHEMA = re.compile(r'"schema"\s{0,4}:\s{0,4}"([^"\n]{0,80})"')


def _looks(head: Head) -> bool:
    found = _SCHEMA.search(head.text) if head.json else None
    return found is not None and found[1] == SCHEMA


def _read(source: Source) -> Recorded:
    stored = samples_in(source.text, source.name)
    notes = list(stored.notes)
    if stored.lost:
        first = stored.lost[0]
        count = len(stored.lost)
        words = "one line is" if count == 1 else f"{count:,} lines are"
        notes.append(f"{words} left out (line {first.line:,}: {first.why})")
    tools = {one.source.tool for one in stored.samples}
    versions = {one.source.version for one in stored.samples}
    return Recorded(
        file=source.name, format="", tool=tools.pop() if len(tools) == 1 else "rooflight measure",
        version=versions.pop() if len(versions) == 1 else "", samples=stored.samples, notes=tuple(notes),
    )  # fmt: skip


FORMAT = Format(name="samples", words="rooflight's own samples (JSON lines)", looks=_looks, read=_read)

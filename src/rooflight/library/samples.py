"""Stored measurements, read again: nothing is measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rooflight.values.samples import Samples


def samples(path: str | Path, other: str | Path | None = None) -> Samples:
    """The samples of a file of JSON lines ("-": standard input, gzip or not), or of two side by side.

    Lines that are no samples are in its files' `lost`, by number. Raises BadInput for a file that cannot be read,
    BadConfig for one without any sample.
    """
    from rooflight.answers.check.samples import together
    from rooflight.ingest.samples import read_samples
    from rooflight.words.samples import told

    return told(together(read_samples(path), None if other is None else read_samples(other)))

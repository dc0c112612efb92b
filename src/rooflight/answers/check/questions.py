"""A measurement as a definite question: its scenarios, its numbers, and what of them had to be taken for granted."""

from __future__ import annotations

import msgspec

from rooflight.answers.check.candidates import Candidates, candidates
from rooflight.answers.check.names import Names
from rooflight.catalog.calibration import calibrated
from rooflight.ingest.rows import BadRow
from rooflight.values.measurement import Measurement, Timed
from rooflight.values.note import Note


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the ceiling of a row is computed from.

    batch       None: as many as fit
    isl, osl    prompt and generated tokens; in decode the tokens cached at the start, and those then decoded
    cached      tokens of the prompt that are cached already
    prompts     prefilled together; None: as many as the batch
    bare        lengths are missing, so that there is a ceiling but nothing can be expected
    """

    row: Measurement
    options: Candidates
    notes: tuple[Note, ...]
    batch: int | None
    isl: int
    osl: int
    cached: int = 0
    prompts: int | None = None
    bare: bool = False

    @property
    def shape(self) -> tuple[str, str, str, bool, bool]:
        """What rows must share to be computed together, beside the scenario."""
        return self.row.phase, self.row.metric, self.row.engine, self.batch is None, self.prompts is None


def question(row: Measurement, names: Names) -> Question:
    """The row made definite. Raises BadRow where something that cannot be taken for granted is missing."""
    model, stand_in = names.model(row)
    card, count = names.accelerator(row)
    options = candidates(row, model, card, count, names)
    notes = [Note(key="config_like", value=stand_in)] if stand_in else []
    notes += [note for note in card.assumptions if note.key == "read_as"]
    notes += options.notes
    if row.engine and not calibrated(row.engine):
        notes.append(Note(key="uncalibrated_engine", value=row.engine[:40]))
    timed = row.timed
    make = _decode if timed is Timed.STEP else _prefill if timed.prompt else _request
    return make(row, options, notes)


def _decode(row: Measurement, options: Candidates, notes: list[Note]) -> Question:
    cached = max(row.input_len or 0, row.depth or 0)
    if row.input_len is None and row.depth is None:
        notes.append(Note(key="empty_cache"))
    return Question(
        row=row,
        options=options,
        batch=_batch(row, notes),
        isl=max(cached, 1),
        osl=max(row.output_len or 1, 1),
        notes=tuple(notes),
    )


def _prefill(row: Measurement, options: Candidates, notes: list[Note]) -> Question:
    if not row.input_len:
        raise BadRow("input_len is not stated, so what was prefilled is not known")
    depth = row.depth or 0
    one = row.measures.time
    if one and (row.batch or 1) > 1:
        notes.append(Note(key="one_prompt"))
    osl = max(row.output_len or 1, 1) if row.served else 1
    return Question(
        row=row, options=options, notes=tuple(notes), batch=row.batch or 1, isl=depth + row.input_len, osl=osl,
        cached=depth, prompts=1 if one else row.batch or 1,
    )  # fmt: skip


def _request(row: Measurement, options: Candidates, notes: list[Note]) -> Question:
    """A whole request, or a saturated run of them; without lengths, decoding alone from an empty cache."""
    if row.timed.step and row.output_len == 1:
        raise BadRow("output_len is 1: no token comes after the first, so there is no time per output token")
    if row.input_len and row.output_len:
        batch = _batch(row, notes)
        phase = "e2e_server" if batch is None else row.phase  # a saturated run, however it is called
        return Question(
            row=msgspec.structs.replace(row, phase=phase), options=options, batch=batch,
            isl=(row.depth or 0) + row.input_len, osl=row.output_len, cached=row.depth or 0, notes=tuple(notes),
        )  # fmt: skip
    if row.measures.prompts:
        raise BadRow("input_len and output_len are not both stated, so the request is not known")
    notes.append(Note(key="decode_alone"))
    return Question(
        row=msgspec.structs.replace(row, phase="decode"), options=options, batch=_batch(row, notes),
        isl=row.input_len or 1, osl=row.output_len or 1, bare=True, notes=tuple(notes),
    )  # fmt: skip


def _batch(row: Measurement, notes: list[Note]) -> int | None:
    """The batch, or where none is stated the one that is fastest by this metric."""
    if row.batch is not None:
        return row.batch
    if row.measures.together:
        return None
    notes.append(Note(key="alone"))
    return 1

"""A measurement as a definite question: its scenarios, its numbers, and what of them had to be taken for granted."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from rooflight.answers.check.candidates import Candidates, candidates, least
from rooflight.answers.check.names import Names
from rooflight.answers.check.wording import plain
from rooflight.catalog.calibration import calibrated
from rooflight.ingest.rows import BadRow
from rooflight.scenario.change import spread
from rooflight.scenario.definite import Scenario
from rooflight.serve.metrics import saturating_batch
from rooflight.values.measurement import Measurement, Timed
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.workload import Workload
from rooflight.work.count import is_encoder

ONE_TOKEN = "output_len is 1: no token comes after the first, so there is no time per output token"
NO_TOKENS = "no token is put out (output_len 0, or no vocabulary head), so there is none to time or count"


class Drafts(msgspec.Struct, frozen=True, kw_only=True):
    """Speculation, as in values.workload.Workload."""

    draft_tokens: int = 0
    acceptance: float = Workload().acceptance
    draft_share: float = Workload().draft_share


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the ceiling of a row, or of a claim, is computed from.

    batch       None: as many as fit
    alone       nobody states a batch, and one sequence is the fastest
    isl, osl    prompt and generated tokens; in decode the tokens cached at the start, and those then decoded
    context     of a decode step where it is stated by itself
    cached      tokens of the prompt that are cached already
    prompts     prefilled together; None: as many as the batch
    bare        lengths are missing, or nobody knows what lay on a host: there is a ceiling, but nothing is expected
    saturated   an offline run of which nobody states the batch: as many ran as the engine takes, or nearly
    lengths     both are stated
    claimed     it is a claim, made by options, of which the devices are stated
    """

    row: Measurement
    options: Candidates
    notes: tuple[Note, ...]
    batch: int | None
    alone: bool = False
    isl: int
    osl: int
    context: int | None = None
    cached: int = 0
    prompts: int | None = None
    drafts: Drafts = Drafts()
    bare: bool = False
    saturated: bool = False
    lengths: bool = True
    claimed: bool = False

    @property
    def one_wave(self) -> bool:
        """Whether no more requests came than run at once, so that nobody replaces those that leave."""
        row = self.row
        timed = row.timed not in (Timed.STEP, Timed.PREFILL)
        return row.served and timed and row.prompts is not None and 1 < row.prompts == row.batch

    @property
    def counts_tokens(self) -> bool:
        """Whether what it times or counts are tokens that are put out, and not prompts or whole requests."""
        metric = self.row.measures
        return self.row.timed.step or not (self.row.timed.prompt or metric.time or metric.prompts)

    @property
    def shape(self) -> tuple[object, ...]:
        """What rows must share to be computed together, beside the scenario: of a run any metric."""
        blanks = (self.batch is None, self.context is None, self.prompts is None)
        timed = self.row.timed
        return self.row.phase, timed if timed in (Timed.STEP, Timed.PREFILL) else "run", *blanks, self.drafts


def question(
    row: Measurement, names: Names, more: tuple[Note, ...] = (), *, phase_stated: bool = True
) -> Question:  # fmt: skip
    """The row made definite. Raises BadRow where something that cannot be taken for granted is missing.

    phase_stated    False: the phase is the one that such a metric mostly has; a first token is then one prompt's own
    """
    row, read = plain(row)
    model, stand_in = names.model(row)
    card, count = names.accelerator(row)
    options = candidates(row, model, card, count, names)
    notes = [*([stand_in] if stand_in is not None else []), *read, *by_size(model)]
    notes += [note for note in card.assumptions if note.key == "read_as"]
    notes += [*options.notes, *more]
    if row.prompts is not None and row.batch is not None and row.prompts < row.batch:
        notes.append(Note(key="fewer_prompts", value=(row.prompts, row.batch)))
        row = msgspec.structs.replace(row, batch=row.prompts)
    if row.served and row.prompts is not None and 1 < row.prompts == row.batch:
        notes.append(Note(key="one_wave", value=row.prompts))
    timed = row.timed
    if phase_stated and _together(row):
        # a step of the whole batch; a run's ceiling is that of one prompt, as some may have come before others
        notes.append(Note(key="prompts_together", value=row.batch))
        row = msgspec.structs.replace(row, phase="e2e_offline")
    make = _decode if timed is Timed.STEP else _prefill if timed.prompt else _request
    found = make(row, options, notes)
    if is_encoder(model):
        if found.counts_tokens:
            raise BadRow(NO_TOKENS)
        found = msgspec.structs.replace(found, osl=0)
    lengths = bool(row.input_len) and row.output_len is not None
    # what a host adds of which nothing is known
    bare = found.bare or (row.offloaded and not options.hosted)
    return _possible(msgspec.structs.replace(found, drafts=_drafts(row), lengths=lengths, bare=bare))


def by_size(model: Model) -> Iterator[Note]:
    """Which shape was taken for a model of which only the size is known."""
    if model.sized is not None:
        open_ = model.sized.named and model.sized.active_parameters is None
        yield Note(key="by_size", value=model.assumptions[-1], why="routed" if open_ else "")


def claim(sc: Scenario, row: Measurement, more: tuple[Note, ...] = ()) -> Question:
    """A claim about a scenario: what is asked of the row is its metric, its value and its batch, None if not stated."""
    load, notes, others = sc.workload, list(more), tuple(spread(sc))
    notes += [Note(key="spread")] if others else []
    prompt = row.timed is Timed.PREFILL
    batch = load.batch if prompt else _batch(row, notes)
    return _possible(Question(
        row=row, options=Candidates(scenarios=(sc, *others), least=tuple(least((sc,), Names()))),
        notes=(*notes, *by_size(sc.checkpoint)), batch=batch,
        alone=row.batch is None and not prompt and batch is not None,
        isl=load.isl, osl=load.osl, context=load.context if row.timed is Timed.STEP else None,
        cached=load.cached_prefix, prompts=load.prefill_batch,
        drafts=Drafts(**{name: getattr(load, name) for name in Drafts.__struct_fields__}),
        lengths=row.input_len is not None and row.output_len is not None, claimed=True,
    ))  # fmt: skip


def _possible(one: Question) -> Question:
    """A step of more sequences than memory holds cannot be: of a request that is known a served run is meant, whose
    others wait; else the step of as many as it holds."""
    if one.row.timed is not Timed.STEP or one.row.batch is None or one.row.batch == 1:
        return one
    most = max((_held(one, sc) for sc in one.options.scenarios), default=math.inf)
    if not 1 <= most < one.row.batch:
        return one
    notes = (*one.notes, Note(key="beyond_memory", value=(one.row.batch, int(most))))
    if one.context is None and one.osl > 1:
        row = msgspec.structs.replace(one.row, phase="e2e_server")
        return msgspec.structs.replace(one, row=row, notes=notes, prompts=1)
    return msgspec.structs.replace(one, batch=int(most), notes=notes)


def _held(one: Question, sc: Scenario) -> float:
    """Sequences that a scenario's memory holds at most, with nothing kept for the engine."""
    if sc.deployment.max_num_seqs is None and (sc.accelerator.memory_bytes is None or sc.deployment.ignore_capacity):
        return math.inf
    load = msgspec.structs.replace(
        sc.workload, batch=1, isl=one.isl, osl=one.osl, context=one.context, cached_prefix=one.cached
    )
    return float(saturating_batch(msgspec.structs.replace(sc, workload=load)))


def _drafts(row: Measurement) -> Drafts:
    stated = {name: getattr(row, name) for name in Drafts.__struct_fields__}
    return Drafts(**{name: value for name, value in stated.items() if value is not None})


def _decode(row: Measurement, options: Candidates, notes: list[Note]) -> Question:
    if row.apart:
        raise BadRow("prefill and decode on workers of their own are a run: want phase e2e_server")
    cached = max(row.input_len or 0, row.depth or 0)
    if row.input_len is None and row.depth is None:
        notes.append(Note(key="empty_cache"))
    batch = _batch(row, notes)
    return Question(
        row=row, options=options, notes=tuple(notes), batch=batch, alone=row.batch is None and batch is not None,
        isl=max(cached, 1), osl=max(row.output_len or 1, 1), context=None if row.output_len else cached,
    )  # fmt: skip


def _together(row: Measurement) -> bool:
    """Whether it is the first token of prompts started together, by an engine that is known to batch them."""
    return row.metric == "ttft_ms" and not row.served and (row.batch or 1) > 1 and calibrated(row.engine)


def _prefill(row: Measurement, options: Candidates, notes: list[Note]) -> Question:
    if not row.input_len:
        raise BadRow("input_len is not stated, so what was prefilled is not known")
    depth, length = row.depth or 0, row.input_len
    one, batch = row.measures.time and row.timed is not Timed.BATCH_FIRST, row.batch or 1
    if one and batch > 1:
        notes.append(Note(key="one_prompt"))
    served = row.served and row.timed is not Timed.PREFILL
    # a prefill by itself ends in a token's logits (llama-bench, whose tables say an output of 0)
    osl = row.output_len if served and row.output_len is not None else 1
    alone = row.batch is None and row.timed is Timed.SERVED_FIRST
    notes += [Note(key="alone")] if alone else []
    return Question(
        row=row, options=options, notes=tuple(notes), batch=batch, alone=alone,
        isl=depth + length, osl=osl, cached=depth + _found_cached(row), prompts=1 if one else batch,
    )  # fmt: skip


def _request(row: Measurement, options: Candidates, notes: list[Note]) -> Question:
    """A whole request, or a saturated run of them; without lengths, decoding alone from an empty cache."""
    if row.timed.step and row.output_len == 1:
        raise BadRow(ONE_TOKEN)
    if row.input_len and row.output_len is not None:
        batch = _batch(row, notes)
        phase = "e2e_server" if batch is None else row.phase  # a saturated run, however it is called
        depth = row.depth or 0
        return Question(
            row=msgspec.structs.replace(row, phase=phase), options=options, batch=batch,
            alone=row.batch is None and batch is not None, isl=depth + row.input_len, osl=row.output_len,
            cached=depth + _found_cached(row), prompts=1, notes=tuple(notes),
            saturated=batch is None and row.phase == "e2e_offline",
        )  # fmt: skip
    if row.measures.prompts:
        raise BadRow("input_len and output_len are not both stated, so the request is not known")
    notes.append(Note(key="decode_alone"))
    return Question(
        row=msgspec.structs.replace(row, phase="decode"), options=options, batch=_batch(row, notes),
        isl=row.input_len or 1, osl=row.output_len or 1, bare=True, notes=tuple(notes),
    )  # fmt: skip


def _found_cached(row: Measurement) -> int:
    """Tokens of input_len that a prefix cache held: all but one at most, which is computed again for its output."""
    length = row.input_len or 1
    if row.cached_prefix is None:
        return min(int((row.prefix_hit or 0.0) * length), length - 1)
    if row.cached_prefix > length:
        raise BadRow(f"cached_prefix is {row.cached_prefix:,}, more than the {length:,} tokens of input_len")
    return min(row.cached_prefix, length - 1)


def _batch(row: Measurement, notes: list[Note]) -> int | None:
    """The batch, or where none is stated the one that is fastest by this metric."""
    if row.batch is not None:
        return row.batch
    if row.measures.together:
        return None
    notes.append(Note(key="alone"))
    return 1

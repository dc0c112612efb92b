"""Check: whether claimed or measured values are possible, and as fast as they should be, for the scenario in focus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from pydantic import ValidationError

from rooflight.answers.check.beside import cells_of, formats_stated, judged_of, step_of
from rooflight.answers.check.claims import claims_of
from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.answers.check.report import judged_claims
from rooflight.errors import BadInput, RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.show import check as shows
from rooflight.show.blocks import Block, Bullets, Drawing, Prose
from rooflight.show.charts import verdicts
from rooflight.show.charts.place import Rows
from rooflight.studio.answered import Answered, focused
from rooflight.studio.problems import of_validation
from rooflight.studio.question import Question, scenario_of
from rooflight.studio.view import Asked, Drawn, View, Wanted, drawn
from rooflight.studio.views.claims import Claim
from rooflight.studio.views.made import paged
from rooflight.studio.views.roofed import roof_drawn, roofline_of
from rooflight.studio.views.written import is_log, written
from rooflight.units import several
from rooflight.values.measurement import Report, Verdict
from rooflight.values.sample import Sample, Timing
from rooflight.words.verdicts import claims_reported, reported

WANTED = Wanted(
    label="A claim, or rows of measurements",
    hint="What is not said is the scenario’s. A file has the columns metric and value, and any of model, accelerator, "
    "batch, input_len, output_len, weights and others, as rooflight check reads them.",
    placeholder="TPOT 11 ms batch 32",
    accept=".csv,.tsv,.txt,.json",
)
_EXAMPLE = (
    "42 tok/s per user",
    "TTFT 200 ms, TPOT 11 ms, batch 32",
    '{"output_tok_s": 1200, "batch": 64}',
    "metric,value,batch",
    "tpot_ms,11.2,1",
    "output_tok_s,850,16",
)
# Dots of a roofline that can be told apart.
_MOST_DOTS = 60
_DOTS = "Squares: decode and prefill steps as they were claimed or measured, in the hue of their verdict."


class _Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A text that was judged; taken: what of it, and what was not."""

    report: Report
    each: Sequence[Judged | NoCeiling]
    taken: tuple[str, ...] = ()


def check(asked: Asked) -> View:
    """The view. Raises RooflightError where the scenario in focus cannot be answered."""
    focus = focused(asked.page)
    assert focus.scenario is not None
    if not asked.text.strip():
        return _empty(focus)
    try:
        found = _judged(asked.text, focus, focus.scenario)
    except RooflightError as error:
        log = is_log(asked.text.lstrip().partition("\n")[0])
        return View(
            answer=f"Nothing is judged: {error.what}.", blocks=tuple(_refused(error)), wanted=WANTED,
            elsewhere="compare" if log else "",
        )  # fmt: skip
    report = found.report
    blocks = [Prose(text) for text in found.taken] + paged(shows.blocks(report)[1:])
    return View(
        answer=report.answer, charts=tuple(_charts(found, focus, asked)), blocks=tuple(blocks), wanted=WANTED
    )  # fmt: skip


def _empty(focus: Answered) -> View:
    """What the view does, and what may be written."""
    return View(
        answer=f"Write a claim, or drop rows of measurements: each is held against what {focus.label.whole} can do at "
        "most, and against what a well-run engine gets.",
        blocks=(Prose("Any of these, or a file of such rows:"), Drawing(_EXAMPLE)),
        wanted=WANTED,
    )


def _refused(error: RooflightError) -> Iterator[Block]:
    """What was there, and what would do."""
    parts = (("It has", error.got), ("Wanted", error.want))
    said = tuple(f"{name}: {text}" for name, text in parts if text is not None)
    if said:
        yield Bullets("What is there, and what would do:", said)
    yield Prose("Any of these, or a file of such rows:")
    yield Drawing(_EXAMPLE)


def _judged(text: str, focus: Answered, sc: Scenario) -> _Judged:
    """The text judged beside a scenario. Raises RooflightError."""
    found = written(text, cells_of(sc))
    if isinstance(found, Claim):
        return _claimed(found, focus)
    each = list(judged_of(found.rows, sc))
    own = sum(not (row.given.get("model") or row.given.get("accelerator")) for row in found.rows)
    taken = f"Of {focus.label.whole} is what {own:,} of {several(len(each), 'row')} leave blank." if own else ""
    return _Judged(report=reported(each, found.notes), each=each, taken=(taken,) if taken else ())


def _claimed(found: Claim, focus: Answered) -> _Judged:
    try:
        asked = Question.model_validate({**focus.question.model_dump(), **found.fields})
    except ValidationError as error:
        said = of_validation(error.errors(include_url=False))[0]
        raise BadInput(str(said["what"]), got=said["got"]) from None
    sc = formats_stated(scenario_of(asked))
    values = claims_of({**found.values}, ())
    each = list(judged_claims(sc, values))
    told = ", ".join(f"{name} {value:,.6g}" for name, value in (*values.items(), *found.fields.items()))
    taken = [f"Taken as {told}; the rest is of {focus.label.whole}."]
    if found.left:
        taken.append(f"Not taken: {', '.join(found.left)}. Model, machine and formats are the scenario’s.")
    return _Judged(report=claims_reported(sc, each), each=each, taken=tuple(taken))


def _charts(found: _Judged, focus: Answered, asked: Asked) -> Iterator[Drawn]:
    if any(one.ceiling is not None for one in found.report.rows):
        yield drawn(verdicts.verdicts(found.report, look=asked.look), title="Beside what is expected, and the ceiling")
    samples, hues = _dots(found, focus)
    if samples:
        rows = roofline_of(focus, asked.look, samples=samples)
        yield roof_drawn(focus, asked.look, {**rows, "samples": _hued(rows["samples"], hues)}, _DOTS)


def _dots(found: _Judged, focus: Answered) -> tuple[list[Sample], list[str]]:
    """Steps of the scenario's model and machine as dots of its roofline, each with the hue of its verdict."""
    samples: list[Sample] = []
    hues: list[str] = []
    for one, told in zip(found.each, found.report.rows, strict=True):
        at = _step(one, focus)
        if at is not None and len(samples) < _MOST_DOTS:
            samples.append(_dot(*at, told))
            hues.append(verdicts.hue_of(told))
    return samples, hues


def _step(one: Judged | NoCeiling, focus: Answered) -> tuple[float, float] | None:
    """Where a step stands on the scenario's roofline; None of what is not of it."""
    assert focus.scenario is not None
    if not isinstance(one, Judged):
        return None
    sc, own = one.scenario, focus.scenario
    alike = (sc.checkpoint.id, sc.accelerator.id, sc.layout.devices)
    return step_of(one) if alike == (own.checkpoint.id, own.accelerator.id, own.layout.devices) else None


def _dot(intensity: float, flop_per_s: float, told: Verdict) -> Sample:
    """A step of one second, so that only where it stands is said; its words are the verdict's."""
    value = f"{told.metric} {told.value:,.6g}: {told.verdict}"
    return Sample(
        kind="kernel", name=f"line {told.line:,}" if told.given else "claimed", operator=value, flop=flop_per_s,
        bytes=flop_per_s / intensity, time_s=Timing(median=1.0, low=1.0, high=1.0),
    )  # fmt: skip


def _hued(squares: Rows, hues: Sequence[str]) -> Rows:
    """Squares in those hues, one each; a step has no time of its own here."""
    return [{**one, "hue": hue, "time": "", "time_s": None} for one, hue in zip(squares, hues, strict=True)]

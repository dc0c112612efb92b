"""The law of equal steps: a decode step has one ceiling, MBU and MFU, whichever door is asked of it.

Questions of the doors' list (laws.doors.questions) are put to analyze, explain, check and diagnose, with a time per
token that is so many times the step's ceiling. What follows from the same numbers by the same formula is compared with
==; where a door divides in another order (explain goes by printed formulas, check counts in milliseconds) the last
digit of a float may differ.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import pytest

import rooflight
from laws.doors import ask
from laws.doors.questions import Question, asked, questions
from rooflight.answers.diagnose.benchmarks import BenchmarksFound, RunFound
from rooflight.answers.diagnose.points import points
from rooflight.answers.diagnose.report import findings
from rooflight.answers.diagnose.setting import setting
from rooflight.library.questions import devices_of, model
from rooflight.units import scaled
from rooflight.values.recorded import Recorded, Spread, Watched
from rooflight.words.diagnosis.series import percent

NUMBER = 34
MS = 0.001
# Times per token over the step's ceiling, by turns: from nearly as fast as physics allows to what no ceiling explains.
SLOWER = (1.05, 1.5, 2.0, 7.0, 40.0)
LOAD = ("batch", "isl", "osl")
# Of quotients whose terms are multiplied in another order.
LAST_DIGIT = 1e-14


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """A question with a time per token, and what analyze says of its decode step."""

    one: Question
    tpot_ms: float
    phase: Any

    @property
    def layout(self) -> dict[str, Any]:
        """What is said of the deployment, as keywords."""
        return {name: value for name, value in asked(self.one).items() if name not in (*LOAD, "on")}

    @property
    def point(self) -> str:
        """The measurement as a person types it."""
        return f"batch={self.one.batch} isl={self.one.isl} osl={self.one.osl} tpot_ms={self.tpot_ms!r}"


@functools.cache
def steps() -> tuple[Step, ...]:
    """Those of the list whose step memory holds."""
    found = []
    for place, one in enumerate(questions(NUMBER)):
        phase = rooflight.analyze(one.model, **asked(one)).phases.get("decode")
        if phase is not None:
            found.append(Step(one, phase.time_s.ceiling / MS * SLOWER[place % len(SLOWER)], phase))
    return tuple(found)


@functools.cache
def explained(step: Step) -> dict[str, float]:
    fields = {name: value for name, value in asked(step.one).items() if name != "on"}
    found = rooflight.explain(model=step.one.model, on=step.one.on, tpot_ms=step.tpot_ms, **fields)
    return dict(found.values)


@functools.cache
def checked(step: Step) -> dict[str, Any]:
    row = {**ask.row_of(step.one, "decode", "tpot_ms"), "value": step.tpot_ms}
    return rooflight.check([row]).rows[0].to_dict()


@functools.cache
def diagnosed(step: Step) -> RunFound:
    """What diagnose finds of the run, before it is put into words."""
    record = Recorded(file="points", format="points", records=points([step.point]))
    at = setting([record], model(step.one.model), devices_of(step.one.on), step.layout)
    ((name, found),) = findings([record], at).found
    assert (name, type(found)) == ("benchmarks", BenchmarksFound)
    return found.runs[0]


@functools.cache
def watched(step: Step) -> dict[str, float]:
    """The row of an engine that runs so many at that time per token, as monitoring shows it, with its traffic."""
    row = Watched(
        subject="vllm at host:8000", kind="engine", span="interval", seconds=60.0, running=float(step.one.batch),
        waiting=0.0, isl=float(step.one.isl), osl=float(step.one.osl), tpot_s=Spread(mean=step.tpot_ms * MS),
    )  # fmt: skip
    seen = Recorded(file="metrics", format="vllm-metrics", watched=(row,))
    found = rooflight.diagnose(seen, model=step.one.model, on=step.one.on, **step.layout)
    (regime,) = found.regimes
    traffic = next(one.value for one in found.evidence if one.what == "memory traffic by arithmetic of the step")
    return {**regime.values, "bytes_per_s": traffic}


def all_of(step: Step) -> str:
    return f"{step.one} at {step.tpot_ms} ms"


def test_there_are_steps_of_many_kinds():
    several = steps()

    assert len(several) >= 25
    assert {step.phase.bound for step in several} >= {"memory", "launch"}
    assert len({step.one.card for step in several}) > 20


def test_every_door_has_one_ceiling_of_the_step():
    for step in steps():
        ceiling_s = step.phase.time_s.ceiling
        beside = diagnosed(step).beside

        assert explained(step)["ceiling_s"] == ceiling_s, all_of(step)
        assert checked(step)["ceiling"] == ceiling_s / MS, all_of(step)
        assert beside.step.ceiling_s == ceiling_s, all_of(step)
        assert beside.batch == step.one.batch, all_of(step)


def test_every_door_has_one_expectation_of_the_step():
    """Without a time to the first token nobody says that prompts of others came between: a batch in lock-step."""
    for step in steps():
        judged = dict(diagnosed(step).beside.judged)["tpot_ms"]
        expected = step.phase.time_s

        assert checked(step)["expected"] == expected.expected / MS, all_of(step)
        assert (judged.span.expected, judged.span.low, judged.span.high) == tuple(
            checked(step)[name] for name in ("expected", "low", "high")
        ), all_of(step)
        assert judged.verdict == checked(step)["verdict"], all_of(step)


def test_every_door_has_one_share_of_the_ceiling():
    for step in steps():
        share = explained(step)["of_ceiling"]

        assert diagnosed(step).beside.of_step == share, all_of(step)
        assert watched(step)["of_ceiling"] == pytest.approx(share, rel=LAST_DIGIT), all_of(step)
        assert checked(step)["over_ceiling"] == pytest.approx(share, rel=LAST_DIGIT), all_of(step)


@pytest.mark.parametrize("name", ["mbu", "mfu"])
def test_every_door_has_one_use_of_the_machine(name):
    """MBU and MFU of a time are those of another time, as the times are to each other."""
    for step in steps():
        used = checked(step)[name]
        of_expected = getattr(step.phase, name) * step.phase.time_s.expected / (step.tpot_ms * MS)

        assert watched(step)[name] == pytest.approx(used, rel=LAST_DIGIT), all_of(step)
        assert explained(step)[name] == pytest.approx(used, rel=LAST_DIGIT), all_of(step)
        assert used == pytest.approx(of_expected, rel=LAST_DIGIT), all_of(step)


def test_every_door_has_one_traffic_of_memory():
    """Of a device where monitoring says it, of all of them where explain does."""
    for step in steps():
        of_all = watched(step)["bytes_per_s"] * step.one.count

        assert of_all == pytest.approx(explained(step)["bytes_per_s"], rel=LAST_DIGIT), all_of(step)


def test_the_sentence_has_the_ceiling_and_the_share_that_were_found():
    for step in steps()[::4]:
        found = rooflight.diagnose(points=[step.point], model=step.one.model, on=step.one.on, **step.layout)
        said = f"{scaled(step.phase.time_s.ceiling, 's')} at {step.one.batch} in flight"

        assert any(said in one.what for one in found.evidence), all_of(step)
        if "of its step's ceiling" in found.answer:
            share = explained(step)["of_ceiling"]
            assert f"{percent(share)} of the speed of its step's ceiling ({said})" in found.answer, all_of(step)


def test_a_step_that_memory_does_not_hold_has_the_ceiling_of_those_that_were_stated():
    """What was run was run elsewhere then: explain and diagnose count the same sequences, and check as many."""
    compared = 0
    for one in questions(NUMBER):
        if rooflight.analyze(one.model, **asked(one)).memory.max_batch != 0:
            continue
        step = Step(one, 50.0, None)
        beside = diagnosed(step).beside
        if beside.step is not None:
            compared += 1
            assert explained(step)["ceiling_s"] == beside.step.ceiling_s, all_of(step)
            assert checked(step)["ceiling"] == beside.step.ceiling_s / MS, all_of(step)
            assert beside.batch == one.batch, all_of(step)
    assert compared >= 3

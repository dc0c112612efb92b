"""A studio that was started with your own calibration: of all scenarios what is expected is by that."""

from __future__ import annotations

import shlex
from pathlib import Path

import anyio
import pytest

pytest.importorskip("pydantic", reason="needs the extra `studio`")

import rooflight
from rooflight.studio import own as owns
from rooflight.studio.answered import focused
from rooflight.studio.drawings import page_look
from rooflight.studio.page import Page
from rooflight.studio.picture import picture
from rooflight.studio.question import Question, scenario_of
from rooflight.studio.workers import Workers
from rooflight.words.analysis import analyzed

ROWS = Path(__file__).parents[3] / "docs/examples/own-rows.csv"
ASKED = {"on": "h100-sxm", "engine": "vllm", "batch": 8}


@pytest.fixture
def own():
    found = owns.Own("own rows.toml", rooflight.calibrate(ROWS))
    yield found
    owns.under(None, lambda: None)


def test_what_is_expected_is_by_that(own):
    plain = analyzed(scenario_of(Question(**ASKED)))
    found = owns.under(own, lambda: analyzed(scenario_of(Question(**ASKED))))
    by_library = rooflight.analyze(Question().model, calibration=own.calibration, **ASKED)

    assert found.runs["served"].tpot_s == by_library.runs["served"].tpot_s
    assert found.runs["served"].tpot_s.expected > plain.runs["served"].tpot_s.expected
    assert found.answer == by_library.answer


def test_the_printed_command_names_the_file_as_it_was_named(own):
    made = owns.under(own, picture, Page(scenarios=[Question(**ASKED)], tpot_slo_ms=20), page_look(800, False))
    for name in ("rooflight", "goals"):
        assert shlex.split(made.commands[name])[-2:] == ["--calibration", "own rows.toml"]


def test_without_one_nothing_is_changed():
    assert owns.own() is None
    assert focused(Page(scenarios=[Question(**ASKED)])).scenario.deployment.calibration is None


def test_every_process_that_answers_has_it(own):
    """Also one that takes the place of one that was ended: it comes with each question."""

    async def asked():
        return await Workers(1, own=own)(owns.own)

    found = anyio.run(asked)
    assert (found.file, found.calibration.to_dict()) == (own.file, own.calibration.to_dict())

"""The judge sees what it is there for: a fuzzer that finds nothing must not be one that looks at nothing."""

from __future__ import annotations

import math
from random import Random

import click
import pytest

import rooflight.library.questions
from fuzz.cases import KINDS, Case
from fuzz.judge import broken_laws, ended

GOOD = {"ceiling": 1.0, "roofline": 2.0, "expected": 3.0, "low": 2.5, "high": 4.0}
ASKED = Case(("analyze", "llama-3.1-8b", "--on", "h100", "--json"))


def kinds(found) -> list[str]:
    return [kind for kind, _ in found]


@pytest.mark.parametrize("change", [{"roofline": 0.5}, {"expected": 1.5}, {"low": 0.5}, {"high": 2.9}])
def test_a_span_out_of_order(change):
    rate = {name: 1 / value for name, value in (GOOD | change).items()} | {
        "low": 1 / (GOOD | change)["high"],
        "high": 1 / (GOOD | change)["low"],
    }
    assert not kinds(broken_laws({"time_s": GOOD}))
    assert set(kinds(broken_laws({"a": [{"time_s": GOOD | change}]}))) == {"out of order"}
    assert set(kinds(broken_laws({"tokens_per_s": rate}))) == {"out of order"}
    assert kinds(broken_laws({"x": math.nan})) == ["not finite"]


@pytest.mark.parametrize(
    "error, kind",
    [(ZeroDivisionError("x"), "status 70"), (click.exceptions.Exit(5), "status 5"), (SystemError("x"), "status 70")],
)
def test_an_exception_and_a_status(monkeypatch, tmp_path, error, kind):
    def analyze(*_, **__):
        raise error

    monkeypatch.setattr(rooflight.library.questions, "analyze", analyze)
    assert kind in kinds(ended(ASKED, tmp_path).faults)


def test_what_is_no_json(monkeypatch, tmp_path):
    monkeypatch.setattr("rooflight.show.data.write_json", lambda value, stream: stream.write('{"a": NaN}'))
    assert kinds(ended(ASKED, tmp_path).faults) == ["no JSON"]


def test_rows_that_vanish_and_formulas(monkeypatch, tmp_path):
    rows = b"model,accelerator,metric,value,note\nllama-3.1-8b,h100,tpot_ms,30,=x\n"
    asked = Case(("check", "rows.csv", "--json"), {"rows.csv": rows}, lines=2)
    assert kinds(ended(asked, tmp_path).faults) == ["rows vanished"]
    assert not ended(asked._replace(lines=1), tmp_path).faults
    monkeypatch.setattr("rooflight.show.data.harmless", lambda cell: cell)
    assert kinds(ended(asked._replace(words=("check", "rows.csv", "--format", "csv")), tmp_path).faults) == ["formula"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_is_told_by_its_seed(kind):
    assert KINDS[kind](Random("1/2")) == KINDS[kind](Random("1/2"))

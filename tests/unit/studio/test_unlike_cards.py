"""Unlike cards and a prefill pool on a page: asked like any other card, and no name opens a file."""

from __future__ import annotations

import json

import pytest

import rooflight
from rooflight.errors import RooflightError

pytest.importorskip("fastapi")

from rooflight.serve.phases import decode
from rooflight.show.explain import explain
from rooflight.studio.question import Question, scenario_of

BOTH = "rtx-4090+rtx-3090"
LLAMA = "meta-llama/Meta-Llama-3.1-8B"


def asked(**fields):
    return scenario_of(Question(**fields))


def test_a_page_may_ask_for_unlike_cards():
    sc = asked(on=BOTH)

    assert [stage.layers for stage in sc.rates.unlike] == [16, 16]
    assert sc.devices == BOTH


def test_rates_of_what_if_are_those_of_each_card():
    plain, faster = asked(on=BOTH), asked(on=BOTH, bandwidth_times=2.0)

    assert decode(faster).time.ceiling_s == pytest.approx(decode(plain).time.ceiling_s / 2, rel=1e-3)
    assert [one.id for one in faster.accelerator.joined] == ["rtx-4090 (what if)", "rtx-3090 (what if)"]


def test_a_page_may_ask_for_a_prefill_pool():
    assert asked(on="l40s", prefill_on="h100-sxm").deployment.prefill_on == "h100-sxm"


@pytest.mark.parametrize("fields", [
    {"on": "rtx-4090+mine.toml"}, {"on": "2xmine.toml"}, {"on": "rtx-4090+this"}, {"prefill_on": "mine.toml"},
    {"prefill_on": "this"}, {"prefill_on": "-"}, {"host_cpu": "mine.toml", "n_gpu_layers": 4},
])  # fmt: skip
def test_no_name_of_a_page_opens_a_file(fields, tmp_path, monkeypatch):
    from rooflight.catalog.accelerators import shipped

    entry = shipped("rtx-4090")
    assert entry is not None
    (tmp_path / "mine.toml").write_text('id = "mine"\nname = "mine"\nvendor = "me"\nfamily = "Ada"\nkind = "gpu"\n')
    monkeypatch.chdir(tmp_path)

    with pytest.raises(RooflightError, match="no accelerator is called"):
        asked(**fields)


@pytest.mark.parametrize(("question", "on", "fields"), [
    ({"on": "rtx-4090+2xrtx-3090", "batch": 8}, "rtx-4090+2xrtx-3090", {"batch": 8}),
    ({"on": "l40s", "prefill_on": "h100-sxm"}, "l40s", {"prefill_on": "h100-sxm"}),
])  # fmt: skip
def test_a_page_answers_what_the_library_answers(studio, question, on, fields):
    answer = studio.post("/api/analyze", question)

    assert answer.status_code == 200
    assert answer.json() == json.loads(json.dumps(rooflight.analyze(LLAMA, on, **fields).to_dict()))


def test_an_operator_is_explained_by_the_card_that_runs_it():
    """The 3090's 936 GB/s, not the mean of both."""
    for card, rate in (("rtx-3090", "936"), ("rtx-4090", "1.01")):
        lines = explain(asked(on=BOTH), "decode", f"gate_up ({card})").lines
        assert any(term.text.startswith(rate) for line in lines for term in line.terms)
    on_h100 = explain(asked(on="l40s", prefill_on="h100-sxm"), "prefill", "gate_up").lines
    assert any(term.text.startswith("3.35") for line in on_h100 for term in line.terms)

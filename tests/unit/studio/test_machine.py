"""A measured machine in the studio: its file and samples come as text, are read in memory, and are in no address."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rooflight
from rooflight.studio import question as questions
from rooflight.studio.commands import rooflight as command
from rooflight.studio.page import Page
from rooflight.studio.question import MACHINE, MOST_MACHINE, MOST_SAMPLES, Question
from rooflight.studio.state import query_of, read_query

FILE = Path(__file__).parents[2] / "measured_h100.toml"
TEXT = FILE.read_text(encoding="utf-8")
MODEL = "meta-llama/Meta-Llama-3.1-8B"
KERNEL = {
    "schema": "rooflight.sample/1", "kind": "kernel", "name": "gemm", "operator": "qkv", "compute": "bf16",
    "flop": 2.0e9, "bytes": 1.0e8, "time_s": {"median": 1e-4, "low": 0.9e-4, "high": 1.2e-4, "n": 9},
}  # fmt: skip
SAMPLES = json.dumps(KERNEL) + "\n"


def test_the_card_is_that_machine_and_its_dots_lie_under_both_roofs(studio):
    answer = studio.post("/api/picture", {"scenarios": [{"on": MACHINE, "machine": TEXT}], "samples": SAMPLES})
    assert answer.status_code == 200
    picture = answer.json()
    own = rooflight.analyze(MODEL, on=str(FILE))

    assert picture["answer"] == own.answer
    assert picture["analysis"]["accelerator"] == json.loads(json.dumps(own.to_dict()["accelerator"]))
    roofs = {(row["kind"], row["line"]) for row in picture["datasets"]["roofs"]}
    assert roofs == {("measured", "solid"), ("datasheet", "dashed"), ("level", "dotted")}
    (dot,) = picture["datasets"]["samples"]
    assert (dot["x"], dot["y"], dot["operator"]) == (2.0e9 / 1.0e8, 2.0e9 / 1e-4, "qkv")


def test_it_stands_beside_cards_of_the_catalog(studio):
    mine = {"on": f"2x{MACHINE}", "machine": TEXT}
    page = {"scenarios": [{"on": "h100-sxm"}, mine], "focus": 1, "samples": SAMPLES}
    picture = studio.post("/api/picture", page).json()

    assert picture["analysis"]["accelerator"]["id"] == "our-h100"
    assert picture["analysis"]["deployment"]["devices"] == 2
    assert picture["analysis"] == json.loads(json.dumps(rooflight.analyze(MODEL, on=f"2x{FILE}").to_dict()))
    assert [line["missing"] for line in picture["figures"]] == ["", ""]
    assert studio.post("/api/export?form=svg", page).status_code == 200
    assert studio.post("/api/landmarks", mine).json()["accelerator"] == "our-h100"


def test_another_file_is_another_machine(studio):
    """What is kept of a machine hangs on its text, not on its name: half the bandwidth, nearly twice the time."""
    slower = TEXT.replace("median = 3.0e12", "median = 1.5e12").replace("low = 2.95e12", "low = 1.0e12")
    page = {"scenarios": [{"on": MACHINE, "machine": text} for text in (TEXT, slower)]}
    times = [
        studio.post("/api/picture", {**page, "focus": focus}).json()["analysis"]["phases"]["decode"]["time_s"][
            "roofline"
        ]
        for focus in (0, 1)
    ]

    assert times[1] > 1.9 * times[0]


@pytest.mark.parametrize(
    ("asked", "field", "said"),
    [
        ({"on": MACHINE}, "on", "no machine's file"),
        ({"on": MACHINE, "machine": "id ="}, "machine", "is not TOML"),
        ({"on": MACHINE, "machine": 'id = "x"\n[measured]\n'}, "machine", "another kind"),
        (
            {"on": MACHINE, "machine": TEXT.replace("best = 3.03e12", "best = -1")},
            "machine",
            "none that a machine",
        ),
        ({"on": MACHINE, "machine": TEXT + "x" * MOST_MACHINE}, "machine", "at most"),
        ({"samples": "{}"}, "samples", "holds no sample"),
        ({"samples": "\x00"}, "samples", "holds no sample"),
        ({"samples": " " * (MOST_SAMPLES + 1)}, "samples", "at most"),
        ({"machine": 7}, "machine", "string"),
    ],
)
def test_a_refusal_names_its_field(studio, asked, field, said):
    asked = dict(asked)
    samples = {"samples": asked.pop("samples")} if "samples" in asked else {}
    answer = studio.post("/api/picture", {"scenarios": [{"batch": 3}, asked], "focus": 1, **samples})
    assert answer.status_code == 422
    (problem,) = answer.json()["problems"]
    assert problem["field"] == field
    assert said in problem["what"]


@pytest.mark.parametrize("name", ["this", "8xthis", "THIS", str(FILE), "tests/measured_h100.toml"])
def test_strangers_reach_neither_files_nor_the_hosts_own_measurement(studio, name, tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLIGHT_DATA_HOME", str(tmp_path))
    (tmp_path / "rooflight").mkdir()
    (tmp_path / "rooflight" / "this.toml").write_text(TEXT)
    answer = studio.post("/api/analyze", {"on": name})
    assert answer.status_code == 422
    assert "our-h100" not in answer.text


def test_no_address_carries_it():
    """What stays of its scenario is the rest, on the card that a page opens with."""
    mine = Question(on=f"2x{MACHINE}", machine=TEXT, batch=4)
    page = Page(scenarios=[mine, Question(on="h200-sxm", batch=4)], focus=1, samples=SAMPLES)
    written = query_of(page)
    found, said = read_query(written)

    assert written.endswith("&own=machine,samples")
    assert found == Page(scenarios=[Question(batch=4), Question(on="h200-sxm", batch=4)], focus=1)
    assert said == [
        "the address does not carry the file of its machine, in whose place h100-sxm stands: drop the file here again",
        "the address does not carry its timed kernels: drop their file here again",
    ]
    assert read_query(query_of(Page(scenarios=[Question(on=MACHINE, machine=TEXT)])))[0] == Page()


def test_an_address_of_a_machine_that_is_not_there_says_what_stands_in_its_place():
    """Also of one that was asked for and never came: the next address does not drop it in silence."""
    asked, _ = read_query("c=l40s&2.c=your+machine")
    assert asked.scenarios[1].on == MACHINE
    page, said = read_query(query_of(asked))
    assert [one.on for one in page.scenarios] == ["l40s", "h100-sxm"]
    assert said == [
        "the address does not carry the file of its machine, in whose place h100-sxm stands: drop the file here again"
    ]


def test_the_command_line_names_its_file():
    assert "--on this.toml" in command(Question(on=MACHINE, machine=TEXT), MODEL)


def test_what_is_kept_is_bounded(studio):
    for number in range(40):
        studio.post("/api/analyze", {"on": MACHINE, "machine": f"{TEXT}\n# {number}"})
    assert len(questions._machines) <= 32

"""A GGUF file that is dropped: its header comes short, and the answer is that of the file."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight.catalog.files import gguf
from rooflight.catalog.files.source import of_bytes
from rooflight.errors import BadConfig
from rooflight.studio import commands
from rooflight.studio.page import Page, labels
from rooflight.studio.question import Gguf, Question, scenario_of
from rooflight.words.analysis import analyzed
from unit.catalog.files.test_folders import KEYS, blocks
from unit.catalog.files.writing import gguf as written

NAME = "mine-Q8_0.gguf"
# Entries that say nothing of the shape: a vocabulary, its scores, and a text that is cut.
LONG = {"tokenizer.ggml.tokens": ["a", "bc"] * 4000, "tokenizer.ggml.scores": [0.5] * 5000, "general.description": "x"}
WHOLE = written({**KEYS, **LONG}, blocks())


def sent(data: bytes = WHOLE, name: str = NAME):
    return {"name": name, "data": base64.b64encode(data).decode()}


def header(data: bytes):
    return gguf.header(of_bytes(data, NAME))


def test_a_short_header_says_the_same():
    short = gguf.shortened(of_bytes(WHOLE, NAME))
    full = header(WHOLE)

    assert len(short) < len(WHOLE) / 5
    assert header(short).tensors == full.tensors
    assert header(short).keys == {name: value for name, value in full.keys.items() if value is not None}


def test_the_answer_is_that_of_the_file(studio, tmp_path):
    file = tmp_path / NAME
    file.write_bytes(WHOLE)
    given = studio.post("/api/gguf", sent()).json()
    question = {"gguf": given, "on": "rtx-4090", "batch": 3}

    assert given["name"] == NAME
    by_file = json.loads(json.dumps(rooflight.analyze(str(file), "rtx-4090", batch=3).to_dict()))
    by_page = studio.post("/api/analyze", question).json()
    for part in ("model", "phases", "memory", "runs"):
        assert by_page[part] == by_file[part]


def test_it_is_named_in_labels_and_commands(studio):
    found = Question(gguf=Gguf(**studio.post("/api/gguf", sent()).json()))
    other = found.model_copy(update={"gguf": None})

    assert labels(Page(scenarios=[found, other]))[0].name.startswith("mine-Q8_0")
    told = commands.of(found, analyzed(scenario_of(found)))
    assert told["rooflight"].startswith(f"rooflight analyze {NAME} --on ")
    assert "/path/to/model" in told["vllm"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "mine-Q8_0.gguf"),
        (b"GGML" + bytes(40), "is no GGUF file"),
        (WHOLE[:900], ""),
        (WHOLE[: len(WHOLE) // 2], ""),
    ],
)
def test_what_is_no_whole_header_is_refused_at_its_field(studio, data, said):
    reply = studio.post("/api/gguf", sent(data))

    assert reply.status_code == 422
    assert said in reply.text


def test_a_header_that_is_no_base64_is_refused_at_its_field(studio):
    reply = studio.post("/api/picture", {"scenarios": [{"gguf": {"name": NAME, "data": "%%%"}}]})

    assert reply.status_code == 422
    assert reply.json()["problems"][0]["field"] == "gguf"


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=8))
def test_no_bytes_end_the_reading_otherwise(place, other):
    broken = WHOLE[:place] + other + WHOLE[place + len(other) :]
    try:
        short = gguf.shortened(of_bytes(broken, NAME))
    except BadConfig:
        return
    assert gguf.shortened(of_bytes(short, NAME)) == short


CUT = {"split.count": 2, "split.tensors.count": len(blocks())}
SPLIT = [
    written({**KEYS, **LONG, **CUT, "split.no": 0}, blocks()[:5]),
    written({"general.architecture": "llama", **CUT, "split.no": 1}, blocks()[5:]),
]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_parts_of_a_split_file_are_one_model(studio, order):
    """In whatever order they come; the answer is that of the file in one."""
    one, other = (sent(SPLIT[place], f"mine-0000{place + 1}-of-00002.gguf") for place in order)
    joined = studio.post("/api/gguf", {**one, "others": [other]}).json()
    whole = studio.post("/api/gguf", sent()).json()

    assert header(base64.b64decode(joined["data"])).tensors == header(base64.b64decode(whole["data"])).tensors
    question = Question(gguf=Gguf(**joined))
    assert question.model_name.startswith("mine-0000")
    assert analyzed(scenario_of(question)).model.id == "mine"
    alike = analyzed(scenario_of(Question(gguf=Gguf(**whole))))
    assert analyzed(scenario_of(question)).memory == alike.memory


def test_a_part_of_a_split_file_is_refused_with_its_number_and_what_would_do(studio):
    """Counted from 0 in the file, from 1 in its name."""
    second = written({"general.architecture": "llama", "split.count": 3, "split.no": 1}, blocks())
    refused = studio.post("/api/gguf", sent(second, "mine-00002-of-00003.gguf"))
    (problem,) = refused.json()["problems"]

    assert refused.status_code == 422
    assert problem["field"] == "gguf"
    assert problem["what"] == "mine-00002-of-00003.gguf is part 2 of 3 parts, which are one model together"
    assert problem["want"].startswith("all parts, named NAME-00001-of-00003.gguf")

"""`-` in place of a file: a model, a card, measurements, a log; once in a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rooflight.cli.app import app

CARD = (Path(__file__).parents[3] / "docs" / "examples" / "my-card.toml").read_text()


@pytest.fixture
def piped(models):
    """Run a command line with something on standard input."""

    def run(given: str | bytes, *words: str) -> Result:
        return CliRunner().invoke(app, [models.get(word, word) for word in words], input=given)

    return run


@pytest.mark.parametrize("command", [("analyze",), ("sweep", "--batch", "1,2"), ("compare",), ("moves",)])
def test_a_config(piped, models, command):
    name, *options = command
    given = Path(models["8b"]).read_text()
    document = json.loads(piped(given, name, "-", "--on", "h100-sxm", *options, "--json").stdout)
    model = document["model"]["id"] if name == "analyze" else document["model"]
    assert model == "config"


def test_a_config_is_there_for_the_picture_too(piped, models, tmp_path):
    pytest.importorskip("altair")
    path = tmp_path / "a.svg"
    result = piped(Path(models["8b"]).read_text(), "analyze", "-", "--on", "h100-sxm", "-o", str(path))
    assert result.exit_code == 0
    assert path.read_text().startswith("<svg")


def test_a_card(piped):
    assert json.loads(piped(CARD, "accelerators", "-", "--json").stdout)["accelerator"]["id"] == "my-card"
    document = json.loads(piped(CARD, "analyze", "8b", "--on", "2x-", "--json").stdout)
    assert (document["accelerator"]["id"], document["accelerator"]["count"]) == ("my-card", 2)


def test_measurements_and_a_log(piped):
    rows = "model,accelerator,metric,value\nllama-3.1-8b,h100-sxm,tpot_ms,30\n"
    assert json.loads(piped(rows, "check", "-", "--json").stdout)["summary"]["judged"] == 1
    log = piped("isl,osl\n7,3\n", "compare", "8b", "--on", "h100-sxm", "--log", "-", "--json")
    assert json.loads(log.stdout)["mix"]["source"] == "standard input"


@pytest.mark.parametrize(
    "words, got",
    [
        (("analyze", "-", "--on", "-"), "MODEL -, --on -"),
        (("analyze", "-", "--on", "8x-"), "MODEL -, --on -"),
        (("compare", "8b", "--on", "-,h100", "--log", "-"), "--on -, --log -"),
        (("sweep", "8b", "--on", "-,-", "--batch", "1,2"), "--on -, --on -"),
    ],
)
def test_twice_in_a_command(piped, words, got):
    result = piped(CARD, *words)
    assert result.exit_code == 2
    assert result.stderr.startswith("standard input can be read once\n")
    assert got in result.stderr


@pytest.mark.parametrize(
    "given, words, said",
    [
        ("", ("analyze", "-", "--on", "h100"), "standard input is empty"),
        (b"\xff\xfe\x00", ("analyze", "-", "--on", "h100"), "standard input is not text"),
        (b"\x80\x81", ("accelerators", "-"), "standard input is not text"),
        (b"GGUF\0\0", ("models", "-"), "a weight file is read by its path"),
        ("value = nan", ("accelerators", "-"), "'value' is not a key"),
        (CARD.replace("value  = ", "value  = nan # "), ("accelerators", "-"), "the value is not a positive number"),
        (CARD.replace("value  = ", "value  = inf # "), ("accelerators", "-"), "the value is not a positive number"),
        ("", ("check", "-"), "standard input is empty"),
    ],
)  # fmt: skip
def test_what_is_none_is_said(piped, given, words, said):
    result = piped(given, *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "standard input" in result.stderr


@pytest.mark.parametrize(
    "words", [("analyze", "8b", "--on", "2x{card}"), ("sweep", "8b", "--on", "h100,{card}"), ("accelerators", "{card}")]
)
def test_an_answer_is_not_written_over_what_it_is_made_of(piped, tmp_path, words):
    card = tmp_path / "card.json"
    card.write_text(CARD)
    result = piped("", *(word.format(card=card) for word in words), "-o", str(card))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"the answer would overwrite {card}, which it is made of\n")
    assert card.read_text() == CARD

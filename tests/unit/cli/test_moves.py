"""`rooflight moves` from the prompt: the sentence, the tables, rows, JSON, and refusals in words."""

from __future__ import annotations

import csv
import io
import json

import pytest


def test_it_starts_with_the_best_move(ask):
    result = ask("moves", "8b", "--on", "h100-sxm", "--batch", "8")
    assert result.exit_code == 0
    first = " ".join(result.stdout.split("\n\n")[0].split())
    assert "improves output tokens per second per accelerator" in first
    for heading in ("On the same machine:", "Another machine:", "Do nothing for it:", "Often believed"):
        assert heading in result.stdout


def test_json_and_csv_hold_every_move(ask):
    words = ("moves", "8b", "--on", "h100-sxm", "--for", "latency")
    document = json.loads(ask(*words, "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(ask(*words, "--format", "csv").stdout)))
    assert document["schema"] == "rooflight.moves/1"
    assert [row["title"] for row in rows] == [move["title"] for move in document["moves"]]
    assert float(rows[0]["gains.request.expected"]) == document["moves"][0]["gains"]["request"]["expected"]


def test_what_does_not_fit_asks_for_what_would(ask):
    result = ask("moves", "70b", "--on", "h100-sxm")
    assert result.exit_code == 0
    assert "It would with" in " ".join(result.stdout.split())


def test_nothing_that_fits_is_exit_1(ask):
    """671 G parameters: no layout, format or card that is tried holds them, nor one layer of them."""
    result = ask("moves", "deepseek-v3", "--on", "gtx-1650-super")
    assert result.exit_code == 1
    assert "No move tried makes it fit" in " ".join(result.stdout.split())


def test_prices_and_cards_are_taken_from_the_line(ask):
    words = ("moves", "8b", "--on", "h100-sxm", "--for", "cost", "--cards", "l40s")
    priced = json.loads(ask(*words, "--price", "h100-sxm=2.5", "--price", "l40s=0.9", "--json").stdout)
    (card,) = [move for move in priced["moves"] if move["title"].endswith("to l40s")]
    assert "cost" in card["gains"]
    assert priced["before"]["usd_per_million_tokens"]["expected"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--price", "2.5"), "is no price"),
        (("--price", "h100-sxm=cheap"), "is no amount"),
        (("--price", "h1000=1"), "h1000"),
        (("--for", "speed"), "is not one of throughput, latency, ttft, cost"),
        (("--acceptance", "1.5"), "acceptance is out of range"),
        (("--hit-rate", "-1"), "hit-rate is out of range"),
        (("--speculate", "0"), "speculate is out of range"),
        (("--draft-share", "2"), "draft-share is out of range"),
        (("--price", "h100-sxm=0"), "no accelerator has such a price"),
        (("--price", "2xh100-sxm=4"), "a price is that of one accelerator"),
        (("--price", "h100=1", "--price", "h100-sxm=2"), "h100-sxm has two prices"),
        (("--cards", "nothing"), "nothing"),
        ((), "no accelerator was named"),
    ],
)
def test_bad_words_are_refused(ask, words, said):
    on = () if not words else ("--on", "h100-sxm")
    result = ask("moves", "8b", *on, *words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


@pytest.mark.slow  # draws pictures
def test_arrows_lead_to_the_best_settings(ask, tmp_path):
    file = tmp_path / "arrows.svg"
    result = ask("moves", "8b", "--on", "h100-sxm", "--batch", "8", "--chart", "roofline", "-o", str(file))
    assert result.exit_code == 0
    assert "batch 8 to" in " ".join(file.read_text().split())

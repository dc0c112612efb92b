"""Documents, rows and notebook pages of every kind of answer are those of the command line."""

import csv
import json
from io import StringIO
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import rooflight
from rooflight.cli.app import app
from rooflight.errors import MissingExtra, UnknownName
from rooflight.show import answers
from rooflight.show.blocks import Table
from rooflight.show.charts import draw

SMALL = "HuggingFaceTB/SmolLM2-135M"
ROW = {"model": SMALL, "accelerator": "h100-sxm", "metric": "tpot_ms", "value": 2.0, "batch": 1}
ASKED = {
    "analyze": (lambda: rooflight.analyze(SMALL, on="h100-sxm", batch=4), ("analyze", SMALL, "--batch", "4")),
    "sweep": (
        lambda: rooflight.sweep(SMALL, "h100-sxm", {"batch": [1, 2, 100_000]}),
        ("sweep", SMALL, "--batch", "1,2,100000"),
    ),
    "runs": (
        lambda: rooflight.sweep(SMALL, "h100-sxm", {"batch": [1, 2]}, schedule="served"),
        ("sweep", SMALL, "--batch", "1,2", "--schedule", "served"),
    ),
    "compare": (lambda: rooflight.compare(SMALL, on=["h100-sxm"]), ("compare", SMALL)),
    "moves": (lambda: rooflight.moves(SMALL, on="h100-sxm"), ("moves", SMALL)),
    "claim": (
        lambda: rooflight.claim(SMALL, on="h100-sxm", tpot_ms=2.0),
        ("check", "--model", SMALL, "--tpot-ms", "2"),
    ),
}
VALUES = {
    **{name: ask for name, (ask, _) in ASKED.items()},
    "check": lambda: rooflight.check(ROW),
    "models": lambda: rooflight.models("SmolLM2"),
    "accelerators": lambda: rooflight.accelerators("h100"),
    "model": lambda: rooflight.model(SMALL),
    "accelerator": lambda: rooflight.accelerator("h100-sxm"),
}
CHARTED = {"analyze", "sweep", "runs", "compare", "moves", "claim", "check"}


def printed(words, form):
    return CliRunner().invoke(app, [*words, "--on", "h100-sxm", "--format", form]).stdout


@pytest.mark.parametrize("name", ASKED)
def test_to_dict_is_the_document(name):
    ask, words = ASKED[name]

    assert json.loads(json.dumps(ask().to_dict())) == json.loads(printed(words, "json"))


@pytest.mark.parametrize("name", ASKED)
def test_records_are_the_rows_of_the_csv(name):
    ask, words = ASKED[name]
    table = list(csv.DictReader(StringIO(printed(words, "csv"))))
    records = ask().records()

    assert [list(row) for row in records] == [list(row) for row in table]
    said = [["" if one is None else str(one).lower() for one in row.values()] for row in records]
    assert said == [[text.lower() for text in row.values()] for row in table]


def test_records_of_rows_have_the_rows_own_columns():
    (row,) = rooflight.check(ROW).records()

    assert (row["model"], row["value"], row["verdict"]) == (SMALL, "2.0", "slow")


def test_columns_of_steps_are_those_of_the_records():
    """Those of a decode step that hold one number; the array's `context` and rates of a user are there too.

    What there is none of, as the host's terms where nothing lies there, is no number in arrays and None in records.
    """
    swept = rooflight.sweep(SMALL, "h100-sxm", {"batch": [1, 2], "context": [0, 64]})
    columns, records = swept.columns(), swept.records()

    assert list(columns) == list(records[0])
    assert {name: [None if one != one else one for one in values.tolist()] for name, values in columns.items()} == {
        name: [row[name] for row in records] for name in columns
    }


@pytest.mark.parametrize("name", VALUES)
def test_pandas_takes_records_as_they_are(name):
    pandas = pytest.importorskip("pandas")
    records = VALUES[name]().records()
    frame = pandas.DataFrame(records)

    assert list(frame.columns) == list(records[0])
    assert len(frame) == len(records)


@pytest.mark.parametrize("name", VALUES)
def test_a_notebook_without_charts_shows_the_page(name, monkeypatch):
    def missing(*_, **__):
        raise MissingExtra("charts are not installed", try_this="pip install 'rooflight[charts]'")

    monkeypatch.setattr(draw, "chart", missing)
    shown = VALUES[name]()._repr_mimebundle_()

    assert set(shown) == {"text/html", "text/markdown", "text/plain"}
    assert shown["text/markdown"].startswith("**")
    assert shown["text/html"].startswith("<div><p><strong>")
    assert ("pip install" in shown["text/html"]) == (name in CHARTED)
    assert ("pip install" in shown["text/markdown"]) == ("pip install" in shown["text/plain"]) == (name in CHARTED)


@pytest.mark.parametrize("ask", [rooflight.document, rooflight.records, rooflight.display])
def test_what_is_no_answer_is_refused(ask):
    with pytest.raises(UnknownName, match="this is no answer"):
        ask(3)


@pytest.mark.parametrize("name", VALUES)
def test_the_html_of_an_answer_has_every_cell_of_its_tables(name):
    """Words and numbers are those of the page, as text in elements that close."""
    value = VALUES[name]()
    tables = [block for block in answers._shower(value).blocks(value) if isinstance(block, Table)]
    root = ElementTree.fromstring(answers.hypertext(value).replace("<br>", "<br/>"))
    shown = ["\n".join(cell.itertext()) for row in root.iter("tr") for cell in row]

    assert shown == [cell for table in tables for row in (table.heads, *table.rows) for cell in row]
    assert len(answers.hypertext(value)) < 400_000

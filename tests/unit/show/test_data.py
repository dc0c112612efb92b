"""JSON and CSV."""

from __future__ import annotations

import io
import json
import math

from rooflight.show import data
from rooflight.show.data import Rows


def test_what_is_no_number_is_null():
    assert json.loads(data.encode({"a": math.nan, "b": math.inf})) == {"a": None, "b": None}


def test_a_name_that_is_not_utf8_is_still_json():
    assert json.loads(data.encode({"name": "a\udce9"})) == {"name": "a\udce9"}


def test_flat_paths():
    assert data.flat({"a": 1, "b": {"c": 2, "d": {"e": 3}}, "f": [1, 2]}) == {"a": 1, "b.c": 2, "b.d.e": 3, "f": "1 2"}


def test_csv():
    stream = io.StringIO()
    data.write_csv(data.rows_of([{"a": True, "b": None}, {"a": "x,y", "c": 0.1}]), stream)
    assert stream.getvalue() == 'a,b,c\ntrue,,\n"x,y",,0.1\n'


def test_rows_are_asked_for_as_they_are_written():
    """A million rows are never held at once."""
    held: list[int] = []

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            held.append(made - written[0])
            written[0] += text.count("\n")
            return len(text)

    made, written = 0, [0]

    def rows():
        nonlocal made
        for number in range(20_000):
            made += 1
            yield (number,)

    data.write_csv(Rows(("n",), rows()), Stream())
    assert written[0] == 20_001
    assert max(held) <= 2_001


def test_a_name_that_is_not_utf8_is_a_whole_document_too():
    stream = io.StringIO()
    data.write_json({"name": "a\udce9", "value": math.nan}, stream)
    assert json.loads(stream.getvalue()) == {"name": "a\udce9", "value": None}


def test_csv_has_no_formulas():
    stream = io.StringIO()
    data.write_csv(Rows(("=a", "b"), [("=cmd|' /C calc'!A0", -3.5), ("-3.5", "@x")]), stream)
    assert stream.getvalue() == "'=a,b\n'=cmd|' /C calc'!A0,-3.5\n-3.5,'@x\n"

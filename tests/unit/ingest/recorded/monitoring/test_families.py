"""The text that Prometheus scrapes, line by line: what is a series, what is left out, where a scrape ends."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.ingest.recorded.monitoring.families import exposed, scrapes

NAMES = st.from_regex(r"[a-z_:][a-z0-9_:]{0,8}", fullmatch=True)
LABELS = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), st.text(max_size=12), max_size=3)
VALUES = st.floats(allow_nan=False) | st.integers(-(10**9), 10**9)


def read(text):
    notes: list[str] = []
    return scrapes(text, lambda name: True, notes), notes


def written(name, labels, value):
    """A line as Prometheus clients write it."""
    escape = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    inside = ",".join(f'{key}="{text.translate(escape)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value!r}" if labels else f"{name} {value!r}"


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        ("up 1", {}, 1),
        ("up 1e3", {}, 1000),
        # as a person pastes it, or a document quotes it
        ("   up 1", {}, 1),
        ('\tup{a="1"} 2', {"a": "1"}, 2),
        ("up +Inf", {}, math.inf),
        ("up{} 2", {}, 2),
        ('up{a="1",} 2', {"a": "1"}, 2),
        ('up { a = "1" , b="" } 2', {"a": "1", "b": ""}, 2),
        (r'up{a="x\"}y\\z\nw"} 2', {"a": 'x"}y\\z\nw'}, 2),
        ('up{a="1"} 2 # {trace_id="q"} 0.5 1700000000.5', {"a": "1"}, 2),
        ("up\t2", {}, 2),
    ],
)
def test_a_line_is_its_name_labels_and_value(line, labels, value):
    """As https://prometheus.io/docs/instrumenting/exposition_formats/ and OpenMetrics have it."""
    (scrape,), notes = read(line + "\n")

    assert [(one.name, one.labels, one.value) for one in scrape.series] == [("up", labels, value)]
    assert not notes


@pytest.mark.parametrize(("stamp", "time_s"), [("1700000000500", 1700000000.5), ("1700000000.5", 1700000000.5)])
def test_times_are_milliseconds_in_one_format_and_seconds_in_the_other(stamp, time_s):
    (scrape,), _ = read(f"up 1 {stamp}\n")

    assert scrape.time_s == time_s


def test_names_in_quotes_are_left_to_the_library():
    """Prometheus 3 has names with dots: {"a.b", job="x"}."""
    (scrape,), notes = read('{"a.b",job="x"} 3\n')

    assert [(one.name, one.labels, one.value) for one in scrape.series] == [("a.b", {"job": "x"}, 3)]
    assert not notes


def test_a_number_beyond_all_floats_is_a_bad_line():
    """In a line that the library reads, as whole numbers of any size."""
    found, notes = read('{"a"} ' + "9" * 400 + "\n")

    assert not found
    assert notes == ["1 line is no series and left out (the first: line 1)"]


def test_a_bad_line_is_said_and_the_others_are_read():
    (scrape,), notes = read('up 1\nwhat is this\n{{{\nup{a="2} 3\nup{b="4"} 4\n# EOF\n')

    assert [one.value for one in scrape.series] == [1, 4]
    assert notes == ["3 lines are no series and left out (the first: line 2)"]


def test_series_that_come_again_begin_the_next_scrape():
    """As after `curl >> file` twice; a series that only the second has is the second's."""
    found, notes = read("a 1\nb 2\na 3\nb 4\nc 5\n")

    assert [[(one.name, one.value) for one in scrape.series] for scrape in found] == [
        [("a", 1), ("b", 2)],
        [("a", 3), ("b", 4), ("c", 5)],
    ]
    assert not notes


def test_a_series_that_merely_stands_twice_begins_none():
    """Of eight series one is repeated: the last value counts, and that is said."""
    (scrape,), notes = read("a 1\nb 2\nc 3\nd 4\na 9\ne 5\nf 6\ng 7\nh 8\n")

    assert {one.name: one.value for one in scrape.series} == dict(
        zip("abcdefgh", [9, 2, 3, 4, 5, 6, 7, 8], strict=True)
    )
    assert notes == ["some series stand in it more than once: the last value of each is taken"]


def test_a_metrics_text_is_known_by_its_comments_or_its_labels():
    assert exposed("# TYPE up gauge\nup 1\n")
    assert exposed('noise\nup{job="x"} 1\n')
    assert not exposed("# A heading\n\nup is what it is\n")
    assert not exposed("DCGM_FI_DEV_SM_CLOCK,  gauge, SM clock frequency (in MHz).\n")


@given(st.lists(st.tuples(NAMES, LABELS, VALUES), max_size=6))
def test_whatever_is_written_comes_back(rows):
    """Any labels, escaped as the format says; a name with the same labels once."""
    unique = {(name, tuple(sorted(labels.items()))): (name, labels, value) for name, labels, value in rows}
    text = "".join(written(*row) + "\n" for row in unique.values())
    found, notes = read(text)

    got = [(one.name, one.labels, one.value) for scrape in found for one in scrape.series]
    assert got == list(unique.values())
    assert not notes


@given(st.text(alphabet='ab{}="\\,# \n\t1e.+', max_size=60))
def test_no_text_stops_it(text):
    read(text)


def test_an_indented_text_is_known_and_its_comments_are_no_bad_lines():
    text = '   # HELP up Whether.\n   # TYPE up gauge\n   up{a="1"} 2\n'

    assert exposed(text)
    (scrape,), notes = read(text)
    assert (len(scrape.series), notes) == (1, [])

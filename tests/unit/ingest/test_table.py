"""Files as people have them: encodings, delimiters, ragged rows, and what is no table at all."""

from __future__ import annotations

import contextlib
import tracemalloc

import pytest

from rooflight.errors import BadConfig, BadInput
from rooflight.ingest.table import Table

HEADER = "model,accelerator,metric,value,note\n"
NEEDED = ("model", "accelerator", "metric", "value")


@pytest.fixture
def table(tmp_path):
    """A table of such content, closed when the test ends."""
    with contextlib.ExitStack() as stack:

        def opened(content: bytes | str) -> Table:
            path = tmp_path / "rows.csv"
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            return stack.enter_context(Table(path, NEEDED))

        yield opened


@pytest.fixture
def rows(table):
    return lambda content: list(table(content).rows())


def test_rows_keep_their_lines_and_cells(rows):
    found = rows(HEADER + 'a,b,c,1,"two\nlines"\n\n,,,,\nd,e,f,2,x\n')
    assert [(row.line, row.cells) for row in found] == [
        (2, ("a", "b", "c", "1", "two\nlines")),  # its quoted cell holds a line break: lines 2 and 3
        (6, ("d", "e", "f", "2", "x")),  # 4 is blank, 5 has empty cells alone
    ]
    assert all(row.problem is None for row in found)


def test_a_byte_order_mark_is_no_part_of_the_first_name(table):
    assert table(b"\xef\xbb\xbf" + HEADER.encode()).columns[0] == "model"


def test_lines_in_windows_encoding_are_read_among_utf8_ones_and_said_once(table, rows):
    content = HEADER.encode() + "a,b,c,1,é\n".encode() + 2 * "a,b,c,1,\u2019é\n".encode("cp1252")
    one = table(content)
    assert [row.cells[4] for row in one.rows()] == ["é", "\u2019é", "\u2019é"]
    assert one.notes == ["line 3 is not UTF-8: read as Windows-1252, as are others like it"]


def test_bytes_that_windows_lacks_are_read_as_latin_1(rows):
    assert rows(HEADER.encode() + b"a,b,c,1,\x81\n")[0].cells[4] == "\x81"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_read_where_its_mark_says_so(table, rows, encoding):
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}[encoding]
    one = table(mark + (HEADER + "a,b,c,1,é\n").encode(encoding))
    assert next(one.rows()).cells == ("a", "b", "c", "1", "é")
    assert "UTF-16" in one.notes[0]


@pytest.mark.parametrize("mark, word", [(";", "semicolons"), ("\t", "tabs")])
def test_other_delimiters_are_seen_in_the_header(table, rows, mark, word):
    one = table((HEADER + "a,b,c,1,x\n").replace(",", mark))
    assert next(one.rows()).cells[:4] == ("a", "b", "c", "1")
    assert one.notes == [f"columns are separated by {word}"]


def test_a_ragged_row_says_so_and_stops_nothing(rows):
    short, long, trailing, good = rows(HEADER + "a,b,c\na,b,c,1,x,y\na,b,c,1,x,,\na,b,c,1,x\n")
    assert short.problem == "the row has 3 cells where the header has 5"
    assert short.cells == ("a", "b", "c", "", "")
    assert long.problem == "the row has 6 cells where the header has 5"
    assert trailing.problem is None
    assert trailing.cells == good.cells


def test_nul_bytes_and_endless_cells_are_that_rows_problem(rows):
    endless = '"' + "x" * 200_000 + '"'  # over the csv module's limit of 131,072 characters
    nul, long, good = rows(HEADER + f"a\0,b,c,1,x\na,b,c,1,{endless}\na,b,c,1,x\n")
    assert nul.problem == "the row holds NUL bytes"
    assert nul.cells[0] == "a"
    assert "field larger than field limit" in long.problem
    assert good.problem is None


@pytest.mark.parametrize(
    "content, words",
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        (HEADER, "a header and no rows"),
        ("model,value\na,1\n", "lacks the columns accelerator, metric"),
        ("Model,accelerator,metric,value\na,b,c,1\n", "lacks the column model"),
        ("model,model,accelerator,metric,value\na,a,b,c,1\n", "names the column 'model' twice"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00compressed\x00", "is not text"),
        ('{"model": "a"}\n', "lacks the columns"),
    ],
)
def test_what_is_no_table_is_refused_in_words(rows, content, words):
    with pytest.raises(BadConfig, match=words) as caught:
        rows(content)
    assert caught.value.want


def test_columns_that_are_known_are_read_in_any_spelling(tmp_path):
    """Capitals and spaces are no other name; a column that stands under its own name too keeps it."""
    path = tmp_path / "rows.csv"
    path.write_text("MODEL,Accelerator,metric,VALUE,Input Len,Note,BATCH,batch\na,b,c,1,2,n,3,4\n", encoding="utf-8")
    with Table(path, NEEDED, known=("input_len", "batch")) as found:
        assert found.columns == ("model", "accelerator", "metric", "value", "input_len", "Note", "BATCH", "batch")
        said = "columns are read as 'MODEL': model, 'Accelerator': accelerator, 'VALUE': value, 'Input Len': input_len"
        assert found.notes == [said]


def test_one_column_in_two_spellings_is_named_twice(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("model,accelerator,metric,VALUE,Value\na,b,c,1,2\n", encoding="utf-8")
    with pytest.raises(BadConfig, match="names the column 'value' twice"):
        Table(path, NEEDED, known=("batch",))


def test_a_misspelled_column_is_named(table):
    with pytest.raises(BadConfig) as caught:
        table("Model,accelerator,Metric,value\n")
    assert caught.value.try_this == "metric, model spelled as here"


def test_a_directory_or_nothing_is_refused(tmp_path):
    with pytest.raises(BadInput, match="is a directory"):
        Table(tmp_path, NEEDED)
    with pytest.raises(BadInput, match="there is no file"):
        Table(tmp_path / "none.csv", NEEDED)


def test_memory_stays_flat(table, rows):
    """50,000 rows of 100 bytes are 5 MB; reading them takes less than a tenth of that."""
    one = table(HEADER + 50_000 * f"a,b,c,1,{'x' * 92}\n")
    tracemalloc.start()
    assert sum(1 for _ in one.rows()) == 50_000
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 500_000


def test_a_quote_that_does_not_close_says_what_it_swallows(rows):
    """CSV lets a quoted cell run over lines; one that is never closed takes the rest of the file."""
    first, second, third = rows(HEADER + 'a,b,c,1,\nx,"y,z,2,\nm,n,o,3,\n')

    assert first.problem is None
    assert [(one.line, one.cells) for one in (second, third)] == [
        (3, ("x", "y", "z", "2", "")),
        (4, ("m", "n", "o", "3", "")),
    ]
    assert "a quote in line 3 is not closed" in second.problem == third.problem


ROW = "a,b,c,1,x\n"


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_line_ends_of_any_machine(rows, end):
    found = rows((HEADER + ROW + "\n" + ROW).replace("\n", end))
    assert [(row.line, row.cells) for row in found] == [(2, ("a", "b", "c", "1", "x")), (4, ("a", "b", "c", "1", "x"))]


@pytest.mark.parametrize(
    "broken, lost, reason",
    [
        ('a,b,c,"1,x\n' + 2 * ROW, [3, 4, 5], "a quote in line 3 is not closed"),
        (
            'a,b,c,"1,x\n' + ROW + 'a,b,c,2,"y"\n',
            [3, 4, 5],
            "a quote in line 3 runs to line 5: ',' expected after '\"'",
        ),
        ('a,b,"c\n\nd",1\n', [3, 5], "the row has 4 cells where the header has 5: a quote in it runs to line 5"),
        (f'a,b,c,1,"{"x" * 140_000}\nx"\n', [3], "field larger than field limit"),
        (f"a,b,c,1,{'x' * (1 << 20)}\n", [3], "the line has more than 1,048,576 bytes"),
    ],
    ids=["never closed", "closed in another cell", "ragged", "cell too long", "line too long"],
)
def test_lines_whose_cells_cannot_be_told_apart_are_rows_that_say_so(table, broken, lost, reason):
    one = table(HEADER + ROW + broken)
    found = list(one.rows())
    bad = [row for row in found if row.problem is not None]
    assert found[0].problem is None
    assert [row.line for row in bad[: len(lost)]] == lost
    assert reason in bad[0].problem
    assert one.lost >= len(lost)
    assert one.notes[0].startswith(f"line{'s' * (len(lost) > 1)} 3 ")


def test_a_quoted_cell_of_several_lines_is_no_loss(table):
    one = table(HEADER + 'a,b,c,1,"x\n\ny"\n' + ROW)
    assert [row.line for row in one.rows()] == [2, 5]
    assert (one.lost, one.notes) == (0, [])


def test_many_places_are_said_in_few_notes(table):
    one = table(HEADER + 7 * ('a,b,"c\nd",1\n' + ROW))
    assert len(list(one.rows())) == 7 * 3
    assert one.lost == 7 * 2
    assert len(one.notes) == 6
    assert one.notes[-1] == "nor are lines in 2 more places: 14 lines in all"


def test_text_behind_a_closing_quote_is_read_as_ever(rows):
    assert rows(HEADER + 'a,"b"x,c,1,y\n')[0].cells == ("a", "bx", "c", "1", "y")


def test_a_formula_that_was_made_harmless_is_read_as_it_was(rows, table):
    assert rows(HEADER + "'=a,it's,'x,'-3,'@b\n")[0].cells == ("=a", "it's", "'x", "-3", "@b")
    assert table(HEADER.replace("note", "'=note") + ROW).columns[4] == "=note"

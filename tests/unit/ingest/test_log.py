"""Logs of requests in every form, and what is no log."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from rooflight.errors import BadConfig, BadInput, MissingExtra
from rooflight.ingest import requests as logs
from rooflight.ingest.log import read_log


@pytest.fixture
def written(tmp_path):
    """A file of such content."""

    def write(content: str | bytes, name: str = "log.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def lengths(log) -> list[tuple[float, float, float]]:
    given = log.requests
    return list(zip(given.isl.tolist(), given.osl.tolist(), given.cached.tolist(), strict=True))


@pytest.mark.parametrize(
    "header",
    [
        "ContextTokens,GeneratedTokens",
        "input_length,output_length",
        "input_len,output_len",
        "Request tokens,Response tokens",
        "num_prefill_tokens,num_decode_tokens",
        "prompt_tokens,completion_tokens",
        "ISL,OSL",
        "isl;osl",
        "prompt_len\toutput_len",
    ],
)
def test_the_usual_names(written, header):
    mark = next(one for one in ",;\t" if one in header)
    log = read_log(written(f"{header}\n7{mark}3\n9{mark}0\n"))
    assert lengths(log) == [(7, 3, 0), (9, 0, 0)]
    assert header.split(mark)[0] in log.taken


def test_other_columns_pass_by(written):
    log = read_log(written("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,4808,10\n"))
    assert lengths(log) == [(4808, 10, 0)]


def test_the_surest_name_wins(written):
    """total_prompt_tokens is no usual name; of isl and prompt_tokens the first is surer."""
    log = read_log(written("prompt_tokens,isl,osl\n1,2,3\n"))
    assert lengths(log) == [(2, 3, 0)]


def test_named_columns(written):
    path = written("a,b,c\n10,2,4\n10,2,\n10,2,10\n10,2,99\n")
    assert lengths(read_log(path, ["a", "b"])) == [(10, 2, 0)] * 4
    log = read_log(path, ["a", "b", "c"])
    # a blank cache is none; one as long as the prompt leaves its last token to run
    assert lengths(log) == [(10, 2, 4), (10, 2, 0), (10, 2, 9)]
    assert "cached length '99' is no part of its input" in log.notes[0]
    assert "1 prompts are cached whole" in log.notes[1]


@pytest.mark.parametrize("columns", [["a"], ["a", "a"], ["a", "b", "c", "d"], ["", "b"], []])
def test_columns_are_two_or_three(written, columns):
    with pytest.raises(BadInput, match="a log has a column of input lengths"):
        read_log(written("a,b\n1,2\n"), columns)


def test_a_column_that_is_not_there(written):
    with pytest.raises(BadConfig, match="has no column z") as caught:
        read_log(written("a,b\n1,2\n"), ["a", "z"])
    assert caught.value.got == "a, b"


def test_bad_rows_are_counted_and_said(written):
    rows = ("10,5", "x,3", "0,4", "12,-1", "3.5,4", "7,5,9", "1e3,20", "8.0,2", "inf,1", ",1", "9" * 30 + ",1")
    log = read_log(written("isl,osl\n" + "\n".join(rows) + "\n"))
    assert lengths(log) == [(10, 5, 0), (1000, 20, 0), (8, 2, 0)]
    assert log.bad_rows == 8
    assert "8 of 11 rows" in log.notes[0]
    assert "line 3: input length 'x' is no number of tokens from 1 to 2^40" in log.notes[0]


def test_json_lines(written):
    lines = [
        {"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": list(range(14))},
        {"input_length": 1, "output_length": True},
        {"input_length": 5},
        {"input_length": "12", "output_length": 3.0},
    ]
    text = "\n".join(json.dumps(one) for one in lines) + "\nnot json\n\n"
    log = read_log(written(text, "log.jsonl"))
    assert lengths(log) == [(6758, 500, 0), (12, 3, 0)]
    assert log.bad_rows == 3


def test_fields_inside_usage(written):
    text = '{"id": 1, "usage": {"prompt_tokens": 9, "completion_tokens": 2}}\n{"usage": null}\n'
    log = read_log(written(text, "log.jsonl"))
    assert lengths(log) == [(9, 2, 0)]
    assert "usage.prompt_tokens" in log.taken
    assert lengths(read_log(written(text), ["usage.prompt_tokens", "usage.completion_tokens"])) == [(9, 2, 0)]


def test_names_are_looked_for_beyond_a_bad_first_line(written):
    log = read_log(written('{"error": "timeout"}\n{"isl": 3, "osl": 4}\n', "log.jsonl"))
    assert lengths(log) == [(3, 4, 0)]
    assert log.bad_rows == 1


def test_packed_files_are_known_by_their_content(written):
    log = read_log(written(gzip.compress(b"isl,osl\n3,4\n"), "log.txt"))
    assert lengths(log) == [(3, 4, 0)]
    assert lengths(read_log(written(gzip.compress(b'{"isl": 3, "osl": 4}'), "log.bin"))) == [(3, 4, 0)]


def test_a_cut_off_packed_file(written):
    packed = gzip.compress(os.urandom(2000).hex().encode() + b"\n")
    with pytest.raises(BadConfig, match=r"cannot be read to its end|no column"):
        read_log(written(packed[: len(packed) // 2]))


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "is empty"),
        (b"\xff\xfe", "is empty"),
        (b"isl,osl\n", "holds a header and no rows"),
        (b"a,b\n1,2\n", "no column of .* is known to hold input and output lengths"),
        (b"isl,b\n1,2\n", "no column of .* is known to hold output lengths"),
        (b"isl,osl\nx,y\n", "no row of .* is a request"),
        (b"\x00\x01\x02" * 100, "is not text"),
        (b'[{"isl": 1, "osl": 2}]', "no object a line"),
        (b'{\n"isl": 1\n}\n', "no object a line"),
        (b'{"isl": 1}\n', "no column .* output lengths"),
        (b"isl,osl,isl\n1,2,3\n", "names the column 'isl' twice"),
    ],
)
def test_what_is_no_log(written, content, words):
    with pytest.raises(BadConfig, match=words) as caught:
        read_log(written(content))
    assert caught.value.want


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(BadInput, match="there is no file"):
        read_log(tmp_path / "none.csv")
    with pytest.raises(BadInput, match="is a directory"):
        read_log(tmp_path)


def test_requests_from_python():
    assert lengths(read_log([(10, 2), (np.int64(7), 1.0), (9, 0, 4)])) == [(10, 2, 0), (7, 1, 0), (9, 0, 4)]
    assert lengths(read_log(np.array([[3, 4], [5, 6]]))) == [(3, 4, 0), (5, 6, 0)]


@pytest.mark.parametrize("given", [[], [(1,)], [(0, 1)], [(1, 2), (3, -1)], [5], ["ab"], [(1, 2, 3, 4)], 7])
def test_requests_from_python_that_are_none(given):
    with pytest.raises(BadInput):
        read_log(given)


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "log.parquet"
    table = pa.table({"t": [0.5, 1, 2], "input_length": [5, None, 7], "output_length": [1, 2, 3]})
    pq.write_table(table, path)
    log = read_log(path)
    assert lengths(log) == [(5, 1, 0), (7, 3, 0)]
    assert log.bad_rows == 1
    with pytest.raises(BadConfig, match="no column x"):
        read_log(path, ["x", "t"])


def test_parquet_that_is_damaged(written):
    pytest.importorskip("pyarrow")
    with pytest.raises(BadConfig, match="is damaged"):
        read_log(written(b"PAR1 and then nothing of the kind", "log.parquet"))


def test_parquet_without_the_extra(written, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra) as caught:
        read_log(written(b"PAR1...."))
    assert "rooflight[parquet]" in caught.value.try_this


def test_whole_numbers_however_written():
    assert logs.whole("12", 1) == logs.whole(12.0, 1) == logs.whole(" 12 ", 1) == 12
    for bad in (None, "", "a", 1.5, True, float("nan"), float("inf"), [1], 2**40 + 1, 0):
        assert logs.whole(bad, 1) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "content", ['{"isl": 7, "osl": 3}\n\n{"isl": 9, "osl": 0}\n', "isl,osl\n7,3\n\n9,0\n"], ids=["json", "csv"]
)
def test_encodings_and_line_ends(written, content, encoding, end):
    raw = content.replace("\n", end).encode(encoding)
    if encoding == "utf-16-le":
        raw = b"\xff\xfe" + raw
    assert lengths(read_log(written(raw))) == [(7, 3, 0), (9, 0, 0)]


def test_lines_that_are_no_json_are_counted(written):
    log = read_log(written('{"isl": 7, "osl": 3}\n{"isl": 9, "osl"\n[1]\n\n{"isl": 1, "osl": 2}\n'))
    assert lengths(log) == [(7, 3, 0), (1, 2, 0)]
    assert (log.bad_rows, log.lost_lines) == (2, 0)


def test_lines_that_a_quote_swallows_are_counted(written):
    log = read_log(written('isl,osl,note\n7,3,a\n9,"0,a\n8,8,b\n'))
    assert lengths(log) == [(7, 3, 0)]
    assert (log.bad_rows, log.lost_lines) == (2, 2)
    assert log.notes[0] == "lines 3 to 4 are not read: a quote in line 3 is not closed"


@pytest.mark.parametrize("content", ['{"isl": "1,300", "osl": 3}\n', 'isl,osl\n"1,300",3\n'])
def test_thousands_are_read_and_said(written, content):
    log = read_log(written(content))
    assert lengths(log) == [(1300, 3, 0)]
    assert any("input length 1,300 of line" in note and "read as 1300" in note for note in log.notes)

"""Files and standard input: opened or refused, and errors of reading said as such."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import threading

import pytest

from rooflight import files
from rooflight.errors import BadInput

WANT = "a file"


def test_a_file_and_a_pipe_with_a_writer_are_read(tmp_path):
    path, pipe = tmp_path / "a", tmp_path / "p"
    path.write_bytes(b"abc\n" * 50_000)
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(path.read_bytes(),))
    writer.start()
    with files.opened(path, WANT) as one, files.opened(pipe, WANT) as other:
        assert one.read() == other.read() == b"abc\n" * 50_000
    writer.join()


def test_a_pipe_that_nobody_writes_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_PATIENCE_S", 0)
    os.mkfifo(tmp_path / "p")
    with pytest.raises(BadInput, match="nobody writes to the pipe"):
        files.opened(tmp_path / "p", WANT)


@pytest.mark.parametrize(
    "path, words",
    [
        ("/dev/zero", "/dev/zero is a device"),
        (".", ". is a directory"),
        ("none", "there is no file none"),
        ("a\0b", "cannot be read"),
        ("x" * 5000, "cannot be read"),
    ],
)
def test_what_is_no_file(path, words):
    with pytest.raises(BadInput) as caught:
        files.opened(path, WANT)
    assert words in str(caught.value)
    assert caught.value.want == WANT


def test_an_error_while_reading_is_said_as_one_of_reading():
    """The first page of a process's memory is never mapped: the system says EIO."""
    with files.opened("/proc/self/mem", WANT) as file, pytest.raises(BadInput, match="cannot be read") as caught:
        file.read(1)
    assert caught.value.got == "Input/output error"


def test_no_standard_input(monkeypatch):
    closed = io.TextIOWrapper(io.BytesIO(b"x"))
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(BadInput, match="standard input is closed"):
            files.opened("-", WANT)


def test_standard_input_may_be_asked_for_twice_and_no_more_of_it_than_is_wanted(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"12345")))
    assert files.standard_input(5, WANT) == files.standard_input(5, WANT) == b"12345"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"123456")))
    with pytest.raises(BadInput, match="standard input is too long"):
        files.standard_input(5, WANT)


def test_a_pipe_that_does_not_wait_is_no_end(monkeypatch):
    """Empty for a moment is not at its end."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def waited(*_):
        os.write(writing, b"late")
        os.close(writing)

    monkeypatch.setattr(files.select, "select", waited)
    with io.BufferedReader(files._Reader(reading, "p", WANT)) as file:
        assert file.read() == b"late"


def test_lines_are_added_to_what_is_there(tmp_path):
    """Two and one are three; nothing of the first is written again."""
    path = tmp_path / "a.jsonl"
    assert files.append_lines(path, ["one", "two"]) == 2
    assert files.append_lines(path, iter(["ünd drei"])) == 1
    assert files.append_lines(path, []) == 0
    assert path.read_text(encoding="utf-8") == "one\ntwo\nünd drei\n"


def test_a_half_line_is_ended_first(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntw")
    files.append_lines(path, ["three"])
    assert path.read_bytes() == b"one\ntw\nthree\n"


def test_a_line_that_finds_no_room_leaves_nothing_of_itself(tmp_path, monkeypatch):
    """The system takes two bytes of the second line, then none."""
    path, write = tmp_path / "a.jsonl", os.write
    files.append_lines(path, ["one"])
    taken = iter([2, 0])

    def full(number, data):
        room = next(taken)
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(number, data[:room])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(BadInput, match="cannot be added to") as caught:
        files.append_lines(path, ["second"])
    assert caught.value.got == os.strerror(errno.ENOSPC)
    assert path.read_bytes() == b"one\n"


@pytest.mark.parametrize(
    "path, got",
    [
        (".", "a directory"),
        ("-", "standard output"),
        ("a.jsonl.gz", "a packed file"),
        ("none/a.jsonl", "No such file or directory"),
        ("/dev/null", "a device or a pipe"),
        ("a\0b", "a null character in its name"),
    ],
)
def test_where_lines_cannot_be_added(tmp_path, monkeypatch, path, got):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as caught:
        files.append_lines(path, ["one"])
    assert caught.value.got == got
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "path, got",
    [
        (".", "a directory"), ("none/", "a directory"), ("-", "standard output"), ("A.GZ", "a packed file"),
        ("none/a.jsonl", "No such file or directory"), ("", "No such file or directory"),
        ("/dev/null", "a device or a pipe"), ("a\0b", "a null character in its name"),
        ("file/a.jsonl", "Not a directory"),
    ],
)  # fmt: skip
def test_what_is_no_target_for_lines_is_known_before_there_is_one(tmp_path, monkeypatch, path, got):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BadInput) as caught:
        files.refuse_no_target(path)
    assert caught.value.got == got


def test_a_target_for_lines_is_not_made_for_none(tmp_path):
    path = tmp_path / "a.jsonl"
    files.refuse_no_target(path)
    assert files.append_lines(path, []) == 0
    assert not path.exists()


def test_a_line_with_an_end_inside_is_refused(tmp_path):
    with pytest.raises(BadInput, match="holds another"):
        files.append_lines(tmp_path / "a", ["one\ntwo"])


_WRITER = """
import subprocess
import sys
from rooflight.files import append_lines
for number in range(200):
    append_lines(sys.argv[1], [sys.argv[2] * 5000])
"""


def test_processes_that_add_at_once_do_not_mix_lines(tmp_path):
    """Three times 200 lines of 5,000 equal characters."""
    path = tmp_path / "a.jsonl"
    command = [sys.executable, "-c", _WRITER, str(path)]
    writers = [subprocess.Popen([*command, letter]) for letter in "abc"]
    assert [one.wait() for one in writers] == [0, 0, 0]
    found = path.read_text().splitlines()
    assert {line: found.count(line) for line in set(found)} == {letter * 5000: 200 for letter in "abc"}

"""Files and standard input: opened or refused, and errors of reading said as such."""

from __future__ import annotations

import io
import os
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

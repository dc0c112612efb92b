"""Files appear whole or not at all."""

from __future__ import annotations

import os

import pytest

from rooflight.cli.output import Answer, Output, choose, emit, open_whole
from rooflight.errors import BadInput
from rooflight.show.data import Rows


def half_written(path, end):
    with open_whole(str(path)) as stream:
        stream.write("half")
        raise end


def test_a_crash_leaves_the_old_file(tmp_path):
    path = tmp_path / "answer.json"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        half_written(path, KeyboardInterrupt)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_crash_leaves_no_new_file(tmp_path):
    with pytest.raises(RuntimeError):
        half_written(tmp_path / "answer.json", RuntimeError)
    assert list(tmp_path.iterdir()) == []


def test_the_mode_of_an_old_file_stays(tmp_path):
    path = tmp_path / "answer.json"
    path.write_text("old")
    path.chmod(0o640)
    with open_whole(str(path)) as stream:
        stream.write("new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_is_written_through(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    with open_whole(str(link)) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_is_written_in_place():
    with open_whole(os.devnull) as stream:
        stream.write("gone")


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot be written"), open_whole(str(tmp_path)):
        pass


def test_endings_and_forms():
    assert choose(None, False, None, False).format == "text"
    assert choose(None, True, None, False).format == "json"
    assert choose(None, False, "a.CSV", False).format == "csv"
    assert choose("md", False, "notes", False).format == "md"
    assert choose("csv", False, "-", False).file is None


def test_a_pipe_that_nobody_reads_is_refused(tmp_path):
    path = tmp_path / "p.json"
    os.mkfifo(path)
    with pytest.raises(BadInput) as caught, open_whole(str(path)):
        pass
    assert caught.value.got == "nobody reads the pipe"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (".", "cannot be written"),
        ("x", "x has no ending that says which form is meant"),
        ("x.foo", "the ending .foo does not say which form is meant"),
    ],
)
def test_an_output_that_says_no_form(name, says):
    with pytest.raises(BadInput) as caught:
        choose(None, False, name, False)
    assert says in caught.value.what


def test_a_mistake_of_whoever_makes_the_text_is_not_called_one_of_writing(tmp_path):
    for end in (ValueError("not ours"), OSError(5, "while reading")):
        with pytest.raises(type(end)) as caught:
            half_written(tmp_path / "answer.json", end)
        assert caught.value is end


def test_a_full_disk_is_one_of_writing():
    with pytest.raises(BadInput, match="/dev/full cannot be written") as caught, open_whole("/dev/full") as stream:
        stream.write("x")
    assert caught.value.got == "No space left on device"


def failing(count):
    """Rows of which the last is an error."""

    def rows():
        for number in range(count):
            yield (number, "x" * 100)
        raise BadInput("the last row")

    return Answer(lambda: "", list, lambda: Rows(("n", "x"), rows()), lambda stream: None)


def test_an_error_comes_before_the_first_byte(capsys):
    with pytest.raises(BadInput):
        emit(Output("csv", None, False), failing(5000))  # under a megabyte
    assert capsys.readouterr().out == ""


def test_a_long_answer_is_not_held(capsys):
    with pytest.raises(BadInput):
        emit(Output("csv", None, False), failing(50_000))
    assert capsys.readouterr().out.startswith("n,x\n0,xxx")

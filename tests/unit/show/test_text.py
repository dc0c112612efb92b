"""Blocks as text and Markdown."""

from __future__ import annotations

import io

from rooflight.show import markdown, text
from rooflight.show.blocks import Bullets, Drawing, Prose, Table


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(*blocks, stream=None, **options):
    stream = stream or io.StringIO()
    text.write(blocks, stream, **options)
    return stream.getvalue()


def test_prose_wraps_at_80_and_lines_end_clean():
    lines = shown(Prose("word " * 60), Bullets("Assumed:", ("a " * 100,))).splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    assert "Assumed:" in lines
    assert any(line.startswith("  - a a") for line in lines)


def test_tables_align_numbers_right_and_words_left():
    table = Table(heads=("name", "number"), left=("name",), rows=(("a", "1"), ("long", "1,000")))
    assert [line.strip() for line in shown(table, ascii_only=True).splitlines()][2:] == ["a          1", "long   1,000"]


def test_nothing_is_lost_in_a_narrow_window():
    table = Table(heads=("a", "b"), left=("a", "b"), rows=(("x" * 60, "y" * 60),))
    assert shown(table, width=40).count("x") == 60
    assert shown(table, width=40).count("y") == 60


def test_a_list_keeps_a_row_a_line_for_grep():
    table = Table(heads=("id", "words"), left=("id", "words"), whole=("id",), rows=(("i" * 50, "w " * 40 + "end"),))
    (line,) = [line for line in shown(table).splitlines() if "iii" in line]
    assert line.endswith("end")


def test_colour_on_a_screen_only(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in shown(Prose("yes", "answer"), stream=Screen())
    assert "\x1b[" not in shown(Prose("yes", "answer"))
    monkeypatch.setenv("NO_COLOR", "1")
    table = Table(heads=("bound",), rows=(("memory",),))
    assert "\x1b[36m" not in shown(table, stream=Screen())


def test_the_width_is_the_terminals(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert max(map(len, shown(Prose("word " * 60), stream=Screen()).splitlines())) <= 50
    assert max(map(len, shown(Prose("word " * 60)).splitlines())) > 50  # no screen: 80, whatever COLUMNS says


def test_control_characters_do_not_reach_the_terminal():
    assert "\x1b" not in shown(Prose("evil \x1b[31mname"))
    assert shown(Prose("näme — x"), ascii_only=True).isascii()


def test_markdown():
    stream = io.StringIO()
    table = Table(title="T:", heads=("a\nb", "n"), left=("a\nb",), rows=(("x|y", "1"),))
    markdown.write([Prose("yes", "answer"), table, Bullets("B:", ("*one*",)), Drawing(("|--",))], stream)
    assert stream.getvalue() == (
        "**yes**\n\nT:\n\n| a b | n |\n| --- | ---: |\n| x\\|y | 1 |\n\nB:\n\n- \\*one\\*\n\n```text\n|--\n```\n"
    )

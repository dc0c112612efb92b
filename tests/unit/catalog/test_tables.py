"""The compiled catalog says what the TOML files say, and never more than that."""

from __future__ import annotations

import math
import os
import shutil
import tomllib
from pathlib import Path

import pytest

from rooflight.catalog import tables

CATALOG = Path(tables.__file__).parent


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """A catalog of one small file, compiled."""
    monkeypatch.setattr(tables, "_HERE", str(tmp_path))
    monkeypatch.setattr(tables, "_COMPILED", str(tmp_path / "compiled"))
    (tmp_path / "cards").mkdir()
    path = tmp_path / "cards" / "one.toml"
    path.write_text('read = 2026-11-27\nvalue = 989.4\nlist = [{ name = "ä", on = true }]\n', encoding="utf-8")
    tables.compile_all()
    return path


def unparsed(monkeypatch):
    """From here on nothing can be parsed."""
    monkeypatch.setattr(tomllib, "loads", None)


def test_a_compiled_file_is_taken_instead_of_parsing(compiled, monkeypatch):
    unparsed(monkeypatch)
    assert tables.read(compiled) == {"read": "2026-11-27", "value": 989.4, "list": [{"name": "ä", "on": True}]}


def test_an_edited_file_is_parsed_again(compiled):
    stamp = compiled.stat()
    compiled.write_bytes(compiled.read_bytes().replace(b"989.4", b"494.7"))
    os.utime(compiled, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as long as before, and not newer
    assert tables.read(compiled)["value"] == 494.7


def test_without_a_compiled_file_the_answer_is_the_same(compiled):
    before = tables.read(compiled)
    shutil.rmtree(compiled.parents[1] / "compiled")
    assert tables.read(compiled) == before


def test_a_compiled_file_that_ends_early_is_passed_over(compiled):
    before = tables.read(compiled)
    half = compiled.parents[1] / "compiled" / "cards" / "one.json"
    half.write_bytes(half.read_bytes()[:-9])
    assert tables.read(compiled) == before


def test_a_broken_file_is_not_hidden_by_what_it_was(compiled):
    compiled.write_text("value = ", encoding="utf-8")
    with pytest.raises(ValueError, match="Invalid value"):
        tables.read(compiled)


def test_compiling_again_leaves_nothing_of_files_that_went(compiled):
    compiled.unlink()
    tables.compile_all()
    assert not list(compiled.parents[1].rglob("*.json"))


def test_every_file_of_the_catalog_compiles_to_what_it_says(tmp_path, monkeypatch):
    shutil.copytree(CATALOG, tmp_path / "catalog", ignore=shutil.ignore_patterns("*.py", "compiled", "__pycache__"))
    monkeypatch.setattr(tables, "_HERE", str(tmp_path / "catalog"))
    monkeypatch.setattr(tables, "_COMPILED", str(tmp_path / "catalog" / "compiled"))
    files = sorted((tmp_path / "catalog").rglob("*.toml"))
    parsed = {file: tables.read(file) for file in files}
    tables.compile_all()
    unparsed(monkeypatch)
    assert len(files) > 300
    for file in files:
        assert tables.read(file) == parsed[file]
        assert all(math.isfinite(one) for one in numbers(parsed[file])), file  # JSON has no others


def numbers(value):
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, float):
        yield value


def test_what_a_build_left_here_is_true():
    """Read as a command reads them, by whatever compiled files this checkout has, all say what their text does."""
    for file in CATALOG.rglob("*.toml"):
        assert tables.read(file) == tables._parsed(file.read_bytes())

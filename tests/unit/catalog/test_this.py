"""`this`: the machine itself, as it was last measured."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import msgspec
import pytest

import rooflight
from rooflight.catalog import accelerators, this
from rooflight.errors import BadConfig, MissingFact, UnknownName

FILE = Path(__file__).parents[2] / "measured.toml"


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a measurement in it."""
    monkeypatch.setenv("ROOFLIGHT_DATA_HOME", str(tmp_path))
    path = tmp_path / "rooflight" / "this.toml"
    path.parent.mkdir()
    shutil.copy(FILE, path)
    return path


def test_the_data_folder_is_the_variables_else_the_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("ROOFLIGHT_DATA_HOME", raising=False)
    assert this.data_folder() == tmp_path / "xdg" / "rooflight"
    monkeypatch.setenv("ROOFLIGHT_DATA_HOME", str(tmp_path / "own"))
    assert this.this_file() == tmp_path / "own" / "rooflight" / "this.toml"
    monkeypatch.setenv("ROOFLIGHT_DATA_HOME", "relative")  # as the XDG specification has it: ignored
    assert this.data_folder() == tmp_path / "xdg" / "rooflight"


@pytest.mark.parametrize(
    ("platform", "place"),
    [("linux", ".local/share"), ("darwin", "Library/Application Support"), ("win32", "AppData/Local")],
)
def test_without_a_variable_it_is_where_the_system_has_it(
    platform: str, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("ROOFLIGHT_DATA_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)

    assert this.data_folder() == tmp_path / place / "rooflight"


@pytest.mark.parametrize("name", ["this", "THIS", " this ", "8xthis"])
def test_without_a_measurement_it_says_how_to_make_one(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROOFLIGHT_DATA_HOME", str(tmp_path))
    with pytest.raises(MissingFact) as caught:
        accelerators.load(name)

    assert caught.value.exit_status == 3
    assert "rooflight measure" in (caught.value.try_this or "")
    assert str(tmp_path) in (caught.value.where or "")


@pytest.mark.usefixtures("measured")
def test_it_is_the_last_measurement_with_its_date_and_counts() -> None:
    one, count = accelerators.load("2xthis")

    assert count == 2
    assert one.memory_bytes_per_s == 24e9
    ours = rooflight.accelerator("this")  # with a note where the file is of another host
    assert [note for note in ours.assumptions if note.key != "elsewhere"] == [*one.assumptions]
    assert msgspec.structs.replace(ours, assumptions=one.assumptions) == one
    assert any("2026-11-28" in text for text in rooflight.analyze("llama-3.2-1b", on="this").assumptions)


@pytest.mark.usefixtures("measured")
def test_every_command_takes_it() -> None:
    analysis = rooflight.analyze("llama-3.2-1b", on="2xthis", dp=2)
    assert analysis.accelerator.count == 2
    swept = rooflight.sweep("llama-3.2-1b", on="this", axes={"batch": [1, 2]})
    assert swept.points == 2
    compared = rooflight.compare("llama-3.2-1b", on=["this", "h100-sxm"])
    assert compared.measured == ("this",)
    assert rooflight.moves("llama-3.2-1b", on="this").measured == ("this",)
    row = {"model": "llama-3.2-1b", "accelerator": "this", "metric": "tpot_ms", "value": 150, "batch": 1}
    assert rooflight.check(row).rows[0].on_measured


def test_a_broken_measurement_is_refused_in_words(measured: Path) -> None:
    measured.write_text("[measured]\n")
    with pytest.raises(BadConfig) as caught:
        accelerators.load("this")

    assert str(measured) in (caught.value.where or "")


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("name", ["this", str(FILE), "2xthis"])
def test_strangers_read_neither_it_nor_files(name: str) -> None:
    with pytest.raises(UnknownName):
        accelerators.catalogued(name)
    with pytest.raises(UnknownName):
        accelerators.counted(name)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("this", "this"),
        ("2xthis", "this"),
        ("full.toml", "full.toml"),
        ("4xa/full.toml", "a/full.toml"),
        ("8xh100-sxm", None),
        ("h100", None),
        ("-", None),
        ("2x-", None),
    ],
)
def test_a_machine_of_a_file_is_found_again_by_its_name(name: str, found: str | None) -> None:
    assert accelerators.file_name(name) == found


def test_a_file_whose_name_begins_with_a_count_is_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(FILE, tmp_path / "2xmine.toml")

    assert accelerators.file_name("2xmine.toml") == "2xmine.toml"

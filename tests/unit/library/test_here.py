"""`this` where it was measured, and on another host that finds the same file."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import rooflight
from rooflight.library import here
from rooflight.probe import device as devices
from rooflight.probe import host

FILE = Path(__file__).parents[2] / "measured.toml"
DEVICE = "Intel(R) Xeon(R) Processor"


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLIGHT_DATA_HOME", str(tmp_path))
    (tmp_path / "rooflight").mkdir()
    shutil.copy(FILE, tmp_path / "rooflight" / "this.toml")


def said(on="this"):
    notes = rooflight.analyze("llama-3.2-1b", on=on).assumptions
    return [note for note in notes if "another device" in note]


def test_where_it_was_measured_there_is_nothing_to_say(monkeypatch):
    monkeypatch.setattr(here, "_devices", lambda kind: (DEVICE,))
    assert said() == []


def test_on_another_host_it_is_said(monkeypatch):
    monkeypatch.setattr(here, "_devices", lambda kind: ("AMD EPYC", "NVIDIA H200"))
    (note,) = said()
    assert f"is of {DEVICE}, and here is AMD EPYC and NVIDIA H200" in note
    assert [one.key for one in rooflight.accelerator("this").assumptions].count("elsewhere") == 1


def test_a_file_that_is_named_may_be_of_any_machine(monkeypatch):
    monkeypatch.setattr(here, "_devices", lambda kind: ("AMD EPYC",))
    assert said(str(FILE)) == []


def test_a_processor_is_known_without_torch_and_cards_are_not(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(host, "processor", lambda: "AMD EPYC")
    assert here._devices("cpu") == ("AMD EPYC",)
    assert here._devices("gpu") == ()
    assert "torch" not in sys.modules


def test_where_torch_is_loaded_it_knows_the_cards(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    found = (devices.Device(kind="cuda", name="NVIDIA H200"), devices.Device(kind="cpu", name="AMD EPYC"))
    monkeypatch.setattr(devices, "devices", lambda: found)
    assert here._devices("gpu") == ("NVIDIA H200", "AMD EPYC")

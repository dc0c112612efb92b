"""`rooflight studio`: where it listens, and what it says when it cannot."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from rooflight.cli import failures
from rooflight.cli.app import app
from rooflight.studio.address import is_loopback

pytest.importorskip("uvicorn", reason="needs the extra `studio`")


@pytest.fixture
def served(monkeypatch):
    """What would have been served, without serving it."""
    from rooflight.studio import serve

    seen = {}

    def remember(listening, *, opened, say, own):
        seen.update(address=listening.getsockname(), opened=opened, own=own)
        listening.close()
        return 0

    monkeypatch.setattr(serve, "serve", remember)
    return seen


def run(*words):
    return failures.run(app.run_plain, ["studio", *words])


def test_it_listens_on_this_machine_alone(served):
    assert run("--port", "0", "--no-open") == 0
    assert served["address"][0] == "127.0.0.1"
    assert served["opened"] is False


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.com", "::"])
def test_another_address_needs_the_flag(served, host, capsys):
    assert run("--host", host) == 2
    assert "--allow-remote" in capsys.readouterr().err
    assert not served


def test_with_the_flag_it_warns(served, capsys):
    assert run("--host", "0.0.0.0", "--allow-remote", "--port", "0", "--no-open") == 0
    assert "no password" in capsys.readouterr().err


def test_a_port_in_use_is_said(served, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert run("--port", str(taken.getsockname()[1])) == 2
    assert "cannot listen" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "jinja2", "altair", "vl_convert"])
def test_a_missing_extra_is_named(monkeypatch, capsys, missing):
    monkeypatch.setitem(sys.modules, missing, None)

    assert run("--port", "0", "--no-open") == 2
    said = capsys.readouterr().err
    assert missing in said
    assert "pip install 'rooflight[studio]'" in said


def test_loopback_names():
    assert all(map(is_loopback, ["127.0.0.1", "127.8.8.8", "::1", "localhost"]))
    assert not any(map(is_loopback, ["0.0.0.0", "", "10.0.0.1", "localhost.example.com"]))


def test_a_calibration_is_read_before_it_listens(served, tmp_path, capsys):
    """Its file goes by the name that it was given; one that is none is refused."""
    rows = Path(__file__).parents[3] / "docs/examples/own-rows.csv"
    file = tmp_path / "own.toml"
    assert failures.run(app.run_plain, ["calibrate", str(rows), "-o", str(file)]) == 0
    assert run("--port", "0", "--no-open", "--calibration", str(file)) == 0
    assert served["own"].file == str(file)
    assert served["own"].calibration.entries
    assert run("--port", "0", "--no-open", "--calibration", str(rows)) == 2
    assert "own-rows.csv" in capsys.readouterr().err

"""`rooflight measure` without measuring: its options, its files, how it ends."""

from __future__ import annotations

import json
import tomllib

import msgspec
import pytest

from machines import machine
from rooflight.cli.app import app
from rooflight.cli.failures import run
from rooflight.errors import BadInput
from rooflight.probe.machine import Interrupted


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What the probe was asked for; it finds the same machine each time."""
    seen = {}

    def measure(device=None, **options):
        seen.update(options, device=device)
        options["progress"]("caches", 0.5)
        if "end" in seen:
            raise seen["end"]
        return seen.get("machine") or machine(complete=not options["quick"])

    monkeypatch.setattr("rooflight.library.measured.measure", measure)
    monkeypatch.setenv("ROOFLIGHT_DATA_HOME", str(tmp_path / "data"))
    return seen


def rooflight(*words):
    return run(app.run_plain, ["measure", *words])


def test_the_answer_comes_first(asked, capsys):
    assert rooflight("--quick") == 0
    out, err = capsys.readouterr()
    assert out.startswith("AMD EPYC, 2 threads, as measured: memory at 50 GB/s")
    assert err == "measuring: caches\n"


def test_options_reach_the_probe_and_are_kept_as_the_command(asked):
    assert rooflight("--quick", "--device", "cpu", "--threads", "2") == 0
    assert (asked["device"], asked["threads"], asked["quick"]) == ("cpu", 2, True)
    assert asked["command"] == "rooflight measure --quick --device cpu --threads 2"


def test_a_full_measurement_is_kept_for_this_machine(asked, tmp_path, capsys):
    assert rooflight() == 0
    kept = tmp_path / "data" / "rooflight" / "this.toml"
    assert tomllib.loads(kept.read_text())["measured"]["complete"] is True
    assert f"kept for --on this: {kept}" in capsys.readouterr().err
    assert run(app.run_plain, ["analyze", "llama-3.2-1b", "--on", "this"]) == 0
    assert "on amd-epyc-measured" in capsys.readouterr().out


def test_what_takes_the_place_of_another_measurement_says_so(asked, tmp_path, capsys):
    """Two threads as before say nothing; one in place of two, and another device in place of this, do."""
    kept = tmp_path / "data" / "rooflight" / "this.toml"
    said = []
    one = machine()
    alone = msgspec.structs.replace(one.measured, state=msgspec.structs.replace(one.measured.state, threads=1))
    for now in (one, one, msgspec.structs.replace(one, measured=alone), one, machine(device="Intel Xeon")):
        asked["machine"] = now
        assert rooflight() == 0
        said.append(next(line for line in capsys.readouterr().err.splitlines() if line.startswith("kept")))
    assert said == [
        f"kept for --on this: {kept}",
        f"kept for --on this: {kept}",
        f"kept for --on this (1 thread), in place of one with 2 threads: {kept}",
        f"kept for --on this (2 threads), in place of one with 1 thread: {kept}",
        f"kept for --on this (Intel Xeon), in place of one of AMD EPYC: {kept}",
    ]


def test_a_quick_look_is_not_kept(asked, tmp_path):
    assert rooflight("--quick") == 0
    assert not (tmp_path / "data").exists()


def test_where_nothing_can_be_kept_the_answer_is_given(asked, tmp_path, capsys):
    (tmp_path / "data").write_text("a file where a folder should be")
    assert rooflight() == 0
    out, err = capsys.readouterr()
    assert out.startswith("AMD EPYC")
    assert "Warning: --on this will not find it" in err


def test_the_file_is_of_the_form_its_ending_says(asked, tmp_path, capsys):
    files = {ending: tmp_path / f"this.{ending}" for ending in ("toml", "json", "csv", "md")}
    for file in files.values():
        assert rooflight("--quick", "-o", str(file)) == 0
    assert tomllib.loads(files["toml"].read_text())["id"] == "amd-epyc-measured"
    assert json.loads(files["json"].read_text())["schema"] == "rooflight.measure/1"
    assert files["csv"].read_text().startswith("what,name,median")
    assert "| bf16 |" in files["md"].read_text()


@pytest.mark.parametrize("file", ["a.svg", "a.html", "a.xyz", "no/such/folder/a.toml"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(asked, tmp_path, file, capsys):
    assert rooflight("-o", str(tmp_path / file)) == 2
    assert rooflight("--samples", str(tmp_path / "no/such/folder/a.jsonl")) == 2
    assert "device" not in asked


def test_other_commands_write_no_machine(ask):
    result = ask("analyze", "8b", "--on", "h100", "-o", "a.toml")
    assert result.exit_code == 2


@pytest.mark.parametrize("target", [".", "a.jsonl.gz", "-"])
def test_what_is_no_target_for_samples_is_refused_before_anything_is_measured(asked, tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    assert rooflight("--samples", target) == 2
    assert "device" not in asked
    assert not [*tmp_path.iterdir()]


def test_samples_that_find_no_room_take_no_answer_along(asked, tmp_path, monkeypatch, capsys):
    def full(path, lines):
        raise BadInput(f"{path} cannot be added to", got="No space left on device")

    monkeypatch.setattr("rooflight.ingest.samples.append_lines", full)
    assert rooflight("-o", str(tmp_path / "a.toml"), "--samples", str(tmp_path / "a.jsonl")) == 2
    assert (tmp_path / "a.toml").exists()
    assert (tmp_path / "data" / "rooflight" / "this.toml").exists()
    out, err = capsys.readouterr()
    assert out.startswith("AMD EPYC")
    assert "No space left" in err


def test_samples_are_appended(asked, tmp_path):
    file = tmp_path / "samples.jsonl"
    for _ in range(2):
        assert rooflight("--quick", "--samples", str(file)) == 0
    lines = file.read_text().splitlines()
    assert [json.loads(line)["schema"] for line in lines] == ["rooflight.sample/1"] * 2


def test_an_interrupt_gives_what_was_done(asked, tmp_path, capsys):
    asked["end"] = Interrupted(machine(complete=False, undone=(("arithmetic", "interrupted"),)))
    assert rooflight("-o", str(tmp_path / "this.toml")) == 130
    assert tomllib.loads((tmp_path / "this.toml").read_text())["measured"]["complete"] is False
    assert not (tmp_path / "data").exists()


def test_an_interrupt_before_anything_was_done_gives_nothing(asked, tmp_path, capsys):
    asked["end"] = Interrupted(machine((), complete=False))
    assert rooflight("-o", str(tmp_path / "this.toml")) == 130
    assert not (tmp_path / "this.toml").exists()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("--threads", "0"),
        ("--threads", "-1"),
        ("--threads", "two"),
        ("--threads", "1.5"),
        ("--quick", "kernel"),
        ("nonsense",),
    ],
)
def test_wrong_use(asked, words, capsys):
    assert rooflight(*words) == 2
    assert "device" not in asked
    assert capsys.readouterr().err


def test_options_in_front_of_a_command_are_refused(asked, monkeypatch, capsys):
    import click

    from rooflight.cli.measure import Parts

    monkeypatch.setattr(Parts, "get_command", lambda self, ctx, name: click.Command("show", callback=lambda: 0))
    assert rooflight("--quick", "show") == 2
    assert "options stand behind the command they are of" in capsys.readouterr().err
    assert rooflight("show") == 0


def test_a_device_that_is_not_there_is_said_by_its_option(monkeypatch, capsys):
    pytest.importorskip("torch", reason="needs the extra `measure`")
    assert rooflight("--device", "tpu") == 2
    assert "--device" in capsys.readouterr().err


def test_threads_that_no_processor_runs_are_said_by_their_option(capsys):
    assert rooflight("--threads", "1000000") == 2
    assert "--threads" in capsys.readouterr().err

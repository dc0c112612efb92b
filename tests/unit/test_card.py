"""The script that measures a card: every stage has its line, whatever becomes of it. No speed is asserted."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bench" / "card.py"
KEYS = {"schema", "stage", "status", "seconds", "limit_s", "why", "commands", "answers"}


@pytest.fixture(scope="module")
def card():
    spec = importlib.util.spec_from_file_location("card", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["card"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bench(card, tmp_path):
    return card.Bench(tmp_path / "card.jsonl", None, True)


def test_a_stage_that_fails_is_a_line_that_says_so(card, bench):
    def unknown(bench, until):
        bench.ask("accelerators", "nosuch", until=until)

    def late(bench, until):
        raise subprocess.TimeoutExpired("x", 1)

    def lacking(bench, until):
        raise card.LeftOut("nothing of it is here")

    def fine(bench, until):
        bench.ask("accelerators", "h100-sxm", until=until)

    lines = [card.told(bench, card.Stage(work.__name__, 60, work), 30) for work in (unknown, late, lacking, fine)]
    assert [line["status"] for line in lines] == ["failed", "failed", "left-out", "ok"]
    assert "nosuch" in lines[0]["why"]
    assert lines[0]["commands"] == ["rooflight accelerators nosuch"]
    assert lines[1]["why"] == "it was not done within 30 s"
    assert lines[2]["why"] == "nothing of it is here"
    assert lines[3]["answers"][0]["schema"] == "rooflight.accelerator/1"
    assert all(set(line) == KEYS for line in lines)


def test_a_stage_without_time_is_left_out(card, bench):
    line = card.told(bench, card.Stage("roofs", 60, card.roofs), 0)
    assert (line["status"], line["why"], line["limit_s"]) == ("left-out", "no time was left", 0)


def test_all_stages_together_take_less_than_eight_minutes(card):
    assert sum(stage.limit_s for stage in card.STAGES) <= card.TOTAL_S < 8 * 60


def test_a_server_that_ends_is_a_failure_and_one_that_stays_is_ended(card, bench, tmp_path):
    log = tmp_path / "log"
    log.write_text("no such model")
    gone = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    gone.wait()
    with pytest.raises(card.Failed, match="ended with 3: no such model"):
        card.wait_for(gone, "http://127.0.0.1:9", time.monotonic() + 60, log)
    stays = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    with pytest.raises(card.Failed, match="not ready in time"):
        card.wait_for(stays, "http://127.0.0.1:9", time.monotonic(), log)
    card.end(stays)
    assert stays.poll() is not None


def test_its_models_are_read(card, bench):
    """The parameters of Llama-3-8B, which are published."""
    import rooflight

    assert rooflight.model(bench.model("llama", card.LLAMA_CONFIG)).vocab == 128256
    model = rooflight.model(bench.model("experts", card.EXPERTS_CONFIG))
    (layer,) = model.layers
    assert (layer.count, layer.experts.count, layer.experts.chosen) == (48, 128, 8)


@pytest.mark.slow
def test_the_small_run_has_a_line_for_every_stage(card, tmp_path):
    pytest.importorskip("torch", reason="the script measures through torch, which is not installed")
    out = tmp_path / "card.jsonl"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--small", "--device", "cpu", "--out", str(out)], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["stage"] for line in lines] == [stage.name for stage in card.STAGES]
    assert all(set(line) == KEYS and line["schema"] == "rooflight.card/1" for line in lines)
    by_name = {line["stage"]: line for line in lines}
    assert by_name["roofs"]["status"] == "ok", by_name["roofs"]["why"]
    assert by_name["gemms"]["status"] == "ok", by_name["gemms"]["why"]
    found = by_name["gemms"]["answers"][0]
    told = " ".join([*(one["operator"] for one in found["kernels"]), *found["left_out"]])
    assert all(name in told for name in ("qkv", "attention", "down", "embedding"))
    samples = [json.loads(line) for line in out.with_name("card-samples.jsonl").read_text().splitlines()]
    assert {one["kind"] for one in samples} >= {"kernel", "bandwidth"}

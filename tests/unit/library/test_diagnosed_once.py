"""A file given again, or a copy of it, is no second measurement."""

from __future__ import annotations

import json
import shutil

from rooflight import diagnose
from rooflight.values.sample import SCHEMA

RUN = {
    "backend": "vllm", "model_id": "acme/Small-7B", "max_concurrency": 4, "completed": 24, "duration": 102.5,
    "total_input_tokens": 3077, "total_output_tokens": 1536, "request_throughput": 0.235, "output_throughput": 15.0,
    "mean_ttft_ms": 5345.1, "mean_tpot_ms": 185.1,
}  # fmt: skip


def test_a_run_given_three_times_is_one_run_and_that_is_said(tmp_path):
    first, copy = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text(json.dumps(RUN), encoding="utf-8")
    shutil.copy(first, copy)

    alone, again = diagnose(first), diagnose(first, first, copy)

    assert (again.answer, again.recorded) == (alone.answer, alone.recorded)
    assert [one.file for one in again.sources] == [str(first)]
    said = [note for note in again.notes if "counted once" in note]
    assert (len(said), str(copy) in said[-1]) == (2, True)


def test_runs_that_differ_in_one_figure_are_two(tmp_path):
    first, other = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text(json.dumps(RUN), encoding="utf-8")
    other.write_text(json.dumps({**RUN, "duration": 102.6}), encoding="utf-8")

    assert len(diagnose(first, other).recorded) == 2


def test_single_measurements_are_not_said_to_be_no_times(tmp_path):
    path = tmp_path / "kernels.jsonl"
    path.write_text(f'{{"schema":"{SCHEMA}","kind":"kernel","name":"gemm","flop":8.0}}\n', encoding="utf-8")

    found = diagnose(path)

    assert found.cannot_tell
    assert found.answer.endswith("single measurements say what a device reaches, and nothing of a run.")
    assert len(found.samples) == 1

"""What check and diagnose say of one file: the same names are read, and one figure has one verdict."""

from __future__ import annotations

import csv
import io
import json

import pytest

from rooflight.answers.diagnose.benchmarks import benchmarks
from rooflight.answers.diagnose.setting import setting
from rooflight.ingest.recorded.read import recorded
from rooflight.library.checks import check
from rooflight.words.diagnosis.benchmarks import told


def bench(tmp_path, device="NVIDIA GeForce RTX 4090", file="Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", rate=8_000.0):
    """llama-bench's JSON of one test of 512 prompt tokens."""
    path = tmp_path / "lb.json"
    test = {
        "build_commit": "b1234abc", "build_number": 6500, "gpu_info": device, "backends": "CUDA",
        "model_filename": file, "model_type": "llama 8B Q4_K - Medium", "n_batch": 2048, "n_ubatch": 512,
        "type_k": "f16", "type_v": "f16", "n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ts": rate, "stddev_ts": 1.0,
    }  # fmt: skip
    path.write_text(json.dumps([test]))
    return path


@pytest.mark.parametrize("device", ["NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090 (CUDA 12.4)"])
def test_both_read_the_names_of_a_weight_file_and_of_a_device_with_brackets(tmp_path, device):
    path = bench(tmp_path, device=device)
    at = setting([recorded(path)], None, None, {})
    row = check(path).rows[0]
    assert (at.model.id, at.card.id) == ("meta-llama/Meta-Llama-3.1-8B", "rtx-4090")
    assert row.verdict == "ok", row.reason


def test_prompts_inside_what_is_expected_are_as_expected_in_both(tmp_path):
    """Weights of 4 bits are multiplied in 16 bits or, by llama.cpp, in 8: check's ceiling is that of the faster one."""
    path = bench(tmp_path)
    row = check(path).rows[0]
    files = [recorded(path)]
    found = benchmarks(files, setting(files, None, None, {}))
    run = found.runs[0]
    assert row.verdict == "ok"
    assert (run.said, run.bound, run.cannot_tell) == ("bound", "compute", False)
    share = 8_000 / row.ceiling
    assert run.beside.of_ceiling == pytest.approx(share)
    assert share < run.beside.of_roof < 1
    answer = told(found).answer
    assert "as fast as a well-run engine is expected to be" in answer
    assert f", at {run.beside.of_roof:.0%} of the roofline's speed".replace("%", " %") in answer


def test_prompts_faster_than_expected_and_below_the_ceiling_are_fast_in_both(tmp_path):
    path = bench(tmp_path, rate=11_500.0)
    files = [recorded(path)]
    assert check(path).rows[0].verdict == "fast"
    assert "times as fast as is expected" in told(benchmarks(files, setting(files, None, None, {}))).answer


def test_prompts_above_every_arithmetic_are_told_by_neither(tmp_path):
    """Twice the ceiling of 8 bits: check leaves open what the file means, and so does diagnose."""
    path = bench(tmp_path, rate=30_000.0)
    files = [recorded(path)]
    assert check(path).rows[0].verdict in ("cannot-judge", "impossible")
    assert benchmarks(files, setting(files, None, None, {})).cannot_tell


def table(tmp_path, **cells):
    path = tmp_path / "rows.csv"
    text = io.StringIO()
    row = {"accelerator": "h100-sxm", "metric": "tpot_ms", "value": 9, "phase": "decode", "batch": 1, **cells}
    writer = csv.DictWriter(text, [*row, "input_len", "output_len"])
    writer.writeheader()
    writer.writerow(row | {"input_len": 512, "output_len": 128})
    path.write_text(text.getvalue())
    return path


def test_a_name_that_ends_in_a_format_is_no_run_in_16_bits(tmp_path):
    """The shape is known, its weights are not: the row is left out, and read where weights are stated."""
    bare = check(table(tmp_path, model="Meta-Llama-3.1-8B-Instruct-AWQ"))
    assert [row.verdict for row in bare.rows] == ["cannot-judge"]
    assert "names a format of its weights" in bare.rows[0].reason
    (row,) = check(table(tmp_path, model="Meta-Llama-3.1-8B-Instruct-AWQ", weights="int4-g128")).rows
    assert row.verdict != "cannot-judge", row.reason

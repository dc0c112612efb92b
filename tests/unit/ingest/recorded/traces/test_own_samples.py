"""rooflight's own samples among recorded files: known by their first schema, kept as they are."""

from __future__ import annotations

import msgspec
import pytest

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.read import recorded
from rooflight.values.sample import Origin, Sample, Timing

ONE = Sample(
    kind="kernel", name="gemm", device="card", time_s=Timing(median=2.0, low=1.0, high=3.0, n=5), flop=8.0,
    source=Origin(tool="rooflight measure", version="0.1"),
)  # fmt: skip


def line(sample):
    return msgspec.json.encode(sample).decode()


def test_samples_stay_what_they_are_and_a_line_cut_short_is_said(tmp_path):
    path = tmp_path / "kernels.jsonl"
    path.write_text(f"{line(ONE)}\n{line(ONE)}\n{line(ONE)[:40]}", encoding="utf-8")

    found = recorded(path)

    assert (found.format, found.tool, found.version) == ("samples", "rooflight measure", "0.1")
    assert found.samples == (ONE, ONE)
    assert [note for note in found.notes if "line 3" in note] == list(found.notes)


def test_another_answer_with_samples_in_it_is_no_file_of_samples(tmp_path):
    path = tmp_path / "answer.json"
    path.write_text(f'{{"schema": "rooflight.diagnosis/1", "samples": [{line(ONE)}]}}', encoding="utf-8")

    with pytest.raises(BadConfig, match="nothing that is read looks like"):
        recorded(path)

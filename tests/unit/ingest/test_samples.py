"""Samples stored and read again: nothing but a damaged line is lost, and that is said by its number."""

from __future__ import annotations

import gzip

import msgspec
import pytest

from rooflight.errors import BadConfig, BadInput
from rooflight.ingest.samples import append, read_samples
from rooflight.values.sample import Sample, Timing

ONE = Sample(kind="kernel", name="gemm", device="card", time_s=Timing(median=2.0, low=1.0, high=3.0, n=5), flop=8.0)
TWO = Sample(kind="request", name="ünser", isl=8, osl=4, shape={"tokens": 8.0})


def text(sample, **changes):
    return msgspec.json.encode(msgspec.to_builtins(sample) | changes).decode()


def test_what_is_stored_is_what_is_read(tmp_path):
    path = tmp_path / "a.jsonl"
    assert append(path, [ONE, TWO]) == 2
    append(path, [ONE])
    found = read_samples(path)
    assert found.samples == (ONE, TWO, ONE)
    assert (found.lost, found.notes) == ((), ())
    assert path.read_text(encoding="utf-8").startswith('{"schema":"rooflight.sample/1","kind":"kernel"')


def test_packed_files_are_read(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(f"{text(ONE)}\n{text(TWO)}\n".encode()))
    assert read_samples(path).samples == (ONE, TWO)


def test_a_packed_file_cut_short_gives_what_can_be_read(tmp_path):
    path = tmp_path / "a.gz"
    packed = gzip.compress(f"{text(ONE)}\n{text(TWO)}\n".encode())
    path.write_bytes(packed[:-4])
    found = read_samples(path)
    assert found.samples == (ONE, TWO)
    (lost,) = found.lost
    assert lost.line == 3
    assert "to its end" in lost.why


@pytest.mark.parametrize(
    "line, why",
    [
        ('{"schema":"rooflight.sample/1","kind":"ker', "cut short"),
        ("{nothing}", "not JSON"),
        ("[1, 2]", "no rooflight.sample/1"),
        ('{"kind":"kernel","name":"a"}', "no rooflight.sample/1"),
        ('{"schema":"rooflight.analysis/1"}', "no rooflight.sample/1"),
        (text(ONE, kind="thing"), "no rooflight.sample/1"),
        (text(ONE, flop=-1.0), "flop is -1"),
        (text(ONE, runs=0), "runs"),
        (text(ONE, runs=10**400), "runs is 1"),
        (text(ONE, flop=1e308), "flop is 1e+308"),
        (text(ONE, bytes=1e-13), "bytes is 1e-13"),
        (text(ONE, counters={"dram_active": -1.0}), "counters.dram_active is -1"),
        (text(ONE, gaps_s=[0.0, 1e300]), "gaps_s[1] is 1e+300"),
        (text(ONE, time_s={"median": 5e-324, "low": 0.0, "high": 1.0}), "median 4.94066e-324"),
        (text(ONE, time_s={"median": 1e308, "low": 1e308, "high": 1e308}), "low 1e+308"),
        (text(ONE, shape={"tokens": -2}), "shape.tokens is -2"),
        (text(ONE, time_s={"median": 1.0, "low": 2.0, "high": 3.0}), "low 2"),
        (text(ONE, time_s={"median": 1.0, "low": 1.0, "high": 1.0, "n": 0}), "time_s.n is 0"),
        ("x" * (1 << 21), "more than"),
    ],
)
def test_a_line_that_is_no_sample_is_said_and_passed_over(tmp_path, line, why):
    """Line 2 of four, a blank one among them."""
    path = tmp_path / "a.jsonl"
    path.write_text(f"{text(ONE)}\n{line}\n\n{text(TWO)}\n", encoding="utf-8")
    found = read_samples(path)
    assert found.samples == (ONE, TWO)
    (lost,) = found.lost
    assert lost.line == 2
    assert why in lost.why


def test_a_file_without_samples(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("")
    with pytest.raises(BadConfig, match="no sample"):
        read_samples(path)
    path.write_text("model,accelerator\n")
    with pytest.raises(BadConfig) as caught:
        read_samples(path)
    assert caught.value.got.startswith("line 1: the line is not JSON")
    with pytest.raises(BadInput, match="there is no file"):
        read_samples(tmp_path / "none")

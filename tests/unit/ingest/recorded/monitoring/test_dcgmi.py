"""dcgmi dmon: the profiler's counters, a row a GPU and second."""

from __future__ import annotations

import pytest

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.read import recorded
from rooflight.units import to_base

TEXT = """#Entity   GPUTL        SMACT        TENSO        DRAMA        POWER        SMCLK        FBUSD    NVLTX  NVLRX
ID                                                               W
GPU 0     95           0.931        0.060        0.780        512.500      1980         70000      100    50
GPU 1     N/A          0.000        0.000        0.001        70.100       345          10         N/A        0
#Entity   GPUTL        SMACT        TENSO        DRAMA        POWER        SMCLK        FBUSD    NVLTX  NVLRX
ID                                                               W
GPU 0     94           0.930        0.061        0.781        511.500      1980         70000      100    50
GPU 0     94           0.930
GPU-I 3   N/A          0.500        0.100        0.200        N/A          1980         10         N/A        N/A
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "recorded"
        path.write_text(text)
        return recorded(path)

    return read


def test_every_row_is_a_moment(read):
    """Utilisation is in percent, what the profiler says are shares of 1; the header comes again; N/A is no value."""
    found = read(TEXT)
    first, second, third, part = found.watched

    assert (found.format, first.subject, second.subject, third.subject) == ("dcgmi-dmon", "gpu 0", "gpu 1", "gpu 0")
    assert (first.gpu_util, first.sm_active, first.tensor_active, first.dram_active) == (0.95, 0.931, 0.06, 0.78)
    assert (first.power_w, first.sm_clock_hz) == (512.5, to_base(1980, "MHz"))
    assert (first.memory_used_bytes, first.nvlink_bytes_per_s) == (to_base(70_000, "MiB"), 150)
    assert (second.gpu_util, second.nvlink_bytes_per_s, second.throttled) == (None, None, None)
    assert (part.subject, part.mig, part.dram_active) == ("mig 3", "not stated", 0.2)
    assert found.notes == ("rows with too few or too many cells are left out: 1",)


def test_reasons_are_nvmls_bits(read):
    (one,) = read("#Entity   DVCCTR\nID\nGPU 0     4\n").watched

    assert one.throttled == ("power",)


def test_a_header_alone_is_refused(read):
    with pytest.raises(BadConfig, match="no rows of dcgmi"):
        read("#Entity   GPUTL  SMACT\nID\n")

"""The loops of the measurement and the same in C, side by side: that both are timed, not which is faster."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

from rooflight.probe import host, memory

SCRIPT = Path(__file__).parents[3] / "bench" / "measure_truth.py"
LINE = re.compile(r"(.+?) +([\d.]+) +([\d.]+) GB/s +ratio +([\d.]+) \(([\d.]+) to ([\d.]+)\)")


@pytest.fixture
def truth(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    spec = importlib.util.spec_from_file_location("measure_truth", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "TURN_S", 0.002)
    monkeypatch.setattr(memory, "cache_levels", lambda: (("L1", 2.0**16), ("L2", 2.0**20)))
    monkeypatch.setattr(memory, "memory_set_bytes", lambda device: (2.0**23, True))
    monkeypatch.setattr(memory, "past_caches", lambda processors, most, past: (most, past))
    return module


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_every_loop_is_timed_beside_its_like_in_c(truth, tmp_path, capsys):
    pytest.importorskip("numba", reason="needs the extra `loops`")
    pytest.importorskip("torch", reason="needs the extra `measure`")
    library = truth.compiled(str(tmp_path))
    truth.caches(library, host.allowed()[:1], 3)
    truth.stream(library, host.allowed()[:1], 3)
    found = [LINE.fullmatch(line) for line in capsys.readouterr().out.splitlines()]
    assert all(found)
    assert [one[1] for one in found][:-1] == [
        f"{level}{kernel}"
        for level in ("L1", "L2", "memory")
        for kernel in (" read", " copy", " triad", ", best of each")
    ]
    assert found[-1][1].endswith("/ STREAM triad")
    for one in found:
        ratio, low, high = (float(one[i]) for i in (4, 5, 6))
        assert low <= ratio <= high

"""The fits run again on a small sample of made-up rows, find the numbers it was made from, and write what is read.

The sample's times come from known coefficients (write_sample.py); nothing in it was measured.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

import rooflight
from rooflight.catalog import calibration
from rooflight.values.calibration import Calibration, Engine

pytest.importorskip("scipy", reason="the fits need the extra `calibration`: pip install rooflight[calibration]")
pytest.importorskip("pandas", reason="the fits need the extra `calibration`: pip install rooflight[calibration]")

pytestmark = pytest.mark.slow  # fits
HERE = Path(__file__).parent
SAMPLE = HERE / "sample"
SCRIPTS = HERE.parents[1] / "calibration"
SOURCE = Path(rooflight.__file__).parents[1]


def rows_of(name: str) -> list[dict[str, str]]:
    with (SAMPLE / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run(script: str, *options: str) -> None:
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, SCRIPTS / script, *options], capture_output=True, text=True, check=False,
        env=os.environ | one_thread | {"PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The folder into which the kernel fits of the sample were written."""
    out = tmp_path_factory.mktemp("kernels")
    run("fit_kernels.py", "--data", str(SAMPLE), "--out", str(out), "--report", str(out / "report.md"), "--workers=1")
    return out


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    """The folder into which the engines of the sample were written."""
    out = tmp_path_factory.mktemp("engines")
    toml, report = str(out / "engines"), str(out / "accuracy.md")
    run("fit_engines.py", "--data", str(SAMPLE), "--out", toml, "--report", report)
    return out


@pytest.fixture
def family(kernels, monkeypatch) -> Calibration:
    """The sample's Ampere, as the library reads it."""
    calibration.collectives()  # kept: these are no part of the sample
    monkeypatch.setattr(calibration, "_FOLDER", kernels)
    return calibration.calibration.__wrapped__("Ampere")


@pytest.fixture
def served(engines, monkeypatch) -> dict[tuple[str, str], Engine]:
    """The sample's engines by name and family, as the library reads them."""
    monkeypatch.setattr(calibration, "_FOLDER", engines)
    names = calibration.engine_ids.__wrapped__()
    found = [engine for name in names for engine in calibration.engines.__wrapped__(name)]
    return {(engine.id, engine.family): engine for engine in found}


@pytest.mark.parametrize(
    ("part", "known"),
    [
        ("gemm", {"floor_s": 3e-6, "memory_efficiency": 0.8, "compute_efficiency": 0.75}),
        ("decode", {"floor_s": 9e-6, "memory_efficiency": 0.8, "item_s": 3e-6}),
        ("prefill", {"floor_s": 1.1e-5, "memory_efficiency": 0.6, "compute_efficiency": 0.6}),
    ],
)
def test_kernel_fits_find_the_coefficients_that_the_sample_was_made_from(family, part, known):
    fit = getattr(family, part)["bf16"]

    for name, value in known.items():
        assert getattr(fit, name) == pytest.approx(value, rel=0.08), name
    assert fit.error.median < 0.02  # held out; the noise is 1 %


def test_a_collective_is_found_again(family):
    link = family.links["nvlink/all_reduce"]

    assert link.latency_s == pytest.approx(8e-6, rel=0.05)
    assert link.efficiency == pytest.approx(0.7, rel=0.05)


def test_kernel_entries_name_their_data(family):
    rows = {"gemm": "gemm", "decode": "attention_generation", "prefill": "attention_context"}
    for part, table in rows.items():
        data = getattr(family, part)["bf16"].data
        assert data.rows == len(rows_of(f"kernels/{table}.csv"))
        assert table in data.sources[0]
        assert len(data.sha256) == 16
    assert len({getattr(family, part)["bf16"].data.sha256 for part in rows}) == 3


def test_what_the_rows_do_not_show_is_marked(family):
    """No product of the sample quantises; its PCIe joins two devices only; nobody timed weights in int4."""
    assert set(family.gemm["bf16"].not_fitted) == {"quantise_floor_s", "quantise_efficiency"}
    assert {"hop_s", "start_share"} <= set(family.links["pcie/all_gather"].not_fitted)
    assert family.gemm["int4"].data is None
    assert "memory_efficiency" in family.gemm["int4"].not_fitted


def test_served_engines_are_found_again(served):
    """Each engine's shares are held near everyone's, so it is their times that must come out."""
    assert {("generic", ""), ("vllm", "Hopper"), ("sglang", "Hopper"), ("llama.cpp", "Ampere")} <= set(served)
    for engine in ("vllm", "sglang"):
        entry = served[engine, "Hopper"]
        assert float(entry.error.split("held out: ")[1].split("%")[0]) < 3
        assert entry.low > 0.9
        assert entry.high < 1.1
    assert served["vllm", "Hopper"].host_s > served["sglang", "Hopper"].host_s
    assert served["vllm", ""].host_s == served["generic", ""].host_s  # on families that it was not seen on
    assert served["generic", ""].server_s == pytest.approx(0.06, rel=0.1)
    assert served["generic", ""].queue == pytest.approx(1.5, rel=0.1)
    assert served["vllm", "Hopper"].run_low > 0.9
    assert served["vllm", "Hopper"].run_high < 1.1


def test_an_engine_names_its_data_and_marks_what_they_do_not_set(served):
    """llama.cpp of the sample takes 25 times as long a sequence as a fit sets out with; nobody ran it with experts."""
    entry = served["llama.cpp", "Ampere"]

    assert entry.data.rows == len(rows_of("measured.csv"))
    assert entry.at_edge == ()  # shares are fitted as logarithms, held near where they set out
    assert 1e-5 < entry.host_per_sequence_s < 3e-4
    assert {"expert_share", "expert_layer_s", "prefill_share", "server_s", "queue"} <= set(entry.not_fitted)
    assert entry.first_data is None
    assert served["vllm", ""].first_data.rows == len(rows_of("served.csv")) / 2
    assert served["vllm", ""].at_edge == ()


def test_the_hash_is_of_the_rows_in_any_order(tmp_path):
    """Another order gives the same hash, another number another."""
    head, *lines = (SAMPLE / "kernels" / "gemm.csv").read_text().splitlines()
    cases = {"as they are": lines, "turned": lines[::-1], "slower": [*lines[:-1], lines[-1] + "1"]}
    for name, changed in cases.items():
        (tmp_path / name / "kernels").mkdir(parents=True)
        (tmp_path / name / "kernels" / "gemm.csv").write_text("\n".join([head, *changed]) + "\n")
    code = (
        "import sys; from pathlib import Path; import provenance, rows\n"
        "for folder in sys.argv[1:]: print(provenance.digest(rows.gemm_rows(Path(folder))[0].lines))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *(str(tmp_path / name) for name in cases)],
        capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(SCRIPTS), str(SOURCE)])},
    )  # fmt: skip
    same, turned, slower = done.stdout.split()

    assert same == turned
    assert same != slower


def test_the_reports_are_written(kernels, engines):
    assert "# How far off the expected time of kernels is" in (kernels / "report.md").read_text()
    assert "# How accurate it is" in (engines / "accuracy.md").read_text()
    assert msgspec.convert(tomllib.loads((kernels / "ampere.toml").read_text()), Calibration).family == "Ampere"

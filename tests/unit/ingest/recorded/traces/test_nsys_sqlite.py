"""Nsight Systems' SQLite export: its tables, and what a hostile file may not do."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.read import recorded
from rooflight.ingest.recorded.traces import nsys_sqlite
from unit.ingest.recorded.traces.made import taken, written

NS = 1e-9
PROCESS = 7 << 24
TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, globalPid INTEGER,
    correlationId INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, globalPid INTEGER,
    correlationId INTEGER, copyKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, nameId INTEGER, globalTid INTEGER,
    correlationId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
INSERT INTO StringIds VALUES (1, 'nvjet_tst_64x8'), (2, 'cudaLaunchKernel_v7000'), (3, 'execute_context_0(0)_generation_8(8)'),
    (4, 'cudaGraphLaunch_v10000'), (5, 'cudaDeviceSynchronize_v3020');
INSERT INTO TARGET_INFO_GPU VALUES (4, 'NVIDIA H100 80GB HBM3');
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (4, 0, 7);
"""  # noqa: E501


def export(path, more=""):
    base = sqlite3.connect(path)
    base.executescript(TABLES + more)
    base.close()
    return path


def filled(path, more=""):
    """Two kernels of one step, launched at 10 and 30, which run from 100 to 180 with a gap of 20; a copy behind."""
    return export(
        path,
        f"""
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 140, 0, {PROCESS}, 1, 1, 1),
            (160, 180, 0, {PROCESS}, 2, 1, 1);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (200, 210, 0, {PROCESS}, 9, 2);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 15, 2, {PROCESS}, 1), (30, 35, 4, {PROCESS}, 2),
            (60, 190, 5, {PROCESS}, 3);
        INSERT INTO NVTX_EVENTS VALUES (5, 50, NULL, 3, 0), (5, NULL, 'a moment', NULL, 0);
        {more}""",
    )


def test_an_export_says_kernels_calls_and_steps(tmp_path):
    found = recorded(filled(tmp_path / "x"))
    traced = found.traced

    (device,) = traced.devices
    # the process's device 0 is the machine's card 4
    assert (device.device, device.name) == ("gpu 4", "NVIDIA H100 80GB HBM3")
    assert (device.span_s, device.busy_s) == (pytest.approx(110 * NS), pytest.approx(70 * NS))
    assert (device.kernels, device.copy_s) == (2, pytest.approx(10 * NS))
    assert {(one.operator, one.calls) for one in traced.kernels} == {("gemm", 2), ("copy", 1)}
    (step,) = traced.steps
    assert (step.phase, step.batch, step.busy_s) == ("decode", 8, pytest.approx(60 * NS))
    assert (traced.launches, traced.graph_launches, traced.synchronize_s) == (2, 1, pytest.approx(130 * NS))
    assert found.format == "nsys-sqlite"


def test_it_may_come_packed_or_through_a_pipe(tmp_path):
    raw = filled(tmp_path / "x").read_bytes()

    packed = recorded(written(tmp_path, raw, packed=True)).traced
    assert packed == recorded(tmp_path / "x").traced == taken(nsys_sqlite.FORMAT, raw).traced


def test_graphs_recorded_as_a_whole_are_busy_time_and_said(tmp_path):
    more = f"""CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,
        globalPid INTEGER, correlationId INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE
        VALUES (300, 400, 0, {PROCESS}, 5)"""
    found = recorded(filled(tmp_path / "x", more))

    assert found.traced.devices[0].busy_s == pytest.approx(170 * NS)
    assert any("cuda-graph-trace=node" in note for note in found.notes)


def test_missing_tables_and_columns_are_nothing(tmp_path):
    base = sqlite3.connect(tmp_path / "x")
    base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER)")
    base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9), ('x', 4), (9, 5)")
    base.commit()
    base.close()
    found = recorded(tmp_path / "x")

    assert found.traced.devices[0].busy_s == pytest.approx(4 * NS)
    assert any(note.startswith("2 of its rows") for note in found.notes)


def test_an_export_without_kernels_says_what_it_lacks(tmp_path):
    assert recorded(export(tmp_path / "x")).lacks[0] == "kernels of a device"


def test_any_other_database_is_refused(tmp_path):
    base = sqlite3.connect(tmp_path / "x")
    base.execute("CREATE TABLE passwords (word TEXT)")
    base.commit()
    base.close()
    with pytest.raises(BadConfig, match="no profile"):
        recorded(tmp_path / "x")


def test_a_report_says_how_it_is_exported(tmp_path):
    with pytest.raises(BadConfig) as refused:
        recorded(written(tmp_path, b"NVIDIA Tegra Profiler Report 2025@1\n\x00\x01"))

    assert "nsys export --type sqlite" in refused.value.try_this


ENDLESS = "WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start AS end FROM n"


@pytest.mark.parametrize(
    "table",
    [
        f"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS {ENDLESS}",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end AS (length(zeroblob(900000000)) + start));"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start) VALUES (1)",
    ],
)
def test_a_hostile_database_runs_nothing(tmp_path, table):
    base = sqlite3.connect(tmp_path / "x")
    base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER)")
    base.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "x")) as raw:
        for statement in table.split(";"):
            try:
                raw.execute(statement)
            except sqlite3.Error:
                pytest.skip("this SQLite cannot make such a table")
        raw.commit()
    try:
        assert not recorded(tmp_path / "x").traced.kernels
    except BadConfig as refused:
        assert "cannot be read" in str(refused)


@pytest.mark.parametrize("cut", [16, 100, 1000, 5000])
def test_a_damaged_one_is_refused_or_read_in_part(tmp_path, cut):
    raw = filled(tmp_path / "x").read_bytes()
    for broken in (raw[:cut], raw[:cut] + b"\xff" * 2000 + raw[cut + 2000 :]):
        with contextlib.suppress(BadConfig):
            recorded(written(tmp_path, broken))

"""Nsight Compute's CSV: both pages, both spellings, units, and what is none of its table."""

from __future__ import annotations

import sys
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.errors import BadConfig, BadInput
from rooflight.ingest.recorded.read import recorded

LONG = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size",'
LONG += '"Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"'


def long_row(ident, name, metric, unit, value, device="0", grid="(64, 64, 1)"):
    return (
        f'"{ident}","7","app","127.0.0.1","{name}","1","7","(256, 1, 1)","{grid}","{device}","9.0","Section",'
        f'"{metric}","{unit}","{value}"'
    )


def details(*rows, head=LONG):
    return "\n".join([head, *rows]) + "\n"


def read(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "profile.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return recorded(path)


def the_kernel(found):
    (one,) = found.traced.kernels
    return one


def test_details_page_gives_time_bytes_and_shares(tmp_path):
    """1.5 TB/s for 200 us is 300 MB; shares are percent."""
    text = details(
        long_row(0, "copy_kernel(float *)", "DRAM Frequency", "Ghz", "2.62"),
        long_row(0, "copy_kernel(float *)", "Duration", "us", "200.00"),
        long_row(0, "copy_kernel(float *)", "DRAM Throughput", "%", "45.50"),
        long_row(0, "copy_kernel(float *)", "Memory Throughput", "%", "60.10"),
        long_row(0, "copy_kernel(float *)", "Compute (SM) Throughput", "%", "12.25"),
        long_row(0, "copy_kernel(float *)", "Memory Throughput", "Tbyte/s", "1.50"),
        long_row(0, "copy_kernel(float *)", "Achieved Occupancy", "%", "88.00"),
    )
    found = read(tmp_path, text)
    one = the_kernel(found)

    assert found.format == "ncu-csv"
    assert found.traced.timeline is False
    assert one.operator == "copy"
    assert one.total_s == pytest.approx(200e-6)
    assert one.bytes == pytest.approx(1.5e12 * 200e-6)
    assert one.counters == pytest.approx(
        {"dram_active": 0.455, "memory_throughput": 0.601, "sm_throughput": 0.1225, "sm_occupancy": 0.88}
    )
    assert one.shape == {"blocks": 64 * 64, "threads": 256}


@pytest.mark.parametrize(
    ("value", "unit", "seconds"),
    [
        ("9,589,248", "ns", 9_589_248e-9), ("9,589,248", "nsecond", 9_589_248e-9), ("9.59", "msecond", 9.59e-3),
        ("9.59", "ms", 9.59e-3), ("12.5", "usecond", 12.5e-6), ("1.25", "second", 1.25),
    ],
)  # fmt: skip
def test_durations_in_any_unit(tmp_path, value, unit, seconds):
    found = read(tmp_path, details(long_row(0, "k", "gpu__time_duration.sum", unit, value)))

    assert the_kernel(found).total_s == pytest.approx(seconds)


@pytest.mark.parametrize("spelling", ["dram__bytes_{}.sum", "dram__bytes_op_{}.sum"])
def test_bytes_are_read_and_written_in_both_spellings(tmp_path, spelling):
    """134.2 MB + 43.6 MB."""
    text = details(
        long_row(0, "k", spelling.format("read"), "Mbyte", "134.2"),
        long_row(0, "k", spelling.format("write"), "byte", "43,600,000"),
        long_row(0, "k", "gpu__time_duration.sum", "ns", "292,928"),
    )
    assert the_kernel(read(tmp_path, text)).bytes == pytest.approx(134.2e6 + 43.6e6)


def test_sectors_are_32_bytes_each(tmp_path):
    text = details(
        long_row(0, "k", "dram__sectors_read.sum", "sector", "1,000"),
        long_row(0, "k", "dram__sectors_write.sum", "sector", "500"),
        long_row(0, "k", "gpu__time_duration.sum", "ns", "1000"),
    )
    assert the_kernel(read(tmp_path, text)).bytes == 1500 * 32


def test_bytes_read_alone_are_not_all_bytes(tmp_path):
    text = details(
        long_row(0, "k", "dram__bytes_read.sum", "byte", "1000"),
        long_row(0, "k", "gpu__time_duration.sum", "ns", "1000"),
    )
    found = read(tmp_path, text)

    assert the_kernel(found).bytes is None
    assert any("dram__bytes" in one for one in found.lacks)


def test_flop_of_threads(tmp_path):
    """An ffma is two, fadd and fmul one: 2 x 1000 + 30 + 4 = 2034, in fp32."""
    stem = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
    text = details(
        long_row(0, "k", stem.format("ffma"), "inst", "1,000"), long_row(0, "k", stem.format("fadd"), "inst", "30"),
        long_row(0, "k", stem.format("fmul"), "inst", "4"), long_row(0, "k", "Duration", "us", "10"),
    )  # fmt: skip
    one = the_kernel(read(tmp_path, text))

    assert one.flop == 2 * 1000 + 30 + 4
    assert one.format == "fp32"


def test_flop_a_cycle_are_of_all_cycles(tmp_path):
    """Rooflines of ncu: 100 ffma operations a cycle (doubled already) + 10 fadd, at 2 GHz for 50 us."""
    text = details(
        long_row(0, "k", "derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2", "inst", "100"),
        long_row(0, "k", "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed", "inst/cycle", "10"),
        long_row(0, "k", "smsp__cycles_elapsed.avg.per_second", "cycle/nsecond", "2.00"),
        long_row(0, "k", "gpu__time_duration.sum", "usecond", "50"),
    )
    assert the_kernel(read(tmp_path, text)).flop == pytest.approx((100 + 10) * 2e9 * 50e-6)


def test_tensor_operations_are_counted_once(tmp_path):
    """The counter of all sparsities counts, not its parts beside it; bf16 is what most of them are."""
    text = details(
        long_row(0, "gemm", "sm__ops_path_tensor_src_bf16_dst_fp32.sum", "", "4,000,000"),
        long_row(0, "gemm", "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum", "", "4,000,000"),
        long_row(0, "gemm", "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_on.sum", "", "0"),
        long_row(0, "gemm", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", "500"),
        long_row(0, "gemm", "gpu__time_duration.sum", "ns", "1000"),
    )
    one = the_kernel(read(tmp_path, text))

    assert one.flop == 4_000_000 + 2 * 500
    assert one.format == "bf16"


def test_flop_are_unknown_where_tensor_units_ran_uncounted(tmp_path):
    """The threads' own arithmetic is a small part of such a kernel."""
    text = details(
        long_row(0, "gemm", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%", "61.0"),
        long_row(0, "gemm", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", "500"),
        long_row(0, "gemm", "gpu__time_duration.sum", "ns", "1000"),
    )
    found = read(tmp_path, text)

    assert the_kernel(found).flop is None
    assert the_kernel(found).counters["tensor_active"] == pytest.approx(0.61)
    assert any("sm__ops_path_tensor" in one for one in found.lacks)


RAW = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
RAW += (
    '"CC","device__attribute_display_name","dram__bytes.sum.per_second","dram__bytes_read.sum","dram__bytes_write.sum",'
)
RAW += '"gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed"'
UNITS = '"","","","","","","","","","","","","Gbyte/second","Mbyte","Kbyte","usecond","%"'


def raw_row(ident, name, *values, device="0"):
    cells = [ident, "7", "app", "127.0.0.1", name, "1", "7", "(128, 1, 1)", "(10, 1, 1)", device, "9.0", *values]
    return ",".join(f'"{cell}"' for cell in cells)


def test_raw_page_has_a_row_of_units(tmp_path):
    """64 MB + 100 KB in 120 us; the card by its own attribute."""
    text = "\n".join([RAW, UNITS, raw_row(0, "k", "NVIDIA H100 80GB HBM3", "534.2", "64.0", "100.0", "120.0", "20.5")])
    found = read(tmp_path, text)
    one = the_kernel(found)

    assert one.bytes == pytest.approx(64e6 + 100e3)
    assert one.total_s == pytest.approx(120e-6)
    assert one.counters == pytest.approx({"sm_throughput": 0.205})
    assert found.traced.devices[0].name == "NVIDIA H100 80GB HBM3"


def test_equal_launches_are_one_group(tmp_path):
    """Three runs of 10, 20 and 30 us, 1, 2 and 3 MB: a call has 2 MB; the median is 20 us."""
    rows = [raw_row(n, "k", "H", "1", str(n), "0", str(10 * n), "10") for n in (1, 2, 3)]
    one = the_kernel(read(tmp_path, "\n".join([RAW, UNITS, *rows])))

    assert one.calls == 3
    assert one.total_s == pytest.approx(60e-6)
    assert one.time_s.median == pytest.approx(20e-6)
    assert one.bytes == pytest.approx(2e6)


def test_devices_stay_apart(tmp_path):
    rows = [
        raw_row(0, "k", "H", "1", "1", "0", "10", "10"),
        raw_row(1, "k", "H", "1", "1", "0", "30", "10", device="1"),
    ]
    found = read(tmp_path, "\n".join([RAW, UNITS, *rows]))

    assert {one.device: one.busy_s for one in found.traced.devices} == pytest.approx({"gpu 0": 10e-6, "gpu 1": 30e-6})
    assert [one.device for one in found.traced.kernels] == ["gpu 0", "gpu 1"]


def test_units_may_stand_in_brackets_behind_the_name(tmp_path):
    text = '"ID","Function Name","gpu__time_duration.sum [us]","dram__bytes.sum [Mbyte]"\n"0","k","2.5","3"\n'
    one = the_kernel(read(tmp_path, text))

    assert (one.total_s, one.bytes) == (pytest.approx(2.5e-6), pytest.approx(3e6))


def test_decimal_commas_where_nothing_else_can_be_meant(tmp_path):
    """97,32 % is no thousand, so 1.234,5 us has thousands' points."""
    text = details(
        long_row(0, "k", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "97,32"),
        long_row(0, "k", "gpu__time_duration.sum", "us", "1.234,5"),
    )
    found = read(tmp_path, text)

    assert the_kernel(found).counters["sm_throughput"] == pytest.approx(0.9732)
    assert the_kernel(found).total_s == pytest.approx(1234.5e-6)
    assert "numbers have decimal commas" in found.notes


def test_a_summary_of_runs_has_their_mean(tmp_path):
    head = '"Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    head += '"CC","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"'
    row = '"7","app","h","k","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0","4","S","Duration","us","5.0","15.0","10.0"'
    one = the_kernel(read(tmp_path, f"{head}\n{row}\n"))

    assert (one.calls, one.total_s) == (4, pytest.approx(40e-6))


def test_what_programs_print_is_no_row(tmp_path):
    """A byte-order mark, output before and between, rules, not-available values."""
    text = "\ufeff==PROF== Connected to process 5\n" + 'loading "model, please wait\n' + details(
        long_row(0, "k", "gpu__time_duration.sum", "us", "2.0"), "step 1, loss 0.5",
        long_row(0, "k", "dram__bytes.sum", "byte", "n/a"), "==PROF== Disconnected from process 5",
    )  # fmt: skip
    found = read(tmp_path, text)

    assert the_kernel(found).total_s == pytest.approx(2e-6)
    assert the_kernel(found).bytes is None
    assert "2 lines among the rows are none of the table's" in found.notes


def test_utf_16_of_powershell(tmp_path):
    text = "\ufeff" + details(long_row(0, "k", "Duration", "us", "2.0"))

    assert the_kernel(read(tmp_path, text.encode("utf-16-le"))).total_s == pytest.approx(2e-6)


def test_files_joined_together_keep_their_kernels_apart(tmp_path):
    text = details(long_row(0, "a", "Duration", "us", "1")) + details(long_row(0, "b", "Duration", "us", "2"))

    assert [one.name for one in read(tmp_path, text).traced.kernels] == ["a", "b"]


def test_a_card_that_the_program_printed_is_said(tmp_path):
    text = "device: NVIDIA GeForce RTX 4070 Ti SUPER (sm_89), 66 SMs\n" + details(
        long_row(0, "k", "Duration", "us", "2")
    )
    found = read(tmp_path, text)

    assert found.traced.devices[0].name == "NVIDIA GeForce RTX 4070 Ti SUPER"
    assert any("printed" in note for note in found.notes)


def test_no_permission_is_said(tmp_path):
    text = "==PROF== Connected to process 5\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
    with pytest.raises(BadConfig, match="no table") as refused:
        read(tmp_path, text)

    assert "ERR_NVGPUCTRPERM" in str(refused.value.got)


def test_a_header_without_rows_is_refused(tmp_path):
    with pytest.raises(BadConfig, match="no kernel"):
        read(tmp_path, LONG + "\n")


def test_kernels_without_a_time_are_left_out_and_said(tmp_path):
    found = read(tmp_path, details(long_row(0, "k", "dram__bytes.sum", "byte", "5")))

    assert found.traced.kernels == ()
    assert any("gpu__time_duration" in one for one in found.lacks)


def test_a_report_needs_its_module(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(BadConfig, match="cannot be read as it is") as refused:
        read(tmp_path, b"NVR\0\x01\x02\x03")

    assert "--page raw --csv" in str(refused.value.try_this)


class Metric:
    def __init__(self, value, unit=""):
        self._value, self._unit = value, unit

    def as_double(self):
        return self._value

    def as_string(self):
        return str(self._value)

    def unit(self):
        return self._unit


METRICS = {
    "gpu__time_duration.sum": Metric(2000.0, "ns"), "dram__bytes.sum": Metric(5000.0, "byte"),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": Metric(50.0, "%"), "launch__grid_dim_x": Metric(12.0),
    "device__attribute_display_name": Metric("NVIDIA H100 80GB HBM3"),
}  # fmt: skip


class Action:
    """A kernel as ncu_report has it."""

    def metric_names(self):
        return list(METRICS)

    def metric_by_name(self, name):
        return METRICS.get(name)

    def name(self):
        return "k"


def test_a_report_by_its_module(tmp_path, monkeypatch):
    part = types.SimpleNamespace(num_actions=lambda: 1, action_by_idx=lambda _: Action())
    report = types.SimpleNamespace(num_ranges=lambda: 1, range_by_idx=lambda _: part)
    monkeypatch.setitem(sys.modules, "ncu_report", types.SimpleNamespace(load_report=lambda _: report))
    found = read(tmp_path, b"NVR\0\x01")
    one = the_kernel(found)

    assert (one.total_s, one.bytes) == (pytest.approx(2e-6), 5000)
    assert one.counters == {"sm_throughput": 0.5}
    assert one.shape == {"blocks": 12, "threads": 1}
    assert found.traced.devices[0].name == "NVIDIA H100 80GB HBM3"


CELL = st.text(st.characters(codec="utf-8", exclude_characters='"\r\n'), max_size=20)


@given(st.lists(st.tuples(CELL, CELL, CELL, CELL), max_size=6), st.text(max_size=40))
def test_any_cells_are_read_or_refused(tmp_path_factory, rows, before):
    text = before + "\n" + details(*(long_row(a, b, c, d, "1.5") for a, b, c, d in rows))
    try:
        found = read(tmp_path_factory.mktemp("any"), text)
    except BadInput:
        return
    assert all(one.total_s > 0 for one in found.traced.kernels)

"""Nsight Systems' reports as text, by version and layout."""

from __future__ import annotations

import gzip
import random

import pytest

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.read import recorded
from unit.ingest.recorded.traces.made import written

NS = 1e-9
# A header of 2024, with what nsys prints in front of it.
SUMMARIES = """Generating SQLite file x.sqlite from x.nsys-rep
Processing [x.sqlite] with [/opt/nvidia/nsight-systems/2024.5.1/host-linux-x64/reports/cuda_gpu_kern_sum.py]...

 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
62.5,"5,000,000",10,"500,000","510,000","400,000","600,000",20000,"void flash_fwd_kernel<int, float>(int)"
37.5,3000000,20,150000,150000,150000,150000,0,nvjet_tst_64x8
Processing [x.sqlite] with [/opt/nvidia/nsight-systems/2024.5.1/host-linux-x64/reports/cuda_gpu_mem_time_sum.py]...
Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation
100.0,2472,2,1236,1236,703,1769,533,[CUDA memcpy Host-to-Device]

Processing [x.sqlite] with [cuda_gpu_mem_size_sum.py]...
Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
1.5,2,0.75,0.75,0.5,1.0,0.25,[CUDA memcpy Host-to-Device]

Processing [x.sqlite] with [cuda_api_sum.py]...
Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
50.0,6000,6,1000,1000,900,1100,10,cudaLaunchKernel
10.0,2000,1,2000,2000,2000,2000,0,cudaGraphLaunch_v10000
40.0,4000,4,1000,1000,900,1100,10,cudaStreamSynchronize

Processing [x.sqlite] with [osrt_sum.py]...
Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
99.0,900000000,7,1000,1000,900,1100,10,poll
Processing [x.sqlite] with [nvtx_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Style,Range
99.0,900000000,7,1000,1000,900,1100,10,PushPop,execute_model
"""
COLUMNS = """
 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

 Time (%)  Total Time (ns)  Instances   Avg (ns)   Med (ns)  Min (ns)  Max (ns)  StdDev (ns)         Name
 --------  ---------------  ---------  ---------  ---------  --------  --------  -----------  ------------------
     82.7    1,802,181,977     26,265   68,615.3   68,768.0    67,200    72,672        594.8  void at::native::vectorized_elementwise_kernel<(int)4, float>
     17.3      377,211,583     33,117   11,390.3    6,688.0     1,920   134,208     19,091.4  nvjet_hsh_128
"""  # noqa: E501
TRACE = """Start (ns),Duration (ns),CorrId,GrdX,Reg/Trd,DymSMem (MB),Device,Ctx,GreenCtx,Strm,Name
1000,4000,67,1,160,0.025,NVIDIA A100-SXM4-80GB (0),1,,7,kernel_a
3000,4000,67,1,160,0.025,NVIDIA A100-SXM4-80GB (0),1,,8,"nvjet_hsh<a, b>"
9000,1000,65,1,140,0.007,NVIDIA A100-SXM4-80GB (0),1,,7,[CUDA memcpy DtoH]
9000,1000,65,1,140,0.007,NVIDIA A100-SXM4-80GB (1),1,,7,kernel_b
"""


def test_several_reports_of_one_file_are_told_apart(tmp_path):
    found = recorded(written(tmp_path, SUMMARIES))
    traced = found.traced

    assert {(one.operator, one.calls, round(one.total_s / NS)) for one in traced.kernels} == {
        ("attention", 10, 5_000_000), ("gemm", 20, 3_000_000), ("copy", 2, 2472),
    }  # fmt: skip
    assert (traced.launches, traced.graph_launches) == (7, 1)
    assert traced.launch_s == pytest.approx(8000 * NS)
    assert traced.synchronize_s == pytest.approx(4000 * NS)
    assert (found.format, found.version, traced.timeline) == ("nsys", "2024.5.1", False)
    assert not found.notes


def test_the_median_leads_and_the_interval_is_the_deviations(tmp_path):
    """Eight of ten of a normal spread lie within 1.2816 deviations of the mean."""
    time_s = recorded(written(tmp_path, SUMMARIES)).traced.kernels[0].time_s

    assert time_s.median == pytest.approx(510_000 * NS)
    assert time_s.low == pytest.approx((500_000 - 1.2816 * 20_000) * NS)
    assert time_s.high == pytest.approx((500_000 + 1.2816 * 20_000) * NS)


def test_columns_without_commas_are_read(tmp_path):
    traced = recorded(written(tmp_path, COLUMNS)).traced

    assert [(one.operator, one.calls) for one in traced.kernels] == [("elementwise", 26_265), ("gemm", 33_117)]
    assert traced.kernels[0].name.endswith("<(int)4, float>")


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name", "50.0,5000000,10,500000.0,400000,600000"),
        ('"Time(%)","Total Time (ns)","Instances","Average","Minimum","Maximum","Name"', "50,5000000,10,5e5,4e5,6e5"),
        ("Time (%),Total Time (us),Instances,Avg (us),Med (us),StdDev (us),Name", "50,5000,10,500,500,9"),
        ("Time (%),Total Time (ms),Num Calls,Avg (ms),Name", "50,5,10,0.5"),
    ],
)  # fmt: skip
def test_older_headers_and_other_units_say_the_same(tmp_path, header, row):
    hint = "Processing [x.sqlite] with [/opt/reports/cuda_gpu_kern_sum.py]...\n"
    (one,) = recorded(written(tmp_path, f"{hint}{header}\n{row},ampere_fp16_s16816gemm\n")).traced.kernels

    assert (one.calls, one.operator, one.format) == (10, "gemm", "fp16")
    assert one.total_s == pytest.approx(5e-3)


def test_a_trace_says_how_each_devices_time_went(tmp_path):
    """1000..5000 and 3000..7000 overlap, a copy 9000..10000: busy 7000 of 9000."""
    first, second = recorded(written(tmp_path, TRACE)).traced.devices

    assert (first.device, first.name, second.device) == ("gpu 0", "NVIDIA A100-SXM4-80GB", "gpu 1")
    assert (first.busy_s, first.span_s) == (pytest.approx(7000 * NS), pytest.approx(9000 * NS))
    assert (first.kernels, first.copy_s) == (2, pytest.approx(1000 * NS))


def test_a_second_summary_of_kernels_does_not_count_again(tmp_path):
    found = recorded(written(tmp_path, SUMMARIES + SUMMARIES))

    assert sum(one.calls for one in found.traced.kernels) == 32
    assert any("left out" in note for note in found.notes)


def test_rows_that_are_none_are_left_out_and_said(tmp_path):
    found = recorded(written(tmp_path, TRACE + "9960,,65,1\n8,nan,,,,,,,,,x\nwarning: buffers overflowed\n"))

    assert sum(one.calls for one in found.traced.kernels) == 4
    assert any("2 of its lines" in note for note in found.notes)


def test_a_packed_one_cut_short_says_what_is_there(tmp_path):
    """Lines of no repetition, so that half of the packed bytes are about half of the lines."""
    chance = random.Random(3)
    lines = [
        f"{n * 10},{chance.randint(1, 9)},{chance.getrandbits(60)},,,,GPU (0),1,,7,kernel_a" for n in range(20_000)
    ]
    raw = gzip.compress((TRACE.splitlines()[0] + "\n" + "\n".join(lines)).encode())
    found = recorded(written(tmp_path, raw[: len(raw) // 2]))

    assert 8_000 < found.traced.devices[0].kernels < 12_000
    assert any("cannot be read to its end" in note for note in found.notes)


def test_reports_without_kernels_are_refused(tmp_path):
    with pytest.raises(BadConfig, match="no kernels"):
        recorded(written(tmp_path, SUMMARIES[SUMMARIES.index("Processing [x.sqlite] with [osrt") :]))

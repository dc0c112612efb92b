"""rocprof's tables by version, and what its counters come to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.errors import BadConfig, BadInput
from rooflight.ingest.recorded.read import recorded


def read(tmp_path, text):
    path = tmp_path / "any.csv"
    path.write_text(text)
    return recorded(path)


V1 = '"Index","KernelName","gpu-id","queue-id","BeginNs","EndNs","DurationNs"'
V2 = "Dispatch_ID,GPU_ID,Queue_ID,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID"
V3 = '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"'
# a float holds whole nanoseconds up to 2^53 = 9.0e15 alone, and no fractions of a second of these
START = 1_412_582_414_437_599


@pytest.mark.parametrize(
    ("head", "row"),
    [
        (V1, '{n},"gemm_kernel(float*)",2,0,{start},{end},0'), (V2, '{n},2,0,"gemm_kernel(float*)",{start},{end},9'),
        (V3, '"KERNEL_DISPATCH","Agent 2",1,15,"gemm_kernel(float*)",{n},{start},{end}'),
    ],
    ids=["v1", "v2", "v3"],
)  # fmt: skip
def test_kernel_traces_of_each_version(tmp_path, head, row):
    """Two kernels of 20 and 10 us with 30 us between them: busy 30 of a span of 60 us."""
    rows = [row.format(n=0, start=START, end=START + 20_000), row.format(n=1, start=START + 50_000, end=START + 60_000)]
    found = read(tmp_path, "\n".join([head, *rows]) + "\n")
    (device,) = found.traced.devices
    (one,) = found.traced.kernels

    assert found.format == "rocprof"
    assert found.traced.timeline
    assert (device.device, device.kernels, device.gaps) == ("gpu 2", 2, 1)
    assert (device.span_s, device.busy_s, device.gap_s.median) == pytest.approx((60e-6, 30e-6, 30e-6))
    assert (one.operator, one.calls, one.total_s) == ("gemm", 2, pytest.approx(30e-6))


def test_collectives_and_copies_are_told_from_work(tmp_path):
    """A collective of 20 us, half of it beside a product; a copy alone for 5 us."""
    rows = [
        f'"KERNEL_DISPATCH",4,1,1,"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",1,{START},{START + 20_000}',
        f'"KERNEL_DISPATCH",4,1,2,"Cijk_Ailk_Bljk_BBS_BH",2,{START + 10_000},{START + 30_000}',
        f'"KERNEL_DISPATCH",4,1,3,"__amd_rocclr_copyBuffer",3,{START + 30_000},{START + 35_000}',
    ]
    (device,) = read(tmp_path, "\n".join([V3, *rows])).traced.devices

    assert device.communication_s == pytest.approx(20e-6)
    assert device.exposed_s == pytest.approx(10e-6)
    assert device.copy_s == pytest.approx(5e-6)
    assert device.busy_s == pytest.approx(35e-6)


COUNTED = "Dispatch_ID,Kernel_Name,GPU_ID,{},Start_Timestamp,End_Timestamp"


def counted(tmp_path, **counters):
    head = COUNTED.format(",".join(counters))
    row = f"0,k,0,{','.join(str(value) for value in counters.values())},{START},{START + 1000}"
    found = read(tmp_path, f"{head}\n{row}\n")
    assert found.traced.timeline is False
    return found.traced.kernels[0]


def test_bytes_of_mi200_by_requests(tmp_path):
    """Reads: 1000 of which 100 of 32 B, the rest of 64; writes: 500, of which 400 of 64 B, the rest of 32."""
    one = counted(
        tmp_path, TCC_EA_RDREQ_sum=1000, TCC_EA_RDREQ_32B_sum=100, TCC_EA_WRREQ_sum=500, TCC_EA_WRREQ_64B_sum=400
    )
    assert one.bytes == 100 * 32 + 900 * 64 + 400 * 64 + 100 * 32


def test_bytes_of_mi300_have_reads_of_128(tmp_path):
    """Reads: 1000, of which 600 of 128 B and 100 of 32 B, the rest of 64."""
    one = counted(
        tmp_path, TCC_EA0_RDREQ_sum=1000, TCC_EA0_RDREQ_32B_sum=100, TCC_BUBBLE_sum=600, TCC_EA0_WRREQ_sum=10,
        TCC_EA0_WRREQ_64B_sum=10,
    )  # fmt: skip
    assert one.bytes == 600 * 128 + 100 * 32 + 300 * 64 + 10 * 64


def test_bytes_of_mi300_without_that_counter_are_not_known(tmp_path):
    one = counted(
        tmp_path, TCC_EA0_RDREQ_sum=1000, TCC_EA0_RDREQ_32B_sum=100, TCC_EA0_WRREQ_sum=10, TCC_EA0_WRREQ_64B_sum=10
    )
    assert one.bytes is None


def test_fetch_and_write_size_are_kibibytes(tmp_path):
    assert counted(tmp_path, FETCH_SIZE=100, WRITE_SIZE=50.5).bytes == 150.5 * 1024


def test_channels_are_added_up(tmp_path):
    columns = {f"TCC_EA_{what}[{n}]": 10 for n in range(4) for what in ("RDREQ", "WRREQ", "WRREQ_64B")}
    columns |= {f"TCC_EA_RDREQ_32B[{n}]": 0 for n in range(4)}

    assert counted(tmp_path, **columns).bytes == 4 * 10 * 64 + 4 * 10 * 64


def test_flop_of_waves_and_matrix_units(tmp_path):
    """64 lanes: (3 + 2 x 5) x 64 in fp32; matrix instructions come in units of 512."""
    one = counted(
        tmp_path, SQ_INSTS_VALU_ADD_F32=3, SQ_INSTS_VALU_FMA_F32=5, SQ_INSTS_VALU_MFMA_MOPS_BF16=1000,
        SQ_INSTS_VALU_INT32=7,
    )  # fmt: skip
    assert one.flop == (3 + 2 * 5) * 64 + 1000 * 512
    assert one.format == "bf16"


def test_flop_need_both_kinds_of_units(tmp_path):
    assert counted(tmp_path, SQ_INSTS_VALU_FMA_F32=5).flop is None


V3_COUNTERS = '"Correlation_Id","Dispatch_Id","Agent_Id","Kernel_Name","Counter_Name","Counter_Value",'
V3_COUNTERS += '"Start_Timestamp","End_Timestamp"'


def test_counter_collection_has_a_row_a_counter(tmp_path):
    rows = [
        f'{n},{n},"Agent 4","k","{name}",{value},{START + n * 100},{START + n * 100 + 50}'
        for n in (1, 2)
        for name, value in (("FETCH_SIZE", 8), ("WRITE_SIZE", 2))
    ]
    found = read(tmp_path, "\n".join([V3_COUNTERS, *rows]))
    (one,) = found.traced.kernels

    assert (one.calls, one.bytes, one.total_s) == (2, 10 * 1024, pytest.approx(2 * 50e-9))
    assert found.traced.timeline is False


def test_counters_without_times_say_what_they_lack(tmp_path):
    head = '"Correlation_Id","Dispatch_Id","Agent_Id","Kernel_Name","Counter_Name","Counter_Value"'
    found = read(tmp_path, f'{head}\n1,1,4,"k","FETCH_SIZE",5\n')

    assert found.traced.kernels == ()
    assert any("Start_Timestamp" in one for one in found.lacks)


STATS = '"Name","Calls","TotalDurationNs","AverageNs","Percentage"'


def test_sums_of_kernels_have_no_timeline(tmp_path):
    found = read(
        tmp_path, f'{STATS}\n"void paged_attention_v2<float>(int)",96,6000000,62500.0,30.0\n"k",4,14000000,1,70\n'
    )
    first, second = found.traced.kernels

    assert found.traced.timeline is False
    assert (first.operator, first.calls, first.total_s) == ("attention", 96, pytest.approx(6e-3))
    assert found.traced.devices[0].busy_s == pytest.approx(20e-3)
    assert second.time_s is None


def test_calls_of_the_host_are_no_kernels(tmp_path):
    found = read(tmp_path, f'{STATS}\n"hipLaunchKernel",400,2000000,5000.0,80.0\n"hipMemcpy",1,500000,500000,20.0\n')

    assert found.traced.kernels == ()
    assert (found.traced.launches, found.traced.launch_s) == (400, pytest.approx(2e-3))
    assert any("host" in one for one in found.lacks)


def test_sums_of_domains_are_no_kernels(tmp_path):
    assert read(tmp_path, f'{STATS}\n"KERNEL_DISPATCH",400,2000000,5000.0,80.0\n').traced.kernels == ()


def test_the_machines_own_rates_are_samples(tmp_path):
    """1389.1 GB/s: a GB takes 0.72 ms; a GFLOP at 170.5 TFLOP/s 5.9 us."""
    text = "device,HBMBw,HBMBwLow,hbmBwHigh,MFMABF16Flops,MFMABF16FlopsLow,MFMABF16FlopsHigh\n"
    found = read(tmp_path, text + "0,1389.1462,1388.6844,1389.608,170499.52,170494.77,170504.27\n")
    bandwidth, products = found.samples

    assert found.traced is None
    assert (bandwidth.kind, bandwidth.bytes) == ("bandwidth", 1e9)
    assert bandwidth.bytes / bandwidth.time_s.median == pytest.approx(1389.1462e9)
    assert bandwidth.bytes / bandwidth.time_s.low == pytest.approx(1389.608e9)
    assert products.flop / products.time_s.median == pytest.approx(170.49952e12)
    assert products.compute == "bf16"
    assert bandwidth.source.line == 2


def test_a_description_of_the_machine_has_no_kernel(tmp_path):
    text = "workload_name,gpu_model,gpu_arch,rocm_version,hbm_bw\nx,MI200,gfx90a,6.0.2,1638.4\n"
    found = read(tmp_path, text)

    assert found.traced is None
    assert found.records[0].stated.device == "MI200"
    assert any("pmc_perf.csv" in one for one in found.notes)


def test_a_header_alone_is_refused(tmp_path):
    with pytest.raises(BadConfig, match="no row"):
        read(tmp_path, V2 + "\n")


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=9), max_size=8)))
def test_any_rows_are_read_or_refused(tmp_path_factory, rows):
    for head in (V2, STATS, V3_COUNTERS):
        try:
            found = read(tmp_path_factory.mktemp("any"), "\n".join([head, *(",".join(row) for row in rows)]))
        except BadInput:
            continue
        assert all(one.total_s >= 0 for one in found.traced.kernels)

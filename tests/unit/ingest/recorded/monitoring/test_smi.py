"""nvidia-smi's outputs: CSV with any columns, dmon, the long text and the table, and what has nothing of time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.monitoring.columns import amount
from rooflight.ingest.recorded.read import recorded
from rooflight.units import to_base

QUERY = """timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], \
clocks.sm [MHz], clocks_event_reasons.active
2026/07/03 08:33:53.415, 0, NVIDIA L40S, 9 %, 1235 MiB, 46068 MiB, 110.23 W, 2520 MHz, 0x0000000000000004
2026/07/03 08:33:53.416, 1, NVIDIA L40S, [N/A], 1235 MiB, 46068 MiB, [Unknown Error], [N/A], 0x0000000000000001
"""
DMON = """# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk  pviol  tviol     fb  rxpci  txpci
# Idx      W      C      C      %      %      %      %    MHz    MHz      %   bool     MB   MB/s   MB/s
    0    109     53      -     10      2      0      0   9001   2520      0      0   1235    100     20
    1      -     53      -      -      -      0      0   9001   2520      3      1   1235      -     20
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk  pviol  tviol     fb  rxpci  txpci
# Idx      W      C      C      %      %      %      %    MHz    MHz      %   bool     MB   MB/s   MB/s
    0    108     53      -      9      2      0      0   9001   2520      0      0   1235    100     20
"""
TABLE = """Fri Jul  3 08:33:38 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 595.80                 Driver Version: 595.80         CUDA Version: 13.2     |
|=========================================+========================+======================|
|   0  NVIDIA L40S                    Off |   00000000:01:00.0 Off |                    0 |
| N/A   64C    P0            242W /  350W |       0MiB /  46068MiB |    100%      Default |
|                                         |                        |                  N/A |
|   1  NVIDIA GeForce RTX 2080 ...   WDDM |   00000000:02:00.0  On |                  N/A |
| 30%   40C    P8             N/A /  N/A  |     702MiB /   8192MiB |     N/A      Default |
+-----------------------------------------+------------------------+----------------------+
"""
LONG = """==============NVSMI LOG==============

Timestamp                                              : Fri Jul  3 08:33:38 2026
Driver Version                                         : 595.80
Attached GPUs                                          : 1
GPU 00000000:01:00.0
    Product Name                                       : NVIDIA L40S
    MIG Mode
        Current                                        : N/A
    MIG Device
        FB Memory Usage
            Used                                       : 1 MiB
    PCI
        Tx Throughput                                  : 585 KB/s
        Rx Throughput                                  : 244 KB/s
    Clocks Event Reasons
        Idle                                           : Not Active
        SW Power Cap                                   : Active
        HW Slowdown                                    : Not Active
            HW Thermal Slowdown                        : Not Active
    FB Memory Usage
        Total                                          : 46068 MiB
        Used                                           : 12 MiB
    Utilization
        GPU                                            : 98 %
        Memory                                         : 9 %
    Temperature
        GPU Current Temp                               : 64 C
    GPU Power Readings
        Average Power Draw                             : 242.10 W
        Current Power Limit                            : 350.00 W
    Clocks
        Graphics                                       : 2520 MHz
        SM                                             : 2505 MHz
        Memory                                         : 9001 MHz
    Max Clocks
        SM                                             : 2520 MHz
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "recorded"
        path.write_text(text)
        return recorded(path)

    return read


def test_a_query_is_a_moment_of_each_gpu(read):
    """Units in header and cells; what is not available is not zero."""
    found = read(QUERY)
    first, second = found.watched

    assert (found.format, first.subject, second.subject) == ("nvidia-smi", "gpu 0", "gpu 1")
    assert (first.device, first.start) == ("NVIDIA L40S", "2026-07-03T08:33:53.415")
    assert (first.gpu_util, first.power_w, first.sm_clock_hz) == (0.09, 110.23, to_base(2520, "MHz"))
    assert (first.memory_used_bytes, first.memory_total_bytes) == (to_base(1235, "MiB"), to_base(46068, "MiB"))
    assert first.throttled == ("power",)
    assert (second.gpu_util, second.power_w, second.sm_clock_hz) == (None, None, None)
    assert second.throttled == ()  # bit 1 is idle
    assert any("zone" in note for note in found.notes)


def test_a_query_without_units_in_its_cells(read):
    """--format=csv,nounits: the header has them."""
    (one,) = read("utilization.gpu [%], memory.used [MiB], power.draw [W]\n98, 1235, 110.5\n").watched

    assert (one.subject, one.gpu_util, one.memory_used_bytes, one.power_w) == ("gpu", 0.98, to_base(1235, "MiB"), 110.5)


def test_a_query_of_one_column(read):
    assert [one.gpu_util for one in read("utilization.gpu [%]\n98 %\n7 %\n").watched] == [0.98, 0.07]


@pytest.mark.parametrize("prefix", ["clocks_event_reasons", "clocks_throttle_reasons"])
def test_reasons_as_words(read, prefix):
    """Both spellings of the columns; "Not Active" of all is no reason, and idle is none either."""
    header = f"index, {prefix}.gpu_idle, {prefix}.sw_power_cap, {prefix}.hw_thermal_slowdown\n"
    found = read(header + "0, Active, Not Active, Not Active\n0, Not Active, Active, Active\n0, [N/A], [N/A], [N/A]\n")

    assert [one.throttled for one in found.watched] == [(), ("power", "thermal")]


def test_a_query_after_other_output_and_with_a_row_cut_short(read):
    found = read("starting\n" + QUERY + "2026/07/03 08:33:54.4, 0, NVIDIA\n")

    assert len(found.watched) == 2
    assert any("too few or too many cells" in note and "line 5" in note for note in found.notes)


def test_dmon_with_its_header_again_and_again(read):
    """A dash is no value; the header comes after each screen; MB of memory are MiB; both ways over PCIe together."""
    first, second, third = read(DMON).watched

    assert (first.subject, second.subject, third.subject) == ("gpu 0", "gpu 1", "gpu 0")
    assert (first.gpu_util, first.memory_util, first.power_w) == (0.1, 0.02, 109)
    assert (first.sm_clock_hz, first.memory_clock_hz) == (to_base(2520, "MHz"), to_base(9001, "MHz"))
    assert first.memory_used_bytes == to_base(1235, "MiB")
    assert first.pcie_bytes_per_s == to_base(100 + 20, "MB/s")
    assert first.throttled == ()
    assert (second.gpu_util, second.power_w, second.pcie_bytes_per_s) == (None, None, None)
    assert second.throttled == ("power", "thermal")
    assert third.gpu_util == 0.09


def test_dmon_with_date_and_time(read):
    """-o DT."""
    header = "#Date       Time        gpu    pwr     sm\n#YYYYMMDD   HH:MM:SS    Idx      W      %\n"
    text = header + " 20260703   08:33:54      0    109     10\n"
    (one,) = read(text).watched

    assert (one.start, one.gpu_util) == ("2026-07-03T08:33:54", 0.1)


def test_the_table(read):
    """Two lines a GPU; a name that is cut is none; N/A is not zero."""
    found = read(TABLE)
    first, second = found.watched

    assert (found.version, first.start, first.device) == ("595.80", "2026-07-03T08:33:38", "NVIDIA L40S")
    assert (first.gpu_util, first.power_w, first.power_limit_w, first.temperature_c) == (1.0, 242, 350, 64)
    assert first.memory_total_bytes == to_base(46068, "MiB")
    assert (second.subject, second.device, second.gpu_util, second.power_w) == ("gpu 1", None, None, None)
    assert second.memory_used_bytes == to_base(702, "MiB")


def test_the_long_text(read):
    """-q: sections by their indent; a slice's memory is not the GPU's."""
    (one,) = read(LONG).watched

    assert (one.subject, one.device, one.start) == ("gpu 0", "NVIDIA L40S", "2026-07-03T08:33:38")
    assert (one.gpu_util, one.memory_util, one.power_w, one.power_limit_w) == (0.98, 0.09, 242.1, 350)
    assert (one.sm_clock_hz, one.max_sm_clock_hz) == (to_base(2505, "MHz"), to_base(2520, "MHz"))
    assert one.memory_used_bytes == to_base(12, "MiB")
    assert one.pcie_bytes_per_s == to_base(585 + 244, "kB/s")
    assert one.throttled == ("power",)


def test_outputs_one_after_another(read):
    """The table and -q of one second are one moment with all that either says."""
    found = read(TABLE + "\n\n" + LONG + "\n####\n" + DMON)

    assert [one.subject for one in found.watched] == ["gpu 0", "gpu 1", "gpu 0", "gpu 1", "gpu 0"]
    assert (found.watched[0].power_w, found.watched[0].memory_util) == (242, 0.09)


APPS = "timestamp, gpu_name, gpu_bus_id, gpu_serial, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
PMON = """# gpu         pid   type     sm    mem    enc    dec    command
# Idx           #    C/G      %      %      %      %    name
    0       2165     C      -      -      -      -    python
"""


@pytest.mark.parametrize(
    "text", [APPS, APPS + "2026/07/03 08:33:53.650, NVIDIA L40S, 0, 0, GPU-0, 20037, x, 538 MiB\n", PMON]
)
def test_rows_of_processes_are_no_monitoring(read, text):
    with pytest.raises(BadConfig, match="rows of processes"):
        read(text)


def test_help_is_no_monitoring(read):
    with pytest.raises(BadConfig, match="nvidia-smi's help"):
        read(
            'List of valid properties to query for the switch "--query-gpu=":\n\n'
            '"timestamp"\nWhen.\n\n"utilization.gpu"\nBusy.\n'
        )


def test_a_query_for_names_alone_has_no_values(read):
    with pytest.raises(BadConfig, match="what it is, and not what it did"):
        read("index, name, fan.speed [%], memory.total [MiB]\n0, NVIDIA L40S, 38 %, 46068 MiB\n")


def test_a_long_recording_becomes_means(read):
    """1,800 seconds of two GPUs are 600 rows each, of 3 s; the reasons of all three stay."""
    lines = ["timestamp, index, utilization.gpu [%], clocks_event_reasons.active"]
    for second in range(1800):
        stamp = f"2026/07/03 {8 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000"
        mask = 4 if second == 1 else 0
        lines += [f"{stamp}, {gpu}, {(second % 3) * 30 + gpu} %, 0x{mask:016x}" for gpu in (0, 1)]
    found = read("\n".join(lines))
    first = found.watched[0]

    assert len(found.watched) == 2 * 600
    assert (first.span, first.seconds, first.start) == ("interval", 3.0, "2026-07-03T08:00:00.000")
    assert first.gpu_util == pytest.approx((0 + 0.3 + 0.6) / 3)
    assert (first.throttled, found.watched[1].throttled) == (("power",), ())


@pytest.mark.parametrize(
    ("cell", "unit", "value"),
    [
        ("98 %", "", 0.98), ("98%", "", 0.98), ("98", "%", 0.98), ("1,235 MiB", "", to_base(1235, "MiB")),
        ("-", "W", None),
        ("[N/A]", "W", None), ("[Requested functionality has been deprecated]", "W", None), ("nan", "W", None),
        ("inf", "W", None), ("3 parsecs", "", None), ("", "W", None),
    ],
)  # fmt: skip
def test_a_cell_is_an_amount_or_none(cell, unit, value):
    assert amount(cell, unit) == value


@given(
    st.lists(
        st.sampled_from([*QUERY.splitlines(), *DMON.splitlines(), *TABLE.splitlines(), *LONG.splitlines()]), max_size=40
    ),
    st.text(max_size=20),
)
def test_damaged_output_is_read_or_refused(tmp_path_factory, lines, more):
    """Lines gone, doubled and in any order."""
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_text("\n".join([*lines, more, *lines[::-1]]), encoding="utf-8", errors="replace")
    try:
        found = recorded(path)
    except BadConfig:
        return
    assert all(one.gpu_util is None or 0 <= one.gpu_util <= 1 for one in found.watched)

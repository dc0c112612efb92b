"""Accelerators in scrapes: units, blanks, slices, reasons, under old and new names."""

from __future__ import annotations

import pytest

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.monitoring.exposition import read_text
from rooflight.ingest.recorded.read import recorded
from rooflight.units import to_base

H100 = 'gpu="0",UUID="GPU-a",pci_bus_id="00000000:04:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3"'


def dcgm(*rows, labels=H100):
    return "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n" + "".join(f"{name}{{{labels}}} {value}\n" for name, value in rows)


def only(found):
    (one,) = found.watched
    return one


def test_values_come_in_base_units():
    """Percent, MiB and MHz as DCGM's exporter has them; total memory from its parts where it is not exported."""
    one = only(
        read_text(
            dcgm(
                ("DCGM_FI_DEV_GPU_UTIL", 95), ("DCGM_FI_DEV_MEM_COPY_UTIL", 60),
                ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.94),
                ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.06), ("DCGM_FI_PROF_DRAM_ACTIVE", 0.78),
                ("DCGM_FI_DEV_FB_USED", 70_000), ("DCGM_FI_DEV_FB_FREE", 10_000), ("DCGM_FI_DEV_FB_RESERVED", 600),
                ("DCGM_FI_DEV_POWER_USAGE", 512.5), ("DCGM_FI_DEV_SM_CLOCK", 1980), ("DCGM_FI_DEV_GPU_TEMP", 61),
                ("DCGM_FI_PROF_PCIE_TX_BYTES", 2e9), ("DCGM_FI_PROF_PCIE_RX_BYTES", 1e9),
                ("DCGM_FI_PROF_NVLINK_TX_BYTES", 5e9),
            )
        )
    )  # fmt: skip

    assert (one.subject, one.device, one.span) == ("gpu 0", "NVIDIA H100 80GB HBM3", "moment")
    assert (one.gpu_util, one.memory_util, one.engine_active) == (0.95, 0.6, 0.94)
    assert (one.tensor_active, one.dram_active) == (0.06, 0.78)
    assert one.memory_used_bytes == to_base(70_000, "MiB")
    assert one.memory_total_bytes == to_base(70_000 + 10_000 + 600, "MiB")
    assert (one.power_w, one.sm_clock_hz, one.temperature_c) == (512.5, to_base(1980, "MHz"), 61)
    assert one.pcie_bytes_per_s == 2e9 + 1e9
    assert one.nvlink_bytes_per_s is None  # one way alone
    assert one.throttled is None  # not recorded


def test_the_lower_case_names_of_1_x_are_the_same():
    one = only(
        read_text(dcgm(("dcgm_gpu_utilization", 95), ("dcgm_fi_prof_dram_active", 0.78), ("dcgm_sm_clock", 1980)))
    )

    assert (one.gpu_util, one.dram_active, one.sm_clock_hz) == (0.95, 0.78, to_base(1980, "MHz"))


def test_shares_in_percent_are_shares():
    """An exporter that says 78 of a share means percent, and means it of the accelerator at 1 too."""
    text = dcgm(("DCGM_FI_PROF_DRAM_ACTIVE", 78)) + dcgm(("DCGM_FI_PROF_DRAM_ACTIVE", 1), labels='gpu="1",UUID="GPU-b"')

    assert [one.dram_active for one in read_text(text).watched] == [0.78, 0.01]


@pytest.mark.parametrize(
    "blank", ["2147483632", "2147483634", "9223372036854775794", "9.223372036854775794e+18", "140737488355328", "NaN"]
)
def test_blanks_are_not_values(blank):
    """DCGM's numbers for "no value" (0x7ffffff0 and after, 2^63 - 16 and after, 2^47)."""
    found = read_text(dcgm(("DCGM_FI_DEV_GPU_UTIL", 95), ("DCGM_FI_DEV_POWER_USAGE", blank)))

    assert only(found).power_w is None
    assert any("blank" in note and note.endswith("1") for note in found.notes)


def test_slices_are_apart_from_each_other_and_from_the_whole():
    """GPU_I_ID tells slices of one accelerator; what is of the whole has none."""
    slices = [f'{H100},GPU_I_PROFILE="1g.10gb",GPU_I_ID="{number}"' for number in (3, 7)]
    found = read_text(
        dcgm(("DCGM_FI_DEV_POWER_USAGE", 300))
        + "".join(dcgm(("DCGM_FI_PROF_DRAM_ACTIVE", 0.5), labels=labels) for labels in slices)
    )

    assert [(one.subject, one.mig, one.dram_active, one.power_w) for one in found.watched] == [
        ("gpu 0", None, None, 300),
        ("gpu 0 / mig 3", "1g.10gb", 0.5, None),
        ("gpu 0 / mig 7", "1g.10gb", 0.5, None),
    ]


@pytest.mark.parametrize("name", ["DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"])
@pytest.mark.parametrize(
    ("mask", "reasons"),
    [
        (0, ()),
        (0x1, ()),  # idle slows nothing that runs
        (0x2, ()),  # clocks set on purpose
        (0x4, ("power",)),
        (0x8 | 0x40, ("hw-slowdown", "thermal")),
        (0x20 | 0x40, ("thermal",)),
        (0x5 | 0x80, ("power", "power-brake")),
    ],
)
def test_reasons_are_bits(name, mask, reasons):
    assert only(read_text(dcgm((name, mask)))).throttled == reasons


def test_hosts_and_shared_accelerators():
    """The same index on two hosts is two; the same accelerator once for each pod that shares it is one."""
    rows = [("a", "pod-1"), ("a", "pod-2"), ("b", "pod-3")]
    text = "".join(
        dcgm(("DCGM_FI_DEV_GPU_UTIL", 50), labels=f'gpu="0",UUID="GPU-{host}",Hostname="{host}",pod="{pod}"')
        for host, pod in rows
    )

    assert [(one.subject, one.gpu_util) for one in read_text(text).watched] == [
        ("gpu 0 at a", 0.5),
        ("gpu 0 at b", 0.5),
    ]


def test_nvidia_gpu_exporters_columns():
    """utkuozdemir's: ratios and base units, the index in an info metric."""
    one = only(
        read_text(
            "# TYPE nvidia_smi_utilization_gpu_ratio gauge\n"
            'nvidia_smi_gpu_info{uuid="u",index="3",name="NVIDIA L40S"} 1\n'
            'nvidia_smi_utilization_gpu_ratio{uuid="u"} 0.42\n'
            'nvidia_smi_clocks_current_sm_clock_hz{uuid="u"} 2.52e+09\n'
            'nvidia_smi_clocks_throttle_reasons_active{uuid="u"} 4\nnvidia_smi_power_draw_watts{uuid="u"} 110.23\n'
        )
    )

    assert (one.subject, one.device, one.gpu_util, one.power_w) == ("gpu 3", "NVIDIA L40S", 0.42, 110.23)
    assert (one.sm_clock_hz, one.throttled) == (2.52e9, ("power",))


def test_amds_exporter():
    """Percent and megabytes (2^20 bytes), clocks by a label, violations as reasons."""
    labels = 'gpu_id="2",serial_number="s",card_model="MI300X"'
    rows = [
        ("gpu_gfx_activity", "", 80), ("gpu_umc_activity", "", 30), ("gpu_used_vram", "", 1000),
        ("gpu_total_vram", "", 196_592), ("gpu_package_power", "", 600), ("gpu_prof_tensor_active_percent", "", 12),
        ("gpu_clock", ',clock_type="system"', 2100), ("gpu_clock", ',clock_type="memory"', 1300),
        ("gpu_violation_ppt_residency_percentage", "", 7), ("gpu_violation_socket_thermal_residency_percentage", "", 0),
    ]  # fmt: skip
    text = "# TYPE gpu_gfx_activity gauge\n" + "".join(
        f"{name}{{{labels}{more}}} {value}\n" for name, more, value in rows
    )
    one = only(read_text(text))

    assert (one.subject, one.device) == ("gpu 2", "MI300X")
    assert (one.gpu_util, one.memory_util, one.tensor_active, one.power_w) == (0.8, 0.3, 0.12, 600)
    assert (one.memory_used_bytes, one.memory_total_bytes) == (to_base(1000, "MiB"), to_base(196_592, "MiB"))
    assert (one.sm_clock_hz, one.memory_clock_hz) == (to_base(2100, "MHz"), to_base(1300, "MHz"))
    assert one.throttled == ("power",)


def test_an_engine_and_accelerators_in_one_text():
    """As Prometheus' /federate gives them."""
    text = dcgm(("DCGM_FI_DEV_GPU_UTIL", 95)) + 'vllm:num_requests_running{engine="0"} 3\n'

    assert {one.kind for one in read_text(text).watched} == {"device", "engine"}


def test_two_scrapes_are_two_moments():
    assert [
        one.gpu_util
        for one in read_text(dcgm(("DCGM_FI_DEV_GPU_UTIL", 95)) + dcgm(("DCGM_FI_DEV_GPU_UTIL", 5))).watched
    ] == [0.95, 0.05]


def test_what_would_tell_more_is_said():
    assert any("DRAM_ACTIVE" in one for one in read_text(dcgm(("DCGM_FI_DEV_GPU_UTIL", 95))).lacks)


def test_the_exporters_list_of_counters_is_no_monitoring(tmp_path):
    path = tmp_path / "counters.csv"
    path.write_text("# Format\n# Clocks\nDCGM_FI_DEV_SM_CLOCK,  gauge, SM clock frequency (in MHz).\n")
    with pytest.raises(BadConfig, match="lists what DCGM's exporter should export"):
        recorded(path)


def test_a_file_of_an_exporter_is_known_by_its_content(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text(dcgm(("DCGM_FI_DEV_GPU_UTIL", 95)))

    assert recorded(path).format == "device-metrics"

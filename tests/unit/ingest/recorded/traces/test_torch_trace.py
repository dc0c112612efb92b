"""PyTorch's traces: busy time, groups, shapes, steps, and everything that comes in odd forms."""

from __future__ import annotations

import gzip
import json

import pytest

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.read import recorded
from unit.ingest.recorded.traces.made import COPY, GEMM, NCCL, NORM, document, host, kernel, written

US = 1e-6
TWO = (kernel(GEMM, 100, 40), kernel(NORM, 160, 20))


def traced(folder, *events, **beside):
    return recorded(written(folder, document(*events, **beside))).traced


def test_overlaps_count_once(tmp_path):
    """0..40 and 10..30 on another stream, then 60..80: busy 60 of a span of 80, one gap of 20."""
    found = traced(tmp_path, kernel(GEMM, 0, 40), kernel(NORM, 10, 20, stream=8), kernel(NORM, 60, 20))

    (device,) = found.devices
    assert (device.busy_s, device.span_s) == (pytest.approx(60 * US), pytest.approx(80 * US))
    assert (device.gaps, device.kernels) == (1, 3)
    assert device.gap_s.median == pytest.approx(20 * US)


def test_communication_is_exposed_where_nothing_else_runs(tmp_path):
    """A collective of 0..100 with a product of 20..50 under it: 100 in all, 70 alone."""
    (device,) = traced(tmp_path, kernel(NCCL, 0, 100, stream=20), kernel(GEMM, 20, 30)).devices

    assert device.communication_s == pytest.approx(100 * US)
    assert device.exposed_s == pytest.approx(70 * US)


def test_copies_of_engines_count_where_no_kernel_runs(tmp_path):
    """A copy of 0..30 with a kernel of 20..50: 20 of copying alone; the copy is no kernel."""
    (device,) = traced(tmp_path, kernel(COPY, 0, 30, cat="gpu_memcpy"), kernel(GEMM, 20, 30)).devices

    assert (device.copy_s, device.kernels) == (pytest.approx(20 * US), 1)


def test_kernels_are_grouped_by_name_and_shape(tmp_path):
    shapes = {"Input type": ["c10::BFloat16"] * 2, "Concrete Inputs": ["", ""]}
    found = traced(
        tmp_path,
        host("cpu_op", "aten::mm", 1, 5, **{"External id": 5, "Input Dims": [[8, 64], [64, 32]]}, **shapes),
        host("cpu_op", "aten::mm", 7, 5, **{"External id": 6, "Input Dims": [[16, 64], [64, 32]]}, **shapes),
        kernel(GEMM, 10, 4, External_id=5),
        kernel(GEMM, 20, 6, External_id=6),
        kernel(GEMM, 30, 8, External_id=6),
        kernel(GEMM, 40, 1),
    )  # fmt: skip

    by_rows = {(one.shape or {}).get("tokens"): one for one in found.kernels}
    # the longer of two kernels of one operator does its work
    assert {rows: one.calls for rows, one in by_rows.items()} == {8: 1, 16: 1, None: 2}
    assert by_rows[16].flop == 2 * 16 * 64 * 32
    assert by_rows[16].bytes == 2 * (16 * 64 + 64 * 32 + 16 * 32)
    assert by_rows[16].total_s == pytest.approx(8 * US)
    assert by_rows[16].format == "bf16"


def test_shapes_are_found_behind_their_kernels(tmp_path):
    """Kernels may stand in front of the operators that launched them."""
    dims = {"External id": 5, "Input Dims": [[8, 64], [64, 32]], "Input type": ["c10::Half"] * 2}
    found = traced(tmp_path, kernel(GEMM, 10, 4, External_id=5), host("cpu_op", "aten::mm", 1, 5, **dims))

    assert found.kernels[0].flop == 2 * 8 * 64 * 32
    assert found.kernels[0].format == "fp16"


def test_names_of_columns_before_1_12_are_read(tmp_path):
    dims = {"external id": 5, "Input dims": [[8, 64], [64, 32]], "Input type": ["float", "float"]}
    found = traced(
        tmp_path, host("Operator", "aten::mm", 1, 5, **dims), kernel(GEMM, 9, 4, cat="Kernel", external_id=5)
    )

    assert found.kernels[0].flop == 2 * 8 * 64 * 32


def test_a_steps_kernels_are_those_that_it_launched_whenever_they_ran(tmp_path):
    """The host is done after 50 us; what it launched runs from 100 to 180 with a gap of 20."""
    found = traced(
        tmp_path,
        host("user_annotation", "step[DECODE bs=32]", 0, 50),
        host("cuda_runtime", "cudaLaunchKernel", 10, 5, correlation=1),
        host("cuda_runtime", "cudaGraphLaunch", 20, 5, correlation=2),
        host("cuda_runtime", "cudaStreamSynchronize", 60, 130, correlation=3),
        host("cuda_runtime", "cudaLaunchKernel", 195, 5, correlation=4),
        kernel(GEMM, 100, 30, correlation=1), kernel(GEMM, 150, 10, correlation=2),
        kernel(NORM, 160, 20, correlation=2),
        kernel(NORM, 200, 40, correlation=4),
    )  # fmt: skip

    (step,) = found.steps
    assert (step.phase, step.batch, step.wall_s) == ("decode", 32, pytest.approx(50 * US))
    assert step.busy_s == pytest.approx((30 + 10 + 20) * US)
    assert step.device_s == pytest.approx(80 * US)
    assert (found.launches, found.graph_launches, found.launch_s) == (3, 1, pytest.approx(15 * US))
    assert (found.synchronize_s, found.host_s) == (pytest.approx(130 * US), pytest.approx(200 * US))


def test_a_step_marked_twice_counts_once_and_says_most(tmp_path):
    outer = "execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk404sqsq4sqsk404)"
    found = traced(
        tmp_path,
        host("user_annotation", "ProfilerStep#1", 0, 500),
        host("user_annotation", outer, 10, 90), host("user_annotation", "step[DECODE bs=4]", 12, 80),
        host("user_annotation", outer, 110, 90), host("user_annotation", "step[DECODE bs=4]", 112, 80),
        kernel(GEMM, 20, 5),
    )  # fmt: skip

    assert [one.name for one in found.steps] == [outer, outer]
    assert {one.context for one in found.steps} == {(404 - 4) / 4}


def test_marks_of_the_device_stand_in_for_those_of_the_host(tmp_path):
    mark = {**kernel("step[DECODE bs=2]", 100, 50), "cat": "gpu_user_annotation"}
    (step,) = traced(tmp_path, mark, kernel(GEMM, 110, 10), kernel(GEMM, 130, 10), kernel(GEMM, 170, 10)).steps

    assert step.busy_s == pytest.approx(20 * US)


def test_devices_have_their_own_time(tmp_path):
    names = [{"id": 0, "name": "NVIDIA A"}, {"id": 1, "name": "NVIDIA B"}]
    found = traced(tmp_path, kernel(GEMM, 0, 40), kernel(GEMM, 10, 10, device=1), deviceProperties=names)

    assert {one.device: (one.name, round(one.busy_s / US)) for one in found.devices} == {
        "gpu 0": ("NVIDIA A", 40), "gpu 1": ("NVIDIA B", 10),
    }  # fmt: skip
    assert {one.device for one in found.kernels} == {"gpu 0", "gpu 1"}


def test_a_device_that_is_not_listed_has_the_name_that_all_have(tmp_path):
    """ROCm counts the devices of the machine in kernels, and those of the process in the list."""
    found = traced(tmp_path, kernel(GEMM, 0, 4, device=9), deviceProperties=[{"id": 0, "name": "AMD Instinct MI300X"}])

    assert found.devices[0].name == "AMD Instinct MI300X"


def test_an_empty_name_is_none_and_said(tmp_path):
    card = {"id": 0, "name": "", "totalGlobalMem": 206141652992, "numSms": 304}
    found = recorded(written(tmp_path, document(*TWO, deviceProperties=[card])))

    assert found.traced.devices[0].name is None
    assert any("206,141,652,992 bytes" in note for note in found.notes)


@pytest.mark.parametrize("card", [{"id": 0}, {"id": 0, "name": None, "numSms": None}, {"id": 0, "numSms": [1]}])
def test_a_device_of_which_nothing_is_said_has_no_name(tmp_path, card):
    found = recorded(written(tmp_path, document(*TWO, deviceProperties=[card, 7, None])))

    assert found.traced.devices[0].name is None
    assert found.notes == ("gpu 0 has no name in the trace",)


def test_no_end_of_devices_is_not_counted_one_by_one(tmp_path):
    found = recorded(written(tmp_path, document(*(kernel(GEMM, n, 1, device=f"d{n}") for n in range(1000)))))

    assert len(found.traced.devices) == 257
    assert sum(one.kernels for one in found.traced.devices) == 1000


@pytest.mark.parametrize("between", ["", "\n", " ,\n"])
def test_traces_one_after_another_are_one(tmp_path, between):
    """Numbers of operators begin anew in each: the second's shape is its own."""

    def part(rows, ts):
        dims = {"External id": 5, "Input Dims": [[rows, 64], [64, 32]], "Input type": ["float", "float"]}
        return document(host("cpu_op", "aten::mm", ts, 5, **dims), kernel(GEMM, ts, 4, External_id=5))

    found = recorded(written(tmp_path, part(8, 0) + between + part(16, 50)))

    assert sorted(one.shape["tokens"] for one in found.traced.kernels) == [8, 16]
    assert found.traced.devices[0].busy_s == pytest.approx(8 * US)
    assert any("2 traces" in note for note in found.notes)


def test_ranks_of_one_file_stay_apart(tmp_path):
    parts = [document(*TWO, distributedInfo={"rank": rank, "world_size": 2}) for rank in (0, 1)]
    found = recorded(written(tmp_path, "".join(parts)))

    assert [one.device for one in found.traced.devices] == ["rank 0 gpu 0", "rank 1 gpu 0"]


@pytest.mark.parametrize("text", [json.dumps(list(TWO)), "[\n" + ",\n".join(map(json.dumps, TWO)) + "\n"])
def test_a_bare_list_is_read_with_or_without_its_end(tmp_path, text):
    assert recorded(written(tmp_path, text)).traced.devices[0].busy_s == pytest.approx(60 * US)


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_it_may_be_printed_in_any_way(tmp_path, indent):
    text = json.dumps({"traceEvents": [*TWO] * 3}, indent=indent)

    assert recorded(written(tmp_path, text, packed=True)).traced.devices[0].kernels == 6


def test_one_cut_short_says_what_is_there(tmp_path):
    text = document(*TWO, kernel(GEMM, 200, 5))
    cut = text[: text.index('"ts": 200')]
    found = recorded(written(tmp_path, cut))

    assert found.traced.devices[0].kernels == 2
    assert any("ends before its end" in note for note in found.notes)


def test_a_packed_one_cut_short_says_what_is_there(tmp_path):
    text = document(*(kernel(f"{GEMM} {n % 500}", 10 * n, 5, number=n * 7919) for n in range(30_000)))
    raw = gzip.compress(text.encode())
    found = recorded(written(tmp_path, raw[: len(raw) // 2]))

    assert 10_000 < found.traced.devices[0].kernels < 20_000
    assert any("cannot be read to its end" in note for note in found.notes)


def test_bare_infinity_and_nan_hide_nothing(tmp_path):
    text = document(kernel(GEMM, 0, 5, occupancy=1), *TWO).replace('"occupancy": 1', '"occupancy": -inf, "x": NaN')
    found = recorded(written(tmp_path, text))

    assert found.traced.devices[0].kernels == 3
    assert not found.notes


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ('void f<"}, {\\"ph\\": [">()', 'void f<"}, {"ph": [">()'),
        ("a \\\\", "a \\"),
        ("{[}]", "{[}]"),
        ("caf\\u00e9", "café"),
    ],
)  # fmt: skip
def test_braces_and_quotes_in_names_end_nothing(tmp_path, name, shown):
    text = document(kernel("NAME", 0, 5), *TWO).replace("NAME", name.replace('<"', '<\\"').replace('">', '\\">'))
    found = recorded(written(tmp_path, text))

    assert shown in {one.name for one in found.traced.kernels}
    assert found.traced.devices[0].kernels == 3


def test_objects_within_an_event_are_no_events(tmp_path):
    inner = [{"name": GEMM, "cat": "kernel"}, {"name": GEMM}, {"ph": "X"}]
    found = recorded(written(tmp_path, document(kernel(NORM, 0, 5, parts=inner), kernel(NORM, 6, 5))))

    assert found.traced.devices[0].kernels == 2
    assert not found.notes


def test_events_that_are_none_are_left_out_and_said(tmp_path):
    odd = ({"ph": "X", "cat": "kernel", "ts": "soon"}, {"ph": "X", "cat": "kernel", "name": "k", "ts": 5, "dur": -5})
    found = recorded(written(tmp_path, document(*TWO, *odd, 7, None, "text")))

    assert found.traced.devices[0].kernels == 2
    assert any(note.startswith("5 of its events") for note in found.notes)


def test_broken_text_in_an_event_costs_that_event_at_most(tmp_path):
    raw = document(kernel("NAME", 0, 5), *TWO).encode()
    wrong = recorded(written(tmp_path, raw.replace(b"NAME", b"a\xff\xfeb"))).traced.devices[0].kernels
    escape = recorded(written(tmp_path, raw.replace(b"NAME", b"C:\\Users"))).traced.devices[0].kernels

    assert (wrong, escape) == (3, 2)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_passed(tmp_path, encoding):
    assert recorded(written(tmp_path, document(*TWO).encode(encoding))).traced.devices[0].kernels == 2


def test_a_trace_without_kernels_says_what_it_lacks(tmp_path):
    found = recorded(
        written(tmp_path, document(host("cpu_op", "aten::mm", 0, 5), host("cuda_runtime", "cudaFree", 9, 5)))
    )

    assert found.traced.devices == ()
    assert found.lacks == ("kernels of a device",)


def test_no_events_at_all_is_refused(tmp_path):
    with pytest.raises(BadConfig, match="no profile's events"):
        recorded(written(tmp_path, '{"schemaVersion": 1, "traceEvents": []}'))


def test_what_stands_beside_the_events_may_come_first_or_last(tmp_path):
    before = {"schemaVersion": 1, "x": [1, {"traceEvents": [1]}, "}"]}
    behind = {"y": {"a": ["]"]}, "deviceProperties": [{"id": 0, "name": "NVIDIA A"}]}
    text = json.dumps({**before, "traceEvents": [*TWO], **behind})

    assert recorded(written(tmp_path, text)).traced.devices[0].name == "NVIDIA A"


def test_batches_are_cut_between_events(tmp_path):
    """More than one batch of 4 MiB, with a string longer than a part of 1 MiB in the middle."""
    events = [kernel(GEMM, 10 * n, 5, note="x" * 100) for n in range(30_000)]
    events[15_000] = kernel("k" + "y" * 3_000_000, 150_000, 5)
    found = recorded(written(tmp_path, document(*events)))

    assert found.traced.devices[0].kernels == 30_000
    assert found.traced.devices[0].busy_s == pytest.approx(30_000 * 5 * US)
    assert not found.notes


def test_a_value_without_an_end_is_refused(tmp_path):
    text = '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [{"ph": "X", "name": "' + "x" * (40 << 20)
    with pytest.raises(BadConfig, match="without an end"):
        recorded(written(tmp_path, text, packed=True))

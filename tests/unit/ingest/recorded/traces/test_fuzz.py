"""Whatever bytes a profile's reader is given: it reads them or refuses them, and says both in words."""

from __future__ import annotations

import json
import math
import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.traces import chrome, nsys, torch_trace
from unit.ingest.recorded.traces.made import GEMM, NCCL, NORM, document, host, kernel, taken
from unit.ingest.recorded.traces.test_nsys import COLUMNS, SUMMARIES, TRACE

TIMES = st.one_of(st.floats(), st.integers(), st.text(max_size=3), st.none(), st.integers(0, 10**16), st.booleans())
LEAVES = st.one_of(TIMES, st.lists(st.lists(st.integers(-2, 9), max_size=3), max_size=4), st.lists(st.text(max_size=9)))
ARGS = st.dictionaries(
    st.sampled_from(
        ["External id", "external id", "device", "correlation", "Input Dims", "Input type", "Concrete Inputs", "x"]
    ),
    LEAVES,
    max_size=5,
)
NAMES = st.sampled_from(
    [
        "aten::mm",
        "aten::_flash_attention_forward",
        GEMM,
        NCCL,
        "step[DECODE bs=3]",
        "cudaLaunchKernel",
        "ProfilerStep#1",
    ]
)
CATEGORIES = st.sampled_from(
    ["kernel", "cpu_op", "cuda_runtime", "user_annotation", "gpu_user_annotation", "gpu_memcpy", "Kernel"]
)
EVENTS = st.fixed_dictionaries(
    {"ph": st.sampled_from(["X", "X", "X", "i", ""]), "cat": CATEGORIES, "name": st.one_of(NAMES, TIMES)},
    optional={"ts": TIMES, "dur": TIMES, "pid": LEAVES, "args": st.one_of(ARGS, LEAVES)},
)
BESIDE = st.dictionaries(
    st.sampled_from(["deviceProperties", "distributedInfo", "schemaVersion", "traceName"]),
    st.one_of(LEAVES, st.lists(st.dictionaries(st.sampled_from(["id", "name", "numSms"]), TIMES), max_size=2),
              st.dictionaries(st.sampled_from(["rank", "world_size"]), TIMES)),
)  # fmt: skip
PRODUCT = {"External id": 5, "Input Dims": [[8, 64], [64, 32]], "Input type": ["float", "float"]}
SOUND = document(
    host("user_annotation", "step[DECODE bs=32]", 0, 50),
    host("cpu_op", "aten::mm", 1, 5, **PRODUCT),
    host("cuda_runtime", "cudaLaunchKernel", 10, 5, correlation=1),
    kernel(GEMM, 100, 30, correlation=1, External_id=5), kernel(NCCL, 110, 30, stream=8), kernel(NORM, 200, 3),
    deviceProperties=[{"id": 0, "name": "A"}],
)  # fmt: skip


def holds(found):
    """The laws of what is read, whatever it was."""
    msgspec.json.encode(found)
    for one in found.traced.devices:
        assert 0 <= one.exposed_s <= one.communication_s * (1 + 1e-9) + 1e-12
        assert 0 <= one.busy_s <= one.span_s * (1 + 1e-9) + 1e-12
    for one in found.traced.kernels:
        assert one.calls > 0
        assert one.total_s >= 0
    for step in found.traced.steps:
        assert step.wall_s >= 0


def tried(form, raw):
    try:
        found = form.read(None) if raw is None else taken(form, raw)
    except BadConfig as refused:
        assert str(refused)
        return None
    holds(found)
    return found


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=12), BESIDE, st.sampled_from([None, 1]), st.booleans())
def test_events_of_any_kind_are_read(events, beside, indent, bare):
    value = events if bare else {**beside, "traceEvents": events}
    tried(torch_trace.FORMAT, json.dumps(value, indent=indent).encode())


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=6), st.integers(0, 3000), st.binary(max_size=4))
def test_a_trace_cut_or_spoilt_anywhere_is_read_or_refused(events, at, put):
    raw = json.dumps({"traceEvents": events}).encode()
    at %= len(raw) + 1
    tried(torch_trace.FORMAT, raw[:at] + put)
    tried(torch_trace.FORMAT, raw[:at] + put + raw[at:])


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from([b"", b"[", b'{"traceEvents":[', b'{"a":', b'[{"ph":"X"},']))
def test_any_bytes_are_read_or_refused(raw, before):
    tried(torch_trace.FORMAT, before + raw)
    tried(nsys.FORMAT, before + raw)


@settings(deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=8), st.sampled_from([60, 200, 700]))
def test_where_batches_are_cut_changes_nothing(events, size):
    raw = json.dumps({"traceEvents": events, "deviceProperties": []}).encode()
    whole = tried(torch_trace.FORMAT, raw)
    before = chrome._BATCH, chrome._PART
    chrome._BATCH = chrome._PART = size
    try:
        parts = tried(torch_trace.FORMAT, raw)
    finally:
        chrome._BATCH, chrome._PART = before

    assert (whole and whole.traced) == (parts and parts.traced)
    assert (whole and whole.notes) == (parts and parts.notes)


@pytest.mark.parametrize("size", [60, 200, 4_000])
@pytest.mark.parametrize("field", ["name", "pid", "args"])
def test_a_bare_infinity_in_an_event_is_nothing_said_wherever_its_batch_is_cut(monkeypatch, field, size):
    value = {"External id": math.inf} if field == "args" else math.inf
    odd = {"ph": "X", "cat": "kernel", "name": "b", "ts": 2, "dur": 1, field: value}
    sound = [{"ph": "X", "cat": "kernel", "name": "a", "ts": at, "dur": 1} for at in (0, 1, 3, 4)]
    raw = json.dumps({"traceEvents": [*sound[:2], odd, *sound[2:]]}).encode()
    monkeypatch.setattr(chrome, "_BATCH", size)
    monkeypatch.setattr(chrome, "_PART", size)

    found = tried(torch_trace.FORMAT, raw)

    assert sum(one.calls for one in found.traced.kernels) == len(sound) + 1
    assert found.notes == ()


@pytest.mark.parametrize(
    ("form", "text"),
    [(torch_trace.FORMAT, SOUND), (nsys.FORMAT, SUMMARIES), (nsys.FORMAT, COLUMNS), (nsys.FORMAT, TRACE)],
)
def test_a_thousand_spoilt_files_are_read_or_refused(form, text):
    """Bytes changed, left out, repeated and moved, the same in every run."""
    chance = random.Random(15)
    raw = text.encode()
    marks = [b'"', b"{", b"}", b"[", b"]", b",", b"\\", b"\xff", b"\x00", b"-", b"1e999", b"NaN", b"\n", b"9" * 30]
    for _ in range(1000):
        spoilt = bytearray(raw)
        for _ in range(chance.randint(1, 4)):
            at, length = chance.randrange(len(spoilt)), chance.randint(0, 40)
            spoilt[at : at + length] = chance.choice([b"", chance.choice(marks), bytes(spoilt[at : at + length]) * 2])
        tried(form, bytes(spoilt))

"""Devices by name, and what they multiply in."""

from __future__ import annotations

import os
import sys

import pytest

from rooflight.errors import BadInput, MissingExtra
from rooflight.probe import device as devices
from rooflight.probe import host


def torch():
    return pytest.importorskip("torch", reason="needs the extra `measure`")


def test_the_best_device_is_a_card_where_there_is_one(card):
    assert (str(card), card.name) == ("cuda:0", "NVIDIA Fake")
    assert str(devices.device("cpu")) == "cpu"
    for name in ("cuda", "CUDA", "cuda:0"):
        assert devices.device(name) == card


@pytest.mark.parametrize("name", ["cuda:1", "xpu", "", "cpu:7", "H100"])
def test_a_device_that_is_not_there_is_refused_by_those_that_are(card, name):
    with pytest.raises(BadInput) as refused:
        devices.device(name)
    assert refused.value.want == "cuda:0, cpu"
    assert refused.value.where == "device"


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra) as missing:
        devices.device()
    assert missing.value.try_this == "pip install 'rooflight[measure]'"


def test_every_format_that_is_said_to_run_runs():
    torch()
    cpu = devices.device("cpu")
    found = devices.formats(cpu)
    assert found[0] == "fp32"
    assert "tf32" not in found
    for format in found:
        x, weights = (devices.filled(format, shape, cpu) for shape in ((32, 64), (16, 64)))
        assert tuple(devices.linear(format)(x, weights).shape) == (32, 16)


def test_a_linear_layer_multiplies_by_its_weights_turned():
    torch()
    cpu = devices.device("cpu")
    x, weights = (devices.filled("int8", shape, cpu) for shape in ((32, 64), (16, 64)))
    assert devices.linear("int8")(x, weights).tolist() == (x.int() @ weights.int().t()).tolist()


def test_a_format_without_a_type_is_refused():
    torch()
    with pytest.raises(BadInput, match="no type for q4_0"):
        devices.torch_type("q4_0")


def test_the_precision_of_products_is_as_before():
    matmul = torch().backends.cuda.matmul
    before = matmul.fp32_precision
    with devices.computing_in("tf32"):
        assert matmul.fp32_precision == "tf32"
    with devices.computing_in("fp32"):
        assert matmul.fp32_precision == "ieee"
    assert matmul.fp32_precision == before


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system keeps no process in place")
def test_threads_and_processors_are_as_before_afterwards():
    before = os.sched_getaffinity(0)
    with devices.threads_of(devices.cpu(), 1) as count:
        assert count == 1
        assert len(os.sched_getaffinity(0)) == 1
        assert host.pinned(1)
        assert devices.state(devices.cpu(), 1).pinned
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("count", [0, -1, 10**6, 1.5])
def test_threads_that_no_processor_runs_are_refused(count):
    with pytest.raises(BadInput) as refused, devices.threads_of(devices.cpu(), count):
        pass
    assert refused.value.want == f"a whole number from 1 to {len(host.allowed())}"


def test_the_state_says_what_did_the_work():
    torch()
    state = devices.state(devices.cpu(), 2)
    assert state.threads == 2
    assert {"python", "numpy", "torch"} <= state.versions.keys()


def test_a_card_without_a_drivers_tool_has_a_state_all_the_same(card):
    state = devices.state(card)
    assert state.threads is None
    assert state.versions["cuda"] == "13.0"

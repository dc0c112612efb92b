"""Points computed together, over linear forms of their arrays, are what each is by itself."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

import rooflight
from rooflight.scenario.definite import scenario
from rooflight.scenario.steps import _MANY
from rooflight.serve import phases, run
from rooflight.span import Span
from rooflight.values.deployment import Deployment
from rooflight.values.workload import Workload

COUNT = 2 * _MANY
# dense; sliding windows; routed experts; a latent cache; sparse picks; recurrent layers; quantised with narrow products
ASKED = [
    ("llama-3.1-70b", {"tp": 4}),
    ("gemma-2-9b", {"weights": "fp8"}),
    ("qwen3-30b-a3b", {"tp": 2, "ep": 2, "engine": "vllm"}),
    ("deepseek-v3", {"tp": 1, "ep": 16, "dp": 16, "network": "400Gb/s"}),
    ("deepseek-v3.2", {"tp": 8, "engine": "sglang"}),
    ("qwen3-next-80b-a3b", {"tp": 2, "pp": 2}),
    ("gpt-oss-120b", {"tp": 8, "graphs": False}),
    ("llama-4-scout", {"tp": 4, "attention": "naive", "kv_cache": "fp8"}),
]


def scenarios(model, fields, **loads):
    draw = np.random.default_rng(7)
    columns = {
        "batch": draw.integers(1, 600, COUNT), "isl": draw.integers(1, 20_000, COUNT),
        "osl": draw.integers(2, 900, COUNT), "prefill_batch": draw.integers(1, 9, COUNT),
    }  # fmt: skip
    layout = Deployment(ignore_capacity=True, **fields)

    def one(load):
        devices = layout.tp * (layout.pp or 1) * (layout.dp or 1) if layout.tp else 1
        card = rooflight.accelerator("h200")
        return scenario(rooflight.model(model), card, devices, Workload(**load, **loads), layout)

    many = one({name: values.astype(float) for name, values in columns.items()})
    places = draw.integers(0, COUNT, 12)
    return many, [(place, one({name: int(values[place]) for name, values in columns.items()})) for place in places]


def numbers(span):
    return {name: getattr(span, name) for name in Span.__struct_fields__}


def same(many, one, place, what):
    if one is None:
        return
    for name, value in numbers(one).items():
        together = np.broadcast_to(np.asarray(numbers(many)[name], dtype=float), (COUNT,))[place]
        assert math.isclose(together, value, rel_tol=1e-12), (what, name)


@pytest.mark.parametrize(("model", "fields"), ASKED, ids=[model for model, _ in ASKED])
def test_steps(model, fields):
    many, ones = scenarios(model, fields)
    decode, prefill = phases.decode(many), phases.prefill(many)

    for place, sc in ones:
        same(decode.span, phases.decode(sc).span, place, "decode")
        same(prefill.span, phases.prefill(sc).span, place, "prefill")
        for name in ("flop", "weight_bytes", "kv_read_bytes", "activation_bytes", "link_bytes", "network_bytes"):
            one = getattr(phases.decode(sc).work, name)
            together = np.broadcast_to(np.asarray(getattr(decode.work, name), dtype=float), (COUNT,))[place]
            assert math.isclose(together, one, rel_tol=1e-12), name
        bounds = np.broadcast_to(np.asarray(decode.time.bound), (COUNT,))
        assert bounds[place] == phases.decode(sc).time.bound


@pytest.mark.parametrize("schedule", ["served", "batch", "alone"])
@pytest.mark.parametrize(("model", "fields"), ASKED, ids=[model for model, _ in ASKED])
def test_runs(model, fields, schedule):
    many, ones = scenarios(model, fields, cached_prefix=0)
    together = getattr(run, schedule)(many)

    for place, sc in ones:
        alone = getattr(run, schedule)(sc)
        for name in ("ttft_s", "tpot_s", "request_s", "requests_per_s", "output_tokens_per_s"):
            same(getattr(together, name), getattr(alone, name), place, name)


def test_a_plan_of_many_points_is_remembered_by_its_elements():
    many, _ = scenarios(*ASKED[0])
    again = msgspec.structs.replace(
        many, workload=msgspec.structs.replace(many.workload, batch=many.workload.batch + 0)
    )
    first = phases.decode(many)

    assert phases.decode(again).time.timed is first.time.timed

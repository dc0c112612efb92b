"""Models by their size beside real ones, stated in part, read from names, and judged."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.catalog.models import load
from rooflight.catalog.spelled import format_in
from rooflight.errors import BadInput, UnknownName
from rooflight.scenario.alike import LEAST, least_run, of_size, read_by_name, sparse
from rooflight.values.model import Sized
from rooflight.work.count import active_parameters, kv_bytes_per_token, parameters, streamed_weight_bytes


def test_seventy_billion_are_told_beside_real_ones():
    like = rooflight.analyze("70b", on="2xh100-sxm", weights="fp8").model.like

    assert "meta-llama/Meta-Llama-3.1-70B" in like.models
    # 80 layers x 2 x 8 KV heads x 128 x 2 bytes
    assert like.kv_bytes_per_token.own == 80 * 2 * 8 * 128 * 2
    assert like.kv_bytes_per_token.low <= like.kv_bytes_per_token.own <= like.kv_bytes_per_token.high
    assert like.decode_ceiling_s.low < like.decode_ceiling_s.high


def test_the_sentence_says_which_shape_and_how_much_figures_vary():
    answer = rooflight.analyze("70b", on="2xh100-sxm", weights="fp8")
    said = " ".join(answer.assumptions)

    assert "70B taken as a dense decoder of 80 layers x 8192" in said
    assert "Real models whose parameters are within 15% of that" in said


def test_a_known_shape_has_no_likeness():
    answer = rooflight.analyze("llama-3.1-8b", on="h100-sxm")

    assert answer.model.like is None
    assert "like" not in answer.to_dict()["model"]


def test_real_ones_are_of_the_size_and_kind():
    for one in of_size(load("30b-a3b").sized):
        assert 0.85 <= parameters(one) / 30e9 <= 1.15
        assert active_parameters(one) < parameters(one)


def test_a_shape_stated_in_part_is_heeded():
    answer = rooflight.analyze("70b", on="2xh100-sxm", weights="fp8", layers=64, kv_heads=4)

    assert answer.model.like.layers == 64
    assert answer.model.kv_bytes_per_token == 64 * 2 * 4 * 128 * 2
    assert answer.model.parameters == pytest.approx(70e9, rel=1e-3)


def test_a_known_shape_is_not_stated():
    with pytest.raises(BadInput, match="is known"):
        rooflight.analyze("llama-3.1-8b", on="h100-sxm", layers=4)


def test_a_family_near_in_size_lends_its_shape():
    model = read_by_name("granite-4.1-8b")

    assert parameters(model) == pytest.approx(8e9, rel=1e-3)
    assert model.sized.near == "ibm-granite/granite-3.3-8b-instruct"


def test_a_name_without_a_size_is_unknown():
    with pytest.raises(UnknownName):
        read_by_name("some-model")


def test_the_fewest_bytes_are_weights_alone():
    few = sparse(load("70b"))

    assert kv_bytes_per_token(few) == 0
    assert streamed_weight_bytes(few) == pytest.approx(2 * LEAST * 70e9, rel=1e-2)


@pytest.mark.parametrize(
    ("name", "form"), [("a-32B-Q4_K_M.gguf", "q4_k_m"), ("a-32B-FP8-dynamic", "fp8-channel"), ("a-32B", None)]
)
def test_a_format_is_found_at_the_end_of_a_name(name, form):
    assert format_in(name) == form


def row(**more):
    base = {"model": "some-new-model-32B", "accelerator": "h100-sxm", "gpus": 1, "engine": "vllm", "weights": "bf16"}
    return {**base, "metric": "tpot_ms", "batch": 1, "input_len": 512, "output_len": 128, **more}


def test_a_row_with_a_size_in_its_name_is_judged_and_says_so():
    one = rooflight.check(row(value=25.0)).to_dict()["rows"][0]

    assert one["verdict"] == "ok"
    assert "32B taken as a dense decoder" in one["reason"]


def test_an_assumed_shape_makes_nothing_impossible():
    """Weights of 32e9 x 2 bytes take 19.1 ms of 3.35 TB/s; three quarters of them 14.3 ms."""
    assert rooflight.check(row(value=16.0)).to_dict()["rows"][0]["verdict"] != "impossible"
    assert rooflight.check(row(value=10.0, model="32b")).to_dict()["rows"][0]["verdict"] == "impossible"


def test_a_name_that_says_a_size_alone_may_be_a_routed_models():
    """Of routed models near 32 billion a token runs 4.9 % at least (Qwen3-Next-80B-A3B): 2.4 GB in bf16, 0.70 ms."""
    assert least_run(32 * 10**9) == pytest.approx(3.9 / 79.7, rel=0.02)
    fast = rooflight.check(row(value=10.0)).to_dict()["rows"][0]

    assert fast["verdict"] == "fast"
    assert "a routed one too" in fast["reason"]
    assert fast["ceiling"] == pytest.approx(32e9 * least_run(32 * 10**9) * LEAST * 2 / 3.35e12 * 1e3, rel=0.05)
    assert rooflight.check(row(value=0.5)).to_dict()["rows"][0]["verdict"] == "impossible"
    assert rooflight.check(row(value=1.2, model="some-32B-A3B")).to_dict()["rows"][0]["verdict"] == "impossible"


def test_no_routed_model_is_as_small_as_a_hundred_million():
    assert least_run(100 * 10**6) == 1


def test_a_row_of_a_name_without_a_size_is_not_judged():
    assert rooflight.check(row(model="nosuch", value=16.0)).to_dict()["rows"][0]["verdict"] == "cannot-judge"


def test_models_of_a_size_are_decoders():
    """flan-t5-xxl has 11 billion parameters, half of them its encoder's: a decode step does not stream those."""
    assert not any("t5" in one.id.lower() for one in of_size(Sized(parameters=11 * 10**9)))

"""A stated size of all weights: every part takes its share, in its own format."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.errors import BadInput
from rooflight.units import to_base
from rooflight.work import count
from rooflight.work.weights import held, resized
from unit.models import deepseek_v3, llama_3_8b, tiny_hybrid, tiny_mla, tiny_moe

MODELS = {"dense": llama_3_8b, "mla": deepseek_v3, "hybrid": tiny_hybrid, "tiny mla": tiny_mla, "moe": tiny_moe}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("share", [0.25, 1, 1.7])
def test_all_weights_come_to_the_size(name, share):
    model = MODELS[name]()
    size = share * count.weight_bytes(model)
    sized = resized(model, size)

    assert count.weight_bytes(sized) == pytest.approx(size, rel=1e-12)
    # each part keeps its share of the whole
    streamed = count.streamed_weight_bytes(model)
    assert count.streamed_weight_bytes(sized) == pytest.approx(share * streamed, rel=1e-12)
    assert count.parameters(sized) == count.parameters(model)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weights", [None, "fp8", "q4_k_m"])
def test_bytes_by_part_add_up(name, weights):
    model = held(MODELS[name](), weights)
    assert sum(count.part_bytes(model).values()) == pytest.approx(count.weight_bytes(model), rel=1e-12)
    assert count.part_bytes(model).keys() == count.parts(model).keys()


def test_it_says_the_format_or_not():
    """40 GB of a 70B model are 40 GB whatever their format is called, and a step reads no more than them."""
    for weights in (None, "int4-g128", "q4_k_m"):
        answer = rooflight.analyze("llama-3-70b", on="h100", weights=weights, weight_bytes="40GB")
        assert answer.model.weight_bytes == to_base(40, "GB")
        assert answer.phases["decode"].bytes.weights < to_base(40, "GB")


def test_a_number_and_a_text_are_one_size():
    sizes = [
        rooflight.analyze("llama-3.1-8b", on="rtx-4090", weight_bytes=size).model
        for size in (8_000_000_000, 8e9, "8000000000", "8GB", "8,000MB")
    ]
    assert all(size == sizes[0] for size in sizes)


@pytest.mark.parametrize("size", ["0.4GB", "40GB", 1 << 20])
def test_sizes_no_weights_have_are_refused(size):
    """8.03 billion weights: 0.5 bits each are 0.5 GB, 33 bits are 33 GB."""
    with pytest.raises(BadInput, match="bits each") as caught:
        rooflight.analyze("llama-3.1-8b", on="b200", weight_bytes=size)
    assert "0.502 GB to 33.1 GB" in caught.value.want


@pytest.mark.parametrize("size", ["many", "", "-3GB", "8 parsecs", 0, -1, float("nan"), "1e400GB"])
def test_what_is_no_size_is_refused(size):
    with pytest.raises(BadInput, match="weight_bytes is no size"):
        rooflight.analyze("llama-3.1-8b", on="b200", weight_bytes=size)


def test_it_is_told_among_the_assumptions():
    answer = rooflight.analyze("llama-3.1-8b", on="rtx-4090", weight_bytes="5GB")
    assert any("weights of 5,000,000,000 bytes in all, as stated" in told for told in answer.assumptions)


def test_other_weights_have_a_size_of_their_own():
    """A move to another format or model does not keep the size that was stated of this one."""
    moved = rooflight.moves("llama-3.1-8b", on="h100", weight_bytes="16.5GB")
    int4 = next(one for one in moved.moves if one.title == "int4-g128 weights")
    assert int4.gains["decode"].ceiling > 2  # 16 bits against 4.25, the head and the cache as they were


def test_a_part_that_is_refitted_forgets_its_size():
    sized = resized(llama_3_8b(), 8e9)
    assert count.weight_bytes(held(sized, "q4_k_m")) == count.weight_bytes(held(llama_3_8b(), "q4_k_m"))

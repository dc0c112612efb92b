"""LoRA adapters: parameters, bytes and operators against hand arithmetic."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.catalog.models import load
from rooflight.errors import BadInput
from rooflight.values.work import Work
from rooflight.work.adapters import adapted, adapter_bytes, adapter_parameters, device_adapter_bytes
from rooflight.work.layout import Layout
from rooflight.work.numbers import Numbers
from rooflight.work.step import decode, operators, prefill

EIGHT = load("llama-3.1-8b")
ALL = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"
# 32 layers of rank 16: q and o 4096 + 4096, k and v 4096 + 1024, gate, up and down 4096 + 14336.
EACH = 32 * 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336))


def work_of(model, step, layout=None) -> Work:
    found = Work()
    for op in operators(model, step, layout or Layout(), Numbers()):
        if op.name.startswith("lora_"):
            found = found + op.work * op.count
    return found


def test_the_adapter_of_an_8b_of_rank_16_has_41_943_040_parameters():
    assert EACH == 41_943_040
    assert adapter_parameters(adapted(EIGHT, 16, 1, ALL)) == EACH
    assert adapter_parameters(adapted(EIGHT, 16, 1, None)) == EACH
    assert adapter_parameters(adapted(EIGHT, 16, 1, "all-linear")) == EACH


def test_on_queries_and_values_alone_it_has_those():
    assert adapter_parameters(adapted(EIGHT, 8, 1, "q_proj,v_proj")) == 32 * 8 * ((4096 + 4096) + (4096 + 1024))


def test_all_resident_adapters_take_memory_in_16_bits():
    assert adapter_bytes(adapted(EIGHT, 16, 4, None)) == 4 * EACH * 2


def test_flop_are_twice_tokens_times_the_parameters():
    """2 x tokens x rank x (inputs + outputs) of each matrix: twice the parameters, a token."""
    one = work_of(adapted(EIGHT, 16, 1, None), prefill(sequences=1, isl=100))

    assert one.flop == pytest.approx(2 * 100 * EACH)


def test_a_matrix_and_its_adapter_are_two_kernels():
    """qkv, o, gate_up and down: an A and a B each, slices of a fused matrix together."""
    assert work_of(adapted(EIGHT, 16, 1, None), decode(sequences=1, context=0)).launches == 32 * 4 * 2


def test_one_adapter_is_read_once_and_of_several_those_that_are_used():
    """4 sequences of 2 adapters: 2 (1 - (1/2)^4) of them; a ceiling reckons with one."""
    alone = work_of(adapted(EIGHT, 16, 1, None), decode(sequences=4, context=0))
    two = work_of(adapted(EIGHT, 16, 2, None), decode(sequences=4, context=0))

    assert alone.weight_bytes == pytest.approx(2 * EACH)
    assert alone.avoidable_bytes == 0
    assert two.weight_bytes == pytest.approx(2 * EACH * 2 * (1 - 0.5**4))
    assert two.weight_bytes - two.avoidable_bytes == pytest.approx(2 * EACH)


def test_tensor_parallelism_cuts_one_side_of_each():
    """tp 2: A of q, k, v, gate, up whole, B of o and down whole, the other side halved."""
    whole = 5 * 4096 + 2 * 4096
    cut = (4096 + 2 * 1024 + 2 * 14336) / 2 + (4096 + 14336) / 2

    assert device_adapter_bytes(adapted(EIGHT, 16, 1, None), Layout(tp=2)) == 2 * 32 * 16 * (whole + cut)


def test_without_a_rank_nothing_changes():
    assert work_of(EIGHT, decode(sequences=4, context=0)) == Work()
    assert adapter_parameters(EIGHT) == adapter_bytes(EIGHT) == 0


def test_a_matrix_that_is_not_there_is_refused():
    with pytest.raises(BadInput, match="no matrix foo"):
        adapted(EIGHT, 16, 1, "q_proj,foo")


def test_an_answer_shows_adapters_in_memory_and_among_operators():
    answer = rooflight.analyze("llama-3.1-8b", on="h100-sxm", lora_rank=16, max_loras=4, batch=8)
    plain = rooflight.analyze("llama-3.1-8b", on="h100-sxm", batch=8)

    assert answer.model.adapters.parameters_each == EACH
    assert answer.memory.adapter_bytes == 4 * EACH * 2
    assert answer.memory.weights_bytes == plain.memory.weights_bytes + 4 * EACH * 2
    assert any(op.name.startswith("lora_a") for op in answer.phases["decode"].operators)
    assert answer.phases["decode"].time_s.ceiling > plain.phases["decode"].time_s.ceiling
    assert "adapters" not in plain.to_dict()["model"]


def test_adapters_without_a_rank_are_refused():
    with pytest.raises(BadInput, match="no rank"):
        rooflight.Deployment(max_loras=4)

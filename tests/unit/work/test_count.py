"""Parameters, stored bytes and cache bytes of models small enough to count on paper."""

from __future__ import annotations

import msgspec
import pytest

from rooflight.catalog.models import load
from rooflight.values.formats import format_named
from rooflight.values.model import Attention, Indexer, Linear, Reach, Tower
from rooflight.work import count
from rooflight.work.storage import linear_bytes, matrix_bytes
from rooflight.work.weights import held
from unit.models import (
    attention,
    deepseek_v3,
    llama_3_8b,
    llama_3_70b,
    model,
    tiny_dense,
    tiny_hybrid,
    tiny_mla,
    tiny_moe,
)

# One layer of tiny_dense: qkv 8 x (8 + 8), o 8 x 8, gate_up 8 x 32, down 16 x 8, two norms of 8.
DENSE_LAYER = 8 * 16 + 8 * 8 + 8 * 32 + 16 * 8 + 2 * 8
TABLE = 32 * 8  # vocabulary x hidden
FINAL_NORM = 8
EXPERT = 8 * 8 + 4 * 8  # gate_up and down of tiny_moe
MOE_LAYER = 8 * 16 + 8 * 8 + 8 * 8 + 8 * EXPERT + 2 * 8  # attention, router, experts, norms
MLA_LAYER = 8 * 4 + 4 * 8 + 8 * 6 + 4 * 8 + 4 * 8 + (8 * 32 + 16 * 8) + (2 * 8 + 4 + 4)
DELTA_LAYER = 8 * 24 + 8 * 8 + (8 * 32 + 16 * 8) + (2 * 8 + 24 * 4)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (tiny_dense(), TABLE + 3 * DENSE_LAYER + FINAL_NORM + TABLE),
        (tiny_dense(tied=True), TABLE + 3 * DENSE_LAYER + FINAL_NORM),  # the head is the table
        (tiny_moe(), TABLE + MOE_LAYER + FINAL_NORM + TABLE),
        (tiny_mla(), TABLE + 2 * MLA_LAYER + FINAL_NORM + TABLE),
        (tiny_hybrid(), TABLE + 3 * DELTA_LAYER + DENSE_LAYER + FINAL_NORM + TABLE),
        (llama_3_8b(), 8_030_261_248),  # published
        (llama_3_70b(), 70_553_706_496),
        (deepseek_v3(), 671_026_404_352),
    ],
)
def test_parameters(given, expected):
    assert count.parameters(given) == expected
    assert sum(count.parts(given).values()) == expected


def test_active_parameters_leave_out_the_experts_not_chosen():
    """6 of 8 experts idle; the router, tables and head count."""
    assert count.active_parameters(tiny_moe()) == count.parameters(tiny_moe()) - 6 * EXPERT
    assert count.routed_parameters(tiny_moe()) == 8 * EXPERT
    assert count.active_parameters(deepseek_v3()) == 37_552_282_624  # published as 37 B


def test_active_parameters_of_a_dense_model_are_all():
    assert count.active_parameters(tiny_dense()) == count.parameters(tiny_dense())
    assert count.routed_parameters(tiny_dense()) == 0


def test_weight_bytes_are_two_a_parameter_in_bf16():
    assert count.weight_bytes(tiny_moe()) == 2 * count.parameters(tiny_moe())


@pytest.mark.parametrize("tied", [False, True])
def test_the_table_is_not_streamed_but_the_head_is(tied):
    """Tied or not, a step reads the layers, the final norm and one matrix of vocabulary x hidden."""
    assert count.streamed_weight_bytes(tiny_dense(tied=tied)) == 2 * (3 * DENSE_LAYER + FINAL_NORM + TABLE)


def test_llama_3_8b_streams_all_but_its_input_table():
    assert count.streamed_weight_bytes(llama_3_8b()) == 2 * (8_030_261_248 - 128256 * 4096) == 15_009_849_344


def test_another_weight_format_reaches_the_linear_layers_only():
    """FP8: a byte a weight and one fp32 scale a matrix (4 a layer); tables, head and norms stay in 2 bytes."""
    matrices = 3 * (DENSE_LAYER - 2 * 8 + 4 * 4)
    wide = 2 * (TABLE + 3 * 2 * 8 + FINAL_NORM + TABLE)

    assert count.weight_bytes(held(tiny_dense(), "fp8")) == matrices + wide


def test_a_router_keeps_its_format():
    experts = 8 * (EXPERT + 2 * 4)  # a byte a weight, two scales an expert
    attention_bytes = 8 * 16 + 8 * 8 + 2 * 4
    wide = 2 * (TABLE + 8 * 8 + 2 * 8 + FINAL_NORM + TABLE)  # the router among them

    assert count.weight_bytes(held(tiny_moe(), "fp8")) == experts + attention_bytes + wide


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("bf16", 16),
        ("fp8-channel", 8 + 16 / 512),  # a bf16 scale an output of 512 inputs
        ("int4-g128", 4 + 32 / 128),  # scale and zero point of 16 bits each a group
        ("awq-int4-g128", 4 + (16 + 4) / 128),  # the zero point is packed in 4 bits
        ("gptq-int4-g128", 4 + (16 + 4) / 128 + 32 / 256),  # and a 32-bit group index an input row of 256 outputs
        ("nvfp4", 4 + 8 / 16),
        ("mxfp4", 4 + 8 / 32),
        ("q4_k", 4.5),
        ("exl2-3.5bpw", 3.5),
    ],
)
def test_bits_a_weight_with_everything_it_shares(name, bits):
    got = matrix_bytes(inputs=512, outputs=256, groups=1, form=format_named(name)) * 8 / (512 * 256)

    assert got == pytest.approx(bits, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "name", "file_gb", "rel"),
    [
        # GB of the files as their hub pages print them
        ("llama-2-7b-hf", "q4_0", 3.83, 0.003),
        ("llama-2-7b-hf", "q8_0", 7.16, 0.003),
        ("llama-2-7b-hf", "q4_k_m", 4.08, 0.003),
        ("llama-2-7b-hf", "q5_k_m", 4.78, 0.003),
        ("meta-llama-3-8b", "q4_k_m", 4.92, 0.003),
        ("llama-3.2-1b", "q4_0", 0.77, 0.01),  # tied: the table is the Q6_K head
    ],
)
def test_a_gguf_file_converts_its_tables_too(model, name, file_gb, rel):
    assert count.weight_bytes(held(load(model), name)) / 1e9 == pytest.approx(file_gb, rel=rel)


def test_a_cast_casts_everything():
    """--weights fp16 of an fp32 checkpoint, and the other way round: no matrix keeps the config's type."""
    gemma, llama = load("gemma-2-9b"), load("meta-llama-3-8b")

    assert gemma.dtype == "fp32"
    assert count.weight_bytes(held(gemma, "fp16")) == 2 * count.parameters(gemma)
    assert count.weight_bytes(held(llama, "fp32")) == 4 * 8_030_261_248


def test_quantised_weights_leave_tables_in_16_bits_at_most():
    """No engine multiplies 16-bit activations with an fp32 head: 256,000 x 3,584 elements are read in 2 bytes."""
    gemma = held(load("gemma-2-9b"), "awq")
    head_bytes = 2 * 256_000 * 3_584
    linears = 42 * 3_584 * ((2 * 16 + 2 * 8) * 256 + 3 * 14_336) * (4 + 20 / 128) / 8

    assert count.table_format(gemma) == "bf16"
    assert count.streamed_weight_bytes(gemma) == pytest.approx(head_bytes + linears, rel=2e-3)


def test_a_ragged_last_block_has_a_scale_of_its_own():
    """100 inputs in groups of 64: two groups an output."""
    got = matrix_bytes(inputs=100, outputs=3, groups=1, form=format_named("int4-g64"))

    assert got == (100 * 3 * 4 + 2 * 3 * 32) / 8


def test_a_block_diagonal_matrix_holds_a_fraction():
    linear = Linear(name="x", inputs=64, outputs=64, groups=8)

    assert count.linear_parameters(linear) == 64 * 64 // 8
    assert linear_bytes(linear, format_named("bf16")) == 2 * 64 * 64 / 8


@pytest.mark.parametrize(
    ("given", "growing", "window", "state"),
    [
        (tiny_dense(), 3 * 2 * 2 * 2 * 2, 0, 0),  # layers x (K, V) x KV heads x head dim x 2 bytes
        (tiny_dense(Reach(window=4)), 0, 3 * 2 * 2 * 2 * 2, 0),
        (tiny_dense(Reach(chunk=4)), 0, 3 * 2 * 2 * 2 * 2, 0),
        (tiny_dense(Reach(top_k=4)), 3 * 2 * 2 * 2 * 2, 0, 0),  # a picked cache keeps every token
        (tiny_dense(Reach(stride=4)), 3 * 2 * 2 * 2 * 2 / 4, 0, 0),
        (tiny_dense(Reach(stride=4, window=6)), 3 * 2 * 2 * 2 * 2 / 4, 3 * 2 * 2 * 2 * 2, 0),
        (tiny_mla(), 2 * (4 + 2) * 2, 0, 0),  # latent and rotary key, whatever the number of heads
        # the state of 2 heads of 4 x 4 in fp32, and 3 columns of the 24-channel convolution in 2 bytes, of 3 layers
        (tiny_hybrid(), 2 * 2 * 2 * 2, 0, 3 * (2 * 4 * 4 * 4 + 24 * 3 * 2)),
        (llama_3_8b(), 131_072, 0, 0),
        (llama_3_70b(), 327_680, 0, 0),
        (deepseek_v3(), 61 * (512 + 64) * 2, 0, 0),
    ],
)
def test_cache_bytes(given, growing, window, state):
    assert count.kv_bytes_per_token(given) == growing
    assert count.window_kv_bytes_per_token(given) == window
    assert count.state_bytes_per_sequence(given) == state


def test_a_one_byte_cache_halves_it():
    assert count.kv_bytes_per_token(deepseek_v3(), 1) == 70_272 / 2


def test_windows_are_listed_once_and_sorted():
    layers = (*tiny_dense(Reach(window=8)).layers, *tiny_dense(Reach(chunk=4)).layers, *tiny_dense().layers)

    assert count.windows(model("mixed", 8, 32, (*layers, *tiny_dense(Reach(window=8)).layers))) == (4, 8)


@pytest.mark.parametrize("changes", [{"stores": False}, {"fixed_context": 100}])
def test_a_layer_without_a_cache_of_its_own_adds_none(changes):
    mixer = msgspec.structs.replace(attention(heads=4, kv_heads=2, head_dim=2), **changes)

    assert count.cache_elements(mixer) == 0


def test_an_indexer_caches_a_key_a_token():
    mixer: Attention = msgspec.structs.replace(
        attention(heads=4, kv_heads=2, head_dim=2, reach=Reach(top_k=4)),
        indexer=Indexer(heads=2, head_dim=3, key_dim=3),
    )

    assert count.cache_elements(mixer) == 2 * 2 * 2 + 3


def test_towers_are_held_but_are_no_part_of_the_text_model():
    """A tower whose size is not known adds nothing, rather than a guess."""
    towers = (Tower(name="vision", parameters=1000), Tower(name="audio", parameters=None))
    given = msgspec.structs.replace(tiny_dense(), towers=towers)

    assert count.tower_bytes(given) == 1000 * 2
    assert count.parameters(given) == count.parameters(tiny_dense())

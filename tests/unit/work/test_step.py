"""Whole steps of tiny models, counted on paper. bf16 throughout: two bytes an element."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rooflight.values.model import Indexer, Linear, Reach
from rooflight.values.work import Work
from rooflight.work import step
from rooflight.work.count import streamed_weight_bytes
from rooflight.work.layout import Layout
from rooflight.work.numbers import Numbers
from rooflight.work.weights import held
from unit.models import llama_3_8b, tiny_dense, tiny_hybrid, tiny_mla, tiny_moe, with_linears

# tiny_dense: 3 layers, hidden 8, 4 heads of 2 over 2 KV heads, feed-forward 16, vocabulary 32.
LAYERS = 3
MATRICES = 8 * 16 + 8 * 8 + 8 * 32 + 16 * 8  # qkv, o, gate_up, down
HEAD = 8 * 32
CACHED = 2 * 2 * 2 * 2  # (K, V) x KV heads x head dim x bytes: one token of one layer
PAIR = 2 * 4 * (2 + 2)  # FLOP of one query and key: two products over 4 heads of 2
STREAMED = 2 * (LAYERS * (MATRICES + 2 * 8) + 8 + HEAD)
# Bytes of activations a token: in and out of each kernel.
LAYER_ACTIVATIONS = 2 * (
    2 * (16 + 16)  # two norms, each reading and writing hidden state and residual
    + (8 + 16)  # qkv
    + (8 + 8) + 8  # rotary: queries and the new K and V read, queries written (K and V go to the cache)
    + (8 + 8 + 8)  # attention: queries, new K and V, output
    + (8 + 8)  # o
    + (8 + 32)  # gate_up
    + (32 + 16)  # silu and product
    + (16 + 8)  # down
)  # fmt: skip
EMBEDDING = 2 * (8 + 8)  # the row read, the hidden state written
FINAL_NORM = 2 * (16 + 16)
HEAD_ACTIVATIONS = 2 * (8 + 32)
# embedding, final norm, head; nine kernels a layer: 2 norms, qkv, rotary, attention, o, gate_up, silu, down
LAUNCHES = 3 + 9 * LAYERS


def work(model, asked, layout=None, numbers=None) -> Work:
    return step.total(step.operators(model, asked, layout or Layout(), numbers or Numbers()))


def rows(model, asked, layout=None, numbers=None):
    return {op.name: op for op in step.operators(model, asked, layout or Layout(), numbers or Numbers())}


def test_decode_of_a_dense_model():
    """One token after 4 cached ones: it meets 5 positions and reads 4."""
    got = work(tiny_dense(), step.decode(sequences=1, context=4))

    assert got.flop == LAYERS * (2 * MATRICES + 5 * PAIR) + 2 * HEAD
    assert got.weight_bytes == STREAMED == streamed_weight_bytes(tiny_dense())
    assert got.kv_read_bytes == LAYERS * 4 * CACHED
    assert got.kv_write_bytes == LAYERS * 1 * CACHED
    assert got.activation_bytes == LAYERS * LAYER_ACTIVATIONS + EMBEDDING + FINAL_NORM + HEAD_ACTIVATIONS
    assert got.launches == LAUNCHES
    assert got.link_bytes == 0


def test_a_batch_shares_the_weights_and_nothing_else():
    one = work(tiny_dense(), step.decode(sequences=1, context=4))
    many = work(tiny_dense(), step.decode(sequences=7, context=4))

    assert many.weight_bytes == one.weight_bytes
    assert many.launches == one.launches
    for field in ("flop", "kv_read_bytes", "kv_write_bytes", "activation_bytes"):
        assert getattr(many, field) == 7 * getattr(one, field), field


def test_prefill_counts_the_triangle_and_one_row_of_the_head():
    """5 tokens meet 1 + 2 + 3 + 4 + 5 = 15 pairs, not 25; nothing is read from the cache."""
    got = work(tiny_dense(), step.prefill(sequences=1, isl=5))

    assert got.flop == LAYERS * (5 * 2 * MATRICES + 15 * PAIR) + 2 * HEAD
    assert got.kv_read_bytes == 0
    assert got.kv_write_bytes == LAYERS * 5 * CACHED
    assert got.weight_bytes == STREAMED
    assert got.activation_bytes == 5 * (LAYERS * LAYER_ACTIVATIONS + EMBEDDING + FINAL_NORM) + HEAD_ACTIVATIONS
    assert got.launches == LAUNCHES


def test_a_cached_prefix_is_read_and_not_computed():
    """3 of 5 tokens cached: the other two meet 4 + 5 pairs and read 3 positions once."""
    got = work(tiny_dense(), step.prefill(sequences=1, isl=5, cached_prefix=3))

    assert got.flop == LAYERS * (2 * 2 * MATRICES + 9 * PAIR) + 2 * HEAD
    assert got.kv_read_bytes == LAYERS * 3 * CACHED
    assert got.kv_write_bytes == LAYERS * 2 * CACHED


def test_verify_runs_the_head_on_every_drafted_position():
    """2 drafts and a sure token after 4: 5 + 6 + 7 pairs, the cache read once for all three."""
    got = work(tiny_dense(), step.verify(sequences=1, context=4, draft_tokens=2))

    assert got.flop == LAYERS * (3 * 2 * MATRICES + 18 * PAIR) + 3 * 2 * HEAD
    assert got.kv_read_bytes == LAYERS * 4 * CACHED
    assert got.kv_write_bytes == LAYERS * 3 * CACHED
    assert got.weight_bytes == STREAMED


def test_verify_without_drafts_is_decode():
    drafts = work(tiny_dense(), step.verify(sequences=3, context=4, draft_tokens=0))

    assert drafts == work(tiny_dense(), step.decode(sequences=3, context=4))


def test_a_chunk_of_prompt_beside_a_decode_step_shares_its_weights():
    """Decode after 4, and 3 prompt tokens after 2: 5 and 3 + 4 + 5 pairs; the head on the decoding sequence alone."""
    asked = step.mixed(sequences=1, context=4, chunk_tokens=3, chunk_context=2)
    got = work(tiny_dense(), asked)

    assert (asked.tokens, asked.head_rows) == (4, 1)
    assert got.flop == LAYERS * (4 * 2 * MATRICES + (5 + 12) * PAIR) + 2 * HEAD
    assert got.weight_bytes == STREAMED
    assert got.kv_read_bytes == LAYERS * (4 + 2) * CACHED
    assert got.kv_write_bytes == LAYERS * 4 * CACHED
    assert got.launches == LAUNCHES + LAYERS  # one set of kernels for both, but an attention of its own for the chunk


def test_naive_attention_writes_and_reads_the_square_of_scores():
    """4 heads x 5 x 5 scores, four passes of 2 bytes, two more kernels; and the masked half is multiplied too."""
    asked = step.prefill(sequences=1, isl=5)
    flash = work(tiny_dense(), asked)
    naive = work(tiny_dense(), asked, numbers=Numbers(flash=False))

    assert naive.activation_bytes - flash.activation_bytes == LAYERS * 4 * (4 * 5 * 5) * 2
    assert naive.flop - flash.flop == LAYERS * (25 - 15) * PAIR
    assert naive.launches - flash.launches == LAYERS * 2
    assert naive.kv_read_bytes == flash.kv_read_bytes


@pytest.mark.parametrize(
    ("reach", "pairs", "read"),
    [
        (Reach(window=3), 3, 2),  # itself and the two before it
        (Reach(chunk=4), 3, 2),  # 10 cached: two whole chunks and two tokens of the third
        (Reach(top_k=6), 6, 6),
        (Reach(stride=4), 2, 2),  # position 11 has two whole strides behind it
    ],
)
def test_decode_reads_what_the_mask_leaves(reach, pairs, read):
    attention = rows(tiny_dense(reach), step.decode(sequences=1, context=10))["attention"]

    assert attention.work.flop == pairs * PAIR
    assert attention.work.kv_read_bytes == read * CACHED


def test_an_indexer_scores_every_key_so_that_attention_may_read_few():
    """2 heads of 3 against 11 keys of 3 elements, 10 of them cached; then attention meets the 4 that were picked."""
    layer = tiny_dense(Reach(top_k=4)).layers[0]
    mixer = msgspec.structs.replace(layer.mixer, indexer=Indexer(heads=2, head_dim=3, key_dim=3))
    sparse = msgspec.structs.replace(tiny_dense(), layers=(msgspec.structs.replace(layer, mixer=mixer),))
    op = rows(sparse, step.decode(sequences=1, context=10))

    assert op["indexer"].work.flop == 2 * 11 * 2 * 3
    assert op["indexer"].work.kv_read_bytes == 10 * 3 * 2
    assert op["indexer"].work.kv_write_bytes == 3 * 2
    assert op["attention"].work.flop == 4 * PAIR
    assert op["attention"].work.kv_read_bytes == 4 * CACHED


def test_a_matrix_outside_the_layers_is_met_by_every_token():
    """And stands in a row of its own, though a layer may hold an equal one."""
    outside = Linear(name="project_in", inputs=8, outputs=8)
    given = msgspec.structs.replace(tiny_dense(), outside=(outside,))
    asked = step.prefill(sequences=1, isl=5)

    assert rows(given, asked)["project_in"].count == 1
    assert work(given, asked).flop - work(tiny_dense(), asked).flop == 5 * 2 * 8 * 8
    assert work(given, asked).weight_bytes == streamed_weight_bytes(given) == STREAMED + 8 * 8 * 2


def test_cross_attention_layers_are_passed_over_in_text():
    """They look at an image: without one the step is that of the other layers."""
    layer = tiny_dense().layers[0]
    cross = msgspec.structs.replace(
        layer, count=2, kind="cross", mixer=msgspec.structs.replace(layer.mixer, fixed_context=100)
    )
    given = msgspec.structs.replace(tiny_dense(), layers=(layer, cross))
    asked = step.decode(sequences=1, context=4)

    assert step.operators(given, asked, Layout(), Numbers()) == step.operators(tiny_dense(), asked, Layout(), Numbers())


def test_a_model_without_a_head_returns_hidden_states():
    given = msgspec.structs.replace(tiny_dense(), head=None)
    asked = step.prefill(sequences=1, isl=5)

    assert work(tiny_dense(), asked).flop - work(given, asked).flop == 2 * HEAD
    assert work(given, asked).weight_bytes == streamed_weight_bytes(given)


# --- experts -------------------------------------------------------------------------------------------------------


def test_one_token_touches_the_experts_it_chose():
    """2 of 8 experts of 96 weights; every token does the work of two."""
    op = rows(tiny_moe(), step.decode(sequences=1, context=0))

    assert op["expert_gate_up"].work.weight_bytes == pytest.approx(2 * 64 * 2)
    assert op["expert_down"].work.weight_bytes == pytest.approx(2 * 32 * 2)
    assert op["expert_gate_up"].work.flop == 2 * 2 * 64
    assert op["router"].work.weight_bytes == 8 * 8 * 2


def test_many_tokens_touch_nearly_all_experts_but_work_no_more_each():
    """4 tokens touch 8 x (1 - (3/4)^4) = 5.47 experts and pass 8 rows through them."""
    op = rows(tiny_moe(), step.decode(sequences=4, context=0))

    assert op["expert_gate_up"].work.weight_bytes == pytest.approx(8 * (1 - 0.75**4) * 64 * 2)
    assert op["expert_gate_up"].work.flop == 4 * 2 * 2 * 64


def test_a_shared_expert_is_read_once_and_met_by_every_token():
    op = rows(tiny_moe(shared=True), step.decode(sequences=4, context=0))

    assert op["shared_gate_up"].work.weight_bytes == 64 * 2
    assert op["shared_gate_up"].work.flop == 4 * 2 * 64


def test_tensor_parallelism_cuts_every_expert_and_touches_as_many():
    op = rows(tiny_moe(), step.decode(sequences=4, context=0), Layout(tp=2))

    assert op["expert_gate_up"].work.weight_bytes == pytest.approx(8 * (1 - 0.75**4) * 64 * 2 / 2)
    assert op["expert_gate_up"].work.flop == 4 * 2 * 2 * 64 / 2
    assert op["all_reduce"].count == 2  # after attention and after the experts


def test_expert_parallelism_within_tp_gives_each_device_whole_experts():
    """ep = tp = 2: half of the touched experts, whole, and half of the rows: the bytes of a cut, in larger pieces."""
    asked = step.decode(sequences=4, context=0)
    op = rows(tiny_moe(), asked, Layout(tp=2, ep=2))

    assert op["expert_gate_up"].work.weight_bytes == pytest.approx(8 * (1 - 0.75**4) / 2 * 64 * 2)
    assert op["expert_gate_up"].work.flop == 4 * 2 * 2 * 64 / 2
    assert "all_to_all dispatch" not in op


def test_pooled_experts_are_touched_by_the_tokens_of_all_replicas():
    """4 replicas of 4 tokens: 16 tokens touch 8 x (1 - (3/4)^16), a quarter of them on each device, and 8 rows."""
    op = rows(tiny_moe(), step.decode(sequences=4, context=0), Layout(dp=4, ep=4))

    assert op["expert_gate_up"].work.weight_bytes == pytest.approx(8 * (1 - 0.75**16) / 4 * 64 * 2)
    assert op["expert_gate_up"].work.flop == (16 * 2 / 4) * 2 * 64


def test_tokens_travel_to_pooled_experts_and_back():
    """Each of 4 tokens goes once to every other device that needs it: 3 x (1 - (3/4)^2) of them, 16 bytes; and back."""
    op = rows(tiny_moe(), step.decode(sequences=4, context=0), Layout(dp=4, ep=4))
    one_way = 4 * 16 * 3 * (1 - 0.75**2)

    assert op["all_to_all dispatch"].work.link_bytes == pytest.approx(one_way)
    assert op["all_to_all combine"].work.link_bytes == pytest.approx(one_way)
    assert op["expert_sort_combine"].count == 1


def test_fp8_experts_receive_fp8_tokens_and_return_wide_ones():
    op = rows(held(tiny_moe(), "fp8"), step.decode(sequences=4, context=0), Layout(dp=4, ep=4))

    assert op["all_to_all combine"].work.link_bytes == 2 * op["all_to_all dispatch"].work.link_bytes


# --- latent attention ----------------------------------------------------------------------------------------------

MLA_MATRICES = 8 * 4 + 4 * 8 + 8 * 6 + 4 * 8 + 4 * 8 + 8 * 32 + 16 * 8  # q_a, q_b, kv_a, kv_b, o, gate_up, down
LATENT = (4 + 2) * 2  # latent and rotary key of a token and layer, in bytes


def test_decode_of_latent_attention_is_absorbed():
    """Each of 2 heads meets 5 latents of 4 + 2 and sums 5 of 4: 2 x 5 x 2 x (6 + 4); kv_b once, absorbed."""
    got = work(tiny_mla(), step.decode(sequences=1, context=4))

    assert got.flop == 2 * (2 * MLA_MATRICES + 2 * 5 * 2 * (6 + 4)) + 2 * HEAD
    assert got.kv_read_bytes == 2 * 4 * LATENT
    assert got.kv_write_bytes == 2 * LATENT
    assert got.weight_bytes == streamed_weight_bytes(tiny_mla())


def test_prefill_of_latent_attention_expands_keys_and_values():
    """3 tokens meet 6 pairs with keys of 4 and values of 2 in each of 2 heads."""
    got = work(tiny_mla(), step.prefill(sequences=1, isl=3))

    assert got.flop == 2 * (3 * 2 * MLA_MATRICES + 2 * 6 * 2 * (4 + 2)) + 2 * HEAD
    assert got.kv_read_bytes == 0
    assert got.kv_write_bytes == 2 * 3 * LATENT


def test_a_cached_latent_prefix_is_expanded_again():
    """2 of 5 tokens cached: kv_b runs on all 5, and the 2 expanded ones (2 heads of 4 + 2) are read back."""
    whole = work(tiny_mla(), step.prefill(sequences=1, isl=3))
    after = work(tiny_mla(), step.prefill(sequences=1, isl=5, cached_prefix=2))
    kv_b = 4 * 8

    assert after.flop - whole.flop == 2 * (2 * 2 * kv_b + 2 * (3 + 4 + 5 - 6) * 2 * (4 + 2))
    assert after.kv_read_bytes == 2 * 2 * LATENT
    assert after.activation_bytes - whole.activation_bytes == 2 * 2 * (
        (4 + 8) * 2  # kv_b on the two: latent in, keys and values out (without the rotary part, which is shared)
        + 2 * (4 + 2) * 2  # and the expanded keys (rotary part repeated) and values read by attention
    )


def test_naive_latent_attention_has_scores_too():
    """2 heads x 3 x 3 scores in prefill, 2 x 1 x 5 in decode; four passes of 2 bytes, in each of 2 layers."""
    for asked, scores in ((step.prefill(sequences=1, isl=3), 2 * 3 * 3), (step.decode(sequences=1, context=4), 2 * 5)):
        flash, naive = work(tiny_mla(), asked), work(tiny_mla(), asked, numbers=Numbers(flash=False))
        assert naive.activation_bytes - flash.activation_bytes == 2 * 4 * scores * 2


def test_the_latent_is_on_every_tensor_rank():
    """Heads are shared out, the latent is not: two devices together read the cache twice."""
    one = rows(tiny_mla(), step.decode(sequences=1, context=4))["attention"].work
    cut = rows(tiny_mla(), step.decode(sequences=1, context=4), Layout(tp=2))["attention"].work

    assert cut.kv_read_bytes == one.kv_read_bytes
    assert cut.flop == one.flop / 2


# --- hybrid --------------------------------------------------------------------------------------------------------

DELTA_MATRICES = 8 * 24 + 8 * 8 + 8 * 32 + 16 * 8
STATE = 2 * 4 * 4  # heads x key x value
STATE_BYTES = 4 * STATE + 2 * 24 * 3  # fp32 state, and the convolution's window in 2 bytes


def test_decode_of_a_hybrid():
    """3 delta layers (matrices, a convolution of 4 over 24 channels, three products with the state), 1 of attention."""
    got = work(tiny_hybrid(), step.decode(sequences=1, context=4))

    assert got.flop == 3 * (2 * DELTA_MATRICES + 2 * 24 * 4 + 2 * 3 * STATE) + (2 * MATRICES + 5 * PAIR) + 2 * HEAD
    assert got.kv_read_bytes == 3 * STATE_BYTES + 4 * CACHED
    assert got.kv_write_bytes == 3 * STATE_BYTES + CACHED
    assert got.weight_bytes == streamed_weight_bytes(tiny_hybrid())


def test_state_does_not_grow_with_the_text_nor_with_the_tokens_of_a_step():
    """Read and written once a sequence and step, after 4 or 400 tokens, for one token or nine."""
    for asked in (step.decode(sequences=2, context=400), step.prefill(sequences=2, isl=9)):
        op = rows(tiny_hybrid(), asked)
        moved = [op[name].work.kv_read_bytes for name in ("scan", "conv")]
        assert moved == [2 * 4 * STATE, 2 * 2 * 24 * 3]


# --- layouts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [tiny_dense(), tiny_moe(shared=True), tiny_mla(), tiny_hybrid()], ids=lambda m: m.id)
@pytest.mark.parametrize(
    "asked",
    [step.decode(sequences=3, context=9), step.prefill(sequences=2, isl=7, cached_prefix=2)],
    ids=["decode", "prefill"],
)
def test_tp_1_equals_no_tp(given, asked):
    plain = step.operators(given, asked, Layout(), Numbers())

    assert step.operators(given, asked, Layout(tp=1, in_switch=True), Numbers()) == plain
    assert not any(op.kind == "collective" for op in plain)


def test_two_devices_halve_everything_that_is_cut():
    """Norm vectors are on both; the residual stream too, so norms move as much on each."""
    asked = step.decode(sequences=1, context=4)
    got = work(tiny_dense(), asked, Layout(tp=2))

    assert got.flop == work(tiny_dense(), asked).flop / 2
    assert got.weight_bytes == 2 * (LAYERS * (MATRICES / 2 + 2 * 8) + 8 + HEAD / 2)
    assert got.kv_read_bytes == LAYERS * 4 * CACHED / 2
    assert got.launches == LAUNCHES + 2 * LAYERS


@pytest.mark.parametrize(
    ("in_switch", "sent"),
    [
        (False, 2 * 16 * 1 / 2),  # ring: twice (n - 1)/n of a row of 8 elements
        (True, 16 * 1 / 2),  # the switch adds up: once
    ],
)
def test_two_all_reduces_a_layer(in_switch, sent):
    got = work(tiny_dense(), step.decode(sequences=1, context=4), Layout(tp=2, in_switch=in_switch))

    assert got.link_bytes == LAYERS * 2 * sent


def test_kv_heads_are_copied_past_their_number():
    """4 devices, 2 KV heads: each holds one head, half of the cache, where a quarter would be even."""
    op = rows(tiny_dense(), step.decode(sequences=1, context=4), Layout(tp=4))

    assert op["attention"].work.kv_read_bytes == 4 * CACHED / 2
    assert op["attention"].work.flop == 5 * PAIR / 4  # query heads are still shared out
    assert op["qkv"].work.weight_bytes == 2 * 8 * (8 / 4 + 8 / 2)


def test_a_pipeline_hands_the_hidden_state_on():
    got = work(tiny_dense(), step.decode(sequences=5, context=4), Layout(pp=3))

    assert got.link_bytes == 2 * 5 * 8 * 2  # two hops of 5 rows of 8 elements


# --- formats and form ----------------------------------------------------------------------------------------------


def test_w8a8_multiplies_in_fp8_and_weight_only_does_not():
    """And activations go into an FP8 product in one byte; head and attention stay as they are."""
    fp8 = rows(held(tiny_dense(), "fp8"), step.decode(sequences=1, context=4))
    int4 = rows(held(tiny_dense(), "int4"), step.decode(sequences=1, context=4))

    assert (fp8["qkv"].compute, int4["qkv"].compute) == ("fp8", "bf16")
    assert (fp8["lm_head"].compute, fp8["attention"].compute) == ("bf16", "bf16")
    assert fp8["qkv"].work.activation_bytes == 8 * 1 + 16 * 2
    assert int4["qkv"].work.activation_bytes == 8 * 2 + 16 * 2
    assert int4["qkv"].work.flop == fp8["qkv"].work.flop == 2 * 8 * 16


def test_a_model_stored_in_a_format_is_as_one_asked_for_in_it():
    asked = step.decode(sequences=2, context=4)
    stored = work(with_linears(tiny_dense(), format="int4-g64"), asked)

    assert stored == work(held(tiny_dense(), "int4-g64"), asked)


def test_a_narrow_cache_shrinks_reads_and_writes():
    asked = step.decode(sequences=2, context=4)
    wide, narrow = work(tiny_dense(), asked), work(tiny_dense(), asked, numbers=Numbers(kv_bytes=1, kv_compute="fp8"))

    assert (narrow.kv_read_bytes, narrow.kv_write_bytes) == (wide.kv_read_bytes / 2, wide.kv_write_bytes / 2)
    assert narrow.activation_bytes == wide.activation_bytes


def test_equal_operators_are_one_row_with_a_count():
    """A 32-layer Llama is a dozen rows; their work times their count is the step's."""
    ops = step.operators(llama_3_8b(), step.decode(sequences=1, context=0), Layout(), Numbers())

    assert len(ops) <= 12
    assert {op.name: op.count for op in ops}["qkv"] == 32
    assert sum(op.count * op.work.flop for op in ops) == step.total(ops).flop


def test_layers_that_differ_keep_rows_and_names_apart():
    """Attention over a window and over everything: two rows, told apart by their kind."""
    near = tiny_dense(Reach(window=2)).layers[0]
    mixed = msgspec.structs.replace(
        tiny_dense(), layers=(*tiny_dense().layers, msgspec.structs.replace(near, kind="sliding attention"))
    )
    names = [op.name for op in step.operators(mixed, step.decode(sequences=1, context=9), Layout(), Numbers())]

    assert "attention (attention + dense)" in names
    assert "attention (sliding attention)" in names
    assert names.count("qkv") == 1  # equal matrices of both kinds are one row


def test_arrays_give_what_numbers_give():
    batches, contexts = np.array([1.0, 2, 64])[:, None], np.array([0.0, 5, 4096])[None, :]
    layout = Layout(tp=2, dp=2, ep=4)

    together = work(tiny_moe(), step.decode(sequences=batches, context=contexts), layout)

    for i, j in np.ndindex(3, 3):
        alone = work(tiny_moe(), step.decode(sequences=float(batches[i, 0]), context=float(contexts[0, j])), layout)
        for field in ("flop", "weight_bytes", "kv_read_bytes", "kv_write_bytes", "activation_bytes", "link_bytes"):
            got = np.broadcast_to(getattr(together, field), (3, 3))[i, j]
            assert got == pytest.approx(getattr(alone, field), rel=1e-12), field

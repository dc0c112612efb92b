"""What lies in device memory, counted on paper for tiny models and a card of a million bytes."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rooflight.catalog.engines import ASSUMED_BUDGET_TOKENS
from rooflight.scenario.definite import scenario
from rooflight.serve.held import device_sequence_bytes, device_weight_bytes
from rooflight.serve.memory import max_batch, memory
from rooflight.serve.room import room
from rooflight.values.accelerator import Link
from rooflight.values.deployment import Deployment
from rooflight.values.held import BOUNDLESS
from rooflight.values.model import Reach, Tower
from rooflight.values.workload import Workload
from rooflight.work.count import weight_bytes
from rooflight.work.layout import Layout
from rooflight.work.numbers import Numbers
from rooflight.work.weights import held
from unit.models import card, tiny_dense, tiny_hybrid, tiny_mla, tiny_moe

MATRICES = 8 * 16 + 8 * 8 + 8 * 32 + 16 * 8  # one layer of tiny_dense
CACHED = 3 * 2 * 2 * 2 * 2  # bytes of a token in its 3 layers
ROW = (4 * 8 + 2 * 32) * 2  # working memory of a token: 4 hidden states and twice the widest row (gate_up)


def asked(model=None, *, accelerator=None, count=None, deployment=None, **workload):
    load = Workload(**{"isl": 16, "osl": 4, **workload})
    given = accelerator or card(link=Link(name="link", bytes_per_s=10.0))
    return scenario(model or tiny_dense(), given, count, load, deployment or Deployment())


@pytest.mark.parametrize("given", [tiny_dense(), tiny_dense(tied=True), tiny_moe(), tiny_mla(), tiny_hybrid()])
def test_one_device_holds_every_stored_weight(given):
    assert device_weight_bytes(given, Layout()) == weight_bytes(given)


def test_a_tensor_rank_holds_half_of_what_is_cut_and_all_of_the_norms():
    expected = 2 * (3 * (MATRICES / 2 + 2 * 8) + 8 + 2 * 32 * 8 / 2)

    assert device_weight_bytes(tiny_dense(), Layout(tp=2)) == expected


def test_past_the_kv_heads_their_matrices_are_held_twice():
    """tp 4, 2 KV heads: of qkv's 16 outputs a device has 8/4 of queries and 8/2 of K and V."""
    expected = 2 * (3 * (8 * (2 + 4) + (8 * 8 + 8 * 32 + 16 * 8) / 4 + 2 * 8) + 8 + 2 * 32 * 8 / 4)

    assert device_weight_bytes(tiny_dense(), Layout(tp=4)) == expected


def test_stages_share_the_layers_and_replicas_share_nothing():
    whole = device_weight_bytes(tiny_dense(), Layout())

    assert device_weight_bytes(tiny_dense(), Layout(pp=3)) == whole / 3
    assert device_weight_bytes(tiny_dense(), Layout(dp=3)) == whole


def test_experts_are_spread_over_the_pool():
    """8 experts of 96 weights over 4 devices: 2 each; the rest is copied."""
    whole = device_weight_bytes(tiny_moe(), Layout())

    assert device_weight_bytes(tiny_moe(), Layout(dp=4, ep=4)) == whole - 6 * 96 * 2


def test_towers_are_held_too():
    given = msgspec.structs.replace(tiny_dense(), towers=(Tower(name="vision", parameters=100),))

    assert device_weight_bytes(given, Layout()) == weight_bytes(given) + 100 * 2


def test_narrower_weights_shrink_the_layers():
    """A byte a weight and a 4-byte scale for each of 4 matrices."""
    narrow = device_weight_bytes(held(tiny_dense(), "fp8"), Layout())

    assert weight_bytes(tiny_dense()) - narrow == 3 * (MATRICES * 1 - 4 * 4)


@pytest.mark.parametrize(
    ("given", "layout", "tokens", "held"),
    [
        (tiny_dense(), Layout(), 20, 20 * CACHED),
        (tiny_dense(), Layout(tp=2), 20, 20 * CACHED / 2),
        (tiny_dense(), Layout(tp=4), 20, 20 * CACHED / 2),  # 2 KV heads: no further
        (tiny_dense(), Layout(pp=3), 20, 20 * CACHED / 3),
        (tiny_dense(Reach(window=8)), Layout(), 20, 8 * CACHED),
        (tiny_dense(Reach(window=8)), Layout(), 5, 5 * CACHED),
        (tiny_dense(Reach(chunk=8)), Layout(), 20, 8 * CACHED),
        (tiny_dense(Reach(stride=4)), Layout(), 23, 5 * CACHED),  # 5 whole strides
        (tiny_dense(Reach(stride=4, window=8)), Layout(), 23, (5 + 8) * CACHED),
        (tiny_mla(), Layout(), 20, 20 * 2 * 6 * 2),
        (tiny_mla(), Layout(tp=2), 20, 20 * 2 * 6 * 2),  # the latent is on every rank
        (tiny_hybrid(), Layout(), 20, 20 * 16 + 3 * (128 + 144)),
        (tiny_hybrid(), Layout(tp=2), 20, (20 * 16 + 3 * (128 + 144)) / 2),
    ],
)
def test_what_a_sequence_holds_on_a_device(given, layout, tokens, held):
    assert device_sequence_bytes(given, tokens, layout, Numbers()) == held


def test_how_the_memory_of_a_device_is_spent():
    one = room(asked())

    assert one.usable == 1e6
    assert one.withheld == pytest.approx(1e6 * (1 - 0.9))
    assert one.engine == 1000  # as assumed for the family
    assert one.weights == weight_bytes(tiny_dense())
    assert one.chunk == 16 * ROW  # a prompt of 16
    assert one.row == ROW + 32 * 4  # a decoding sequence, and its 32 logits in fp32
    assert one.cache == (16 + 4) * CACHED
    assert one.left == pytest.approx(0.9e6 - one.weights - one.chunk - 1000)


def test_a_long_prompt_runs_in_chunks():
    """Working memory stops growing where engines cut the prompt."""
    roomy = card(memory_bytes=1e12)
    at, beyond = (
        room(asked(accelerator=roomy, isl=isl)).chunk for isl in (ASSUMED_BUDGET_TOKENS, 4 * ASSUMED_BUDGET_TOKENS)
    )

    assert at == beyond


def test_naive_attention_needs_room_for_its_scores():
    flash, naive = room(asked()), room(asked(deployment=Deployment(attention="naive")))

    assert naive.chunk - flash.chunk == 4 * 16**2 * 2  # heads x prompt squared
    assert naive.row - flash.row == 4 * (16 + 4) * 2  # heads x tokens of the sequence


def test_a_given_context_is_what_a_sequence_holds():
    assert room(asked(context=99)).cache == (99 + 1) * CACHED


def test_the_block_sums_over_devices():
    """tp 2 x dp 2, 6 sequences: three on each replica, and each cached once over all devices."""
    one = room(asked(batch=6, deployment=Deployment(tp=2, dp=2)))
    block = memory(asked(batch=6, deployment=Deployment(tp=2, dp=2)))

    assert block.weights_bytes == 4 * one.weights
    assert block.usable_bytes == 4e6
    assert block.kv_bytes == 6 * 20 * CACHED
    assert block.kv_bytes_per_sequence == 20 * CACHED
    assert block.activation_bytes == pytest.approx(4 * one.chunk + 6 * 2 * one.row)  # on both ranks of its replica
    assert block.reserve_bytes == pytest.approx(block.activation_bytes + block.engine_bytes + block.withheld_bytes)


@pytest.mark.parametrize("batch", [1, 100, 500, 700, 900, 2000])
def test_fits_means_that_the_parts_add_up_to_no_more_than_there_is(batch):
    block = memory(asked(batch=batch))

    assert block.fits is (block.weights_bytes + block.kv_bytes + block.reserve_bytes <= block.usable_bytes)


@pytest.mark.parametrize("batch", [1, 600])
def test_max_batch_is_the_largest_that_fits(batch):
    """Whatever batch was asked about: the logits of a larger one take room too."""
    said = memory(asked(batch=batch)).max_batch

    assert memory(asked(batch=said)).fits
    assert not memory(asked(batch=said + 1)).fits


def test_replicas_hold_as_many_each():
    assert memory(asked(deployment=Deployment(dp=3))).max_batch == 3 * memory(asked()).max_batch


def test_an_uneven_batch_must_fit_where_it_is_largest():
    """With one sequence more than the replicas hold, some replica has one too many."""
    tight = card(memory_bytes=20_000.0)
    most = memory(asked(accelerator=tight, deployment=Deployment(dp=2))).max_batch

    assert most > 0
    assert not memory(asked(accelerator=tight, deployment=Deployment(dp=2), batch=most + 1)).fits


def test_a_model_larger_than_the_card_holds_no_sequence():
    block = memory(asked(accelerator=card(memory_bytes=4000.0)))

    assert not block.fits
    assert block.max_batch == 0


def test_a_missing_memory_size_leaves_an_answer_without_a_verdict():
    """Weights and caches are counted all the same; what needs the size is null."""
    sc = asked(accelerator=card(memory_bytes=None), batch=3)
    block = memory(sc)

    assert block.weights_bytes == weight_bytes(tiny_dense())
    assert block.kv_bytes == 3 * 20 * CACHED
    assert [block.fits, block.max_batch, block.usable_bytes, block.kv_pool_bytes, block.kv_tokens] == [None] * 5
    assert (block.whole, block.most) == (True, BOUNDLESS)
    assert "no_memory_size" in [note.key for note in sc.warnings]


def test_arrays_hold_as_many_as_numbers():
    lengths = np.array([1.0, 100, 5000, 100000])
    sc = asked()
    swept = msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, context=lengths))

    assert max_batch(room(swept)).tolist() == [max_batch(room(asked(context=int(length)))) for length in lengths]

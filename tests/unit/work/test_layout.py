"""Degrees of parallelism: shares add up to the whole, and what cannot be cut is refused with what can."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight.errors import BadInput
from rooflight.values.model import Layer, Linear
from rooflight.work.layout import Layout, check_layout, kv_share, local_sizes, share_out
from unit.models import (
    attention,
    deepseek_v3,
    gated,
    llama_3_8b,
    model,
    projections,
    tiny_dense,
    tiny_hybrid,
    tiny_mla,
    tiny_moe,
)

degrees = st.integers(1, 16)


@given(batch=st.integers(1, 5000), dp=degrees, pp=degrees)
def test_sequences_on_all_passes_are_the_batch(batch, dp, pp):
    share = share_out(batch, Layout(dp=dp, pp=pp))

    assert share.sequences * share.passes * share.replicas == pytest.approx(batch)
    assert share.replicas <= dp
    assert share.passes <= pp
    assert share.sequences >= 1  # an idle replica or pass, never half a sequence


def test_few_sequences_leave_replicas_and_stages_idle():
    """3 sequences on 4 replicas of 2 stages: three replicas with one pass of one sequence each."""
    share = share_out(3, Layout(dp=4, pp=2))

    assert (share.replicas, share.passes, share.sequences) == (3, 1, 1)


def test_a_lone_sequence_keeps_one_replica_busy():
    """Whether or not the others' experts serve it: its attention runs on one."""
    share = share_out(1, Layout(dp=4, ep=4))

    assert (share.replicas, share.passes, share.sequences) == (1, 1, 1)


@pytest.mark.parametrize("split", ["column", "row"])
@pytest.mark.parametrize("cut", [1, 2, 4])
def test_a_cut_matrix_is_whole_over_all_devices(split, cut):
    linear = Linear(name="x", inputs=64, outputs=32, split=split)
    inputs, outputs, share = local_sizes(linear, cut)

    assert inputs * outputs * cut == 64 * 32
    assert share * cut == 1


def test_an_uncut_matrix_is_whole_on_every_device():
    assert local_sizes(Linear(name="router", inputs=64, outputs=8, split="none"), 4) == (64, 8, 1)


@pytest.mark.parametrize(
    ("kv_heads", "tp", "share"),
    [
        (8, 1, 1),
        (8, 4, 1 / 4),
        (8, 8, 1 / 8),
        (8, 16, 1 / 8),  # past the KV heads each device still holds one: two devices, the same head
        (1, 8, 1),  # MQA: every device holds the only one
    ],
)
def test_kv_heads_are_copied_past_their_number(kv_heads, tp, share):
    assert kv_share(kv_heads, tp) == share


def test_a_fused_qkv_keeps_one_kv_head_a_device():
    """Llama-3-8B at tp 16: 4096/16 query outputs, and K and V of one head of 128, in a matrix of 6144 outputs."""
    qkv = llama_3_8b().layers[0].projections[0]
    inputs, outputs, share = local_sizes(qkv, 16)

    assert (inputs, outputs) == (4096, 4096 / 16 + 2 * 128)
    assert share == outputs / 6144
    assert 16 * share > 1  # the copies make the sum more than one matrix


@pytest.mark.parametrize(
    ("layout", "devices", "pooled", "expert_cut"),
    [
        (Layout(), 1, 1, 1),
        (Layout(tp=4), 4, 1, 4),  # no ep: each expert is cut like any matrix
        (Layout(tp=4, ep=2), 4, 1, 2),  # half of the experts a pair of devices, each cut in two
        (Layout(tp=4, ep=4), 4, 1, 1),
        (Layout(tp=2, dp=4, ep=8), 8, 4, 1),  # the experts of 4 replicas in one pool
        (Layout(tp=2, pp=3, dp=2), 12, 1, 2),
    ],
)
def test_how_experts_are_cut_and_pooled(layout, devices, pooled, expert_cut):
    assert (layout.devices, layout.pooled, layout.expert_cut) == (devices, pooled, expert_cut)


@pytest.mark.parametrize(
    ("model", "layout"),
    [
        (tiny_dense(), Layout(tp=2, pp=3, dp=5)),
        (tiny_dense(), Layout(tp=4)),  # 2 KV heads over 4 devices: copied
        (tiny_dense(kv_heads=1), Layout(tp=2)),
        (tiny_mla(), Layout(tp=2)),
        (tiny_hybrid(), Layout(tp=2)),
        (tiny_moe(), Layout(tp=2, dp=4, ep=8)),
        (deepseek_v3(), Layout(tp=8, dp=4, ep=32, pp=61)),
    ],
    ids=lambda part: getattr(part, "id", None),
)
def test_layouts_that_can_be_cut_pass(model, layout):
    assert check_layout(model, layout) is None


@pytest.mark.parametrize(
    ("model", "layout", "where", "want"),
    [
        (tiny_dense(), Layout(tp=3), "tp", "one of 1, 2, 4"),  # 4 heads
        (llama_3_8b(), Layout(tp=3), "tp", "one of 1, 2, 4, 8, 16, 32"),
        (tiny_mla(), Layout(tp=4), "tp", "one of 1, 2"),  # 2 heads
        (tiny_hybrid(), Layout(tp=4), "tp", "one of 1, 2"),  # 2 heads of the delta rule, 4 of attention
        (tiny_dense(), Layout(pp=4), "pp", "1 to 3"),  # 3 layers
        (tiny_dense(), Layout(ep=2, dp=2), "ep", "1"),  # no experts
        (tiny_moe(), Layout(ep=3, dp=4), "ep", "one of 1, 2, 4"),
        (tiny_moe(), Layout(ep=16, dp=16), "ep", "1 to 8"),  # 8 experts
    ],
    ids=lambda part: getattr(part, "id", None),
)
def test_a_layout_that_cannot_be_cut_names_what_can(model, layout, where, want):
    with pytest.raises(BadInput) as caught:
        check_layout(model, layout)

    assert caught.value.where == where
    assert caught.value.want == want


def test_kv_heads_that_neither_divide_nor_are_divided_are_refused():
    """12 query heads over 4 devices would be 3 each, but 6 KV heads would not come out even."""
    mixer = attention(heads=12, kv_heads=6, head_dim=2)
    layer = Layer(count=1, kind="attention", mixer=mixer, projections=projections(8, mixer), mlp=gated(8, 16))

    with pytest.raises(BadInput, match="6 KV heads"):
        check_layout(model("odd", 8, 32, (layer,)), Layout(tp=4))


def test_the_nearest_degree_that_works_is_offered():
    with pytest.raises(BadInput) as caught:
        check_layout(llama_3_8b(), Layout(tp=6))

    assert "tp=2" in caught.value.try_this  # three replicas; 4 divides the heads too, but 2 of 6 devices would idle


@pytest.mark.parametrize(("name", "tried"), [("openai/whisper-large-v3", 4), ("google-bert/bert-base-uncased", 4)])
def test_the_degree_to_try_leaves_devices_for_whole_replicas(name, tried):
    """8 devices: 20 heads divide by 5 and 12 by 6, but of eight devices neither makes whole replicas."""
    with pytest.raises(BadInput) as caught:
        rooflight.analyze(name, on="8xh100-sxm")

    assert caught.value.try_this.startswith(f"tp={tried}, ")
    assert rooflight.analyze(name, on="8xh100-sxm", tp=tried, dp=8 // tried).fits

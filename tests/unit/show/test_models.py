"""A model's document: every kind of mixer in the plan, and the words for it."""

from __future__ import annotations

import io

import pytest

import rooflight
from rooflight.show import models as show
from rooflight.show.layers import layer_plan
from rooflight.show.text import write
from rooflight.values.model import Attention, Layer, Reach, Recurrent


def words(model_id: str) -> str:
    stream = io.StringIO()
    write(show.page_blocks(show.page(rooflight.model(model_id))), stream)
    return " ".join(stream.getvalue().split())


def test_latent_attention_and_experts():
    page = show.page(rooflight.model("deepseek-ai/DeepSeek-V3"))
    dense, routed = page.layers
    assert (dense.count, routed.count) == (3, 58)
    assert routed.attention.kind == "mla"
    assert routed.attention.kv_heads is None
    assert routed.attention.head_dim == 128 + 64  # nope + rope
    assert routed.kv_bytes_per_token == 2 * (512 + 64)  # latent + rope, bf16
    assert page.model.kv_bytes_per_token == 61 * 1152 == 70_272
    assert (routed.experts.count, routed.experts.chosen) == (256, 8)
    assert routed.experts.parameters_each == 3 * 7168 * 2048
    assert sum(layer.count * layer.parameters for layer in page.layers) < page.model.parameters
    text = words("deepseek-ai/DeepSeek-V3")
    assert "8 of 256" in text
    assert "mla 128 heads of 192" in text


@pytest.mark.parametrize(
    ("mixer", "kind"),
    [
        (Attention(heads=8, kv_heads=8, head_dim=64, value_dim=64, cache_elements=1024), "mha"),
        (Attention(heads=8, kv_heads=2, head_dim=64, value_dim=64, cache_elements=256), "gqa"),
        (Attention(heads=8, kv_heads=1, head_dim=64, value_dim=64, cache_elements=128), "mqa"),
        (Attention(heads=8, kv_heads=8, head_dim=64, value_dim=64, cache_elements=1024, fixed_context=10), "cross"),
    ],
)
def test_attention_by_its_heads(mixer, kind):
    assert layer_plan(Layer(count=1, kind="x", mixer=mixer)).attention.kind == kind


def test_a_window_bounds_the_cache():
    mixer = Attention(
        reach=Reach(window=128), heads=8, kv_heads=2, head_dim=64, value_dim=64, cache_elements=256, sinks=True
    )
    plan = layer_plan(Layer(count=2, kind="sliding attention", mixer=mixer))
    assert plan.window == plan.attention.window == 128
    assert plan.kv_bytes_per_token == 0  # nothing that grows without bound
    assert plan.attention.cache_elements == 256
    assert show._mixer_words(plan) == "gqa 8/2 heads of 64, window 128, sinks"


def test_a_state_does_not_grow():
    mixer = Recurrent(kind="mamba2", heads=4, key_dim=16, value_dim=8, conv_state_elements=10)
    plan = layer_plan(Layer(count=1, kind="mamba", mixer=mixer))
    assert plan.attention is None
    assert plan.window is None
    assert plan.state_bytes == 4 * 16 * 8 * 4 + 10 * 2  # fp32 state, bf16 convolution
    assert show._mixer_words(plan) == "mamba2 4 x 16 x 8"


def test_layers_in_a_line():
    model = rooflight.model("deepseek-ai/DeepSeek-V3")
    assert show.layers_summary(model).startswith("3 x ")
    assert "58 x " in show.layers_summary(model)


def test_layers_for_multi_token_prediction_stand_apart():
    """MiMo-7B: a layer of q, k and v with biases, o, the feed-forward, 2 x 4096 x 4096 in front, and five norms."""
    found = show.document(rooflight.model("mimo-7b-base"))
    attention = 4096 * (4096 + 2 * 1024) + 4096 + 2 * 1024 + 4096 * 4096
    by_hand = attention + 3 * 4096 * 11008 + 2 * 4096 * 4096 + 5 * 4096

    assert found["draft_layers"] == {"count": 1, "parameters": by_hand, "weight_bytes": 2 * by_hand}
    assert f"1 layer for multi-token prediction, {by_hand:,} parameters" in words("mimo-7b-base")
    assert "draft_layers" not in show.document(rooflight.model("llama-3.1-8b"))

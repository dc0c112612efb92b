"""Local, shared, cross, block-sparse and compressed attention, by hand."""

from __future__ import annotations

import pytest

from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadConfig
from rooflight.values.model import Attention, Indexer, Layer, Model, Reach
from rooflight.work import count

LLAMA4 = {
    "model_type": "llama4_text", "hidden_size": 96, "intermediate_size": 56, "intermediate_size_mlp": 160,
    "num_hidden_layers": 8, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 20, "vocab_size": 512,
    "num_local_experts": 4, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "attention_chunk_size": 64,
}  # fmt: skip
GEMMA4 = {
    "model_type": "gemma4_text", "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 12,
    "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 20, "global_head_dim": 40, "vocab_size": 512,
    "hidden_size_per_layer_input": 0, "sliding_window": 32,
}  # fmt: skip
V4_FLASH = {
    "model_type": "deepseek_v4", "hidden_size": 4096, "num_hidden_layers": 43, "num_attention_heads": 64,
    "num_key_value_heads": 1, "head_dim": 512, "vocab_size": 129280, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 6, "q_lora_rank": 1024, "o_lora_rank": 1024,
    "o_groups": 8, "index_head_dim": 128, "index_n_heads": 64, "index_topk": 512, "sliding_window": 128, "hc_mult": 4,
    "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0],
}  # fmt: skip
M3 = {
    "model_type": "minimax_m3", "hidden_size": 6144, "num_hidden_layers": 60, "num_attention_heads": 64,
    "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 200064, "dense_intermediate_size": 12288,
    "intermediate_size": 3072, "shared_intermediate_size": 3072, "num_local_experts": 128, "num_experts_per_tok": 4,
    "moe_layer_freq": [0] * 3 + [1] * 57, "tie_word_embeddings": False,
    "sparse_attention_config": {
        "sparse_attention_freq": [0] * 3 + [1] * 57, "sparse_block_size": 128, "sparse_topk_blocks": 16,
        "sparse_num_index_heads": 4, "sparse_index_dim": 128,
    },
}  # fmt: skip


def read(config: dict[str, object]) -> Model:
    return model_from_dict(config, id="test", origin="test.json")


def softmax(layer: Layer) -> Attention:
    assert isinstance(layer.mixer, Attention)
    return layer.mixer


def test_llama4_chunks_three_layers_in_four():
    """Layers 3 and 7 have no rotary positions and see everything; layers 1, 3, 5, 7 have experts."""
    found = {layer.kind: (layer.count, softmax(layer).reach) for layer in read(LLAMA4).layers}

    assert found == {
        "chunked attention + dense": (4, Reach(chunk=64)),
        "chunked attention + MoE": (2, Reach(chunk=64)),
        "full attention + MoE": (2, Reach()),
    }


def test_llama4_without_a_chunk_size_sees_everything():
    """An explicit null switches chunks off; silence means 8192, which is noted."""
    silent = {key: value for key, value in LLAMA4.items() if key != "attention_chunk_size"}

    assert count.windows(read({**LLAMA4, "attention_chunk_size": None})) == ()
    assert count.windows(read(silent)) == (8192,)
    assert any("8192" in note for note in read(silent).assumptions)


def test_gemma4_keys_that_are_values_are_projected_once_but_cached_twice():
    """attention_k_eq_v: a global layer has one matrix for K and V; both are cached, K rotated and V not."""
    model = read({**GEMMA4, "attention_k_eq_v": True, "num_global_key_value_heads": 1})
    wide = next(layer for layer in model.layers if layer.kind.startswith("full"))

    assert wide.projections[0].outputs == 6 * 40 + 1 * 40
    assert softmax(wide).cache_elements == 2 * 1 * 40


def test_shared_caches_are_read_not_kept():
    """num_kv_shared_layers: the last four layers have no K or V matrix, keep nothing, and are twice as wide."""
    model = read({**GEMMA4, "num_kv_shared_layers": 4, "use_double_wide_mlp": True})
    sharing = [layer for layer in model.layers if not softmax(layer).stores]

    assert sum(layer.count for layer in sharing) == 4
    assert all(layer.projections[0].kv_outputs == 0 for layer in sharing)
    assert all(layer.mlp[0].outputs == 2 * 2 * 160 for layer in sharing)
    # of the eight others one in six is global: 2 K/V heads of 40, twice, in two bytes
    assert count.kv_bytes_per_token(model) == 1 * 2 * 2 * 40 * 2
    assert count.window_kv_bytes_per_token(model) == 7 * 2 * 2 * 20 * 2


def test_per_layer_inputs_are_a_table_and_two_small_matrices():
    """Gemma 4 E2B and E4B: a row of layers x 24 elements a token from a second table, never streamed."""
    plain, fed = read(GEMMA4), read({**GEMMA4, "hidden_size_per_layer_input": 24, "vocab_size_per_layer_input": 500})

    assert fed.embedding_row - plain.embedding_row == 12 * 24
    assert fed.embedding_parameters - plain.embedding_parameters == 500 * 12 * 24
    # the matrix outside and its norm; in each layer two matrices and a norm
    assert count.parameters(fed) - count.parameters(plain) == (
        500 * 12 * 24 + 96 * 12 * 24 + 24 + 12 * (2 * 96 * 24 + 96)
    )


def test_cross_attention_sees_one_image_and_keeps_nothing_a_token():
    """Llama 3.2 Vision: 4 tiles of (560 / 14)^2 + 1 positions; its K and V matrices are stored but not streamed."""
    config = {
        "model_type": "mllama_text_model", "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 4,
        "num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 512, "cross_attention_layers": [1],
    }  # fmt: skip
    model = read(config)
    cross = next(layer for layer in model.layers if layer.kind.startswith("cross"))

    assert softmax(cross).fixed_context == 4 * (40 * 40 + 1)
    assert count.kv_bytes_per_token(model) == 3 * 2 * 2 * 16 * 2
    assert model.embedding_parameters == (512 + 8) * 96 + 96 * 2 * 2 * 16
    assert [linear.name for linear in cross.projections] == ["q", "o"]


def test_deepseek_v4_flash_cache():
    """21 layers keep a key of 512 and an index key of 128 once in 4 tokens, 20 a key of 512 once in 128 tokens, and
    all 43 a window of 128 keys of 512, which are the values too."""
    model = read(V4_FLASH)

    assert count.kv_bytes_per_token(model) == 21 * (512 + 128) * 2 / 4 + 20 * 512 * 2 / 128 == 6880
    assert count.window_kv_bytes_per_token(model) == 43 * 512 * 2
    assert count.windows(model) == (128,)


def test_deepseek_v4_flash_layers():
    """The kinds of layers, the grouped output projection and the mixing of four streams."""
    model = read(V4_FLASH)
    found = {layer.kind: (layer.count, softmax(layer).reach, softmax(layer).indexer) for layer in model.layers}
    sparse = next(layer for layer in model.layers if layer.kind.startswith("compressed"))
    out = next(linear for linear in sparse.projections if linear.name == "o_a")
    streams = next(linear for linear in sparse.mlp if linear.name == "hyper_mlp")

    assert found == {
        "sliding attention + MoE": (2, Reach(window=128), None),
        "compressed sparse attention + MoE": (
            21, Reach(window=128, stride=4, top_k=512), Indexer(heads=64, head_dim=128, key_dim=128),
        ),
        "heavily compressed attention + MoE": (20, Reach(window=128, stride=128), None),
    }  # fmt: skip
    # 64 heads of 512 in 8 groups, each to 1024: 32768 x 8192 / 8 weights
    assert count.linear_parameters(out) == 64 * 512 * 1024
    assert (streams.inputs, streams.outputs) == (4 * 4096, 4 + 4 + 4 * 4)


def test_deepseek_v4_ratios_must_say_every_layer():
    with pytest.raises(BadConfig, match="compress"):
        read({**V4_FLASH, "compress_ratios": [0, 4, 128]})


def test_minimax_m3_by_hand():
    """Written out, since no reference implementation reads this file: 426 billion parameters, 26 of them active."""
    hidden, heads, kv, size = 6144, 64, 4, 128
    attention = hidden * (heads + 2 * kv) * size + heads * size * hidden + 2 * size  # and norms of a query and key head
    index = hidden * 4 * 128 + hidden * 128 + 2 * 128  # queries, one key, their norms
    expert = 3 * hidden * 3072
    routed = 57 * 128 * expert
    others = (
        2 * 200064 * hidden + hidden  # table, head, last norm
        + 60 * (attention + 2 * hidden)
        + 57 * (index + hidden * 128 + expert)  # router and shared expert
        + 3 * 3 * hidden * 12288
    )  # fmt: skip
    model = read(M3)

    assert count.parameters(model) == routed + others == 426_174_565_632
    assert count.active_parameters(model) == routed * 4 // 128 + others
    # K and V of 4 heads everywhere, one index key in the sparse layers, two bytes each
    assert count.kv_bytes_per_token(model) == (60 * 2 * 4 * 128 + 57 * 128) * 2


def test_minimax_m3_attends_sixteen_blocks():
    """The best 16 blocks of 128 keys, the query's own among them."""
    sparse = next(layer for layer in read(M3).layers if layer.kind.startswith("block"))

    assert softmax(sparse).reach == Reach(top_k=16 * 128)
    assert softmax(sparse).indexer == Indexer(heads=4, head_dim=128, key_dim=128)


def test_step_lists_may_go_on_for_draft_layers():
    """Three multi-token-prediction layers at the end of layer_types are not part of the stack."""
    kinds = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    config = {
        "model_type": "step3p5", "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 4, "vocab_size": 512,
        "num_attention_heads": 8, "num_attention_groups": 2, "head_dim": 20, "sliding_window": 32, "moe_num_experts": 8,
        "moe_top_k": 2, "moe_intermediate_size": 40, "share_expert_dim": 56, "moe_layers_enum": "2,3",
        "attention_other_setting": {"num_attention_heads": 12}, "num_nextn_predict_layers": 3,
    }  # fmt: skip
    model = read({**config, "layer_types": kinds + ["full_attention"] * 3})

    assert model.layers == read({**config, "layer_types": kinds, "num_nextn_predict_layers": 0}).layers
    assert {softmax(layer).heads for layer in model.layers if softmax(layer).reach.window} == {12}
    with pytest.raises(BadConfig, match="layer_types"):
        read({**config, "layer_types": [*kinds, "full_attention"]})
    with pytest.raises(BadConfig, match="moe_layers_enum"):
        read({**config, "layer_types": kinds, "num_nextn_predict_layers": 0, "moe_layers_enum": "two"})

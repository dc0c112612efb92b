"""Tensor lists of published files, with what their loaders' logs say of them.

A list is what the log's counts by type and the mixing rules of llama.cpp (llama-quant.cpp) come to: each test holds the
counts and the size in the log against the list before it reads anything.
"""

from __future__ import annotations

from unit.catalog.files.writing import Listed


def more_bits(layer: int, layers: int) -> bool:
    """llama.cpp's use_more_bits: an eighth at each end, every third between."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


LLAMA_KEYS: dict[str, object] = {
    "general.architecture": "llama", "general.type": "model", "general.file_type": 15,
    "llama.block_count": 32, "llama.context_length": 131072, "llama.embedding_length": 4096,
    "llama.feed_forward_length": 14336, "llama.attention.head_count": 32, "llama.attention.head_count_kv": 8,
    "llama.rope.freq_base": 500000.0, "llama.vocab_size": 128256, "llama.rope.dimension_count": 128,
    "tokenizer.ggml.tokens": ["a"] * 128256, "tokenizer.ggml.merges": ["b c"] * 280147,
}  # fmt: skip


def llama_8b() -> Listed:
    """Meta-Llama-3.1-8B-Instruct-Q4_K_M."""
    tensors: Listed = [
        ("token_embd.weight", (4096, 128256), "Q4_K"),
        ("rope_freqs.weight", (64,), "F32"),
        ("output_norm.weight", (4096,), "F32"),
        ("output.weight", (4096, 128256), "Q6_K"),
    ]
    for number in range(32):
        wide = "Q6_K" if more_bits(number, 32) else "Q4_K"
        own = f"blk.{number}."
        tensors += [
            (own + "attn_norm.weight", (4096,), "F32"), (own + "ffn_norm.weight", (4096,), "F32"),
            (own + "attn_q.weight", (4096, 4096), "Q4_K"), (own + "attn_k.weight", (4096, 1024), "Q4_K"),
            (own + "attn_v.weight", (4096, 1024), wide), (own + "attn_output.weight", (4096, 4096), "Q4_K"),
            (own + "ffn_gate.weight", (4096, 14336), "Q4_K"), (own + "ffn_up.weight", (4096, 14336), "Q4_K"),
            (own + "ffn_down.weight", (14336, 4096), wide),
        ]  # fmt: skip
    return tensors


QWEN3_30B_KEYS: dict[str, object] = {
    "general.architecture": "qwen3moe", "qwen3moe.block_count": 48, "qwen3moe.context_length": 40960,
    "qwen3moe.embedding_length": 2048, "qwen3moe.feed_forward_length": 6144, "qwen3moe.attention.head_count": 32,
    "qwen3moe.attention.head_count_kv": 4, "qwen3moe.attention.key_length": 128,
    "qwen3moe.attention.value_length": 128, "qwen3moe.expert_count": 128, "qwen3moe.expert_used_count": 8,
    "qwen3moe.expert_feed_forward_length": 768, "general.file_type": 15,
}  # fmt: skip


def qwen3_30b() -> Listed:
    """Qwen3-30B-A3B-Q4_K_M."""
    tensors: Listed = [
        ("token_embd.weight", (2048, 151936), "Q4_K"), ("output_norm.weight", (2048,), "F32"),
        ("output.weight", (2048, 151936), "Q6_K"),
    ]  # fmt: skip
    for number in range(48):
        wide = "Q6_K" if more_bits(number, 48) else "Q4_K"
        own = f"blk.{number}."
        tensors += [
            (own + "attn_norm.weight", (2048,), "F32"), (own + "ffn_norm.weight", (2048,), "F32"),
            (own + "attn_q_norm.weight", (128,), "F32"), (own + "attn_k_norm.weight", (128,), "F32"),
            (own + "attn_q.weight", (2048, 4096), "Q4_K"), (own + "attn_k.weight", (2048, 512), "Q4_K"),
            (own + "attn_v.weight", (2048, 512), wide), (own + "attn_output.weight", (4096, 2048), "Q4_K"),
            (own + "ffn_gate_inp.weight", (2048, 128), "F32"), (own + "ffn_gate_exps.weight", (2048, 768, 128), "Q4_K"),
            (own + "ffn_up_exps.weight", (2048, 768, 128), "Q4_K"),
            (own + "ffn_down_exps.weight", (768, 2048, 128), wide),
        ]  # fmt: skip
    return tensors


GPT_OSS_KEYS: dict[str, object] = {
    "general.architecture": "gpt-oss", "gpt-oss.block_count": 36, "gpt-oss.context_length": 131072,
    "gpt-oss.embedding_length": 2880, "gpt-oss.feed_forward_length": 2880, "gpt-oss.attention.head_count": 64,
    "gpt-oss.attention.head_count_kv": 8, "gpt-oss.attention.key_length": 64, "gpt-oss.attention.value_length": 64,
    "gpt-oss.attention.sliding_window": 128, "gpt-oss.expert_count": 128, "gpt-oss.expert_used_count": 4,
    "gpt-oss.expert_feed_forward_length": 2880, "general.file_type": 38,
}  # fmt: skip


def gpt_oss_120b() -> Listed:
    """gpt-oss-120b-mxfp4 of ggml-org: experts as they were trained, the rest in Q8_0."""
    tensors: Listed = [
        ("token_embd.weight", (2880, 201088), "Q8_0"), ("output_norm.weight", (2880,), "F32"),
        ("output.weight", (2880, 201088), "Q8_0"),
    ]  # fmt: skip
    for number in range(36):
        own = f"blk.{number}."
        tensors += [
            (own + "attn_norm.weight", (2880,), "F32"), (own + "post_attention_norm.weight", (2880,), "F32"),
            (own + "attn_sinks.weight", (64,), "F32"),
            (own + "attn_q.weight", (2880, 4096), "Q8_0"), (own + "attn_q.bias", (4096,), "F32"),
            (own + "attn_k.weight", (2880, 512), "Q8_0"), (own + "attn_k.bias", (512,), "F32"),
            (own + "attn_v.weight", (2880, 512), "Q8_0"), (own + "attn_v.bias", (512,), "F32"),
            (own + "attn_output.weight", (4096, 2880), "Q8_0"), (own + "attn_output.bias", (2880,), "F32"),
            (own + "ffn_gate_inp.weight", (2880, 128), "F32"), (own + "ffn_gate_inp.bias", (128,), "F32"),
            (own + "ffn_gate_exps.weight", (2880, 2880, 128), "MXFP4"),
            (own + "ffn_gate_exps.bias", (2880, 128), "F32"),
            (own + "ffn_up_exps.weight", (2880, 2880, 128), "MXFP4"),
            (own + "ffn_up_exps.bias", (2880, 128), "F32"),
            (own + "ffn_down_exps.weight", (2880, 2880, 128), "MXFP4"),
            (own + "ffn_down_exps.bias", (2880, 128), "F32"),
        ]  # fmt: skip
    return tensors


DEEPSEEK_KEYS: dict[str, object] = {
    "general.architecture": "deepseek2", "deepseek2.block_count": 61, "deepseek2.context_length": 163840,
    "deepseek2.embedding_length": 7168, "deepseek2.feed_forward_length": 18432,
    "deepseek2.attention.head_count": 128, "deepseek2.attention.head_count_kv": 128,
    "deepseek2.expert_used_count": 8, "deepseek2.leading_dense_block_count": 3, "deepseek2.vocab_size": 129280,
    "deepseek2.attention.q_lora_rank": 1536, "deepseek2.attention.kv_lora_rank": 512,
    "deepseek2.attention.key_length": 192, "deepseek2.attention.value_length": 128,
    "deepseek2.expert_feed_forward_length": 2048, "deepseek2.expert_count": 256, "deepseek2.expert_shared_count": 1,
    "deepseek2.rope.dimension_count": 64, "deepseek2.expert_gating_func": 2, "general.file_type": 15,
}  # fmt: skip
# conversions since April 2025 name the latent's lengths, and those of a head apart
DEEPSEEK_NEW_KEYS: dict[str, object] = {
    **DEEPSEEK_KEYS, "deepseek2.attention.head_count_kv": 1, "deepseek2.attention.key_length": 576,
    "deepseek2.attention.value_length": 512, "deepseek2.attention.key_length_mla": 192,
    "deepseek2.attention.value_length_mla": 128,
}  # fmt: skip


def deepseek_r1(*, absorbed: bool = False) -> Listed:
    """DeepSeek-R1-Q4_K_M; absorbed: the latent's expansion as two matrices a head, as newer conversions have it."""
    tensors: Listed = [
        ("token_embd.weight", (7168, 129280), "Q4_K"), ("output_norm.weight", (7168,), "F32"),
        ("output.weight", (7168, 129280), "Q6_K"),
    ]  # fmt: skip
    for number in range(61):
        wide = "Q6_K" if more_bits(number, 61) else "Q4_K"
        own = f"blk.{number}."
        tensors += [
            (own + "attn_norm.weight", (7168,), "F32"), (own + "ffn_norm.weight", (7168,), "F32"),
            (own + "attn_q_a_norm.weight", (1536,), "F32"), (own + "attn_kv_a_norm.weight", (512,), "F32"),
            (own + "attn_q_a.weight", (7168, 1536), "Q4_K"), (own + "attn_q_b.weight", (1536, 24576), "Q4_K"),
            (own + "attn_kv_a_mqa.weight", (7168, 576), "Q4_K"), (own + "attn_output.weight", (16384, 7168), "Q4_K"),
        ]  # fmt: skip
        if absorbed:
            tensors += [
                (own + "attn_k_b.weight", (128, 512, 128), "Q8_0"), (own + "attn_v_b.weight", (512, 128, 128), "Q4_K"),
            ]  # fmt: skip
        else:
            tensors += [(own + "attn_kv_b.weight", (512, 32768), "Q4_K")]
        if number < 3:
            tensors += [
                (own + "ffn_gate.weight", (7168, 18432), "Q4_K"), (own + "ffn_up.weight", (7168, 18432), "Q4_K"),
                (own + "ffn_down.weight", (18432, 7168), wide),
            ]  # fmt: skip
            continue
        tensors += [
            (own + "ffn_gate_inp.weight", (7168, 256), "F32"), (own + "exp_probs_b.bias", (256,), "F32"),
            (own + "ffn_gate_exps.weight", (7168, 2048, 256), "Q4_K"),
            (own + "ffn_up_exps.weight", (7168, 2048, 256), "Q4_K"),
            (own + "ffn_down_exps.weight", (2048, 7168, 256), wide),
            (own + "ffn_gate_shexp.weight", (7168, 2048), "Q4_K"), (own + "ffn_up_shexp.weight", (7168, 2048), "Q4_K"),
            (own + "ffn_down_shexp.weight", (2048, 7168), wide),
        ]  # fmt: skip
    return tensors


QWEN3_NEXT_KEYS: dict[str, object] = {
    "general.architecture": "qwen3next", "qwen3next.block_count": 48, "qwen3next.context_length": 262144,
    "qwen3next.embedding_length": 2048, "qwen3next.feed_forward_length": 5120, "qwen3next.attention.head_count": 16,
    "qwen3next.attention.head_count_kv": 2, "qwen3next.attention.key_length": 256,
    "qwen3next.attention.value_length": 256, "qwen3next.expert_count": 512, "qwen3next.expert_used_count": 10,
    "qwen3next.expert_feed_forward_length": 512, "qwen3next.expert_shared_feed_forward_length": 512,
    "qwen3next.ssm.conv_kernel": 4, "qwen3next.ssm.state_size": 128, "qwen3next.ssm.group_count": 16,
    "qwen3next.ssm.time_step_rank": 32, "qwen3next.ssm.inner_size": 4096, "general.file_type": 15,
}  # fmt: skip


def qwen3_next(*, parted: bool = False) -> Listed:
    """Qwen3-Next-80B-A3B-Q4_K_M; parted: queries, keys and values apart from the gate, as newer conversions have it."""
    tensors: Listed = [
        ("token_embd.weight", (2048, 151936), "Q4_K"), ("output_norm.weight", (2048,), "F32"),
        ("output.weight", (2048, 151936), "Q6_K"),
    ]  # fmt: skip
    for number in range(48):
        wide = "Q6_K" if more_bits(number, 48) else "Q4_K"
        own = f"blk.{number}."
        tensors += [
            (own + "attn_norm.weight", (2048,), "F32"), (own + "post_attention_norm.weight", (2048,), "F32"),
            (own + "ffn_gate_inp.weight", (2048, 512), "F32"), (own + "ffn_gate_inp_shexp.weight", (2048,), "F16"),
            (own + "ffn_gate_exps.weight", (2048, 512, 512), "Q4_K"),
            (own + "ffn_up_exps.weight", (2048, 512, 512), "Q4_K"),
            (own + "ffn_down_exps.weight", (512, 2048, 512), wide),
            (own + "ffn_gate_shexp.weight", (2048, 512), "Q4_K"), (own + "ffn_up_shexp.weight", (2048, 512), "Q4_K"),
            (own + "ffn_down_shexp.weight", (512, 2048), wide),
        ]  # fmt: skip
        if number % 4 == 3:
            value = "Q6_K" if more_bits(number // 4, 12) else "Q4_K"
            tensors += [
                (own + "attn_q.weight", (2048, 8192), "Q4_K"), (own + "attn_k.weight", (2048, 512), "Q4_K"),
                (own + "attn_v.weight", (2048, 512), value), (own + "attn_output.weight", (4096, 2048), "Q4_K"),
                (own + "attn_q_norm.weight", (256,), "F32"), (own + "attn_k_norm.weight", (256,), "F32"),
            ]  # fmt: skip
            continue
        tensors += [
            (own + "ssm_a", (32,), "F32"), (own + "ssm_conv1d.weight", (4, 8192), "F32"),
            (own + "ssm_dt.bias", (32,), "F32"), (own + "ssm_norm.weight", (128,), "F32"),
            (own + "ssm_ba.weight", (2048, 64), "Q4_K"), (own + "ssm_out.weight", (4096, 2048), "Q4_K"),
        ]  # fmt: skip
        if parted:
            tensors += [
                (own + "attn_qkv.weight", (2048, 8192), "Q4_K"), (own + "attn_gate.weight", (2048, 4096), "Q4_K"),
            ]  # fmt: skip
        else:
            tensors += [(own + "ssm_in.weight", (2048, 12288), "Q4_K")]
    return tensors

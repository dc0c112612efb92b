"""GGUF metadata in the words of a config.json, so that one reader makes the plan of both: what all say alike.

Sources: the key names of gguf-py's constants.py and what llama.cpp reads of them by architecture (read 2026-11). What
no key says (which layers attend, whether there is a bias, whether the output is tied) the tensor list says.
"""

from __future__ import annotations

from typing import Any

from rooflight.catalog.files.tensors import Header
from rooflight.errors import BadConfig

MOST_LAYERS = 10_000
FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"


class Keys:
    """The metadata of a model and what its tensor list says beside it."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.architecture = self._text("general.architecture")
        self.shapes = {tensor.name: tensor.shape for tensor in header.tensors}
        # multi-token-prediction layers stand behind the others and are counted by block_count
        drafts = self.number("nextn_predict_layers") or 0
        self.blocks = self.number("block_count") or 0
        self.layers = max(self.blocks - drafts, 0) if 0 < self.blocks <= MOST_LAYERS else self.blocks
        self.drafts = drafts

    def _text(self, key: str) -> str:
        value = self.header.keys.get(key)
        if isinstance(value, str) and value:
            return value
        raise BadConfig(f"{key} is missing", where=f"{self.header.origin}: {key}", got=value, want="a name")

    def raw(self, key: str) -> Any:
        """The value under `ARCHITECTURE.key`."""
        return self.header.keys.get(f"{self.architecture}.{key}")

    def number(self, *keys: str) -> int | None:
        """A whole number; of one a layer the largest. None where no key gives one. Raises BadConfig."""
        for key in keys:
            value = self.raw(key)
            if isinstance(value, list) and value:
                value = max(value)
            if value is None:
                continue
            if type(value) is not int:
                where = f"{self.header.origin}: {self.architecture}.{key}"
                raise BadConfig(f"{key} is no whole number", where=where, got=value, want="a whole number")
            return value
        return None

    def each(self, key: str) -> list[int] | None:
        """One number a layer, None where the key gives one for all."""
        value = self.raw(key)
        if not isinstance(value, list) or len(value) < self.layers:
            return None
        if not all(isinstance(one, int) for one in value):
            where = f"{self.header.origin}: {self.architecture}.{key}"
            raise BadConfig(f"{key} is no list of whole numbers", where=where, got=str(value[:6]), want="whole numbers")
        return [int(one) for one in value[: self.layers]]

    def needed(self, key: str) -> int:
        """A whole number that every model has. Raises BadConfig."""
        found = self.number(key)
        if found is None or found < 1:
            where = f"{self.header.origin}: {self.architecture}.{key}"
            raise BadConfig(f"{key} is missing", where=where, got=found, want="a whole number of at least 1")
        return found

    def has(self, stem: str, layer: int | None = None) -> bool:
        """Whether a layer (any layer, where none is named) has a tensor of that name."""
        if layer is not None:
            return f"blk.{layer}.{stem}" in self.shapes
        return any(f"blk.{number}.{stem}" in self.shapes for number in range(min(self.blocks, MOST_LAYERS)))

    def named(self, mark: str, there: str, other: str) -> list[str]:
        """A kind a layer: `there` where it has the tensor."""
        return [there if self.has(mark, number) else other for number in range(min(self.layers, MOST_LAYERS))]


def common(keys: Keys) -> dict[str, Any]:
    """What nearly every architecture says in the same words."""
    table = keys.shapes.get("token_embd.weight")
    heads = keys.number("attention.head_count")
    kv_heads = keys.number("attention.head_count_kv")
    bias = keys.has("attn_q.bias") or keys.has("attn_qkv.bias")
    experts = keys.number("expert_count") or None
    shared = keys.number("expert_shared_count")
    return {
        "hidden_size": keys.needed("embedding_length"),
        "num_hidden_layers": keys.layers or keys.needed("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads or heads,
        "head_dim": None if keys.raw("attention.kv_lora_rank") else keys.number("attention.key_length"),
        "intermediate_size": keys.number("feed_forward_length") or None,
        "vocab_size": table[1] if table is not None and len(table) > 1 else keys.number("vocab_size"),
        "max_position_embeddings": keys.number("context_length"),
        "tie_word_embeddings": "output.weight" not in keys.shapes,
        "torch_dtype": "bfloat16",
        "attention_bias": bias,
        "sliding_window": keys.number("attention.sliding_window") or None,
        "num_experts": experts,
        "num_experts_per_tok": keys.number("expert_used_count") if experts else None,
        "moe_intermediate_size": keys.number("expert_feed_forward_length") or None,
        "n_shared_experts": shared,
        "num_shared_experts": shared,
        "first_k_dense_replace": keys.number("leading_dense_block_count"),
        "num_nextn_predict_layers": keys.drafts or None,
        **_latent(keys),
        **windows(keys),
    }


def windows(keys: Keys) -> dict[str, Any]:
    """sliding_window_pattern is a repeat, or one true or false a layer."""
    pattern = keys.raw("attention.sliding_window_pattern")
    if isinstance(pattern, list) and len(pattern) >= keys.layers:
        return {"layer_types": [SLIDING if local else FULL for local in pattern[: keys.layers]]}
    return {"sliding_window_pattern": pattern if type(pattern) is int and pattern > 1 else None}


def _latent(keys: Keys) -> dict[str, Any]:
    """Latent attention: key_length is that of a head, or since 2025 of the latent, with key_length_mla beside it."""
    rank = keys.number("attention.kv_lora_rank")
    if not rank:
        return {}
    rope = keys.number("rope.dimension_count") or 0
    key = keys.number("attention.key_length_mla", "attention.key_length") or 0
    return {
        "kv_lora_rank": rank,
        "q_lora_rank": keys.number("attention.q_lora_rank") or None,
        "qk_rope_head_dim": rope,
        "qk_nope_head_dim": key - rope,
        "v_head_dim": keys.number("attention.value_length_mla", "attention.value_length"),
        # the file says one K/V head since its cache is one latent
        "num_key_value_heads": keys.number("attention.head_count"),
    }

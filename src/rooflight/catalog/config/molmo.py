"""Molmo, the first: a decoder of OLMo's or Qwen2's shape under keys of its own, behind an image encoder.

Sources: the modelling file of vLLM (molmo.py) and of mlx-vlm (models/molmo), shapes and key defaults only.
"""

from __future__ import annotations

import msgspec

from rooflight.catalog.config import towers
from rooflight.catalog.config.decoder import Decoder, read
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import Text, counts_towers, reads
from rooflight.values.model import Tower

_KEYS = {
    "hidden_size": "hidden_size d_model",
    "num_hidden_layers": "num_hidden_layers n_layers",
    "num_attention_heads": "num_attention_heads n_heads",
    "num_key_value_heads": "num_key_value_heads n_kv_heads",
    "tie_word_embeddings": "tie_word_embeddings weight_tying",
    "max_position_embeddings": "max_position_embeddings max_sequence_length",
}
# Rows of special tokens that stand behind the embedding, and in no head.
_MORE_ROWS = 128


def _spelled(cfg: Config) -> Config:
    """Gate and up are one matrix, whose width the file names."""
    width: int = cfg.integer("mlp_hidden_size", "intermediate_size")
    return cfg.renamed(_KEYS, fixed={"intermediate_size": width // 2})


_MOLMO = Decoder(
    spelled=_spelled,
    bias=("qkv_bias", True),
    o_bias=False,
    qk_norm="heads",
    qk_norm_if=("attention_layer_norm", False),
)


@reads("molmo")
def molmo(cfg: Config) -> Text:
    """Molmo-7B and Molmo-72B: a second table of special tokens behind the embedding."""
    made = read(_MOLMO, cfg)
    rows = cfg.integer("embedding_size", default=made.vocab, said=False)
    rows += cfg.integer("additional_vocab_size", default=_MORE_ROWS, at_least=0, said=False)
    cfg.aside("mlp_ratio")
    return msgspec.structs.replace(made, embedding_parameters=made.hidden * rows)


@counts_towers("molmo")
def molmo_tower(outer: Config) -> tuple[Tower, ...]:
    """Molmo's encoder and its pooling: named but not counted."""
    return towers.not_counted(outer, "image encoder, pooling and projector")

"""The keys of GPT-2 and its descendants, of which several lines took over one or the other."""

from __future__ import annotations

from rooflight.catalog.config.fields import Config

GPT_KEYS = {
    "hidden_size": "n_embd d_model hidden_size n_embed",
    "num_hidden_layers": "n_layer num_layers num_hidden_layers n_layers",
    "num_attention_heads": "n_head num_heads num_attention_heads n_heads attention_heads",
    "intermediate_size": "n_inner ffn_dim intermediate_size ffn_hidden_size",
    "max_position_embeddings": "n_positions max_position_embeddings max_seq_len seq_length",
    "num_key_value_heads": "n_head_kv num_kv_heads num_key_value_heads",
}


def gpt(cfg: Config, *, ratio: int = 4) -> Config:
    """Multi-head attention and a feed-forward `ratio` hidden sizes wide, where the file is silent. Raises BadConfig."""
    named = cfg.renamed(GPT_KEYS)
    width, heads = ratio * named.hidden, named.integer("num_attention_heads")
    return named.renamed(intermediate_size=width, num_key_value_heads=heads)

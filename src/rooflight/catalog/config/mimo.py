"""MiMo: the first, and MiMo-V2 with window layers of their own heads."""

from __future__ import annotations

from rooflight.catalog.config.decoder import Decoder, Routed, described
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import Windows, label_of
from rooflight.catalog.config.vocabulary import Half, Heads, softmax
from rooflight.values.model import Reach


def _mixers(cfg: Config) -> list[Half]:
    """MiMo-V2: window layers with K/V heads and sinks of their own, global layers; values narrower than keys."""
    count = cfg.layers
    types = cfg.items("layer_types", of="name", length=count)
    marks = cfg.items("hybrid_layer_pattern", of="mark", length=count) if types is None else None
    if types is not None:
        near = [name == "sliding_attention" for name in types]
    else:
        near = [bool(mark) for mark in marks or [n > 0 and (n + 1) % 6 for n in range(count)]]
    window = cfg.integer("sliding_window", "sliding_window_size", default=128)
    made = {local: _mixer(cfg, window if local else None) for local in dict.fromkeys(near)}
    return [made[local] for local in near]


def _mixer(cfg: Config, window: int | None) -> Half:
    prefix, flag = ("swa_", "add_swa_attention_sink_bias") if window else ("", "add_full_attention_sink_bias")
    heads = cfg.integer(f"{prefix}num_attention_heads", "num_attention_heads")
    full_kv = cfg.integer("num_key_value_heads", default=4)
    shape = Heads(
        heads=heads,
        # transformers' MiMo-V2-Flash gives window layers twice the K/V heads; published configs name them.
        kv_heads=cfg.integer(f"{prefix}num_key_value_heads", default=2 * full_kv if window else full_kv),
        head_dim=cfg.integer(f"{prefix}head_dim", "head_dim", default=192),
        value_dim=cfg.integer(f"{prefix}v_head_dim", "v_head_dim", default=128),
    )
    reach = Reach(window=window)
    sinks = cfg.flag(flag, default=window is not None)
    return softmax(cfg, shape, reach, kind=label_of(reach), o_bias=False, sinks=sinks)


described(
    {
        "mimo": Decoder(
            bias=("attention_bias", True), o_bias=False, windows=Windows("from", when=("use_sliding_window", False))
        ),
        "mimo_v2 mimo_v2_flash": Decoder(mixers=_mixers, experts=Routed(dense="first", dense_first=1)),
    }
)

"""What the modules of weight files are called: llama.cpp's names, and those of model repositories.

Sources: gguf-py's constants.py (TENSOR_NAMES) and the published checkpoints' own indices (read 2026-11); the leaves of
model repositories are those that quantisation plans are matched against (catalog.config.placement).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rooflight.catalog.config.placement import paths_of
from rooflight.catalog.files.place import HEAD, OTHER, TABLES, Spot
from rooflight.values.model import Layer, Linear

# Our name of a matrix -> the tensors of a block that make it, whichever a file has.
_GGUF = {
    "qkv": "attn_q attn_k attn_v attn_qkv",
    "q": "attn_q",
    "kv": "attn_k attn_v attn_kv",
    "o": "attn_output attn_out",
    "output_gate": "attn_gate",
    "q_a": "attn_q_a",
    "q_b": "attn_q_b",
    "kv_a": "attn_kv_a_mqa",
    "kv_b": "attn_kv_b attn_k_b attn_v_b",
    "index_q": "indexer.attn_q_b",
    "index_k": "indexer.attn_k",
    "index_weights": "indexer.proj",
    "gate_up": "ffn_gate ffn_up",
    "up": "ffn_up",
    "down": "ffn_down",
    "shared_gate_up": "ffn_gate_shexp ffn_up_shexp",
    "shared_up": "ffn_up_shexp",
    "shared_down": "ffn_down_shexp",
    "shared_gate": "ffn_gate_inp_shexp",
    "latent_down": "ffn_latent_down",
    "latent_up": "ffn_latent_up",
    "in_proj": "ssm_in attn_qkv attn_gate attn_q attn_k attn_v shortconv.in_proj",
    "in_proj_ba": "ssm_ba ssm_alpha ssm_beta",
    "out_proj": "ssm_out attn_output shortconv.out_proj",
    "x_proj": "ssm_x",
    "dt_proj": "ssm_dt",
    "decay_a": "ssm_f_a",
    "decay_b": "ssm_f_b",
    "gate_a": "ssm_g_a",
    "gate_b": "ssm_g_b",
    "beta": "ssm_beta",
    "per_layer_gate": "inp_gate",
    "per_layer_projection": "proj",
    "altup_router": "altup_router",
    "altup_predict": "altup_predict_coef",
    "altup_correct": "altup_correct_coef",
    "laurel_left": "laurel_l",
    "laurel_right": "laurel_r",
    "attention_linear": "attn_output",
    "router": "ffn_gate_inp",
    # outside of the layers
    "per_layer_model_projection": "per_layer_model_proj",
    "altup_in": "altup_proj",
    "altup_out": "altup_unembd_proj",
    "score": "cls.output",
}
_GGUF_EXPERTS = {
    "gate_up": "ffn_gate_exps ffn_up_exps ffn_gate_up_exps",
    "up": "ffn_up_exps",
    "down": "ffn_down_exps",
}
_GGUF_OUTSIDE = {
    **dict.fromkeys(("token_embd", "position_embd", "token_types", "per_layer_token_embd"), TABLES), "output": HEAD,
}  # fmt: skip
# until April 2024 every expert was a tensor of its own
_SINGLE_EXPERT = re.compile(r"^(ffn_(?:gate|up|down))\.\d+$")
_BLOCK = re.compile(r"^blk\.(\d{1,6})\.(.+)$")


def gguf_spot(name: str) -> Spot:
    """Where a tensor of a GGUF file belongs."""
    stem = name.removesuffix(".weight").removesuffix(".bias")
    block = _BLOCK.match(stem)
    if block is not None:
        module = block[2]
        if module.startswith("nextn."):
            return Spot(module, elsewhere="draft")
        single = _SINGLE_EXPERT.match(module)
        return Spot(f"{single[1]}_exps" if single else module, int(block[1]))
    if stem.startswith(("v.", "mm.", "a.", "resampler.")):
        return Spot(stem, elsewhere="tower")
    return Spot(_GGUF_OUTSIDE.get(stem, stem))


def gguf_names(_layer: Layer, linear: Linear, role: str) -> Iterable[str]:
    """What a matrix of the plan is called in a GGUF file."""
    table = _GGUF_EXPERTS if role == "experts" else _GGUF
    return table.get(linear.name, linear.name).split()


# What stands behind the name of a module: one part of its weights or another.
_PART = re.compile(
    r"(?:\.(?:weight|bias|qweight|qzeros|scales?|biases|g_idx|perm|w_q|meta|zeros?|trellis|suh|svh|mcg|mul1|SCB|W_q"
    r"|q_(?:weight|scale|scale_max|groups|group_map|invperm|perm)"
    r"|nbits|group_size|axis|channel_wise|packing|unpack_view_dtype|view_as_float|quant_scale|quant_zero|optimize"
    r"|offload_meta|compute_dtype|encoded_state_dict|stores_quant_config|round_zero|shape"
    r"|(?:weight|input|output|k|v|q)_(?:scale|scale_inv|scale_2|zero_point|packed|shape|g_idx|global_scale|format)"
    r"|(?:input|weight)_global_scale)(?:[._].*)?|_(?:blocks|scales|bias))$"
)
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks?)\.(\d{1,6})\.(.+)$")
# nearly all tensors: no more need be asked of them
_PLAIN_LAYER = re.compile(r"^(?:model\.)?layers\.(\d{1,6})\.(.+)$")
_EXPERT = re.compile(r"\bexperts\.\d+\b")
_TABLE_LEAVES = (
    "embed_tokens", "wte", "wpe", "word_embeddings", "tok_embeddings", "embeddings", "embedding", "embed_in",
    "position_embeddings", "embed_tokens_per_layer", "embed_positions",
)  # fmt: skip
_HEAD_LEAVES = ("lm_head", "embed_out", "output_layer", "head", "output", "unembedding")
_TOWER_MARK = re.compile(
    r"(?:^|\.)(?:visual|vision\w*|audio\w*|multi_modal_projector|mm_projector|embed_vision|embed_audio|aligner|projector"
    r"|sam_model|mlp1|image_newline|view_seperator|gen_\w+|sound\w*|patch_embed\w*)(?=\.|$)"
)
# encoders without "vision" or "audio" in their names
_ENCODER_MARK = re.compile(r"(?:^|\.)(vpm|apm|resampler|speech_(?:encoder|tower|projector)\w*|connector)(?=\.|$)")
# other networks in the same file: they speak, judge or draft, and no step of the text model runs them
_OTHER_MARK = re.compile(
    r"(?:^|\.)(talker|token2wav|code2wav|codec_\w+|vocoder|tts|v_head|value_head|draft_model|medusa\w*)(?=\.|$)"
)
_DRAFT_MARK = re.compile(r"(?:^|\.)(?:mtp\w*|eagle\w*|nextn\w*)(?=\.|$)")


def module_spot(name: str) -> Spot:
    """Where a tensor of a model repository belongs."""
    module = name[:-7] if name.endswith(".weight") else _PART.sub("", name)
    plain = _PLAIN_LAYER.match(module)
    if plain is not None:
        return Spot(_EXPERT.sub("experts", plain[2]), int(plain[1]))
    other = _OTHER_MARK.search(module)
    if other is not None:
        return Spot(module, elsewhere=f"{OTHER}{other[1]}")
    if _TOWER_MARK.search(module):
        return Spot(module, elsewhere="tower")
    encoder = _ENCODER_MARK.search(module)
    if encoder is not None:
        return Spot(module, elsewhere=f"tower:{encoder[1]}")
    if _DRAFT_MARK.search(module):
        return Spot(module, elsewhere="draft")
    found = _LAYER.search(module)
    if found is not None:
        return Spot(_EXPERT.sub("experts", found[2]), int(found[1]))
    leaf = module.rpartition(".")[2]
    if leaf in _TABLE_LEAVES:
        return Spot(f"{TABLES}:{module}")
    return Spot(HEAD if leaf in _HEAD_LEAVES else leaf)


def module_names(layer: Layer, linear: Linear, role: str) -> Iterator[str]:
    """What a matrix of the plan may be called in a model repository, its layer left out."""
    if role == "outside":
        yield linear.name
        return
    for path in paths_of(layer, linear, role):
        yield path
        if role == "experts":
            yield _EXPERT.sub("experts", path)

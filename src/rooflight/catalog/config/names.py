"""Which family a config means: model_type, other spellings of it, and the architecture name as a last resort."""

from __future__ import annotations

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import FAMILIES
from rooflight.errors import BadConfig, UnknownName

# Spellings of one model_type, lower case.
ALIASES = {
    "kimi_k2": "deepseek_v3",
}

# Architecture names (lower case) for configs without a model_type, or with one that names a code base.
ARCHITECTURES = {
    "llamaforcausallm": "llama",
    "mistralforcausallm": "mistral",
    "deepseekv3forcausallm": "deepseek_v3",
}

_ENCODERS = ("bert", "roberta", "xlm-roberta", "distilbert", "albert", "electra", "deberta", "deberta-v2", "modernbert",
             "nomic_bert", "mpnet", "camembert", "xlm", "gte", "new", "ernie", "eurobert", "clip", "siglip", "vit", "wav2vec2",
             "hubert", "dinov2")  # fmt: skip
_ENCODER_DECODERS = ("t5", "mt5", "umt5", "bart", "mbart", "pegasus", "whisper", "m2m_100", "marian", "blenderbot", "led",
                     "encoder-decoder", "t5gemma", "t5gemma2", "switch_transformers", "seamless_m4t", "moonshine")  # fmt: skip
_OTHER_RECURRENT = ("rwkv", "rwkv5", "rwkv6", "rwkv7", "rwkv_v5", "xlstm")


def canonical_type(outer: Config, cfg: Config, architecture: str) -> str:
    """The model_type that a reader is registered for, or the config's own where none is. Raises BadConfig."""
    for config in (cfg, outer):
        name = config.text("model_type", default="").strip().lower()
        name = ALIASES.get(name, name)
        if name in FAMILIES:
            return name
    by_architecture = ARCHITECTURES.get(architecture.lower())
    if by_architecture is not None:
        outer.assume(f"model_type is {outer.raw('model_type')!r}; read as {by_architecture}, after the architecture {architecture}")
        return by_architecture
    own = cfg.text("model_type", default="") or outer.text("model_type", default="")
    if not own and not architecture:
        raise BadConfig(
            "the config names neither model_type nor architectures",
            where=outer.at("model_type"),
            got="keys " + ", ".join(list(outer.data)[:6]),
            want="model_type, as in every config.json of a model repository",
        )
    return own.lower() or architecture


def refuse_other_shapes(outer: Config, architecture: str) -> None:
    """Encoders, encoder-decoders and RWKV are not read in this version. Raises BadConfig."""
    name = outer.text("model_type", default="").strip().lower()
    what = None
    if name in _ENCODERS:
        what = "an encoder: it generates no tokens, so it has no decode phase"
    elif name in _ENCODER_DECODERS or outer.raw("is_encoder_decoder") is True:
        what = "an encoder-decoder, which this version does not read"
    elif name in _OTHER_RECURRENT:
        what = "an RNN-like architecture that this version does not read"
    if what is None:
        return
    raise BadConfig(
        f"{name or architecture} is {what}",
        where=outer.at("model_type"),
        got=f"model_type {name!r}, architecture {architecture or 'not named'}",
        want="a decoder-only language model",
    )


def unknown_type(outer: Config, model_type: str, architecture: str) -> UnknownName:
    """The error for a model_type nobody reads, with the near ones."""
    import difflib

    near = difflib.get_close_matches(model_type.lower(), [*FAMILIES, *ALIASES], n=4, cutoff=0.6)
    return UnknownName(
        f"the model type {model_type!r} is not known to rooflight",
        where=outer.at("model_type"),
        got=f"model_type {model_type!r}, architecture {architecture or 'not named'}",
        want="one of the model types listed in the documentation under \"Models\"",
        try_this=("near: " + ", ".join(near)) if near else "set model_type to a type of the same shape, if there is one",
    )

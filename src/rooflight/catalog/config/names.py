"""Which family a config means: model_type, other spellings of it, and the architecture name as a last resort."""

from __future__ import annotations

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import FAMILIES
from rooflight.errors import BadConfig, UnknownName


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Spellings of one model_type, lower case.
ALIASES = {
    "refinedweb": "falcon",
    "refinedwebmodel": "falcon",
    "mixformer-sequential": "phi-msft",
    "gpt_neox_reward_model": "gpt_neox",
    "kimi_k2": "deepseek_v3",
    "deepseekv3": "deepseek_v3",
    "deepseek_v3_1": "deepseek_v3",
    "gemma3": "gemma3_text",
    "phi3_v": "phi3",
    "phi4mm": "phi3",
    "phi4_multimodal": "phi3",
    "stablelm_epoch": "stablelm",
    "exaone3": "exaone",
    "baichuan2": "baichuan",
    "qwen2_5_omni_text": "qwen2",
    "qwen3_omni_moe_text": "qwen3_moe",
    "apertus1p5_text": "apertus",
    "qwen3_embedding": "qwen3",
}
_ARCHITECTURE_ENDINGS = (
    "forcausallm", "forconditionalgeneration", "lmheadmodel", "forsequenceclassification", "fortokenclassification",
    "rewardmodel", "model",
)  # fmt: skip
_ARCHITECTURES = {
    "rw": "falcon",
    "mixformersequential": "phi-msft",
    "llavallama": "llava",
    "llavaqwen": "qwen2",
    "llavamistral": "mistral",
    "decilm": "nemotron-nas",
}
_ENCODERS = _words(
    "albert deberta deberta-v2 xlm gte ernie jina_bert clip clip_vision_model clip_text_model siglip siglip2"
    " siglip_vision_model siglip_text_model blip vit wav2vec2 hubert dinov2 dinov3_vit"
)
_ENCODER_DECODERS = _words("blenderbot led encoder-decoder t5gemma t5gemma2 switch_transformers seamless_m4t moonshine")
_OTHER_RECURRENT = _words("rwkv rwkv5 rwkv6 rwkv7 rwkv_v5 xlstm")


def canonical_type(outer: Config, cfg: Config) -> str:
    """The model_type that a reader is registered for, or the config's own where none is. Raises BadConfig."""
    architecture = ""
    for config in (cfg, outer) if cfg is not outer else (outer,):
        name = config.text("model_type", default="").strip().lower()
        known = ALIASES.get(name, name)
        if known in FAMILIES:
            return known
        architecture = first_architecture(config)
        found = _of_architecture(architecture)
        if found is not None:
            spelled = f"model_type {name!r} is" if name else "model_type is not given;"
            config.assume(f"{spelled} read as {found}, after the architecture {architecture}")
            return found
        if name:  # a text model nobody knows is not read as what its wrapper usually holds
            break
    own = cfg.text("model_type", default="") or outer.text("model_type", default="")
    if not own and not architecture:
        raise BadConfig(
            "the config names neither model_type nor architectures",
            where=outer.at("model_type"),
            got="keys " + (", ".join(list(outer.data)[:6]) or "none"),
            want="model_type, as in every config.json of a model repository",
        )
    return own.lower() or architecture


def first_architecture(config: Config) -> str:
    """The first entry of `architectures`, or nothing."""
    names = config.raw("architectures")
    if isinstance(names, list) and names and isinstance(names[0], str):
        return names[0]
    return names if isinstance(names, str) else ""


def _of_architecture(architecture: str) -> str | None:
    """The model_type an architecture name spells: LlamaForCausalLM, LLaMAForCausalLM -> llama."""
    stem = architecture.lower()
    for ending in _ARCHITECTURE_ENDINGS:
        if stem.endswith(ending):
            stem = stem.removesuffix(ending)
            break
    if not stem:
        return None
    plain = {name.replace("_", "").replace("-", ""): name for name in FAMILIES}
    return _ARCHITECTURES.get(stem) or plain.get(stem)


def refuse_other_shapes(outer: Config, architecture: str) -> None:
    """Some encoders and encoder-decoders, and RWKV, are not read in this version. Raises BadConfig."""
    name = outer.text("model_type", default="").strip().lower()
    what = None
    if name in _ENCODERS:
        what = "an encoder that this version does not read"
    elif name in _ENCODER_DECODERS or (outer.flag("is_encoder_decoder") and FAMILIES.get(name) != "seq2seq"):
        what = "an encoder-decoder, which this version does not read"
    elif name in _OTHER_RECURRENT:
        what = "an RNN-like architecture that this version does not read"
    if what is None:
        return
    raise BadConfig(
        f"{name or architecture} is {what}",
        where=outer.at("model_type"),
        got=f"model_type {name!r}, architecture {architecture or 'not named'}",
        want="a decoder, or an encoder such as BERT, XLM-R or ModernBERT",
    )


def unknown_type(outer: Config, model_type: str, architecture: str) -> UnknownName:
    """The error for a model_type nobody reads, with the near ones."""
    import difflib

    near = difflib.get_close_matches(model_type.lower(), [*FAMILIES, *ALIASES], n=4, cutoff=0.6)
    return UnknownName(
        f"the model type {model_type!r} is not known to rooflight",
        where=outer.at("model_type"),
        got=f"model_type {model_type!r}, architecture {architecture or 'not named'}",
        want='one of the model types listed in the documentation under "Models"',
        try_this=("near: " + ", ".join(near))
        if near
        else "set model_type to a type of the same shape, if there is one",
    )

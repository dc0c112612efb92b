"""How engines' logs name number formats, as rooflight names them."""

from __future__ import annotations

import re

from rooflight.errors import UnknownName
from rooflight.values.formats import FORMATS, format_named

# torch's and the engines' names of what a cache or activations are in: vllm/config/cache.py (CacheDType), SGLang's
# server_args.py (kv_cache_dtype), torch's dtypes.
_TYPES = {
    "bfloat16": "bf16", "bf16": "bf16", "float16": "fp16", "half": "fp16", "fp16": "fp16", "float32": "fp32",
    "float": "fp32", "fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp8_inc": "fp8", "fp8_ds_mla": "fp8",
    "float8_e4m3fn": "fp8", "float8_e4m3fnuz": "fp8", "float8_e5m2": "fp8", "fp4_e2m1": "nvfp4", "nvfp4": "nvfp4",
    "int8": "int8",
}  # fmt: skip
# Methods that say how weights are packed and not in how many bits: the model's name has to.
_CONTAINERS = (
    "compressed-tensors", "quark", "auto-round", "inc", "torchao", "gguf", "modelopt_mixed", "auto_gptq", "moe_wna16",
)  # fmt: skip
# What names of checkpoints say of their formats, the narrower before the wider.
_NAMED = (
    (re.compile(r"nvfp4|(?<![a-z0-9])fp4"), "nvfp4"),
    (re.compile(r"mxfp4"), "mxfp4"),
    (re.compile(r"gptq"), "gptq-int4-g128"),
    (re.compile(r"awq"), "awq-int4-g128"),
    (re.compile(r"w4a16|int4|4-?bit|autoround"), "ct-int4-g128"),
    (re.compile(r"w8a8(?!-fp8)|int8|quantized\.w8a8"), "w8a8-int8"),
    (re.compile(r"fp8"), "fp8"),
)
_GGUF = re.compile(
    r"(?<![a-z0-9])((?:i?q[1-8]_(?:k(?:_(?:xl|l|m|s|xs|xxs))?|[01]|nl|xs|xxs|s|m|ks|kt|kss|kl))|tq[12]_0|mxfp4(?:_moe)?|bf16|f16|f32)"
    r"(?![a-z0-9])"
)
_SIZES = {"small": "s", "medium": "m", "large": "l"}


def type_named(name: str | None) -> str | None:
    """torch.bfloat16, fp8_e4m3: as rooflight calls it; None: auto, or nothing that is known."""
    return _TYPES.get((name or "").strip().lower().removeprefix("torch."))


def packed(method: str | None, model: str | None) -> str | None:
    """The weights' format by the method an engine names, and by the model's name where that leaves it open."""
    plain = (method or "").strip().lower()
    if plain in _CONTAINERS or not plain:
        return named_by_model(model)
    try:
        return format_named(plain).id
    except UnknownName:
        return named_by_model(model)


def named_by_model(model: str | None) -> str | None:
    """The format that a checkpoint's name says; None: none."""
    plain = (model or "").lower()
    return next((form for pattern, form in _NAMED if pattern.search(plain)), None)


def file_type(text: str) -> str | None:
    """llama.cpp's "Q4_K - Medium", "IQ4_KS - 4.25 bpw", "MXFP4 MoE", "all F32", or a file's name: as rooflight has it.

    Source: llama_model_ftype_name of src/llama-model-loader.cpp.
    """
    plain = text.strip().lower().replace("(guessed)", "").replace("-", " - ")
    if plain.startswith("mxfp4 moe"):
        return "mxfp4_moe"
    found = _GGUF.search(plain.replace(" - ", "-").replace(".", " "))
    if found is None:
        return None
    word = next((short for long, short in _SIZES.items() if long in plain), None)
    name = {"f32": "fp32"}.get(found[1], found[1])
    whole = f"{name}_{word}" if word and name.endswith("_k") else name
    # "Q2_K - Medium" is what a file is called whose name is q2_k
    return next((one for one in (whole, name) if one in FORMATS), None)

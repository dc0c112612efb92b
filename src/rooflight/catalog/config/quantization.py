"""Which storage format a checkpoint gives to which matrix: quantization_config and its sidecar, read into a Plan.

Sources: the config schemas of compressed-tensors, NVIDIA ModelOpt, AutoGPTQ, AutoAWQ, bitsandbytes, Quark, torchao
and transformers' quantisers. Where the plan lands is placement.py's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.mlx import is_mlx, mlx
from rooflight.catalog.config.packed import METHODS, compressed_tensors, hqq, packed
from rooflight.catalog.config.plan import MLX_SECTION, SECTIONS, Plan, exclusions, group_of, inner, readable, unknown

# ModelOpt's quant_algo -> storage format
_ALGORITHMS = {
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8-channel",
    "FP8_PB_WO": "fp8-block128",
    "FP8_PB_REAL": "fp8-block128",
    "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A16_NVFP4": "nvfp4-weight-only",
    "W4A16_AWQ": "awq-int4-g128",
    "INT4_AWQ": "awq-int4-g128",
    "W4A8_AWQ": "w4a8-fp8",
    "W8A16": "int8",
    "INT8_SQ": "w8a8-int8",
    "W8A8_SQ_PER_CHANNEL": "w8a8-int8",
    "W8A8_SQ_PER_CHANNEL_PER_TOKEN_PLUGIN": "w8a8-int8",
    "MXFP8": "mxfp8",
    "MXFP4": "mxfp4",
    "W4A8_MXFP4_FP8": "mxfp4-w4a8",
}
# Methods that need no more than their name.
_BY_NAME = {
    "fbgemm_fp8": "fp8-channel",
    "ptpc_fp8": "fp8-channel",
    "w8a8_fp8": "fp8-channel",
    "w8a8_int8": "w8a8-int8",
    "int8": "int8",
    "eetq": "int8",
    "tpu_int8": "int8",
    "experts_int8": "int8",
    "mxfp8": "mxfp8",
    "petit_nvfp4": "nvfp4-weight-only",
    "modelopt_fp4": "nvfp4",
}
_TORCHAO = {
    "int4weightonly": "int4", "int8weightonly": "int8", "int8dynamicactivationint8weight": "w8a8-int8",
    "float8dynamicactivationfloat8weight": "fp8-channel", "float8weightonly": "fp8-weight-only",
}  # fmt: skip


def plan_of(outer: Config, cfg: Config, sidecar: Mapping[str, Any] | None) -> Plan | None:
    """The plan a config (or the hf_quant_config.json beside it) asks for; None for a plain one. Raises BadConfig."""
    beside = _sidecar(outer, sidecar)
    section = None
    for config in (outer, cfg):
        section = section if section is not None and section.data else _section(config)
    if section is None or not section.data:
        section = beside
    plan = _read(section) if section is not None else None
    if plan is not None and plan.kv_format is None and beside is not None:
        plan = msgspec.structs.replace(plan, kv_format=_cache_format(beside))
    if cfg.raw("expert_dtype") in ("fp4", "mxfp4"):
        cfg.assume("expert_dtype is fp4: routed experts are stored in mxfp4 (blocks of 32)")
        plan = msgspec.structs.replace(plan or Plan(), experts="mxfp4")
    return plan


def _section(config: Config) -> Config | None:
    """The section that names the quantisation; of two, MLX's own where it is one, as mlx-lm reads that first."""
    usual = config.section(*SECTIONS)
    if usual is None or not usual.data:
        return config.section(MLX_SECTION)
    own = config.section(MLX_SECTION) if isinstance(config.raw(MLX_SECTION), Mapping) else None
    if own is None or not is_mlx("", own):
        return usual
    if dict(usual.data) != dict(own.data):
        config.warn(
            f"{config.at(MLX_SECTION)} and {config.at(SECTIONS[0])} differ: the first counts, which mlx-lm reads first"
        )
    return own


def _sidecar(outer: Config, sidecar: Mapping[str, Any] | None) -> Config | None:
    """hf_quant_config.json keeps its content under "quantization"."""
    if sidecar is None:
        return None
    whole = Config(sidecar, origin=outer.origin, path="hf_quant_config: ", parent=outer)
    return whole.section("quantization") or whole


def _read(section: Config) -> Plan | None:
    method = section.text("quant_method", "quant_library", default="").lower().replace("-", "_")
    kv_format = _cache_format(section)
    excluded = exclusions(section)
    plan = _plan_by_method(method, section, excluded)
    if plan is None:
        return Plan(kv_format=kv_format) if kv_format else None
    return msgspec.structs.replace(plan, kv_format=kv_format)


def _plan_by_method(method: str, section: Config, excluded: tuple[str, ...]) -> Plan | None:
    if section.has("quant_algo") or method.startswith("modelopt"):
        return _modelopt(method, section, excluded)
    if section.has("config_groups") or method == "compressed_tensors":
        return compressed_tensors(section, excluded)
    if is_mlx(method, section):
        return mlx(section)
    if method == "fp8":
        return Plan(base=_fp8(section), excluded=excluded)
    if method == "mxfp4":
        return Plan(base="mxfp4", excluded=excluded, experts_only=True)
    if method == "quark":
        return _quark(section, excluded)
    if method == "torchao":
        return Plan(base=_torchao(section), excluded=excluded)
    if method in ("exl2", "exl3"):
        bits = section.number("bits")
        own = section.number("head_bits", default=bits)
        return Plan(base=f"{method}-{bits:g}bpw", excluded=excluded, head_format=f"{method}-{own:g}bpw")
    if method == "bitsandbytes" or section.has("load_in_4bit", "load_in_8bit"):
        return Plan(base=_bitsandbytes(section), excluded=excluded)
    if method in _BY_NAME:
        return Plan(base=_BY_NAME[method], excluded=excluded, experts_only=method == "experts_int8")
    if method == "hqq":
        return hqq(section, excluded)
    if method in METHODS or section.has("bits", "w_bit", "weight_bits"):
        return packed(method, section, excluded)
    if not method:
        section.warn(f"{section.at('quant_method')} is not given: the quantisation section is passed over")
        return None
    raise unknown(section, "quant_method", method)


def _cache_format(section: Config) -> str | None:
    """The KV cache format a checkpoint carries scales for."""
    algorithm = section.raw("kv_cache_quant_algo")
    if isinstance(algorithm, str):
        form = {"FP8": "fp8", "NVFP4": "nvfp4", "INT8": "int8"}.get(algorithm.upper())
        if form is None:
            section.warn(f"{section.at('kv_cache_quant_algo')} {algorithm!r} is not known: the cache is read as wide")
        return form
    scheme = section.raw("kv_cache_scheme")
    if isinstance(scheme, Mapping):
        spelled = f"{scheme.get('type')} {scheme.get('num_bits')}"
        return {"float 8": "fp8", "int 8": "int8", "float 4": "nvfp4"}.get(spelled)
    return None


def _fp8(section: Config) -> str:
    block = section.items("weight_block_size", of="number")
    if block is None:
        return "fp8"
    if len(block) != 2 or not all(block):
        raise section.bad("weight_block_size", block, "a list of two positive whole numbers, such as [128, 128]")
    if block != [128, 128]:
        section.warn(
            f"{section.at('weight_block_size')} {block} is read as [128, 128]: the scales differ a little in size"
        )
    return "fp8-block128"


def _modelopt(method: str, section: Config, excluded: tuple[str, ...]) -> Plan:
    """NVIDIA ModelOpt: one algorithm, or MIXED_PRECISION with a format for each module."""
    algorithm = section.text("quant_algo", default="").upper()
    layers = section.section("quantized_layers")
    if layers is not None:
        names = readable(section, "quantized_layers", layers.data)
        listed = tuple((name, _algorithm(layers, name, layers.data[name])) for name in names)
        if method == "fp8":  # the rest of the checkpoint is the original's FP8, whatever the NVFP4 exclusions say
            return Plan(base=_fp8(section), listed=listed)
        return Plan(listed=listed, excluded=excluded)
    if algorithm in ("", "MIXED_PRECISION"):
        return compressed_tensors(section, excluded)
    return Plan(base=_form(section), excluded=excluded)


def _algorithm(layers: Config, name: str, entry: Any) -> str:
    """The format of one module: an object with quant_algo, or the algorithm alone."""
    return _form(inner(layers, name, {"quant_algo": entry} if isinstance(entry, str) else entry))


def _form(section: Config) -> str:
    algorithm = section.text("quant_algo").upper()
    form, group = _ALGORITHMS.get(algorithm), group_of(section, "group_size")
    if form is None:
        raise unknown(section, "quant_algo", algorithm)
    if form == "awq-int4-g128" and group:
        return f"awq-int4-g{group}"
    usual = 16 if form.startswith("nvfp4") else 32 if form.startswith("mxfp") else None
    if usual and group not in (None, usual):
        section.warn(f"{section.at('group_size')} {group} is read as the {usual} of {form}")
    return form


def _bitsandbytes(section: Config) -> str | None:
    if section.flag("load_in_4bit", "_load_in_4bit"):
        kind = section.text("bnb_4bit_quant_type", default="fp4").lower()
        if kind not in ("nf4", "fp4"):
            raise section.bad("bnb_4bit_quant_type", kind, "nf4 or fp4")
        if kind == "fp4" and section.has("bnb_4bit_quant_type"):
            section.assume("bitsandbytes' FP4 is read as NF4, which takes the same bytes")
        return "nf4-double" if section.flag("bnb_4bit_use_double_quant") else "nf4"
    return "bnb-int8" if section.flag("load_in_8bit", "_load_in_8bit") else None


def _quark(section: Config, excluded: tuple[str, ...]) -> Plan:
    """AMD Quark: a global scheme and schemes of layers by pattern."""
    whole, layers = section.section("global_quant_config"), section.section("layer_quant_config")
    base = _quark_scheme(whole) if whole else None
    listed = []
    for pattern in readable(section, "layer_quant_config", layers.data) if layers else ():
        form = _quark_scheme(inner(layers or section, pattern, (layers or section).data[pattern]))
        if form:
            listed.append((pattern, form))
    return Plan(base=base, listed=tuple(listed), excluded=excluded)


def _quark_scheme(scheme: Config) -> str | None:
    weight = scheme.section("weight")
    if weight is None:
        return None
    kind, layout = weight.text("dtype", default=""), weight.text("qscheme", default="per_tensor")
    wide = scheme.raw("input_tensors") is None
    if kind.startswith("fp8"):
        return "fp8-weight-only" if wide else ("fp8-channel" if layout == "per_channel" else "fp8")
    if kind == "fp4":
        return "mxfp4" if wide else "mxfp4-w4a4"
    if kind in ("int8", "uint8"):
        return "int8" if wide else "w8a8-int8"
    if kind in ("int4", "uint4"):
        return f"awq-int4-g{group_of(weight, 'group_size', default=128) or 128}"
    raise unknown(weight, "dtype", kind)


def _torchao(section: Config) -> str:
    kind = section.raw("quant_type")
    group = None
    while isinstance(kind, Mapping):
        data = kind.get("_data")
        group = data.get("group_size") if isinstance(data, Mapping) else group
        kind = kind.get("default") or kind.get("_type")
    name = str(kind).lower().replace("_", "").removesuffix("config")
    form = _TORCHAO.get(name)
    if form is None:
        raise unknown(section, "quant_type", kind)
    return f"int4-g{group}" if form == "int4" and group in (32, 64, 128) else form

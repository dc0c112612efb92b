"""Which storage format a checkpoint gives to which matrix: quantization_config and its sidecar, read into a Plan.

Sources: the config schemas of compressed-tensors, NVIDIA ModelOpt, AutoGPTQ, AutoAWQ, bitsandbytes, Quark, torchao
and transformers' quantisers. Where the plan lands is placement.py's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.errors import UnknownName

EXCLUSION_KEYS = (
    "modules_to_not_convert",
    "ignore",
    "exclude_modules",
    "ignored_layers",
    "exclude",
    "llm_int8_skip_modules",
)

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
    "W4A8_AWQ": "awq-int4-g128",
    "W8A16": "int8",
    "INT8_SQ": "w8a8-int8",
    "W8A8_SQ_PER_CHANNEL": "w8a8-int8",
    "W8A8_SQ_PER_CHANNEL_PER_TOKEN_PLUGIN": "w8a8-int8",
    "MXFP8": "mxfp8",
    "MXFP4": "mxfp4",
    "W4A8_MXFP4_FP8": "mxfp4",
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


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Formats and where they go.

    base            the format of every matrix not spoken of otherwise, None: stays wide
    listed          (pattern, format) of modules named one by one or by pattern; these win over base
    excluded        patterns of modules that stay wide
    experts_only    base is for routed experts
    experts         a format of its own for routed experts
    head            base is for the output head too
    """

    base: str | None = None
    listed: tuple[tuple[str, str], ...] = ()
    excluded: tuple[str, ...] = ()
    experts_only: bool = False
    experts: str | None = None
    head: bool = False
    kv_format: str | None = None


def plan_of(outer: Config, cfg: Config, sidecar: Mapping[str, Any] | None) -> Plan | None:
    """The plan a config (or the hf_quant_config.json beside it) asks for; None for a plain one. Raises BadConfig."""
    beside = _sidecar(outer, sidecar)
    section = None
    for config in (outer, cfg):
        section = section or config.section("quantization_config", "compression_config")
    if section is None or not section.data:
        section = beside
    plan = _read(section) if section is not None else None
    if plan is not None and plan.kv_format is None and beside is not None:
        plan = msgspec.structs.replace(plan, kv_format=_cache_format(beside))
    if cfg.raw("expert_dtype") in ("fp4", "mxfp4"):
        cfg.assume("expert_dtype is fp4: routed experts are stored in mxfp4 (blocks of 32)")
        plan = msgspec.structs.replace(plan or Plan(), experts="mxfp4")
    return plan


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
        return _compressed_tensors(section, excluded)
    if method == "fp8":
        return Plan(base=_fp8(section), excluded=excluded)
    if method == "mxfp4":
        return Plan(base="mxfp4", excluded=excluded, experts_only=True)
    if method == "quark":
        return _quark(section, excluded)
    if method == "torchao":
        return Plan(base=_torchao(section), excluded=excluded)
    if method in ("exl2", "exl3"):
        return Plan(base=f"exl2-{section.number('bits'):g}bpw", excluded=excluded, head=True)
    if method == "bitsandbytes" or section.has("load_in_4bit", "load_in_8bit"):
        return Plan(base=_bitsandbytes(section), excluded=excluded)
    if method in _BY_NAME:
        return Plan(base=_BY_NAME[method], excluded=excluded, experts_only=method == "experts_int8")
    if section.has("bits", "w_bit", "weight_bits"):
        return _packed(method, section, excluded)
    if not method:
        section.warn(f"{section.at('quant_method')} is not given: the quantisation section is passed over")
        return None
    raise _unknown(section, "quant_method", method)


def exclusions(section: Config) -> tuple[str, ...]:
    """Patterns of modules left wide, from whichever key the method uses."""
    found: list[str] = []
    for key in EXCLUSION_KEYS:
        value = section.raw(key)
        if isinstance(value, list):
            found.extend(entry for entry in value if isinstance(entry, str))
        elif isinstance(value, str):
            found.append(value)
    return tuple(dict.fromkeys(found))


def _cache_format(section: Config) -> str | None:
    """The KV cache format a checkpoint carries scales for."""
    algorithm = section.raw("kv_cache_quant_algo")
    if isinstance(algorithm, str):
        return {"FP8": "fp8", "NVFP4": "nvfp4", "INT8": "int8"}.get(algorithm.upper())
    scheme = section.raw("kv_cache_scheme")
    if isinstance(scheme, Mapping):
        spelled = f"{scheme.get('type')} {scheme.get('num_bits')}"
        return {"float 8": "fp8", "int 8": "int8", "float 4": "nvfp4"}.get(spelled)
    return None


def _fp8(section: Config) -> str:
    block = section.raw("weight_block_size")
    if block is None:
        return "fp8"
    if block != [128, 128]:
        section.warn(
            f"{section.at('weight_block_size')} {block} is read as [128, 128]: the scales differ a little in size"
        )
    return "fp8-block128"


def _modelopt(method: str, section: Config, excluded: tuple[str, ...]) -> Plan:
    """NVIDIA ModelOpt: one algorithm, or MIXED_PRECISION with a format for each module."""
    algorithm = section.text("quant_algo", default="").upper()
    layers = section.raw("quantized_layers")
    if isinstance(layers, Mapping):
        listed = tuple((name, _algorithm(section, entry)) for name, entry in layers.items())
        if method == "fp8":  # the rest of the checkpoint is the original's FP8, whatever the NVFP4 exclusions say
            return Plan(base=_fp8(section), listed=listed)
        return Plan(listed=listed, excluded=excluded)
    if algorithm in ("", "MIXED_PRECISION"):
        return _compressed_tensors(section, excluded)
    return Plan(
        base=_algorithm(section, {"quant_algo": algorithm, "group_size": section.raw("group_size")}), excluded=excluded
    )


def _algorithm(section: Config, entry: Any) -> str:
    name = entry.get("quant_algo") if isinstance(entry, Mapping) else entry
    form = _ALGORITHMS.get(str(name).upper())
    if form is None:
        raise _unknown(section, "quant_algo", name)
    group = entry.get("group_size") if isinstance(entry, Mapping) else None
    if form == "awq-int4-g128" and isinstance(group, int) and group > 0:
        return f"awq-int4-g{group}"
    return form


def _compressed_tensors(section: Config, excluded: tuple[str, ...]) -> Plan:
    """compressed-tensors: groups of modules by class name, path or pattern, each with a scheme."""
    groups = section.raw("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        raise section.bad("config_groups", groups, "an object of groups with weights and targets")
    base, listed = None, []
    for name, group in groups.items():
        if not isinstance(group, Mapping) or not isinstance(group.get("weights"), Mapping):
            continue
        form = _scheme(section, str(name), group["weights"], group.get("input_activations"))
        targets = group.get("targets")
        for target in targets if isinstance(targets, list) and targets else ["Linear"]:
            if target in ("Linear", "LinearBase", "FusedMoE"):
                base = form
            else:
                listed.append((str(target), form))
    said = any(isinstance(section.raw(key), list) for key in ("ignore", "exclude_modules"))
    whole = base is not None and said and section.text("quant_method", default="") == "compressed-tensors"
    return Plan(base=base, listed=tuple(listed), excluded=excluded, head=whole)


def _scheme(section: Config, name: str, weights: Mapping[str, Any], activations: Any) -> str:
    bits, kind = weights.get("num_bits"), weights.get("type", "int")
    strategy, group = weights.get("strategy"), weights.get("group_size")
    wide = not isinstance(activations, Mapping)
    group = group if isinstance(group, int) and group > 0 else None
    if kind == "float" and bits == 8:
        if group == 32:
            return "mxfp8"
        if wide:
            return "fp8-weight-only"
        return {"channel": "fp8-channel", "block": "fp8-block128"}.get(str(strategy), "fp8")
    if kind == "float" and bits == 4:
        if group == 32:
            return "mxfp4" if wide else "mxfp4-w4a4"
        return "nvfp4-weight-only" if wide else "nvfp4"
    if kind == "int" and bits == 8 and not wide:
        return "w8a8-int8"
    if kind == "int" and bits in (2, 3, 4, 8):
        method = "ct" if weights.get("symmetric", True) else "awq"
        return f"{method}-int{bits}" + (f"-g{group}" if group else "")
    raise _unknown(section, f"config_groups.{name}.weights", f"{bits} bits of type {kind}")


def _packed(method: str, section: Config, excluded: tuple[str, ...]) -> Plan:
    """GPTQ, AWQ and what packs like them: bits and a group size."""
    bits = section.integer("bits", "w_bit", "weight_bits")
    group = section.integer("group_size", "q_group_size", default=128 if "awq" in method else -1, at_least=-1)
    if bits not in (2, 3, 4, 8):
        raise _unknown(section, "bits", bits)
    packing = section.text("packing_format", "checkpoint_format", "version", default="")
    like_awq = "awq" in method or "awq" in packing
    name = "awq" if like_awq else "gptq"
    if method not in (
        "gptq",
        "awq",
        "gptq_marlin",
        "awq_marlin",
        "auto_round",
        "intel/auto_round",
        "gptqmodel",
        "hqq",
        "marlin",
    ):
        section.warn(f"{section.at('quant_method')} {method!r}: read as {name} of {bits} bits")
    return Plan(
        base=f"{name}-int{bits}" + (f"-g{group}" if group > 0 else ""), excluded=excluded, head=section.flag("lm_head")
    )


def _bitsandbytes(section: Config) -> str | None:
    if section.flag("load_in_4bit", "_load_in_4bit"):
        return "nf4-double" if section.flag("bnb_4bit_use_double_quant") else "nf4"
    return "bnb-int8" if section.flag("load_in_8bit", "_load_in_8bit") else None


def _quark(section: Config, excluded: tuple[str, ...]) -> Plan:
    """AMD Quark: a global scheme and schemes of layers by pattern."""
    whole = section.section("global_quant_config")
    base = _quark_scheme(whole) if whole else None
    listed = []
    layers = section.raw("layer_quant_config")
    for pattern, scheme in layers.items() if isinstance(layers, Mapping) else ():
        if isinstance(scheme, Mapping) and scheme.get("weight"):
            listed.append(
                (str(pattern), _quark_scheme(Config(scheme, origin=section.origin, path=f"{pattern}.", parent=section)))
            )
    return Plan(base=base, listed=tuple((p, f) for p, f in listed if f), excluded=excluded)


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
        return f"awq-int4-g{weight.integer('group_size', default=128)}"
    raise _unknown(weight, "dtype", kind)


def _torchao(section: Config) -> str:
    kind = section.raw("quant_type")
    group = None
    while isinstance(kind, Mapping):
        inner = kind.get("_data")
        group = inner.get("group_size") if isinstance(inner, Mapping) else group
        kind = kind.get("default") or kind.get("_type")
    name = str(kind).lower().replace("_", "").removesuffix("config")
    form = _TORCHAO.get(name)
    if form is None:
        raise _unknown(section, "quant_type", kind)
    return f"int4-g{group}" if form == "int4" and group in (32, 64, 128) else form


def _unknown(section: Config, key: str, value: object) -> UnknownName:
    return UnknownName(
        f"the quantisation {value!r} is not known to rooflight",
        where=section.at(key),
        got=str(value),
        want="fp8, modelopt, compressed-tensors, gptq, awq, bitsandbytes, mxfp4, quark, torchao, exl2, fbgemm_fp8",
        try_this="remove quantization_config and say the stored format with --weights",
    )

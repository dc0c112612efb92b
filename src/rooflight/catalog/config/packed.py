"""Weights packed into integers: GPTQ, AWQ, AutoRound and HQQ, and the groups of compressed-tensors."""

from __future__ import annotations

from collections.abc import Mapping

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.plan import Plan, group_of, inner, readable, texts, unknown

_BITS = ("bits", "w_bit", "weight_bits")
_GROUP = ("group_size", "q_group_size")
METHODS = (
    "gptq", "awq", "gptq_marlin", "awq_marlin", "auto_round", "intel/auto_round", "gptqmodel", "marlin",
)  # fmt: skip
# class names that mean every linear layer
_EVERYTHING = ("Linear", "LinearBase", "FusedMoE")
# the most seen is one a layer
_MOST_GROUPS = 1_000
_STRATEGIES = ("tensor", "channel", "group", "block", "token", "tensor_group", "attn_head")


def packed(method: str, section: Config, excluded: tuple[str, ...]) -> Plan:
    """GPTQ, AWQ and what packs like them: bits and a group size, and modules that differ. Raises BadConfig."""
    bits = _bits(section)
    group = group_of(section, *_GROUP, default=128 if "awq" in method else None)
    if not section.has(*_GROUP):
        section.assume(f"{section.path}group_size is not given: {group or 'one scale a column'}")
    stored = section.text("packing_format", "checkpoint_format", "version", default="")
    name = "awq" if "awq" in method or "awq" in stored else "gptq"
    if method not in METHODS:
        section.warn(f"{section.at('quant_method')} {method!r}: read as {name} of {bits} bits")
    ordered = name == "gptq" and section.flag("sym") and not section.flag("desc_act")
    packing = "-sym" if ordered else ""
    listed, wide = _exceptions(section, name, bits, group, packing)
    return Plan(
        base=_named(name, bits, group) + packing,
        listed=tuple(listed),
        excluded=(*excluded, *wide),
        head=section.flag("lm_head"),
    )


def _sizes(own: Config, bits: int, group: int | None) -> tuple[int, int | None]:
    """Bits and group of a module that may differ from the rest."""
    return _bits(own) if own.has(*_BITS) else bits, group_of(own, *_GROUP, default=group)


def _bits(section: Config) -> int:
    bits: int = section.integer(*_BITS)
    if bits not in (2, 3, 4, 8):
        raise unknown(section, next(key for key in _BITS if section.has(key)), bits)
    return bits


def _named(method: str, bits: int, group: int | None) -> str:
    return f"{method}-int{bits}" + (f"-g{group}" if group else "")


def _exceptions(
    section: Config, name: str, bits: int, group: int | None, packing: str
) -> tuple[list[tuple[str, str]], list[str]]:
    """Modules of another width, and those that stay wide.

    GPTQModel's `dynamic` has expressions, "-:" in front of those that stay wide; AutoRound's `extra_config` has names
    (or expressions), 16 bits meaning wide.
    """
    listed: list[tuple[str, str]] = []
    wide: list[str] = []
    dynamic, extra = section.section("dynamic"), section.section("extra_config")
    rules = {key: "re:" + key.removeprefix("-:").removeprefix("+:") for key in (dynamic.data if dynamic else ())}
    kept = set(readable(section, "dynamic", rules.values()))
    for key, value in dynamic.data.items() if dynamic else ():
        pattern = rules[key]
        if pattern not in kept:
            continue
        if key.startswith("-:") or value is False:
            wide.append(pattern)
        else:
            own = inner(section, f"dynamic.{key}", value)
            listed.append((pattern, _named(name, *_sizes(own, bits, group)) + packing))
    rules = {key: f"re:{key}" if any(mark in key for mark in "*\\[(") else key for key in (extra.data if extra else ())}
    kept = set(readable(section, "extra_config", rules.values()))
    for key, value in extra.data.items() if extra else ():
        own = inner(section, f"extra_config.{key}", value)
        pattern = rules[key]
        if pattern not in kept:
            continue
        if own.has(*_BITS) and own.integer(*_BITS) >= 16:
            wide.append(pattern)
        else:
            listed.append((pattern, _named(name, *_sizes(own, bits, group)) + packing))
    return listed, wide


def hqq(section: Config, excluded: tuple[str, ...]) -> Plan:
    """HQQ: a 16-bit scale and zero point a group, under quant_config.weight_quant_params (or flat, in vLLM's files)."""
    whole = section.section("quant_config") or section
    own = whole.section("weight_quant_params") or whole
    bits: int = own.integer("nbits", *_BITS)
    group = group_of(own, *_GROUP, default=64)
    if bits not in (2, 3, 4, 5, 6, 8):
        raise unknown(own, "nbits", bits)
    if group is None:
        own.warn(f"{own.at('group_size')} is one group a row: read as groups of 128")
    return Plan(base=f"int{bits}-g{group or 128}", excluded=excluded)


def compressed_tensors(section: Config, excluded: tuple[str, ...]) -> Plan:
    """compressed-tensors: groups of modules by class name, path or pattern, each with a scheme. Raises BadConfig."""
    groups = section.raw("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        raise section.bad("config_groups", groups, "an object of groups with weights and targets")
    if len(groups) > _MOST_GROUPS:
        raise section.bad("config_groups", f"{len(groups):,} groups", f"an object of at most {_MOST_GROUPS} groups")
    base, listed = None, list[tuple[str, str]]()
    for name, value in groups.items():
        group = inner(section, f"config_groups.{name}", value)
        weights = group.section("weights")
        if weights is None:
            continue
        form = _scheme(weights, group.section("input_activations"))
        targets = texts(group, "targets") or ["Linear"]
        if any(target in _EVERYTHING for target in targets):
            base = form
        listed += ((one, form) for one in targets if one not in _EVERYTHING)
    kept = set(readable(section, "config_groups", [target for target, _ in listed]))
    listed = [one for one in listed if one[0] in kept]
    said = any(isinstance(section.raw(key), list) for key in ("ignore", "exclude_modules"))
    whole = base is not None and said and section.text("quant_method", default="") == "compressed-tensors"
    return Plan(base=base, listed=tuple(listed), excluded=excluded, head=whole)


def _scheme(weights: Config, activations: Config | None) -> str:
    """The storage format of a group's weights; without `activations` those stay wide."""
    wide = activations is None
    float8 = activations is not None and activations.text("type", default="int") == "float"
    bits, kind = weights.integer("num_bits"), weights.text("type", default="int")
    strategy, group = weights.text("strategy", default=""), group_of(weights, "group_size")
    if strategy and strategy not in _STRATEGIES:
        raise weights.bad("strategy", strategy, f"one of {', '.join(_STRATEGIES)}")
    if kind == "float" and bits == 8:
        if group == 32:
            return "mxfp8"
        if wide:
            return "fp8-weight-only"
        return {"channel": "fp8-channel", "block": "fp8-block128"}.get(strategy, "fp8")
    if kind == "float" and bits == 4:
        if group == 32:
            return "mxfp4" if activations is None else "mxfp4-w4a8" if _bits_of(activations) == 8 else "mxfp4-w4a4"
        if group not in (None, 16):
            weights.warn(f"{weights.at('group_size')} {group} is read as NVFP4's 16")
        return "nvfp4-weight-only" if wide else "nvfp4"
    if kind == "int" and bits == 8 and not wide:
        return "w8a8-int8"
    if kind == "int" and bits == 4 and float8 and group == 128:
        return "w4a8-fp8"
    if kind == "int" and bits in (2, 3, 4, 8):
        return _named("ct" if weights.flag("symmetric", default=True) else "awq", bits, group)
    raise unknown(weights, "num_bits", f"{bits} bits of type {kind}")


def _bits_of(activations: Config) -> int | None:
    return activations.optional("num_bits")

"""MLX's quantisation: a width and a group for all matrices, tables and head among them, and modules that differ.

Source: mlx.nn.quantize and mlx_lm.utils (config key `quantization`; newer files have the same under
`quantization_config` too): every Linear, Embedding and stack of experts whose rows the group divides; an entry a module
is an object of its own sizes, or false for one that stays wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.plan import MLX_SECTION, Plan, group_of, inner, readable, unknown

_SIZES = ("group_size", "bits", "mode")
_WIDTHS = (2, 3, 4, 5, 6, 8)
# modes with sizes of their own; their products run with wide activations
_MODES = {"mxfp4": "mxfp4", "mxfp8": "mxfp8-weight-only", "nvfp4": "nvfp4-weight-only"}
_TABLES = ("embed_tokens", "wte", "word_embeddings", "tok_embeddings", "embeddings")
# modules outside of the layers, and keys that say nothing of sizes
_OUTSIDE = ("lm_head", "output", *_TABLES)
_SAID_BESIDE = ("quant_method", "quant_library", "linear_class")
_MOST_SAID = 3
_LONGEST_NAME = 100
_GROUPS = (16, 32, 64, 128)
# what the packings of other methods have and MLX's has not
_OTHERS = (
    "sym", "desc_act", "zero_point", "damp_percent", "checkpoint_format", "version", "w_bit", "weight_bits", "nbits",
    "q_group_size", "packing_format", "load_in_4bit", "load_in_8bit", "config_groups", "quant_algo",
)  # fmt: skip


def is_mlx(method: str, section: Config) -> bool:
    """Whether a section is MLX's: it names no method, has bits and a group, and no key of another packing."""
    if method:
        return method == "mlx"
    return section.has("bits", "mode") and section.has("group_size", "mode") and not section.has(*_OTHERS)


def mlx(section: Config) -> Plan:
    """The plan of an MLX section. Raises BadConfig."""
    listed: list[tuple[str, str]] = []
    excluded: list[str] = []
    table = None
    for name, form in _modules(section):
        if name.endswith(_TABLES):
            table = form or "wide"
        elif form is None:
            excluded.append(name)
        else:
            listed.append((name, form))
    return Plan(base=_form(section), listed=tuple(listed), excluded=tuple(excluded), whole=True, table=table)


def _modules(section: Config) -> Iterator[tuple[str, str | None]]:
    """Modules with sizes of their own; None for one that stays wide. Raises BadConfig."""
    strange: list[str] = []
    for name in readable(section, MLX_SECTION, section.data):
        entry = section.data[name]
        if name in _SIZES or name in _SAID_BESIDE:
            continue
        if isinstance(entry, Mapping):
            yield name, _form(inner(section, name, entry))
        elif entry is None or isinstance(entry, bool):
            if entry is None:
                section.warn(f"{section.at(name)} is null: the module stays wide, as mlx-lm takes it")
            yield name, None
        elif "." in name or name in _OUTSIDE:
            raise section.bad(name, entry, 'an object such as {"bits": 8, "group_size": 64}, or false for wide')
        else:
            strange.append(name)
    for name in strange[:_MOST_SAID]:
        import difflib

        near = difflib.get_close_matches(name[:_LONGEST_NAME], _SIZES, n=1)
        meant = f" (is {near[0]} meant?)" if near else ""
        section.warn(f"{section.at(name)} is no key of MLX's quantisation{meant}: passed over")
    if len(strange) > _MOST_SAID:
        section.warn(f"{len(strange) - _MOST_SAID} more keys of MLX's quantisation are none: passed over")


def _form(own: Config) -> str:
    mode = own.text("mode", default="affine").lower()
    if mode in _MODES:
        return _MODES[mode]
    bits = own.integer("bits")
    if mode != "affine" or bits not in _WIDTHS:
        raise unknown(own, "mode" if mode != "affine" else "bits", mode if mode != "affine" else bits)
    group = group_of(own, "group_size", default=64) or 64
    if group not in _GROUPS:
        own.warn(f"{own.at('group_size')} {group} is no group of MLX's ({', '.join(map(str, _GROUPS))})")
    return f"mlx-{bits}bit-g{group}"

"""MLX's quantisation: a width and a group for all matrices, tables and head among them, and modules that differ.

Source: mlx.nn.quantize and mlx_lm.utils (config key `quantization`; newer files have the same under
`quantization_config` too): every Linear, Embedding and stack of experts whose rows the group divides; an entry a module
is an object of its own sizes, or false for one that stays wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.plan import Plan, group_of, inner, unknown

_SIZES = ("group_size", "bits", "mode")
_WIDTHS = (2, 3, 4, 5, 6, 8)
# modes with sizes of their own; their products run with wide activations
_MODES = {"mxfp4": "mxfp4", "mxfp8": "mxfp8-weight-only", "nvfp4": "nvfp4-weight-only"}
_TABLES = ("embed_tokens", "wte", "word_embeddings", "tok_embeddings", "embeddings")
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
    """Modules with sizes of their own; None for one that stays wide."""
    for name, entry in section.data.items():
        if name not in _SIZES and isinstance(entry, Mapping | bool):
            yield name, _form(inner(section, name, entry)) if isinstance(entry, Mapping) else None


def _form(own: Config) -> str:
    mode = own.text("mode", default="affine").lower()
    if mode in _MODES:
        return _MODES[mode]
    bits = own.integer("bits")
    if mode != "affine" or bits not in _WIDTHS:
        raise unknown(own, "mode" if mode != "affine" else "bits", mode if mode != "affine" else bits)
    return f"mlx-{bits}bit-g{group_of(own, 'group_size', default=64) or 64}"

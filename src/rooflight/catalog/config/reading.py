"""From a parsed config to a Model: find the text config, ask its family, put formats, towers and notes on the plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rooflight.catalog.config.draft_heads import as_head, draft_head
from rooflight.catalog.config.expressions import Endless
from rooflight.catalog.config.fields import Config, refuse_deep
from rooflight.catalog.config.heads import headed
from rooflight.catalog.config.names import canonical_type, first_architecture, refuse_other_shapes, unknown_type
from rooflight.catalog.config.placement import Placed, apply
from rooflight.catalog.config.plan import MLX_SECTION, SECTIONS, Plan
from rooflight.catalog.config.registry import Text, default_sizes_of, reader_of, shapes_reader, tower_counter_of
from rooflight.catalog.config.unread import unread
from rooflight.catalog.config.vocabulary import merged, runs_of
from rooflight.errors import BadConfig
from rooflight.values.model import Model, Tower

# Where the text model stands in the config of a multimodal one.
_TEXT_SECTIONS = ("text_config", "language_config", "llm_config", "thinker_config", "language_model_config", "llm")
_TOWER_SECTIONS = ("vision_config", "audio_config", "visual", "vision_tower_config", "speech_config", "sound_config")
# No table of rotary angles is stretched further.
_MOST_SCALED = 1024
_MOST_LAYERS = 10_000
_CONTEXTS = (
    "max_position_embeddings", "max_seq_len", "seq_length", "n_positions", "max_sequence_length", "model_max_length",
)  # fmt: skip
_QUANTISED = re.compile(
    r"(?:^|[-_./])(nvfp4|mxfp[48]|fp8|awq|gptq|int[348]|w[48]a(?:16|8|4)|bnb|[48]bits?|exl[23]|hqq)(?=$|[-_./])", re.I
)
_DTYPES = {
    "bfloat16": "bf16", "bf16": "bf16", "float16": "fp16", "fp16": "fp16", "half": "fp16",
    "float32": "fp32", "fp32": "fp32", "float": "fp32",
}  # fmt: skip


# layers that only speculative decoding runs
DRAFT_KEYS = ("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers", "mtp_num_layers")
# what of a Stored is a Model's own
_HELD = ("called", "vector_format", "table_bytes", "vector_bytes")


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A text plan with what a weight file holds of it: sizes on its parts, formats, and what is to be said.

    quantization    the narrow formats of the matrices; None: all are wide, or the config names them
    called          what the file's maker calls the mix
    dtype           the wide type most of it is kept in, None where most is narrow
    """

    text: Text
    quantization: str | None = None
    called: str | None = None
    dtype: str | None = None
    table_format: str | None = None
    vector_format: str | None = None
    table_bytes: float | None = None
    vector_bytes: float | None = None
    towers: tuple[Tower, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def model_from_dict(
    data: Mapping[str, Any],
    *,
    id: str,
    origin: str,
    sidecar: Mapping[str, Any] | None = None,
    warnings: tuple[str, ...] = (),
    leaves_defaults_out: bool = False,
    weighed: Callable[[Text], Stored] | None = None,
) -> Model:
    """The Model a config describes. Raises BadConfig, UnknownName.

    leaves_defaults_out     sizes that are the defaults of the model type were left out on purpose: not worth a word
    weighed                 puts on the plan what the weight files hold of it
    """
    refuse_deep(data, origin)
    called = first_architecture(Config(data, origin=origin))
    drafts, data = draft_head(data, id)
    outer = Config(data, origin=origin)
    cfg, model_type, text = _read(outer, warnings)
    text, head = (text, None) if drafts is None else as_head(cfg, text, drafts)
    dtype, draft_layers = _dtype(outer, cfg), _draft_layers(cfg)
    plan = _plan(outer, cfg, sidecar)
    placed = _formatted(outer, text, plan, dtype, None if weighed else id)
    stored = Stored(text=placed.text) if weighed is None else _said(outer, weighed(placed.text))
    text, dtype = stored.text, stored.dtype or dtype
    towers = _seen(outer, stored.towers or _towers(outer, dtype))
    max_context, rope_positions = text.max_context or cfg.optional(*_CONTEXTS), _rope_positions(cfg)
    _say(outer, cfg, keys=weighed is None, sizes=not leaves_defaults_out)
    layers = merged(text.layers)
    return Model(
        id=id,
        type=model_type,
        architecture=called,
        hidden=text.hidden,
        vocab=text.vocab,
        layers=layers,
        embedding_parameters=text.embedding_parameters,
        embedding_row=text.embedding_row,
        head=text.head,
        tied=text.tied,
        outside=text.outside,
        vector_parameters=text.vector_parameters,
        towers=towers,
        dtype=dtype,
        table_format=stored.table_format or placed.table,
        quantization=stored.quantization or " + ".join(placed.formats) or None,
        runs=runs_of(text.layers, layers),
        kv_format=plan.kv_format if plan else None,
        max_context=max_context,
        max_source=text.max_source,
        start_tokens=text.start_tokens,
        rope_positions=rope_positions,
        draft_layers=draft_layers,
        draft_head=head,
        origin=origin,
        assumptions=tuple(outer.notes),
        warnings=tuple(outer.warnings),
        **{name: getattr(stored, name) for name in _HELD},
    )


def _read(outer: Config, warnings: tuple[str, ...]) -> tuple[Config, str, Text]:
    """The text config, its model type and its plan; what is odd is warned of. Raises BadConfig, UnknownName."""
    for warning in warnings:
        outer.warn(warning)
    architecture = first_architecture(outer)
    cfg = text_section(outer)
    refuse_other_shapes(outer, architecture)
    model_type = canonical_type(outer, cfg)
    reader = reader_of(model_type)
    if reader is None:
        raise unknown_type(outer, model_type, architecture)
    cfg = _completed(outer, cfg, model_type)
    _refuse_endless(cfg)
    return cfg, model_type, headed(outer, cfg, reader(cfg))


def _said(outer: Config, stored: Stored) -> Stored:
    """What weight files hold, with what is to be said of it among the config's own notes and warnings."""
    for said in stored.notes:
        outer.assume(said)
    for said in stored.warnings:
        outer.warn(said)
    return stored


def _formatted(outer: Config, text: Text, plan: Plan | None, dtype: str, id: str | None) -> Placed:
    """The text model with a format on every matrix; what is odd about it is warned of."""
    try:
        placed = apply(text, plan, dtype)
    except Endless:
        raise BadConfig(
            "the patterns of the quantisation section take too long to match", where=outer.at(SECTIONS[0]),
            got=f"{len(plan.listed) + len(plan.excluded) if plan else 0:,} patterns", want="fewer, or plainer ones",
            try_this="say the same in fewer: one pattern for all layers or experts",
        ) from None  # fmt: skip
    for doubt in placed.doubts:
        outer.warn(doubt)
    if plan is None and id is not None:
        _doubt_name(outer, id, dtype)
    return placed


def _rope_positions(cfg: Config) -> int | None:
    """Positions that the table of rotary angles is laid out for: the longest context, stretched by a linear scaling."""
    longest = cfg.optional(*_CONTEXTS)
    scaling = cfg.raw("rope_scaling") or cfg.raw("rope_parameters")
    if longest is None or not isinstance(scaling, Mapping):
        return longest
    if isinstance(scaling.get("full_attention"), Mapping):
        scaling = scaling["full_attention"]
    factor = scaling.get("factor")
    linear = "linear" in (scaling.get("rope_type"), scaling.get("type"))
    plain = isinstance(factor, int | float) and not isinstance(factor, bool) and 1 <= factor <= _MOST_SCALED
    return round(longest * factor) if linear and plain else longest


def _say(outer: Config, cfg: Config, *, keys: bool, sizes: bool) -> None:
    """Once all is read: keys that nobody asked for, and unless left out on purpose the sizes that are not there.

    keys    no weight file is at hand, whose own matrices would say so better
    """
    doubt = unread(outer, cfg) if keys else None
    if doubt is not None:
        outer.warn(doubt)
    if sizes:
        outer.say_left_out()


def text_section(outer: Config) -> Config:
    """The part of a config that describes the text model: itself, or a section of it, however deep."""
    for key in _TEXT_SECTIONS:
        if isinstance(outer.raw(key), Mapping):
            section = outer.section(key)
            if section is not None and section.data:
                return text_section(section)
    return outer


def _refuse_endless(cfg: Config) -> None:
    """A layer count no model has is a mistake or an attack: refused before a plan of that many layers is made."""
    for key in ("num_hidden_layers", "n_layer", "num_layers", "n_layers"):
        value = cfg.raw(key)
        if isinstance(value, int | float) and value > _MOST_LAYERS:
            raise cfg.bad(key, value, f"a number of layers of at most {_MOST_LAYERS}")


def _completed(outer: Config, cfg: Config, model_type: str) -> Config:
    """A nested text config with what it leaves to the outer one, and to the defaults of its model type."""
    if cfg is outer:
        return cfg
    data = dict(cfg.data)
    for key in ("tie_word_embeddings", "vocab_size"):
        if data.get(key) is None and outer.data.get(key) is not None:
            data[key] = outer.data[key]
    missing = {key: value for key, value in default_sizes_of(model_type).items() if data.get(key) is None}
    if not missing:
        return cfg.replaced(data)
    spelled = ", ".join(f"{key} {value}" for key, value in missing.items())
    cfg.assume(f"{cfg.path.rstrip('.')} leaves out {spelled}: the defaults of {model_type}")
    return cfg.replaced({**data, **missing})


def _plan(outer: Config, cfg: Config, sidecar: Mapping[str, Any] | None) -> Plan | None:
    """The plan of the quantisation section; where nothing asks for one, the modules that read it are not imported."""
    sections = (*SECTIONS, MLX_SECTION)
    if sidecar is None and not cfg.has(*sections, "expert_dtype") and not outer.has(*sections):
        return None
    from rooflight.catalog.config.quantization import plan_of

    return plan_of(outer, cfg, sidecar)


def _dtype(outer: Config, cfg: Config) -> str:
    for config in (cfg, outer):
        name = config.raw("dtype", "torch_dtype")
        if name is None or name == "auto":
            continue
        if not isinstance(name, str):
            raise config.bad("torch_dtype", name, "the name of a number type")
        found = _DTYPES.get(name.removeprefix("torch.").lower())
        if found:
            return found
        config.assume(f"the weight type {name!r} is no wide one: layers without a format of their own are read as bf16")
        return "bf16"
    outer.assume("the config names no weight type (torch_dtype): bf16")
    return "bf16"


def _doubt_name(outer: Config, id: str, dtype: str) -> None:
    """A name of a quantised checkpoint, and nothing in the files that says so."""
    for name in (id, str(outer.raw("_name_or_path") or "")):
        mark = _QUANTISED.search(name)
        if mark is not None:
            outer.warn(
                f"{name[-80:]} is named after a quantised checkpoint ({mark[1]}), but there is no quantization_config,"
                f" and no hf_quant_config.json was found beside it: all weights are counted as {dtype}"
            )
            return


def _draft_layers(cfg: Config) -> int:
    """Layers for multi-token prediction, said not to be counted."""
    drafts = cfg.raw(*DRAFT_KEYS)
    if not isinstance(drafts, int) or isinstance(drafts, bool) or drafts <= 0:
        return 0
    layers = "layer" if drafts == 1 else "layers"
    cfg.assume(f"{drafts} multi-token-prediction {layers} not counted: only speculative decoding runs them")
    return min(drafts, _MOST_LAYERS)


def _towers(outer: Config, dtype: str) -> tuple[Tower, ...]:
    outer_type = outer.raw("model_type")
    counter = tower_counter_of(outer_type.lower()) if isinstance(outer_type, str) else None
    if counter is not None:
        return tuple(msgspec.structs.replace(tower, format=dtype) for tower in counter(outer))
    towers = []
    for key in _TOWER_SECTIONS:
        if isinstance(outer.raw(key), Mapping):
            name = "audio" if "audio" in key or "speech" in key or "sound" in key else "vision"
            outer.assume(f"the {name} tower ({key}) is not counted")
            towers.append(Tower(name=name, parameters=None, format=dtype))
    return tuple(towers)


def _seen(outer: Config, towers: tuple[Tower, ...]) -> tuple[Tower, ...]:
    """The towers with what they multiply; a model without one does not import what reads that."""
    outer_type = outer.raw("model_type")
    if not towers or not isinstance(outer_type, str):
        return towers
    return shapes_reader()(outer, outer_type.lower(), towers)

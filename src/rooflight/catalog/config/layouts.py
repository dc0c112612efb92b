"""Which layers attend how far, and which have experts: by the file's lists, else by a rule of the model line."""

from __future__ import annotations

from typing import Literal

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.vocabulary import CHUNKED, EVERYTHING, FULL, SLIDING
from rooflight.values.model import Reach

# A fixed answer, or the config keys that decide (tried in order, separated by blanks) and what their absence means.
Flag = bool | tuple[str, bool]

# How window layers are laid out where no layer_types says so:
# none         no windows, whatever sliding_window says
# all          every layer, once sliding_window is set
# from         from layer max_window_layers on
# every        all but each n-th layer (n = sliding_window_pattern, else `of`): 3 local, 1 global, ...
# every-first  the same, the global layer being the first of each n
# below        every second layer, the first one local, below max_window_layers
# nope         the layers without rotary positions (no_rope_layers 0)
Layout = Literal["none", "all", "from", "every", "every-first", "below", "nope"]

# Which layers keep a dense feed-forward, where no mlp_layer_types says so:
# none    none of them
# first   the first first_k_dense_replace, and all but each moe_layer_freq-th
# steps   those of mlp_only_layers, and all but each decoder_sparse_step-th
# between those outside moe_layer_start_index..moe_layer_end_index, and all but each moe_layer_interval-th
Dense = Literal["none", "first", "steps", "between"]


class Windows(msgspec.Struct, frozen=True):
    """How far layers look back.

    of      layers in a repeat of local and global ones
    size    sliding_window where the key is absent (an explicit null means none)
    when    the key that switches windows on
    """

    layout: Layout = "none"
    of: int = 0
    size: int | None = None
    when: Flag = True


def is_set(cfg: Config, flag: Flag) -> bool:
    """A fixed answer, or what the first of the keys that is there says."""
    return flag if isinstance(flag, bool) else cfg.flag(*flag[0].split(), default=flag[1])


def label_of(reach: Reach) -> str:
    """What a layer's attention is called."""
    if reach.window is not None:
        return "sliding attention"
    return "chunked attention" if reach.chunk is not None else "attention"


def reaches_of(windows: Windows, cfg: Config) -> list[Reach]:
    """What each layer attends: as layer_types says, else by the family's own layout."""
    count, layout = cfg.layers, windows.layout
    window = _window(windows, cfg)
    near = Reach(window=window)
    types = cfg.items("layer_types", of="name", length=count)
    if types is not None:
        if window is None and SLIDING in types:
            why = "this model type has none" if layout == "none" else "none is set"
            cfg.warn(f"layer_types asks for sliding_attention, but of windows {why}: read as full attention")
        return [_reach_named(cfg, name, near) for name in types]
    if window is None:
        return [EVERYTHING] * count
    if layout == "all":
        return [near] * count
    if layout == "from":
        first = cfg.integer("max_window_layers", default=count, at_least=0, said=False)
        return [near if number >= first else EVERYTHING for number in range(count)]
    if layout == "below":
        below = cfg.integer("max_window_layers", default=28, at_least=0)
        return [EVERYTHING if number % 2 or number >= below else near for number in range(count)]
    repeat = _repeat(windows, cfg)
    if layout == "every-first":
        return [near if number % repeat else EVERYTHING for number in range(count)]
    local, other = (EVERYTHING, near) if layout == "nope" else (near, EVERYTHING)
    return [local if (number + 1) % repeat else other for number in range(count)]


def _repeat(windows: Windows, cfg: Config) -> int:
    """Layers in a repeat of local and global ones; a word such as "LLLG" spells it out."""
    keys = ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers")
    word = cfg.raw(*keys)
    if isinstance(word, str) and word and set(word[:-1]) <= {"L"} and word.endswith("G"):
        return len(word)
    # that every second layer is local is a rule of its families, and no key of theirs
    repeat: int = cfg.integer(*keys, default=windows.of, said=windows.of > 2)
    return repeat


def _window(windows: Windows, cfg: Config) -> int | None:
    if windows.layout == "none" or not is_set(cfg, windows.when):
        return None
    if "sliding_window" not in cfg.data and windows.size is not None:
        cfg.assume(f"sliding_window is not given: {windows.size}, the default of this model type")
        return windows.size
    return cfg.optional("sliding_window")


def _reach_named(cfg: Config, name: object, near: Reach) -> Reach:
    if name == FULL:
        return EVERYTHING
    if name == SLIDING:
        return near
    if name == CHUNKED:
        return Reach(chunk=cfg.integer("attention_chunk_size"))
    raise cfg.bad("layer_types", name, "made of full_attention and sliding_attention in this model type")


def every(cfg: Config, n: int, *, most: str, nth: str) -> list[str]:
    """Layer kinds in repeats of `n`: `most`, and the last of each repeat `nth`."""
    return [most if (number + 1) % n else nth for number in range(cfg.layers)]


def dense_layers(rule: Dense, cfg: Config, first: int = 0) -> frozenset[int]:
    """The numbers of the layers without experts; `first`: how many dense ones are in front where the file is silent."""
    layers = cfg.layers
    types = cfg.items("mlp_layer_types", of="name", length=layers)
    if types is not None:
        return frozenset(number for number, name in enumerate(types) if name == "dense")
    if rule == "first":
        first = cfg.integer("first_k_dense_replace", "num_dense_layers", default=first, at_least=0)
        if first > layers and cfg.has("first_k_dense_replace", "num_dense_layers"):
            cfg.warn(f"the first {first} layers are to be dense, but there are {layers}: no layer has experts")
        return _by_frequency(cfg, layers, first)
    if rule == "steps":
        step = cfg.integer("decoder_sparse_step", default=1, said=False)
        only = cfg.layer_numbers("mlp_only_layers", layers) or []
        return frozenset(number for number in range(layers) if number in only or (number + 1) % step)
    if rule == "between":
        start = cfg.integer("moe_layer_start_index", default=1, at_least=0)
        end = cfg.integer("moe_layer_end_index", default=layers - 1, at_least=-1, said=False)
        end = layers - 1 if end == -1 else end
        step = cfg.integer("moe_layer_interval", default=1, said=False)
        return frozenset(n for n in range(layers) if not (start <= n <= end and (n + 1) % step == 0))
    return frozenset()


def _by_frequency(cfg: Config, layers: int, first: int) -> frozenset[int]:
    """moe_layer_freq is a step, or a list of one 0/1 a layer."""
    marks = cfg.raw("moe_layer_freq")
    if isinstance(marks, list):
        marks = cfg.items("moe_layer_freq", of="mark", length=layers) or []
        return frozenset(number for number, mark in enumerate(marks) if not mark)
    step = cfg.integer("moe_layer_freq", default=1, said=False)
    return frozenset(number for number in range(layers) if number < first or number % step)

"""A model of which only the size is known: a stated typical shape that comes to the asked number of parameters.

`70b` is a dense decoder, `30b-a3b` a routed one that runs 3 of its 30 billion parameters a token. Depth, width and
heads are those of real models near that size, the feed-forwards are solved for: so the weights come to what was asked.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import msgspec

from rooflight.catalog.config import model_from_dict
from rooflight.catalog.config.heads import as_named
from rooflight.errors import BadInput, Named
from rooflight.units import to_base
from rooflight.values.model import Model, Sized

_UNITS = {"m": to_base(1, "Mparams"), "b": to_base(1, "Gparams"), "t": to_base(1, "Tparams")}
_AMOUNT = r"(\d{1,5}(?:\.\d{1,6})?)\s*([mbt])"
_COUNT = re.compile(_AMOUNT, re.IGNORECASE)
_SIZE = re.compile(rf"{_AMOUNT}(?:[-_ ]?a{_AMOUNT})?", re.IGNORECASE)
# In a name: "some-new-model-32B-A3B-Q4_K_M"; digits that belong to a version (3.5-27B) are apart from it.
_NAMED = re.compile(rf"(?:^|[-_. /:]){_AMOUNT}(?:[-_ ]?a{_AMOUNT})?(?=$|[-_. /:])", re.IGNORECASE)
_LEAST, _MOST = to_base(1, "Mparams"), 100 * to_base(1, "Tparams")
# Tables of models below this many parameters are tied to the head (Qwen3 to 4B, Llama-3.2 to 3B).
_TIED_BELOW = 4.5 * to_base(1, "Gparams")
# Feed-forwards are multiples of the widest of these that comes near enough to the asked parameters.
# Of experts: multiples, and how near the parameters that a token runs then come to those asked.
_EXPERT_STEPS = ((256, 0.02), (64, 0.02), (32, 0.02), (32, 0.05), (1, 0.02))
_STEPS, _NEAR = (256, 128, 64, 32, 16, 8, 4, 2, 1), 0.0004
# How far a vocabulary may move, in steps of so many rows, so that feed-forwards are whole blocks.
_VOCAB_WITHIN, _ROWS = 0.3, 64
# Tables of a routed model whose own kind's would be more than runs: SmolLM's vocabulary, tied to the head.
_SMALL_VOCAB = 49_152
# Experts are taken in multiples of so many, and are no more than so many: real ones have up to 896 (Kimi-K3).
_BLOCK, _MOST_EXPERTS = 8, 4096
_WANT = "layers, a hidden size and a vocabulary that leave parameters for feed-forwards"
_WANT_EXPERTS = f"{_WANT}, all of them in at most {_MOST_EXPERTS:,} experts, of which a token runs a few"


class _Real(NamedTuple):
    """A real model's shape, after which others of its size are taken."""

    parameters: float
    active: float
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    chosen: int = 0


def _real(parameters: float, active: float, *shape: int) -> _Real:
    return _Real(parameters * _UNITS["b"], active * _UNITS["b"], *shape)


# Ours, 2026-11-29: which real models are typical of their size; their shapes are those of catalog/models.
_DENSE = (
    _real(0.135, 0.135, 30, 576, 9, 3, 64, 49_152),  # SmolLM2-135M
    _real(0.362, 0.362, 32, 960, 15, 5, 64, 49_152),  # SmolLM2-360M
    _real(0.596, 0.596, 28, 1024, 16, 8, 128, 151_936),  # Qwen3-0.6B
    _real(1.721, 1.721, 28, 2048, 16, 8, 128, 151_936),  # Qwen3-1.7B
    _real(4.022, 4.022, 36, 2560, 32, 8, 128, 151_936),  # Qwen3-4B
    _real(8.030, 8.030, 32, 4096, 32, 8, 128, 128_256),  # Llama-3.1-8B
    _real(14.768, 14.768, 40, 5120, 40, 8, 128, 151_936),  # Qwen3-14B
    _real(32.762, 32.762, 64, 5120, 64, 8, 128, 151_936),  # Qwen3-32B
    _real(70.554, 70.554, 80, 8192, 64, 8, 128, 128_256),  # Llama-3.1-70B
    _real(125.0, 125.0, 88, 12_288, 96, 8, 128, 131_072),  # Devstral-2-123B
    _real(405.853, 405.853, 126, 16_384, 128, 8, 128, 128_256),  # Llama-3.1-405B
)
_ROUTED = (
    _real(14.316, 2.689, 24, 2048, 16, 16, 128, 151_936, 4),  # Qwen1.5-MoE-A2.7B
    _real(20.915, 4.187, 24, 2880, 64, 8, 64, 201_088, 4),  # gpt-oss-20b
    _real(30.532, 3.353, 48, 2048, 32, 4, 128, 151_936, 8),  # Qwen3-30B-A3B
    _real(46.703, 12.879, 32, 4096, 32, 8, 128, 32_000, 2),  # Mixtral-8x7B
    _real(116.829, 5.711, 36, 2880, 64, 8, 64, 201_088, 4),  # gpt-oss-120b
    _real(235.094, 22.190, 94, 4096, 64, 4, 128, 151_936, 8),  # Qwen3-235B-A22B
    _real(480.155, 35.475, 62, 6144, 96, 8, 128, 151_936, 8),  # Qwen3-Coder-480B-A35B
    _real(1026.408, 32.861, 61, 7168, 64, 8, 128, 163_840, 8),  # Kimi-K2, with 8 KV heads in place of its latents
)


def amount(text: str, name: str = "parameters") -> int:
    """So many parameters: 70b, 0.6b, 350m. Raises BadInput."""
    found = _COUNT.fullmatch(str(text).strip())
    count = 0 if found is None else _number(found[1], found[2])
    if not _LEAST <= count <= _MOST:
        raise BadInput(
            f"{str(text)[:60]!r} is no number of parameters", where=Named.of(name), got=str(text)[:60],
            want="a number with m, b or t behind it: millions, billions (1e9) or trillions", try_this="70b",
        )  # fmt: skip
    return count


def size_of(name: str) -> Sized | None:
    """What a name that is nothing but a size says: 70b, 8B, 30b-a3b. None: it is none."""
    found = _SIZE.fullmatch(name.strip())
    return None if found is None else _sized(found)


def size_in(name: str) -> Sized | None:
    """The size that stands in a model's name, the last where there are several. None: none does."""
    every = list(_NAMED.finditer(name[:300]))
    return _sized(every[-1]) if every else None


def _sized(found: re.Match[str]) -> Sized | None:
    total = _number(found[1], found[2])
    active = None if found[3] is None else _number(found[3], found[4])
    if not _LEAST <= total <= _MOST or (active is not None and not _LEAST <= active < total):
        return None
    return Sized(parameters=total, active_parameters=active)


def _number(digits: str, unit: str) -> int:
    return round(float(digits) * _UNITS[unit.lower()])


def shaped(asked: Sized, name: str | None = None) -> Model:
    """The typical model of that size, called by it (or by `name`). Raises BadInput where no such shape comes to it."""
    real = _nearest(asked)
    config = _routed(asked, real) if asked.active_parameters is not None else _dense(asked, real)
    called = name or spelled(asked)
    model = as_named(model_from_dict(config, id=called, origin=f"size:{msgspec.json.encode(asked).decode()}"))
    said = f"{_told(asked)} taken as {_shape(config)}; assumed"
    return msgspec.structs.replace(
        model, max_context=None, rope_positions=None, sized=asked, assumptions=(*model.assumptions, said)
    )


def spelled(asked: Sized) -> str:
    """70b, 30b-a3b."""
    active = "" if asked.active_parameters is None else f"-a{_short(asked.active_parameters)}"
    return f"{_short(asked.parameters)}{active}"


def _short(count: int) -> str:
    unit = "m" if count < _UNITS["b"] else "b" if count < _UNITS["t"] else "t"
    return f"{count / _UNITS[unit]:.6g}{unit}"


def _told(asked: Sized) -> str:
    return spelled(asked).upper()


def _nearest(asked: Sized) -> _Real:
    """The real model nearest in size, in depth and width as of its size; what is stated takes their place."""
    active = asked.active_parameters
    if active is None:
        return min(_DENSE, key=lambda one: abs(math.log(one.parameters / asked.parameters)))

    def apart(one: _Real) -> float:
        return abs(math.log(one.parameters / asked.parameters)) + abs(math.log(one.active / active))

    return min(_ROUTED, key=apart)


def _outline(asked: Sized, real: _Real, run: float, like: float) -> dict[str, Any]:
    """Depth, width, heads and tables: the real model's, grown by the cube root of what runs over what runs of it."""
    grown = (run / like) ** (1 / 3)
    if 0.8 <= grown <= 1.15:  # as it is: its feed-forward makes the difference
        grown = 1.0
    layers = asked.layers or max(round(real.layers * grown / 2) * 2, 2)
    unit = real.head_dim
    hidden = asked.hidden or (real.hidden if grown == 1 else max(round(real.hidden * grown / unit), 1) * unit)
    head_dim = asked.head_dim or real.head_dim
    kv_heads = asked.kv_heads or real.kv_heads
    heads = max(round(real.heads * real.head_dim / real.hidden * hidden / head_dim / kv_heads), 1) * kv_heads
    return {
        "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "head_dim": head_dim, "vocab_size": asked.vocab or real.vocab,
        "torch_dtype": "bfloat16", "max_position_embeddings": 131_072, "hidden_act": "silu", "attention_bias": False,
    }  # fmt: skip


def _outside_feeds(config: dict[str, Any]) -> int:
    """Parameters of a decoder but for its feed-forwards: tables, head, queries, keys, values, output, norms.

    Check: 80 x 8192, 64 heads, 8 KV heads of 128, vocabulary 128,256, untied -> 2 x 1,050,673,152 + 80 x 151,011,328
    + 8,192.
    """
    hidden, dim = config["hidden_size"], config["head_dim"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    tables = config["vocab_size"] * hidden * (1 if config["tie_word_embeddings"] else 2)
    layer = hidden * dim * (2 * heads + 2 * kv_heads) + 2 * hidden
    return int(tables + config["num_hidden_layers"] * layer + hidden)


def _dense(asked: Sized, real: _Real) -> dict[str, Any]:
    """Feed-forwards in whole blocks of 256, as formats in blocks need; the vocabulary takes the rest, unless stated."""
    config = _outline(asked, real, asked.parameters, real.parameters)
    tied = asked.parameters < _TIED_BELOW
    config |= {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "tie_word_embeddings": tied}
    left = asked.parameters - _outside_feeds(config)
    a_width, row = 3 * config["hidden_size"] * config["num_hidden_layers"], config["hidden_size"] * (1 if tied else 2)
    width = max(round(left / a_width / _STEPS[0]), 1) * _STEPS[0]
    vocab = config["vocab_size"] + round((left - width * a_width) / row / _ROWS) * _ROWS
    if asked.vocab is None and abs(vocab / config["vocab_size"] - 1) <= _VOCAB_WITHIN:
        return config | {"vocab_size": vocab, "intermediate_size": width}
    found = _width(left, a_width, asked.parameters)
    if found is None or abs(left - found * a_width) > asked.parameters / 1000:
        raise _no_shape(asked, config)
    return config | {"intermediate_size": found}


def _width(left: float, a_width: int, of: int) -> int | None:
    """The width of feed-forwards that come nearest to `left`, of so many parameters a unit; None: nothing is left."""
    exact = left / a_width
    for step in _STEPS:
        width = round(exact / step) * step
        if width > 0 and abs(width * a_width - left) <= _NEAR * of:
            return width
    return max(round(exact), 1) if exact > 0 else None


def _routed(asked: Sized, real: _Real) -> dict[str, Any]:
    """The outline with its experts; with small tied tables where its own kind's would be more than what runs."""
    active = asked.active_parameters or 0
    config = _outline(asked, real, active, real.active) | {
        "tie_word_embeddings": False, "norm_topk_prob": True, "decoder_sparse_step": 1
    }  # fmt: skip
    found = _with_experts(asked, config, real.chosen)
    if found is None:
        small = config | {"vocab_size": asked.vocab or _SMALL_VOCAB, "tie_word_embeddings": True}
        found = _with_experts(asked, small, real.chosen)
    if found is None:
        raise _no_shape(asked, config)
    return found


def _with_experts(asked: Sized, config: dict[str, Any], chosen: int) -> dict[str, Any] | None:
    """Experts that a token runs so many of that all and what runs come to what was asked; None: none do.

    E experts of e parameters, k of them chosen, and a shared one of s that every token runs: total = rest + s + E e,
    active = rest + s + k e. E is the fewest, in steps of 8, that leave s >= 0 with experts in whole blocks.
    """
    active, layers, hidden = asked.active_parameters or 0, config["num_hidden_layers"], config["hidden_size"]
    unit, rest = 3 * hidden * layers, _outside_feeds(config)
    if active <= rest:
        return None
    fewest = math.ceil(chosen * (asked.parameters - rest) / (active - rest) / _BLOCK)
    most = min(2 * fewest + 1, _MOST_EXPERTS // _BLOCK)
    tried = ((*step, _BLOCK * blocks) for step in _EXPERT_STEPS for blocks in range(fewest, most + 1))
    for step, near, experts in tried:
        width = round((asked.parameters - active) / (experts - chosen) / unit / step) * step
        # the shared one takes the rest, in steps that come near enough
        exact = (asked.parameters - rest - layers * experts * hidden) / unit - experts * width
        least = 32 if 16 * unit <= _NEAR * asked.parameters else 1
        shared = round(exact / least) * least
        runs = rest + layers * experts * hidden + unit * (chosen * width + shared)
        if 0 <= shared <= chosen * width and abs(runs / active - 1) <= near:
            break
    else:
        return None
    found = config | {
        "num_experts": experts, "num_experts_per_tok": chosen, "moe_intermediate_size": width,
        "intermediate_size": width,
    }  # fmt: skip
    if not shared:
        return found | {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"]}
    return found | {
        "model_type": "qwen2_moe", "architectures": ["Qwen2MoeForCausalLM"], "qkv_bias": False,
        "shared_expert_intermediate_size": shared,
    }  # fmt: skip


def _no_shape(asked: Sized, config: dict[str, Any]) -> BadInput:
    return BadInput(
        f"no typical shape comes to {_told(asked)}", where="model",
        got=f"{config['num_hidden_layers']:,} layers x {config['hidden_size']:,}, vocabulary {config['vocab_size']:,}",
        want=_WANT_EXPERTS if asked.active_parameters else _WANT,
        try_this="a config.json of the model, or fewer layers and a smaller vocabulary: --layers, --vocab",
    )  # fmt: skip


def _shape(config: dict[str, Any]) -> str:
    """a dense decoder of 80 layers x 8192, 64 heads and 8 KV heads of 128, ..."""
    kind = "a routed" if "num_experts" in config else "a dense"
    base = (
        f"{kind} decoder of {config['num_hidden_layers']} layers x {config['hidden_size']}, "
        f"{config['num_attention_heads']} heads and {config['num_key_value_heads']} KV heads of {config['head_dim']}, "
        f"vocabulary {config['vocab_size']:,}"
    )
    if "num_experts" not in config:
        return f"{base}, feed-forward of {config['intermediate_size']:,}"
    common = config.get("shared_expert_intermediate_size")
    shared = f" beside a shared one of {common:,}" if common else ""
    return (
        f"{base}, {config['num_experts_per_tok']} of {config['num_experts']} experts of "
        f"{config['moe_intermediate_size']:,}{shared}"
    )

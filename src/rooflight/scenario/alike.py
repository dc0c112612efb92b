"""Real models of a size: those of the catalog near it, and the one of a family whose shape is scaled to it."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from rooflight.catalog import models, sized
from rooflight.errors import UnknownName
from rooflight.values.model import Layer, Linear, Model, Sized
from rooflight.work import count

# Ours, 2026-11-29: a model counts as of a size within this share of its parameters; of its active ones, within that.
WITHIN, ACTIVE_WITHIN = 0.15, 0.5
# Ours, 2026-11-29: the least that a step streams over the size in a model's name. In the catalog names count tables
# and towers that are not streamed (Qwen2-VL-2B 0.77, Llama-3.2-11B-Vision 0.84, RedPajama-INCITE-3B 0.88).
LEAST = 0.75
# A family's model is scaled to a size no further from it than this factor.
_FAMILY_WITHIN = 1.6
# Ours, 2026-11-29: routed models no further from a size than this factor say how few of its parameters a token may run.
# Wide, for the catalog lacks some: granite-4.0-h-tiny runs 1 of 7 billion, where those of the catalog near it run 0.2.
_KIN = 3.0
# Words of names that are no family's.
_NO_FAMILY = frozenset(
    {
        "base", "chat", "instruct", "hf", "preview", "new", "some", "model", "thinking", "reasoning", "small", "large",
        "mini", "nano", "super", "ultra", "pro", "max", "flash", "lite", "plus", "coder", "code", "math", "vision",
        "awq", "gptq", "gguf", "mlx", "exl", "int", "bit", "distill", "moe",
    }
)  # fmt: skip


@lru_cache(maxsize=1)
def _known() -> tuple[tuple[Model, int, int], ...]:
    """Decoders of the catalog that generate tokens, as their own config has them, with parameters and active ones.

    Checkpoints that somebody quantised are left out: the shape counts, and theirs is there.
    """
    every = (
        one for one in models.all_models()
        if count.puts_out_tokens(one) and not count.has_source(one)
        and (one.quantization is None or one.quantization == "mxfp4")
    )  # fmt: skip
    return tuple((one, count.parameters(one), count.active_parameters(one)) for one in every)


def of_size(asked: Sized) -> tuple[Model, ...]:
    """The catalog's models of that size: of a dense one, dense ones; of a routed one, those that run about as much."""

    def near(total: int, active: int) -> bool:
        if abs(total / asked.parameters - 1) > WITHIN:
            return False
        if asked.active_parameters is None:
            return active == total
        return active < total and abs(active / asked.active_parameters - 1) <= ACTIVE_WITHIN

    return tuple(one for one, total, active in _known() if near(total, active))


def read_by_name(name: str) -> Model:
    """A model that nobody described, by the size in its name, and its family's shape where one near it is known.

    Check: "some-new-model-32B-A3B-Q4_K_M" -> a typical routed model. Raises UnknownName where no size stands in it.
    """
    asked = sized.size_in(name)
    if asked is None:
        raise UnknownName(f"no size stands in the name {name[:60]!r}", got=name[:60])
    asked = msgspec.structs.replace(asked, named=True)
    kin = _of_family(name, asked)
    if kin is None:
        return sized.shaped(asked, name)
    return _scaled(kin, asked, name)


def sparse(model: Model) -> Model:
    """The fewest bytes that a model of a size may stream, for a ceiling: weights alone, without a cache.

    Of a routed model those that one token runs; of these the share that LEAST says, in matrices of one format. A name
    that says no more than the size may be a routed model's: those of the catalog near it say how few one token runs.
    """
    asked = model.sized or Sized(parameters=count.parameters(model))
    runs = asked.active_parameters or asked.parameters * (least_run(asked.parameters) if asked.named else 1)
    fewest = int(runs * LEAST)
    bare = sized.shaped(Sized(parameters=fewest, vocab=256), model.id)
    layers = tuple(msgspec.structs.replace(layer, mixer=None) for layer in bare.layers)
    return msgspec.structs.replace(bare, layers=layers, sized=asked, origin=f"least:{model.origin}")


def least_run(parameters: int) -> float:
    """The least share of its parameters that a token runs, of the catalog's models near that size; 1: none is routed.

    Check: 35 billion -> 0.049 (Qwen3-Next-80B-A3B, 3.9 of 79.7 billion).
    """
    near = (active / total for _, total, active in _known() if 1 / _KIN <= total / parameters <= _KIN)
    return min(near, default=1.0)


def _of_family(name: str, asked: Sized) -> Model | None:
    """The catalog's model of the name's family that is nearest in size; None where none is near."""
    own = _family(name)
    if not own:
        return None

    def apart(total: int) -> float:
        return max(total / asked.parameters, asked.parameters / total)

    kin = [
        (apart(total), one) for one, total, active in _known()
        if _family(one.id.rpartition("/")[2])[:1] == own[:1]
        and (active < total) == (asked.active_parameters is not None) and apart(total) <= _FAMILY_WITHIN
    ]  # fmt: skip
    return min(kin, key=lambda one: one[0])[1] if kin else None


def _family(name: str) -> list[str]:
    """The words of a name that may be a family's: `qwen3` of Qwen3-32B."""
    tail = re.split(r"[/\\]", name.lower())[-1]
    words = re.split(r"[-_. ]", tail)
    return [word for word in words if re.fullmatch(r"[a-z]{3,}\d{0,2}", word) and word not in _NO_FAMILY]


def _scaled(kin: Model, asked: Sized, name: str) -> Model:
    """The model's shape with feed-forwards that make it as large as asked: experts' where it has them."""
    feeds = sum(
        layer.count * (sum(map(count.linear_parameters, layer.mlp)) + count.expert_parameters(layer))
        for layer in kin.layers
    )
    factor = 1 + (asked.parameters - count.parameters(kin)) / feeds if feeds else 0.0
    if not 0.2 <= factor <= 5:
        return sized.shaped(asked, name)
    layers = tuple(_wider(layer, factor) for layer in kin.layers)
    said = f"{sized.spelled(asked).upper()} taken as {kin.id} with feed-forwards {factor:.3g} times as wide; assumed"
    return msgspec.structs.replace(
        kin, id=name, layers=layers, sized=msgspec.structs.replace(asked, near=kin.id), origin=f"size:{kin.id}:{name}",
        towers=(), max_context=None, rope_positions=None, assumptions=(*kin.assumptions, said), table_bytes=None,
    )  # fmt: skip


def _wider(layer: Layer, factor: float) -> Layer:
    experts = layer.experts
    if experts is not None:
        linears = tuple(_stretched(linear, factor) for linear in experts.linears)
        experts = msgspec.structs.replace(experts, linears=linears)
    return msgspec.structs.replace(
        layer, mlp=tuple(_stretched(linear, factor) for linear in layer.mlp), experts=experts
    )


def _stretched(linear: Linear, factor: float) -> Linear:
    """A feed-forward's matrix of another width: its outputs, or the inputs of one that leads back."""
    if linear.name.endswith("down"):
        return msgspec.structs.replace(linear, inputs=max(round(linear.inputs * factor), 1), stored_bytes=None)
    even = 2 if linear.outputs % 2 == 0 else 1
    outputs = max(round(linear.outputs * factor / even), 1) * even
    return msgspec.structs.replace(linear, outputs=outputs, bias=outputs if linear.bias else 0, stored_bytes=None)

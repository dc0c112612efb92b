"""LoRA adapters: y += B A x beside a matrix, of the adapter that a sequence uses; exact counts, and their operators.

Source: Hu et al. 2021 (2106.09685), section 4.1; kernels as vLLM runs them (vllm/lora/ops/triton_ops: one lora_shrink
and one lora_expand a layer, fused matrices' slices together; vllm/lora/layers: A of matrices cut by outputs and B of
those cut by inputs whole on every device).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.affine import like
from rooflight.errors import BadInput, Named
from rooflight.numeric import Number, minimum
from rooflight.values.model import Adapters, Layer, Linear, Model
from rooflight.values.parts import pieces
from rooflight.values.work import Gemm, Operator, Row, Work
from rooflight.work import formulas
from rooflight.work.layout import Layout, local_sizes
from rooflight.work.numbers import Numbers

# Adapters are kept in 16 bits: vLLM's --lora-dtype is the model's own by default.
ADAPTER_ELEMENT_BYTES = 2
# Every matrix of attention and of dense and shared feed-forwards.
ALL = ("all-linear", "all")


def adapted(model: Model, rank: int, count: int, modules: str | None) -> Model:
    """The model with adapters on the modules named, with commas between. Raises BadInput for one it does not have."""
    there = dict.fromkeys(
        bare(name) for layer in model.layers for linear in _matrices(layer) for name, _ in pieces(linear, layer)
    )
    given = [] if modules is None else [bare(name) for name in modules.split(",")]
    wanted = tuple(dict.fromkeys(part for name in given for part in _FUSED.get(name, (name,))))
    if any(name in ALL for name in wanted):
        wanted = ()
    strange = [name for name in wanted if name not in there]
    if strange or (modules is not None and not given):
        raise BadInput(
            f"{model.id} has no matrix {', '.join(strange)[:60]} that an adapter goes on",
            where=Named.of("lora_modules"), got=(modules or "")[:60], want=f"some of {', '.join(there)}, or all-linear",
        )  # fmt: skip
    return msgspec.structs.replace(model, adapters=Adapters(rank=rank, count=count, modules=wanted))


_FUSED = {"qkv": ("q", "k", "v"), "gate_up": ("gate", "up"), "query_key_value": ("q", "k", "v")}


def bare(name: str) -> str:
    """q of q_proj."""
    return name.strip().lower().removesuffix("_proj")


def adapter_parameters(model: Model) -> int:
    """Parameters of one adapter: rank x (inputs + outputs) of every matrix it is on.

    Check by hand: Llama-3.1-8B, rank 16, q k v o gate up down: 32 x 16 x (2 x 8192 + 2 x 5120 + 3 x 18432)
    = 41,943,040.
    """
    if model.adapters is None:
        return 0
    on = ((layer.count, sides) for layer in model.layers for sides in _on(model.adapters, layer, 1))
    return int(sum(count * (sides.shrink + sides.expand) for count, sides in on))


def adapter_bytes(model: Model) -> int:
    """Bytes of all resident adapters."""
    return 0 if model.adapters is None else model.adapters.count * adapter_parameters(model) * ADAPTER_ELEMENT_BYTES


def device_adapter_bytes(model: Model, layout: Layout) -> float:
    """Bytes of all resident adapters on one device, stages taken as equal; what is not cut lies on each of them."""
    one = model.adapters
    if one is None:
        return 0.0
    held = sum(
        layer.count * (sides.shrink + sides.expand) for layer in model.layers for sides in _on(one, layer, layout.tp)
    )
    return float(one.count * held * ADAPTER_ELEMENT_BYTES / layout.pp)


class _Sides(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter's A and B beside one matrix on one device: elements of each, and what goes in and comes out."""

    shrink: float
    expand: float
    inputs: float
    middle: int
    outputs: float


def _matrices(layer: Layer) -> tuple[Linear, ...]:
    return (*layer.projections, *layer.mlp)


def _on(adapters: Adapters, layer: Layer, cut: int) -> Iterator[_Sides]:
    """The sides beside each matrix of a layer that has some."""
    for linear in _matrices(layer):
        if (sides := _beside(adapters, layer, linear, cut)) is not None:
            yield sides


def _beside(adapters: Adapters, layer: Layer, linear: Linear, cut: int) -> _Sides | None:
    """Slices of a fused matrix have an A and a B each."""
    rows = [rows for name, rows in pieces(linear, layer) if not adapters.modules or bare(name) in adapters.modules]
    if not rows:
        return None
    inputs, outputs, _ = local_sizes(linear, cut)
    middle, out = adapters.rank * len(rows), sum(rows) * outputs / linear.outputs
    return _Sides(
        shrink=middle * inputs, expand=adapters.rank * out, inputs=inputs, middle=middle, outputs=out,
    )  # fmt: skip


def adapter_rows(
    model: Model, layer: Layer, linear: Linear, tokens: Number, sequences: Number, cut: int, numbers: Numbers
) -> Iterator[Row]:
    """A and B beside a matrix: 2 x tokens x rank x (inputs + outputs) FLOP, the adapters that the sequences use read.

    N adapters are used alike and independently, so a step of M sequences reads N (1 - (1 - 1/N)^M) of them in
    expectation; a ceiling reckons with one. B's product is added to what the matrix put out, so that is read too.
    """
    one = model.adapters
    sides = None if one is None else _beside(one, layer, linear, cut)
    if one is None or sides is None:
        return
    used = like(tokens, formulas.touched_experts(experts=one.count, chosen=1, tokens=sequences))
    wide = numbers.act_bytes
    added = Work(activation_bytes=tokens * sides.outputs * wide)
    for name, inputs, outputs, elements, more in (
        ("lora_a", sides.inputs, sides.middle, sides.shrink, Work()),
        ("lora_b", sides.middle, sides.outputs, sides.expand, added),
    ):
        own = elements * ADAPTER_ELEMENT_BYTES
        work = formulas.gemm(
            tokens=tokens, inputs=elements / outputs, outputs=outputs, weight_bytes=own * used, in_act_bytes=0,
            out_act_bytes=wide,
        ) + more  # fmt: skip
        read = Work(activation_bytes=tokens * inputs * wide, avoidable_bytes=own * (used - minimum(used, 1)))
        shape = Gemm(tokens=tokens, inputs=elements / outputs, outputs=outputs)
        op = Operator(
            name=f"{name} {linear.name}", kind="linear", count=layer.count, compute="bf16", work=work + read,
            shape=shape,
        )  # fmt: skip
        yield (op.name, linear, elements, outputs), layer.kind, op

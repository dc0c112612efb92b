"""Single kernels of a model, run through torch on random numbers, their weights and caches out of memory each time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from rooflight import __version__
from rooflight.probe.device import Device, computing_in, filled, linear, torch_here, torch_type
from rooflight.probe.timing import now, timed, timing
from rooflight.units import scaled
from rooflight.values.sample import MachineState, Origin, Sample
from rooflight.values.work import Gemm, Operator, Rows, Scores

# Rotating over copies of that many times the last-level cache leaves nothing of the first in it.
COLD = 4
_BLOCK = 1 << 20  # elements that are drawn; the rest repeats them
_ALIGNED = 256  # elements between which copies begin
# Storage formats whose products torch has, by the format it multiplies in.
_RUN_IN = {"fp32": "fp32", "bf16": "bf16", "fp16": "fp16", "fp8": "fp8", "fp8-channel": "fp8", "w8a8-int8": "int8"}
# Means of sums over positions differ from the plain product by their rounding alone.
_SAME = 1e-6
_NORMS = ("norm", "final_norm")
_ACTIVATIONS = ("act", "shared_act", "expert_act")
# What torch and the libraries below it raise for a product they have no kernel for, or no memory.
_REFUSALS = (RuntimeError, NotImplementedError, TypeError, ValueError)


class Bench(NamedTuple):
    """A kernel ready to run: run(i) takes another copy of its operands each time.

    op      as it runs: of experts, whole ones with rows of their own
    """

    run: Callable[[int], object]
    name: str
    op: Operator
    shape: dict[str, float]
    format: str


class Pool:
    """Random numbers that operands are cut from: a block a format, of at least cold_bytes, of at most most_bytes."""

    def __init__(self, device: Device, *, cold_bytes: float, most_bytes: float) -> None:
        self._device, self._cold_bytes, self._most_bytes = device, cold_bytes, most_bytes
        self._blocks: dict[str, Any] = {}

    def copies(self, format: str, shape: tuple[int, ...], beside_bytes: float = 0.0) -> list[Any] | str:
        """Tensors of a shape that lie apart, so many that none is in a cache when its turn comes; or why not.

        beside_bytes    what the kernel takes beside them: activations and what it writes
        """
        size = torch_type(format).itemsize
        count = math.prod(shape)
        apart = math.ceil(count / _ALIGNED) * _ALIGNED
        if (why := self.refusal(apart * size + beside_bytes)) is not None:
            return why
        room = self._most_bytes - beside_bytes
        number = max(1, math.ceil(min(self._cold_bytes, room) / (apart * size)))
        number = min(number, max(1, int(room / (apart * size))))
        flat = self._flat(format, apart * number, room)
        return [flat[apart * one : apart * one + count].view(shape) for one in range(number)]

    def refusal(self, taken_bytes: float) -> str | None:
        """Why a kernel cannot run that takes so much; None: it can."""
        if taken_bytes <= self._most_bytes:
            return None
        return f"it takes {scaled(taken_bytes, 'B')}, and {scaled(self._most_bytes, 'B')} may be used"

    def _flat(self, format: str, count: int, room: float) -> Any:
        held = self._blocks.get(format)
        if held is None or held.numel() < count or held.nbytes > room:
            self._blocks.clear()  # one format at a time: the memory of others is free again
            torch = torch_here()
            drawn = filled(format, (min(_BLOCK, count),), self._device)
            held = torch.empty(count, dtype=drawn.dtype, device=drawn.device)
            for piece in held.split(drawn.numel()):
                piece.copy_(drawn[: piece.numel()])
            self._blocks[format] = held
        return held


def run_in(stored: str, device_formats: tuple[str, ...]) -> str | None:
    """The format in which torch multiplies weights stored so on a device; None: it cannot."""
    form = _RUN_IN.get(stored)
    return form if form in device_formats else None


def storable(device_formats: tuple[str, ...]) -> tuple[str, ...]:
    """Storage formats of weights that a device with these formats multiplies in."""
    return tuple(stored for stored, form in _RUN_IN.items() if form in device_formats)


def bench(op: Operator, device: Device, pool: Pool, wide: str) -> Bench | str:
    """The kernel of an operator, or why there is none. wide: the format of activations and caches."""
    shape, base = op.shape, op.name.partition(" (")[0]
    if isinstance(shape, Gemm):
        return _experts(op, shape, device, pool, wide) if op.kind == "experts" else _product(op, shape, device, pool)
    if isinstance(shape, Scores):
        return _attention(op, shape, device, pool, wide)
    if isinstance(shape, Rows) and base in (*_NORMS, "inner_norm", *_ACTIVATIONS):
        return _rows(op, shape, base, device, pool, wide)
    return "no kernel of torch does it alone"


def sample(
    one: Bench, device: Device, *, state: MachineState, budget_s: float, least: int, command: str | None = None
) -> Sample | str:
    """The kernel timed, or why it could not run."""
    torch = torch_here()
    start = now()
    form = _RUN_IN.get(one.format, one.format)
    try:
        with torch.inference_mode(), computing_in(form):
            seconds = timed(one.run, device, least=least, budget_s=budget_s)
    except _REFUSALS as error:
        return f"torch refuses it: {str(error).splitlines()[0][:160] if str(error) else type(error).__name__}"
    work = one.op.work
    return Sample(
        kind="kernel", name=one.name, operator=one.op.name, device=device.name, time_s=timing(seconds),
        flop=float(work.flop), bytes=float(work.moved_bytes), format=one.format, compute=one.op.compute,
        shape=one.shape, machine=state, start=start,
        source=Origin(command=command, tool="rooflight", version=__version__),
    )  # fmt: skip


def _whole(*sizes: float) -> tuple[int, ...] | None:
    """Sizes as whole numbers; None where one is none (a mean, or a share that does not divide)."""
    return None if any(size != int(size) or size < 1 for size in sizes) else tuple(int(size) for size in sizes)


_UNEVEN = "its sizes are no whole numbers"


# Bytes of an element of activations while they are made, and of what a product writes, where they are no format's own:
# one-byte floating-point numbers come of 32-bit ones, and sums are wider than what was multiplied.
_MAKING = {"fp8": 5}
_WRITTEN = {"fp8": 2, "int8": 4}


def _product_bytes(form: str, rows: int, inputs: int, outputs: int) -> float:
    """What a product takes beside its weights."""
    size: int = torch_type(form).itemsize
    return float(rows) * (inputs * _MAKING.get(form, size) + outputs * _WRITTEN.get(form, size))


def _product(op: Operator, shape: Gemm, device: Device, pool: Pool) -> Bench | str:
    sizes = _whole(shape.tokens, shape.inputs, shape.outputs)
    if sizes is None:
        return _UNEVEN
    tokens, inputs, outputs = sizes
    form = _RUN_IN[shape.stored]
    weights = pool.copies(form, (outputs, inputs), _product_bytes(form, tokens, inputs, outputs))
    if isinstance(weights, str):
        return weights
    x, multiply, count = filled(form, (tokens, inputs), device), linear(form), len(weights)
    return Bench(
        lambda i: multiply(x, weights[i % count]), f"linear {tokens} x {inputs} x {outputs} {shape.stored}", op,
        {"tokens": tokens, "inputs": inputs, "outputs": outputs}, shape.stored,
    )  # fmt: skip


def _experts(op: Operator, shape: Gemm, device: Device, pool: Pool, wide: str) -> Bench | str:
    """The experts that a step touches in expectation, each with its even share of the rows, as one batched product."""
    matrices = max(1, round(float(shape.matrices)))
    rows = max(1, round(float(shape.tokens) / matrices))
    sizes = _whole(shape.inputs, shape.outputs)
    if sizes is None:
        return _UNEVEN
    if _RUN_IN[shape.stored] != wide:
        return f"torch has no batched product of {shape.stored}"
    inputs, outputs = sizes
    beside = _product_bytes(wide, matrices * rows, inputs, outputs)
    weights = pool.copies(wide, (matrices, outputs, inputs), beside)
    if isinstance(weights, str):
        return weights
    x, count, bmm = filled(wide, (matrices, rows, inputs), device), len(weights), torch_here().bmm
    return Bench(
        lambda i: bmm(x, weights[i % count].transpose(1, 2)),
        f"experts {matrices} x {rows} x {inputs} x {outputs} {shape.stored}",
        _even(op, shape, matrices, rows),
        {"matrices": matrices, "tokens": rows * matrices, "inputs": inputs, "outputs": outputs}, shape.stored,
    )  # fmt: skip


def _even(op: Operator, shape: Gemm, matrices: int, rows: int) -> Operator:
    """The operator over whole experts with whole rows: its work in proportion."""
    work, more = op.work, rows * matrices / float(shape.tokens)
    each = float(work.weight_bytes) / float(shape.matrices)
    done = msgspec.structs.replace(
        work, flop=work.flop * more, weight_bytes=each * matrices, avoidable_bytes=0,
        activation_bytes=work.activation_bytes * more,
    )  # fmt: skip
    even = msgspec.structs.replace(shape, tokens=rows * matrices, matrices=matrices)
    return msgspec.structs.replace(op, work=done, shape=even)


def _attention(op: Operator, shape: Scores, device: Device, pool: Pool, wide: str) -> Bench | str:
    """Every query of a whole prompt over what stands before it, or one query a sequence over its cache."""
    sizes = _whole(shape.sequences, shape.new, shape.heads, shape.kv_heads, shape.head_dim)
    if sizes is None:
        return _UNEVEN
    sequences, new, heads, kv_heads, width = sizes
    plain = 4 * shape.sequences * shape.new * shape.keys * shape.heads * shape.head_dim
    causal = not shape.decoding and math.isclose(shape.keys, (new + 1) / 2)
    if heads % kv_heads or not math.isclose(plain, op.work.flop, rel_tol=_SAME) or not (shape.decoding or causal):
        return "attention other than to all positions before it has no kernel of torch's own"
    keys = new if causal else round(float(shape.keys))
    queries = float(sequences) * heads * new * width * torch_type(wide).itemsize
    cache = pool.copies(wide, (2, sequences, kv_heads, keys, width), 2 * queries)  # and as much is written
    if isinstance(cache, str):
        return cache
    attend, count = torch_here().nn.functional.scaled_dot_product_attention, len(cache)
    if causal:
        q = filled(wide, (sequences, heads, new, width), device)
        grouped = heads != kv_heads

        def run(i: int) -> object:
            return attend(q, cache[i % count][0], cache[i % count][1], is_causal=True, enable_gqa=grouped)
    else:  # the queries of a group are rows of one product, so that its keys and values are read once
        q = filled(wide, (sequences, kv_heads, heads // kv_heads, width), device)

        def run(i: int) -> object:
            return attend(q, cache[i % count][0], cache[i % count][1])

    what = "causal" if causal else "decode"
    name = f"{what} attention {sequences} x {heads}/{kv_heads} x {width}, {keys} keys {wide}"
    sizes_by_name = {
        "sequences": sequences, "new": new, "keys": keys, "heads": heads, "kv_heads": kv_heads, "head_dim": width,
    }  # fmt: skip
    return Bench(run, name, op, {name: float(size) for name, size in sizes_by_name.items()}, wide)


def _rows(op: Operator, shape: Rows, base: str, device: Device, pool: Pool, wide: str) -> Bench | str:
    """Norms with their residual addition, norms alone, activation functions with or without a gate."""
    sizes = _whole(shape.tokens, shape.read, shape.written)
    if sizes is None:
        return _UNEVEN
    tokens, read, written = sizes
    # twice: the parts that what is read is cut into, and what stands between the calls
    if (why := pool.refusal(2.0 * tokens * (read + written) * torch_type(wide).itemsize)) is not None:
        return why
    functional = torch_here().nn.functional
    x, width = filled(wide, (tokens, read), device), written
    if base in _NORMS:
        width = written // 2  # the sum with the residual is written too
        x, residual = x[:, :width].contiguous(), x[:, width:].contiguous()
        scale = filled(wide, (width,), device)

        def run(_: int) -> object:
            added = x + residual
            return added, functional.rms_norm(added, (width,), scale)
    elif base == "inner_norm":
        scale = filled(wide, (read,), device)

        def run(_: int) -> object:
            return functional.rms_norm(x, (read,), scale)
    elif read == 2 * written:

        def run(_: int) -> object:
            return functional.silu(x[:, :written]) * x[:, written:]
    elif read == written:

        def run(_: int) -> object:
            return functional.silu(x)
    else:
        return "no activation function reads and writes such widths"
    name = f"{base} {tokens} x {width} {wide}"
    return Bench(run, name, op, {"tokens": tokens, "width": width}, wide)

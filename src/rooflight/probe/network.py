"""A decoder made of a model's plan, with random weights: what torch takes for its steps.

Each kernel is a function of its own, so that the tables of kernels (probe/tables.py) time what a network runs.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from rooflight.errors import BadInput
from rooflight.probe.device import Device, torch_device, torch_here, torch_type
from rooflight.values.model import Attention, Experts, Layer, Linear, Model

# Random numbers are drawn once and repeated: drawing billions takes longer than the steps that are timed.
_DRAWN = 1 << 20
# Small, so that many layers of random weights stay finite in 16 bits.
_SCALE = 0.02
_EPSILON = 1e-6
_GATED = 2
_TINY_POSITIONS = 64


def weights(shape: tuple[int, ...], format: str, device: Device) -> Any:
    """Small random numbers of a shape."""
    torch = torch_here()
    drawn = _drawn(format, device)
    made = torch.empty(shape, dtype=drawn.dtype, device=drawn.device)
    flat = made.view(-1)
    whole = len(flat) // _DRAWN * _DRAWN
    flat[:whole].view(-1, _DRAWN).copy_(drawn)
    flat[whole:].copy_(drawn[: len(flat) - whole])
    return made


@functools.lru_cache(maxsize=4)
def _drawn(format: str, device: Device) -> Any:
    drawn = torch_here().randn(_DRAWN, device=torch_device(device))
    return drawn.mul_(_SCALE).to(torch_type(format))


def normed(x: Any, scale: Any) -> Any:
    """Root-mean-square norm over the last dimension."""
    return torch_here().nn.functional.rms_norm(x, scale.shape, scale, _EPSILON)


def inner_normed(q_and_k: Any, scales: Any) -> Any:
    """Norms over the elements of each head, queries' and keys' each with a scale of its own.

    q_and_k [..., heads, head_dim]; scales: (scale of the first heads, how many they are, scale of the rest)
    """
    q_scale, heads, k_scale = scales
    q, k = q_and_k.split((heads, q_and_k.shape[-2] - heads), -2)
    return torch_here().cat((normed(q, q_scale), normed(k, k_scale)), -2)


def gated(x: Any) -> Any:
    """SiLU of the first half times the second."""
    gate, up = x.chunk(2, -1)
    return torch_here().nn.functional.silu(gate).mul_(up)


def rotated(x: Any, angles: Any) -> Any:
    """Rotary embedding of [..., heads, head_dim] by (cosines, sines) of [..., 1, head_dim / 2]."""
    cosine, sine = angles
    first, second = x.chunk(2, -1)
    return torch_here().cat((first * cosine - second * sine, second * cosine + first * sine), -1)


def appended(q_and_k: Any, v: Any, angles: Any, cache: Any, at: int) -> Any:
    """Rotated queries; the rotated keys and the values go into the cache behind `at` cached positions.

    q_and_k, v  [sequences, tokens, heads, head_dim]; cache: (keys, values), [sequences, kv heads, positions, head_dim]
    """
    keys, values = cache
    new, kv_heads = v.shape[1], v.shape[2]
    q, k = rotated(q_and_k, angles).split((q_and_k.shape[2] - kv_heads, kv_heads), 2)
    keys[:, :, at : at + new] = k.transpose(1, 2)
    values[:, :, at : at + new] = v.transpose(1, 2)
    return q


def attended(q: Any, keys: Any, values: Any) -> Any:
    """One query a sequence over its cache; the query heads that share keys are rows of one product.

    q [sequences, kv heads, group, head_dim], keys and values [sequences, kv heads, positions, head_dim]
    """
    return torch_here().nn.functional.scaled_dot_product_attention(q, keys, values)


def prompted(q: Any, k: Any, v: Any) -> Any:
    """Causal attention of whole prompts: [sequences, heads, tokens, head_dim]."""
    attention = torch_here().nn.functional.scaled_dot_product_attention
    return attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])


def routed(rows: Any, picked: Any, number: int, shares: Any, out: Any, expert: Callable[[Any], Any]) -> None:
    """One expert's part: the rows that chose it, what it makes of them by their shares, added to `out`.

    rows, out [rows, hidden]; picked, shares [rows, chosen]
    """
    row, place = (picked == number).nonzero(as_tuple=True)
    out.index_add_(0, row, expert(rows[row]).mul_(shares[row, place, None]))


def chosen(logits: Any) -> Any:
    """The likeliest token of each sequence."""
    return logits.argmax(-1)


class Network:
    """A decoder with random weights and a static cache. Raises BadInput for layers that it cannot be made of.

    sequences, positions    of the cache; layers: the first so many (None: all)
    """

    def __init__(
        self, model: Model, format: str, device: Device, *, sequences: int, positions: int, layers: int | None = None
    ) -> None:
        refuse(model)
        self.vocab, self._head = model.vocab, None
        make = functools.partial(weights, format=format, device=device)
        self._table = make((model.vocab, model.hidden))
        self._norm = make((model.hidden,))
        self._layers = [
            _Layer(model.hidden, layer, make, sequences, positions) for layer in itertools.islice(stack(model), layers)
        ]
        if model.head is not None:
            self._head = self._table if model.tied else make((model.head.outputs, model.head.inputs))
        place = {"device": torch_device(device)}
        self._angles = {
            width: _angles(positions, width, torch_type(format), place)
            for width in {layer.mixer.head_dim for layer in model.layers if isinstance(layer.mixer, Attention)}
        }

    @property
    def routes(self) -> bool:
        """Whether a step waits for the device, to learn which experts its tokens chose."""
        return any(layer.routes for layer in self._layers)

    def step(self, tokens: Any, at: int, *, layers: int | None = None) -> Any:
        """The next token of each sequence, after `tokens` [sequences, new] that follow `at` cached ones.

        layers  that are run: the first so many (None: all)
        """
        torch = torch_here()
        x = torch.nn.functional.embedding(tokens, self._table)
        new = tokens.shape[1]
        for layer in self._layers[:layers]:
            cosine, sine = self._angles[layer.head_dim]
            x = layer(x, (cosine[at : at + new], sine[at : at + new]), at)
        last = normed(x[:, -1], self._norm)
        return last if self._head is None else chosen(torch.nn.functional.linear(last, self._head))


class _Layer:
    """One layer: norms, attention with its cache, and the feed-forward."""

    def __init__(self, hidden: int, layer: Layer, make: Callable[..., Any], sequences: int, positions: int) -> None:
        mixer = layer.mixer
        if not isinstance(mixer, Attention):  # refuse() has looked: for the reader of types
            raise TypeError(layer.kind)
        self._heads, self._kv_heads, self.head_dim = mixer.heads, mixer.kv_heads, mixer.head_dim
        self._window = mixer.reach.window
        qkv, o = layer.projections
        self._qkv, self._o = _Matrix(qkv, make), _Matrix(o, make)
        self._norms = [make((hidden,)) for _ in range(layer.norms)]
        self._inner = [make((mixer.head_dim,)) for _ in range(layer.inner_norms)]
        shape = (sequences, mixer.kv_heads, positions, mixer.head_dim)
        self._cache = make(shape), make(shape)
        self._feeds: list[Callable[[Any], Any]] = []
        if layer.mlp:
            self._feeds.append(_Dense(layer.mlp, make))
        self.routes = layer.experts is not None
        if layer.experts is not None:
            self._feeds.append(_Routed(layer.experts, make))

    def __call__(self, x: Any, angles: Any, at: int) -> Any:
        before, *rest = self._norms
        mixed = self._attention(normed(x, before), angles, at)
        if len(rest) > 1:  # a norm behind each part, too
            mixed = normed(mixed, rest.pop(0))
        x = mixed.add_(x)
        inside = normed(x, rest.pop(0)) if rest else x
        for feed in self._feeds:
            out = feed(inside)
            x = (normed(out, rest[0]) if rest else out).add_(x)
        return x

    def _attention(self, x: Any, angles: Any, at: int) -> Any:
        sequences, new, _ = x.shape
        both = self._heads + self._kv_heads
        heads = self._qkv(x).view(sequences, new, both + self._kv_heads, self.head_dim)
        q_and_k, v = heads[:, :, :both], heads[:, :, both:]
        if self._inner:
            q_scale, k_scale = self._inner
            q_and_k = inner_normed(q_and_k, (q_scale, self._heads, k_scale))
        cache = tuple(one[:sequences] for one in self._cache)
        q = appended(q_and_k, v, tuple(one.unsqueeze(-2) for one in angles), cache, at)
        # a prompt's kernel masks what is outside a window, but goes over it all the same
        first = 0 if self._window is None or new > 1 else max(at + new - self._window, 0)
        keys, values = (one[:, :, first : at + new] for one in cache)
        if new == 1:
            q = q.view(sequences, self._kv_heads, self._heads // self._kv_heads, self.head_dim)
            out = attended(q, keys, values).reshape(sequences, new, -1)
        else:
            out = prompted(q.transpose(1, 2), keys, values).transpose(1, 2).reshape(sequences, new, -1)
        return self._o(out)


def tiny_layer(format: str, device: Device, *, hidden: int) -> Callable[[Any, Any, int], Any]:
    """A layer of one head of `hidden` elements, whose kernels are next to nothing; 64 positions of one sequence."""
    names = (
        ("qkv", hidden, 3 * hidden),
        ("o", hidden, hidden),
        ("gate_up", hidden, 2 * hidden),
        ("down", hidden, hidden),
    )
    qkv, o, up, down = (Linear(name=name, inputs=inputs, outputs=outputs) for name, inputs, outputs in names)
    mixer = Attention(heads=1, kv_heads=1, head_dim=hidden, value_dim=hidden, cache_elements=2 * hidden)
    layer = Layer(count=1, kind="tiny", mixer=mixer, projections=(qkv, o), mlp=(up, down))
    make = functools.partial(weights, format=format, device=device)
    return _Layer(hidden, layer, make, 1, _TINY_POSITIONS)


class _Matrix:
    """A linear layer."""

    def __init__(self, linear: Linear, make: Callable[..., Any]) -> None:
        self._weight = make((linear.outputs, linear.inputs))
        self._bias = make((linear.outputs,)) if linear.bias else None

    def __call__(self, x: Any) -> Any:
        return torch_here().nn.functional.linear(x, self._weight, self._bias)


class _Dense:
    """The feed-forward that every token passes."""

    def __init__(self, mlp: tuple[Linear, ...], make: Callable[..., Any]) -> None:
        up, down = mlp
        self._up, self._down = _Matrix(up, make), _Matrix(down, make)
        self._act = gated if up.outputs == _GATED * down.inputs else torch_here().nn.functional.gelu

    def __call__(self, x: Any) -> Any:
        return self._down(self._act(self._up(x)))


class _Routed:
    """Routed experts: each that a token chose multiplies the tokens that chose it."""

    def __init__(self, experts: Experts, make: Callable[..., Any]) -> None:
        self._router, self._chosen = _Matrix(experts.router, make), experts.chosen
        self._experts = [_Dense(experts.linears, make) for _ in range(experts.count)]

    def __call__(self, x: Any) -> Any:
        torch = torch_here()
        rows = x.reshape(-1, x.shape[-1])
        shares, picked = self._router(rows).topk(self._chosen, -1)
        shares = shares.softmax(-1)
        out = torch.zeros_like(rows)
        for number in picked.unique().tolist():
            routed(rows, picked, number, shares, out, self._experts[number])
        return out.view_as(x)


def _angles(positions: int, width: int, kind: Any, place: dict[str, Any]) -> tuple[Any, Any]:
    torch = torch_here()
    steps = torch.arange(width // 2, **place).float().mul_(-2 / width)
    turns = torch.outer(torch.arange(positions, **place).float(), 10_000.0**steps)
    return turns.cos().to(kind), turns.sin().to(kind)


def stack(model: Model) -> Iterator[Layer]:
    """The layers one by one, in their order."""
    runs = model.runs or tuple((place, layer.count) for place, layer in enumerate(model.layers))
    for place, count in runs:
        for _ in range(count):
            yield model.layers[place]


def refuse(model: Model) -> None:
    """Raises BadInput, naming the layers, where a model has others than attention with a feed-forward."""
    odd = {layer.kind: why for layer in model.layers if (why := _odd(layer))}
    if model.outside:
        odd["outside the layers"] = "matrices: " + ", ".join(linear.name for linear in model.outside)
    if odd:
        raise BadInput(
            f"{model.id} has layers that no network is made of here",
            where="model",
            got="; ".join(f"{kind}: {why}" for kind, why in odd.items()),
            want="softmax attention over K and V heads, and a feed-forward, dense or of routed experts",
            try_this="rooflight measure kernels, which times what operators there are",
        )


def _odd(layer: Layer) -> str:
    """What cannot be made of a layer; nothing where all can."""
    mixer = layer.mixer
    if not isinstance(mixer, Attention):
        return "no attention" if mixer is None else f"{type(mixer).__name__} mixer"
    reach = mixer.reach
    if mixer.indexer is not None or reach.top_k is not None or reach.chunk is not None or reach.stride > 1:
        return "attention to chosen positions"
    if mixer.fixed_context is not None or not mixer.stores:
        return "attention to another's cache"
    if mixer.value_dim != mixer.head_dim or mixer.cache_elements != mixer.kv_heads * 2 * mixer.head_dim:
        return "keys and values of other shapes"
    names = tuple(linear.name for linear in layer.projections)
    rows = (mixer.heads + 2 * mixer.kv_heads) * mixer.head_dim
    if names != ("qkv", "o") or layer.projections[0].outputs != rows:
        return f"projections {', '.join(names)}"
    if layer.inner_norms not in (0, 2) or layer.norms not in (1, 2, 4):
        return f"{layer.norms} norms, {layer.inner_norms} inside"
    pair = (0, 2)
    if len(layer.mlp) not in pair or (layer.experts is not None and len(layer.experts.linears) not in pair):
        return "a feed-forward of " + ", ".join(linear.name for linear in layer.mlp)
    return ""


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a network: of a layer of each kind (with its cache), and of what is outside the layers."""

    layers: tuple[float, ...]
    outside: float


def size(model: Model, format: str, *, sequences: int, positions: int) -> Size:
    """What a network takes of memory."""
    wide = torch_type(format).itemsize

    def held(layer: Layer) -> float:
        matrices = [*layer.projections, *layer.mlp]
        elements = sum(one.inputs * one.outputs for one in matrices)
        if layer.experts is not None:
            elements += layer.experts.count * sum(one.inputs * one.outputs for one in layer.experts.linears)
        cache = layer.mixer.cache_elements * sequences * positions if isinstance(layer.mixer, Attention) else 0
        return float((elements + cache) * wide)

    tables = model.vocab * model.hidden * (1 if model.tied or model.head is None else 2)
    return Size(layers=tuple(held(layer) for layer in stack(model)), outside=float(tables * wide))

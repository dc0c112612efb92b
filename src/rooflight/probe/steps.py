"""Steps of a whole model, timed in turns: through a network of its plan, or through transformers' own module."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rooflight.errors import BadInput, MissingExtra
from rooflight.probe.device import Device, synchronize, torch_device, torch_here, torch_type
from rooflight.probe.network import Network
from rooflight.probe.rounds import Cell, Timed, in_turns
from rooflight.probe.timing import captured, timed

_LEAST_TURNS = 3
# A short step is run several times a turn.
_TURN_S = 0.25

Run = Callable[[int], object]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A step to time: so many sequences, each with `new` tokens after `context` cached ones.

    layers  that are run: all (None), or none, for what is outside of them
    """

    sequences: int
    new: int
    context: int = 0
    layers: int | None = None


def timed_steps(
    runs: Sequence[Run], device: Device, budget_s: float, tick: Callable[[float], None]
) -> tuple[tuple[Timed, ...], bool]:
    """Each once to warm up, then each a turn until the budget is spent; and whether an interrupt ended it before.

    What was timed until then stands; of a run whose turn had not come there are no seconds. Raises KeyboardInterrupt
    where there are none of any.
    """
    kept: list[list[float]] = [[] for _ in runs]
    interrupted = False
    with torch_here().inference_mode():
        for run in runs:
            run(0)
        synchronize(device)
        cells = [
            Cell(name="step", by="", run=functools.partial(_turn, run, device, into))
            for run, into in zip(runs, kept, strict=True)
        ]
        try:
            in_turns(cells, budget_s, tick, least=_LEAST_TURNS)
        except KeyboardInterrupt:
            if not any(kept):
                raise
            interrupted = True
    found = (Timed(cell=cell, seconds=tuple(seconds)) for cell, seconds in zip(cells, kept, strict=True))
    return tuple(found), interrupted


def _turn(run: Run, device: Device, kept: list[float]) -> Sequence[float]:
    """A turn of a step, kept whatever becomes of the others'."""
    seconds = timed(run, device, least=1, budget_s=_TURN_S, warmup=1)
    kept.extend(seconds)
    return seconds


def network_runs(network: Network, several: Sequence[Asked], device: Device) -> list[Run]:
    """Runs of a network; of a decode step from a captured graph, where the device has them and it can be captured."""
    return [_network_run(network, one, device) for one in several]


def _network_run(network: Network, asked: Asked, device: Device) -> Run:
    tokens = _tokens(network.vocab, asked, device)
    step = functools.partial(network.step, tokens, asked.context, layers=asked.layers)
    if device.kind == "cuda" and asked.new == 1 and not network.routes:
        return _captured(step, device)
    return lambda _: step()


def _tokens(vocab: int, asked: Asked, device: Device) -> Any:
    return torch_here().randint(0, vocab, (asked.sequences, asked.new), device=torch_device(device))


def _captured(step: Callable[[], object], device: Device) -> Run:
    with torch_here().inference_mode():
        return functools.partial(_replay, captured(lambda _: step(), device), step)


def _replay(graph: Any, _alive: object, _number: int) -> object:
    """A graph reads weights, caches and tokens where they lay when it was captured: they must not go before it."""
    return graph.replay()


def transformers_runs(config: dict[str, Any], format: str, several: Sequence[Asked], device: Device) -> list[Run]:
    """Runs of transformers' own module of a config, with random weights.

    Raises MissingExtra without transformers, BadInput for a config that it makes no causal language model of.
    """
    try:
        import transformers
    except ImportError:
        raise MissingExtra(
            "transformers is not installed", got="no module named transformers", try_this="pip install transformers"
        ) from None
    torch = torch_here()
    try:
        made = transformers.AutoConfig.for_model(**config)
        with torch.device(torch_device(device)):
            model = transformers.AutoModelForCausalLM.from_config(made, dtype=torch_type(format)).eval()
    except (ValueError, KeyError, TypeError, RuntimeError, ImportError, AttributeError) as error:
        raise BadInput(
            "transformers makes no model of this config", where="model", got=str(error).splitlines()[0][:200],
            want="the config.json of a causal language model that it knows",
        ) from None  # fmt: skip
    return [_module_run(model, made, one, device) for one in several]


def _module_run(model: Any, config: Any, asked: Asked, device: Device) -> Run:
    """One forward pass behind a cache as generate() keeps it, the head on the last position, the choice of a token."""
    import transformers

    vocab = config.get_text_config().vocab_size
    tokens = _tokens(vocab, asked, device)
    kept = transformers.DynamicCache(config=config)
    # transformers 5 calls it another name
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"

    def passed(tokens: Any, cache: Any) -> Any:
        return model(input_ids=tokens, **{name: cache}, use_cache=True, logits_to_keep=1).logits[:, -1].argmax(-1)

    if not asked.context:
        return lambda _: passed(tokens, transformers.DynamicCache(config=config))
    with torch_here().inference_mode():
        passed(_tokens(vocab, msgspec.structs.replace(asked, new=asked.context), device), kept)

    def run(_: int) -> object:
        token = passed(tokens, kept)
        kept.crop(-asked.new)
        return token

    return run

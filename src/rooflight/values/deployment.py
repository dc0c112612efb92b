"""How a model is laid out on devices and run: parallelism, number formats, memory budget, engine habits."""

from __future__ import annotations

import math
import operator
from typing import Any

import msgspec

from rooflight.errors import BadInput, Named

# More devices than any cluster has is a typing error.
LARGEST_DEGREE = 1 << 20


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """Layout and formats; a None is filled from the model or the defaults of DESIGN 2a and listed as assumed.

    tp, pp, ep, dp      tensor, pipeline, expert, data parallel degrees; tp None: devices / (pp * dp)
    weights             storage format of the linear layers (embedding, lm_head, norms, router keep theirs)
    activations         format activations take into the products
    compute             format whose peak the products run at, if it is to be another
    kv_cache            storage format of the KV cache
    gpu_memory_utilization  share of device memory the engine may use
    attention           "flash" (scores stay on chip) or "naive" (the score matrix goes through memory)
    graphs              kernels are launched from a captured graph; False: one by one (eager)
    engine              whose expected times to give: "vllm", "sglang", "tensorrt-llm" ...; None: their mean
    ignore_capacity     compute times even if the model does not fit

    Raises BadInput for a degree below 1 or a share outside (0, 1].
    """

    tp: int | None = None
    pp: int = 1
    ep: int = 1
    dp: int = 1
    weights: str | None = None
    activations: str | None = None
    compute: str | None = None
    kv_cache: str | None = None
    gpu_memory_utilization: float = 0.9
    attention: str = "flash"
    graphs: bool = True
    engine: str | None = None
    ignore_capacity: bool = False

    def __post_init__(self) -> None:
        for name in ("tp", "pp", "ep", "dp"):
            value = getattr(self, name)
            if value is not None or name != "tp":
                msgspec.structs.force_setattr(self, name, _degree(name, value))
        for name in ("graphs", "ignore_capacity"):
            msgspec.structs.force_setattr(self, name, _flag(name, getattr(self, name)))
        for name in ("weights", "activations", "compute", "kv_cache", "attention", "engine"):
            value = getattr(self, name)
            if value is not None:
                msgspec.structs.force_setattr(self, name, _name(name, value))
        msgspec.structs.force_setattr(self, "gpu_memory_utilization", _share(self.gpu_memory_utilization))
        if self.attention not in ("flash", "naive"):
            raise BadInput(
                "attention is flash or naive", where=Named.of("attention"), got=self.attention, want="flash or naive"
            )


def _degree(name: str, value: Any) -> int:
    try:
        number = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = 0
    if not 1 <= number <= LARGEST_DEGREE:
        raise BadInput(
            f"{name} must be a whole number from 1 to {LARGEST_DEGREE:,}",
            where=Named.of(name),
            got=value,
            want="1, 2, 4 ...",
        )
    return number


def _flag(name: str, value: Any) -> bool:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise BadInput(f"{name} is True or False", where=Named.of(name), got=repr(value), want="True or False")


def _name(name: str, value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    raise BadInput(f"{name} is the name of a format or a mode", where=Named.of(name), got=repr(value), want="a name")


def _share(value: Any) -> float:
    try:
        share = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 < share <= 1:
        raise BadInput(
            "gpu-memory-utilization must be a share between 0 and 1",
            where=Named.of("gpu_memory_utilization"),
            got=value,
            want="more than 0, at most 1",
            try_this="0.9",
        )
    return share

"""A model as a question shapes it: what it says of one that is known by its size alone, and adapters beside it."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.catalog import sized
from rooflight.errors import BadInput, Named
from rooflight.values.deployment import SHAPE, Deployment
from rooflight.values.model import Model
from rooflight.work.adapters import adapted


def shaped(model: Model, deployment: Deployment) -> Model:
    """The model in the shape that is stated of one known by its size. Raises BadInput where its shape is known."""
    stated: dict[str, Any] = {name: given for name in SHAPE if (given := getattr(deployment, name)) is not None}
    if not stated:
        return model
    if model.sized is None:
        raise BadInput(
            f"the shape of {model.id[:60]} is known, so none of it is stated", where=Named.of(next(iter(stated))),
            got=model.id[:60], want="a model by its size, such as 70b or 30b-a3b, or a config.json that says otherwise",
        )  # fmt: skip
    for name in ("parameters", "active_parameters"):
        if name in stated:
            stated[name] = sized.amount(stated[name], name)
    asked = msgspec.structs.replace(model.sized, **stated)
    if asked == model.sized:
        return model
    if asked.active_parameters is not None and asked.active_parameters >= asked.parameters:
        raise BadInput(
            "a routed model runs fewer parameters a token than it has", where=Named.of("active_parameters"),
            got=sized.spelled(asked), want="fewer active parameters than parameters, or none stated",
        )  # fmt: skip
    own_name = None if model.id == sized.spelled(model.sized) else model.id
    return sized.shaped(asked, own_name)


def with_adapters(model: Model, deployment: Deployment) -> Model:
    """The model with the LoRA adapters that are asked for. Raises BadInput."""
    rank = deployment.lora_rank
    return model if rank is None else adapted(model, rank, deployment.max_loras or 1, deployment.lora_modules)

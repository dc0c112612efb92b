"""A model by its size beside real ones of that size: how much the figures of an answer vary over them."""

from __future__ import annotations

import msgspec

from rooflight.errors import RooflightError
from rooflight.numeric import is_plain
from rooflight.scenario.alike import WITHIN, of_size
from rooflight.scenario.definite import Scenario, scenario
from rooflight.serve import phases
from rooflight.values.deployment import SHAPE
from rooflight.values.like import AlikeFigure, LikeBlock
from rooflight.values.model import Model, Sized
from rooflight.work import count


def like_block(sc: Scenario, asked: Sized) -> LikeBlock:
    """What was taken for the model, and its figures beside those of the catalog's models of that size.

    All are in the same formats on the same devices; one that cannot be laid out so is left out of times alone.
    """
    near = of_size(asked)
    others = {one.id: found for one in near if (found := _in_place(sc, one)) is not None}
    decoded = is_plain(sc.workload.osl) and sc.workload.osl > 0
    times = {id_: _decode_s(found) for id_, found in others.items()} if decoded else {}
    return LikeBlock(
        parameters=asked.parameters,
        active_parameters=asked.active_parameters,
        layers=sum(layer.count for layer in sc.model.layers),
        hidden=sc.model.hidden,
        near=asked.near,
        within=WITHIN,
        models=tuple(one.id for one in near),
        kv_bytes_per_token=_figure(_kv(sc), {id_: _kv(found) for id_, found in others.items()}),
        streamed_weight_bytes=_figure(
            count.streamed_weight_bytes(sc.model),
            {id_: count.streamed_weight_bytes(found.model) for id_, found in others.items()},
        ),
        decode_ceiling_s=_figure(_decode_s(sc), times) if times else None,
    )


def _in_place(sc: Scenario, other: Model) -> Scenario | None:
    """The question asked of another model; None where it cannot be laid out so."""
    asked = msgspec.structs.replace(
        sc.deployment, weights=sc.deployment.weights or sc.weights, weight_bytes=None, **dict.fromkeys(SHAPE)
    )
    try:
        return scenario(other, sc.accelerator, sc.layout.devices, sc.workload, asked)
    except RooflightError:
        return None


def _kv(sc: Scenario) -> float:
    """Cache bytes a token at the length of a request, windows counted as far as they reach."""
    return count.kv_bytes_per_token(sc.model, sc.numbers.kv_bytes) + count.window_kv_bytes_per_token(
        sc.model, sc.numbers.kv_bytes
    )


def _decode_s(sc: Scenario) -> float:
    return float(phases.decode(sc).span.ceiling)


def _figure(own: float, others: dict[str, float]) -> AlikeFigure | None:
    if not others:
        return None
    low, high = min(others, key=lambda one: others[one]), max(others, key=lambda one: others[one])
    return AlikeFigure(own=own, low=others[low], high=others[high], low_model=low, high_model=high)

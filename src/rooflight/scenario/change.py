"""Scenarios changed: the same question with another workload, deployment, model or machine."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.scenario.definite import Scenario, scenario
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.values.model import Model
from rooflight.values.workload import Workload


def changed(
    sc: Scenario, *, model: Model | None = None, accelerator: Accelerator | None = None, **fields: Any
) -> Scenario:
    """The scenario with fields of Workload or Deployment replaced. Raises as scenario() does.

    The layout is definite: without tp, pp or dp among the fields it stays as it is.
    """
    load = {name: value for name, value in fields.items() if name in Workload.__struct_fields__}
    layout = {name: value for name, value in fields.items() if name in Deployment.__struct_fields__}
    held = msgspec.structs.replace(sc.deployment, tp=sc.layout.tp)
    return scenario(
        model or sc.model,
        accelerator or sc.accelerator,
        None,
        msgspec.structs.replace(sc.workload, **load),
        msgspec.structs.replace(held, **layout),
    )

"""A move as fields of the question: what to set so that the deployment after it is what is asked about."""

from __future__ import annotations

from typing import Any

from rooflight.catalog.accelerators import shipped, with_memory
from rooflight.catalog.changed import alike, as_built, what_if
from rooflight.scenario.definite import Scenario
from rooflight.values.deployment import DEPLOYMENT
from rooflight.values.workload import WORKLOAD

# They and the count of devices say one thing together.
_CUT = ("tp", "pp", "dp", "ep")


def fields_of(question: Scenario, before: Scenario, after: Scenario) -> dict[str, Any] | None:
    """The fields to set, "on" and times of its rates among them; None where no fields of the question say it.

    question    as it was asked; before: the same with a definite layout, which the move changed
    """
    if after.checkpoint != before.checkpoint:
        return None
    machine = _machine(before, after)
    if machine is None:
        return None
    found = {name: _asked(after, name) for name in WORKLOAD if _asked(after, name) != _asked(question, name)}
    if question.workload.request_rate is not None:  # it says how many are in flight
        found.pop("batch", None)
    for name in DEPLOYMENT:
        value = getattr(after.deployment, name)
        if name not in _CUT and value != getattr(before.deployment, name):
            found[name] = value
    if after.deployment.memory is None and as_built(after.accelerator)[0] == as_built(before.accelerator)[0]:
        found.pop("memory", None)  # the card's other rates left its memory as it was
    if "on" in machine or any(getattr(after.layout, name) != getattr(before.layout, name) for name in _CUT):
        found |= {name: getattr(after.layout, name) for name in _CUT}
    return found | machine


def _asked(sc: Scenario, name: str) -> Any:
    """A field of the workload as a question has it: a prompt without its images and sound."""
    return sc.workload.text_tokens if name == "isl" else getattr(sc.workload, name)


def _machine(before: Scenario, after: Scenario) -> dict[str, Any] | None:
    """What is to be said of the machine where it is another one, or more of it; None where it cannot be said."""
    was, now, devices = before.accelerator, after.accelerator, after.layout.devices
    (name, *old), (other, *new) = as_built(was), as_built(now)
    times = {} if old == new else {"bandwidth_times": new[0], "peak_times": new[1]}
    if other != name:
        return None if shipped(other) is None else {"on": f"{devices}x{other}", **times}
    tried = what_if(was, bandwidth_times=new[0] / old[0], peak_times=new[1] / old[1])
    if after.deployment.memory is not None:
        tried = with_memory(tried, float(after.deployment.memory))
    if not alike(tried, now):
        return None
    if devices == before.layout.devices:
        return times
    return None if was.joined else {"on": f"{devices}x{name}", **times}

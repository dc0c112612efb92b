"""Settings of tests of diagnose: a model on a machine, or nothing of it."""

from __future__ import annotations

from rooflight.answers.diagnose.setting import Setting
from rooflight.library.questions import make_scenario, model


def setting(name: str | None = None, on: str | None = None, **fields) -> Setting:
    """As the command line would make it of --model, --on and other options."""
    if name is None:
        return Setting()
    if on is None:
        return Setting(model=model(name))
    sc = make_scenario(name, on, **fields)
    return Setting(
        model=sc.checkpoint, card=sc.accelerator, count=sc.layout.devices, scenario=sc,
        given=frozenset({*fields, "model", "on"}),
    )  # fmt: skip

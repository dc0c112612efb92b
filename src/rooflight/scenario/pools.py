"""Workers that prefill, apart from those that decode: the scenario of one of them."""

from __future__ import annotations

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.scenario.cards import prefill_card, prefill_devices
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario


def prefill_worker(sc: Scenario) -> Scenario:
    """The scenario of one prefill worker. Raises BadInput where it cannot be laid out.

    On a card of its own it has no pipeline, and is a deployment by itself.
    """
    asked, layout = sc.deployment, sc.layout
    own = prefill_card(asked)
    tp, dp = prefill_devices(asked, layout.tp, layout.dp)
    ep = asked.prefill_ep or (layout.ep if own is None else 1)
    if own is None and (tp, ep, dp) == (layout.tp, layout.ep, layout.dp):
        return sc
    try:
        if own is None:
            return msgspec.structs.replace(changed(sc, tp=tp, ep=ep, dp=dp, pp=layout.pp), engine=sc.engine)
        return changed(
            sc, accelerator=own[0], tp=tp, ep=ep, dp=dp, pp=1, schedule=None, prefill_workers=None,
            decode_workers=None, prefill_on=None, prefill_tp=None, prefill_ep=None, prefill_dp=None,
        )  # fmt: skip
    except BadInput as error:
        raise BadInput(
            f"a prefill worker cannot be laid out: {error.what}",
            where=Named.of(*(("prefill_on",) if own else ()), "prefill_tp", "prefill_ep", "prefill_dp"),
            got=error.got, want=error.want,
        ) from None  # fmt: skip


def prompts_on(sc: Scenario) -> Scenario:
    """The scenario of the machine that prompts run on: a prefill worker's where that is another card, else the same."""
    return sc if sc.deployment.prefill_on is None else prefill_worker(sc)

"""The card of workers that prefill, where it is another than that of those that decode, and what joins both."""

from __future__ import annotations

from rooflight.catalog.accelerators import load
from rooflight.errors import BadInput, MissingFact, Named
from rooflight.roofline.links import NETWORK, PCIE, between
from rooflight.units import network as stated_network
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment


def prefill_card(deployment: Deployment) -> tuple[Accelerator, int | None] | None:
    """The card of the prefill workers with the devices of each, None where no number is said; None: those of decode.

    Raises as `load` does, BadInput for several kinds of cards.
    """
    name = deployment.prefill_on
    if name is None:
        return None
    try:
        card, count = load(name)
    except BadInput as error:
        error.where = error.where or Named.of("prefill_on")
        raise
    if card.joined:
        raise BadInput(
            "a prefill worker is of one kind of card", where=Named.of("prefill_on"), got=card.id,
            want="a card, such as 2xh100-sxm",
        )  # fmt: skip
    return card, count if count > 1 or name.strip().lower().startswith("1x") else None


def prompts_card(card: Accelerator, deployment: Deployment) -> Accelerator:
    """The card that prompts run on."""
    own = prefill_card(deployment)
    return card if own is None else own[0]


def prefill_devices(deployment: Deployment, tp: int, dp: int) -> tuple[int, int]:
    """tp and dp of a prefill worker on a card of its own: all of its devices in tp, unless the question says otherwise.

    Raises BadInput where they are not the devices it has.
    """
    own = prefill_card(deployment)
    if own is None:
        return deployment.prefill_tp or tp, deployment.prefill_dp or dp
    count, dp = own[1], deployment.prefill_dp or 1
    tp = deployment.prefill_tp or (count or 1) // dp or 1
    if count is not None and tp * dp != count:
        raise BadInput(
            f"tp {tp} x dp {dp} is {tp * dp} devices, not the {count} of a prefill worker",
            where=Named.of("prefill_on", "prefill_tp", "prefill_dp"), got=f"{count} devices",
            want=f"tp x dp = {count}",
        )  # fmt: skip
    return tp, dp


def between_pools(prefill: Accelerator, decode: Accelerator, network: str | None, devices: int) -> tuple[str, float]:
    """(link, bytes a second of a device, one way) over which a prompt's cache goes from one kind of card to another.

    No link of one kind of card reaches another: PCIe where one machine holds them all, else the network; the slower of
    both ends. Raises MissingFact where nothing is known of either.
    """
    if prefill.id == decode.id:
        return between(decode, network, devices)
    if network is not None:
        return NETWORK, stated_network(network)[0]
    both = (prefill, decode)
    slots = [one.pcie_bytes_per_s for one in both if one.link is None and devices <= (one.node_devices or 0)]
    if len(slots) == len(both) and all(slots):
        return PCIE, min(rate for rate in slots if rate)
    rates = [one.network.bytes_per_s for one in both if one.network is not None]
    if len(rates) < len(both):
        raise MissingFact(
            f"nothing is known of what joins {prefill.id} and {decode.id}", where=prefill.origin or prefill.id,
            got="no network", want="what a device sends between machines",
            try_this=Named("{network}", network="400Gb/s"),
        )  # fmt: skip
    return NETWORK, min(rates)

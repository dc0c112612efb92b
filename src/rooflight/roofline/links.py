"""How devices of a kind reach each other: the link of one domain, and what is left beyond it."""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number
from rooflight.roofline import formulas
from rooflight.units import network as stated_network
from rooflight.values.accelerator import Accelerator
from rooflight.values.work import Exchange, Operator

PCIE = "PCIe"
NETWORK = "network"
# A pair of bridged cards: between pairs of one machine PCIe is left.
_BRIDGED = 2


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Two levels: within a domain, and across domains.

    name            of the link in a domain; "" where a device is a domain by itself
    bytes_per_s     of a device to all its peers there, one way; None where there are none
    peer_bytes_per_s    to one of them
    domain          devices it joins; 0: all
    reduces         it adds up in flight
    far             what is left across domains: "network", "PCIe"; "": nothing is known, or nothing is across
    far_bytes_per_s     of a device, one way, in roofline and expected time; far_fastest_bytes_per_s: in a ceiling
    far_latency_s   of a message, where stated
    assumed         nobody stated the network: far_bytes_per_s is the reference node's
    """

    name: str = ""
    bytes_per_s: float | None = None
    peer_bytes_per_s: float = 0.0
    domain: int = 0
    reduces: bool = False
    far: str = ""
    far_bytes_per_s: float = 0.0
    far_fastest_bytes_per_s: float = 0.0
    far_latency_s: float | None = None
    assumed: bool = False

    def beyond(self, devices: int) -> bool:
        """Whether so many devices are more than one domain."""
        return bool(self.domain) and devices > self.domain


def links_of(accelerator: Accelerator, network: str | None = None) -> Links | None:
    """The links of an accelerator, with the network that was stated; None where neither link nor network is known.

    PCIe joins the cards of a machine where there is no other link, and its pairs where a bridge joins two. A link
    whose domain no source gives is taken to join all.
    """
    link, pcie = accelerator.link, accelerator.pcie_bytes_per_s
    node = accelerator.node_devices or 0
    if link is not None:
        near = Links(
            name=link.name, bytes_per_s=link.bytes_per_s, peer_bytes_per_s=link.peer_bytes_per_s or link.bytes_per_s,
            domain=link.domain or 0, reduces=link.reduces,
        )  # fmt: skip
        if pcie is not None and link.domain == _BRIDGED:
            return _across(near, PCIE, pcie)
    elif pcie is not None and node != 1:
        near = Links(name=PCIE, bytes_per_s=pcie, peer_bytes_per_s=pcie, domain=node)
    else:
        near = Links(domain=1)
    return _networked(near, accelerator, network)


def _networked(near: Links, accelerator: Accelerator, network: str | None) -> Links | None:
    """The same with a network across domains: the stated one, else that of the card's reference node."""
    if network is not None:
        rate, latency_s = stated_network(network)
        return msgspec.structs.replace(_across(near, NETWORK, rate), far_latency_s=latency_s)
    reference = accelerator.network
    if reference is None:  # an entry made by hand
        return near if near.name else None
    if not near.name and reference.assumed:
        return None
    far = _across(near, NETWORK, reference.bytes_per_s)
    return msgspec.structs.replace(far, far_fastest_bytes_per_s=reference.fastest_bytes_per_s, assumed=True)


def _across(near: Links, far: str, rate: float) -> Links:
    return msgspec.structs.replace(near, far=far, far_bytes_per_s=rate, far_fastest_bytes_per_s=rate)


def between(accelerator: Accelerator, network: str | None, devices: int) -> tuple[str, float]:
    """(link, bytes a second of a device, one way) of what one of `devices` hands to a counterpart in another worker.

    Their link where all of them are in one domain of it; else what is across. Neither known: the assumed network.
    """
    links = links_of(accelerator, network)
    if links is not None and links.bytes_per_s and devices <= links.domain:
        return links.name, near_bytes_per_s(links, 2)
    if links is not None and links.far == PCIE and devices <= (accelerator.node_devices or devices):
        return PCIE, links.far_bytes_per_s
    if network is not None:
        return NETWORK, stated_network(network)[0]
    return NETWORK, accelerator.network.bytes_per_s if accelerator.network is not None else 0.0


def link_seconds(op: Operator, links: Links | None, *, fastest: bool) -> tuple[Number, Number]:
    """(seconds within domains, seconds across) of one run of an operator: its bytes at each level's rate.

    fastest     across, at the rate a ceiling takes, and no more than any placement of the devices sends there
    """
    work, shape = op.work, op.shape
    if links is None or (isinstance(work.link_bytes, int) and not work.link_bytes):
        return 0.0, 0.0
    near, far = links.bytes_per_s, links.far_fastest_bytes_per_s if fastest else links.far_bytes_per_s
    if near and isinstance(shape, Exchange) and shape.local > 1:
        near = near_bytes_per_s(links, shape.local)
    across = work.network_bytes
    if fastest and isinstance(shape, Exchange) and shape.least_across_bytes is not None:
        across = shape.least_across_bytes
        near = near or links.far_fastest_bytes_per_s
    return (work.link_bytes - across) / near if near else 0.0, across / far if far else 0.0


def near_bytes_per_s(links: Links, devices: float) -> float:
    """What a device sends to the others of so many in one domain, one way; 0 where it has no neighbours."""
    if not links.bytes_per_s or devices <= 1:
        return 0.0
    return float(formulas.group_bytes_per_s(
        bytes_per_s=links.bytes_per_s, peer_bytes_per_s=links.peer_bytes_per_s, devices=devices
    ))  # fmt: skip

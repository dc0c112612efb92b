"""What collectives take, expected: a library's within a domain of a link and across domains, and an engine's own.

Pure functions of plain numbers or arrays; coefficients come with a fit (values.calibration). Source of all forms:
fitted to published timings by calibration/collectives.py; the errors are in catalog/calibration/collectives.toml.
"""

from __future__ import annotations

import math
import re

from rooflight.numeric import Number, maximum, minimum
from rooflight.roofline.expected import collective_rate_bytes_per_s
from rooflight.roofline.links import PCIE, Links, near_bytes_per_s
from rooflight.values.accelerator import Accelerator
from rooflight.values.calibration import Collectives, LinkFit, NetworkFit
from rooflight.values.work import Exchange


def piped_s(*, latency_s: Number, bytes_s: Number, ramp: Number) -> Number:
    """Seconds of a transfer cut into pieces that follow each other: latency + bytes + 2 x ramp x sqrt(latency x bytes).

    Few pieces leave links idle, many pay latency again; the best number of them costs twice the square root (ramp 1).

    Source: the optimum of pipelined broadcasts (Johnsson & Ho 1989); ramp is fitted.
    Check: latency_s 4e-6, bytes_s 9e-6, ramp 0.5 -> 1.9e-05.
    """
    return latency_s + bytes_s + 2 * ramp * (latency_s * bytes_s) ** 0.5


def ring_share(*, what: str, devices: Number) -> Number:
    """What of its tensor a device sends on a ring: 2 (n - 1)/n of it in an all_reduce, half of that in the others.

    The tensor: what is summed, gathered, scattered, or what one device holds before an all_to_all.
    Source: Patarasuk & Yuan 2009; nccl-tests, doc/PERFORMANCE.md (its bus bandwidth is that over the time).
    """
    return (2 if what == "all_reduce" else 1) * (devices - 1) / devices


def near_parts(
    *, what: str, payload_bytes: Number, devices: Number, bytes_per_s: Number, fit: LinkFit
) -> tuple[Number, Number]:
    """(latency, seconds of the bytes) of a library's collective within a domain."""
    rate = collective_rate_bytes_per_s(devices=devices, link_bytes_per_s=bytes_per_s, fit=fit)
    latency = fit.latency_s + fit.hop_s * maximum(devices - 2, 0)
    return latency, ring_share(what=what, devices=devices) * payload_bytes / rate


def across_latency_s(*, what: str, domains: Number, message_s: float, fit: NetworkFit) -> float:
    """Start, first messages, and those that reach twice as many domains each time; an all_reduce comes back too."""
    times = 2 if what == "all_reduce" else 1
    return float(fit.start_s + message_s * (fit.first_messages + times * math.log2(domains)))


def library_s(
    shape: Exchange, card: Accelerator, links: Links, fits: Collectives, *, pcie: str | None = None
) -> Number:
    """Seconds of a collective as NCCL and its kin do it, within a domain or across several.

    Across: in each domain, and each device its part across, both at once: latencies add up, of the bytes the slower
    level counts. Cards joined by PCIe across bridged pairs: one ring over PCIe.

    pcie    whose fits stand for PCIe, where the host is known; else pcie_kind
    """
    what, payload, local, domains = shape.what, shape.payload_bytes, shape.local, shape.domains
    rate = near_bytes_per_s(links, local)
    if links.far == PCIE and domains > 1:
        local, domains, rate = shape.devices, 1, links.far_bytes_per_s
        kind = pcie or pcie_kind(card, fits)
    else:
        kind = pcie or kind_of(card, links, fits)
    latency: Number = 0.0
    bytes_s: Number = 0.0
    ramp = 0.0
    if local > 1:
        fit = fits.library[f"{kind}/{what}"]
        latency, bytes_s = near_parts(
            what=what, payload_bytes=payload, devices=local, bytes_per_s=rate, fit=fit
        )  # fmt: skip
        ramp = fit.ramp
    if domains > 1:
        far = fits.network[what if what in fits.network else "all_reduce"]
        latency = latency + across_latency_s(what=what, domains=domains, message_s=_message_s(links, far), fit=far)
        sent = payload / local if what != "all_to_all" else payload
        across = ring_share(what=what, devices=domains) * sent / (links.far_bytes_per_s * far.efficiency)
        bytes_s, ramp = maximum(bytes_s, across), far.ramp
    return piped_s(latency_s=latency, bytes_s=bytes_s, ramp=ramp)


def experts_across_s(shape: Exchange, links: Links, fits: Collectives) -> Number:
    """Seconds of dispatch or combine across domains: the better of two kinds of kernels.

    Low latency: each row goes to each expert by itself. Throughput: a domain gets a row once, and shares it out.
    """
    sent = ring_share(what="all_to_all", devices=shape.domains) * shape.payload_bytes
    found: list[Number] = []
    for name, amount in (("all_to_all", sent), ("all_to_all_once", shape.once_bytes)):
        fit = fits.network[name]
        start = across_latency_s(what=name, domains=shape.domains, message_s=_message_s(links, fit), fit=fit)
        found.append(start + amount / (links.far_bytes_per_s * fit.efficiency))
    return minimum(found[0], found[1])


def send_across_s(sent_bytes: Number, links: Links, fits: Collectives) -> Number:
    """Seconds of handing bytes to a device of another domain: one message of the network, then its bytes."""
    fit = fits.network["all_to_all"]
    if links.far == PCIE:
        return fit.start_s + sent_bytes / (links.far_bytes_per_s * fit.efficiency)
    start = across_latency_s(what="send", domains=2, message_s=_message_s(links, fit), fit=fit)
    return start + sent_bytes / (links.far_bytes_per_s * fit.efficiency)


def _message_s(links: Links, fit: NetworkFit) -> float:
    return fit.message_s if links.far_latency_s is None else links.far_latency_s


def kind_of(card: Accelerator, links: Links, fits: Collectives) -> str:
    """Whose fits stand for a card's link: its generation of NVLink, PCIe by what the card can, any other fabric."""
    if links.name == PCIE or not links.name:
        return pcie_kind(card, fits)
    generation = re.search(r"nvlink (\d+)", links.name.lower())
    if generation is None:
        return fits.fabric
    kind = f"nvlink-{generation[1]}"
    newest = fits.nvlink[-1]
    return kind if kind in fits.nvlink else newest if int(generation[1]) > int(newest[-1]) else fits.nvlink[0]


def pcie_kind(card: Accelerator, fits: Collectives) -> str:
    """Whose fits stand for PCIe: of cards that reach no peer, of a family that was timed, else of a switched host."""
    if card.pcie_peer_to_peer is False:
        return fits.no_peer_to_peer
    return fits.pcie.get(card.family, fits.switched)

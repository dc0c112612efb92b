"""Devices of several kinds in one deployment, `rtx-4090+2xrtx-3090`, as one entry: their mean, or the slowest of all.

Where layers are split over them each device has times of its own (roofline.places); the mean stands for them where one
figure of a device is asked for, so that sums over all devices are right. Cut tensors go at the slowest one's pace.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.values.accelerator import Accelerator, Network
from rooflight.values.note import Note

# Devices of a deployment of unlike cards at most: what one machine holds, with room.
_MOST = 64
# How the origin of pooled devices ends.
SPREAD = " pooled"
# What adds up over devices.
_SUMMED = (
    "memory_bytes_per_s", "fast_memory_bytes_per_s", "memory_bytes", "program_bytes", "label_bytes",
    "last_level_cache_bytes",
)  # fmt: skip

Load = Callable[[str], tuple[Accelerator, int]]


def parts(name: str) -> tuple[str, ...]:
    """The names that stand with + between them in a name; none where it is one, or a + has nothing beside it."""
    found = tuple(part.strip() for part in name.split("+"))
    return found if len(found) > 1 and all(found) else ()


def joined(name: str, load: Load) -> tuple[Accelerator, int]:
    """The mean device of a name with + in it, and how many devices there are. Raises BadInput, and as `load` does."""
    found: list[Accelerator] = []
    for part in parts(name):
        card, count = load(part)
        _check(card)
        if len(found) + count > _MOST:
            raise BadInput(
                f"more than {_MOST} devices of several kinds", where=Named.of("on"), got=name[:60],
                want=f"{_MOST} at most, or devices of one kind",
            )  # fmt: skip
        found += [card] * count
    return mean_of(found), len(found)


def _check(card: Accelerator) -> None:
    if card.kind == "cpu":
        raise BadInput(
            f"{card.id} is a host, and layers of a host are no card's", where=Named.of("on"), got=card.id,
            want="cards alone", try_this=Named("{n_gpu_layers} and {host_cpu}", n_gpu_layers=40, host_cpu=card.id),
        )  # fmt: skip
    if card.measured is not None:
        raise BadInput(
            f"{card.id} was measured, and what a measured machine does beside another card was not",
            where=Named.of("on"), got=card.id, want="entries of the catalog, or files of printed facts",
        )  # fmt: skip
    for what, value in (("memory bandwidth", card.memory_bytes_per_s), ("size of memory", card.given_bytes)):
        if value is None:
            raise BadInput(
                f"no {what} of {card.id} is known, by which layers are split", where=Named.of("on"), got=card.id,
                want="cards whose memory is known",
            )  # fmt: skip


def groups(card: Accelerator) -> tuple[tuple[Accelerator, int], ...]:
    """The kinds of devices that are joined, each with how many there are of it, the largest memory first."""
    return tuple((one, len(list(same))) for one, same in itertools.groupby(card.joined))


def mean_of(cards: Iterable[Accelerator]) -> Accelerator:
    """One device that stands for unlike ones: rates and sizes in the mean, formats that all of them have a peak in.

    The order of the cards says nothing: the one with most memory comes first, of those the fastest.
    """
    return _one_of(cards, _mean)


def slowest_of(cards: Iterable[Accelerator]) -> Accelerator:
    """One device as slow and as small as the slowest and smallest of unlike ones: what an equal part each takes."""
    return _one_of(cards, min)


def changed_each(card: Accelerator, change: Callable[[Accelerator], Accelerator]) -> Accelerator:
    """The card changed; where it stands for unlike ones, each of them changed so."""
    return mean_of(map(change, card.joined)) if card.joined else change(card)


def pooled(card: Accelerator, devices: int) -> Accelerator:
    """One of `devices` equal ones that together can do what unlike ones can: nothing cut over these is faster.

    However layers or tensors are spread, a step takes at least its bytes over the sum of bandwidths, and its FLOP over
    the sum of peaks. Check by hand: 936 and 1,008 GB/s as one device: 1,944 GB/s; as two, 972 each.
    """
    card, times = mean_of(card.joined), len(card.joined) / devices
    sums = {name: getattr(card, name) * times for name in _SUMMED if getattr(card, name) is not None}
    return msgspec.structs.replace(
        card, joined=(), origin=f"{card.origin}, as {devices}{SPREAD}", **sums,
        peak_flop_per_s={form: rate * times for form, rate in card.peak_flop_per_s.items()},
        fast_flop_per_s={form: rate * times for form, rate in card.fast_flop_per_s.items()},
    )  # fmt: skip


def _one_of(cards: Iterable[Accelerator], of: Callable[[Sequence[float]], float]) -> Accelerator:
    all_ = tuple(sorted(cards, key=lambda one: (-(one.given_bytes or 0), -(one.memory_bytes_per_s or 0), one.id)))
    first = all_[0]
    if all(one == first for one in all_):
        return msgspec.structs.replace(first, joined=all_, origin=f"{first.origin}, {len(all_)} in turn")
    kinds = [(one, len(list(same))) for one, same in itertools.groupby(all_)]
    forms = [form for form in first.peak_flop_per_s if all(form in one.peak_flop_per_s for one in all_)]
    network = _network([one.network for one in all_])
    caches = [one.last_level_cache_bytes or one.assumed.last_level_cache_bytes for one in all_]
    graph, eager = (
        of([getattr(one.assumed, name) for one in all_]) for name in ("launch_graph_s", "launch_eager_s")
    )  # fmt: skip
    reserve = max(one.assumed.engine_reserve_bytes for one in all_)
    return Accelerator(
        id="+".join(one.id if count == 1 else f"{count}x{one.id}" for one, count in kinds),
        name=" and ".join(one.name if count == 1 else f"{count} x {one.name}" for one, count in kinds),
        vendor=first.vendor,
        family=first.family,
        kind=first.kind,
        peak_flop_per_s={form: of([one.peak_flop_per_s[form] for one in all_]) for form in forms},
        fast_flop_per_s={form: of([_fast(one, form) for one in all_]) for form in forms},
        memory_bytes_per_s=of([one.memory_bytes_per_s or 0.0 for one in all_]),
        fast_memory_bytes_per_s=of([one.fast_memory_bytes_per_s or one.memory_bytes_per_s or 0.0 for one in all_]),
        memory_bytes=of([one.memory_bytes or one.given_bytes or 0.0 for one in all_]),
        program_bytes=of([one.given_bytes or 0.0 for one in all_]),
        label_bytes=of([one.most_bytes or 0.0 for one in all_]),
        last_level_cache_bytes=of(caches),
        link=first.link if all(one.link == first.link for one in all_) else None,
        pcie_bytes_per_s=_least(one.pcie_bytes_per_s for one in all_),
        pcie_peer_to_peer=_all_known([one.pcie_peer_to_peer for one in all_]),
        node_devices=min((one.node_devices for one in all_ if one.node_devices), default=None),
        network=network,
        tdp_w=None if any(one.tdp_w is None for one in all_) else _mean([one.tdp_w or 0.0 for one in all_]),
        confidence=max(one.confidence for one in all_),
        assumed=msgspec.structs.replace(
            first.assumed, launch_graph_s=graph, launch_eager_s=eager, engine_reserve_bytes=reserve
        ),
        origin=", ".join(f"{count} of {one.origin or one.id}" for one, count in kinds),
        assumptions=_noted(kinds),
        joined=all_,
    )  # fmt: skip


def _noted(kinds: Sequence[tuple[Accelerator, int]]) -> tuple[Note, ...]:
    """What was assumed of each kind."""
    return tuple(dict.fromkeys(note for one, _ in kinds for note in one.assumptions))


def _fast(card: Accelerator, form: str) -> float:
    return max(card.fast_flop_per_s.get(form, 0.0), card.peak_flop_per_s[form])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _least(values: Iterable[float | None]) -> float | None:
    """The least; None where one is not known."""
    found = list(values)
    known = [one for one in found if one is not None]
    return min(known) if len(known) == len(found) else None


def _all_known(values: Sequence[bool | None]) -> bool | None:
    """False where one is; None where one is not known."""
    return False if False in values else None if None in values else True


def _network(each: Sequence[Network | None]) -> Network | None:
    """The slowest of what joins their machines."""
    known = [one for one in each if one is not None]
    if len(known) < len(each):
        return None
    slow = min(known, key=lambda one: one.bytes_per_s)
    fastest = max(slow.bytes_per_s, min(one.fastest_bytes_per_s for one in known))
    return msgspec.structs.replace(slow, fastest_bytes_per_s=fastest, assumed=any(one.assumed for one in known))

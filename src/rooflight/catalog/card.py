"""An accelerator's TOML checked fact by fact and turned into an Accelerator. The schema lives here.

Top keys: id, name (one of the two), vendor, family, kind, confidence, notes, aliases, sources, and devices: how many
devices of the operating system share the printed figures (2 for a package of two). Then a [[fact]] a number, and behind
them what was measured (catalog/measured.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from rooflight.catalog import levels, variants
from rooflight.catalog.assumed import assumed_of, network
from rooflight.catalog.figures import DISPUTED, DTYPES, rate_notes, rates_in_print
from rooflight.catalog.refusal import near, refuse
from rooflight.catalog.totals import Totals, noted, totals
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator, Fact, Link
from rooflight.values.measured import LEAST, MOST
from rooflight.values.note import Note

# The catalog's entry of an id; None for none.
Known = Callable[[str], Accelerator | None]

_RATE = ("FLOP/s", "OP/s")
# what a fact may be, and the base units it may be printed in; () is a count
_QUANTITIES: dict[str, tuple[str, ...]] = {
    "peak": _RATE,
    "peak-fp16-accumulate": _RATE,
    "memory-bandwidth": ("B/s",),
    "memory-label": ("B",),
    "memory-usable": ("B",),
    "memory-driver": ("B",),
    "memory-runtime": ("B",),
    variants.FACT: ("B",),
    "last-level-cache": ("B",),
    "boost-clock": ("Hz",),
    "base-clock": ("Hz",),
    "max-clock": ("Hz",),
    "link": ("B/s",),
    "link-peer": ("B/s",),
    "pcie": ("B/s",),
    "cpu-link": ("B/s",),
    "host-memory-bandwidth": ("B/s",),
    **levels.QUANTITIES,
    "network": ("B/s",),
    "network-fastest": ("B/s",),
    "tdp": ("W",),
    "compute-units": (),
    "link-domain": (),
    "node-devices": (),
    "release-year": (),
}
_TEXTS = ("link-name",)
_FLAGS = ("link-reduces", "matrix-units", "pcie-peer-to-peer")
_WHATS = (*_QUANTITIES, *_TEXTS, *_FLAGS)
# kinds a fact must state, because leaving them out is how factors of two are lost; only dense peaks feed a roof
_KINDS = {
    "peak": ("dense", "sparse", "vector"),
    "peak-fp16-accumulate": ("dense", "sparse"),
    "link": ("both-ways", "one-way"),
    "link-peer": ("both-ways", "one-way"),
    "pcie": ("one-way", "both-ways"),
    "cpu-link": ("both-ways", "one-way"),
    "network": ("one-way",),
    "network-fastest": ("one-way",),
    variants.FACT: variants.KINDS,
    **levels.KINDS,
}
# a package's figures that its devices share out; a PCIe slot serves whichever device asks
_SHARED = frozenset(
    ("peak", "peak-fp16-accumulate", "memory-bandwidth", "memory-label", "memory-usable", "last-level-cache")
) | {"link", "tdp"}
_FACT_KEYS = frozenset(Fact.__struct_fields__)
_TOP_TEXTS = ("id", "name", "vendor", "family", "kind", "confidence", "notes")
_TOP_KEYS = frozenset((*_TOP_TEXTS, "aliases", "sources", "devices", "fact", "measured"))
_CONFIDENCES = ("A", "B", "C")


def ceiling_flop_per_s(
    *, peak_flop_per_s: float, fp16_accumulate_flop_per_s: float, clock_ratio: float | None, margin: float
) -> float:
    """The dense rate no device of this kind exceeds, in FLOP/s.

    The higher accumulator's rate, times highest over rated clock where both are known, else times the family's margin.
    Check: 989.4e12 printed at 1830 MHz, clock up to 1980 MHz -> 1070.5e12.
    """
    return max(peak_flop_per_s, fp16_accumulate_flop_per_s) * (clock_ratio or margin)


def accelerator(
    raw: dict[str, Any], *, origin: str, assumed_from: dict[str, Any], known: Known | None = None
) -> Accelerator:
    """A parsed TOML file as an Accelerator: one device, base units, dense rates.

    known   finds the catalog's entry that a measured machine names as its datasheet
    """
    if "measured" not in raw:
        return _printed(raw, origin, assumed_from)
    from rooflight.catalog import measured  # of files alone: no entry of the catalog was measured

    where = f"{origin}, [measured]"
    found = measured.read(raw["measured"], where)
    datasheet = None if found.datasheet is None or known is None else known(found.datasheet)
    if found.datasheet is not None and datasheet is None:
        refuse("the catalog has no such entry", f"{where}, datasheet", found.datasheet, "an accelerator's id")
    if datasheet is not None:
        raw = {"vendor": datasheet.vendor, "family": datasheet.family, "kind": datasheet.kind, **raw}
    card = _printed(raw, origin, assumed_from)
    if known is not None and known(card.id) is not None:
        refuse("the catalog has an entry of that id", f"{origin}, id", card.id, "a name of its own for this machine",
               f'id = "{card.id}-measured"')  # fmt: skip
    return measured.applied(card, found, datasheet)


def _printed(raw: dict[str, Any], origin: str, assumed_from: dict[str, Any]) -> Accelerator:
    """What its facts make of it."""
    top = _top(raw, origin)
    devices = _devices(raw, origin)
    facts = tuple(_fact(entry, f"{origin}, [[fact]] number {i}") for i, entry in enumerate(_entries(raw, origin), 1))
    _refuse_repeats(facts, origin)
    amounts = {fact.what: _amount(fact, devices) for fact in facts if fact.what in _QUANTITIES and not fact.doubt}
    _refuse_contradictions(amounts, origin)
    texts = {fact.what: fact for fact in facts if not fact.doubt}
    name = top["name"] or top["id"]
    family = top["family"] or "default"
    assumed = assumed_of(family, name, assumed_from)
    matrix_units = "matrix-units" in texts and texts["matrix-units"].value is True
    rated = rates_in_print([(fact, _amount(fact, devices)) for fact in facts if fact.what in DISPUTED], matrix_units)
    placed = {**top, "name": name, "family": family, "kind": top["kind"] or "gpu"}
    memory = totals(texts, amounts, placed, assumed_from["memory"])
    link = _link(texts, amounts)
    accelerator_id = top["id"] or re.sub(r"[\s_-]+", "-", name.lower())
    return Accelerator(
        id=accelerator_id,
        name=name,
        vendor=top["vendor"],
        family=family,
        kind=top["kind"] or "gpu",
        peak_flop_per_s=rated.peaks,
        fast_flop_per_s=_fast(rated.fastest, rated.fp16_accumulate, amounts, assumed.peak_margin),
        memory_bytes_per_s=rated.memory_bytes_per_s,
        fast_memory_bytes_per_s=rated.fast_memory_bytes_per_s,
        unrated_matrix_units=matrix_units and not rated.peaks,
        memory_bytes=None if memory is None else memory.driver,
        program_bytes=None if memory is None else memory.program,
        label_bytes=None if memory is None else memory.label,
        last_level_cache_bytes=amounts.get("last-level-cache"),
        compute_units=amounts.get("compute-units"),
        link=link,
        unrated_link="" if link or "link-name" not in texts else str(texts["link-name"].value),
        pcie_bytes_per_s=amounts.get("pcie"),
        pcie_peer_to_peer=bool(texts["pcie-peer-to-peer"].value) if "pcie-peer-to-peer" in texts else None,
        cpu_link_bytes_per_s=amounts.get("cpu-link"),
        cpu_link_name=texts["cpu-link"].note.partition(",")[0] if "cpu-link" in texts else "",
        host_memory_bytes_per_s=amounts.get("host-memory-bandwidth"),
        caches=levels.caches(facts, devices, amounts.get("compute-units")),
        node_devices=int(amounts.get("node-devices", assumed_from["network"]["node_devices"])),
        network=network(texts, amounts, assumed_from["network"]),
        tdp_w=amounts.get("tdp"),
        release_year=int(amounts["release-year"]) if "release-year" in amounts else None,
        confidence=top["confidence"] or "B",
        assumed=assumed,
        facts=facts,
        notes=top["notes"],
        origin=origin,
        assumptions=(
            *_notes(accelerator_id, top["confidence"], devices, memory),
            *rate_notes(accelerator_id, facts, rated),
            *([size] if (size := variants.default_note(accelerator_id, facts)) is not None else []),
        ),
    )


def _notes(accelerator_id: str, confidence: str, devices: int, memory: Totals | None) -> Iterator[Note]:
    """What was assumed in reading the file."""
    if devices > 1:
        yield Note(key="package", value=devices, why=accelerator_id)
    if memory is not None:
        yield noted(memory, accelerator_id)
    if confidence == "C":
        yield Note(key="confidence", value=confidence, why=accelerator_id)


def _fast(
    peaks: dict[str, float], fp16_accumulate: dict[str, float], amounts: dict[str, float], margin: float
) -> dict[str, float]:
    ratio = None
    # a processor's rates are worked out at its base clock
    rated = amounts.get("boost-clock", amounts.get("base-clock"))
    if "max-clock" in amounts and rated is not None:
        ratio = max(1.0, amounts["max-clock"] / rated)
    return {
        dtype: ceiling_flop_per_s(
            peak_flop_per_s=peaks.get(dtype, 0.0),
            fp16_accumulate_flop_per_s=fp16_accumulate.get(dtype, 0.0),
            clock_ratio=ratio,
            margin=margin,
        )
        for dtype in DTYPES
        if dtype in peaks or dtype in fp16_accumulate
    }


def _link(facts: dict[str, Fact], amounts: dict[str, float]) -> Link | None:
    if "link" not in amounts:
        return None
    reduces = facts.get("link-reduces")
    domain = amounts.get("link-domain")
    return Link(
        name=facts["link"].note or "link",
        bytes_per_s=amounts["link"],
        peer_bytes_per_s=amounts.get("link-peer"),
        domain=None if domain is None else int(domain),
        reduces=reduces is not None and reduces.value is True,
    )


def _amount(fact: Fact, devices: int) -> float:
    """A fact's number in base units, per device and one way.

    Cache sizes are printed in MB and mean MiB (50 MB of L2 is 52,428,800 bytes by device query): read as the larger,
    because a ceiling credits the whole cache.
    """
    unit = fact.unit
    if fact.what == "last-level-cache":
        unit = levels.BINARY.get(unit, unit)
    amount = to_base(float(fact.value), unit) if unit else float(fact.value)
    if fact.kind == "both-ways":
        amount /= 2
    if fact.what in _SHARED:
        amount /= devices
    return float(f"{amount:.15g}")  # 66.9 x 10^12 is 66900000000000.01 in binary; no source prints 16 digits


def _top(raw: dict[str, Any], origin: str) -> dict[str, str]:
    """The text keys at the top, "" where left out."""
    for key in raw:
        if key not in _TOP_KEYS:
            refuse(
                f"{key!r} is not a key of an accelerator",
                origin,
                key,
                ", ".join(sorted(_TOP_KEYS)),
                near(key, _TOP_KEYS),
            )
    for key in _TOP_TEXTS:
        value = raw.get(key, "")
        if not isinstance(value, str):
            refuse(f"{key} is not text", origin, value, f'text in quotes, as in {key} = "..."')
    top = {key: raw.get(key, "").strip() for key in _TOP_TEXTS}
    if not top["id"] and not top["name"]:
        refuse("the accelerator has no id and no name", origin, "neither", 'id = "my-card" at the top')
    for key in ("id", "name"):
        if not top[key].isprintable():
            refuse(f"{key} holds control characters", origin, top[key], "plain text: letters, digits, dots and dashes")
    if top["confidence"] and top["confidence"] not in _CONFIDENCES:
        refuse("confidence is not one of A, B, C", origin, top["confidence"], "A, B or C")
    for key in ("aliases", "sources"):
        if not isinstance(raw.get(key, []), list) or not all(isinstance(text, str) for text in raw.get(key, [])):
            refuse(f"{key} is not a list of texts", origin, raw[key], f'{key} = ["...", "..."]')
    return top


def _devices(raw: dict[str, Any], origin: str) -> int:
    devices = raw.get("devices", 1)
    if isinstance(devices, bool) or not isinstance(devices, int) or not 1 <= devices <= 1024:
        refuse(
            "devices is not a whole number from 1",
            origin,
            devices,
            "devices = 2 for a package of two, else leave it out",
        )
    return devices


def _entries(raw: dict[str, Any], origin: str) -> list[Any]:
    entries = raw.get("fact", [])
    if not isinstance(entries, list):
        refuse("fact is not a list of tables", origin, entries, "a [[fact]] table, in double brackets, for each number")
    return entries


def _fact(entry: Any, where: str) -> Fact:
    """One [[fact]], checked: known keys, a known `what`, a value and unit that fit it."""
    if not isinstance(entry, dict):
        refuse("a fact is not a table", where, entry, "a [[fact]] table")
    for key in entry:
        if key not in _FACT_KEYS:
            refuse(f"{key!r} is not a key of a fact", where, key, ", ".join(sorted(_FACT_KEYS)), near(key, _FACT_KEYS))
    what = entry.get("what")
    if not isinstance(what, str) or what not in _WHATS:
        refuse("the fact does not say what it is", where, what, ", ".join(_WHATS), near(what, _WHATS))
    where = f"{where} (what = {what!r})"
    fields = {key: value for key, value in entry.items() if key != "value"}
    if "read" in fields:  # TOML has dates; both forms are read
        fields["read"] = str(fields["read"])
    for key, text in fields.items():
        if not isinstance(text, str):
            refuse(f"{key} is not text", where, text, "text in quotes")
    if fields.get("confidence", "B") not in _CONFIDENCES:
        refuse("confidence is not one of A, B, C", where, fields["confidence"], "A, B or C")
    _check_value(what, entry.get("value"), fields.get("unit", ""), where)
    levels.check(what, fields.get("level"), where)
    kinds = _KINDS.get(what)
    if kinds is not None and fields.get("kind") not in kinds:
        refuse("the fact does not say its kind", where, fields.get("kind"), f"kind = one of {', '.join(kinds)}")
    if what.startswith("peak") and fields.get("dtype") not in DTYPES:
        refuse(
            "the peak does not say its number format", where, fields.get("dtype"), f"dtype = one of {', '.join(DTYPES)}"
        )
    return Fact(value=entry["value"], **fields)


def _check_value(what: str, value: Any, unit: str, where: str) -> None:
    if what in _FLAGS:
        if not isinstance(value, bool):
            refuse("the value is not true or false", where, value, "value = true or value = false")
        return
    if what in _TEXTS:
        if not isinstance(value, str) or not value.strip():
            refuse("the value is not text", where, value, "text in quotes")
        return
    bases = _QUANTITIES[what]
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse("the value is not a number", where, value, "a number, without quotes, in the printed unit")
    try:
        amount = to_base(float(value), unit) if bases else float(value)
    except ValueError:
        want = f"{bases[0]} with a prefix, as in {_example(bases)}"
        refuse("the unit is not known", where, unit or "no unit", want, _meant(unit, bases))
    except OverflowError:
        amount = math.inf
    if not any(unit.endswith(base) for base in bases) and (bases or unit):
        want = f"{bases[0]} with a prefix, as in {_example(bases)}" if bases else "no unit: a count"
        refuse("the unit does not fit what the fact is", where, unit, want)
    if not (math.isfinite(amount) and amount > 0):
        refuse("the value is not a positive number", where, value, "a number above 0; leave an unknown fact out")
    if not LEAST <= amount <= MOST:
        want = f"{LEAST:g} to {MOST:g} in base units (bytes, FLOP, seconds)"
        refuse("no machine has such a value", where, value, want)
    if not bases and amount != int(amount):
        refuse("the value is not a whole number", where, value, "a whole number")


def _meant(unit: str, bases: tuple[str, ...]) -> str | None:
    """The unit as it is written here: GBps and gb/s are GB/s, tflops is TFLOP/s."""
    match = re.fullmatch(r"([kmgtp]i?)?(flop|op|b|hz|w)(/s|ps|s|/sec)?", unit.strip().lower())
    if match is None:
        return None
    prefix, base, _ = (part or "" for part in match.groups())
    found = next((one for one in bases if one.removesuffix("/s").lower() == base), None)
    return None if found is None else ("k" if prefix == "k" else prefix.capitalize()) + found


def _example(bases: tuple[str, ...]) -> str:
    return {"FLOP/s": "TFLOP/s", "B/s": "GB/s", "B": "GB or GiB", "Hz": "MHz", "W": "W"}[bases[0]]


def _refuse_contradictions(amounts: dict[str, float], origin: str) -> None:
    """Figures that cannot both be right."""
    label = amounts.get("memory-label")
    for what in ("memory-usable", "memory-driver", "memory-runtime"):
        found = amounts.get(what)
        # a label of 80 GB may stand for 80 GiB; some are rounded down besides (95 GB for 95.74 GiB)
        if label and found and found > 1.01 * label * to_base(1, "GiB") / to_base(1, "GB"):
            got = f"{found:,.0f} bytes, a label of {label:,.0f}"
            refuse("more memory is usable than there is", origin, got, f"{what} at or below memory-label")
    boost, fastest = amounts.get("boost-clock"), amounts.get("max-clock")
    if boost and fastest and fastest > 2 * boost:
        got = f"max-clock {fastest:,.0f} Hz, boost-clock {boost:,.0f} Hz"
        refuse("the highest clock is more than twice the boost clock", origin, got, "both in one unit, a little apart")


def _refuse_repeats(facts: tuple[Fact, ...], origin: str) -> None:
    """Two figures for one thing need a note that tells them apart, and are peaks; or one is a rate in doubt."""
    seen = set()
    for fact in facts:
        if fact.doubt and fact.what in DISPUTED:
            continue
        if fact.doubt:
            refuse(f"{fact.what} cannot stand in conflict", origin, fact.value, f"doubt with {', '.join(DISPUTED)}")
        key: tuple[object, ...] = (fact.what, fact.level)
        if fact.what.startswith("peak"):
            key = (fact.what, fact.dtype, fact.kind, fact.note)
        elif fact.what == variants.FACT:
            key = (fact.what, fact.value)
        if key in seen:
            refuse(
                f"{' '.join(str(part) for part in key if part)} is given twice", origin, fact.value, "one [[fact]] each"
            )
        seen.add(key)

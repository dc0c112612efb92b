"""A card's two totals of memory, as the driver reports it and as a program is given it: facts, else rules of ours."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator, Fact
from rooflight.values.note import Note

# NVIDIA's brands whose GDDR comes with ECC off; its other cards have it on.
_ECC_OFF = ("GeForce", "RTX", "TITAN", "Quadro")


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one device: by the driver, for a program, and the label in full GiB; how each was come by.

    how     "measured", "printed" (a page's usable figure), "rule" (from the other total), "label", "wired", "stated"
    """

    driver: float
    program: float
    label: float
    driver_how: str
    program_how: str


def totals(
    facts: dict[str, Fact], amounts: dict[str, float], top: dict[str, str], rules: dict[str, Any]
) -> Totals | None:
    """The totals from a file's facts and the assumed rules; None where it has no size at all.

    A label says GB and means GiB (an 80 GB card has 81,559 MiB), so the most there can be is the label in full GiB.
    """
    found = _Found(**{name: amounts.get(f"memory-{name}") for name in ("driver", "runtime", "usable", "label")})
    rule = _Rule(top=top, rules=rules)
    full = None if found.label is None else _full(facts["memory-label"].unit, found.label, rule)
    if found.driver is not None:
        driver, driver_how = found.driver, "measured"
        program, program_how = (found.runtime, "measured") if found.runtime else (rule.program(driver), rule.how)
    elif found.runtime is not None or found.usable is not None:
        program = found.runtime or found.usable or 0.0
        program_how = "measured" if found.runtime else "printed"
        driver, driver_how = (full, "label") if rule.unified and full else (rule.driver(program, full), "rule")
    elif full is not None:
        driver, driver_how = full * rule.of_label(facts), "label"
        program, program_how = rule.program(driver), rule.how
    else:
        return None
    return Totals(
        driver=driver, program=program, label=max(full or 0.0, driver, program), driver_how=driver_how,
        program_how=program_how,
    )  # fmt: skip


def sized(card: Accelerator, memory_bytes: float, rules: dict[str, Any]) -> Accelerator:
    """The card with so much memory as its driver would report; what a program is given follows by rule.

    Whole GB are a label, as cards are sold, and so GiB (but where the family's labels are decimal).
    """
    top = {"kind": card.kind, "vendor": card.vendor, "family": card.family, "name": card.name}
    rule = _Rule(top=top, rules=rules)
    sold = memory_bytes % to_base(1, "GB") == 0 and not rule.decimal
    full = memory_bytes / to_base(1, "GB") * to_base(1, "GiB") if sold else memory_bytes
    memory_bytes = full * rule.of_label({}) if sold else memory_bytes
    program = rule.program(memory_bytes)
    how = Totals(driver=memory_bytes, program=program, label=full, driver_how="stated", program_how=rule.how)
    others = tuple(one for one in card.assumptions if one.key != "memory_total")
    return msgspec.structs.replace(
        card, memory_bytes=memory_bytes, program_bytes=program, label_bytes=full,
        assumptions=(*others, noted(how, card.id)),
    )  # fmt: skip


def noted(found: Totals, accelerator_id: str) -> Note:
    """The totals as an assumption."""
    value = (found.driver, found.driver_how, found.program, found.program_how)
    return Note(key="memory_total", value=value, why=accelerator_id)


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of the facts that are there."""

    driver: float | None
    runtime: float | None
    usable: float | None
    label: float | None


class _Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One total from the other, by `[memory]` of assumptions.toml."""

    top: dict[str, str]
    rules: dict[str, Any]

    @property
    def _keeps(self) -> bool:
        """Whether the driver keeps some for itself: NVIDIA's cards under Linux do, AMD's do not."""
        return self.top["vendor"] == "NVIDIA" and self.top["kind"] == "gpu"

    @property
    def unified(self) -> bool:
        """Whether the device shares the machine's memory, of which it may wire a part."""
        return self.top["kind"] == "apu" and self.top["family"] not in self.rules["own_families"]

    @property
    def how(self) -> str:
        """How what a program is given follows from the driver's total."""
        return "wired" if self.unified else "rule"

    def program(self, driver: float) -> float:
        """What a program is given of a driver's total.

        NVIDIA: total - (0.40 GiB + 0.0017 total). Check by hand: 81,559 MiB = 79.65 GiB -> 79.11 (measured 79.19).
        """
        if self.unified:
            return driver * self._wired(driver)
        if not self._keeps:
            return driver
        kept = to_base(self.rules["driver_keeps_GiB"], "GiB") + self.rules["driver_keeps_share"] * driver
        left: float = max(driver - kept, driver / 2)
        return left

    def driver(self, program: float, most: float | None) -> float:
        """The driver's total behind what a program is given: program() the other way round, `most` at most."""
        if not self._keeps:
            return program
        total: float = (program + to_base(self.rules["driver_keeps_GiB"], "GiB")) / (
            1 - self.rules["driver_keeps_share"]
        )
        return total if most is None else min(total, most)

    def of_label(self, facts: dict[str, Fact]) -> float:
        """The driver's share of a label in GiB."""
        if self.decimal or self.unified or self.top["kind"] == "cpu":
            return 1.0
        bandwidth = facts.get("memory-bandwidth")
        gddr = bandwidth is not None and "GDDR" in bandwidth.note
        ecc = gddr and self.top["vendor"] == "NVIDIA" and not any(brand in self.top["name"] for brand in _ECC_OFF)
        share: float = self.rules["label_share"]
        return share * self.rules["ecc_share"] if ecc else share

    @property
    def decimal(self) -> bool:
        """Whether the family's labels are decimal and whole."""
        return self.top["family"] in self.rules["whole_families"]

    def _wired(self, driver: float) -> float:
        """The share of unified memory that a GPU may wire without settings."""
        for one in self.rules["wired"]:
            if self.top["vendor"] == one["vendor"] and driver >= to_base(one["least_GiB"], "GiB"):
                return float(one["share"])
        return float(self.rules["wired_share"])


def _full(unit: str, label: float, rule: _Rule) -> float:
    """A label's bytes with its prefix read as a binary one; as they are where the family's labels are decimal."""
    if rule.decimal or unit not in ("MB", "GB", "TB"):
        return label
    return label * to_base(1, unit.replace("B", "iB")) / to_base(1, unit)

"""What measuring a machine found, in words."""

from __future__ import annotations

from rooflight.units import round_significant, scaled
from rooflight.values.machine import Machine
from rooflight.values.measured import UNSTEADY

# Of the processors in use: less is the system's own, and is not worth a word.
_WORTH_SAYING = 0.03
# Processors' worth of time from which on others disturb what is measured.
_DISTURBED = 0.5
# The format a sentence speaks of: the first that was measured.
_TELLING = ("bf16", "fp16", "fp32")


def answer(machine: Machine) -> str:
    """The sentence that a colleague could repeat."""
    memory = machine.memory
    parts = []
    if memory is not None:
        parts.append(f"memory at {scaled(memory.median, 'B/s')}")
    told = [form for form in ("fp32", *_TELLING[:2], "fp8", "int8") if form in machine.peaks]
    if told:
        parts.append(", ".join(f"{form} at {scaled(machine.peaks[form].median, 'FLOP/s')}" for form in told))
    if not parts:
        return f"{machine.name}: nothing was measured to its end."
    form = next((form for form in _TELLING if form in machine.ridges), None)
    doubted = _doubted(machine)
    ridge = "" if form is None else (
        f"; below {round_significant(machine.ridges[form])} FLOP/byte, {form} work waits for memory"
    )  # fmt: skip
    return f"{machine.name}: {', '.join(parts)}{ridge}.{doubted}"


def _doubted(machine: Machine) -> str:
    """Said of a measurement that should not be relied on: others took the machine, or its roofs' runs lie far apart."""
    why = []
    taken = (machine.others or 0.0) + (machine.stolen or 0.0)
    if taken >= _DISTURBED:
        why.append(f"others used {round_significant(taken, 2)} of a processor")
    roofs = [*machine.peaks.items(), *([("memory", machine.memory)] if machine.memory is not None else [])]
    unsteady = [f"{name} by {round(100 * one.spread)} %" for name, one in roofs if one.spread > UNSTEADY]
    if unsteady:
        why.append(f"runs differed ({', '.join(unsteady)})")
    return f" Do not rely on it: {' and '.join(why)}; measure again while the machine is idle." if why else ""


def notes(machine: Machine) -> tuple[str, ...]:
    """What a reader should know of how it was measured."""
    found = [*_quiet(machine), *_detours(machine)]
    if machine.memory is None and not any(part == "memory" for part, _ in machine.undone):
        found.append("no figure stands for memory: nothing was measured that went past the caches")
    found += [f"not done: {part} ({why})" for part, why in machine.undone]
    if not machine.measured.complete and not machine.undone:
        found.append("a quick look: fewer runs and sizes than a full measurement, which alone `--on this` finds")
    return (*found, _state(machine))


def _detours(machine: Machine) -> list[str]:
    """Formats that run, but slower than fp32."""
    if not machine.detours:
        return []
    slow = ", ".join(f"{form} at {scaled(rate, 'FLOP/s')}" for form, rate in machine.detours.items())
    return [f"no units of their own: {slow}, slower than fp32, in which such numbers can be multiplied instead"]


def _quiet(machine: Machine) -> list[str]:
    """Whether the machine was this program's alone."""
    found = []
    if machine.others is not None and machine.others > _WORTH_SAYING:
        found.append(
            f"other programs used {round_significant(machine.others, 2)} of a processor meanwhile: rates may be low"
        )
    if machine.stolen is not None and machine.stolen > _WORTH_SAYING:
        took = round_significant(machine.stolen, 2)
        found.append(f"the host gave {took} of a processor to other machines meanwhile: rates may be low")
    return found


def _state(machine: Machine) -> str:
    """Threads, clocks, versions."""
    state = machine.measured.state
    parts = []
    if state.threads is not None:
        kept = "kept on a processor each" if state.pinned else "not kept in place"
        parts.append(f"{state.threads} thread{'s' * (state.threads != 1)}, {kept}")
    if state.driver:
        parts.append(f"driver {state.driver}")
    parts += [f"{name} clock {scaled(hz, 'Hz')}" for name, hz in (state.clocks_hz or {}).items()]
    if state.temperature_c is not None:
        parts.append(f"{round_significant(state.temperature_c)} °C")
    if state.power_w is not None:
        parts.append(scaled(state.power_w, "W"))
    parts += [f"{name} {version}" for name, version in state.versions.items()]
    return ", ".join(parts)

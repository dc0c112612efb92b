"""What expected times rest on, in a clause; nothing where the engine was measured on the very card."""

from __future__ import annotations

from rooflight.catalog.calibration import NEWEST, backend_of, calibrated, engine_named, other_backend
from rooflight.span import Span
from rooflight.units import scaled
from rooflight.values.analysis import Analysis
from rooflight.values.basis import CARD, FAMILY, MACHINE, ExpectedBasis

# Cards named of those that runs were on.
_CARDS = 3
_MEAN = "the mean of vLLM, SGLang and TensorRT-LLM"


def basis_clause(basis: ExpectedBasis, asked: str | None, *, own: bool = False) -> str:
    """That the card or the engine asked for was never measured, and what stands in; "" where both were.

    own     whether your own calibration is of them, so that it was measured by you alone

    Check: vllm on RDNA4 -> no measurement of vllm on RDNA4, taken from Ada's kernels.
    """
    unknown = asked is not None and basis.engine is None
    if basis.basis in (MACHINE, CARD):
        return f"no measurement of {_who(basis, asked)}, taken from {_MEAN}" if unknown else ""
    near = basis.basis == FAMILY and bool(basis.of_family)
    where = basis.accelerator if near else basis.family or basis.accelerator
    sources = [_MEAN] if unknown else []
    if near:
        sources.append(f"{_by_another(basis, asked)}{listed(basis.of_family)}")
    elif basis.basis == FAMILY:
        sources += [f"its kernels and from runs on {listed(basis.cards)}"]
    else:
        sources.append(f"{basis.inherits}'s kernels")
    but = " but your own" if own else ""
    return f"no measurement of {_who(basis, asked)} on {where}{but}, taken from {' and from '.join(sources)}"


def _by_another(basis: ExpectedBasis, asked: str | None) -> str:
    """Whose runs stand in for those of a backend that was not measured, before their cards."""
    if asked is None or not calibrated(asked):
        return ""
    return f"{basis.engine} on " if other_backend(asked, engine_named(asked, basis.family, basis.era)) else ""


def _who(basis: ExpectedBasis, asked: str | None) -> str:
    if basis.engine is None:
        return "served runs" if asked is None else asked[:40]
    # a backend, or a fork, is named as it was asked for: the engine under its own name may have been measured
    name = asked[:40] if asked is not None and backend_of(asked) else basis.engine
    return f"{'newer' if basis.era == NEWEST else 'older'} {name}" if basis.other_versions else name


def listed(cards: tuple[str, ...]) -> str:
    """The first of some cards, and how many more there are."""
    more = len(cards) - _CARDS
    named = [*cards[:_CARDS], *([f"{more} more"] if more > 0 else [])]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def behind(clause: str) -> str:
    """The clause behind a part of a sentence."""
    return f"; {clause}" if clause else ""


def inferred(analysis: Analysis) -> str:
    """The clause of an answer: "" where the card itself was measured."""
    own = analysis.calibration is not None and analysis.calibration.used
    asked = analysis.deployment.get("engine")
    return basis_clause(analysis.expected_basis, asked if isinstance(asked, str) else None, own=own)


def interval(span: Span) -> str:
    """Of a time, the interval in brackets: (8 to 19 ms)."""
    if span.low is None or span.high is None:
        return ""
    low, high = scaled(span.low, "s"), scaled(span.high, "s")
    number, unit = low.rsplit(" ", 1)
    return f" ({number if high.endswith(f' {unit}') else low} to {high})"

"""Numbers as a person reads them in a cell."""

from __future__ import annotations

from rooflight.units import round_significant, scaled


def seconds(value: float | None) -> str:
    """4.48 ms; blank where there is none."""
    return "" if value is None else scaled(value, "s")


def amount(value: float | None, base: str) -> str:
    """15 GB, 989 TFLOP/s; blank where there is none."""
    return "" if value is None else scaled(value, base)


def plain(value: float | None) -> str:
    """Three significant digits; blank where there is none."""
    return "" if value is None else round_significant(value)


def percent(share: float) -> str:
    """12 %, and <1 % for what is not nothing."""
    if 0 < share < 0.005:
        return "<1 %"
    return f"{share:.0%}".replace("%", " %")


def count(value: float | None) -> str:
    """1,280; blank where there is none."""
    return "" if value is None else f"{value:,.0f}"


def parameters(value: float) -> str:
    """8.03 B: thousand millions, as the field writes them."""
    text = scaled(value, "params")
    return text.replace(" Gparams", " B").replace(" Mparams", " M").replace(" Tparams", " T").replace(" kparams", " k")


def resource(name: str | None) -> str:
    """What binds, in a table: host_memory is the host memory."""
    return "" if name is None else name.replace("_", " ")

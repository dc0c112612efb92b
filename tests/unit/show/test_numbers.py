"""Numbers as a person reads them."""

from __future__ import annotations

from rooflight.show import numbers


def test_cells():
    assert numbers.seconds(4.48e-3) == "4.48 ms"
    assert numbers.seconds(None) == ""
    assert numbers.amount(15_009_849_344, "B") == "15 GB"
    assert numbers.plain(53_214) == "53,200"
    assert numbers.count(1280.0) == "1,280"
    assert numbers.parameters(8_030_261_248) == "8.03 B"
    assert numbers.parameters(671_000_000_000) == "671 B"
    assert numbers.parameters(124_000_000) == "124 M"


def test_percent_never_hides_something():
    assert numbers.percent(0) == "0 %"
    assert numbers.percent(0.001) == "<1 %"
    assert numbers.percent(0.956) == "96 %"

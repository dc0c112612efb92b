"""Kernels that were timed, as dots of a roofline chart: one idea of where a Sample stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rooflight.show import numbers
from rooflight.show.charts.place import Rows
from rooflight.values.sample import Sample

# Samples, or several sets of them by name, such as two files that are compared.
Samples = Sequence[Sample] | Mapping[str, Sequence[Sample]]
# Of the one set, and of several by number: hues of the palette that no bound has beside them.
_ALONE = "ink"
_MOST_SETS = 4


def sets_of(samples: Samples) -> dict[str, Sequence[Sample]]:
    """The sets by name; one without a name is "". At most four, as there are hues."""
    found = dict(samples) if isinstance(samples, Mapping) else {"": samples}
    return {name: found[name] for name in list(found)[:_MOST_SETS]}


def sample_rows(samples: Samples) -> Rows:
    """A row a kernel at its FLOP/byte and FLOP/s (low, high: where eight of ten runs lie), all devices that took part.

    A sample without a time, FLOP or bytes has no place on the chart and is left out.
    """
    found: Rows = []
    named = sets_of(samples)
    for number, (name, ones) in enumerate(named.items(), 1):
        for one in ones:
            time = one.time_s
            if one.kind != "kernel" or time is None or not (time.low > 0 and one.flop and one.bytes):
                continue
            flop = one.flop * one.runs
            found.append({
                "x": one.flop / one.bytes, "y": flop / time.median, "low": flop / time.high, "high": flop / time.low,
                "name": one.name, "operator": one.operator or one.name, "set": name, "set_number": number,
                "hue": _ALONE if len(named) == 1 else str(number), "format": one.compute or one.format or "",
                "time_s": time.median / one.runs, "time": numbers.seconds(time.median / one.runs),
            })  # fmt: skip
    return found


def dots_read(samples: Samples) -> str:
    """How to read them; "" where there are none."""
    named = sets_of(samples)
    if not sample_rows(named):
        return ""
    said = "Squares: kernels as they were timed here, with the interval of eight of ten runs"
    if len(named) == 1:
        return f"{said}."
    return f"{said}; {', '.join(f'{number} (colour {number}) {name}' for number, name in enumerate(named, 1))}."

"""What is claimed of a scenario, before it is judged: which metrics, and values that can be measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rooflight.errors import BadInput, Named
from rooflight.values.measurement import LEAST_VALUE, MOST_VALUE
from rooflight.values.question import NOT_CLAIMED


def claims_of(given: Mapping[str, float | None], fields: Iterable[str]) -> dict[str, float]:
    """The values that are claimed, by metric, beside fields of the question.

    Raises BadInput for no value, for what is no measurement, and for a field that no claim has.
    """
    for name in set(fields) & set(NOT_CLAIMED):
        raise BadInput("a claim has no phase mixed", where=Named.of(name), got=name, want="a claim without it")
    values = {metric: value for metric, value in given.items() if value is not None}
    if not values:
        raise BadInput(
            "there is nothing to check",
            got="no claimed value",
            want=Named("a value such as {output_tok_s}", output_tok_s=300),
        )
    for metric, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not LEAST_VALUE <= value <= MOST_VALUE:
            raise BadInput(
                "nothing takes no time, and no speed is no claim" if value == 0 else "no measurement is such a value",
                where=Named.of(metric), got=value, want=f"{LEAST_VALUE:g} to {MOST_VALUE:g}",
            )  # fmt: skip
    return {metric: float(value) for metric, value in values.items()}

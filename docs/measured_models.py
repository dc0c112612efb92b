"""Measures models one after the other and writes the table of docs/measure_model.md.

python docs/measured_models.py this.toml MODEL ... [--weights fp32,bf16] [--budget 60]
"""

from __future__ import annotations

import argparse

import rooflight
from rooflight.show.numbers import plain
from rooflight.show.whole import called

HEADS = (
    "model",
    "weights",
    "step",
    "measured tok/s",
    "expected",
    "low to high",
    "of expected",
    "pace",
    "roofline",
    "fastest seen",
)


def row(found: rooflight.WholeModel, step: rooflight.StepTimed) -> tuple[str, ...]:
    """A step as a row of the table."""
    predicted = step.predicted_tokens_per_s
    return (
        found.model, found.weights, called(step), plain(step.tokens_per_s), plain(predicted.expected),
        f"{plain(predicted.low)} to {plain(predicted.high)}", f"{step.over_expected:.0%}",
        plain(found.pace.get("memory" if step.phase == "decode" else "arithmetic")),
        plain(predicted.roofline), plain(predicted.ceiling),
    )  # fmt: skip


def main() -> None:
    """The table on standard output, a row as soon as it is known."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("machine")
    asked.add_argument("models", nargs="+")
    asked.add_argument("--weights", default="fp32,bf16")
    asked.add_argument("--budget", type=float, default=60.0)
    asked.add_argument("--device")
    given = asked.parse_args()
    print("| " + " | ".join(HEADS) + " |\n" + "|---" * len(HEADS) + "|", flush=True)
    for model in given.models:
        for weights in given.weights.split(","):
            found = rooflight.measure_model(
                model, given.machine, weights=weights, budget_s=given.budget, device=given.device
            )
            for step in found.steps:
                print("| " + " | ".join(row(found, step)) + " |", flush=True)


if __name__ == "__main__":
    main()

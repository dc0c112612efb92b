"""Many mutated inputs by hand; prints what was found, a line a kind.

python tests/fuzz/run.py --count 100000 --seed 1
python tests/fuzz/run.py --kind tables --seed 1 --only 1234      one of them, with all that it is
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import click

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import physics
from fuzz.cases import KINDS
from fuzz.judge import Ended, ended
from rooflight.jobs import in_order

# Of every hundred inputs so many are of a kind.
SHARES = {"configs": 25, "options": 25, "tables": 15, "logs": 10, "cards": 10, "scenarios": 15}
_BATCH = 250
_SHOWN = 4


class Hang(BaseException):
    """Took longer than it may."""


class Found(NamedTuple):
    """What a batch of inputs came to."""

    kind: str
    statuses: Counter[str]
    faults: Counter[str]
    shown: list[str]


def one(kind: str, seed: int, number: int, folder: Path) -> tuple[object, Ended]:
    """The input of that number, and how it ended; the same for the same three."""
    rng = Random(f"{seed}/{kind}/{number}")
    if kind == "scenarios":
        asked = physics.question(rng)
        return asked, Ended(0, tuple(physics.faults(*asked)))
    case = KINDS[kind](rng)
    return case, ended(case, folder)


def _batch(job: tuple[str, int, int, int, float]) -> Found:
    kind, seed, first, last, limit_s = job
    found = Found(kind, Counter(), Counter(), [])
    signal.signal(signal.SIGALRM, _hang)
    with tempfile.TemporaryDirectory() as name:
        for number in range(first, last):
            signal.setitimer(signal.ITIMER_REAL, limit_s)
            try:
                end = one(kind, seed, number, Path(name))[1]
            except Hang:
                end = Ended(-1, (("hang", f"over {limit_s:g} s"),))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            found.statuses[str(end.status)] += 1
            for fault, seen in end.faults:
                found.faults[fault] += 1
                found.shown.append(f"{kind} {number}: {fault}: {seen}")
    return found


def _hang(*_: Any) -> None:
    raise Hang


def _jobs(kinds: dict[str, int], seed: int, limit_s: float) -> Iterator[tuple[str, int, int, int, float]]:
    for kind, count in kinds.items():
        for first in range(0, count, _BATCH):
            yield kind, seed, first, min(first + _BATCH, count), limit_s


@click.command()
@click.option("--count", default=10_000, help="Inputs in all. [10000]")
@click.option("--seed", default=1, help="[1]")
@click.option("--kind", type=click.Choice([*SHARES]), help="One kind alone.")
@click.option("--only", type=int, help="The input of this number alone, shown whole.")
@click.option("--jobs", default=1, help="Processes. [1]")
@click.option("--limit", default=10.0, help="Seconds an input may take. [10]")
def main(count: int, seed: int, kind: str | None, only: int | None, jobs: int, limit: float) -> None:
    """Throw mutated configs, options, tables, logs, cards and random questions at the doors; count what breaks."""
    if only is not None:
        with tempfile.TemporaryDirectory() as name:
            for part in one(kind or "configs", seed, only, Path(name)):
                print(part)
        return
    kinds = {kind: count} if kind else {name: count * share // 100 for name, share in SHARES.items()}
    start = time.monotonic()
    statuses: dict[str, Counter[str]] = {name: Counter() for name in kinds}
    faults: dict[str, Counter[str]] = {name: Counter() for name in kinds}
    seen: Counter[str] = Counter()
    for found in in_order(_batch, _jobs(kinds, seed, limit), jobs):
        statuses[found.kind] += found.statuses
        faults[found.kind] += found.faults
        for line in found.shown:
            sort = f"{found.kind} {line.partition(': ')[2][:60]}"
            seen[sort] += 1
            if seen[sort] <= _SHOWN:
                print(line, flush=True)
    for name in kinds:
        ends = ", ".join(f"{status}: {number:,}" for status, number in sorted(statuses[name].items()))
        wrong = ", ".join(f"{fault} {number:,}" for fault, number in faults[name].items()) or "none"
        print(f"{name}: {statuses[name].total():,} inputs; exit statuses {ends}; faults: {wrong}")
    print(f"seed {seed}, {time.monotonic() - start:.0f} s")
    sys.exit(1 if any(faults.values()) else 0)


if __name__ == "__main__":
    main()

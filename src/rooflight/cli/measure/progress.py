"""What a measurement is busy with, on standard error: a bar on a terminal, else a line a part."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

Progress = Callable[[str, float], None]


@contextmanager
def shown() -> Iterator[Progress]:
    """A function to call with the part that is under way and the share of it that is done."""
    if sys.stderr is not None and sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        yield _lines()


def _lines() -> Progress:
    said: list[str] = []

    def progress(name: str, _: float) -> None:
        if name not in said:
            said.append(name)
            click.echo(f"measuring: {name}", err=True)

    return progress


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("measuring: {task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def progress(name: str, share: float) -> None:
            bar.update(task, description=name, completed=share)

        yield progress

"""Pieces of work spread over processes, what they give in the order of the pieces."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from typing import Any, TypeVar

Piece = TypeVar("Piece")
Made = TypeVar("Made")

# Pieces handed out for each process: one in work, one waiting.
_AHEAD = 2
_work: Callable[[Any], Any]


def in_order(work: Callable[[Piece], Made], pieces: Iterable[Piece], jobs: int) -> Iterator[Made]:
    """work(piece) of each piece, as map() gives it, by so many processes; one works in this process alone.

    work, pieces and what is made must pickle. Pieces are taken as processes need them, so memory does not grow with
    their number. Whoever stops asking early (an interrupt, an error) ends the processes. An error in a piece is raised
    where its result would come.
    """
    if jobs <= 1:
        yield from map(work, pieces)
        return
    before = set(multiprocessing.active_children())
    # started, not forked: this process may have threads, whose locks a fork would copy
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(work,))
    waiting: deque[Future[Made]] = deque()
    left, done = iter(pieces), False
    try:
        waiting.extend(_handed(pool, left, _AHEAD * jobs))
        while waiting:
            made = waiting.popleft().result()
            waiting.extend(_handed(pool, left, 1))
            yield made
        done = True
    finally:
        pool.shutdown(wait=done, cancel_futures=not done)
        if not done:
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()


def _handed(pool: ProcessPoolExecutor, pieces: Iterator[Any], most: int) -> list[Future[Any]]:
    """The next pieces in work. An interrupt from the keyboard is this process's to answer."""
    held = signal.SIG_BLOCK if hasattr(signal, "pthread_sigmask") else None
    some = list(islice(pieces, most))
    if held is None or not some:
        return [pool.submit(_done, piece) for piece in some]
    before = signal.pthread_sigmask(held, {signal.SIGINT})  # processes that start now have it so
    try:
        return [pool.submit(_done, piece) for piece in some]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(work: Callable[[Any], Any]) -> None:
    global _work  # noqa: PLW0603 - a process's own, set once as it starts
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work = work


def _done(piece: Any) -> Any:
    return _work(piece)

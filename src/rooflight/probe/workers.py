"""Threads that go over memory of their own together: one a processor, each kept there."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rooflight.probe.loops import Pattern

_FLOAT_BYTES = 4
_LINE_BYTES = 64
# Arrays that lie a multiple of a page apart hinder each other's loads: each begins some lines further.
_STAGGER_BYTES = 17 * _LINE_BYTES
_MOST_ARRAYS = 3


class Workers:
    """Threads with a piece of memory each; `seconds` lets all of them go over theirs.

    A context: the threads end with it. processors: one for each thread, where the system can keep it there.
    """

    def __init__(self, processors: tuple[int, ...], most_bytes: float) -> None:
        self._processors = processors
        self._piece = int(most_bytes) // len(processors)
        self._barrier = threading.Barrier(len(processors) + 1)
        self._task: Callable[[int], None] | None = None
        self._pieces: list[np.ndarray[Any, Any]] = [np.empty(0)] * len(processors)
        self._times = [(0.0, 0.0)] * len(processors)
        self._threads = [
            threading.Thread(target=self._work, args=(number,), daemon=True) for number in range(len(processors))
        ]

    def __enter__(self) -> Workers:
        for thread in self._threads:
            thread.start()
        self._run(self._fill)  # by its own thread: memory lies beside who touches it first
        return self

    def __exit__(self, *_: object) -> None:
        self._task = None
        self._barrier.abort()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        if hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, (self._processors[number],))
        with contextlib.suppress(threading.BrokenBarrierError):
            while True:
                self._barrier.wait()
                if (task := self._task) is None:
                    return
                start = time.perf_counter()
                task(number)
                self._times[number] = (start, time.perf_counter())
                self._barrier.wait()

    def _fill(self, number: int) -> None:
        spare = _MOST_ARRAYS * _STAGGER_BYTES + _LINE_BYTES
        made = np.ones((self._piece + spare) // _FLOAT_BYTES, dtype=np.float32)
        # from a line's beginning on: loads across two lines take twice as long
        self._pieces[number] = made[-made.ctypes.data % _LINE_BYTES // _FLOAT_BYTES :]

    def _run(self, task: Callable[[int], None]) -> float:
        self._task = task
        self._barrier.wait()
        self._barrier.wait()
        return max(end for _, end in self._times) - min(start for start, _ in self._times)

    def views(self, number: int, arrays: int, set_bytes: float) -> tuple[Any, ...]:
        """A thread's part of a working set of all threads, as so many arrays."""
        lines = int(set_bytes) // len(self._processors) // arrays // _LINE_BYTES
        length = max(lines, 1) * _LINE_BYTES // _FLOAT_BYTES
        step = length + _STAGGER_BYTES // _FLOAT_BYTES
        return tuple(self._pieces[number][i * step : i * step + length] for i in range(arrays))

    def moved_bytes(self, pattern: Pattern, set_bytes: float) -> float:
        """What a pass of all threads moves: each array once."""
        return float(sum(view.nbytes for view in self.views(0, pattern.arrays, set_bytes)) * len(self._processors))

    def seconds(self, pattern: Pattern, set_bytes: float, passes: int) -> float:
        """Of one pass of all threads over a working set, of so many that were timed as one."""
        pieces = [self.views(number, pattern.arrays, set_bytes) for number in range(len(self._processors))]
        return self._run(lambda number: pattern.loop(pieces[number], passes)) / passes

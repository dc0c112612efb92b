"""Who computes an answer: processes beside the one that serves, each ended where it takes too long.

A question cannot stop the page for others: it runs in a process of its own, and work that exceeds its deadline is
abandoned with its process. How many run and wait at once is bounded; more are told to come back.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import anyio
from anyio import to_process, to_thread
from starlette.exceptions import HTTPException

from rooflight.studio.answers import ready
from rooflight.studio.own import Own, under

Value = TypeVar("Value")
# Runs a function of plain values somewhere, and gives its value.
Run = Callable[..., Awaitable[Any]]

DEADLINE_S = 15.0
WRITING_S = 60.0  # of a page with sliders, for which hundreds of questions are answered
WAIT_S = 8.0  # for a process that is free; a page gives up after 30 s
MOST_WAITING = 128
_FEWEST, _MOST = 2, 4  # one hard question leaves a process for the others


async def in_thread(work: Callable[..., Value], *args: Any, deadline_s: float | None = None) -> Value:  # noqa: ARG001
    """The value of a function, in a thread of this process: for an application that is asked without being served."""
    return await to_thread.run_sync(work, *args)


class Workers:
    """Processes that answer, each one question at a time.

    deadline_s    how long an answer may take, seconds; behind it its process is ended
    wait_s        how long a question may wait for a process, seconds
    own           the calibration that answers are by
    """

    def __init__(
        self, count: int | None = None, *, deadline_s: float = DEADLINE_S, wait_s: float = WAIT_S,
        most_waiting: int = MOST_WAITING, own: Own | None = None,
    ) -> None:  # fmt: skip
        self.count = count or max(_FEWEST, min(_MOST, os.cpu_count() or 1))
        self.deadline_s = deadline_s
        self.wait_s = wait_s
        self.most_waiting = most_waiting
        self.own = own
        self.places = anyio.CapacityLimiter(self.count)
        self.processes = anyio.CapacityLimiter(self.count)

    async def __call__(self, work: Callable[..., Value], *args: Any, deadline_s: float | None = None) -> Value:
        """The value of a function of a module, in a process. Raises HTTPException (503) where that cannot be had.

        deadline_s  of this one, where it is known to take longer than others
        """
        deadline_s = deadline_s or self.deadline_s
        if self.places.statistics().tasks_waiting >= self.most_waiting:
            raise _busy()
        with anyio.move_on_after(self.wait_s) as waited:
            await self.places.acquire()
        if waited.cancelled_caught:
            raise _busy()
        try:
            with anyio.fail_after(deadline_s):
                return await to_process.run_sync(
                    under, self.own, work, *args, cancellable=True, limiter=self.processes
                )  # fmt: skip
        except TimeoutError:
            said = f"the answer took more than {deadline_s:g} s, and was given up: ask for less"
            raise HTTPException(503, said) from None
        except (anyio.BrokenWorkerProcess, OSError):  # killed for its memory, or none could be started
            raise HTTPException(503, "the process that computed the answer has ended: ask for less") from None
        finally:
            self.places.release()

    async def start(self) -> None:
        """All processes, each with what answers need in memory."""
        with kept_from_interrupts():
            await self._each(os.getpid)
        await self._each(ready)

    async def _each(self, work: Callable[[], object]) -> None:
        """Have every process do something, all at once."""

        async def one() -> None:
            with contextlib.suppress(HTTPException):  # a process that starts slowly does it with its first question
                await self(work)

        async with anyio.create_task_group() as group:
            for _ in range(self.count):
                group.start_soon(one)


@contextlib.contextmanager
def kept_from_interrupts() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal; those started here leave it to the one that serves."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _busy() -> HTTPException:
    return HTTPException(503, "the studio is busy: ask again in a moment", headers={"Retry-After": "1"})

"""When requests are sent: so many in flight, at a rate, or all at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator

from rooflight.values.endpoint import Load, Sent

# Sends the request of a number (from 1), which was due at a time of the loop's clock; None: as soon as it can be.
Send = Callable[[int, float | None], Awaitable[Sent]]


async def sent(load: Load, send: Send) -> tuple[list[Sent], bool]:
    """The load's requests in the order of sending, and whether they were cut off by a cancellation.

    No more than num_prompts are sent, none after duration_s; those in flight then end by themselves, or at their own
    timeout. A cancellation ends those in flight, and what is done is kept.
    """
    found: list[Sent] = []
    numbers = iter(range(1, load.num_prompts + 1))
    ends_s = None if load.duration_s is None else asyncio.get_running_loop().time() + load.duration_s
    if load.concurrency is not None:
        users = min(load.concurrency, load.num_prompts)
        tasks: set[asyncio.Future[None]] = {
            asyncio.ensure_future(_user(numbers, ends_s, send, found)) for _ in range(users)
        }
        cut = await _whole(tasks)
    else:
        cut = await _arriving(load, numbers, ends_s, send, found)
    return sorted(found, key=lambda one: (one.start_s, one.number)), cut


async def _user(numbers: Iterator[int], ends_s: float | None, send: Send, found: list[Sent]) -> None:
    """One after the other."""
    clock = asyncio.get_running_loop().time
    for number in numbers:
        found.append(await send(number, None))
        if found[-1].outcome == "unfinished" or (ends_s is not None and clock() >= ends_s):
            return


async def _arriving(
    load: Load, numbers: Iterator[int], ends_s: float | None, send: Send, found: list[Sent]
) -> bool:  # fmt: skip
    """Each when it is due, whether others have ended or not."""
    clock = asyncio.get_running_loop().time
    tasks: set[asyncio.Future[None]] = set()

    async def keep(number: int, due_s: float) -> None:
        found.append(await send(number, due_s))

    due_s, gaps = clock(), _gaps(load)
    try:
        for number in numbers:
            if ends_s is not None and due_s >= ends_s:
                break
            if (wait_s := due_s - clock()) > 0:
                await asyncio.sleep(wait_s)
            tasks.add(asyncio.ensure_future(keep(number, due_s)))
            due_s += next(gaps)
    except asyncio.CancelledError:
        await _cut(tasks)
        return True
    return await _whole(tasks)


def _gaps(load: Load) -> Iterator[float]:
    """Seconds between arrivals: gamma-distributed of shape `burstiness` about the rate's; none in a burst."""
    chance = random.Random(f"{load.seed} arrivals")
    while True:
        rate = load.request_rate
        yield 0.0 if rate is None else chance.gammavariate(load.burstiness, 1 / (rate * load.burstiness))


async def _whole(tasks: set[asyncio.Future[None]]) -> bool:
    """Wait for all; True where a cancellation cut them off."""
    if not tasks:
        return False
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        await _cut(tasks)
        return True
    for task in tasks:
        task.result()
    return False


async def _cut(tasks: set[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

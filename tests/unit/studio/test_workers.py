"""Answers by processes: work that takes too long ends with its process, and others are answered meanwhile."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import warnings
from collections.abc import Coroutine
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `studio`")

from starlette.exceptions import HTTPException

from rooflight.studio.answers import analyze
from rooflight.studio.question import Question
from rooflight.studio.workers import Workers, in_thread

pytestmark = pytest.mark.slow  # starts processes

ENDLESS = (exec, "while True: pass")


def run(asked: Coroutine[Any, Any, Any]) -> Any:
    """What was asked, with its processes. anyio ends them with the loop and leaves their pipes to the collector."""
    found = asyncio.run(asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    return found


async def given_up(*tasks: asyncio.Task[Any]) -> None:
    for one in tasks:
        one.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_work_that_takes_too_long_ends_with_its_process():
    async def asked():
        workers = Workers(1, deadline_s=5)
        process = await workers(os.getpid)
        workers.deadline_s = 0.2
        with pytest.raises(HTTPException) as caught:
            await workers(*ENDLESS)
        gone = not is_running(process)
        workers.deadline_s = 30
        return process, caught.value, gone, await workers(os.getpid)

    process, refused, gone, other = run(asked())
    assert process != os.getpid()
    assert refused.status_code == 503
    assert "more than 0.2 s" in refused.detail
    assert gone
    assert other not in (process, os.getpid())


def test_a_process_that_ends_by_itself_is_said():
    async def asked():
        with pytest.raises(HTTPException) as caught:
            await Workers(1)(os.abort)
        return caught.value

    assert run(asked()).status_code == 503


def test_others_are_answered_while_one_question_takes_long():
    async def asked():
        workers = Workers(2)
        long = asyncio.create_task(workers(*ENDLESS))
        found = [await workers(math.gcd, 12, 18) for _ in range(20)]
        still = not long.done()
        await given_up(long)
        return found, still

    assert run(asked()) == ([6] * 20, True)


def test_more_questions_than_may_wait_are_told_to_come_back():
    async def asked():
        workers = Workers(1, most_waiting=2)
        running = [asyncio.create_task(workers(*ENDLESS)) for _ in range(3)]
        await asyncio.sleep(0)  # all three have come as far as they can
        await asyncio.sleep(0)
        with pytest.raises(HTTPException) as caught:
            await workers(os.getpid)
        await given_up(*running)
        return caught.value

    refused = run(asked())
    assert refused.status_code == 503
    assert refused.headers == {"Retry-After": "1"}


def test_a_question_does_not_wait_for_ever():
    async def asked():
        workers = Workers(1, wait_s=0.05)
        long = asyncio.create_task(workers(*ENDLESS))
        await asyncio.sleep(0)
        with pytest.raises(HTTPException) as caught:
            await workers(os.getpid)
        await given_up(long)
        return caught.value

    assert "busy" in run(asked()).detail


@pytest.mark.parametrize("question", [Question(), Question(model="nosuch"), Question(request_rate=1e6)])
def test_an_answer_of_another_process_is_that_of_this_one(question):
    async def asked():
        return await Workers(1)(analyze, question), await in_thread(analyze, question)

    there, here = run(asked())
    assert there == here

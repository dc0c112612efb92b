"""Pieces of work done by several processes: their order, their bounds, their end."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from functools import partial

import pytest

from rooflight.jobs import in_order

pytestmark = pytest.mark.slow  # processes start


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_made_comes_in_the_order_of_the_pieces(jobs):
    assert list(in_order(math.sqrt, (number * number for number in range(50)), jobs)) == list(range(50))


def test_other_processes_do_the_work():
    made = set(in_order(partial(pow, 2), range(3), 2))

    assert made == {1, 2, 4}
    asked = ["__import__('os').getpid()"] * 8
    assert os.getpid() not in set(in_order(eval, asked, 2))
    assert set(in_order(eval, asked, 1)) == {os.getpid()}


def test_pieces_are_taken_as_they_are_needed():
    taken = []

    def pieces():
        for number in range(1000):
            taken.append(number)
            yield number

    made = in_order(math.sqrt, pieces(), 2)
    assert next(made) == 0
    assert len(taken) <= 2 * 2 + 1
    made.close()


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_comes_where_its_result_would(jobs):
    made = in_order(math.sqrt, [4, -1, 9], jobs)

    assert next(made) == 2
    with pytest.raises(ValueError, match="math domain error"):
        next(made)


def test_who_stops_asking_leaves_no_process_behind():
    before = set(multiprocessing.active_children())
    made = in_order(math.sqrt, range(10**9), 2)
    next(made)
    started = set(multiprocessing.active_children()) - before
    made.close()

    assert len(started) == 2
    while any(child.exitcode is None for child in started):  # whoever waits for it first learns of its end
        time.sleep(0.01)

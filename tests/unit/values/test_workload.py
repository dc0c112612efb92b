"""Workloads of mean lengths: real numbers, made of requests that were checked."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rooflight.values.workload import MeanWorkload, Workload


@pytest.mark.parametrize(("osl", "context"), [(1, 1024), (2, 1024), (256, 1024 + 127)])
def test_the_mean_context_of_a_requests_steps(osl, context):
    """Steps stand at isl .. isl + osl - 2."""
    assert Workload(isl=1024, osl=osl).mean_context == context
    assert MeanWorkload(isl=1024, osl=osl).mean_context == context


def test_mean_lengths_are_real_and_stay_so():
    one = MeanWorkload(isl=10.5, osl=0.5, cached_prefix=np.array([3.25, 4]))
    assert one.mean_context == 10.5
    again = msgspec.structs.replace(one, batch=3, met_context=99.5)
    assert isinstance(again, MeanWorkload)
    assert again.mean_context == 99.5

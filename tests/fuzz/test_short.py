"""A few hundred inputs of each kind, the same every time; `python tests/fuzz/run.py` throws many more."""

from __future__ import annotations

import pytest

from effort import examples
from fuzz.run import SHARES, one

COUNT = 200


@pytest.mark.parametrize("kind", SHARES)
def test_whatever_comes_is_answered_or_refused_in_words(kind, tmp_path):
    """No traceback, no status but 0 to 3, JSON where it was asked for, no row lost, no span out of order."""
    found = [(number, one(kind, 1, number, tmp_path)[1].faults) for number in range(examples(COUNT))]

    assert not [(number, faults) for number, faults in found if faults]

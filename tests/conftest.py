"""What all tests share: the profile `fast` of Hypothesis, and which cases of a test are watched, or run at all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from effort import register

register()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ends", action="store_true", help="of a test with many cases, run the first and the last")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        cases.setdefault((item.nodeid.partition("[")[0], item.name.partition("[")[0]), []).append(item)
    if config.getoption("cov_source", None):
        _watch_one(cases.values())
    if config.getoption("ends"):
        kept = {id(item) for found in cases.values() for item in (found[0], found[-1])}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = [item for item in items if id(item) in kept]


def _watch_one(cases: Iterable[list[pytest.Item]]) -> None:
    """Coverage watches a test's first case, and no property: watching a line takes three times as long as running it.

    All of them run. What counts as reached is so at most what is: the least share asked for is asked for still.
    """
    for first, *others in cases:
        is_property = getattr(getattr(first, "obj", None), "is_hypothesis_test", False)
        for item in [first, *others] if is_property else others:
            item.add_marker(pytest.mark.no_cover)

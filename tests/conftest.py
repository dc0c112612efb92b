"""What all tests share: the profile `fast` of Hypothesis, what coverage watches, and `--ends`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator

import pytest

import rooflight
from effort import register

register()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ends", action="store_true", help="of a test with many cases, run the first and the last")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Under --cov the package is imported watched, the tests' own files are not: that is half of their time."""
    watching = _watching(session.config)
    if watching is None:
        return (yield)
    for module in pkgutil.walk_packages(rooflight.__path__, "rooflight."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    watching.stop()
    try:
        return (yield)
    finally:
        watching.start()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        cases.setdefault((item.nodeid.partition("[")[0], item.name.partition("[")[0]), []).append(item)
    if _watching(config):
        _watch_one(cases.values())
    if config.getoption("ends"):
        kept = {id(item) for found in cases.values() for item in (found[0], found[-1])}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = [item for item in items if id(item) in kept]


def _watching(config: pytest.Config):
    """The coverage that pytest-cov started, if it did, in a process that runs tests."""
    hands_out = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if hands_out or not config.getoption("cov_source", None):
        return None
    from coverage import Coverage

    return Coverage.current()


def _watch_one(cases: Iterable[list[pytest.Item]]) -> None:
    """Coverage watches a test's first case, and no property: watching a line takes three times as long as running it.

    All of them run. What counts as reached is so at most what is: the least share asked for is asked for still.
    """
    for first, *others in cases:
        is_property = getattr(getattr(first, "obj", None), "is_hypothesis_test", False)
        for item in [first, *others] if is_property else others:
            item.add_marker(pytest.mark.no_cover)

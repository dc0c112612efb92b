"""What all tests share: the profile `fast` of Hypothesis, what coverage watches, and `--ends`."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rooflight
from effort import register

if TYPE_CHECKING:
    from coverage import Coverage

UNIT, BROWSER = (Path(__file__).parent / name for name in ("unit", "browser"))
# The processor's seconds of a test that coverage watches; its own are among them.
WATCHED_S = 0.2
COVERAGE = pytest.StashKey["Coverage"]()
WATCHED = pytest.StashKey[set[str]]()

register()
# A command in the background ignores Ctrl-C, and so would what tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ends", action="store_true", help="of a test with many cases, run the first and the last")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Under --cov the package is imported watched; the tests' own files are not, nor is what runs between tests."""
    coverage = _started(session.config)
    if coverage is None:
        return (yield)
    for module in pkgutil.walk_packages(rooflight.__path__, "rooflight."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    coverage.stop()
    session.config.stash[COVERAGE] = coverage
    return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        cases.setdefault((item.nodeid.partition("[")[0], item.name.partition("[")[0]), []).append(item)
    firsts = (found[0] for found in cases.values())
    config.stash[WATCHED] = {item.nodeid for item in firsts if UNIT in item.path.parents and not _is_property(item)}
    if config.getoption("ends"):
        kept = {id(item) for found in cases.values() for item in (found[0], found[-1])}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = [item for item in items if id(item) in kept]
    _spread(items)


def pytest_collection_finish() -> None:
    """Garbage is looked for less often, and not among the thousands of tests: that was a tenth of their time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Coverage watches how a unit test's first case begins, and no property: watching is five times running.

    All of them run, to their end. What counts as reached is so at most what is: the least share asked for is asked for
    still.
    """
    coverage = item.config.stash.get(COVERAGE, None)
    if coverage is None or item.nodeid not in item.config.stash[WATCHED]:
        return (yield)
    before = signal.signal(signal.SIGVTALRM, lambda *_: coverage.stop())
    coverage.start()
    signal.setitimer(signal.ITIMER_VIRTUAL, WATCHED_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        coverage.stop()
        signal.signal(signal.SIGVTALRM, before)


def _started(config: pytest.Config) -> Coverage | None:
    """The coverage that pytest-cov started, if it did, in a process that runs tests."""
    hands_out = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if hands_out or not config.getoption("cov_source", None):
        return None
    from coverage import Coverage

    return Coverage.current()


def _spread(items: list[pytest.Item]) -> None:
    """Puts the files of the browser between the others, none last: two at once wait much and leave a core idle."""
    paths = dict.fromkeys(item.path for item in items)
    others = [path for path in paths if BROWSER not in path.parents]
    waiting = [path for path in paths if BROWSER in path.parents]
    place = {path: float(number) for number, path in enumerate(others)}
    place |= {path: number * 0.75 * len(others) / len(waiting) - 0.5 for number, path in enumerate(waiting)}
    items.sort(key=lambda item: place[item.path])


def _is_property(item: pytest.Item) -> bool:
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)

"""What a system's files say of processors and caches."""

from __future__ import annotations

import pytest

from rooflight.errors import BadInput
from rooflight.probe import host

KIB = 1024


@pytest.fixture
def cpus(tmp_path, monkeypatch):
    """Four processors: two cores of two threads, an L1 and an L2 each, one L3."""
    for number in range(4):
        first = number // 2 * 2
        core = f"{first}-{first + 1}"
        write(tmp_path / f"cpu{number}/topology/thread_siblings_list", core)
        kinds = (("1", "Data", "48K", core), ("1", "Instruction", "32K", core), ("2", "Unified", "1024K", core),
                 ("3", "Unified", "32M", "0-3"))  # fmt: skip
        for index, (level, kind, size, shared) in enumerate(kinds):
            folder = tmp_path / f"cpu{number}/cache/index{index}"
            for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
                write(folder / name, text)
    monkeypatch.setattr(host, "_CPUS", tmp_path)
    monkeypatch.setattr(host, "allowed", lambda: (0, 1, 2, 3))
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def test_two_threads_of_a_core_are_one_core(cpus):
    assert host.cores() == (0, 2)


def test_caches_are_counted_once_however_many_share_them(cpus):
    sizes = [(cache.name, cache.bytes, sorted(cache.processors)) for cache in host.caches()]
    assert sizes == [
        ("L1", 48 * KIB, [0, 1]), ("L1", 48 * KIB, [2, 3]), ("L2", 1024 * KIB, [0, 1]), ("L2", 1024 * KIB, [2, 3]),
        ("L3", 32 * KIB * KIB, [0, 1, 2, 3]),
    ]  # fmt: skip


def test_one_thread_a_core_comes_first(cpus, monkeypatch):
    placed = []
    monkeypatch.setattr(host, "place", placed.append)
    monkeypatch.setattr(host, "quota", lambda: None)
    assert [host.keep_to(), host.keep_to(3)] == [2, 3]
    assert placed == [[0, 2], [0, 2, 1]]


@pytest.mark.parametrize("count", [1.5, 2.0, True, "2", 0, -1, 5, 10**400])
def test_threads_are_a_whole_number_of_processors(cpus, monkeypatch, count):
    monkeypatch.setattr(host, "place", lambda chosen: pytest.fail("placed all the same"))
    with pytest.raises(BadInput, match=r"threads|processors") as caught:
        host.keep_to(count)
    assert caught.value.want == "a whole number from 1 to 4"


def test_a_containers_share_is_what_it_has(cpus, monkeypatch):
    monkeypatch.setattr(host, "place", lambda chosen: None)
    monkeypatch.setattr(host, "quota", lambda: 1.0)
    assert host.keep_to() == 1


def test_a_system_that_tells_nothing_has_no_caches(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "_CPUS", tmp_path)
    monkeypatch.setattr(host.platform, "system", lambda: "Linux")
    assert host.caches() == ()


def test_nvidias_tool_is_read(monkeypatch):
    monkeypatch.setattr(host.shutil, "which", lambda name: name)
    monkeypatch.setattr(host, "_said", lambda command: "580.1, 1980, 2619, 45, [N/A]")
    read = host.card_readings("GPU-1", None)
    assert (read.driver, read.temperature_c, read.power_w) == ("580.1", 45, None)
    assert read.clocks_hz == {"sm": 1980 * 1e6, "memory": 2619 * 1e6}


def test_a_tool_that_says_something_else_is_not_believed(monkeypatch):
    monkeypatch.setattr(host.shutil, "which", lambda name: name)
    monkeypatch.setattr(host, "_said", lambda command: "No devices were found")
    assert host.card_readings("GPU-1", None) == host.Readings()


def test_this_machine_has_a_name_memory_and_processors():
    assert host.processor()
    assert host.cores()
    assert (host.memory_bytes() or 1) >= (host.free_bytes() or 1) > 0


def test_what_others_take_is_never_less_than_nothing():
    others, stolen = host.Busy().meanwhile()
    assert others is None or others >= 0
    assert stolen is None or stolen >= 0

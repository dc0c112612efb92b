"""Memory sizes of one card: names that ask for one, and what a plain name takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rooflight.catalog import accelerators, variants
from rooflight.errors import BadConfig, UnknownName
from rooflight.values.accelerator import Accelerator
from rooflight.words.notes import worded

GIB = 2**30


def one(name: str) -> Accelerator:
    return accelerators.load(name)[0]


@pytest.mark.parametrize(
    ("name", "wanted", "gib"),
    [
        ("strix-halo-64gb", "ryzen-ai-max-395-64gb", 64),
        ("Strix Halo 32 GB", "ryzen-ai-max-395-32gb", 32),
        ("m4-pro-48gb", "apple-m4-pro-48gb", 48),
        ("Apple M4 Pro 24GB", "apple-m4-pro-24gb", 24),
        ("m4-max-36gb", "apple-m4-max-32", 36),  # only the smaller part is sold with 36
        ("m3-max-36gb", "apple-m3-max-30-36gb", 36),
        ("rtx-3080-20gb", "rtx-3080-20gb", 20 * 0.995),  # GeForce: the label in GiB, less what drivers keep
        ("3080-12gb", "rtx-3080-12gb", 12 * 0.995),  # an entry of its own: its bus is wider
        ("NVIDIA GeForce RTX 4090 48GB", "rtx-4090-48gb", 48 * 0.995),
        ("raspberry-pi-5-16gb", "raspberry-pi-5-16gb", 16),
    ],
)
def test_a_size_behind_a_name_asks_for_that_size(name: str, wanted: str, gib: float) -> None:
    found = one(name)

    assert found.id == wanted
    assert found.memory_bytes == pytest.approx(gib * GIB, rel=1e-6)


def test_everything_but_the_memory_is_the_entrys() -> None:
    small, large = one("strix-halo-32gb"), one("strix-halo")

    assert small.memory_bytes_per_s == large.memory_bytes_per_s
    assert small.peak_flop_per_s == large.peak_flop_per_s
    assert small.program_bytes == 16 * GIB  # half of it, what the kernel lets a GPU map by default


@pytest.mark.parametrize("name", ["m4-pro-64gb", "rtx-4090-24gb", "v100-32gb"])
def test_the_size_of_the_label_is_the_entry_itself(name: str) -> None:
    plain = one(variants.asked(name)[0])  # type: ignore[index]

    assert one(name).id == plain.id
    assert one(name).memory_bytes == plain.memory_bytes


def test_a_pick_goes_to_the_one_that_has_the_size() -> None:
    assert one("v100-16gb").id == "v100-sxm2-16gb"
    assert one("m4-max-128gb").id == "apple-m4-max-40"


def test_the_answer_names_the_choice() -> None:
    assert worded(one("m4-pro-48gb").assumptions)[0] == (
        "m4-pro-48gb read as apple-m4-pro with 48 GB: known with 24, 64 GB too"
    )
    assert "a size that others than the vendor fit" in worded(one("4090-48gb").assumptions)[0]


def test_a_plain_name_says_which_size_it_takes_where_several_are_sold() -> None:
    said = worded(one("m4-pro").assumptions)

    assert "apple-m4-pro taken with 64 GB; sold in other sizes: apple-m4-pro-24gb, apple-m4-pro-48gb" in said
    assert not any("sold in other sizes" in line for line in worded(one("rtx-4090").assumptions))  # refitted: not sold
    assert not any("sold in other sizes" in line for line in worded(one("m4-pro-48gb").assumptions))


def test_a_size_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(UnknownName) as caught:
        one("m4-pro-40gb")

    assert caught.value.want == "one of 24, 48, 64 GB"
    assert caught.value.try_this == "m4-pro with --memory 40GB"


@pytest.mark.parametrize("name", ["nonsense-64gb", "64gb", "-64gb", "0gb", "m4-pro-0gb", "m4-pro-99999gb", "gb"])
def test_a_size_behind_no_name_is_unknown(name: str) -> None:
    with pytest.raises(UnknownName):
        one(name)


def test_every_size_of_every_card_answers_under_a_name_that_finds_it_again() -> None:
    """The id of a size is a name of that size: prices and saved questions come back by it."""
    for card in accelerators.all_accelerators():
        for fact in variants.sizes(card):
            found = one(f"{card.id}-{fact.value:.0f}gb")

            assert one(found.id).id == found.id
            assert one(found.id).memory_bytes == found.memory_bytes
            assert found.origin != card.origin  # what is kept by origin keeps them apart
            assert accelerators.shipped(found.id) is None


def test_a_size_is_of_a_kind_and_stands_once(tmp_path: Path) -> None:
    text = '[[fact]]\nwhat = "memory-variant"\nvalue = 64\nunit = "GB"\n'
    for name, facts, said in (("a", text, "does not say its kind"), ("b", 2 * (text + 'kind = "sold"\n'), "twice")):
        path = tmp_path / f"{name}.toml"
        path.write_text(f'id = "x"\n{facts}', encoding="utf-8")
        with pytest.raises(BadConfig, match=said):
            one(str(path))

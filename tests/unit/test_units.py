"""The one table of prefixes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rooflight.units import exactly, in_bytes, network, round_significant, scaled, several, to_base, ungrouped, whole

SI = {"u": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
IEC = {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4}


@pytest.mark.parametrize("base", ["FLOP/s", "OP/s", "B/s", "FLOP", "B", "Hz", "s", "W", "params"])
@pytest.mark.parametrize("prefix", SI)
def test_every_decimal_prefix_of_every_base(prefix, base):
    assert to_base(3, prefix + base) == 3 * SI[prefix]


@pytest.mark.parametrize("base", ["B", "B/s"])
@pytest.mark.parametrize("prefix", IEC)
def test_every_binary_prefix_of_bytes(prefix, base):
    assert to_base(3, prefix + base) == 3 * IEC[prefix]


@pytest.mark.parametrize(
    "unit",
    [
        "GBps", "tflops", "TFLOPS", "gb/s", "KB", "kiB", "GIB", "GiFLOP/s", "MiHz", "Kis", "Gbit/s", "Gb/s",
        "TFLOP/S", "XB", "EB", "nB", "GB/sec", "B/ms", "GB ", " GB", "", "G", "Gi", "percent", "Bparams",
    ],
)  # fmt: skip
def test_a_unit_that_would_have_to_be_guessed_is_refused(unit):
    with pytest.raises(ValueError, match="is not one of"):
        to_base(1, unit)


def test_printed_numbers_become_base_units():
    assert to_base(3.35, "TB/s") == 3.35e12
    assert to_base(80, "GB") == 80 * 1000**3
    assert to_base(80, "GiB") == 80 * 1024**3  # 7 % more


@pytest.mark.parametrize(
    ("value", "expected"),
    [(4.0, 4), (4.0000000001, 4), (15009849344.0, 15009849344), (0.5, 0.5), (0, 0), (4.001, 4.001)],
)
def test_counts_shed_a_stray_fraction_only(value, expected):
    assert whole(value) == expected
    assert isinstance(whole(value), int) is isinstance(expected, int)


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        (0.00448, "s", "4.48 ms"),
        (4.4806e-3, "s", "4.48 ms"),
        (1.29e-6, "s", "1.29 us"),
        (5.2e-9, "s", "0.0052 us"),  # below the smallest prefix
        (2.5, "s", "2.5 s"),
        (0.9996, "s", "1 s"),  # not 1,000 ms
        (7200, "s", "7,200 s"),  # never ks
        (0, "s", "0 s"),
        (15009849344, "B", "15 GB"),
        (131072, "B", "131 kB"),
        (999_700, "B", "1 MB"),  # not 1,000 kB
        (3.35e12, "B/s", "3.35 TB/s"),
        (989.4e12, "FLOP/s", "989 TFLOP/s"),
        (1978.9e12, "FLOP/s", "1.98 PFLOP/s"),
        (0.5625, "B", "0.562 B"),  # never mB
        (-4.48e-3, "s", "-4.48 ms"),
        (8030261248, "", "8.03 G"),
    ],
)
def test_scaled_reads_as_a_person_would_write_it(value, base, text):
    assert scaled(value, base) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.448, "0.448"),
        (4.4806, "4.48"),
        (223.19, "223"),
        (999.6, "1,000"),
        (1433.4, "1,430"),
        (1531.4, "1,530"),
        (123456789, "123,000,000"),
        (-1433.4, "-1,430"),
        (0.00448, "0.00448"),
        (0.0000123456, "0.0000123"),
        (5.2e-9, "0.0000000052"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_three_significant_digits_without_an_exponent(value, text):
    assert round_significant(value) == text


@given(st.floats(1e-12, 1e15))
def test_what_is_printed_is_the_number(value):
    """Read back, it is within half a unit of the third digit."""
    assert float(round_significant(value).replace(",", "")) / value == pytest.approx(1, rel=0.0051)


@given(st.floats(1e-12, 1e6))
@example(5.2e-13)
def test_what_is_printed_with_its_prefix_is_the_number(seconds):
    number, unit = scaled(seconds, "s").split(" ")

    assert to_base(float(number.replace(",", "")), unit) / seconds == pytest.approx(1, rel=0.0051)


@pytest.mark.parametrize(
    ("text", "size"),
    [("48GiB", 48 * 2**30), ("24 GB", 24e9), ("81559 MiB", 81559 * 2**20), ("1.5TB", 1.5e12), ("80,000,000,000", 80e9)],
)
def test_a_size_in_words(text, size):
    assert in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "lots", "GiB", "48 gib", "48G", "nan GiB s", "4x8GB", "1,5GB", "0,125 GB"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match=r".+"):
        in_bytes(text)


@pytest.mark.parametrize("text, number", [("1,300", "1300"), ("-12,000,000.5", "-12000000.5"), ("+1,000", "+1000")])
def test_thousands_lose_their_commas(text, number):
    assert ungrouped(text) == number


@pytest.mark.parametrize(
    "text", ["1,5", "0,125", "1,30", "1234,567", "1,000,00", "1,000,", ",000", "1.000,5", "", "12", "a,000"]
)
def test_other_commas_stay(text):
    """A decimal comma must not make 15 of 1.5."""
    assert ungrouped(text) == text


def test_a_count_has_its_noun():
    counts = (0, 1, 1.0, 2, 1024, 1151.5)
    assert [several(one, "token") for one in counts] == [
        "0 tokens", "1 token", "1 token", "2 tokens", "1,024 tokens", "1,151.5 tokens",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        (307.2e9, "B/s", "307.2GB/s"), (1e11, "B/s", "100GB/s"), (3e12, "B/s", "3TB/s"), (999.0, "B/s", "999B/s"),
        (to_base(5, "us"), "s", "5us"), (5e-6, "s", "0.000005s"), (1.25e-3, "s", "1.25ms"), (2.0, "s", "2s"),
    ],
)  # fmt: skip
def test_what_is_written_exactly_is_short(value, base, text):
    assert exactly(value, base) == text


@given(st.floats(1, 1e15), st.floats(1e-6, 10))
def test_what_is_written_exactly_reads_back_as_it_was(rate, latency):
    assert network(f"{exactly(rate, 'B/s')},{exactly(latency, 's')}") == (rate, latency)

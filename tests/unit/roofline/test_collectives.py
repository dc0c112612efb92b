"""Collectives as a library does them: latency, bytes, and what pieces cost; over one level and over two."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import rooflight
from rooflight.catalog.accelerators import load
from rooflight.catalog.calibration import collectives
from rooflight.roofline.collectives import experts_across_s, kind_of, library_s, pcie_kind, piped_s, ring_share
from rooflight.roofline.links import links_of
from rooflight.values.work import Exchange

FITS = collectives()


def summed(name: str, local: float, domains: int, payload, network: str | None = None):
    card = load(name)[0]
    shape = Exchange(
        what="all_reduce", payload_bytes=payload, devices=local * domains, local=local, domains=domains
    )  # fmt: skip
    return library_s(shape, card, links_of(card, network), FITS)


def test_pieces_cost_the_square_root():
    """4 us + 9 us + 2 x 0.5 x 6 us."""
    assert piped_s(latency_s=4e-6, bytes_s=9e-6, ramp=0.5) == pytest.approx(19e-6)
    assert piped_s(latency_s=4e-6, bytes_s=9e-6, ramp=0) == pytest.approx(13e-6)


def test_a_ring_sends_what_nccl_tests_counts():
    assert ring_share(what="all_reduce", devices=8) == 2 * 7 / 8
    assert ring_share(what="reduce_scatter", devices=8) == 7 / 8


@pytest.mark.parametrize("name", ["h100-sxm", "gb200", "a100-sxm4-80gb", "mi300x", "l40s", "rtx-4090", "arc-pro-b60"])
def test_more_bytes_more_devices_and_more_domains_take_longer(name):
    payloads = np.geomspace(8, 2**34, 60)
    domain = links_of(load(name)[0]).domain

    assert (np.diff(summed(name, min(8, domain), 1, payloads)) > 0).all()
    assert (summed(name, min(4, domain), 1, payloads[:20]) < summed(name, min(8, domain), 1, payloads[:20])).all()
    two, four = (summed(name, domain, domains, payloads) for domains in (2, 4))
    assert (summed(name, domain, 1, payloads) < two).all()
    assert (two < four).all()


def test_a_stated_latency_takes_the_place_of_the_fitted():
    """Messages of 5 us in place of 14: first ones, and there and back for each doubling of the domains."""
    fit = FITS.network["all_reduce"]
    slow, quick = summed("h100-sxm", 8, 2, 8), summed("h100-sxm", 8, 2, 8, "400Gb/s,5us")

    assert slow - quick == pytest.approx((fit.first_messages + 2) * (fit.message_s - 5e-6), rel=0.02)


def test_few_rows_go_one_by_one_and_many_once_a_node():
    """DeepEP: low-latency kernels win for a decode step on two nodes, throughput kernels for a prompt."""
    links, fits = links_of(load("h100-sxm")[0]), FITS.network
    row = 7168 * 2

    def seconds(tokens):
        each, once = tokens * 8 * row, tokens * row * (1 - 0.5**8)
        shape = Exchange(what="all_to_all", payload_bytes=each, devices=16, local=8, domains=2, once_bytes=once)
        return experts_across_s(shape, links, FITS)

    one_by_one = fits["all_to_all"].start_s + fits["all_to_all"].message_s
    assert seconds(1) == pytest.approx(one_by_one + 8 * row / 2 / (50e9 * fits["all_to_all"].efficiency))
    assert seconds(8192) < 8192 * 8 * row / 2 / 50e9  # less than each row to each expert by itself


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("h100-sxm", "nvlink-4"), ("a100-sxm4-80gb", "nvlink-3"), ("gb300", "nvlink-5"), ("rubin", "nvlink-5"),
        ("v100-sxm2-32gb", "nvlink-3"), ("mi300x", "nvlink-3"), ("gaudi3", "nvlink-3"), ("rtx-4090", "pcie-no-peer"),
        ("l40s", "pcie-peers"), ("arc-pro-b60", "pcie-oneccl"), ("rtx-pro-6000-blackwell", "pcie-switched"),
    ],
)  # fmt: skip
def test_whose_fits_stand_for_a_link(name, kind):
    card = load(name)[0]

    assert kind_of(card, links_of(card), FITS) == kind
    assert f"{kind}/all_reduce" in FITS.library


def test_pcie_sums_at_the_rates_that_were_printed():
    """256 MiB of bus bandwidth on 2, 4 and 8: RTX PRO 6000 38, 26, 20 GB/s; L40S on its host 20, 5, 1.4."""
    for name, kind, printed in (("rtx-pro-6000-blackwell", None, (38, 26, 20)), ("l40s", "pcie-staged", (20, 5, 1.4))):
        card = load(name)[0]
        for count, bus in zip((2, 4, 8), printed, strict=True):
            shape = Exchange(what="all_reduce", payload_bytes=2**28, devices=count, local=count)
            seconds = library_s(shape, card, links_of(card), FITS, pcie=kind)
            assert 2 * (count - 1) / count * 2**28 / seconds == pytest.approx(bus * 1e9, rel=0.2), (name, count)
    granted = msgspec.structs.replace(load("rtx-4090")[0], pcie_peer_to_peer=True)  # a patched driver
    assert pcie_kind(granted, FITS) == "pcie-peers"


def test_a_row_whose_heads_need_more_devices_stays_in_its_domain():
    """72 GB200 are one domain; 72 does not divide 128 heads, so 128 parts bound the row, none over a network."""
    row = {
        "model": "deepseek-ai/DeepSeek-R1", "accelerator": "gb200", "gpus": 72, "tp": 72, "metric": "tpot_ms",
        "phase": "decode", "value": 30, "batch": 128, "input_len": 1024, "output_len": 1024,
    }  # fmt: skip
    found = rooflight.check([row]).rows[0]

    assert "network" not in found.reason
    assert found.verdict != "impossible"

"""The sentence of an analysis: what it blames, and what it says a time is beside."""

from __future__ import annotations

from rooflight.catalog.accelerators import load
from rooflight.scenario.definite import scenario
from rooflight.values.deployment import Deployment
from rooflight.values.model import Layer, Linear
from rooflight.values.workload import Workload
from rooflight.words.analysis import analyzed
from unit.models import model


def said(card="rtx-3090", **fields):
    """Of 80 equal layers of one matrix each, 5,000 x 50,000 in 16 bits: 80 x 0.5 GB = 40 GB, and a head of 1 MB."""
    one = Layer(count=80, kind="dense", mlp=(Linear(name="up", inputs=5000, outputs=50_000),), norms=0)
    given = model("forty-gb", 5000, 100, (one,))
    found, _ = load(card)
    return analyzed(scenario(given, found, 1, Workload(osl=16), Deployment(engine="llama.cpp", **fields))).answer


def test_a_host_that_is_too_small_is_not_blamed_on_the_card():
    """40 of 80 layers there, 20 GB of 16; two cards hold 40 GB."""
    words = said(n_gpu_layers=41, host_memory="16GB")

    assert "of the host's memory it needs 20 GB (weights 20 GB), and there are 16 GB" in words
    assert "A host with 20 GB would hold it" in words
    assert "2 x rtx-3090 would hold it with --tp 2, nothing of it on the host" in words
    assert "No layout" not in words
    assert "there are at most" not in words


def test_a_ceiling_says_that_it_is_beside_the_fastest_host_there_is():
    """Once, and only where nobody says which host it is: a fast one is no host that expected times assume."""
    words = " beside the fastest host there is"

    assert said(n_gpu_layers=41).count(words) == 1
    assert f"tok/s){words}" in said(n_gpu_layers=41)
    assert words not in said(n_gpu_layers=41, host_memory_bandwidth="80GB/s")
    assert words not in said(n_gpu_layers=41, host_cpu="epyc-7713")
    assert words not in said("h200-sxm")

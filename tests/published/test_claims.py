"""Numbers that five articles on inference print: the right ones come out of rooflight, the wrong ones do not.

`claims.csv` says of each number what it should be and why, in our words. Every value is computed here by rooflight;
`tolerance` is what the claim's printed digits leave open. Verdicts:

right       the claim is our number, to the digits it prints
wrong       it is not
bound       the claim is a limit ("up to", "under"): our number stays within it
possible    the claim is a speed or share that our ceiling allows, which is all a ceiling can say
outside     rooflight has no such quantity; the row fails once it has one
"""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Callable
from pathlib import Path

import pytest

import rooflight
from rooflight.catalog import accelerators
from rooflight.roofline.formulas import attainable_flop_per_s, memory_s, ridge_flop_per_byte
from rooflight.values.accelerator import Accelerator
from rooflight.work.count import cache_elements, streamed_weight_bytes
from rooflight.work.formulas import gemm
from rooflight.work.storage import element_bytes
from rooflight.work.weights import held
from unit.models import deepseek_v3, llama_3_8b, llama_3_70b

ROWS = list(csv.DictReader((Path(__file__).parent / "claims.csv").read_text(encoding="utf-8").splitlines()))


def card(name: str) -> Accelerator:
    return accelerators.load(name)[0]


def peak(name: str, form: str) -> float:
    """TFLOP/s."""
    return card(name).peak_flop_per_s[form] / 1e12


def bandwidth(name: str) -> float:
    """TB/s."""
    return card(name).memory_bytes_per_s / 1e12


def label_gb(name: str) -> float:
    """GB as printed on the box."""
    return next(float(fact.value) for fact in card(name).facts if fact.what == "memory-label")


def ridge(name: str, form: str) -> float:
    return ridge_flop_per_byte(card(name).peak_flop_per_s[form], card(name).memory_bytes_per_s)


def attainable(intensity: float) -> float:
    """TFLOP/s of an H100 in 16 bits at an intensity."""
    return attainable_flop_per_s(intensity, card("h100-sxm").peak_flop_per_s["bf16"], 3.35e12) / 1e12


def intensity(rows: int, *, size: int = 4096, form: str = "bf16", activations: bool = True) -> float:
    """FLOP/byte of a square product of `rows` tokens; without activations it is that of the weights alone."""
    wide = 2 if activations else 0
    weights = size * size * element_bytes(form)
    work = gemm(tokens=rows, inputs=size, outputs=size, weight_bytes=weights, in_act_bytes=wide, out_act_bytes=wide)
    return work.flop / work.moved_bytes


def weights_gb(parameters: float, form: str = "bf16") -> float:
    """GB of a round number of parameters."""
    return parameters * element_bytes(form) / 1e9


def stream_s(parameters: float, form: str = "bf16", on: str = "h100-sxm") -> float:
    """Seconds to read them once."""
    return memory_s(weights_gb(parameters, form) * 1e9, card(on).memory_bytes_per_s)


@functools.cache
def decode_s(name: str, on: str, weights: str | None = None, batch: int = 1, devices: int = 1) -> float:
    """The ceiling of a decode step without context."""
    model = {"8b": llama_3_8b, "70b": llama_3_70b}[name]()
    answer = rooflight.analyze(model, on, weights=weights, batch=batch, context=0, tp=devices, ignore_capacity=True)
    return answer.phases["decode"].time_s.ceiling


def bandwidth_used() -> float:
    """Percent of an H100's bandwidth that Llama-3 8B uses at the ceiling of a decode step."""
    phase = rooflight.analyze(llama_3_8b(), "h100-sxm", context=0).phases["decode"]
    return 100 * phase.bytes.total / phase.time_s.ceiling / card("h100-sxm").memory_bytes_per_s


def weights_alone(batch: int) -> float:
    """Tokens a second of Llama-3 70B in FP8 on an H100 that read nothing but weights."""
    moved = streamed_weight_bytes(held(llama_3_70b(), "fp8"))
    return batch / memory_s(moved, card("h100-sxm").memory_bytes_per_s)


def weights_gain(batch: int) -> float:
    return weights_alone(batch) / weights_alone(1)


def cards_that_hold_70b() -> int:
    """The fewest H100 whose whole memory holds Llama-3 70B in BF16."""
    fits = [
        count
        for count in (1, 2, 4, 8)
        if rooflight.analyze(llama_3_70b(), "h100-sxm", tp=count, gpu_memory_utilization=1.0, isl=128, osl=128).fits
    ]
    return min(fits)


def sm_count() -> float:
    """From the dense peak: 4096 FLOP a multiprocessor and clock at the rated clock."""
    clock = next(float(fact.value) for fact in card("h100-sxm").facts if fact.what == "boost-clock")
    return peak("h100-sxm", "bf16") * 1e6 / clock / 4096


H100 = "h100-sxm"
evaluate: dict[str, Callable[[], float]] = {
    "S0-01": lambda: peak(H100, "fp16"),
    "S0-02": lambda: bandwidth(H100),
    "S0-03": lambda: ridge(H100, "fp16"),
    "S0-04": lambda: ridge("a100-sxm4-80gb", "bf16"),
    "S0-05": lambda: attainable(1),
    "S0-05b": lambda: 100 * attainable(1) / peak(H100, "bf16"),
    "S0-06": lambda: attainable(295),
    "S0-07": lambda: attainable(600),
    "S0-08": lambda: intensity(1),
    "S0-09": lambda: 100 * intensity(1, activations=False) / ridge(H100, "fp16"),
    "S0-10": lambda: intensity(1, activations=False) * element_bytes("bf16") / 2,
    "S0-11": lambda: weights_gb(8e9, "fp16"),
    "S0-12": lambda: 1e3 * stream_s(8e9),
    "S0-12b": lambda: 1 / stream_s(8e9),
    "S0-13": bandwidth_used,
    "S0-15": lambda: intensity(512),
    "S1-01": lambda: peak(H100, "tf32"),
    "S1-02": lambda: ridge(H100, "tf32"),
    "S1-03": lambda: bandwidth(H100),
    "S1-06": lambda: peak(H100, "bf16"),
    "S1-07": lambda: peak("a100-sxm4-80gb", "bf16"),
    "S1-08": lambda: peak(H100, "bf16") / peak("a100-sxm4-80gb", "bf16"),
    "S1-12": lambda: intensity(1),
    "S1-13": lambda: bandwidth("mi300x"),
    "S1-13b": lambda: label_gb("mi300x"),
    "S1-16": lambda: 100 * (1 - attainable(1) / peak(H100, "bf16")),
    "S1-19": lambda: 1 / decode_s("70b", H100, "fp8"),
    "S1-20": lambda: weights_alone(128),
    "S1-20b": lambda: weights_gain(128),
    "S1-21": lambda: weights_alone(128),
    "S1-21b": lambda: weights_gain(128),
    "S1-23": lambda: ridge(H100, "bf16") / intensity(1, activations=False),
    "S1-24": lambda: peak(H100, "tf32"),
    "S1-24b": lambda: 2 * peak(H100, "bf16"),
    "S1-25": lambda: peak("b200", "bf16"),
    "S1-25b": lambda: 2 * peak("b200", "bf16"),
    "S1-26": lambda: 100 * (bandwidth("mi300x") / bandwidth(H100) - 1),
    "S1-27": lambda: label_gb(H100),
    "S1-28": lambda: bandwidth("h200-sxm"),
    "S1-28b": lambda: label_gb("h200-sxm"),
    "S1-30": lambda: decode_s("70b", H100) / decode_s("70b", H100, "fp8"),
    "S2-01": lambda: peak(H100, "fp16"),
    "S2-02": lambda: bandwidth(H100),
    "S2-04": lambda: ridge(H100, "fp16"),
    "S2-05": lambda: intensity(1, form="fp16"),
    "S2-06": lambda: math.log10(ridge(H100, "fp16") / intensity(1, activations=False)),
    "S2-07": lambda: 100 * attainable(intensity(1, activations=False)) / peak(H100, "fp16"),
    "S2-08": lambda: intensity(2048, size=8192),
    "S2-09": lambda: 1e3 * stream_s(70e9),
    "S2-09b": lambda: 1 / stream_s(70e9),
    **{f"S2-{9 + power}": functools.partial(lambda b: b / stream_s(70e9), 2**power) for power in range(1, 9)},
    "S2-18": lambda: ridge(H100, "bf16") / intensity(1, activations=False),
    "S2-21": lambda: cache_elements(deepseek_v3().layers[0].mixer),
    "S2-24": lambda: decode_s("8b", H100) / decode_s("8b", H100, "int8"),
    "S3-01": lambda: peak(H100, "bf16"),
    "S3-02": sm_count,
    "S3-07": lambda: card(H100).last_level_cache_bytes / 2**20,
    "S3-09": lambda: label_gb(H100),
    "S3-09b": lambda: bandwidth(H100),
    "S3-11": lambda: 2 * card(H100).link.bytes_per_s / 1e9,
    "S3-12": lambda: card(H100).pcie_bytes_per_s / 1e9,
    "S3-14": lambda: weights_gb(70e9),
    "S3-15": cards_that_hold_70b,
    "S3-16": lambda: 1e3 * stream_s(70e9),
    "S3-17": lambda: 1 / stream_s(70e9),
    "S3-20": lambda: 100 * (1 - attainable(1) / peak(H100, "bf16")),
    "S3-21": lambda: intensity(1),
    "S3-22": lambda: ridge(H100, "fp8"),
    "S3-23": lambda: ridge(H100, "bf16") / intensity(1, activations=False),
    "S3-24": lambda: intensity(8, activations=False),
    "S3-25": lambda: intensity(32, activations=False),
    "S3-26": lambda: intensity(256, activations=False),
    "S3-28": lambda: 100 * (bandwidth("h200-sxm") / bandwidth(H100) - 1),
    "S3-29": lambda: 100 * (decode_s("70b", H100) / decode_s("70b", "h200-sxm") - 1),
    "S3-30": lambda: weights_gb(7e9),
    "S3-31": lambda: decode_s("70b", H100) / decode_s("70b", H100, "fp8"),
    "S3-32": lambda: intensity(30, activations=False) / intensity(1, activations=False),
    "S4-01": lambda: peak(H100, "fp16"),
    "S4-02": lambda: bandwidth(H100),
    "S4-03": lambda: ridge(H100, "fp16"),
    "S4-04": lambda: intensity(1, activations=False),
}
JUDGED = [row for row in ROWS if row["verdict"] != "outside"]


def half_a_digit(printed: str) -> float:
    """Half a unit in the last place."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


@pytest.mark.parametrize("row", JUDGED, ids=lambda row: row["id"])
def test_the_right_number_is_ours(row):
    ours = evaluate[row["id"]]()

    assert abs(ours - float(row["right"])) <= half_a_digit(row["right"]), row["reason"]


@pytest.mark.parametrize("row", JUDGED, ids=lambda row: row["id"])
def test_the_claim_is_judged_as_it_deserves(row):
    ours, claimed, tolerance = evaluate[row["id"]](), float(row["claimed"]), float(row["tolerance"])
    verdicts = {
        "right": abs(claimed - ours) <= tolerance,
        "wrong": abs(claimed - ours) > tolerance,
        "bound": ours <= claimed,
        "possible": claimed <= ours,
    }

    assert verdicts[row["verdict"]], f"computed {ours:.6g}: {row['reason']}"


def test_every_row_is_computed_and_every_computation_has_a_row():
    assert [row["id"] for row in JUDGED] == list(evaluate)
    assert len({row["id"] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", [row for row in ROWS if row["verdict"] == "outside"], ids=lambda row: row["id"])
def test_what_is_outside_has_no_figure(row):
    """No fact of the H100 speaks of warps, latencies, sizes of inner caches or L2's rate: else it could be judged."""
    said = {f"{fact.what} {fact.level or ''}" for fact in card(H100).facts} | {card(H100).link.name}
    inner = ("warp", "latency", "cache-size", "shared-memory", "cache-bandwidth l2")

    assert not [what for what in said for word in inner if word in what.lower()], row["subject"]


def test_80_tokens_a_second_needs_two_cards():
    """S1-19: above the ceiling of one H100, below that of two."""
    assert 1 / decode_s("70b", H100, "fp8") < 80 < 1 / decode_s("70b", H100, "fp8", devices=2)


def test_kv_reads_bend_the_table_of_the_third_article():
    """S2-10 to S2-17 leave the cache out: at 4k tokens a sequence 256 of them take three times as long, not 41.8 ms."""
    at = rooflight.analyze(llama_3_70b(), H100, batch=256, context=4096, ignore_capacity=True).phases["decode"]

    assert at.bytes.kv_read == 256 * 4096 * 80 * 2 * 8 * 128 * 2
    assert at.time_s.ceiling > 3 * stream_s(70e9)

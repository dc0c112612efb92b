"""Blanks are filled as DESIGN 2a says, and every filled blank is in the answer's assumptions."""

from __future__ import annotations

import msgspec
import pytest

from rooflight.catalog import accelerators
from rooflight.errors import BadInput, MissingFact, UnknownName
from rooflight.scenario.change import changed
from rooflight.scenario.definite import context_tokens, scenario
from rooflight.values.accelerator import Link
from rooflight.values.deployment import Deployment
from rooflight.values.model import Tower
from rooflight.values.workload import Workload
from rooflight.words.notes import worded
from unit.models import card, tiny_dense, tiny_hybrid, tiny_moe, with_linears

SEEING = msgspec.structs.replace(tiny_dense(), towers=(Tower(name="vision", parameters=1),))
LINKED = card(link=Link(name="link", bytes_per_s=10.0, domain=8, reduces=True))


def asked(model=None, accelerator=None, count=None, deployment=None, **workload):
    return scenario(
        model or tiny_dense(), accelerator or LINKED, count, Workload(**workload), deployment or Deployment()
    )


def said(*parts, **given):
    """Whether one line of the assumptions holds all of these words."""
    return any(all(part in line for part in parts) for line in worded(asked(**given).assumptions))


def test_the_defaults():
    load, layout = Workload(), Deployment()

    assert (load.batch, load.prefill_batch, load.isl, load.osl) == (1, 1, 1024, 256)
    assert (load.context, load.cached_prefix, load.draft_tokens, load.chunk_tokens) == (None, 0, 0, 0)
    assert (layout.tp, layout.pp, layout.ep, layout.dp) == (None, 1, 1, 1)
    assert (layout.gpu_memory_utilization, layout.attention, layout.graphs) == (None, "flash", True)
    assert (layout.weights, layout.activations, layout.kv_cache, layout.ignore_capacity) == (None, None, None, False)


def test_the_context_of_a_decode_step_is_the_mean_of_the_request():
    assert context_tokens(Workload()) == 1024 + 256 / 2 - 1  # the middle of 1,024 .. 1,278
    assert context_tokens(Workload(isl=10, osl=21)) == 10 + 21 / 2 - 1  # a half is kept
    assert context_tokens(Workload(isl=1, osl=1)) == 0.5
    assert context_tokens(Workload(context=0)) == 0  # none cached is an answer, not a blank


def test_formats_are_bf16_unless_said():
    numbers = asked().numbers

    assert (numbers.activations, numbers.kv_bytes, numbers.act_bytes) == (None, 2, 2)
    assert numbers.flash


@pytest.mark.parametrize(
    "words",
    [
        ("batch 1",),
        ("prefill-batch 1",),
        ("isl 1024",),
        ("osl 256",),
        ("context", "isl + osl / 2"),
        ("gpu-memory-utilization 0.9",),
        ("attention flash",),
        ("weights as the config says", "bf16"),
        ("activations bf16",),
        ("KV cache bf16",),
        ("graph", "launch floor"),
        ("engine", "reserve"),
    ],
)
def test_every_default_is_listed(words):
    assert said(*words), worded(asked().assumptions)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("batch 1:",), {"batch": 2, "prefill_batch": 2}),
        (("isl 1024",), {"isl": 2048}),
        (("osl 256",), {"osl": 1}),
        (("the mean of the request",), {"context": 5}),
        (("weights as the config says",), {"deployment": Deployment(weights="fp8")}),
        (("activations bf16",), {"deployment": Deployment(activations="fp8")}),
        (("KV cache bf16",), {"deployment": Deployment(kv_cache="fp8")}),
    ],
)
def test_what_was_given_is_not_assumed(words, given):
    assert said(*words)
    assert not said(*words, **given)


def test_what_a_family_stands_in_for_is_listed():
    blank = card(last_level_cache_bytes=None)

    assert said("last-level cache", "Hand", accelerator=blank)
    assert not said("last-level cache")


def test_the_margin_of_a_ceiling_is_stated_where_no_clock_is_known():
    """The A100's ceiling is its datasheet rate times a margin of its family."""
    a100 = accelerators.load("a100-sxm4-80gb")[0]

    assert a100.fast_flop_per_s["bf16"] == pytest.approx(a100.peak_flop_per_s["bf16"] * a100.assumed.peak_margin)
    assert said("margin", accelerator=a100)


def test_both_totals_of_memory_are_listed_with_how_they_are_known():
    """81,559 MiB by nvidia-smi = 85.5 GB, 81,089 MiB by torch = 85.0; nobody printed an L2's: its label in GiB."""
    measured, labelled = (accelerators.load(name)[0] for name in ("h100-sxm", "l2"))

    assert said("85.5 GB (driver output)", "85 GB (driver output)", accelerator=measured)
    assert said("the label in GiB", "by rule from the other total", accelerator=labelled)


def test_the_card_a_family_name_stands_for_is_listed():
    assert said("a100 read as a100-sxm4-80gb", accelerator=accelerators.load("a100")[0])


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("uniform", "E (1 - (1 - k/E)^tokens)"), {"model": tiny_moe()}),
        (("state read and written once",), {"model": tiny_hybrid()}),
        (("towers", "not run"), {"model": SEEING}),
        (("fp8 applies to the linear layers",), {"deployment": Deployment(weights="fp8")}),
        (("in place of the config's own",), {
            "model": msgspec.structs.replace(with_linears(tiny_dense(), format="int4"), quantization="int4"),
            "deployment": Deployment(weights="fp8"),
        }),
        (("asks for fp8", "--kv-cache fp8"), {"model": msgspec.structs.replace(tiny_dense(), kv_format="fp8")}),
        (("PCIe",), {"accelerator": card(pcie_bytes_per_s=1.0), "count": 2}),
        (("no bf16 path", "fp32"), {"accelerator": card(peak_flop_per_s={"fp32": 1.0})}),
        (("no fp8 path", "bf16"), {"deployment": Deployment(kv_cache="fp8")}),
    ],
)  # fmt: skip
def test_what_the_case_at_hand_assumes(words, given):
    assert said(*words, **given)
    assert not said(*words)


def test_devices_that_no_link_joins_are_a_warning():
    """Twelve devices where the link joins eight: the third stage of four devices lies beyond.

    tp 2 x pp 2 is four neighbours, so its replicas lie within a domain each; replicas do not talk.
    """
    joined = worded(asked(count=12, deployment=Deployment(tp=4, pp=3, network="400Gb/s")).warnings)

    assert any("12 devices exceed the 8" in line and "the network" in line for line in joined)
    with pytest.raises(MissingFact, match="nothing is known"):  # this card was made by hand
        asked(count=12, deployment=Deployment(tp=4, pp=3))
    assert not worded(asked(count=16, deployment=Deployment(pp=2, dp=4)).warnings)
    assert not worded(asked(count=16, deployment=Deployment(tp=1, dp=16)).warnings)


@pytest.mark.parametrize(
    ("count", "deployment", "tp"),
    [
        (None, Deployment(), 1),
        (4, Deployment(), 4),  # tp = devices / (pp x dp)
        (8, Deployment(pp=2, dp=2), 2),
        (None, Deployment(tp=4), 4),  # --tp 4 without a count is four devices
        (None, Deployment(tp=2, pp=2, dp=2), 2),
        (8, Deployment(tp=2, dp=4), 2),
    ],
)
def test_tp_and_the_number_of_devices_follow_from_each_other(count, deployment, tp):
    layout = asked(count=count, deployment=deployment).layout

    assert layout.tp == tp
    assert layout.devices == tp * deployment.pp * deployment.dp == (count or layout.devices)
    assert layout.in_switch


@pytest.mark.parametrize(
    ("count", "deployment", "word"),
    [
        (8, Deployment(tp=4), "dp=2"),  # what would fill the eight
        (6, Deployment(tp=4), 'on="4xhand-card"'),
        (6, Deployment(pp=4), "divides 6"),
        (3, Deployment(), "1, 2, 4"),  # 4 heads over 3 devices
    ],
)
def test_counts_that_contradict_each_other_are_refused_with_what_would_do(count, deployment, word):
    with pytest.raises(BadInput) as caught:
        asked(count=count, deployment=deployment)

    assert word in str(caught.value)


def test_eager_launches_one_by_one():
    assert asked(deployment=Deployment(graphs=False)).rates.launch_s == card().assumed.launch_eager_s
    assert said("eager", deployment=Deployment(graphs=False))


@pytest.mark.parametrize("spelling", ["fp32", "float32", "float"])
def test_fp32_activations_take_four_bytes_however_spelled(spelling):
    assert asked(deployment=Deployment(activations=spelling)).numbers.act_bytes == 4


@pytest.mark.parametrize(
    ("spelling", "element_bytes", "compute"),
    [
        ("auto", 2, "bf16"),
        ("bf16", 2, "bf16"),
        ("fp8", 1, "fp8"),
        ("fp8_e4m3", 1, "fp8"),  # vLLM's spelling
        ("int8", 1, "bf16"),  # stored narrow, multiplied wide
        ("nvfp4", 4.5 / 8, "bf16"),
    ],
)
def test_the_cache_format(spelling, element_bytes, compute):
    numbers = asked(deployment=Deployment(kv_cache=spelling)).numbers

    assert (numbers.kv_bytes, numbers.kv_compute) == (element_bytes, compute)


@pytest.mark.parametrize(
    ("deployment", "where"),
    [
        (Deployment(weights="int5"), "weights"),
        (Deployment(kv_cache="fp9"), "kv_cache"),
        (Deployment(activations="bf17"), "activations"),
        (Deployment(compute="fp7"), "compute"),
    ],
)
def test_an_unknown_format_names_its_field(deployment, where):
    with pytest.raises(UnknownName) as caught:
        asked(deployment=deployment)

    assert caught.value.where == where


@pytest.mark.parametrize(("option", "name"), [("activations", "int4"), ("compute", "q4_k")])
def test_nothing_multiplies_in_a_storage_format(option, name):
    with pytest.raises(BadInput, match=f"nothing multiplies in {name}"):
        asked(deployment=Deployment(**{option: name}))


@pytest.mark.parametrize(
    ("workload", "warned"),
    [
        ({"isl": 60, "osl": 40}, False),
        ({"isl": 60, "osl": 41}, True),
        ({"context": 99}, False),  # attends 100
        ({"context": 100}, True),
        ({"isl": 60, "osl": 41, "context": 50}, False),
    ],
)
def test_a_text_longer_than_the_model_was_made_for_is_warned_about_and_computed(workload, warned):
    short = msgspec.structs.replace(tiny_dense(), max_context=100)

    warnings = worded(asked(model=short, **workload).warnings)

    assert bool(warnings) is warned
    assert all("exceed the 100" in line for line in warnings)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("batch", 0), ("batch", -1), ("batch", 1.5), ("batch", True), ("batch", float("nan")), ("isl", 0), ("osl", -1),
        ("context", -1), ("cached_prefix", 1024), ("prefill_batch", 2**41), ("draft_tokens", -1), ("isl", "long"),
    ],
)  # fmt: skip
def test_a_workload_of_impossible_counts_is_refused_by_field(field, value):
    with pytest.raises(BadInput) as caught:
        Workload(**{field: value})

    assert caught.value.where == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tp", 0), ("pp", -1), ("ep", 1.5), ("dp", True), ("gpu_memory_utilization", 0.0),
        ("gpu_memory_utilization", 1.1), ("gpu_memory_utilization", float("nan")), ("attention", "fast"),
    ],
)  # fmt: skip
def test_a_deployment_out_of_bounds_is_refused_by_field(field, value):
    with pytest.raises(BadInput) as caught:
        Deployment(**{field: value})

    assert caught.value.where == field


def test_scenarios_of_one_plan_share_its_steps():
    """Another workload, engine or budget is no other plan; one reached by two ways is one."""
    sc = asked()
    same = changed(sc, batch=7, isl=5, engine="vllm", gpu_memory_utilization=0.8, ignore_capacity=True)
    ways = changed(changed(sc, tp=2), batch=3), changed(changed(sc, batch=5), tp=2)

    assert same.steps is sc.steps
    assert ways[0].steps is ways[1].steps is not sc.steps
    assert changed(sc, kv_cache="fp8").steps is not sc.steps
    assert asked().steps is not sc.steps

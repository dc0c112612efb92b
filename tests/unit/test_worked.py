"""What pages work out in their own words (exercises, worked numbers) is what the tool says today.

Outputs are pasted by docs/paste.py; these sentences are typed, so each figure in them is held against an answer here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import rooflight
from rooflight.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
LLAMA, LARGE = "llama-3.1-8b", "llama-3.1-70b"


def says(page: str, *sentences: str) -> None:
    """The page holds each of these, wherever its lines break."""
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    for sentence in sentences:
        assert sentence in text, f"{page} does not say: {sentence}"


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


@pytest.fixture(scope="module")
def llama():
    """Llama-3.1-8B on an H100, as the pages ask for it."""
    return rooflight.analyze(LLAMA, on="h100")


def test_a_first_hour_counts_as_the_tool_does(llama):
    model, card, decode = llama.model, rooflight.accelerator("h100"), llama.phases["decode"]
    streamed, table = model.streamed_weight_bytes, 128_256 * 4096
    multiplying_s = streamed / card.peak_flop_per_s["bf16"]  # 2 FLOP a weight of 2 bytes

    assert streamed == (model.parameters - table) * 2
    says(
        "docs/start.md",
        f"Llama-3.1-8B has {model.parameters:,} parameters. {table:,} of them are the input table",
        f"({model.parameters:,} - {table:,}) x 2 bytes = {streamed:,.0f} bytes of weights",
        f"that is {streamed:,.0f} / 3.35e12 = {ms(streamed / card.memory_bytes_per_s)}.",
        f"| moving | {streamed / 1e9:.1f} GB of weights | 3.35 TB/s | {ms(streamed / card.memory_bytes_per_s)} |",
        f"| multiplying | {streamed / 1e9:.1f} GFLOP (2 a weight) | 989 TFLOP/s | {multiplying_s * 1e3:.3f} ms |",
        f"Moving takes {streamed / card.memory_bytes_per_s / multiplying_s:.1g} times longer".replace("3e+02", "300"),
        f"{model.kv_bytes_per_token:,.0f} bytes each",
        f"H100, bf16: 989.4e12 / 3.35e12 = {card.peak_flop_per_s['bf16'] / card.memory_bytes_per_s:.0f} FLOP/byte",
    )
    assert decode.bytes.total < 1.02 * streamed  # the cache and the activations are the rest


def test_exercise_of_another_card(llama):
    other = rooflight.analyze(LLAMA, on="h200")
    prefill = [one.phases["prefill"].time_s.ceiling for one in (other, llama)]

    says(
        "docs/start.md", f"Decode by 4.8 / 3.35 = {4.8 / 3.35:.3f}.", "the ceilings of prefill differ by less than 1 %"
    )
    gain = llama.phases["decode"].time_s.ceiling / other.phases["decode"].time_s.ceiling
    assert gain == pytest.approx(4.8 / 3.35, rel=1e-3)
    assert prefill[0] == pytest.approx(prefill[1], rel=0.01)
    assert prefill[0] != prefill[1]


def test_exercise_where_the_cache_outgrows_the_weights(llama):
    """The sweep it asks for shows it: the ceiling is then twice that of the weights."""
    bytes_a_token, streamed = llama.model.kv_bytes_per_token, llama.model.streamed_weight_bytes
    crossing = streamed / (64 * bytes_a_token)
    there = rooflight.analyze(LLAMA, on="h100", batch=64, context=round(crossing)).phases["decode"].bytes

    assert there.kv_read == pytest.approx(there.weights, rel=1e-3)
    says(
        "docs/start.md",
        f"Where 64 x {bytes_a_token:,.0f} bytes x context = {streamed / 1e9:.1f} GB: at about {crossing:,.0f} tokens.",
    )


def test_exercise_of_short_prompts():
    """What the page names is what the sweep it asks for prints first."""
    asked = CliRunner().invoke(app, ["sweep", LLAMA, "--on", "h100", "--isl", "64:1024:64"])
    (length,) = re.findall(r"compute-bound from (\d+) tokens on", " ".join(asked.output.split()))
    around = (int(length) - 1, int(length))
    bounds = [rooflight.analyze(LLAMA, on="h100", isl=isl).phases["prefill"].bound for isl in around]

    assert bounds == ["memory", "compute"]
    says("docs/start.md", f"Below {length} tokens: from there on", "Sweep `--isl 64:1024:64`.")


def test_exercise_of_what_fits():
    answer = rooflight.analyze(LARGE, on="4xh100", isl=7936, osl=256)
    a_sequence = 8192 * answer.model.kv_bytes_per_token
    left, fit = answer.memory.kv_pool_bytes, answer.memory.max_batch

    assert fit == left // a_sequence
    says(
        "docs/start.md",
        f"takes 8,192 x {answer.model.kv_bytes_per_token:,.0f} bytes = {a_sequence / 1e9:.2f} GB.",
        f"{left / 1e9:.0f} GB are left, so {fit:.0f} fit",
    )


def test_a_prefill_counts_as_the_tool_does(llama):
    prefill = llama.phases["prefill"]
    attention = 2 * (1024 * 1025 / 2) * 32 * 256 * 32
    layers = prefill.flop - attention - 2 * 4096 * 128_256
    clocked = 989.4e12 * 1980 / 1830

    says(
        "docs/start.md",
        f"Each token meets {layers / 1024 / 2 / 1e9:.2f} billion weights in the layers",
        f"2 FLOP each: {layers / 1e12:.1f} TFLOP for 1,024. Attention adds {attention / 1e12:.2f} TFLOP",
        f"{prefill.flop / 1e12:.2f}e12 FLOP at the {clocked / 1e12:,.1f} TFLOP/s an H100 reaches",
        f"are {ms(prefill.time_s.ceiling)}.",
    )
    says(
        "docs/ceilings.md",
        f"989.4 x 1980 / 1830 = {clocked / 1e12:,.1f}",
        f"a ceiling of {ms(prefill.time_s.ceiling)} while the same FLOP at the printed peak take "
        f"{ms(prefill.flop / 989.4e12)}",
        f"{clocked / 1e12:,.1f} / 3.35 = {clocked / 3.35e12:.0f} FLOP/byte",
    )


def test_exercise_of_the_two_times(llama):
    apart = {name: phase.time_s.roofline / phase.time_s.ceiling - 1 for name, phase in llama.phases.items()}

    says(
        "docs/ceilings.md",
        f"The tool says {ms(llama.phases['decode'].time_s.ceiling)}.",
        f"Llama-3.1-8B's decode differ by {apart['decode']:.0%}".replace("%", " %"),
        f"at prefill by {apart['prefill']:.0%}".replace("%", " %"),
    )


def test_launches_and_caches_of_the_ceilings_page(llama):
    small = rooflight.analyze("HuggingFaceTB/SmolLM2-135M", on="h100-sxm").phases["decode"]
    decode, cached = llama.phases["decode"], rooflight.analyze("HuggingFaceTB/SmolLM2-135M", on="l40s").phases["decode"]
    l40s, h100 = rooflight.accelerator("l40s"), rooflight.accelerator("h100")
    streamed, cache = cached.bytes.total, l40s.last_level_cache_bytes

    assert small.bound == "launch"
    says(
        "docs/ceilings.md",
        f"Llama-3.1-8B decodes with {decode.launches:.0f} kernels. At 1.29 us each from a graph: "
        f"{ms(decode.ceilings_s.launch)} of launching, against {ms(decode.ceilings_s.memory)} of memory.",
        f"SmolLM2-135M has {small.launches:.0f} kernels: {ms(small.ceilings_s.launch)} against "
        f"{small.ceilings_s.memory * 1e3:.3f} ms of memory",
        f"Llama-3.1-8B on an H100 streams {decode.bytes.total / 1e9:.1f} GB against a cache of "
        f"{h100.last_level_cache_bytes / 1e6:.0f} MB, {decode.bytes.total / h100.last_level_cache_bytes:.0f} times",
        f"streams {streamed / 1e6:.0f} MB against {cache / 1e6:.0f} MB, {streamed / cache:.0f} times",
        f"{streamed / 1e6:.0f} - {cache / 1e6:.0f} = {(streamed - cache) / 1e6:.0f} MB, {ms(cached.time_s.ceiling)}",
    )


def test_the_first_page_reads_its_own_answer(llama):
    decode = llama.phases["decode"]

    says(
        "README.md",
        f"reads {decode.bytes.weights / 1e9:.1f} GB of weights and {decode.bytes.kv_read / 1e9:.2f} GB of KV cache",
        f"in less than {ms(decode.time_s.ceiling)}.",
    )


def operator(phase, name):
    """The operator of this name; of several that begin so, the first."""
    return next(one for one in phase.operators if one.name.startswith(name))


def test_how_it_counts_is_what_it_counts():
    """Llama-3.1-8B, after 1,152 tokens and over 1,024."""
    answer = rooflight.analyze(LLAMA, on="h100", context=1152)
    decode, prefill = answer.phases["decode"], answer.phases["prefill"]
    qkv, attention = operator(decode, "qkv"), operator(decode, "attention")
    naive, fused = (
        rooflight.analyze(LLAMA, on="h100", isl=8192, attention=kind).phases["prefill"] for kind in ("naive", "flash")
    )
    more = naive.bytes.total - fused.bytes.total

    assert (fused.bound, naive.bound) == ("compute", "memory")
    says(
        "docs/counting.md",
        f"{qkv.flop / 32:,.0f} FLOP; 32 layers: {qkv.flop:,.0f}. Bytes:",
        f"= {qkv.bytes / 32:,.0f}; 32 layers: {qkv.bytes:,.0f}.",
        f"{answer.model.parameters:,} parameters x 2 = {answer.model.weight_bytes:,} bytes stored",
        f"{answer.model.streamed_weight_bytes:,} bytes streamed",
        f"32 layers = {operator(prefill, 'attention').flop:,.0f} FLOP.",
        f"2 x 1153 x 32 x 256 x 32 = {attention.flop:,.0f} FLOP; "
        f"1152 x 8 x 256 x 2 x 32 = {decode.bytes.kv_read:,.0f} bytes read.",
        f"= {more / 32 / 1e9:.1f} GB a layer, {more / 1e9:.0f} GB in 32. "
        "Prefill turns from compute-bound to memory-bound.",
        f"2 x 4096 x 128,256 = {operator(prefill, 'lm_head').flop / 1e9:.2f} GFLOP",
    )


def test_layers_of_other_kinds_are_counted_as_the_page_works_them_out():
    gemma = rooflight.analyze("gemma-3-27b-it", on="h100", context=32768).phases["decode"].bytes.kv_read
    sparse = rooflight.analyze("deepseek-v3.2", on="8xh200", context=32768)
    latent = rooflight.analyze("deepseek-v3", on="8xh200", context=1152, tp=8)
    hybrid = rooflight.analyze("qwen3-next-80b-a3b-instruct", on="4xh200")
    full, windowed = 10 * 32_768 * 8192, 52 * 1023 * 8192

    assert gemma == full + windowed
    # on eight devices each scores all of it, so that there are eight of every layer's
    assert operator(sparse.phases["decode"], "indexer").flop == 8 * 61 * 536_887_296
    says(
        "docs/counting.md",
        f"10 x 32,768 x 8,192 = {full / 1e6:,.0f} MB from full layers",
        f"52 x 1,023 x 8,192 = {windowed / 1e6:.0f} MB from the others",
        "one layer: 2 x 32,769 x 64 x 128 = 536,887,296 FLOP of scoring",
        f"(576 + 128) x 2 x 61 = {sparse.model.kv_bytes_per_token:,} bytes a token",
        f"(512 + 64) x 2 x 61 layers = {latent.model.kv_bytes_per_token:,} bytes a token",
        f"(576 + 512) x 61 = {operator(latent.phases['decode'], 'attention').flop:,.0f} FLOP",
        f"8 x 1152 x 576 x 2 x 61 = {latent.phases['decode'].bytes.kv_read:,.0f} bytes",
        f"128 x 36 = {operator(hybrid.phases['decode'], 'scan').flop:,.0f} FLOP a token",
        f"is {hybrid.model.state_bytes_per_sequence:,} bytes a sequence",
    )


def test_experts_formats_and_links_are_counted_as_the_page_works_them_out():
    experts = rooflight.analyze("qwen3-30b-a3b", on="h100", batch=32).phases["decode"].time_s
    narrow = rooflight.analyze(LLAMA, on="h100", weights="int4-g128").model.streamed_weight_bytes
    file = rooflight.analyze("llama-2-7b", on="h100", weights="q4_0").memory
    spread = rooflight.analyze(LARGE, on="4xh100", batch=32).phases["decode"]
    roomy = rooflight.analyze(LARGE, on="4xh100").memory
    across = rooflight.analyze("llama-3.1-405b", on="16xh100", batch=16, tp=16).phases["decode"]
    touched = 128 * (1 - (1 - 8 / 128) ** 32)
    streamed = rooflight.analyze(LLAMA, on="h100").model.streamed_weight_bytes

    says(
        "docs/counting.md",
        f"128 x (1 - (1 - 8/128)^32) = {touched:.2f} experts",
        f"counts {touched / 2:.1f} experts a layer and is {experts.ceiling * 1e3:.1f} ms; "
        f"the roofline time counts {touched:.1f} and is {experts.roofline * 1e3:.1f} ms",
        f"{narrow:,} bytes a step, {streamed / narrow:.2f} times fewer, not four",
        f"{file.weights_bytes / 1e9:.2f} GB, the size of the file",
        f"Four devices: {spread.link_bytes:,.0f} bytes in the JSON.",
        f"160 all-reduces: {spread.link_bytes / 4 / 1e6:.1f} MB, {spread.ceilings_s.link * 1e3:.3f} ms at 450 GB/s",
        f"{roomy.max_batch} fit.",
    )
    says("docs/ceilings.md", f"252 times a step: {across.ceilings_s.link * 1e3:.3f} ms.")


def test_a_claim_that_others_made_is_above_the_ceiling():
    decode = rooflight.analyze(LARGE, on="h100", weights="fp8", context=0).phases["decode"]

    says("docs/others.md", f"| above its ceiling | {decode.tokens_per_s.ceiling:.0f} tok/s at best |")

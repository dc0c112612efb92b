"""A user's own `mypy --strict` takes what the pages show, and refuses a keyword that is none."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SESSION = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
USED = '''
import msgspec
import rooflight


def tokens_per_s(answer: rooflight.Analysis) -> float:
    """Every part a user subscripts is there, or raises; what may be missing is asked for by `get`."""
    phase: rooflight.Phase = answer.phases["decode"]
    run: rooflight.Run = answer.runs["served"]
    span: rooflight.Span = run.spans["ttft_s"]
    none: rooflight.Phase | None = answer.phases.get("verify")
    memory: rooflight.MemoryBlock = answer.memory
    operator: rooflight.OperatorBlock = phase.operators[0]
    print(span.expected, none, memory.fits, operator.share, run.to_dict(), phase.bytes.total)
    return phase.tokens_per_s.expected


def best(moves: rooflight.Moves) -> float:
    one: rooflight.Move = moves.moves[0]
    faster = rooflight.WhatIf("4xh100-sxm", bandwidth_times=1.5)
    print(one.fields, rooflight.analyze("llama-3.1-8b", faster), rooflight.compare("llama-3.1-8b", ["h100", faster]))
    return one.gains["throughput"].expected


def labels(comparison: rooflight.Comparison) -> list[str]:
    faster = [one.speed_ups["request"].expected for one in comparison.compared]
    print(faster, comparison.compared[0].spans["output_tokens_per_s"].expected)
    return [one.label for one in comparison.compared]


def worst(report: rooflight.Report) -> rooflight.Verdict:
    tally: rooflight.Tally = report.summary
    print(tally.impossible, report.records())
    return report.rows[0]


def swept(sweep: rooflight.Sweep) -> list[float]:
    marks: tuple[rooflight.Landmarks, ...] = sweep.landmarks()
    goals: tuple[rooflight.Goal, ...] = sweep.goals()
    blocks: list[rooflight.SweepBlock] = list(sweep)
    print(marks, goals, blocks, sweep.to_dict(), [block.run for block in sweep.runs()])
    return [float(one) for one in sweep.columns()["time_s.expected"]]


def timed(plan: rooflight.Model) -> list[rooflight.KernelTime]:
    found: rooflight.Kernels = rooflight.measure_kernels(plan, "this.toml", batch=[1, 8], keep=print)
    kept: rooflight.Samples = rooflight.samples("a.jsonl", "b.jsonl")
    sample: rooflight.Sample = kept.files[0].samples[0]
    print(sample.time_s, kept.kinds[0].ratio, found.records(), found.samples())
    return list(found.kernels)


def roofs() -> dict[str, float]:
    machine: rooflight.Machine = rooflight.measure("cpu", threads=2, quick=True, progress=print)
    print(machine.memory, machine.to_dict(), machine.records())
    return {name: rate.median for name, rate in machine.peaks.items()}


def whole(plan: rooflight.Model) -> float:
    found: rooflight.WholeModel = rooflight.measure_model(plan, "this.toml", weights="bf16", batch=[1], prefill=[128])
    step: rooflight.StepTimed = found.steps[0]
    print(found.records(), step.to_dict(), step.predicted.expected)
    return step.tokens_per_s


def words(plan: rooflight.Model) -> list[str]:
    found: rooflight.Explained = rooflight.explain(model=plan, on="h100", tpot_ms=9, batch=4, bytes="64MB", time=1e-4)
    one: rooflight.Derived = found.derived[0]
    term: rooflight.Term | None = rooflight.explain("mbu").term
    print(found.values["mbu"], found.values.get("mfu"), found.possible, term, one.formula)
    print(found.to_dict(), found.records())
    return [name.title for name in rooflight.explain().terms]


def bound(url: str) -> str | None:
    found: rooflight.Diagnosis = rooflight.diagnose("trace.json.gz", model="qwen3-8b", on="mi300x", tp=2)
    watching = rooflight.Watching(scrape=(url,))
    own: rooflight.Diagnosis = rooflight.diagnose(points=["batch=1 tpot_ms=12"], watching=watching)
    print(found.to_dict(), found.records(), found.chart("roofline"), own.evidence[0].value, own.measurements.kv_tokens)
    print([one.what for one in own.next], own.regimes, own.kernels, own.recorded, own.sources)
    return found.bound


def served(url: str) -> float | None:
    report: rooflight.EndpointReport = rooflight.measure_endpoint(url, model="llama-3.1-8b", on="h100", batch=8)
    print(report.to_dict(), report.records(), [one.verdict for one in report.beside], report.requests[0].chunks_s)
    return None if report.figures.ttft_s is None else report.figures.ttft_s.p99


def calibrated(plan: rooflight.Model) -> float:
    row = {"model": "llama-3.1-8b", "accelerator": "h100-sxm", "metric": "tpot_ms", "value": 9, "batch": 1}
    own: rooflight.OwnCalibration = rooflight.calibrate(row, configs=["."])
    one: rooflight.Analysis = rooflight.analyze(plan, on="h100", engine="vllm", calibration=own)
    print(own.to_dict(), own.records(), own.left_out, one.calibration, rooflight.check("measured.csv", calibration=own))
    return own.entries[0].others.step.factor


cards: rooflight.AcceleratorCatalog = rooflight.accelerators("h100", vendor="nvidia")
plans: rooflight.ModelCatalog = rooflight.models("llama")
card: rooflight.Accelerator = cards[0]
plan: rooflight.Model = plans[0]
twice = rooflight.changed(card, memory_bytes_per_s=6.7e12)
other = msgspec.structs.replace(card, id="mine")
answer = rooflight.analyze(plan, on=twice, batch=3, weights="fp8", workload=rooflight.Workload(isl=128))
chart: rooflight.Chart = rooflight.chart(answer, landmarks=[rooflight.landmarks(plan, on=card)])
print(tokens_per_s(answer), chart.svg(), cards[:2].ids, len(plans), cards.to_dict(), plans.records())
print(best(rooflight.moves(plan, on=card, batch=3, objective="latency")))
print(labels(rooflight.compare(plan, on=[card, other, "h200"], tp=[1, 2], deployment=rooflight.Deployment(ep=1))))
print(worst(rooflight.claim(plan, on=card, output_tok_s=300, batch=1)), worst(rooflight.check("measured.csv")))
print(words(plan), calibrated(plan))
print(swept(rooflight.sweep(plan, on=card, axes={"batch": [1, 2]}, ttft_slo_ms=500)))
print(rooflight.display(answer), rooflight.records(answer), rooflight.document(answer), answer.chart().title)
try:
    rooflight.model("nosuch")
except (rooflight.UnknownName, rooflight.BadInput, rooflight.MissingFact) as error:
    print(error.to_dict(), error.what)
'''
TYPED_WRONG = """
import rooflight

rooflight.analyze("llama-3.1-8b", on="h100", batchh=3)
rooflight.sweep("llama-3.1-8b", "h100", {"batch": [1]}, weigths="fp8")
rooflight.moves("llama-3.1-8b", on="h100", objetive="cost")
rooflight.compare("llama-3.1-8b", on=["h100"], priced={})
rooflight.claim("llama-3.1-8b", on="h100", output_toks=300)
rooflight.claim("llama-3.1-8b", on="h100", tpot_ms=3, chunk_tokens=256)
rooflight.landmarks("llama-3.1-8b", on="h100", kv_cach="fp8")
rooflight.accelerators(vender="amd")
rooflight.models(kind="llama")
rooflight.changed("h100", bandwidth=3e12)
rooflight.measure_endpoint("http://localhost", concurency=3)
rooflight.measure(quik=True)
rooflight.calibrate("rows.csv", egine="vllm")
rooflight.explain(tpot_s=3)
rooflight.diagnose("a.json", modle="llama-3.1-8b")
rooflight.measure_model("llama-3.1-8b", wieghts="bf16")
rooflight.analyze("llama-3.1-8b", on="h100").phases["decode"].tokens
"""


def script_of(page: Path) -> str:
    """The sessions of a page as one file."""
    lines = []
    for session in SESSION.findall(page.read_text(encoding="utf-8")):
        lines += [example.source for example in doctest.DocTestParser().get_examples(session)]
    return "".join(lines)


def complaints(folder: Path, **sources: str) -> dict[str, list[int]]:
    """Lines that `mypy --strict` complains about, by file."""
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", "--cache-dir=cache",
         *(f"{name}.py" for name in sources)],
        cwd=folder, env={**os.environ, "MYPYPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, list[int]] = {name: [] for name in sources}
    for name, line in re.findall(r"^(\w+)\.py:(\d+): error", done.stdout, re.MULTILINE):
        found[name].append(int(line))
    return found


@pytest.mark.slow
def test_a_users_own_type_checker(tmp_path):
    pytest.importorskip("mypy")
    pages = {page.stem.lower(): script_of(page) for page in PAGES}
    shown = {name: script for name, script in pages.items() if script}
    found = complaints(tmp_path, **shown, used=USED, wrong=TYPED_WRONG)

    assert {"readme", "python"} <= shown.keys()
    assert {name: found[name] for name in (*shown, "used")} == {name: [] for name in (*shown, "used")}
    calls = [number for number, line in enumerate(TYPED_WRONG.splitlines(), 1) if line.startswith("rooflight.")]
    assert sorted(set(found["wrong"])) == calls


@pytest.mark.slow
def test_the_typed_script_runs(tmp_path):
    pytest.importorskip("altair")
    (tmp_path / "measured.csv").write_text("model,accelerator,metric,value\nllama-3.1-8b,h100-sxm,tpot_ms,9\n")
    done = subprocess.run(
        [sys.executable, "-c", USED], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert "no model" in done.stdout or "nosuch" in done.stdout


def test_every_public_name_is_in_the_typed_script():
    """What is exported for annotations, and each function."""
    import rooflight

    errors = {"BadConfig", "MissingExtra", "NoAnswer", "NoSteadyState", "NotThere", "RooflightError"}
    parts = {"AcceleratorBlock", "Combined", "Compared", "ModelBlock", "Outcome", "Request", "RunBlock", "ServedBlock"}
    named = set(re.findall(r"rooflight\.(\w+)", USED))

    assert set(rooflight.__all__) - errors - parts - {"accelerator"} == named - {"accelerator"}

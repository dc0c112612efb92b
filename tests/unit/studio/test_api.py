"""The API gives the library's own values, and refuses in one shape."""

from __future__ import annotations

import csv
import io
import json

import pytest

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.serve.landmarks import landmarks
from rooflight.show.explain import explain
from rooflight.studio.page import Page
from rooflight.studio.presets import PRESETS

LLAMA = "meta-llama/Meta-Llama-3.1-8B"
REST = {
    "pp": 2, "ep": 2, "dp": 2, "activations": "fp8", "compute": "bf16", "gpu_memory_utilization": 0.85, "graphs": False,
    "engine": "vllm", "prefill_batch": 2, "cached_prefix": 100, "draft_tokens": 3, "chunk_tokens": 64,
}  # fmt: skip
# A part in the host's memory.
LAYERS = {"weights": "q4_0", "engine": "llama.cpp", "n_gpu_layers": 40, "host_memory_bandwidth": "60GB/s"}
EXPERTS = {"weights": "q4_0", "engine": "llama.cpp", "cpu_moe": True, "host_memory_bandwidth": "40GB/s"}
QUESTIONS = [
    ({}, LLAMA, "h100-sxm", {}),
    ({"batch": 64, "weights": "fp8", "kv_cache": "fp8", "isl": 4000, "osl": 100}, LLAMA, "h100-sxm",
     {"batch": 64, "weights": "fp8", "kv_cache": "fp8", "isl": 4000, "osl": 100}),
    ({"model": "deepseek-ai/DeepSeek-V3", "on": "8xh200-sxm", "context": 100_000},
     "deepseek-ai/DeepSeek-V3", "8xh200-sxm", {"context": 100_000}),
    ({"model": "llama-3.1-70b"}, "llama-3.1-70b", "h100-sxm", {}),
    ({"model": "llama-3.1-70b", "ignore_capacity": True, "attention": "naive"}, "llama-3.1-70b", "h100-sxm",
     {"ignore_capacity": True, "attention": "naive"}),
    ({"model": "mixtral-8x7b", "on": "8xh200-sxm", **REST}, "mixtral-8x7b", "8xh200-sxm", REST),
    ({"model": "llama-3.1-70b", "on": "rtx-3090", **LAYERS}, "llama-3.1-70b", "rtx-3090", LAYERS),
    ({"model": "qwen3-30b-a3b", "on": "rtx-3090", **EXPERTS}, "qwen3-30b-a3b", "rtx-3090", EXPERTS),
]  # fmt: skip

# Prompts alone, of which there is no decode step to draw over the batch.
SILENT = [
    ({"osl": 0, "batch": 8}, LLAMA, "h100-sxm", {"osl": 0, "batch": 8}),
    ({"model": "Qwen/Qwen3-Embedding-8B"}, "Qwen/Qwen3-Embedding-8B", "h100-sxm", {}),
]

SMALL = {
    "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 128, "vocab_size": 1000, "num_hidden_layers": 2, "max_position_embeddings": 4096,
}  # fmt: skip


def plain(value):
    """As JSON has it: tuples are lists."""
    return json.loads(json.dumps(value))


@pytest.mark.parametrize(("question", "model", "on", "fields"), [*QUESTIONS, *SILENT])
def test_analyze_is_the_library(studio, question, model, on, fields):
    answer = studio.post("/api/analyze", question)

    assert answer.status_code == 200
    assert answer.json() == plain(rooflight.analyze(model, on, **fields).to_dict())


def shown(studio, *scenarios, focus=0, **page):
    """The picture of a page of these scenarios."""
    answer = studio.post("/api/picture", {"scenarios": list(scenarios), "focus": focus, **page})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(("question", "model", "on", "fields"), [*QUESTIONS, *SILENT])
def test_a_picture_holds_the_same_figures(studio, question, model, on, fields):
    """Of the scenario in focus, alone and behind another one."""
    whole = plain(rooflight.analyze(model, on, **fields).to_dict())

    for picture in (shown(studio, question), shown(studio, {"batch": 7}, question, focus=1)):
        assert picture["answer"] == whole["answer"]
        assert picture["analysis"] == whole


@pytest.mark.parametrize("fields", [{}, {"context": 3000}, {"schedule": "batch"}])
def test_a_moving_batch_has_the_figures_of_each(studio, fields):
    """Runs of all the slider's stops are made at once; they may differ in the last bits."""
    for batch in (2, 16, 17, 19, 1, 2048):
        picture = shown(studio, {"model": LLAMA, "on": "2xh100-sxm", "batch": batch, **fields})
        whole = plain(rooflight.analyze(LLAMA, on="2xh100-sxm", batch=batch, **fields).to_dict())
        assert picture["answer"] == whole["answer"]
        assert dict(leaves(picture["analysis"])) == pytest.approx(dict(leaves(whole)), rel=1e-12, abs=1e-12)


def leaves(document, path=""):
    """Every value of a document by its path."""
    if isinstance(document, dict | list):
        for name, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from leaves(value, f"{path}.{name}")
    else:
        yield path, document


@pytest.mark.parametrize(("question", "model", "on", "fields"), QUESTIONS[:3])
def test_the_dots_of_one_scenario_are_its_phases(studio, question, model, on, fields):
    rows = shown(studio, question)["datasets"]["phases"]
    phases = rooflight.analyze(model, on, **fields).phases

    assert {row["name"]: (row["x"], row["y"]) for row in rows} == {
        name: (phase.intensity_flop_per_byte, phase.flop / phase.time_s.roofline) for name, phase in phases.items()
    }


def test_the_dots_of_several_scenarios_are_the_phases_of_each(studio):
    asked = [(LLAMA, "h100-sxm", {"batch": 8}), (LLAMA, "4xh200-sxm", {"batch": 8, "weights": "fp8"})]
    rows = shown(studio, *({"model": model, "on": on, **fields} for model, on, fields in asked))["datasets"]["phases"]
    phases = [phase for model, on, fields in asked for phase in rooflight.analyze(model, on, **fields).phases.values()]

    assert {(row["x"], row["y"]) for row in rows} == {
        (phase.intensity_flop_per_byte, phase.flop / phase.time_s.roofline) for phase in phases
    }


def test_four_scenarios_at_once_and_one_of_them_unknown(studio):
    machines = ["h100-sxm", "4xh200-sxm", "nonsense", "mi300x"]
    picture = shown(studio, *({"on": on} for on in machines), focus=1)

    assert [label["letter"] for label in picture["labels"]] == list("ABCD")
    assert list(picture["problems"]) == ["2"]
    assert picture["problems"]["2"]["field"] == "on"
    assert [bool(line["cells"]) for line in picture["figures"]] == [True, True, False, True]
    assert picture["problems"]["2"]["what"] == picture["figures"][2]["missing"]
    assert picture["answer"] == rooflight.analyze(LLAMA, "4xh200-sxm").answer
    assert picture["shown"] == 1


def test_a_what_if_changes_its_scenario_alone(studio):
    """Twice the bandwidth halves the memory ceiling of decode; the neighbour stays as built."""
    page = [{}, {"bandwidth_times": 2, "peak_times": 0.5}]
    built, other = (shown(studio, *page, focus=focus)["analysis"] for focus in (0, 1))

    before, after = (one["phases"]["decode"]["ceilings_s"] for one in (built, other))
    assert after["memory"] == pytest.approx(before["memory"] / 2)
    assert after["compute"] == pytest.approx(before["compute"] * 2)
    assert built["phases"] == plain(rooflight.analyze(LLAMA, "h100-sxm").to_dict())["phases"]
    assert other["accelerator"]["id"] == "h100-sxm (what if)"
    assert any(line.startswith("what if: h100-sxm with 2 times") for line in other["assumptions"])


def test_a_pasted_config_is_of_its_scenario_alone(studio):
    page = [{"config": SMALL}, {}]

    assert shown(studio, *page)["analysis"]["model"]["id"] == "your config.json"
    assert shown(studio, *page, focus=1)["analysis"]["model"]["id"] == LLAMA


def test_a_focus_beyond_the_scenarios_is_on_the_last(studio):
    picture = shown(studio, {}, {"batch": 3}, focus=3)

    assert picture["shown"] == 1
    assert picture["analysis"]["workload"]["batch"] == 3


def test_a_workload_of_some_intensity_stands_under_the_roof_of_the_scenario_in_focus(studio):
    """At 10 FLOP/byte four cards of 3.35 TB/s do 4 x 33.5 TFLOP/s at most."""
    picture = shown(studio, {}, {"on": "4xh100-sxm"}, focus=1, intensity=10)

    assert picture["intensity"]["x"] == 10
    assert picture["intensity"]["y"] == pytest.approx(4 * 10 * 3.35e12)
    assert picture["datasets"]["workload"] == [{"x": 10, "y": picture["intensity"]["y"]}]
    assert shown(studio, {})["intensity"] is None
    assert shown(studio, {})["datasets"]["workload"] == []


def test_the_address_of_a_picture_is_that_of_its_page(studio):
    asked = {"scenarios": [{"name": "today"}, {"on": "4xl40s", "weights": "fp8"}], "focus": 1, "tpot_slo_ms": 40}
    query = shown(studio, *asked.pop("scenarios"), **asked)["query"]
    read = studio.get("/api/page", params={"q": query}).json()

    assert read["said"] == []
    assert read["query"] == query
    assert [one["name"] for one in read["page"]["scenarios"]] == ["today", ""]
    assert (read["page"]["focus"], read["page"]["tpot_slo_ms"]) == (1, 40)
    assert shown(studio, *read["page"]["scenarios"], focus=1, tpot_slo_ms=40)["query"] == query


def test_what_an_address_cannot_say_is_told_with_what_was_meant(studio):
    read = studio.get("/api/page", params={"q": "wieghts=fp8&b=0"}).json()

    assert "did you mean weights?" in read["said"][0]
    assert "b='0'" in read["said"][1]
    assert read["page"] == Page().model_dump()


def test_what_is_kept_of_a_scenario_hangs_on_all_that_its_answer_does(studio):
    """Asked again under another name and price it is the same; with anything else changed it is not."""
    asked = {"batch": 5, "isl": 300}
    first = shown(studio, asked)["analysis"]

    assert shown(studio, {**asked, "name": "x", "usd_per_hour": 2})["analysis"] == first
    for change in ({"batch": 6}, {"on": "2xh100-sxm"}, {"peak_times": 2}, {"config": SMALL}, {"graphs": False}):
        assert shown(studio, {**asked, **change})["analysis"] != first
    assert shown(studio, asked)["analysis"] == first


def test_a_view_is_of_the_scenario_in_focus(studio):
    page = {"scenarios": [{}, {"model": "llama-3.1-70b", "on": "4xh100-sxm", "batch": 16}], "focus": 1}
    view = studio.post("/api/view/memory", {"page": page, "width": 700}).json()

    assert view["answer"]
    assert view["charts"][0]["spec"]["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert studio.post("/api/view/nothing", {"page": page}).status_code == 422


def test_landmarks_and_explanations_are_the_library(studio):
    body = {"context": 64}
    sc = make_scenario(LLAMA, "h100-sxm", context=64)
    marks = studio.post("/api/landmarks", body).json()
    why = studio.post("/api/explain?phase=prefill&operator=qkv", body).json()

    assert marks == plain({name: getattr(landmarks(sc), name) for name in marks})
    assert why["lines"][0]["value"] == explain(sc, "prefill", "qkv").lines[0].value
    assert shown(studio, {}, body, focus=1)["landmarks"] == marks


def test_an_operator_of_the_host_is_explained_by_the_host_s_rate(studio):
    """60 GB/s are what its bytes wait for, and no rate of the card."""
    body = {"model": "llama-3.1-70b", "on": "rtx-3090", **LAYERS}
    why = studio.post("/api/explain?phase=decode&operator=down (host)", body).json()
    (line,) = (line for line in why["lines"] if line["what"] == "the host's memory")

    assert why["bound"] == "host_memory"
    assert line["terms"][1]["value"] == 60e9
    assert "host's memory" in why["why"]


def test_a_pasted_config_is_read_in_memory(studio):
    block = studio.post("/api/analyze", {"config": SMALL}).json()["model"]

    # embedding and head 2 x 1000 x 64; a layer: q and o 2 x 64 x 64, k and v 2 x 64 x 32, MLP 3 x 64 x 128, two norms
    assert block["parameters"] == 2 * 64_000 + 2 * (2 * 4096 + 2 * 2048 + 3 * 8192 + 128) + 64
    assert block["id"] == "your config.json"


REFUSED = [
    ({"model": "gpt-99"}, "model", "no model"),
    ({"model": "/etc/passwd"}, "model", "no model"),
    ({"model": "../../etc/hostname"}, "model", "no model"),
    ({"model": "unknown-org/unknown-model"}, "model", "no model"),
    ({"on": "nonsense"}, "on", "no accelerator"),
    ({"on": "/etc/passwd"}, "on", "no accelerator"),
    ({"on": "../docs/examples/my-card.toml"}, "on", "no accelerator"),
    ({"on": ""}, "on", "at least 1"),
    ({"cards": ["h100-sxm"]}, "cards", "not permitted"),
    ({"weights": "fp3"}, "weights", "no number format"),
    ({"kv_cache": "q2_k"}, "kv_cache", "KV cache"),
    ({"tp": 7}, "tp", "7"),
    ({"batch": 0}, "batch", "greater than or equal to 1"),
    ({"batch": 1 << 40}, "batch", "less than or equal"),
    ({"isl": "many"}, "isl", "valid integer"),
    ({"context": -5}, "context", "greater than or equal"),
    ({"bandwidth_times": 1000}, "bandwidth_times", "less than or equal"),
    ({"config": {"model_type": "nobody-knows"}}, "config", ""),
    ({"config": {}}, "config", ""),
    ({"config": {"model_type": "llama", "hidden_size": -1}}, "config", ""),
    ({"colour": "red"}, "colour", "not permitted"),
]


@pytest.mark.parametrize(("question", "field", "said"), REFUSED)
@pytest.mark.parametrize("path", ["/api/picture", "/api/analyze"])
def test_a_refusal_names_its_field(studio, path, question, field, said):
    page = {"scenarios": [{"batch": 3}, question], "focus": 1}
    answer = studio.post(path, question if path == "/api/analyze" else page)

    assert answer.status_code == 422
    problem = answer.json()["problems"][0]
    assert problem["field"] == field
    assert said in problem["what"]


PAGES = [
    ({"scenarios": []}, "scenarios", "at least 1"),
    ({"scenarios": [{}] * 5}, "scenarios", "at most 4"),
    ({"scenarios": "many"}, "scenarios", "valid list"),
    ({"focus": 4}, "focus", "less than 4"),
    ({"intensity": 0}, "intensity", "greater than or equal to 0.01"),
    ({"tpot_slo_ms": -1}, "tpot_slo_ms", "greater than or equal to 0.001"),
    ({"ttft_slo_ms": 1e9}, "ttft_slo_ms", "less than or equal"),
    ({"levels": "perhaps"}, "levels", "boolean"),
    ({"samples": "{}"}, "samples", "holds no sample"),
    ({"batch": 3}, "batch", "not permitted"),
    ({"scenarios": [{"name": "\ud800"}]}, "name", "unicode"),
]


@pytest.mark.parametrize(("page", "field", "said"), PAGES)
def test_a_refusal_of_a_page_names_its_field(studio, page, field, said):
    body = json.dumps(page).encode()
    answer = studio.request("POST", "/api/picture", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 422
    problem = answer.json()["problems"][0]
    assert problem["field"] == field
    assert said in problem["what"]


@pytest.mark.parametrize("machines", [["tt-p150"], ["h100-sxm", "tt-p150"], ["tt-p150", "h100-sxm"]])
def test_a_card_without_a_compute_peak_has_its_decode(studio, machines):
    """Its slope is drawn without a roof; prompts are null, beside another machine's too."""
    model = "meta-llama/Llama-2-7b-hf"
    mine = {"model": model, "on": "tt-p150", "batch": 4}
    page = [{**mine, "on": on} for on in machines]
    picture = shown(studio, *page, focus=machines.index("tt-p150"), intensity=5)
    own = rooflight.analyze(model, on="tt-p150", batch=4)

    assert picture["analysis"]["phases"]["prefill"] is None
    assert picture["analysis"]["phases"]["decode"]["time_s"] == plain(own.to_dict())["phases"]["decode"]["time_s"]
    assert picture["roof"]["flop_per_s"] is None
    assert "by its memory" in picture["intensity"]["text"]
    assert studio.post("/api/landmarks", mine).status_code == 200
    assert studio.post("/api/analyze", mine).status_code == 200
    slopes = [row for row in picture["datasets"]["roofs"] if row["roof"].endswith("tt-p150 memory")]
    assert len(slopes) == 2


def test_a_fact_that_nobody_published_is_said(studio):
    answer = studio.post("/api/analyze", {"on": a_card_without_a_link(), "tp": 2})

    assert answer.status_code == 424
    assert answer.json()["problems"][0]["error"] == "MissingFact"


def a_card_without_a_link() -> str:
    from rooflight.catalog.accelerators import all_accelerators

    return next(
        card.id for card in all_accelerators()
        if card.link is None and card.pcie_bytes_per_s is None and card.memory_bytes_per_s
    )  # fmt: skip


def test_what_is_no_json_is_refused(studio):
    answer = studio.request("POST", "/api/picture", content=b"{", headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert "JSON" in answer.json()["problems"][0]["what"]


@pytest.mark.parametrize(
    "body", ["[" * 100_000, '{"batch": ' + "9" * 5000 + "}", '{"config": {"a": ' + "[" * 900 + "]" * 900 + "}}"]
)
def test_a_hostile_body_is_refused_in_the_same_shape(studio, body):
    answer = studio.request("POST", "/api/picture", content=body, headers={"content-type": "application/json"})

    assert answer.status_code in (400, 422)
    assert answer.json()["problems"][0]["what"]


def test_a_route_that_is_none_is_said(studio):
    assert studio.get("/api/nothing").json()["problems"][0]["what"] == "Not Found"
    assert studio.get("/api/analyze").status_code == 405


@pytest.mark.slow  # draws pictures
@pytest.mark.parametrize("page", [
    {"scenarios": [{"batch": 4}]}, {"scenarios": [{}, {"on": "4xh200-sxm", "weights": "fp8"}], "focus": 1},
    {"scenarios": [{"on": "nonsense"}, {"model": "llama-3.1-70b"}], "focus": 1, "intensity": 5},
])  # fmt: skip
@pytest.mark.parametrize("dark", ["false", "true"])
def test_a_page_is_drawn(studio, page, dark):
    """One scenario, several, one that is wrong beside one that does not fit."""
    drawn, image = (studio.post(f"/api/export?form={form}&dark={dark}", page) for form in ("svg", "png"))

    assert drawn.text.startswith("<svg")
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert image.content.startswith(b"\x89PNG")


def test_exported_figures_are_those_of_the_library(studio):
    whole = [plain(rooflight.analyze(LLAMA, "h100-sxm", batch=batch).to_dict()) for batch in (4, 9)]
    page = {"scenarios": [{"batch": 4}, {"batch": 9}], "focus": 1}
    form = {name: studio.post(f"/api/export?form={name}", page) for name in ("csv", "json")}

    document = form["json"].json()
    assert document["schema"] == "rooflight.studio/1"
    assert document["focus"] == 1
    assert document["standing"] == studio.post("/api/picture", page).json()["standing"] != ""
    assert document["query"] == shown(studio, *page["scenarios"], focus=1)["query"]
    assert [one["analysis"] for one in document["scenarios"]] == whole
    assert [one["question"] for one in document["scenarios"]] == page["scenarios"]
    assert [one["problem"] for one in document["scenarios"]] == [None, None]
    rows = list(csv.DictReader(io.StringIO(form["csv"].text)))
    times = {phase["time_s"]["ceiling"] for one in whole for phase in one["phases"].values()}
    assert {row["scenario"] for row in rows} == {"A", "B"}
    assert {float(row["time_s.ceiling"]) for row in rows} & times == times


def test_exported_commands_are_those_of_every_scenario(studio):
    page = {"scenarios": [{"batch": 4}, {"on": "nonsense"}, {"on": "4xh200-sxm", "name": "after"}]}
    text = studio.post("/api/export?form=txt", page).text.splitlines()

    assert text[0].startswith("# A, ")
    assert "# C, after" in text
    assert any(line.startswith("# no accelerator is called") for line in text)
    printed = [line for line in text if line.startswith("rooflight analyze ")]
    assert [line.split()[3:5] for line in printed] == [["--on", "h100-sxm"], ["--on", "4xh200-sxm"]]


@pytest.mark.parametrize("form", ["svg", "json", "csv"])
def test_what_cannot_be_answered_is_not_exported(studio, form):
    answer = studio.post(f"/api/export?form={form}", {"scenarios": [{}, {"on": "nonsense"}], "focus": 1})

    assert answer.status_code == 422
    assert answer.json()["problems"][0]["field"] == "on"


def test_choices_and_presets(studio):
    choices, presets = studio.get("/api/choices").json(), studio.get("/api/presets").json()

    assert LLAMA in choices["models"]
    assert "h100-sxm" in [card["id"] for card in choices["accelerators"]]
    assert choices["version"] == rooflight.__version__
    assert choices["batches"][:9] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert choices["batches"][-1] == 4096
    assert [one["name"] for one in presets] == [one.name for one in PRESETS]


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("dark", ["false", "true"])
def test_a_document_has_no_rows_and_names_the_datasets_that_a_picture_fills(studio, several, dark):
    document = studio.get(f"/api/chart?width=400&dark={dark}").json()
    rows = shown(studio, *([{}, {"on": "h200-sxm"}] if several else [{}]))["datasets"]

    assert set(document["datasets"]) - {"once"} <= set(rows)
    assert not [name for name in document["datasets"] if name != "once" and document["datasets"][name]]

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

LLAMA = "meta-llama/Meta-Llama-3.1-8B"
# What the page has no control for yet.
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
    ({"model": "deepseek-ai/DeepSeek-V3", "cards": ["h200-sxm"], "tp": 8, "context": 100_000},
     "deepseek-ai/DeepSeek-V3", "8xh200-sxm", {"context": 100_000}),
    ({"model": "llama-3.1-70b"}, "llama-3.1-70b", "h100-sxm", {}),
    ({"model": "llama-3.1-70b", "ignore_capacity": True, "attention": "naive"}, "llama-3.1-70b", "h100-sxm",
     {"ignore_capacity": True, "attention": "naive"}),
    ({"model": "mixtral-8x7b", "cards": ["h200-sxm"], "tp": 2, **REST}, "mixtral-8x7b", "8xh200-sxm", REST),
    ({"model": "llama-3.1-70b", "cards": ["rtx-3090"], **LAYERS}, "llama-3.1-70b", "rtx-3090", LAYERS),
    ({"model": "qwen3-30b-a3b", "cards": ["rtx-3090"], **EXPERTS}, "qwen3-30b-a3b", "rtx-3090", EXPERTS),
]  # fmt: skip

# Prompts alone, of which there is no decode step to draw over the batch.
SILENT = [
    ({"osl": 0, "batch": 8}, LLAMA, "h100-sxm", {"osl": 0, "batch": 8}),
    ({"model": "Qwen/Qwen3-Embedding-8B"}, "Qwen/Qwen3-Embedding-8B", "h100-sxm", {}),
]


def plain(value):
    """As JSON has it: tuples are lists."""
    return json.loads(json.dumps(value))


@pytest.mark.parametrize(("question", "model", "on", "fields"), [*QUESTIONS, *SILENT])
def test_analyze_is_the_library(studio, question, model, on, fields):
    answer = studio.post("/api/analyze", question)

    assert answer.status_code == 200
    assert answer.json() == plain(rooflight.analyze(model, on, **fields).to_dict())


def in_picture(whole):
    """As the picture has it: with the one run that the sentence speaks of."""
    name = whole["run"]
    runs = whole["runs"] and {name: whole["runs"][name]}
    return {**whole, "request": None, "served": None, "runs": runs}


@pytest.mark.parametrize(("question", "model", "on", "fields"), [*QUESTIONS, *SILENT])
def test_a_picture_holds_the_same_figures(studio, question, model, on, fields):
    picture = studio.post("/api/picture", question).json()
    whole = plain(rooflight.analyze(model, on, **fields).to_dict())

    assert picture["answer"] == whole["answer"]
    assert picture["cards"][0]["analysis"] == in_picture(whole)


@pytest.mark.parametrize(("question", "model", "on", "fields"), QUESTIONS)
def test_a_curve_is_the_library_sweep(studio, question, model, on, fields):
    curve = studio.post("/api/picture", question).json()["cards"][0]["curve"]
    fields = {name: value for name, value in fields.items() if name != "batch"}
    columns = rooflight.sweep(model, on, {"batch": curve["batch"]}, **fields).columns()

    shown = columns["fits"] | fields.get("ignore_capacity", False)
    assert curve["fits"] == columns["fits"].tolist()
    for name in ("ceiling", "roofline", "expected", "low", "high"):
        assert curve[f"{name}_s"] == [
            value if kept else None for value, kept in zip(columns[f"time_s.{name}"].tolist(), shown, strict=True)
        ]
    assert curve["intensity_flop_per_byte"] == columns["intensity_flop_per_byte"].tolist()


@pytest.mark.parametrize(("question", "model", "on", "fields"), SILENT)
def test_where_nothing_is_put_out_a_curve_has_no_times(studio, question, model, on, fields):
    curve = studio.post("/api/picture", question).json()["cards"][0]["curve"]

    assert all(curve["fits"][:8])
    assert set(curve["ceiling_s"] + curve["expected_s"]) == {None}


@pytest.mark.parametrize(("question", "model", "on", "fields"), QUESTIONS[:3])
def test_the_dots_are_the_phases(studio, question, model, on, fields):
    rows = studio.post("/api/picture", question).json()["datasets"]["roofline"]["phases"]
    phases = rooflight.analyze(model, on, **fields).phases

    assert {row["name"]: (row["x"], row["y"]) for row in rows} == {
        name: (phase.intensity_flop_per_byte, phase.flop / phase.time_s.roofline) for name, phase in phases.items()
    }


def test_four_cards_at_once_and_one_of_them_unknown(studio):
    cards = ["h100-sxm", "h200-sxm", "nonsense", "mi300x"]
    picture = studio.post("/api/picture", {"cards": cards, "focus": 1}).json()

    assert [card["on"] for card in picture["cards"]] == cards
    assert [card["problem"] is None for card in picture["cards"]] == [True, True, False, True]
    assert picture["cards"][2]["problem"]["field"] == "cards"
    assert picture["answer"] == rooflight.analyze(LLAMA, "h200-sxm").answer


def test_a_what_if_changes_the_card_in_focus_alone(studio):
    """Twice the bandwidth halves the memory ceiling of decode; the neighbour stays as built."""
    body = {"cards": ["h100-sxm", "h100-sxm"], "focus": 1, "bandwidth_times": 2, "peak_times": 0.5}
    built, other = (card["analysis"] for card in studio.post("/api/picture", body).json()["cards"])

    before, after = (one["phases"]["decode"]["ceilings_s"] for one in (built, other))
    assert after["memory"] == pytest.approx(before["memory"] / 2)
    assert after["compute"] == pytest.approx(before["compute"] * 2)
    assert built["phases"] == plain(rooflight.analyze(LLAMA, "h100-sxm").to_dict())["phases"]
    assert any(line.startswith("what if: h100-sxm with 2 times") for line in other["assumptions"])


def test_a_single_card_with_other_rates_is_drawn_beside_itself_as_built(studio):
    picture = studio.post("/api/picture", {"bandwidth_times": 2}).json()

    assert picture["before"]["phases"] == plain(rooflight.analyze(LLAMA, "h100-sxm").to_dict())["phases"]
    assert picture["cards"][0]["analysis"]["accelerator"]["id"] == "h100-sxm (what if)"
    assert "decode" in [row["name"] for row in picture["datasets"]["roofline"]["moves"]]


def test_before_is_the_question_with_its_changes(studio):
    body = {"weights": "fp8", "batch": 16, "context": 9, "before": {"weights": "auto", "batch": 2, "context": -1}}
    before = studio.post("/api/picture", body).json()["before"]

    whole = plain(rooflight.analyze(LLAMA, "h100-sxm", batch=2).to_dict())
    assert before == in_picture(whole)


def test_landmarks_and_explanations_are_the_library(studio):
    body = {"context": 64}
    sc = make_scenario(LLAMA, "h100-sxm", context=64)
    marks = studio.post("/api/landmarks", body).json()
    why = studio.post("/api/explain?phase=prefill&operator=qkv", body).json()

    assert marks == plain({name: getattr(landmarks(sc), name) for name in marks})
    assert why["lines"][0]["value"] == explain(sc, "prefill", "qkv").lines[0].value
    assert studio.post("/api/picture", body).json()["landmarks"] == marks


def test_an_operator_of_the_host_is_explained_by_the_host_s_rate(studio):
    """60 GB/s are what its bytes wait for, and no rate of the card."""
    body = {"model": "llama-3.1-70b", "cards": ["rtx-3090"], **LAYERS}
    why = studio.post("/api/explain?phase=decode&operator=down (host)", body).json()
    (line,) = (line for line in why["lines"] if line["what"] == "the host's memory")

    assert why["bound"] == "host_memory"
    assert line["terms"][1]["value"] == 60e9
    assert "host's memory" in why["why"]


def test_a_pasted_config_is_read_in_memory(studio):
    config = {
        "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 128, "vocab_size": 1000, "num_hidden_layers": 2, "max_position_embeddings": 4096,
    }  # fmt: skip
    block = studio.post("/api/analyze", {"config": config}).json()["model"]

    # embedding and head 2 x 1000 x 64; a layer: q and o 2 x 64 x 64, k and v 2 x 64 x 32, MLP 3 x 64 x 128, two norms
    assert block["parameters"] == 2 * 64_000 + 2 * (2 * 4096 + 2 * 2048 + 3 * 8192 + 128) + 64
    assert block["id"] == "your config.json"


REFUSED = [
    ({"model": "gpt-99"}, "model", "no model"),
    ({"model": "/etc/passwd"}, "model", "no model"),
    ({"model": "../../etc/hostname"}, "model", "no model"),
    ({"model": "unknown-org/unknown-model"}, "model", "no model"),
    ({"cards": ["nonsense"]}, "cards", "no accelerator"),
    ({"cards": ["/etc/passwd"]}, "cards", "no accelerator"),
    ({"cards": ["../docs/examples/my-card.toml"]}, "cards", "no accelerator"),
    ({"cards": ["h100-sxm"] * 5}, "cards", "at most 4"),
    ({"cards": []}, "cards", "at least 1"),
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
    answer = studio.post(path, question)

    assert answer.status_code == 422
    problem = answer.json()["problems"][0]
    assert problem["field"] == field
    assert said in problem["what"]


@pytest.mark.parametrize("cards", [["tt-p150"], ["h100-sxm", "tt-p150"], ["tt-p150", "h100-sxm"]])
def test_a_card_without_a_compute_peak_has_its_decode(studio, cards):
    """Its slope is drawn without a roof; prompts are null, beside another card's too."""
    model = "meta-llama/Llama-2-7b-hf"
    picture = studio.post("/api/picture", {"model": model, "cards": cards, "batch": 4}).json()
    mine = picture["cards"][cards.index("tt-p150")]
    own = rooflight.analyze(model, on="tt-p150", batch=4)

    assert mine["analysis"]["phases"]["prefill"] is None
    assert mine["analysis"]["phases"]["decode"]["time_s"] == plain(own.to_dict())["phases"]["decode"]["time_s"]
    assert mine["curve"]["ceiling_s"][0] > 0
    assert studio.post("/api/landmarks", {"model": model, "cards": cards[:1]}).status_code == 200
    assert studio.post("/api/analyze", {"model": model, "cards": ["tt-p150"]}).status_code == 200
    slopes = [row for row in picture["datasets"]["roofline"]["roofs"] if row["roof"] == "tt-p150 memory"]
    assert len(slopes) == 2


def test_a_fact_that_nobody_published_is_said(studio):
    answer = studio.post("/api/analyze", {"cards": [a_card_without_a_link()], "tp": 2})

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
def test_exports_are_the_figures_and_the_picture(studio):
    question = {"batch": 4}
    whole = plain(rooflight.analyze(LLAMA, "h100-sxm", batch=4).to_dict())
    form = {name: studio.post(f"/api/export?form={name}", question) for name in ("svg", "png", "csv", "json")}

    assert form["json"].json() == whole
    rows = list(csv.DictReader(io.StringIO(form["csv"].text)))
    assert float(rows[0]["time_s.ceiling"]) in [phase["time_s"]["ceiling"] for phase in whole["phases"].values()]
    assert form["svg"].text.startswith("<svg")
    assert form["png"].content.startswith(b"\x89PNG")
    assert form["svg"].headers["content-type"] == "image/svg+xml"


@pytest.mark.slow  # draws pictures
@pytest.mark.parametrize("question", [{"cards": ["h100-sxm", "h200-sxm"]}, {"weights": "fp8", "before": {"batch": 9}}])
def test_comparisons_are_drawn_too(studio, question):
    assert "<svg" in studio.post("/api/export?form=svg&dark=true", question).text


def test_choices_and_presets(studio):
    choices, presets = studio.get("/api/choices").json(), studio.get("/api/presets").json()

    assert LLAMA in choices["models"]
    assert "h100-sxm" in [card["id"] for card in choices["accelerators"]]
    assert choices["version"] == rooflight.__version__
    assert len(presets) == 6


def test_the_charts_along_the_batch_are_the_library_sweep(studio):
    """Tokens a second are the batch over the step's seconds; `along` stays while only the batch changes."""
    first, second = (studio.post("/api/picture", {"batch": batch}).json() for batch in (3, 500))
    points = first["datasets"]["batch"]["points_tokens_per_s"]
    columns = rooflight.sweep(LLAMA, "h100-sxm", {"batch": [int(point["x"]) for point in points]}).columns()

    assert [point["ceiling"] for point in points] == pytest.approx(columns["tokens_per_s.ceiling"].tolist())
    assert [point["expected"] for point in points] == pytest.approx(columns["tokens_per_s.expected"].tolist())
    assert columns["fits"].all()
    assert first["along"] == second["along"]
    assert [one["datasets"]["batch"]["here"] for one in (first, second)] == [[{"x": 3}], [{"x": 500}]]
    assert second["cards"][0]["analysis"]["bound"] == "capacity"


@pytest.mark.parametrize("kind", ["roofline", "batch", "users", "traffic", "memory"])
@pytest.mark.parametrize("several", [False, True])
def test_a_document_names_datasets_that_a_picture_fills(studio, kind, several):
    body = {"cards": ["h100-sxm", "h200-sxm"]} if several else {}
    document = studio.get("/api/chart", params={"kind": kind, "several": several, "width": 400}).json()
    rows = studio.post("/api/picture", body).json()["datasets"][kind]

    assert set(document["datasets"]) - {"once"} <= set(rows)
    assert not [name for name in document["datasets"] if name != "once" and document["datasets"][name]]


def test_bytes_and_memory_are_the_analysis_own(studio):
    picture = studio.post("/api/picture", {"batch": 8}).json()
    answer = rooflight.analyze(LLAMA, "h100-sxm", batch=8)
    moved = {(row["phase"], row["part"]): row["bytes"] for row in picture["datasets"]["traffic"]["parts"]}
    held = {row["part"]: row["bytes"] for row in picture["datasets"]["memory"]["parts"]}

    assert moved["decode", "kv_read"] == answer.phases["decode"].bytes.kv_read
    assert held["weights_bytes"] == answer.memory.weights_bytes

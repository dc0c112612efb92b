"""The studio as a person uses it, in a real browser. Figures are compared with the library's."""

from __future__ import annotations

import csv
import json
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.serve.landmarks import landmarks

LLAMA = "meta-llama/Meta-Llama-3.1-8B"
CONFIG = {
    "model_type": "llama", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4,
    "intermediate_size": 5632, "vocab_size": 32000, "num_hidden_layers": 12, "max_position_embeddings": 8192,
}  # fmt: skip


def decode(**fields):
    return rooflight.analyze(LLAMA, "h100-sxm", **fields).phases["decode"]


def test_it_opens_with_an_answer_and_the_library_figures(studio_page):
    page = studio_page.open()

    assert page.inner_text("#answer") == rooflight.analyze(LLAMA, "h100-sxm").answer
    phase = decode()
    dot = studio_page.dot("decode")
    assert (dot["x"], dot["y"]) == (phase.intensity_flop_per_byte, phase.flop / phase.time_s.roofline)
    assert page.inner_text("#figures tbody th") == "h100-sxm"
    assert "memory-bound" in page.inner_text("#figures tbody")


def test_a_slider_moves_by_keyboard_and_the_dot_crosses_the_ridge_where_the_library_says(studio_page):
    """At 64 cached tokens; the slider steps eighths of an octave, the number box single sequences."""
    marks = landmarks(make_scenario(LLAMA, "h100-sxm", context=64))
    page = studio_page.open("?ctx=64")
    page.focus("#batch-slider")
    for _ in range(200):
        before = studio_page.dot("decode")
        page.keyboard.press("ArrowRight")
        studio_page.settled()
        if studio_page.dot("decode")["x"] >= decode().ridge_flop_per_byte:
            break
    assert before["x"] < decode().ridge_flop_per_byte
    assert int(page.input_value("#batch")) >= marks.ridge_batch
    assert f"A batch of {marks.ridge_batch:,} reaches it" in page.inner_text("#roofline-words")

    for batch in (marks.ridge_batch - 1, marks.ridge_batch):
        studio_page.set("batch", batch)
        crossed = studio_page.dot("decode")["x"] >= decode().ridge_flop_per_byte
        assert crossed == (batch >= marks.ridge_batch)
    assert "right of" in page.inner_text("#roofline-words")


def test_a_slider_moves_by_mouse(studio_page):
    page = studio_page.open()
    box = page.locator("#batch-slider").bounding_box()
    start = studio_page.dot("decode")["x"]
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 10, middle)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(box["x"] + 10 + step * 0.05 * box["width"], middle)
    page.mouse.up()
    studio_page.settled()

    batch = int(page.input_value("#batch"))
    assert 50 < batch < 328  # as many as fit
    assert studio_page.dot("decode")["x"] == decode(batch=batch).intensity_flop_per_byte > start


def test_cards_are_compared(studio_page):
    page = studio_page.open()
    for name in ("h200-sxm", "mi300x"):
        page.fill("#add-card", name)
        page.keyboard.press("Enter")
        studio_page.settled()

    assert [row.split("\n")[0].strip() for row in page.locator("#figures tbody th").all_inner_texts()] == [
        "h100-sxm", "h200-sxm", "mi300x",
    ]  # fmt: skip
    dots = {(row["analysis"], row["name"]): row["y"] for row in studio_page.rows("phases")}
    for place, name in enumerate(("h100-sxm", "h200-sxm", "mi300x")):
        phase = rooflight.analyze(LLAMA, name).phases["decode"]
        assert dots[place, "decode"] == phase.flop / phase.time_s.roofline

    page.click("text=h200-sxm >> nth=0")
    studio_page.settled()
    assert page.inner_text("#answer") == rooflight.analyze(LLAMA, "h200-sxm").answer
    page.click("[aria-label='Remove mi300x']")
    studio_page.settled()
    assert page.locator("#figures tbody tr").count() == 2


def test_a_card_nobody_knows_is_said_beside_the_field_and_can_be_replaced(studio_page):
    page = studio_page.open()
    page.fill("#add-card", "h1000")
    page.click("#add")
    studio_page.settled()
    assert "no accelerator" in page.inner_text("#cards-error")
    assert page.inner_text("#answer") == rooflight.analyze(LLAMA, "h100-sxm").answer

    studio_page.open("?c=h1000")
    assert "no accelerator" in page.inner_text("#cards-error")
    page.fill("#add-card", "h200-sxm")
    page.keyboard.press("Enter")
    studio_page.settled()
    assert page.inner_text("#answer") == rooflight.analyze(LLAMA, "h200-sxm").answer
    assert page.inner_text("#cards-error") == ""
    studio_page.troubles[:] = [one for one in studio_page.troubles if "422" not in one]


def test_an_operator_explains_itself(studio_page):
    page = studio_page.open("?b=32")
    page.click("[data-operator='qkv']")
    page.wait_for_selector(".explanation .sums")

    text = page.inner_text(".explanation")
    assert "2 × 32 tokens × 4,096 inputs × 6,144 outputs = 1.61 GFLOP" in text
    assert "295 FLOP/byte" in text
    assert "memory-bound" in text
    assert page.get_attribute("[data-operator='qkv']", "aria-expanded") == "true"
    page.focus("[data-operator='qkv']")
    page.keyboard.press("Enter")
    page.wait_for_selector(".explanation", state="detached")
    assert page.evaluate("document.activeElement.dataset.operator") == "qkv"


def test_a_shared_address_shows_the_same_again(studio_page, context):
    page = studio_page.open("?m=llama-3.1-70b&c=h200-sxm&tp=4")
    studio_page.set("batch", 24)
    page.click("[data-phase='prefill']")
    page.click("[data-operator='gate_up']")
    studio_page.settled()
    address = page.evaluate("location.search")

    assert address == f"?v={rooflight.__version__}&m=llama-3.1-70b&c=h200-sxm&tp=4&b=24&ph=prefill&op=gate_up"
    page.goto(studio_page.server.url + address)
    page.wait_for_selector("html[data-ready]")
    page.wait_for_selector(".explanation .sums")
    assert page.input_value("#batch") == "24"
    assert page.inner_text("#answer") == rooflight.analyze("llama-3.1-70b", "4xh200-sxm", batch=24).answer
    assert page.get_attribute("[data-phase='prefill']", "aria-pressed") == "true"


def test_an_address_of_another_version_says_so(studio_page):
    page = studio_page.open("?v=0.0.1&b=3")

    assert "made with rooflight 0.0.1" in page.inner_text("#general-error")
    assert page.input_value("#batch") == "3"


@pytest.mark.parametrize("form", ["svg", "png", "csv", "json"])
def test_exports_open(studio_page, form, tmp_path):
    page = studio_page.open("?b=8")
    page.click("#export summary")
    with page.expect_download() as waiting:
        page.click(f"[data-form='{form}']")
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)

    answer = rooflight.analyze(LLAMA, "h100-sxm", batch=8)
    assert file.name == f"rooflight.{form}"
    if form == "svg":
        assert ET.fromstring(file.read_text()).tag.endswith("svg")
    elif form == "png":
        width, height = struct.unpack(">II", file.read_bytes()[16:24])
        assert width > 1000 < 2 * height
    elif form == "csv":
        assert str(answer.phases["decode"].time_s.ceiling) in [
            row["time_s.ceiling"] for row in csv.DictReader(file.read_text().splitlines())
        ]
    else:
        assert json.loads(file.read_text()) == json.loads(json.dumps(answer.to_dict()))


def test_a_config_is_pasted_dropped_and_shared(studio_page, tmp_path):
    page = studio_page.open()
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    page.click("#paste summary")
    page.fill("#config", json.dumps(CONFIG))
    page.click("#use-config")
    studio_page.settled()
    answer = rooflight.analyze(str(path), "h100-sxm")
    words = page.inner_text("#answer")
    assert words == answer.answer.replace(answer.model.id, "your config.json")

    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("#answer") == words
    page.fill("#model", LLAMA)
    page.keyboard.press("Enter")
    page.locator("#model").blur()
    studio_page.settled()
    assert "config" not in page.evaluate("location.hash")
    page.set_input_files("#config-file", path)
    studio_page.settled()
    assert page.inner_text("#answer") == words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[1]", "an object"),
        ('{"model_type": "nobody-knows", "hidden_size": 8}', "nobody-knows"),
        ('{"model_type": "<img src=x onerror=alert(1)>"}', "<img src=x"),
    ],
)
def test_a_bad_config_is_said_beside_its_field_and_the_picture_stays(studio_page, text, said):
    page = studio_page.open()
    before = page.inner_text("#answer"), studio_page.rows("phases")
    page.click("#paste summary")
    page.fill("#config", text)
    page.click("#use-config")
    page.wait_for_function("() => document.getElementById('config-error').textContent !== ''")

    assert said in page.inner_text("#config-error")
    assert page.get_attribute("#config", "aria-invalid") == "true"
    assert (page.inner_text("#answer"), studio_page.rows("phases")) == before
    assert page.locator("img").count() == 0
    studio_page.troubles[:] = [one for one in studio_page.troubles if "422" not in one]  # the browser reports refusals


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("batch", "0", "1"), ("batch", "", "whole number"), ("tp", "7", "7"), ("isl", "1.5", "whole")],
)
def test_a_bad_number_is_said_beside_its_field(studio_page, field, value, said):
    page = studio_page.open()
    before = page.inner_text("#answer")
    page.fill(f"#{field}", value)
    page.wait_for_function("(id) => document.getElementById(id).textContent !== ''", arg=f"{field}-error")

    assert said in page.inner_text(f"#{field}-error")
    assert page.inner_text("#answer") == before
    studio_page.set(field, 2)
    assert page.inner_text(f"#{field}-error") == ""
    studio_page.troubles[:] = [one for one in studio_page.troubles if "422" not in one]


def test_the_roof_is_dragged_by_mouse_and_by_keyboard(studio_page):
    page = studio_page.open()
    start = decode().ceilings_s.memory
    page.focus("#drag-bandwidth")
    page.keyboard.press("ArrowUp")
    studio_page.settled()
    assert float(page.input_value("#bandwidth_times")) == pytest.approx(2 ** (1 / 8), rel=0.01)

    page.locator("#drag-bandwidth").scroll_into_view_if_needed()
    box = page.locator("#drag-bandwidth").bounding_box()
    page.mouse.move(box["x"] + 11, box["y"] + 11)
    page.mouse.down()
    page.mouse.move(box["x"] + 11, box["y"] - 20, steps=6)
    page.mouse.up()
    studio_page.settled()
    times = float(page.input_value("#bandwidth_times"))
    assert times > 1.3
    assert studio_page.dot("decode")["time_s"] < start
    assert "bw=" in page.evaluate("location.search")
    page.click("#reset-roof")
    studio_page.settled()
    assert studio_page.dot("decode")["time_s"] == decode().time_s.roofline


def test_before_and_after_are_joined_by_arrows(studio_page):
    page = studio_page.open("?b=16")
    page.click("#hold")
    page.select_option("#weights", "fp8")
    studio_page.settled()

    gain = decode(batch=16).time_s.ceiling / decode(batch=16, weights="fp8").time_s.ceiling
    assert f"{gain:.3g} ×" in page.inner_text("#figures .gain")
    assert {row["name"] for row in studio_page.rows("moves")} == {"prefill", "decode"}
    assert "was.w=auto" in page.evaluate("location.search")
    page.click("#let-go")
    studio_page.settled()
    assert page.locator("#figures .gain").count() == 0


def test_a_preset_opens_its_question(studio_page):
    page = studio_page.open()
    page.click("text=Will an H200 help?")
    page.wait_for_function("() => document.querySelectorAll('#figures tbody tr').length === 2")

    assert page.is_visible("#look")
    assert page.get_attribute("[data-preset='1']", "aria-current") == "true"


def test_a_tooltip_stays_where_it_was_clicked(studio_page):
    page = studio_page.open()
    place = page.evaluate("""async () => {
        const view = (await import("/static/charts.js")).viewOf("roofline");
        const dot = view.data("phases").find((row) => row.name === "prefill");
        const [left, top] = view.origin();
        const frame = document.querySelector("#chart-roofline svg").getBoundingClientRect();
        const pad = view.padding();
        const [x, y] = [view.scale("x")(dot.x), view.scale("y")(dot.y)];
        return [frame.left + left + pad.left + x, frame.top + top + pad.top + y];
    }""")
    page.mouse.move(*place)
    page.wait_for_selector(".tip:not([hidden])")
    page.mouse.click(*place)
    page.mouse.move(5, 5)
    page.wait_for_timeout(200)
    assert "prefill" in page.inner_text(".tip.pinned")
    page.keyboard.press("Escape")
    assert page.is_hidden(".tip")


def test_a_server_that_goes_away_and_returns(studio_page):
    server = studio_page.server
    page = studio_page.open()
    answer = page.inner_text("#answer")
    server.stop()
    page.fill("#batch", "40")
    page.wait_for_selector("#status:not([hidden])")
    assert "does not answer" in page.inner_text("#status")
    assert page.inner_text("#answer") == answer
    server.start()
    page.wait_for_selector("#status", state="hidden", timeout=15_000)
    studio_page.settled()
    assert page.inner_text("#answer") == rooflight.analyze(LLAMA, "h100-sxm", batch=40).answer
    studio_page.troubles[:] = [one for one in studio_page.troubles if "ERR_CONNECTION" not in one]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_every_width_and_scheme_is_accessible_and_fits(server, browser, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(server.url + "?q=1&m=llama-3.1-70b&c=h100-sxm,h200-sxm&tp=4&b=32&op=qkv&bw=1.5")
    page.wait_for_selector(".explanation .sums")
    page.click(".assumptions summary")
    page.click("#paste summary")
    page.click("#use-config")
    found = Axe().run(page).response["violations"]

    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_everything_is_reached_by_tab_and_focus_is_seen(studio_page):
    page = studio_page.open()
    reached, unseen = set(), []
    for _ in range(90):
        page.keyboard.press("Tab")
        name, outline = page.evaluate("""() => {
            const one = document.activeElement;
            const style = getComputedStyle(one.matches(".file input") ? one.parentElement : one);
            return [one.id || one.dataset.operator || one.textContent.trim().slice(0, 20), style.outlineStyle];
        }""")
        reached.add(name)
        if outline == "none" and not page.evaluate("document.activeElement === document.body"):
            unseen.append(name)

    assert {"copy-link", "model", "add-card", "weights", "batch-slider", "batch", "drag-peak", "qkv"} <= reached
    assert not unseen


def test_nothing_is_loaded_from_elsewhere(server, browser):
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.url)
    page.wait_for_selector("html[data-ready]")

    assert all(url.startswith((server.url, "data:", "blob:")) for url in asked), asked
    assert Path(server.url).name != ""
    context.close()


MACHINE = Path(__file__).parents[1] / "measured_h100.toml"
KERNEL = {
    "schema": "rooflight.sample/1", "kind": "kernel", "name": "gemm", "operator": "qkv", "compute": "bf16",
    "flop": 2.0e9, "bytes": 1.0e8, "time_s": {"median": 1e-4, "low": 0.9e-4, "high": 1.2e-4, "n": 9},
}  # fmt: skip


def test_a_measured_machine_is_chosen_by_keyboard_and_stays_on_the_page(studio_page, tmp_path):
    """Its roofs are full lines, its datasheet's dashed, its kernels squares; the address has none of it."""
    page = studio_page.open()
    page.focus("#measured > summary")
    page.keyboard.press("Enter")
    assert page.get_by_label("Its file, as rooflight measure").is_visible()
    page.set_input_files("#machine", MACHINE)
    studio_page.settled()
    own = rooflight.analyze(LLAMA, str(MACHINE))
    assert page.inner_text("#answer") == own.answer
    assert "fastest seen here" in page.inner_text("#answer")
    assert "physics" not in page.inner_text("#figures caption")
    assert "By the datasheet of h100-sxm" in page.inner_text("#roofline-words")
    lines = {(row["kind"], row["line"]) for row in studio_page.rows("roofs")}
    assert {("measured", "solid"), ("datasheet", "dashed")} <= lines

    kernels = tmp_path / "kernels.jsonl"
    kernels.write_text(json.dumps(KERNEL) + "\n")
    page.set_input_files("#samples", kernels)
    studio_page.settled()
    (dot,) = studio_page.rows("samples")
    assert (dot["x"], dot["y"]) == (2.0e9 / 1.0e8, 2.0e9 / 1e-4)
    studio_page.set("batch", 16)
    assert page.inner_text("#answer") == rooflight.analyze(LLAMA, str(MACHINE), batch=16).answer
    assert "measured" not in page.url
    assert "machine" not in page.url

    page.click("#forget-machine")
    studio_page.settled()
    assert page.inner_text("#answer") == rooflight.analyze(LLAMA, "h100-sxm", batch=16).answer
    assert studio_page.rows("samples") == []
    assert page.evaluate("document.activeElement.id") == "machine"


DROP = """(files) => {
    const data = new DataTransfer();
    for (const [name, text] of files) data.items.add(new File([text], name));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_a_dropped_file_is_told_by_its_name_and_a_broken_one_is_said(studio_page):
    page = studio_page.open()
    page.evaluate(DROP, [["this.toml", MACHINE.read_text(encoding="utf-8")]])
    page.wait_for_function("() => document.querySelector('#answer').textContent.includes('our-h100')")
    assert page.get_attribute("#measured", "open") is not None

    page.evaluate(DROP, [["this.toml", "[measured]"]])
    page.wait_for_function("() => document.querySelector('#machine-error').textContent !== ''")
    assert page.get_attribute("#machine", "aria-invalid") == "true"
    studio_page.troubles[:] = [one for one in studio_page.troubles if "422" not in one]


DCGM = Path(__file__).parents[2] / "docs" / "examples" / "dcgm.prom"
TOLD = "() => document.querySelector('#diagnosis').dataset.busy === 'false'"


def test_a_dropped_recording_is_diagnosed_with_its_chart_and_forgotten(studio_page, context):
    """The sentence, tables and commands are the library's for the model of the page; the address has none of it."""
    page = studio_page.open()
    page.evaluate(DROP, [["counters.txt", DCGM.read_text(encoding="utf-8")]])
    page.wait_for_function(TOLD)
    own = rooflight.diagnose(DCGM, model=LLAMA)

    assert page.inner_text("#diagnosis-answer") == own.answer
    assert "confidence high" in page.inner_text("#diagnosis-verdict")
    assert page.locator("#diagnosis-verdict li").all_inner_texts()[0] == "DRAM active: 78 %"
    assert page.locator("#diagnosis-tables tbody td").all_inner_texts() == [
        "memory",
        "95 %",
        "94 %",
        "90 %",
        "6 %",
        "78 %",
    ]
    assert page.get_attribute("#chart-diagnosis .view", "aria-label") == own.answer
    assert page.locator("#chart-diagnosis svg").bounding_box()["width"] > 400
    assert "the files name no model" in page.inner_text("#diagnosis-taken")
    commands = page.locator("#diagnosis-next code").all_inner_texts()
    assert commands == [one.command for one in own.next]
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#diagnosis-next button >> nth=0")
    page.wait_for_function("() => document.querySelector('#toast').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == commands[0]
    studio_page.settled()
    assert "dcgm" not in page.url.lower()
    assert "counters" not in page.url

    page.fill("#model", "Qwen/Qwen3-8B")
    page.keyboard.press("Enter")
    page.locator("#model").blur()
    studio_page.settled()
    page.wait_for_function("() => document.querySelector('#diagnosis-taken').textContent.includes('Qwen3-8B')")
    page.wait_for_function(TOLD)
    page.focus("#forget-recorded")
    page.keyboard.press("Enter")
    assert page.inner_text("#diagnosis-answer") == ""
    assert page.locator("#chart-diagnosis svg").count() == 0
    assert page.evaluate("document.activeElement.id") == "recorded"


def test_files_are_chosen_by_keyboard_and_a_refused_one_is_said_at_its_place(studio_page, tmp_path):
    page = studio_page.open()
    page.focus("#diagnosis > summary")
    page.keyboard.press("Enter")
    assert page.get_by_label("Recorded files").is_visible()
    odd = tmp_path / "<b>odd.txt"
    odd.write_text("nothing that anybody knows")
    page.set_input_files("#recorded", [DCGM, odd])
    page.wait_for_function(TOLD)
    assert page.inner_text("#recorded-error").startswith("nothing that is read looks like <b>odd.txt")
    assert page.get_attribute("#recorded", "aria-invalid") == "true"
    assert page.inner_text("#diagnosis-answer") == ""
    studio_page.set("batch", 2)  # another answer leaves it
    assert page.inner_text("#recorded-error") != ""

    page.set_input_files("#recorded", [DCGM])
    page.wait_for_function(TOLD)
    page.wait_for_function("() => document.querySelector('#recorded-error').textContent === ''")
    page.select_option("#under", "files")
    page.wait_for_function("() => document.querySelector('#diagnosis-taken').textContent === ''")
    page.wait_for_function(TOLD)
    assert page.inner_text("#diagnosis-answer") == rooflight.diagnose(DCGM).answer
    studio_page.troubles[:] = [one for one in studio_page.troubles if "422" not in one]


def test_text_of_a_recording_is_never_markup(studio_page):
    page = studio_page.open()
    text = DCGM.read_text(encoding="utf-8").replace('Hostname="node"', 'Hostname="<img src=x onerror=alert(1)>"')
    page.evaluate(DROP, [["<img src=y>.prom", text]])
    page.wait_for_function(TOLD)

    assert "<img src=x onerror=alert(1)>" in page.inner_text("#diagnosis-tables tbody th")
    assert "<img src=y>.prom" in page.inner_text("#diagnosis-sources")
    assert page.locator("img").count() == 0


def test_dropped_json_is_told_by_its_content(studio_page):
    page = studio_page.open()
    page.evaluate(DROP, [["mine.json", json.dumps(CONFIG)], ["kernels.jsonl", json.dumps(KERNEL) + "\n"]])
    page.wait_for_function("() => document.querySelector('#answer').textContent.includes('your config.json')")
    studio_page.settled()

    assert len(studio_page.rows("samples")) == 1
    assert page.inner_text("#diagnosis-answer") == page.inner_text("#recorded-error") == ""
    page.evaluate(DROP, [["config.json", "{"]])
    page.wait_for_function("() => document.querySelector('#config-error').textContent !== ''")
    assert page.inner_text("#recorded-error") == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_a_diagnosis_is_accessible_and_fits(server, browser, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(server.url)
    page.wait_for_selector("html[data-ready]")
    page.evaluate(DROP, [["counters.txt", DCGM.read_text(encoding="utf-8")]])
    page.wait_for_function(TOLD)
    found = Axe().run(page).response["violations"]

    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


OFFLOADED = "?m=llama-3.1-70b&w=q4_k_m&c=rtx-3090"


def test_a_folded_field_is_set_by_hand_and_its_group_says_so(studio_page):
    page = studio_page.open(OFFLOADED)
    assert not page.locator("#n_gpu_layers").is_visible()
    page.click("#more-offload > summary")
    page.fill("#n_gpu_layers", "40")
    page.fill("#host_memory_bandwidth", "80GB/s")
    page.locator("#host_memory_bandwidth").blur()
    studio_page.settled()

    own = rooflight.analyze(
        "llama-3.1-70b", "rtx-3090", weights="q4_k_m", n_gpu_layers=40, host_memory_bandwidth="80GB/s"
    )
    assert page.inner_text("#answer") == own.answer
    assert page.inner_text("#more-offload-set") == "2 set"
    assert "On the host" in page.inner_text("#told")
    assert "n_gpu_layers=40" in page.url
    for field in ("host_memory_bandwidth", "n_gpu_layers"):  # a host beside which nothing lies is refused
        page.fill(f"#{field}", "")
        page.locator(f"#{field}").blur()
        studio_page.settled()
    assert page.inner_text("#more-offload-set") == ""
    assert not page.locator("#told").is_visible()


def test_an_error_of_a_folded_field_stands_beside_it(studio_page):
    page = studio_page.open("?images=cat")

    assert page.locator("#images-error").is_visible()
    assert page.inner_text("#images-error").startswith("images are no sizes of images")
    assert page.inner_text("#answer") == "No answer: images are no sizes of images"
    page.click("[data-phase=prefill]")  # nothing was drawn, so nothing is broken by it
    page.click("#more-layout > summary")
    page.fill("#pp", "1.5")
    page.locator("#pp").blur()
    assert page.inner_text("#pp-error") == "This needs a whole number."
    studio_page.troubles[:] = [one for one in studio_page.troubles if "422" not in one]


def test_of_fields_that_go_together_the_one_that_is_set_has_the_error(studio_page):
    """`cpu_moe` and `n_cpu_moe` both keep experts on the host, which a dense model has none of."""
    page = studio_page.open("?n_cpu_moe=3")

    assert "no routed experts" in page.inner_text("#n_cpu_moe-error")
    assert page.inner_text("#cpu_moe-error") == ""
    studio_page.troubles[:] = [one for one in studio_page.troubles if "422" not in one]


def test_levels_of_memory_are_drawn_and_kept_in_the_address(studio_page):
    page = studio_page.open()
    page.check("#levels")
    studio_page.settled()
    assert "L1 " in page.inner_text("#chart-roofline")

    assert "lv=1" in page.url
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.is_checked("#levels")
    assert "L1 " in page.inner_text("#chart-roofline")


@pytest.mark.parametrize("width", [360, 1440])
def test_open_groups_are_accessible_and_fit(server, browser, width):
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{server.url}{OFFLOADED}&n_gpu_layers=40")
    page.wait_for_selector("html[data-ready]")
    page.evaluate("for (const one of document.querySelectorAll('details.more')) one.open = true")
    found = Axe().run(page).response["violations"]

    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()

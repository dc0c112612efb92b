"""Files of one's own: configs, machines, kernels and recordings, chosen or dropped. They stay on the page."""

from __future__ import annotations

import json

import pytest

import rooflight
from studio_pages import CONFIG, DCGM, KERNEL, LLAMA, MACHINE, diagnosed, drop
from unit.catalog.files.test_folders import KEYS, blocks
from unit.catalog.files.writing import gguf


def answered(page, text: str) -> None:
    """Waits for an answer that has the text."""
    page.wait_for_function("(text) => document.querySelector('#answer').textContent.includes(text)", arg=text)


def test_a_config_is_pasted_dropped_and_shared(studio_page, tmp_path):
    page = studio_page.open()
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    page.click("#paste summary")
    page.fill("#config", json.dumps(CONFIG))
    studio_page.press("#use-config")
    answer = rooflight.analyze(str(path), "h100-sxm")
    words = studio_page.text("#answer")
    assert words == answer.answer.replace(answer.model.id, "your config.json")

    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert studio_page.text("#answer") == words
    studio_page.set("model", LLAMA)
    assert "config" not in page.evaluate("location.hash")
    page.set_input_files("#config-file", path)
    answered(page, "your config.json")
    studio_page.settled()
    assert studio_page.text("#answer") == words
    studio_page.set("model", LLAMA)
    drop(page, ("my-config.json", json.dumps(CONFIG)))
    answered(page, "your config.json")
    assert studio_page.text("#answer") == words


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
    before = studio_page.text("#answer"), studio_page.rows("phases")
    page.click("#paste summary")
    page.fill("#config", text)
    page.click("#use-config")
    page.wait_for_selector("#config-error:not(:empty)")

    assert said in page.inner_text("#config-error")
    assert page.get_attribute("#config", "aria-invalid") == "true"
    assert (studio_page.text("#answer"), studio_page.rows("phases")) == before
    assert page.locator("img").count() == 0
    studio_page.refused()


def test_a_measured_machine_is_chosen_by_keyboard_and_stays_on_the_page(studio_page, tmp_path):
    """Its roofs are full lines, its datasheet's dashed, its kernels squares; the address has none of it."""
    page = studio_page.open()
    page.focus("#measured > summary")
    page.keyboard.press("Enter")
    assert page.get_by_label("Its file, as rooflight measure").is_visible()
    page.set_input_files("#machine", MACHINE)
    answered(page, "our-h100")
    studio_page.settled()
    own = rooflight.analyze(LLAMA, str(MACHINE))
    assert studio_page.text("#answer") == own.answer
    lines = {(row["kind"], row["line"]) for row in studio_page.rows("roofs")}
    assert {("measured", "solid"), ("datasheet", "dashed")} <= lines

    kernels = tmp_path / "kernels.jsonl"
    kernels.write_text(json.dumps(KERNEL) + "\n")
    with studio_page.redrawn():
        page.set_input_files("#samples", kernels)
    (dot,) = studio_page.rows("samples")
    assert (dot["x"], dot["y"]) == (2.0e9 / 1.0e8, 2.0e9 / 1e-4)
    studio_page.set("batch", 16)
    assert studio_page.text("#answer") == rooflight.analyze(LLAMA, str(MACHINE), batch=16).answer
    assert "measured" not in page.url

    studio_page.press("#forget-machine")
    assert studio_page.text("#answer") == rooflight.analyze(LLAMA, "h100-sxm", batch=16).answer
    assert studio_page.rows("samples") == []
    assert page.evaluate("document.activeElement.id") == "machine"


def test_a_machine_of_one_of_two_scenarios_is_kept_while_the_other_changes(studio_page):
    page = studio_page.open("?b=2&2.c=h200-sxm&f=1")
    drop(page, ("this.toml", MACHINE.read_text(encoding="utf-8")))
    answered(page, "our-h100")
    studio_page.settled()
    kept = studio_page.figures()[1]
    studio_page.press("#scenarios .pick >> nth=0")
    studio_page.set("on", "l40s")

    assert {**studio_page.figures()[1], "kind": ""} == {**kept, "kind": ""}
    assert studio_page.names() == ["A l40s", "B your machine"]


def test_a_link_to_a_machine_that_is_not_here_says_so(studio_page):
    """A file stays on the page it was dropped on; its address asks for it again."""
    page = studio_page.open("?c=your+machine&b=2")

    assert "no machine's file is on this page" in page.inner_text("#on-error")
    drop(page, ("this.toml", MACHINE.read_text(encoding="utf-8")))
    answered(page, "our-h100")
    assert studio_page.text("#answer") == rooflight.analyze(LLAMA, str(MACHINE), batch=2).answer
    studio_page.refused()


def test_a_dropped_file_is_told_by_its_name_and_a_broken_one_is_said(studio_page):
    page = studio_page.open()
    drop(page, ("this.toml", MACHINE.read_text(encoding="utf-8")))
    answered(page, "our-h100")
    assert page.get_attribute("#measured", "open") is not None

    drop(page, ("this.toml", "[measured]"))
    page.wait_for_selector("#machine-error:not(:empty)")
    assert page.get_attribute("#machine", "aria-invalid") == "true"
    assert page.get_attribute("#result", "data-stale") == "true"
    studio_page.refused()


def test_a_dropped_recording_is_diagnosed_with_its_chart_and_forgotten(studio_page, context):
    """The sentence, tables and commands are the library's for the model of the page; the address has none of it."""
    page = studio_page.open()
    drop(page, ("counters.txt", DCGM.read_text(encoding="utf-8")))
    diagnosed(page)
    own = rooflight.diagnose(DCGM, model=LLAMA)

    assert page.get_attribute("#tab-recorded", "aria-selected") == "true"
    assert page.inner_text("#diagnosis-answer") == own.answer
    assert "confidence high" in page.inner_text("#diagnosis-verdict")
    assert page.locator("#diagnosis-verdict li").all_inner_texts()[0] == "DRAM active: 78 %"
    cells = page.locator("#diagnosis-tables tbody td").all_inner_texts()
    assert cells == ["memory", "95 %", "94 %", "90 %", "6 %", "78 %"]
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

    studio_page.set("model", "Qwen/Qwen3-8B")
    page.wait_for_function("() => document.querySelector('#diagnosis-taken').textContent.includes('Qwen3-8B')")
    diagnosed(page)
    page.focus("#forget-recorded")
    page.keyboard.press("Enter")
    assert page.inner_text("#diagnosis-answer") == ""
    assert page.locator("#chart-diagnosis svg").count() == 0
    assert page.evaluate("document.activeElement.id") == "recorded"


def test_files_are_chosen_by_keyboard_and_a_refused_one_is_said_at_its_place(studio_page, tmp_path):
    page = studio_page.open()
    page.focus("#viewtabs [aria-selected='true']")
    page.keyboard.press("End")
    assert page.get_by_label("Recorded files, several").is_visible()
    odd = tmp_path / "<b>odd.txt"
    odd.write_text("nothing that anybody knows")
    page.set_input_files("#recorded", [DCGM, odd])
    page.wait_for_selector("#recorded-error:not(:empty)")
    assert page.inner_text("#recorded-error").startswith("nothing that is read looks like <b>odd.txt")
    assert page.get_attribute("#recorded", "aria-invalid") == "true"
    assert page.inner_text("#diagnosis-answer") == ""
    studio_page.set("batch", 2)  # another answer leaves it
    assert page.inner_text("#recorded-error") != ""

    page.set_input_files("#recorded", [DCGM])
    page.wait_for_selector("#diagnosis-taken:not(:empty)")
    assert page.inner_text("#recorded-error") == ""
    page.select_option("#under", "files")
    page.wait_for_function("() => document.querySelector('#diagnosis-taken').textContent === ''")
    diagnosed(page)
    assert page.inner_text("#diagnosis-answer") == rooflight.diagnose(DCGM).answer
    studio_page.refused()


def test_text_of_a_recording_is_never_markup(studio_page):
    page = studio_page.open()
    text = DCGM.read_text(encoding="utf-8").replace('Hostname="node"', 'Hostname="<img src=x onerror=alert(1)>"')
    drop(page, ("<img src=y>.prom", text))
    diagnosed(page)

    assert "<img src=x onerror=alert(1)>" in page.inner_text("#diagnosis-tables tbody th")
    assert "<img src=y>.prom" in page.inner_text("#diagnosis-sources")
    assert page.locator("img").count() == 0


def test_dropped_json_is_told_by_its_content(studio_page):
    page = studio_page.open()
    drop(page, ("mine.json", json.dumps(CONFIG)), ("kernels.jsonl", json.dumps(KERNEL) + "\n"))
    answered(page, "your config.json")
    page.wait_for_selector("#forget-machine:visible")
    studio_page.settled()

    assert len(studio_page.rows("samples")) == 1
    assert page.inner_text("#diagnosis-answer") == page.inner_text("#recorded-error") == ""
    drop(page, ("config.json", "{"))
    page.wait_for_selector("#config-error:not(:empty)")
    assert page.inner_text("#recorded-error") == ""


def test_a_dropped_gguf_file_is_the_model_until_another_is_chosen(studio_page, tmp_path):
    file = tmp_path / "mine-Q8_0.gguf"
    file.write_bytes(gguf({**KEYS, "tokenizer.ggml.tokens": ["a"] * 4000}, blocks()))
    page = studio_page.open("?b=3")
    page.locator("summary", has_text="or GGUF file").click()
    page.set_input_files("#gguf", file)
    page.wait_for_function("() => document.querySelector('#model').placeholder")
    studio_page.settled()

    assert page.get_attribute("#model", "placeholder") == file.name
    assert page.inner_text("#headline").startswith("mine-Q8_0 (")
    assert studio_page.text("#answer") == rooflight.analyze(str(file), "h100-sxm", batch=3).answer

    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGML")
    page.set_input_files("#gguf", bad)
    page.wait_for_function("() => document.querySelector('#gguf-error').textContent")
    studio_page.refused()
    page.fill("#model", "llama-3.1-8b")
    page.keyboard.press("Tab")
    studio_page.settled()
    assert "Meta-Llama-3.1-8B" in page.inner_text("#headline")

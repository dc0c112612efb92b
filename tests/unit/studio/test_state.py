"""A page in an address: short, whole, and read back without trust."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight import __version__
from rooflight.studio.page import MOST_SCENARIOS, Page
from rooflight.studio.presets import PRESETS
from rooflight.studio.question import MACHINE, Question, scenario_of
from rooflight.studio.state import KEYS, LONGEST, PAGE_KEYS, query_of, read_query
from rooflight.values.question import FIELDS
from rooflight.words.analysis import analyzed

LLAMA, LARGE = "meta-llama/Meta-Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-70B"
LITE, MIXTRAL = "deepseek-ai/DeepSeek-V2-Lite", "mixtral-8x7b"


def test_the_default_says_its_version_alone():
    assert query_of(Page()) == f"v={__version__}"


def test_a_scenario_says_what_differs_from_the_default_and_others_what_differs_from_it():
    first = Question(on="4xh100-sxm", batch=64, weights="fp8")
    second = first.model_copy(update={"on": "2xh200-sxm", "weights": None, "name": "after"})

    written = query_of(Page(scenarios=[first, second], focus=1, tpot_slo_ms=40.0))
    assert written == f"v={__version__}&f=1&tpot_slo_ms=40&c=4xh100-sxm&w=fp8&b=64&2.n=after&2.c=2xh200-sxm&2.w="


def test_scenarios_that_are_alike_are_written_too():
    assert query_of(Page(scenarios=[Question(on="l40s")] * 3)) == f"v={__version__}&c=l40s&2.c=l40s&3.c=l40s"


def test_a_name_is_no_name_of_others():
    page = Page(scenarios=[Question(name="today"), Question(batch=8)])

    assert query_of(page) == f"v={__version__}&n=today&2.b=8"
    assert read_query(query_of(page)) == (page, [])


MACHINES = ["h100-sxm", "4xh200-sxm", "rtx-4090+2xrtx-3090", "NVIDIA H100 SXM", "no & such=one?#%41"]
FLOATS = st.sampled_from([1.0, 0.25, 1.41, 8.0, 1 / 3]) | st.floats(0.1, 10)
CHOSEN: dict[str, st.SearchStrategy] = {
    "count": st.integers(1, 64), "flag": st.booleans(), "degree": st.none() | st.integers(1, 64),
    "share": st.none() | st.floats(0.01, 0.99), "chance": st.floats(0, 1), "rate": st.none() | st.floats(0.01, 1e4),
    "amount": st.none() | st.floats(0.01, 100), "size": st.none() | st.floats(1e3, 1e12) | st.just("48GiB"),
}  # fmt: skip
TEXTS = st.none() | st.sampled_from(["fp8", "int4-g128", "a b", "1e3", "q&w=2", "é+"])


def chosen(name, field):
    """Values that the studio takes of a field; None where it may be."""
    if field.choices:
        return st.sampled_from([*field.choices, field.default])
    values = CHOSEN.get(field.kind, TEXTS)
    if field.kind in ("images", "model"):
        values = st.none() | st.sampled_from(["2x1024x768", "name & more=1"])
    return st.just(field.default) if field.kind == "images" and field.default is not None else values


def holds(fields):
    """Whether a question may have the fields: bounds of a few are narrower."""
    try:
        Question(**fields)
    except ValueError:
        return False
    return True


FEW = st.lists(st.sampled_from(sorted(FIELDS)), max_size=12, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: chosen(name, FIELDS[name]) for name in names})
)
OWN = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(max_size=40), "model": st.sampled_from(["llama-3.1-8b", "org/Name.with+signs", "a & b=1"]),
        "on": st.sampled_from(MACHINES), "bandwidth_times": FLOATS, "peak_times": FLOATS,
        "usd_per_hour": st.none() | st.floats(0.01, 1e5),
    },
)  # fmt: skip
SCENARIOS = st.builds(lambda own, few: {**own, **few}, OWN, FEW).filter(holds).map(lambda fields: Question(**fields))


@st.composite
def pages(draw):
    scenarios = draw(st.lists(SCENARIOS, min_size=1, max_size=MOST_SCENARIOS))
    return Page(
        scenarios=scenarios, focus=draw(st.integers(0, len(scenarios) - 1)), levels=draw(st.booleans()),
        intensity=draw(st.none() | st.floats(0.01, 1e6)), tpot_slo_ms=draw(st.none() | st.floats(0.001, 1e6)),
        ttft_slo_ms=draw(st.none() | st.floats(0.001, 1e6)),
    )  # fmt: skip


@given(pages())
def test_an_address_gives_its_page_back(page):
    assert read_query(query_of(page)) == (page, [])


@given(pages())
def test_what_is_read_back_is_written_the_same(page):
    written = query_of(page)

    assert query_of(read_query(f"?{written}")[0]) == written
    assert written.isascii()


def test_the_longest_address_of_four_scenarios_is_read_whole():
    """Every number of every scenario another one, and the longest names."""
    numbers = [name for name, field in FIELDS.items() if field.kind == "count" and field.least < 10]
    page = Page(scenarios=[
        Question(name="\N{SNOWMAN}" * 40, **{name: place + at + 2 for at, name in enumerate(numbers)})
        for place in range(MOST_SCENARIOS)
    ])  # fmt: skip

    assert len(query_of(page)) < LONGEST
    assert read_query(query_of(page)) == (page, [])


@given(st.text(max_size=200))
def test_any_address_gives_a_page(query):
    page, said = read_query(query)

    assert isinstance(page, Page)
    assert all(isinstance(line, str) for line in said)


PIECES = st.tuples(
    st.sampled_from(["", "2.", "3.", "4.", "5.", "was.", "was.2."]),
    st.sampled_from([*KEYS.values(), *PAGE_KEYS.values()]),
    st.sampled_from(["", "1", "2", "-1", "auto", "nan", "1e999", "h100-sxm,l40s", "fp8", "a,b,c,d,e"]),
)  # fmt: skip


@given(st.lists(PIECES, max_size=12))
def test_any_parts_of_an_address_give_a_page_that_can_be_written(parts):
    page, _ = read_query("&".join(f"{front}{key}={value}" for front, key, value in parts))

    assert 1 <= len(page.scenarios) <= MOST_SCENARIOS
    assert page.focus < len(page.scenarios)
    assert read_query(query_of(page)) == (page, [])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("b=0", "b='0'"),
        ("b=many&isl=7", "b='many'"),
        ("pk=1e9", "pk='1e9'"),
        ("v=9.9.9", "made with rooflight 9.9.9"),
        ("colour=red", "'colour'"),
        ("was.c=h100", "'was.c'"),
        ("a=fast", "a='fast'"),
        ("ai=nan", "ai='nan'"),
        ("f=4", "f='4'"),
        ("tpot_slo_ms=0", "tpot_slo_ms='0'"),
        ("5.b=2", "'5.b'"),
        ("0.b=2", "'0.b'"),
        ("wieghts=fp8", "did you mean weights?"),
        ("modle=x", "did you mean model?"),
        ("b=1&" * LONGEST, "too long"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_and_left_at_its_default(query, said):
    page, lines = read_query(query)

    assert said in lines[0]
    assert page == Page(scenarios=[Question(isl=page.focused.isl)])


def test_what_is_wrong_with_another_scenario_says_which():
    page, lines = read_query("b=4&2.b=0&2.isl=7&3.wieghts=fp8")

    assert page.scenarios == [Question(batch=4), Question(batch=4, isl=7)]
    assert "2.b='0'" in next(line for line in lines if "'0'" in line)
    assert any("'3.wieghts'" in line and "did you mean weights?" in line for line in lines)


def test_scenarios_that_an_address_leaves_out_are_as_the_first():
    """Four are meant where there is a fourth."""
    page, said = read_query("b=4&4.b=2")

    assert said == []
    assert [one.batch for one in page.scenarios] == [4, 4, 4, 2]


def test_whole_names_are_read_as_short_ones_are():
    assert read_query("model=x&on=l40s&batch=4&2.weights=fp8") == read_query("m=x&c=l40s&b=4&2.w=fp8")


def test_a_version_is_the_only_thing_the_same_address_may_be_told_about():
    assert read_query(f"v={__version__}&b=2") == (Page(scenarios=[Question(batch=2)]), [])


def test_what_the_browser_alone_reads_is_passed_over():
    assert read_query("view=memory&ph=decode&op=qkv&q=1") == (Page(), [])


def test_every_field_but_what_is_pasted_or_dropped_has_a_key():
    assert set(Question.model_fields) - {"config", "gguf", "machine"} == set(KEYS)
    assert set(Page.model_fields) - {"scenarios", "samples"} == set(PAGE_KEYS)
    keys = [*KEYS.values(), *PAGE_KEYS.values()]
    assert len(set(keys)) == len(keys)
    assert not [key for key in keys if key[0].isdigit() or "." in key]


def test_neither_a_config_nor_a_machine_is_in_an_address():
    sent = Question(config={"model_type": "llama"}, on=f"2x{MACHINE}", machine="id = 1", batch=4)
    page = Page(scenarios=[sent, Question(on="l40s", batch=4)], samples="{}")

    assert query_of(page) == f"v={__version__}&b=4&2.c=l40s&own=machine,samples"
    assert read_query(query_of(page))[0] == Page(scenarios=[Question(batch=4), Question(on="l40s", batch=4)])


# --- addresses of 0.1.0

# An address, the scenarios it opens, and which of them is in focus.
EARLIER = [
    ("", [Question()], 0),
    ("b=64&ctx=2048", [Question(batch=64, context=2048)], 0),
    ("m=x&kv=fp8&w=int4&a=naive&tp=2&b=3&isl=5&osl=7&ctx=9&all=1",
     [Question(model="x", kv_cache="fp8", weights="int4", attention="naive", tp=2, batch=3, isl=5, osl=7, context=9,
               ignore_capacity=True)], 0),
    (f"m={LARGE}&c=h100-sxm,h200-sxm&tp=4&b=32",
     [Question(model=LARGE, on="h100-sxm", tp=4, batch=32), Question(model=LARGE, on="h200-sxm", tp=4, batch=32)], 0),
    ("w=fp8&b=16&was.w=bf16",
     [Question(name="before", weights="bf16", batch=16), Question(name="after", weights="fp8", batch=16)], 1),
    (f"m={LITE}&c=h200-sxm&b=4&ctx=131000&was.m={LLAMA}",
     [Question(name="before", model=LLAMA, on="h200-sxm", batch=4, context=131_000),
      Question(name="after", model=LITE, on="h200-sxm", batch=4, context=131_000)], 1),
    ("kv=fp8&ctx=9&was.kv=auto&was.ctx=-1",
     [Question(name="before"), Question(name="after", kv_cache="fp8", context=9)], 1),
    ("c=h100-sxm,h200-sxm&f=1&bw=1.5&pk=0.5",
     [Question(), Question(on="h200-sxm", bandwidth_times=1.5, peak_times=0.5)], 1),
    ("bw=2&was.w=fp8",
     [Question(name="before", weights="fp8", bandwidth_times=2), Question(name="after", bandwidth_times=2)], 1),
    (f"c=h100-sxm,h200-sxm&was.tp=2&tp=4&f=1&m={LARGE}",
     [Question(model=LARGE, tp=4), Question(name="before", model=LARGE, on="h200-sxm", tp=2),
      Question(name="after", model=LARGE, on="h200-sxm", tp=4)], 2),
    ("c=h100-sxm,h200-sxm,l40s,mi300x&f=2", [Question(on=on) for on in ("h100-sxm", "h200-sxm", "l40s", "mi300x")], 2),
    ("c=rtx-4090%2Brtx-3090&tp=2", [Question(on="rtx-4090+rtx-3090", tp=2)], 0),
    (f"m={MIXTRAL}&c=h200-sxm&dp=4&ep=4", [Question(model=MIXTRAL, on="h200-sxm", dp=4, ep=4)], 0),
]  # fmt: skip


@pytest.mark.parametrize(("query", "scenarios", "focus"), EARLIER)
def test_addresses_of_0_1_0_open_as_scenarios(query, scenarios, focus):
    page, said = read_query(f"v={__version__}&{query}" if query else "")

    assert said == []
    assert page == Page(scenarios=scenarios, focus=focus)


# 0.1.0 took each card by itself, `tp` of them (1 where it was left out) in each of dp replicas of pp stages.
# The questions that the cards of an address stood for, in the library's words; what was before stands in front.
FIGURES = [
    (f"m={LARGE}&c=h100-sxm,h200-sxm&tp=4&b=32",
     [(LARGE, "4xh100-sxm", {"batch": 32}), (LARGE, "4xh200-sxm", {"batch": 32})]),
    ("w=fp8&b=16&was.w=bf16",
     [(LLAMA, "h100-sxm", {"batch": 16, "weights": "bf16"}), (LLAMA, "h100-sxm", {"batch": 16, "weights": "fp8"})]),
    (f"m={MIXTRAL}&c=h200-sxm&dp=4&ep=4", [(MIXTRAL, "4xh200-sxm", {"dp": 4, "ep": 4})]),
    (f"m={LARGE}&pp=2&tp=2&dp=2", [(LARGE, "8xh100-sxm", {"pp": 2, "tp": 2, "dp": 2})]),
    (f"m={LARGE}&pp=2", [(LARGE, "2xh100-sxm", {"pp": 2})]),
    ("c=rtx-4090%2Brtx-3090", [(LLAMA, "rtx-4090+rtx-3090", {})]),
    ("prefill_on=h100-sxm&c=l40s", [(LLAMA, "l40s", {"prefill_on": "h100-sxm"})]),
    ("request_rate=2", [(LLAMA, "h100-sxm", {"request_rate": 2})]),
    ("tp=2&was.dp=2", [(LLAMA, "4xh100-sxm", {"tp": 2, "dp": 2}), (LLAMA, "2xh100-sxm", {})]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "asked"), FIGURES)
def test_addresses_of_0_1_0_have_the_figures_that_they_had(query, asked):
    page, _ = read_query(query)
    found = [analyzed(scenario_of(one)).to_dict() for one in page.scenarios]

    assert found == [rooflight.analyze(model, on, **fields).to_dict() for model, on, fields in asked]


def test_a_fifth_machine_of_0_1_0_is_left_out_and_said():
    page, said = read_query("c=h100-sxm,h200-sxm,l40s,mi300x,b200&f=4")

    assert [one.on for one in page.scenarios] == ["h100-sxm", "h200-sxm", "l40s", "mi300x"]
    assert any("5 machines" in line for line in said)


@pytest.mark.parametrize(
    ("focus", "machines", "shown"),
    [
        (0, ["h100-sxm", "h100-sxm", "h200-sxm", "l40s"], 1),
        (2, ["h100-sxm", "h200-sxm", "l40s", "l40s"], 3),
        (3, ["h200-sxm", "l40s", "mi300x", "mi300x"], 3),
    ],
)
def test_four_machines_and_what_was_before_leave_one_machine_out(focus, machines, shown):
    """Never the one in focus, whose before and after they are."""
    page, said = read_query(f"c=h100-sxm,h200-sxm,l40s,mi300x&f={focus}&w=fp8&was.w=bf16")

    assert [one.on for one in page.scenarios] == machines
    assert page.focus == shown
    assert [one.name for one in page.scenarios[shown - 1 : shown + 1]] == ["before", "after"]
    assert [one.weights for one in page.scenarios[shown - 1 : shown + 1]] == ["bf16", "fp8"]
    assert any("left out" in line for line in said)


# --- questions to start from


@pytest.mark.parametrize("preset", PRESETS, ids=lambda one: one.name)
def test_every_preset_can_be_read_and_answered(studio, preset):
    page, said = read_query(preset.query)
    picture = studio.post("/api/picture", page.model_dump()).json()

    assert not said
    assert picture["problems"] == {}
    assert all(line["cells"] for line in picture["figures"])


def analyses(start):
    """The analyses of the scenarios of the preset whose name starts so."""
    (preset,) = (one for one in PRESETS if one.name.startswith(start))
    return [analyzed(scenario_of(one)) for one in read_query(preset.query)[0].scenarios]


def test_the_presets_show_what_they_say():
    """H200 over H100: 4.8 / 3.35 = 1.43 in decode, nothing in prefill. FP8: decode and prefill both gain."""
    h100, h200 = (one.phases for one in analyses("Will an H200 help?"))
    assert h100["decode"].time_s.ceiling / h200["decode"].time_s.ceiling == pytest.approx(4.8 / 3.35, rel=0.01)
    assert h100["prefill"].time_s.ceiling == pytest.approx(h200["prefill"].time_s.ceiling, rel=0.01)

    before, now = (one.phases for one in analyses("What does FP8 buy"))
    assert all(before[name].time_s.ceiling > 1.5 * now[name].time_s.ceiling for name in now)

    kernels = [
        next(op for op in one.phases["prefill"].operators if op.name == "attention")
        for one in analyses("Why FlashAttention?")
    ]
    assert [op.bound for op in kernels] == ["memory", "compute"]

    grouped, latent = analyses("GQA or MLA at 128k?")
    assert latent.memory.max_batch > grouped.memory.max_batch


def test_the_state_of_a_page_is_plain_json():
    page = read_query("n=a&2.n=b&2.w=fp8")[0]

    assert Page.model_validate_json(json.dumps(page.model_dump())) == page

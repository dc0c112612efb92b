"""Accelerators by name, by family, by count and from a file of one's own."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from rooflight.catalog import accelerators, card
from rooflight.errors import BadConfig, BadInput, RooflightError, UnknownName
from rooflight.values.accelerator import Accelerator
from rooflight.words.notes import worded

FOLDER = Path(accelerators.__file__).parent
MINIMAL = """
name = "My Card"
[[fact]]
what = "peak"
dtype = "bf16"
value = 100
unit = "TFLOP/s"
kind = "dense"
"""


def one(name: str) -> Accelerator:
    return accelerators.load(name)[0]


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "card.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def fact(**fields: object) -> str:
    """A card with one fact; a field given as raw TOML text."""
    return 'id = "x"\n[[fact]]\n' + "".join(f"{key} = {value}\n" for key, value in fields.items())


def both(first: str, first_unit: str, first_value: int, second: str, second_unit: str, second_value: int) -> str:
    """A card with two facts."""
    more = f'[[fact]]\nwhat = "{second}"\nvalue = {second_value}\nunit = "{second_unit}"\n'
    return fact(what=f'"{first}"', value=first_value, unit=f'"{first_unit}"') + more


# --- what an entry becomes ---------------------------------------------------------------------------------------


def test_an_entry_becomes_base_units_per_device_and_one_way() -> None:
    h100 = one("h100-sxm")

    assert h100.peak_flop_per_s["bf16"] == 989.4e12  # printed 989.4 TFLOP/s
    assert h100.peak_flop_per_s["tf32"] == 494.7e12  # dense; 989 is sparse
    assert h100.memory_bytes_per_s == 3350e9
    assert h100.link is not None
    assert h100.link.bytes_per_s == 900e9 / 2  # printed both ways
    assert h100.link.reduces
    assert h100.link.domain == 8
    assert h100.pcie_bytes_per_s == 64e9  # printed one way
    assert (h100.tdp_w, h100.release_year, h100.confidence) == (700, 2022, "A")


def test_cache_sizes_printed_in_mb_are_binary() -> None:
    """50 MB of L2 is 52,428,800 bytes by device query; a ceiling must credit all of it."""
    assert one("h100-sxm").last_level_cache_bytes == 50 * 2**20


def test_fp64_takes_the_matrix_units() -> None:
    """H100: 33.5 on vector units, 66.9 on matrix units."""
    assert one("h100-sxm").peak_flop_per_s["fp64"] == 66.9e12


def test_memory_is_what_can_be_allocated_else_the_label_and_says_so() -> None:
    """L40S: 46,068 MiB by its driver, 45,589 MiB for a program, 48 GB on the label. L40: 48 GiB x 0.995 x 0.9375."""
    l40s, l40 = one("l40s"), one("l40")

    assert (l40s.memory_bytes, l40s.program_bytes, l40s.label_bytes) == (46068 * 2**20, 45589 * 2**20, 48 * 2**30)
    assert not any("label" in line for line in worded(l40s.assumptions))
    assert l40.memory_bytes == pytest.approx(48 * 2**30 * 0.995 * 0.9375)  # GDDR with ECC on
    assert l40.program_bytes == pytest.approx(l40.memory_bytes * (1 - 0.0017) - 0.40 * 2**30)
    assert any("the label in GiB" in line for line in worded(l40.assumptions))


def test_a_package_of_two_is_one_of_its_devices() -> None:
    """MI250X: 383 TFLOP/s, 128 GB, 3277 GB/s, 16 MB, 800 GB/s both ways and 560 W for two devices."""
    mi250x = one("mi250x")

    assert mi250x.peak_flop_per_s["bf16"] == 191.5e12
    assert mi250x.memory_bytes == 65520 * 2**20  # of each, as hipMemGetInfo has it; the label is both
    assert mi250x.label_bytes == 128 / 2 * 2**30
    assert mi250x.memory_bytes_per_s == 3277e9 / 2
    assert mi250x.last_level_cache_bytes == 8 * 2**20
    assert mi250x.link is not None
    assert mi250x.link.bytes_per_s == 800e9 / 2 / 2
    assert mi250x.tdp_w == 280
    assert mi250x.pcie_bytes_per_s == 32e9  # the slot serves either device
    assert any("one of the 2 devices" in line for line in worded(mi250x.assumptions))
    assert next(f.value for f in mi250x.facts if f.what == "memory-label") == 128  # the fact stays as printed


@pytest.mark.parametrize("name", ["apple-m5", "apple-m5-max-40", "apple-m5-ultra"])
def test_no_vector_unit_stands_in_for_matrix_units(name: str) -> None:
    """M5 prints a shader rate only; its matrix units are several times faster."""
    m5 = one(name)

    assert m5.peak_flop_per_s == {}
    assert m5.fast_flop_per_s == {}
    assert m5.unrated_matrix_units
    assert {f.kind for f in m5.facts if f.what == "peak"} == {"vector"}


def peak(dtype: str, value: float, kind: str, **more: str) -> str:
    facts = {"what": '"peak"', "dtype": f'"{dtype}"', "value": value, "unit": '"TFLOP/s"', "kind": f'"{kind}"', **more}
    return "[[fact]]\n" + "".join(f"{key} = {told}\n" for key, told in facts.items())


@pytest.mark.parametrize(
    ("facts", "peaks", "vectors"),
    [
        # RX 6900 XT: no matrix unit, packed fp16 at twice fp32
        (peak("fp16", 46.1, "vector") + peak("fp32", 23.0, "vector"), {"fp16": 46.1, "fp32": 23.0}, ("fp32", "fp16")),
        # a matrix unit in the format, or in a wider one, is what products run on
        (peak("fp16", 46.1, "vector") + peak("fp16", 165, "dense"), {"fp16": 165}, ()),
        (peak("fp16", 46.1, "vector") + peak("bf16", 165, "dense"), {"bf16": 165}, ()),
        # none of it multiplies in fp32: the vector unit does
        (peak("fp32", 67, "vector") + peak("bf16", 989, "dense"), {"fp32": 67, "bf16": 989}, ("fp32",)),
        # sparse figures are no rate of either
        (peak("fp16", 46.1, "vector") + peak("fp16", 330, "sparse"), {"fp16": 46.1}, ("fp16",)),
    ],
)
def test_a_vector_peak_counts_where_nothing_multiplies_as_fast(
    tmp_path: Path, facts: str, peaks: dict[str, float], vectors: tuple[str, ...]
) -> None:
    mine = one(written(tmp_path, f'id = "mine"\n{facts}'))

    assert mine.peak_flop_per_s == {dtype: pytest.approx(1e12 * value) for dtype, value in peaks.items()}
    assert [note.value for note in mine.assumptions if note.key == "vector_peak"] == [vectors] * bool(vectors)


def test_figures_in_conflict_stand_both(tmp_path: Path) -> None:
    """Whichever is doubted, ceilings have the faster and everything else the slower; the doubt is said."""
    doubt = {"doubt": '"one may be sparse"'}
    bandwidths = "".join(
        f'[[fact]]\nwhat = "memory-bandwidth"\nvalue = {value}\nunit = "GB/s"\n{more}'
        for value, more in ((500, ""), (400, 'doubt = "older"\n'))
    )
    mine = one(
        written(tmp_path, 'id = "mine"\n' + peak("fp8", 100, "dense") + peak("fp8", 200, "dense", **doubt) + bandwidths)
    )
    margin = mine.assumed.peak_margin

    assert mine.peak_flop_per_s["fp8"] == 100e12
    assert mine.fast_flop_per_s["fp8"] == pytest.approx(200e12 * margin)
    assert (mine.memory_bytes_per_s, mine.fast_memory_bytes_per_s) == (400e9, 500e9)
    said = " ".join(worded(mine.assumptions))
    for words in ("one may be sparse", "older", "100 TFLOP/s", "200 TFLOP/s", "400 GB/s", "500 GB/s"):
        assert words in said


def test_the_announced_mi455x_stands_with_both_of_its_figures() -> None:
    """AMD's 10, 20 and 40 PFLOP/s, or half of them; 19.6 or 23.3 TB/s."""
    card_ = one("mi455x")

    assert [card_.peak_flop_per_s[form] for form in ("fp16", "fp8", "fp4")] == [5e15, 10e15, 20e15]
    assert [card_.fast_flop_per_s[form] / card_.assumed.peak_margin for form in ("fp16", "fp8", "fp4")] == [
        pytest.approx(rate) for rate in (10e15, 20e15, 40e15)
    ]
    assert (card_.memory_bytes_per_s, card_.fast_memory_bytes_per_s) == (19.6e12, 23.3e12)


def test_a_doubt_is_of_a_rate_and_no_other_fact(tmp_path: Path) -> None:
    label = '[[fact]]\nwhat = "memory-label"\nvalue = 80\nunit = "GB"\n'
    with pytest.raises(BadConfig, match="cannot stand in conflict"):
        one(written(tmp_path, f'id = "mine"\n{label}{label}doubt = "another size"\n'))


def test_a_link_without_a_published_rate_is_named() -> None:
    assert one("h100-nvl").link is None
    assert one("h100-nvl").unrated_link == "NVLink bridge (pairs)"
    assert one("l40s").unrated_link == ""  # it has none


@pytest.mark.parametrize(
    ("name", "reduces"),
    [("h200-sxm", True), ("gb200", True), ("b200", True), ("a100-sxm4-80gb", False), ("h100-pcie", False)],
)
def test_only_nvlink_switches_from_the_fourth_generation_add_up_in_flight(name: str, reduces: bool) -> None:
    link = one(name).link

    assert link is not None
    assert link.reduces is reduces


def test_uncertain_entries_say_so() -> None:
    assert any("confidence C" in line for line in worded(one("rubin").assumptions))
    assert not any("confidence C" in line for line in worded(one("rtx-4090").assumptions))


# --- the rate of a ceiling ---------------------------------------------------------------------------------------


def test_a_known_highest_clock_sets_the_ceiling_rate() -> None:
    """H100 SXM: 989.4 printed at 1830 MHz, 132 SM x 4096 x 1980 MHz = 1070.5."""
    assert one("h100-sxm").fast_flop_per_s["bf16"] == pytest.approx(132 * 4096 * 1980e6, rel=1e-3)


def test_fp16_accumulation_lifts_only_the_formats_that_have_it() -> None:
    """RTX 4090: fp16 330.3 against 165.2, fp8 660.6 against 330.3; bf16 has the margin alone."""
    rtx, margin = one("rtx-4090"), one("rtx-4090").assumed.peak_margin

    assert rtx.fast_flop_per_s["fp16"] == pytest.approx(330.3e12 * margin)
    assert rtx.fast_flop_per_s["fp8"] == pytest.approx(660.6e12 * margin)
    assert rtx.fast_flop_per_s["bf16"] == pytest.approx(165.2e12 * margin)


def test_the_ceiling_rate_covers_every_peak() -> None:
    for entry in accelerators.all_accelerators():
        assert entry.peak_flop_per_s.keys() <= entry.fast_flop_per_s.keys(), entry.id
        for dtype, peak in entry.peak_flop_per_s.items():
            assert entry.fast_flop_per_s[dtype] >= peak, (entry.id, dtype)


def test_margins_go_by_segment_before_family() -> None:
    """GeForce, workstation and data-centre cards of one family leave their rated clocks by different amounts."""
    margins = {name: one(name).assumed.peak_margin for name in ("rtx-5090", "rtx-pro-5000-blackwell", "b200")}

    assert margins == {"rtx-5090": 1.30, "rtx-pro-5000-blackwell": 1.20, "b200": 1.10}


# --- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("H100-SXM", "h100-sxm"),
        ("h100_sxm", "h100-sxm"),
        (" h100 sxm ", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),  # what nvidia-smi prints
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("4090", "rtx-4090"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
        ("AMD Instinct MI300X", "mi300x"),
        ("dgx-spark", "gb10"),
        ("strix-halo", "ryzen-ai-max-395"),
        ("trillium", "tpu-v6e"),
        ("m4-pro", "apple-m4-pro"),
    ],
)
def test_a_spelling_assumes_nothing(name: str, wanted: str) -> None:
    assert one(name) == one(wanted)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a100", "a100-sxm4-80gb"),
        ("h100", "h100-sxm"),
        ("NVIDIA H200", "h200-sxm"),
        ("v100", "v100-sxm2-32gb"),
        ("gh200", "gh200-96gb"),
        ("mi300", "mi300x"),
        ("apple m3 max", "apple-m3-max-40"),
        ("m4-max", "apple-m4-max-40"),
        ("rtx-pro-6000", "rtx-pro-6000-blackwell"),
        ("tpu-v5", "tpu-v5p"),
    ],
)
def test_a_family_is_read_as_a_stated_pick(name: str, wanted: str) -> None:
    picked = one(name)

    assert picked.id == wanted
    assert f"read as {wanted} (" in worded(picked.assumptions)[0]
    assert worded(picked.assumptions)[1:] == worded(one(wanted).assumptions)


def test_a_pick_names_the_others() -> None:
    assert (
        worded(one("h100").assumptions)[0]
        == "h100 read as h100-sxm (NVIDIA H100 SXM5 80GB); others: h100-pcie, h100-nvl"
    )


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("h100-sxm", 1),
        ("1xh100-sxm", 1),
        ("8xh100-sxm", 8),
        ("72 x gb200", 72),
        ("8Xa100", 8),
        ("4090", 1),
        ("2x4090", 2),
    ],
)
def test_a_count_may_stand_before_the_name(name: str, count: int) -> None:
    assert accelerators.load(name)[1] == count


@pytest.mark.parametrize("name", ["7900XTX", "7900 XTX", "7900-xtx", "2x7900XTX"])
def test_a_name_that_reads_like_a_count_is_none(name: str) -> None:
    """Not 7,900 of a card called TX."""
    assert accelerators.load(name)[0].id == "rx-7900-xtx"
    assert accelerators.load(name)[1] == (2 if name.startswith("2x") else 1)


@pytest.mark.parametrize("name", ["0xh100", "-2xh100", "2.5xh100", "1,000xh100", "99999999999xh100", "1000001xh100"])
def test_a_count_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="not a number of accelerators"):
        accelerators.load(name)


@pytest.mark.parametrize("name", ["", "  ", "8x", "8x  "])
def test_no_name_is_refused(name: str) -> None:
    with pytest.raises(BadInput):
        accelerators.load(name)


def test_an_unknown_name_lists_the_closest() -> None:
    with pytest.raises(UnknownName) as caught:
        accelerators.load("h100-smx")

    assert caught.value.try_this is not None
    assert "h100-sxm" in caught.value.try_this
    assert "rooflight accelerators" in caught.value.try_this


@pytest.mark.parametrize(
    "name", ["a" * 5000, "../pyproject", "h100\0", "\x1b[31m", "é", "..", ".", "-", "x" * 300 + "/y"]
)
def test_odd_names_are_unknown_not_tracebacks(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        accelerators.load(name)

    assert len(str(caught.value)) < 600


# --- the catalog as files ----------------------------------------------------------------------------------------


def test_a_file_is_named_by_its_id() -> None:
    assert [entry.id for entry in accelerators.all_accelerators()] == list(accelerators.ids())
    assert len(accelerators.ids()) >= 137


def test_no_two_entries_share_a_spelling() -> None:
    """Ids, family names, names and aliases, without separators, each mean one thing."""
    seen: dict[str, str] = {}
    table = tomllib.loads((FOLDER / "aliases.toml").read_text(encoding="utf-8"))
    spellings = [(alias, f"pick {alias}") for alias in table["pick"]]
    for entry_id in accelerators.ids():
        raw = tomllib.loads((FOLDER / "accelerators" / f"{entry_id}.toml").read_text(encoding="utf-8"))
        spellings += [(text, entry_id) for text in {entry_id, raw["name"], *raw.get("aliases", [])}]
    for text, owner in spellings:
        key = re.sub(r"[\s_-]+", "", text.lower())
        assert seen.setdefault(key, owner) == owner, text


def test_every_pick_exists() -> None:
    table = tomllib.loads((FOLDER / "aliases.toml").read_text(encoding="utf-8"))

    assert {name for chosen in table["pick"].values() for name in chosen} <= set(accelerators.ids())


def test_every_fact_has_a_known_source_and_a_date() -> None:
    sources = tomllib.loads((FOLDER / "sources.toml").read_text(encoding="utf-8"))
    for entry in accelerators.all_accelerators():
        for one_fact in entry.facts:
            assert one_fact.source in sources, (entry.id, one_fact.what)
            assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", one_fact.read), (entry.id, one_fact.what)


def test_every_family_has_assumptions_of_its_own() -> None:
    """`default` is for cards of users; a shipped family without an entry would get it silently."""
    table = tomllib.loads((FOLDER / "assumptions.toml").read_text(encoding="utf-8"))
    families = [family for entry in table["assumed"] for family in entry["families"]]

    assert len(families) == len(set(families))
    assert {entry.family for entry in accelerators.all_accelerators()} == set(families) - {"default"}
    assert table["assumed"][-1]["families"] == ["default"]
    assert all(entry["peak_margin"] >= 1 for entry in [*table["assumed"], *table["segment"]])


def test_an_assumed_cache_is_no_smaller_than_the_familys_largest() -> None:
    """A blank cell may stand for the largest cache of the family: a smaller one would break the ceiling."""
    for entry in accelerators.all_accelerators():
        assert entry.assumed.last_level_cache_bytes >= (entry.last_level_cache_bytes or 0), entry.id


def test_loading_one_card_reads_only_its_own_files() -> None:
    """Two small files and no heavy module: the command line starts with this."""
    script = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from rooflight.catalog import accelerators
from rooflight.words.notes import worded
accelerators.load("8xh100-sxm")
print(sorted(path.rsplit("/", 1)[1] for path in opened if path.endswith(".toml")))
print(sorted({"numpy", "rich", "click", "difflib"} & set(sys.modules)))
"""
    source = str(FOLDER.parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONPATH": source}
    )

    assert done.stdout.splitlines() == ["['assumptions.toml', 'h100-sxm.toml']", "[]"]


# --- a file of one's own -----------------------------------------------------------------------------------------


def test_a_minimal_card_is_enough(tmp_path: Path) -> None:
    card_, count = accelerators.load("4x" + written(tmp_path, MINIMAL))

    assert (card_.id, card_.name, count) == ("my-card", "My Card", 4)
    assert card_.peak_flop_per_s == {"bf16": 100e12}
    assert card_.fast_flop_per_s == {"bf16": pytest.approx(100e12 * card_.assumed.peak_margin)}
    assert card_.memory_bytes_per_s is None
    assert card_.memory_bytes is None
    assert card_.assumed.family == "default"
    assert card_.origin.endswith("card.toml")


def test_a_shipped_file_reads_the_same_as_a_users(tmp_path: Path) -> None:
    text = (FOLDER / "accelerators" / "h100-sxm.toml").read_text(encoding="utf-8")
    mine = one(written(tmp_path, text))

    assert msgspec.structs.replace(mine, origin="") == msgspec.structs.replace(one("h100-sxm"), origin="")


def test_a_date_may_be_a_toml_date(tmp_path: Path) -> None:
    text = fact(what='"tdp"', value=100, unit='"W"', read="2026-11-27")

    assert one(written(tmp_path, text)).facts[0].read == "2026-11-27"


def test_a_sparse_peak_is_kept_apart(tmp_path: Path) -> None:
    text = MINIMAL + '[[fact]]\nwhat = "peak"\ndtype = "bf16"\nvalue = 200\nunit = "TFLOP/s"\nkind = "sparse"\n'
    mine = one(written(tmp_path, text))

    assert mine.peak_flop_per_s == {"bf16": 100e12}
    assert [f.value for f in mine.facts] == [100, 200]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no id and no name"),
        ('name = "a"\ncolour = "red"', "'colour' is not a key"),
        ("name = 3", "name is not text"),
        ('name = "a"\ndevices = 0', "devices"),
        ('name = "a"\ndevices = true', "devices"),
        ('name = "a"\nconfidence = "D"', "confidence"),
        ('name = "a"\naliases = "b"', "aliases is not a list"),
        ('name = "a"\nfact = 3', "not a list of tables"),
        ('name = "a"\nfact = [3]', "not a table"),
        (fact(what='"hbm-bandwidth"', value=1, unit='"GB/s"'), "does not say what it is"),
        (fact(value=1), "does not say what it is"),
        (fact(what='["peak"]', value=1), "does not say what it is"),
        (fact(what='"tdp"', value=1, unit='"W"', colour='"red"'), "'colour' is not a key of a fact"),
        (fact(what='"memory-bandwidth"', value=1, unit='"GBps"'), "unit is not known"),
        ('id = "a\\u001b[31m"', "id holds control characters"),
        (both("memory-label", "GB", 80, "memory-usable", "GiB", 81), "more memory is usable than there is"),
        (both("boost-clock", "MHz", 1000, "max-clock", "MHz", 2001), "more than twice the boost clock"),
        (fact(what='"memory-bandwidth"', value=1), "unit is not known"),
        (fact(what='"memory-bandwidth"', value=1, unit='"GB"'), "unit does not fit"),
        (fact(what='"memory-label"', value=1, unit='"GB/s"'), "unit does not fit"),
        (fact(what='"compute-units"', value=1, unit='"GB"'), "unit does not fit"),
        (fact(what='"compute-units"', value=1.5), "whole number"),
        (fact(what='"memory-label"', value=-1, unit='"GB"'), "not a positive number"),
        (fact(what='"memory-label"', value=0, unit='"GB"'), "not a positive number"),
        (fact(what='"memory-label"', value="nan", unit='"GB"'), "not a positive number"),
        (fact(what='"memory-label"', value="inf", unit='"GB"'), "not a positive number"),
        (fact(what='"memory-label"', value="1e-300", unit='"GB"'), "no machine has such a value"),
        (fact(what='"memory-label"', value="1e40", unit='"GB"'), "no machine has such a value"),
        (fact(what='"memory-label"', value="1" + "0" * 400, unit='"GB"'), "not a positive number"),
        (fact(what='"memory-label"', value="1e308", unit='"GB"'), "not a positive number"),
        (fact(what='"memory-label"', value='"80"', unit='"GB"'), "not a number"),
        (fact(what='"memory-label"', value="true", unit='"GB"'), "not a number"),
        (fact(what='"memory-label"', unit='"GB"'), "not a number"),
        (fact(what='"memory-label"', value=1, unit=3), "unit is not text"),
        (fact(what='"link-reduces"', value=1), "not true or false"),
        (fact(what='"link-name"', value=1), "not text"),
        (fact(what='"link"', value=900, unit='"GB/s"'), "does not say its kind"),
        (fact(what='"peak"', dtype='"bf16"', value=1, unit='"TFLOP/s"'), "does not say its kind"),
        (fact(what='"peak"', kind='"dense"', value=1, unit='"TFLOP/s"'), "number format"),
        (fact(what='"peak"', kind='"dense"', dtype='"bfloat16"', value=1, unit='"TFLOP/s"'), "number format"),
        (MINIMAL + MINIMAL.split("\n", 2)[2], "given twice"),
        ("name = ", "not TOML"),
        ("a" * 10, "not TOML"),
        ("a = " + "[" * 5000, "not TOML"),
    ],
)
def test_a_faulty_card_is_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadConfig) as caught:
        accelerators.load(written(tmp_path, text))

    assert said in caught.value.what
    assert "card.toml" in str(caught.value.where)
    assert caught.value.want
    assert len(str(caught.value)) < 1200


def test_a_folder_a_binary_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00\x01")
    (tmp_path / "huge.toml").write_bytes(b"#" * 2_000_000)
    (tmp_path / "folder.toml").mkdir()
    for name, said in (("binary", "not text"), ("huge", "too large"), ("folder", "is not a file")):
        with pytest.raises(BadConfig, match=said):
            accelerators.load(str(tmp_path / f"{name}.toml"))
    with pytest.raises(BadConfig, match="is not a file"):
        accelerators.load(str(tmp_path))


@pytest.mark.parametrize(
    "name", ["no-such-file.toml", "8xno-such-file.toml", "~no-such-user/card.toml", "x" * 300 + ".toml"]
)
def test_a_missing_file_is_refused(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        accelerators.load(name)

    assert not isinstance(caught.value, UnknownName)


def test_errors_are_ours_for_any_bytes(tmp_path: Path) -> None:
    """A shipped file cut anywhere either loads or is refused in words."""
    whole = (FOLDER / "accelerators" / "rtx-4090.toml").read_text(encoding="utf-8")
    refused = 0
    for end in range(0, len(whole), 97):
        try:
            accelerators.load(written(tmp_path, whole[:end]))
        except RooflightError:
            refused += 1

    assert refused > 0


def test_the_ceiling_rule() -> None:
    """The faster accumulator, at the highest clock if known, else with the margin."""
    rule = card.ceiling_flop_per_s

    assert rule(peak_flop_per_s=10, fp16_accumulate_flop_per_s=0, clock_ratio=None, margin=1.5) == 10 * 1.5
    assert rule(peak_flop_per_s=10, fp16_accumulate_flop_per_s=20, clock_ratio=None, margin=1.5) == 20 * 1.5
    assert rule(peak_flop_per_s=10, fp16_accumulate_flop_per_s=0, clock_ratio=1.25, margin=1.5) == 10 * 1.25


@pytest.mark.parametrize(
    ("what", "unit", "meant"),
    [("memory-bandwidth", "GBps", "GB/s"), ("memory-bandwidth", "gb/s", "GB/s"), ("memory-label", "gib", "GiB"),
     ("boost-clock", "mhz", "MHz"), ("link", "kbps", "kB/s"), ("tdp", "furlong", None)],
)  # fmt: skip
def test_a_unit_in_another_spelling_is_suggested(tmp_path: Path, what: str, unit: str, meant: str | None) -> None:
    with pytest.raises(BadConfig) as caught:
        one(written(tmp_path, fact(what=f'"{what}"', value=1, unit=f'"{unit}"', kind='"one-way"')))
    assert caught.value.try_this == meant


def test_tflops_is_suggested_as_a_rate(tmp_path: Path) -> None:
    with pytest.raises(BadConfig) as caught:
        one(written(tmp_path, MINIMAL.replace("TFLOP/s", "tflops")))
    assert caught.value.try_this == "TFLOP/s"


@pytest.mark.parametrize(("name", "found"), [("8x h100", ("h100-sxm", 8)), ("h200-sxm", ("h200-sxm", 1))])
def test_a_stranger_may_count_cards(name, found):
    card, count = accelerators.counted(name)

    assert (card.id, count) == found


@pytest.mark.parametrize("name", ["2x-", "-", "3x", "0xh100", "2xmy.toml"])
def test_a_strangers_count_of_what_is_no_card_is_refused(name):
    with pytest.raises(BadInput):
        accelerators.counted(name)

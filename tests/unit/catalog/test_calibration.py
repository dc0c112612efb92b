"""Calibrations: every family has one, in plausible ranges; what was not measured says whose it is and is wider."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest

from rooflight.catalog import accelerators, calibration
from rooflight.errors import BadConfig
from rooflight.values.calibration import Calibration, LinkFit

FOLDER = Path(calibration.__file__).parent / "calibration"
CATALOG = sorted({card.family for card in accelerators.all_accelerators()})
MEASURED = calibration.families()
COLLECTIVES = ("all_reduce", "all_gather", "all_to_all")


def fits(found: Calibration):
    for part in (found.gemm, found.decode, found.prefill, found.links):
        yield from part.items()
    yield "elementwise", found.elementwise


@pytest.mark.parametrize("family", [*CATALOG, "never heard of"])
def test_every_family_has_a_whole_calibration(family):
    """What a step needs is there: the common formats, both phases of attention, all collectives of a link."""
    found = calibration.calibration(family)

    assert found.family == family
    assert {"bf16", "int8", "int4"} <= set(found.gemm)
    assert "bf16" in found.decode
    assert "bf16" in found.prefill
    assert {f"{link}/{name}" for link in ("nvlink", "pcie", "fabric") for name in COLLECTIVES} == set(found.links)
    for name, fit in fits(found):
        assert fit.low < 1 < fit.high, name


@pytest.mark.parametrize("family", MEASURED)
def test_a_measured_family_says_on_what_and_how_well(family):
    found = calibration.calibration(family)

    assert found.inherits == ""
    assert found.fitted_on
    assert "aiconfigurator-core 0.12.0" in found.source
    assert found.date.startswith("20")
    for name, fit in fits(found):
        if isinstance(fit, LinkFit) or name == "elementwise":
            assert fit.basis, name
        else:
            assert fit.error is not None, name
            assert fit.error.held_out, name


@pytest.mark.parametrize("family", MEASURED)
def test_a_fitted_kernel_names_its_data_and_what_they_do_not_set(family):
    """Sources, rows, and their hash; a format that nobody timed has no data and says that it was not fitted."""
    for name, fit in fits(calibration.calibration(family)):
        if name == "elementwise":
            continue
        if fit.error.rows:
            assert fit.data.sources, name
            assert fit.data.rows == fit.error.rows, name
            assert len(fit.data.sha256) == 16, name
        else:
            assert fit.data is None, name
            assert fit.not_fitted, name
        assert {*fit.at_edge, *fit.not_fitted} <= set(fit.__struct_fields__), name
        assert not set(fit.at_edge) & set(fit.not_fitted), name


@pytest.mark.parametrize(
    "engine",
    calibration.all_engines(),
    ids=lambda engine: f"{engine.id}-{engine.family}-{engine.era}",
)
def test_a_fitted_engine_names_its_data_and_what_they_do_not_set(engine):
    """Rows that are gone have no hash, and the note says why. First tokens were timed of served engines alone."""
    assert engine.data.sources
    assert engine.data.rows
    assert engine.data.sha256 or engine.data.note
    assert {*engine.at_edge, *engine.not_fitted} <= set(engine.__struct_fields__)
    assert not set(engine.at_edge) & set(engine.not_fitted)
    assert (engine.first_data is None) == ("queue" in engine.not_fitted)


@pytest.mark.parametrize("family", sorted({*CATALOG, "never heard of"} - set(MEASURED)))
def test_an_inherited_calibration_names_its_parent_and_is_wider(family):
    found = calibration.calibration(family)
    parent = calibration.calibration(found.inherits)

    assert found.inherits in MEASURED
    assert found.why
    assert found.widened > 1
    for (name, fit), (_, theirs) in zip(fits(found), fits(parent), strict=True):
        assert fit.low == pytest.approx(theirs.low / found.widened), name
        assert fit.high == pytest.approx(theirs.high * found.widened), name


def test_default_lists_no_family_that_has_a_file_or_twice():
    entries = tomllib.loads((FOLDER / "default.toml").read_text())["inherit"]
    listed = [family for entry in entries for family in entry["families"]]

    assert len(listed) == len(set(listed))
    assert not set(listed) & set(MEASURED)
    assert set(CATALOG) <= set(listed) | set(MEASURED)
    assert "default" in entries[-1]["families"]


@pytest.mark.parametrize(
    ("part", "key", "field", "value"),
    [
        ("gemm", "bf16", "memory_efficiency", 1.2),  # faster than memory
        ("gemm", "bf16", "floor_s", 2.5),  # a floor in microseconds, taken for seconds
        ("gemm", "bf16", "low", 1.0),  # an interval that leaves the expectation out
        ("gemm", "bf16", "high", 0.9),
        ("decode", "bf16", "sharpness", 0.5),  # slower than one after the other
        ("links", "nvlink/all_reduce", "efficiency", 2.0),  # beyond what in-switch reduction can give a ring
    ],
)
def test_a_coefficient_out_of_its_range_is_refused(part, key, field, value):
    raw = msgspec.to_builtins(calibration.calibration("Hopper"))
    raw[part][key][field] = value

    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(raw, Calibration)


def test_a_broken_file_is_named(tmp_path, monkeypatch):
    (tmp_path / "broken.toml").write_text('family = "Broken"\n')
    monkeypatch.setattr(calibration, "_FOLDER", tmp_path)

    with pytest.raises(BadConfig) as caught:
        calibration.calibration("Broken")
    assert caught.value.where == "broken.toml"


def test_coefficients_stay_a_few_dozen_a_family():
    """Free numbers of a fit, its interval and provenance apart."""
    skipped = {"low", "high", "error", "basis", "data", "at_edge", "not_fitted"}
    for family in MEASURED:
        found = calibration.calibration(family)
        for part in (found.gemm, found.decode, found.prefill):
            own = [set(fit.__struct_fields__) - skipped for fit in part.values() if fit.error.rows]
            assert sum(map(len, own)) <= 60


def test_two_names_of_one_engine_are_that_engine():
    assert calibration.engine_id("Ollama or llama.cpp") == "llama.cpp"
    assert calibration.engine_id("vllm or sglang") == "vllm or sglang"


@pytest.mark.parametrize(
    ("card", "family"),
    [
        ("rtx-5090", "Blackwell GDDR7"), ("gb10", "Blackwell LPDDR5X"), ("b200", "Blackwell"),
        ("rtx-3090", "Ampere GDDR"), ("a100-sxm4-80gb", "Ampere"), ("rtx-4090", "Ada"),
    ],
)  # fmt: skip
def test_cards_of_one_family_with_another_memory_have_fits_of_their_own(card, family):
    assert calibration.fitted_family(accelerators.load(card)[0]) == family


@pytest.mark.parametrize(
    ("name", "engine", "backend"),
    [
        ("llama.cpp-vulkan", "llama.cpp", "vulkan"), ("llama.cpp-rocm", "llama.cpp", "rocm"),
        ("ollama", "llama.cpp", ""),
        ("llama.cpp (Vulkan)", "llama.cpp", "vulkan"), ("llama-server rocm", "llama.cpp", "rocm"),
        ("llama.cpp HIP", "llama.cpp", "rocm"), ("ollama (cuda)", "llama.cpp", ""), ("vllm-rocm", "vllm", "rocm"),
        ("ik_llama.cpp (CUDA)", "llama.cpp", "ik"), ("own vulkan", "own vulkan", ""), ("vulkan", "vulkan", ""),
        ("ollama or llama.cpp", "llama.cpp", ""), ("mlx-vlm-0.4.4", "mlx", "vlm"),
        ("vllm or sglang", "vllm or sglang", ""),
    ],
)  # fmt: skip
def test_an_engines_name_says_its_backend(name, engine, backend):
    assert (calibration.engine_id(name), calibration.backend_of(name)) == (engine, backend)


def test_a_family_without_rows_takes_its_lines_fits_before_those_of_all():
    """Nobody timed llama.cpp on Maxwell, which is in the line of older cards; RDNA4 under Vulkan has its own."""
    older = calibration.engine_named("llama.cpp", "Maxwell", "2024")
    vulkan = calibration.engine_named("llama.cpp-vulkan", "RDNA4", "2024")
    new = calibration.engine_named("llama.cpp-vulkan", "RDNA9", "2024")

    assert (older.family, older.backend) == ("older NVIDIA", "")
    assert (vulkan.family, vulkan.backend) == ("RDNA4", "vulkan")
    assert (new.family, new.backend) == ("", "")
    assert not {*older.cards} & {"rtx-4090"}

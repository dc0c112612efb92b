"""The docs are whole: what the tool has, a page explains. Whether outputs are fresh, `docs/paste.py --check` says."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

import rooflight
from rooflight.catalog.accelerators import ids as accelerator_ids
from rooflight.catalog.config.names import ALIASES
from rooflight.catalog.config.registry import FAMILIES, TOWER_FAMILIES
from rooflight.cli.app import COMMANDS, app
from rooflight.errors import RooflightError
from rooflight.values.formats import FORMATS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = (
    "rooflight.values.analysis.Analysis",
    "rooflight.show.sweep.Summary",
    "rooflight.values.moves.Moves",
    "rooflight.show.sweep.Row",
    "rooflight.show.runs.RunRow",
    "rooflight.values.comparison.Comparison",
    "rooflight.show.models.Listing",
    "rooflight.show.models.Page",
    "rooflight.show.accelerators.Listing",
    "rooflight.show.accelerators.Page",
    "rooflight.show.kernels.Document",
    "rooflight.show.whole.Document",
    "rooflight.show.measure.Page",
    "rooflight.values.samples.Samples",
    "rooflight.values.endpoint.EndpointReport",
    "rooflight.values.diagnosis.Diagnosis",
    "rooflight.values.explain.Explained",
    "rooflight.values.own.OwnCalibration",
)


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def ticked(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", text))


def struct(path: str) -> type[msgspec.Struct]:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def inner(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs in a field's type, however wrapped."""
    if isinstance(kind, msgspec.inspect.StructType):
        yield kind.cls
    for name in ("item_type", "value_type"):
        if hasattr(kind, name):
            yield from inner(getattr(kind, name))
    for name in ("types", "item_types"):
        for one in getattr(kind, name, ()):
            yield from inner(one)


@functools.cache
def reachable() -> dict[str, type[msgspec.Struct]]:
    """Every struct of the documents, by its full name."""
    found: dict[str, type[msgspec.Struct]] = {}
    waiting = [struct(path) for path in DOCUMENTS]
    while waiting:
        kind = waiting.pop()
        name = f"{kind.__module__}.{kind.__name__}"
        if name not in found:
            found[name] = kind
            for field in msgspec.inspect.type_info(kind).fields:
                waiting += inner(field.type)
    return found


@functools.cache
def sections() -> dict[str, str]:
    """json.md by its markers: what stands behind one, up to the next."""
    parts = re.split(r"<!-- (?:struct|keys): (\S+) -->", page("json.md"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command by its words, and those of a command that has some of its own."""
    for name in COMMANDS:
        command = app.get_command(None, name)
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {part}", command.get_command(None, part)) for part in command.list_commands(None))


@pytest.mark.parametrize(("name", "command"), [pytest.param(*one, id=one[0]) for one in commands()])
def test_every_command_and_option_is_in_the_reference(name, command):
    reference = page("cli.md")

    assert f"\n## {name}\n" in reference
    assert f"$ rooflight {name} --help" in reference
    missing = [opt for param in command.params for opt in param.opts if opt.startswith("-") and opt not in reference]
    assert not missing


def test_every_exit_status_is_in_the_reference():
    from rooflight.cli import failures

    kinds = [RooflightError, *RooflightError.__subclasses__()]
    statuses = {kind.exit_status for kind in kinds} | {0, 1, failures.INTERRUPTED, failures.BROKEN_PIPE, failures.BUG}
    for status in statuses:
        assert f"\n| {status} |" in page("cli.md")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"\n| {status} |" in readme for status in (0, 1, 2, 3))


def test_every_struct_of_the_documents_has_a_section():
    assert set(reachable()) == {name for name in sections() if name.startswith("rooflight.")}


@pytest.mark.parametrize("name", sorted(reachable()))
def test_every_json_field_is_explained(name):
    kind = reachable()[name]
    explained = ticked(sections()[name])

    assert not set(kind.__struct_encode_fields__) - explained


@pytest.mark.parametrize("name", sorted(reachable()))
def test_no_table_explains_a_field_that_is_gone(name):
    cells = re.findall(r"^\| (`[^|]*) \|", sections()[name], re.MULTILINE)
    kind = reachable()[name]
    rows = {*kind.__struct_encode_fields__, kind.__struct_config__.tag_field, "rows"}

    assert not ticked("\n".join(cells)) - rows


def test_keys_of_the_plain_mappings_are_explained():
    answer = rooflight.analyze("HuggingFaceTB/SmolLM2-135M", on="h100-sxm").to_dict()
    expected = {
        "workload": set(answer["workload"]),
        "deployment": set(answer["deployment"]),
        "error": set(RooflightError("x").to_dict()),
    }
    for name, keys in expected.items():
        assert not keys - ticked(sections()[name]), name


def test_every_public_name_is_explained():
    explained = page("python.md")
    names = {name for text in ticked(explained) for name in re.findall(r"\w+", text)}

    assert not set(rooflight.__all__) - names


def test_every_sweep_column_and_block_field_is_explained():
    from rooflight.values.sweep import SweepBlock

    explained = ticked(page("python.md"))
    sweep = rooflight.sweep("HuggingFaceTB/SmolLM2-135M", "h100-sxm", {"batch": [1, 2]})
    assert not set(sweep.columns()) - explained
    assert not set(SweepBlock.__struct_fields__) - explained


def test_every_field_of_a_question_is_explained():
    explained = ticked(page("python.md"))
    fields = {*rooflight.Workload.__struct_fields__, *rooflight.Deployment.__struct_fields__}
    assert not fields - explained


def test_the_table_of_fields_is_made_from_theirs():
    spec = importlib.util.spec_from_file_location("paste", DOCS / "paste.py")
    paste = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(paste)

    assert f"<!-- list: fields -->\n\n{paste.fields()}\n\n<!-- end -->" in page("python.md")


def test_every_model_type_is_listed():
    listed = ticked(page("models.md"))

    assert not {*FAMILIES, *ALIASES, *TOWER_FAMILIES} - listed


def test_every_accelerator_and_format_is_listed():
    assert not set(accelerator_ids()) - {name.rstrip("?") for name in ticked(page("accelerators.md"))}
    assert not set(FORMATS) - ticked(page("counting.md"))


def test_the_example_of_an_own_card_answers():
    answer = rooflight.analyze("HuggingFaceTB/SmolLM2-135M", on=str(DOCS / "examples" / "my-card.toml"))

    assert answer.accelerator.id == "my-card"
    assert answer.accelerator.ridge_flop_per_byte["bf16"] == pytest.approx(800e12 / 4.0e12)
    assert answer.accelerator.memory_bytes == pytest.approx(96 * 2**30 * 0.995)  # the label in GiB
    assert answer.phases["decode"].time_s.ceiling > 0


def test_every_fact_a_card_may_state_is_explained():
    from rooflight.catalog import card

    explained = ticked(page("accelerators.md"))
    assert not set(card._WHATS) - explained
    assert not card._TOP_KEYS - {"fact"} - explained


def test_every_key_of_a_point_is_explained():
    from rooflight.answers.diagnose import points

    table = (DOCS / "diagnose.md").read_text().partition("### Keys of --point")[2].partition("\n## ")[0]
    times = [name.removesuffix("_s") for name in points._spreads()]
    wanted = {*points._stated_fields(), *points._COUNTS, *points._short_rates(), *times, *points._ALIASES}
    assert wanted - {"output_tokens_per_s_per_user", "output_tok_s_per_user", "median"} <= set(
        re.findall(r"`(\w+)`", table)
    )

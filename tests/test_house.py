"""The shape of the house: who imports whom, where prefixes live, what a bare import pulls in, how long things are."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src" / "rooflight"
FILES = sorted(SRC.rglob("*.py"))
CALIBRATION = sorted((SRC.parents[1] / "calibration").glob("*.py"))
# A module imports only from rooms of a lower rank, and from its own. `library` is the Python front door; of the two
# outermost rooms, the command line starts the studio and never the other way round.
RANK = {
    "units": 0, "errors": 0, "affine": 0, "numeric": 0.2, "jobs": 0, "files": 0.5, "span": 0.5, "values": 1,
    "catalog": 2, "work": 2, "probe": 2, "ingest": 2,
    "roofline": 3, "scenario": 4, "serve": 5, "answers": 6, "words": 7, "show": 8, "library": 9, "studio": 10,
    "cli": 11,
}  # fmt: skip


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """A file's syntax tree, laid out flat."""
    return list(ast.walk(ast.parse(path.read_text())))


def room(path: Path) -> str:
    return path.relative_to(SRC).with_suffix("").parts[0]


def imported_rooms(path: Path) -> Iterator[str]:
    """Rooms of rooflight a file imports from at run time, wherever in the file."""
    for node in nodes(path):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        for name in modules:
            parts = name.split(".")
            if parts[0] == "rooflight" and len(parts) > 1 and parts[1] in RANK:
                yield parts[1]


def test_imports_only_point_down():
    """No module imports its own rank or higher, except from its own room."""
    up = [
        f"{path.relative_to(SRC)} -> {other}"
        for path in FILES
        if room(path) in RANK
        for other in imported_rooms(path)
        if other != room(path) and RANK[other] >= RANK[room(path)]
    ]

    assert not up, "\n".join(up)


def test_answers_do_not_lean_on_each_other():
    """check, compare and moves each ask the rooms below, never one another."""
    apart = {"check", "compare", "moves"}
    leaning = [
        f"{path.relative_to(SRC)} -> {other}"
        for path in (SRC / "answers").rglob("*.py")
        for other in re.findall(r"from rooflight\.answers\.(\w+)", path.read_text())
        if {path.relative_to(SRC).parts[1], other} <= apart and path.relative_to(SRC).parts[1] != other
    ]

    assert not leaning, "\n".join(leaning)


def test_no_modules_import_each_other_in_a_circle():
    """Not even inside a function, or for types alone: a module can be read after those it names."""
    names = {module_of(path): path for path in FILES}
    asks = {name: set(imported(path, names.keys())) - {name} for name, path in names.items()}
    asks.pop("rooflight")  # its names are loaded when asked for
    while leaves := [name for name, others in asks.items() if not others & asks.keys()]:
        for name in leaves:
            del asks[name]

    assert not asks


def module_of(path: Path) -> str:
    """The dotted name of a file."""
    return ".".join(path.relative_to(SRC.parent).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path, names: Collection[str]) -> Iterator[str]:
    """Modules among `names` that a file imports anywhere."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from parts & set(names) or {node.module} & set(names)
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & set(names)


def test_every_public_name_stays_what_it_is():
    """Importing every module replaces no public function by a module of its name: each is called for twice."""
    code = """
import importlib, pkgutil, types
import rooflight
for one in pkgutil.walk_packages(rooflight.__path__, "rooflight."):
    if not one.name.endswith("__main__"):
        importlib.import_module(one.name)
for name in rooflight.__all__ * 2:
    assert not isinstance(getattr(rooflight, name), types.ModuleType), name
for _ in range(2):
    card, model = rooflight.accelerator("h100"), rooflight.model("llama-3.1-8b")
    assert rooflight.analyze(model, card).answer
    assert rooflight.sweep(model, card, {"batch": [1, 2]}).points == 2
    assert rooflight.compare(model, [card]).answer
    assert rooflight.moves(model, card).answer
    assert rooflight.check({"model": model.id, "accelerator": card.id, "metric": "tpot_ms", "value": 9}).answer
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_room_has_a_rank():
    unranked = {room(path) for path in FILES} - set(RANK) - {"__init__", "__main__"}

    assert not unranked


@pytest.mark.parametrize("path", [p for p in FILES if room(p) != "units"], ids=lambda p: str(p.relative_to(SRC)))
def test_prefixes_live_in_units_alone(path):
    """A 1e9 or a 2**30 in other files is a unit conversion that went astray; a named constant at the margin is none."""
    stray = re.compile(r"\b(1e-?(3|6|9|12|15)|1024 ?\*\* ?[23]|2 ?\*\* ?[1234]0|1_?000_?000(_?000)*)\b")
    found = [
        f"{number}: {line.strip()}"
        for number, line in enumerate(code_lines(path), start=1)
        if stray.search(line) and not re.match(r"_?[A-Z_]+ = ", line)
    ]

    assert not found, "\n".join(found)


def code_lines(path: Path) -> list[str]:
    """The file's lines with strings and comments blanked."""
    import io
    import tokenize

    text = path.read_text()
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT) or token.type == getattr(tokenize, "FSTRING_MIDDLE", -1):
            (first, start), (last, end) = token.start, token.end
            for row in range(first, last + 1):
                line = lines[row - 1]
                left, right = (start if row == first else 0), (end if row == last else len(line))
                lines[row - 1] = line[:left] + " " * (right - left) + line[right:]
    return lines


def test_no_name_says_flops():
    """An amount is flop, a rate flop_per_s; FLOPS could be either."""
    names = [
        f"{path.relative_to(SRC)}: {node.id}"
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.Name) and "flops" in node.id.lower()
    ]

    assert not names


def test_functions_stay_under_60_lines_and_files_under_400():
    long = [
        f"{p.name}: {len(p.read_text().splitlines())} lines"
        for p in (*FILES, *CALIBRATION)
        if len(p.read_text().splitlines()) > 400
    ]
    for path in (*FILES, *CALIBRATION):
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 60:
                long.append(f"{path.name}: {node.name}")

    assert not long, "\n".join(long)


def modules_after(code: str) -> set[str]:
    """Modules loaded by a fresh interpreter that ran `code`, and the top-level ones that they are of."""
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('\\n'.join(sys.modules))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {one for name in shown.stdout.split() for one in (name, name.split(".")[0])}


HEAVY = {
    "uvicorn",
    "jinja2",
    "numpy",
    "rich",
    "click",
    "torch",
    "altair",
    "vl_convert",
    "fastapi",
    "pyarrow",
    "huggingface_hub",
    "transformers",
    "pandas",
}


def test_import_rooflight_is_light():
    """Neither numpy nor rich nor any extra comes with the name alone."""
    assert not modules_after("import rooflight") & (HEAVY | {"msgspec"})


def test_one_answer_needs_no_numpy():
    """`import numpy` alone costs more than the whole answer."""
    loaded = modules_after("import rooflight; rooflight.analyze('meta-llama/Meta-Llama-3-8B', on='h100').to_dict()")

    assert not loaded & HEAVY


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_command_starts_with_what_it_needs_alone(form):
    """Each of these costs as much as a tenth of the whole command, and an answer in a pipe needs none of them."""
    words = ["rooflight", "analyze", "llama-3.1-8b", "--on", "h100", "--format", form]
    loaded = modules_after(f"import sys; sys.argv = {words}; from rooflight.cli import main; main()")

    assert not loaded & (HEAVY - {"click"} | {"csv", "difflib", "json", "random", "shutil", "statistics"})
    assert not loaded & {"rooflight.catalog.measured", "rooflight.probe"}  # nothing measured was asked about


def test_help_starts_without_the_catalog():
    """What options are called is known before any number is."""
    code = "import sys; sys.argv = ['rooflight', 'analyze', '--help']; from rooflight.cli import main; main()"

    assert not modules_after(code) & {"numpy", "rich", "tomllib"}


def test_the_version_stands_in_one_place():
    """All that shows it reads rooflight.__version__, the build, the docs and the change log included."""
    import tomllib

    import rooflight

    root = SRC.parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    places = [*SRC.rglob("*.py"), *SRC.rglob("*.js"), *SRC.rglob("*.html"), root / "docs/conf.py", root / "Makefile"]
    holding = [path for path in places if re.search(rf"\b{re.escape(rooflight.__version__)}\b", path.read_text())]

    assert holding == [SRC / "__init__.py"]
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/rooflight/__init__.py"
    assert project["tool"]["towncrier"]["package_dir"] == "src"  # asks the package


def test_public_names_are_all_there():
    import rooflight

    for name in rooflight.__all__:
        assert getattr(rooflight, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = rooflight.nonsense

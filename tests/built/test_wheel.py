"""What people install: the wheel made from the source distribution, alone in a new environment, with no extra."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import msgspec
import pytest

import rooflight

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
# Nothing of this checkout reaches the new environment.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("built")]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the source distribution and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of a new environment with the wheel in it, and what it depends on."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    found = folder / "bin" / "python"
    install = [str(found), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    done = subprocess.run(install, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode and os.environ.get("CI") != "true":
        pytest.skip(f"needs a network, for what rooflight depends on: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return found


def rooflight_says(python, *words, status=0):
    """What the installed command writes, answers from standard output, refusals from standard error."""
    command = [str(python.with_name("rooflight")), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=python.parent)
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


def test_the_wheel_holds_the_whole_package(wheel):
    """Every file of the package, the catalog besides in its compiled form, and the licence with its notice."""
    files = [path for path in (SRC / "rooflight").rglob("*") if path.is_file()]
    wanted = {path.relative_to(SRC).as_posix() for path in files if "__pycache__" not in path.parts}
    wanted = {name for name in wanted if "/catalog/compiled/" not in name}
    front = "rooflight/catalog/"
    tables = {name for name in wanted if name.startswith(front) and name.endswith(".toml")}
    wanted |= {f"{front}compiled/{name.removeprefix(front).removesuffix('.toml')}.json" for name in tables}
    held = set(zipfile.ZipFile(wheel).namelist())
    inside = {name for name in held if name.startswith("rooflight/")}

    assert len(tables) > 300
    assert "rooflight/py.typed" in wanted
    assert inside == wanted
    assert {Path(name).name for name in held if "/licenses/" in name} == {"LICENSE", "NOTICE"}


def test_the_source_holds_what_it_takes_to_build_test_and_report(built):
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    tests = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")}

    assert {"LICENSE", "NOTICE", "SECURITY.md", "CHANGELOG.md", "Makefile", "hatch_build.py", "docs/start.md"} <= names
    assert tests <= names
    assert not [name for name in names if "/compiled/" in name]  # facts are in it once


def test_the_version_is_the_packages(python):
    code = "from importlib.metadata import version; print(version('rooflight'))"
    shown = subprocess.run([str(python), "-c", code], capture_output=True, text=True, env=ENVIRONMENT).stdout

    assert shown.strip() == rooflight.__version__
    assert rooflight_says(python, "--version") == f"rooflight {rooflight.__version__}\n"


def test_it_answers_as_this_checkout_does(python):
    words = ["analyze", "llama-3.1-8b", "--on", "h100"]
    here = rooflight.analyze("llama-3.1-8b", on="h100")

    assert json.loads(rooflight_says(python, *words, "--json")) == json.loads(msgspec.json.encode(here))
    assert " ".join(rooflight_says(python, *words).split()).startswith(here.answer)
    assert len(json.loads(rooflight_says(python, "accelerators", "--json"))["accelerators"]) > 100


def test_it_reads_the_catalog_as_compiled(python):
    code = "import sys, rooflight; print(rooflight.analyze('llama-3.1-8b', on='h100').answer, 'tomllib' in sys.modules)"
    shown = subprocess.run([str(python), "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)

    assert shown.stdout.endswith("False\n")


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("charts", ["analyze", "llama-3.1-8b", "--on", "h100", "-o", "picture.svg"]),
        ("hub", ["analyze", "nobody/has-this", "--on", "h100"]),
        ("parquet", ["compare", "llama-3.1-8b", "--on", "h100,h200", "--log", "requests.parquet"]),
        ("studio", ["studio", "--no-open"]),
    ],
)
def test_what_an_extra_is_for_names_it(python, extra, words):
    (python.parent / "requests.parquet").write_bytes(b"PAR1")
    assert f"pip install 'rooflight[{extra}]'" in rooflight_says(python, *words, status=2)

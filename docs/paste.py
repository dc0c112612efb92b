"""Writes every command output, session and list into README.md and docs/*.md, so that none is typed by hand.

    python docs/paste.py            write the pages
    python docs/paste.py --check    fail, with a diff, where a page differs from what the tool says

Three markers stand on lines of their own; what is between a marker and `<!-- end -->` is ours to write:

    <!-- run: rooflight analyze llama-3.1-8b --on h100 head=12 -->     a command; head=12 keeps 12 lines
    <!-- list: accelerators -->                                        one of the lists below (LISTS)
    <!-- picture: roofline.svg rooflight analyze llama-3.1-8b --on h100 -->     a chart in docs/images, and its command

Blocks fenced as `pycon` are sessions: their statements are run, and what they print is written below them.
Run from anywhere; rooflight is the one of this Python.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARKED = re.compile(
    r"^<!-- (?P<kind>run|list|picture): (?P<what>.+?)(?: head=(?P<head>\d+))? -->\n(?P<body>.*?)^<!-- end -->$",
    re.MULTILINE | re.DOTALL,
)
SESSION = re.compile(r"^```pycon\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "HF_HUB_OFFLINE": "1"}


def run(command: str, head: int | None) -> str:
    """The command as typed, and what it prints; an exit status that is not 0 is said below."""
    program, *words = command.split()
    if program != "rooflight":
        raise SystemExit(f"a marker runs {program!r}; only rooflight is run")
    done = subprocess.run(
        [sys.executable, "-m", "rooflight", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        check=False,
    )
    lines = (done.stdout + done.stderr).rstrip("\n").split("\n")
    if head is not None and len(lines) > head:
        lines = [*lines[:head], "..."]
    if done.returncode:
        lines.append(f"(exit status {done.returncode})")
    return "\n".join(["", "```text", f"$ {command}", *lines, "```", "", ""])


def picture(what: str, page: Path, check: bool) -> str:
    """The command, and the picture it draws, written to docs/images; with `check` only compared, by the texts in it."""
    name, _, command = what.partition(" ")
    path = IMAGES / name
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / name
        words = [*command.split()[1:], "-o", str(drawn)]
        done = subprocess.run(
            [sys.executable, "-m", "rooflight", *words],
            capture_output=True, text=True, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, check=True,
        )  # fmt: skip
        new = drawn.read_text(encoding="utf-8")
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    if check and _texts(old) != _texts(new):
        raise SystemExit(f"docs/images/{name} is stale: run `python docs/paste.py` to draw it anew")
    if not check:
        path.parent.mkdir(exist_ok=True)
        path.write_text(new, encoding="utf-8")
    answer = done.stdout.split("\n", 1)[0]
    link = os.path.relpath(path, page.parent)
    return f"\n```sh\n{command} -o {name}\n```\n\n![{answer}]({link})\n\n"


def _texts(svg: str) -> list[str]:
    """What an SVG says; where its letters stand may differ between versions of the renderer."""
    return re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", svg)


def session(body: str, names: dict[str, Any]) -> str:
    """The statements of a session with what they print now; a page's sessions share their names."""
    shown = []
    for example in doctest.DocTestParser().get_examples(body):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example.source, "session", "single"), names)
        first, *more = example.source.rstrip("\n").split("\n")
        shown += [f">>> {first}", *(f"... {line}".rstrip() for line in more)]
        shown += printed.getvalue().rstrip("\n").split("\n") if printed.getvalue() else []
    return "\n".join([*shown, ""])


def _words(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def model_types() -> str:
    """Every model_type that is read, by the module that reads it, and the other spellings."""
    from rooflight.catalog.config.names import ALIASES
    from rooflight.catalog.config.registry import FAMILIES

    modules: dict[str, list[str]] = {}
    for name, module in FAMILIES.items():
        modules.setdefault(module, []).append(name)
    lines = [f"{len(FAMILIES)} types, by the model line whose module in `catalog/config/` reads them:", ""]
    lines += [f"- {module}: {_words(sorted(names))}" for module, names in modules.items()]
    spelled = [f"`{name}` as `{known}`" for name, known in sorted(ALIASES.items())]
    return "\n".join([*lines, "", f"Other spellings: {', '.join(spelled)}."])


def refused_types() -> str:
    """What is refused by name."""
    from rooflight.catalog.config import names

    kinds = {
        "Encoders": names._ENCODERS,
        "Encoder-decoders": names._ENCODER_DECODERS,
        "Other recurrent shapes": names._OTHER_RECURRENT,
    }
    return "\n".join(f"- {kind}: {_words(sorted(found))}" for kind, found in kinds.items())


def towers() -> str:
    """The outer types whose vision or audio towers are counted."""
    from rooflight.catalog.config.registry import TOWER_FAMILIES

    return _words(sorted(TOWER_FAMILIES))


def formats() -> str:
    """Tables of the storage formats, bits of a 4096 x 4096 matrix with scales, and of files of several formats."""
    from rooflight.catalog.models import load
    from rooflight.values.formats import FORMATS, SPELLINGS
    from rooflight.values.ggml import FILES
    from rooflight.work.count import parameters, weight_bytes
    from rooflight.work.storage import matrix_bytes
    from rooflight.work.weights import held

    lines = ["| name | bits a weight | products run in | what it is |", "|---|---|---|---|"]
    files, llama = {form.id: form for form in FILES}, load("llama-3.1-8b")
    for form in (form for form in FORMATS.values() if form.id not in files):
        bits = 8 * matrix_bytes(inputs=4096, outputs=4096, groups=1, form=form) / 4096**2
        product = form.compute if form.activations else "the activations' format"
        lines.append(f"| `{form.id}` | {bits:.6g} | {product} | {form.words} |")
    lines += ["", "| file | bits a weight of Llama-3.1-8B, all parts | what it is |", "|---|---|---|"]
    for form in files.values():
        bits = 8 * weight_bytes(held(llama, form.id)) / parameters(llama)
        lines.append(f"| `{form.id}` | {bits:.3g} | {form.words} |")
    spelled = [f"`{name}` as `{known}`" for name, known in SPELLINGS.items()]
    return "\n".join([*lines, "", f"Other spellings: {', '.join(spelled)}."])


def accelerators() -> str:
    """Every accelerator id by vendor; uncertain ones marked."""
    from rooflight.catalog.accelerators import all_accelerators

    vendors: dict[str, list[str]] = {}
    for card in all_accelerators():
        vendors.setdefault(card.vendor, []).append(card.id + ("?" if card.confidence == "C" else ""))
    lines = [f"- {vendor} ({len(found)}): {_words(found)}" for vendor, found in sorted(vendors.items())]
    return "\n".join([f"{sum(map(len, vendors.values()))} entries; `?` marks confidence C.", "", *lines])


def families() -> str:
    """The short names that stand for one of several entries."""
    import tomllib

    import rooflight

    table = tomllib.loads((Path(rooflight.__file__).parent / "catalog" / "aliases.toml").read_text(encoding="utf-8"))
    lines = ["| short name | read as | could also be |", "|---|---|---|"]
    lines += [f"| `{name}` | `{ids[0]}` | {_words(ids[1:])} |" for name, ids in table["pick"].items()]
    return "\n".join(lines)


def assumed() -> str:
    """What is assumed of each family, and why."""
    import tomllib

    import rooflight

    file = Path(rooflight.__file__).parent / "catalog" / "assumptions.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    lines = ["| family | clock margin | last-level cache | launch, graph | launch, eager | engine |", "|" + "---|" * 6]
    for one in table["assumed"]:
        lines.append(
            f"| {', '.join(one['families'])} | {one['peak_margin']:g} | {one['last_level_cache_MiB']} MiB "
            f"| {one['launch_graph_us']:g} us | {one['launch_eager_us']:g} us | {one['engine_reserve_GiB']:g} GiB |"
        )
    return "\n".join(lines)


def counts() -> str:
    """One line for the README."""
    from rooflight.catalog.accelerators import all_accelerators
    from rooflight.catalog.config.registry import FAMILIES
    from rooflight.catalog.models import ids

    cards = list(all_accelerators())
    sure = sum(card.confidence != "C" for card in cards)
    vendors = len({card.vendor for card in cards})
    lines = [
        f"- Models: any `config.json` of {len(FAMILIES)} model types; {len(ids())} well-known models by name, offline.",
        f"- Accelerators: {len(cards)} of {vendors} vendors, {sure} of them backed by a vendor's document or two other",
        "  sources, the others marked as uncertain; or your own card as a TOML file.",
    ]
    return "\n".join(lines)


def beliefs() -> str:
    """Beliefs that `moves` answers, with what invites each."""
    from rooflight.answers.moves.stories import TELLERS
    from rooflight.words.stories import BELIEFS

    invites = {key: (teller.__doc__ or "").splitlines()[0] for key, teller in TELLERS.items()}
    return "\n".join(f"- *{BELIEFS[key][0]}*: {what}" for key, what in invites.items())


def fields() -> str:
    """A table of the fields of a question: what they take, and their options."""
    from rooflight.values.question import FIELDS

    lines = ["| field | default | takes | option | what it is |", "|---|---|---|---|---|"]
    for field in FIELDS.values():
        default = "" if field.default is None else f"`{field.default!r}`".replace("'", '"')
        blank = f"None: {field.blank}" if field.default is None and field.blank else default or "None"
        options = _words([field.option, *field.aliases])
        lines.append(f"| `{field.name}` | {blank} | {_takes(field)} | {options} | {field.words} |")
    return "\n".join(lines)


def _takes(field: Any) -> str:
    if field.kind == "share":
        return f"more than {field.least}, at most {field.most}"
    if field.kind == "size":
        return "bytes, or a text such as `48GiB`"
    if field.kind in ("rate", "amount"):
        return f"{field.unit}, more than 0"
    if field.unit:
        return f"{field.unit}, from {field.least}"
    kinds = {
        "flag": "True or False", "format": "a [format](counting.md)", "name": "a name", "chance": "from 0 to 1",
        "network": "a text such as `400Gb/s`", "images": "a text such as `2x640x480`",
        "model": "a model, by name or path",
    }  # fmt: skip
    return kinds.get(field.kind) or " or ".join(f'`"{choice}"`' for choice in field.choices)


def recorded() -> str:
    """A table of the formats that `diagnose` reads."""
    from rooflight.ingest.recorded.read import formats as read

    rows = [f"| `{form.name}` | {form.words} |" for form in read()]
    return "\n".join(["| format | what it is |", "|---|---|", *rows])


def quantities() -> str:
    """Every value of `explain` with its unit, and what it follows from."""
    from rooflight.answers.explain.formula import rendered
    from rooflight.answers.explain.relations import RELATIONS
    from rooflight.words.quantities import QUANTITIES

    lines = ["| name | unit | what it is | follows from |", "|---|---|---|---|"]
    for name, (unit, words) in QUANTITIES.items():
        ways = [rendered(one.formula, lambda part: f"`{part}`") for one in RELATIONS if one.target == name]
        lines.append(f"| `{name}` | {unit} | {words} | {'; '.join(ways)} |")
    return "\n".join(lines)


def terms() -> str:
    """Every term that `explain` knows, and what other tools call it."""
    from rooflight.words.terms import terms as known

    lines = ["| term | what it is | other names |", "|---|---|---|"]
    lines += [f"| `{one.name}` | {one.title} | {_words(list(one.aliases))} |" for one in known()]
    return "\n".join(lines)


LISTS: dict[str, Callable[[], str]] = {
    "model-types": model_types,
    "refused-types": refused_types,
    "towers": towers,
    "formats": formats,
    "accelerators": accelerators,
    "families": families,
    "assumed": assumed,
    "fields": fields,
    "counts": counts,
    "beliefs": beliefs,
    "recorded": recorded,
    "quantities": quantities,
    "terms": terms,
}


def written(page: str, path: Path, check: bool) -> str:
    """A page with every marked part and session made anew."""
    names: dict[str, Any] = {}

    def marked(match: re.Match[str]) -> str:
        head = int(match["head"]) if match["head"] else None
        if match["kind"] == "run":
            body = run(match["what"], head)
        elif match["kind"] == "picture":
            body = picture(match["what"], path, check)
        else:
            body = f"\n{LISTS[match['what']]()}\n\n"
        first = match[0].split("\n", 1)[0]
        return f"{first}\n{body}<!-- end -->"

    page = MARKED.sub(marked, page)
    return SESSION.sub(lambda match: f"```pycon\n{session(match['body'], names)}```", page)


def main() -> int:
    """Write the pages, or say where they are stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 with a diff where a page is stale")
    check = parser.parse_args().check
    os.environ.update(ENVIRONMENT)
    os.chdir(ROOT)
    stale = False
    for path in PAGES:
        before = path.read_text(encoding="utf-8")
        after = written(before, path, check)
        if after == before:
            continue
        stale = True
        name = str(path.relative_to(ROOT))
        if check:
            lines = (before.splitlines(), after.splitlines())
            print("\n".join(difflib.unified_diff(*lines, name, "as it should be", lineterm="", n=1)))
        else:
            path.write_text(after, encoding="utf-8")
            print(f"written: {name}")
    if check and stale:
        print("run `python docs/paste.py` to write the pages anew", file=sys.stderr)
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main())

"""Formats of weights that stand at the end of a model's name: `qwen3-30b-a3b-fp8`, `...-q4_k_m`, `...-AWQ`.

A checkpoint in another storage form has the shape of the plain one: its name is read as the plain one's with a format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rooflight.errors import UnknownName
from rooflight.values.formats import format_named

# "-UD-Q4_K_XL", "-Q4_K_M", "_fp8-dynamic", "-AWQ", "-4bit": how a name ends that says its weights' format too.
ENDING = re.compile(
    r"[-_.:](?:ud-)?(?:i?q\d\w*|tq\d\w*|bf16|fp?16|fp?32|fp8|nvfp4|mxfp[48]|awq|gptq|int[48]|(?:quantized\.)?w\da\d+"
    r"(?:fp8)?|(?:bnb|mlx)(?:-\dbit)?|[2-8]-?bit|exl\d|\d(?:\.\d+)?bpw(?:[-_]h\d)?(?:[-_]exl\d)?|qat)(?:[-_.](?:dynamic|static|int[48]|\d?bit|g\d+|block|mlx|gguf|[\d.]+bpw))*$",
    re.IGNORECASE,
)
_LONGEST = 200
# A container of files in many formats.
_CONTAINER = re.compile(r"[-_.:](?:imatrix-)?gguf$", re.IGNORECASE)
# A repository whose branches have so many bits a weight each; "-4.0bpw-h6-exl2" is of one.
_BRANCHED = re.compile(r"[-_.:]exl\d$", re.IGNORECASE)
_WIDE = re.compile(r"(\d(?:\.\d+)?)bpw(?:[-_]h\d)?(?:[-_](exl\d))?")
# What repositories call a format, where it is no name of it.
_MEANT = {
    "fp8-dynamic": "fp8-channel", "fp8-block": "fp8-block128", "fp8-static": "fp8", "f32": "fp32",
    "awq-int4": "awq-int4-g128", "awq-4bit": "awq-int4-g128", "gptq-int4": "gptq-int4-g128",
    "gptq-4bit": "gptq-int4-g128", "gptq-int8": "gptq-int8-g128", "mlx": "mlx-4bit",
}  # fmt: skip
# Storage forms of one model, the one that is meant by its bare name first.
_PLAINEST = ("", "bf16", "fp16", "fp32", "fp8", "mxfp8", "mxfp4", "nvfp4")


def bare_names(name: str) -> Iterator[tuple[str, str | None]]:
    """The name without what it ends in that is a format, and that format; None: a container of no one format.

    Check: "qwen3-30b-a3b-fp8" -> ("qwen3-30b-a3b", "fp8"). Nothing where the ending is none, or of no known format.
    """
    if len(name) > _LONGEST:
        return
    contained = _CONTAINER.sub("", name)
    ending = ENDING.search(contained)
    if ending is not None and ending.start() > 0:
        form = _format(ending[0][1:])
        if form is not None:
            yield contained[: ending.start()], form
        elif _BRANCHED.fullmatch(ending[0]):
            yield contained[: ending.start()], None
    elif contained and contained != name:
        yield contained, None


def _format(said: str) -> str | None:
    """The id of the format that an ending stands for."""
    plain = said.lower()
    grouped = re.sub(r"[-.](?:gguf|mlx)$", "", plain).removeprefix("quantized.")
    if wide := _WIDE.fullmatch(grouped):
        grouped = f"{wide[2] or 'exl2'}-{wide[1]}bpw"
    widths = re.fullmatch(r"([2-8])bit", grouped)
    tries = (
        _MEANT.get(grouped, grouped),
        f"mlx-{grouped}" if widths else "",
        grouped.replace("-", "_"),
        grouped.removeprefix("ud-").replace("-", "_"),
    )
    for one in filter(None, tries):
        try:
            return format_named(one).id
        except UnknownName:
            continue
    return None


def plainest(names: dict[str, str]) -> str | None:
    """Of names of one model (name -> what it is filed under), what the plain one is filed under; None: not one model.

    Check: X-FP8 and X-BF16 -> X-BF16.
    """
    stripped = {}
    for name, filed in names.items():
        bare, form = next(bare_names(name), (name, ""))
        stripped[filed] = (bare.rpartition("/")[2].lower(), form or "")
    if len({bare for bare, _ in stripped.values()}) != 1:
        return None
    ranked = sorted(stripped, key=lambda filed: (_rank(stripped[filed][1]), filed))
    return ranked[0] if ranked else None


def _rank(form: str) -> int:
    return _PLAINEST.index(form) if form in _PLAINEST else len(_PLAINEST)

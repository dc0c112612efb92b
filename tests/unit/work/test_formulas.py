"""Every public formula carries a worked number in its docstring, and the number is true."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from rooflight.roofline import formulas as roofline_formulas
from rooflight.serve import formulas as serve_formulas
from rooflight.values.formats import FORMATS, format_named
from rooflight.values.model import Linear, Reach
from rooflight.work import formulas, media, reach, storage

MODULES = (formulas, media, storage, reach, roofline_formulas, serve_formulas)
# "Check: name value, name value -> field value, field value (a remark)." or "Check: expression == expression."
CHECK = re.compile(r"Check: (.+?)\.(?= |$)")
WORDS = {"True": True, "False": False, "None": None}


def public_functions(module: ModuleType) -> Iterator[Callable[..., Any]]:
    """Those defined in the module itself."""
    for name, found in vars(module).items():
        function = inspect.unwrap(found) if callable(found) else found
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_"):
            yield function


def checks() -> Iterator[tuple[Callable[..., Any], str]]:
    for module in MODULES:
        for function in public_functions(module):
            for line in CHECK.findall(" ".join((inspect.getdoc(function) or "").split())):
                yield function, line


def value_of(text: str) -> Any:
    """A number, a truth value, a number format's name as the Format, or the name itself."""
    if text in WORDS:
        return WORDS[text]
    try:
        return float(text) if re.search(r"[.e]", text) else int(text)
    except ValueError:
        return text


def arguments(function: Callable[..., Any], text: str) -> dict[str, Any]:
    """`tokens 1, form int4-g128` as keywords; a `form` is looked up."""
    pairs = dict(part.split(" ", 1) for part in text.split(", "))
    assert set(pairs) == set(inspect.signature(function).parameters), f"{function.__name__}: {text}"
    return {name: FORMATS[value] if name == "form" else value_of(value) for name, value in pairs.items()}


def holds(got: float, printed: str) -> bool:
    """Equal to the digits that are printed: half a unit in the last place, nothing for a whole number."""
    mantissa, _, power = printed.partition("e")
    decimals = len(mantissa.partition(".")[2])
    slack = 0.5 * 10.0 ** (int(power or 0) - decimals) if decimals else 1e-12 * abs(float(printed))
    return abs(got - float(printed)) <= slack


@pytest.mark.parametrize(("function", "line"), list(checks()), ids=lambda part: getattr(part, "__name__", None))
def test_the_check_line_is_true(function, line):
    if "->" not in line:
        names = {**vars(inspect.getmodule(function)), "Reach": Reach, "Linear": Linear, "format_named": format_named}
        left, right = (eval(side, names) for side in line.split(" == "))
        assert function.__name__ in line
        assert left == right, line
        return
    given, wanted = re.sub(r" \(.*\)$", "", line).split(" -> ")
    result = function(**arguments(function, given))
    for part in wanted.split(", "):
        field, _, number = part.rpartition(" ") if re.match(r"[a-z]", part) else ("", "", part)
        got = getattr(result, field) if field else result
        assert holds(got, number.replace(" ", "")), f"{part}, computed {got}"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_no_public_formula_is_without_a_check(module):
    checked = {function for function, _ in checks()}

    assert not [function.__name__ for function in public_functions(module) if function not in checked]


def test_the_reader_of_checks_sees_a_wrong_number():
    """A test of this file: a wrong last digit does not pass for a rounded one."""
    assert holds(295.343, "295.3")
    assert not holds(295.343, "295.4")
    assert holds(8912896.0, "8912896")
    assert not holds(8912897.0, "8912896")

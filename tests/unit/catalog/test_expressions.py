"""Expressions of config files: as Python's re matches them, but in a time that grows with the text only."""

from __future__ import annotations

import itertools
import re
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.catalog.config.expressions import LONGEST, Unreadable, compiled, glob

PATTERNS = [
    ".*self_attn.*",
    r".*mlp\.(gate|up|gate_up|down)_proj.*",
    "^visual.*",
    r"model\.layers\.(0|1|[3-5])\..*",
    r".*\.\d{1,2}\.mlp$",
    "^(?!.*experts).*proj$",
    "(?=a)(?!ab).c?",
    "(a|ab)*b",
    "[^a]+b?",
    "a{2,}b",
    "a{0,2}b",
    "(?:a|b)?c$",
    "a|b|^c",
    "(a*)*b",
    r"[a\-z]x",
    "[]a]b",
    "a.*?b",
    r"\w+\.\W*\w",
    "(?P<n>a)b",
    "a{x}",
    "",
]
TEXTS = [
    f"model.layers.{n}.{end}" for n in (0, 2, 5, 11) for end in ("self_attn.q_proj", "mlp", "mlp.experts.0.up_proj")
]
TEXTS += ["".join(letters) for size in range(5) for letters in itertools.product("abcx", repeat=size)]
TEXTS += ["visual.x", "a.b", "-x", "]b", "a{x}"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_matches_what_re_matches(pattern):
    assert [compiled(pattern).match(text) for text in TEXTS] == [bool(re.match(pattern, text)) for text in TEXTS]


@pytest.mark.parametrize("pattern", ["^([a-z0-9_.]+)+!$", "(a|a)*b", ".*.*.*.*.*.*.*.*!", "(.*a){20}!"])
def test_what_backtracks_for_ever_elsewhere_does_not_here(pattern):
    assert not compiled(pattern).match("a" * 200)


@pytest.mark.parametrize(
    "pattern",
    ["(((", "a**", "[a", "a)", "*a", "a\\", r"(a)\1", "(?<=a)b", "(?i)a", "a" * (LONGEST + 1), "(((a{99}){99}){99})",
     "(" * 30 + "a" + ")" * 30, "a{3,2}"],
)  # fmt: skip
def test_what_is_broken_or_not_read_is_refused(pattern):
    with pytest.raises(Unreadable):
        compiled(pattern)


@given(pattern=st.text("ab1..**?[]!-^\\", max_size=8), text=st.text("ab1.-", max_size=6))
def test_a_glob_means_what_fnmatch_says_of_a_module_and_what_lies_in_it(pattern, text):
    assert glob(pattern).match(text) == (fnmatchcase(text, pattern) or fnmatchcase(text, f"{pattern}.*"))

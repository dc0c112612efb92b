"""Text that goes into a pipe is laid out without rich, and is what rich would have made of it, to the last space."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import rooflight
from effort import examples
from rooflight.show import analysis, plain, styled
from rooflight.show.blocks import Bullets, Drawing, Prose, Table

word = st.text("ab,.-1µ·—Ωз", min_size=1, max_size=12)
odd = st.text("a \n\t\x1b\xa0\u0301漢😀-", max_size=30)
text = st.one_of(st.lists(word, max_size=30).map(" ".join), st.lists(word, max_size=9).map("  ".join), odd)
cell = st.one_of(st.just(""), word, st.lists(word, max_size=5).map(" ".join), st.lists(word, max_size=3).map("\n".join))


@st.composite
def tables(draw):
    heads = draw(st.lists(st.one_of(cell, st.text("ab ", min_size=1, max_size=9)), min_size=1, max_size=8, unique=True))
    rows = draw(st.lists(st.tuples(*[cell] * len(heads)), max_size=5))
    left, whole = (tuple(draw(st.sets(st.sampled_from(heads)))) for _ in range(2))
    return Table(title=draw(text), heads=tuple(heads), rows=tuple(rows), left=left, whole=whole)


blocks = st.one_of(
    st.builds(Prose, text),
    st.builds(Bullets, text, st.lists(text, max_size=4).map(tuple)),
    st.builds(Drawing, st.lists(st.text("┤─⠉ x1", max_size=120), max_size=4).map(tuple)),
    tables(),
)


def same(block, width, ascii_only):
    """Whether the block is laid out without rich; if it is, it is as rich has it."""
    ours = plain.lines(block, width, ascii_only)
    if ours is None:
        return False
    theirs = styled.lines(block, width, ascii_only, on_screen=False)
    assert [line.rstrip() for line in ours] == [line.rstrip() for line in theirs]
    return True


@given(block=blocks, width=st.sampled_from([80, 40, 60, 130]), ascii_only=st.booleans())
@settings(max_examples=examples(1000), deadline=None)
def test_plain_text_is_as_rich_lays_it_out(block, width, ascii_only):
    same(block, width, ascii_only)


def test_the_text_of_an_answer_needs_no_rich():
    answer = rooflight.analyze("llama-3.1-8b", on="h100")
    assert all(same(block, 80, False) for block in analysis.blocks(answer, drawn=True, ascii_only=False))

"""Closed forms against the mask itself: every position of every query enumerated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.values.model import Reach
from rooflight.work import reach

small = st.integers(1, 12)
lengths = st.integers(0, 40)
reaches = st.one_of(
    st.just(Reach()),
    st.builds(Reach, window=small),
    st.builds(Reach, chunk=small),
    st.builds(Reach, top_k=small),
    st.builds(Reach, stride=st.integers(2, 6), top_k=st.none() | small, window=st.none() | small),
)


def seen(span: Reach, query: int) -> set[int]:
    """Uncompressed positions the query at place `query` (counted from 1) may attend, itself included."""
    if span.window is not None:
        return set(range(max(1, query - span.window + 1), query + 1))
    if span.chunk is not None:
        return {place for place in range(1, query + 1) if (place - 1) // span.chunk == (query - 1) // span.chunk}
    return set() if span.stride > 1 else set(range(1, query + 1))


def compressed(span: Reach, query: int) -> set[int]:
    """Compressed keys complete when the query is there: one a full stride."""
    return {key for key in range(1, query + 1) if key * span.stride <= query} if span.stride > 1 else set()


def met(span: Reach, query: int) -> int:
    """Keys one query multiplies: all it may attend, or as many of them as top_k lets it pick."""
    near, far = len(seen(span, query)), len(compressed(span, query))
    if span.top_k is None:
        return near + far
    return near + min(far, span.top_k) if span.stride > 1 else min(near, span.top_k)


@given(span=reaches, new=st.integers(1, 20), context=lengths)
def test_pairs_sum_what_each_query_meets(span, new, context):
    expected = sum(met(span, query) for query in range(context + 1, context + new + 1))

    assert reach.pairs(span, new=new, context=context) == expected


@given(span=reaches, tokens=lengths)
def test_pairs_of_a_whole_sequence(span, tokens):
    assert reach.seen_up_to(span, tokens) == sum(met(span, query) for query in range(1, tokens + 1))


@given(span=reaches, first=st.integers(1, 20), second=st.integers(1, 20), context=lengths)
def test_two_chunks_of_a_prompt_meet_as_many_pairs_as_one(span, first, second, context):
    apart = reach.pairs(span, new=first, context=context) + reach.pairs(span, new=second, context=context + first)

    assert apart == reach.pairs(span, new=first + second, context=context)


@given(span=reaches, new=st.integers(1, 20), context=lengths)
def test_cached_positions_are_counted_once_however_many_queries_read_them(span, new, context):
    queries = range(context + 1, context + new + 1)
    old = {place for query in queries for place in seen(span, query) if place <= context}
    far = set().union(*(compressed(span, query) for query in queries))
    if span.top_k is None:
        expected = len(old) + len(far)
    elif span.stride > 1:  # each query picks its own top_k of the compressed keys
        expected = len(old) + min(len(far), new * span.top_k)
    else:
        expected = min(len(old), new * span.top_k)

    assert reach.cached_positions(span, new=new, context=context) == expected


@given(window=small, tokens=lengths)
def test_a_window_cache_holds_what_the_last_query_saw(window, tokens):
    """Nothing older is ever read again."""
    span = Reach(window=window)

    assert reach.held_positions(span, tokens) == len(seen(span, tokens))


@given(chunk=small, tokens=st.integers(0, 60))
def test_a_chunk_cache_is_as_large_as_its_fullest_moment(chunk, tokens):
    """It empties at each border, but the room for a whole chunk was taken by then."""
    span = Reach(chunk=chunk)
    most = max((len(seen(span, query)) for query in range(1, tokens + 1)), default=0)

    assert reach.held_positions(span, tokens) == most


@given(span=st.builds(Reach, stride=st.integers(2, 6), window=small), tokens=lengths)
def test_a_compressed_cache_holds_a_key_a_stride(span, tokens):
    assert reach.held_positions(span, tokens) == len(compressed(span, tokens))


@pytest.mark.parametrize("span", [Reach(), Reach(top_k=4)])
def test_a_full_or_picking_cache_holds_every_token(span):
    """The indexer may pick any of them, so none can be dropped."""
    assert reach.held_positions(span, 100) == 100


@given(stride=st.sampled_from([1, 2, 4]), new=st.integers(1, 20), context=lengths)
def test_an_indexer_scores_every_earlier_key_before_it_picks(stride, new, context):
    """Every position, or every compressed one; top_k limits what is attended, not what is scored."""
    queries = range(context + 1, context + new + 1)
    expected = sum(query if stride == 1 else query // stride for query in queries)

    assert reach.index_keys(Reach(stride=stride, top_k=3), new=new, context=context) == expected


@pytest.mark.parametrize(
    "span",
    [
        Reach(),
        Reach(window=5),
        Reach(chunk=4),
        Reach(top_k=3),
        Reach(stride=4),
        Reach(stride=4, top_k=2, window=6),
    ],
)
def test_arrays_give_what_numbers_give(span):
    news, contexts = np.array([1.0, 3, 9, 17])[:, None], np.array([0.0, 1, 4, 5, 30])[None, :]

    for function in (reach.pairs, reach.cached_positions, reach.index_keys):
        together = np.broadcast_to(function(span, new=news, context=contexts), (4, 5))
        apart = [[function(span, new=float(n), context=float(c)) for c in contexts[0]] for n in news[:, 0]]
        assert np.array_equal(together, apart), function.__name__

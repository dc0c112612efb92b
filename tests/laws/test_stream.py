"""A stream is read alike however the network cuts it, and no bytes whatever end in a traceback."""

from __future__ import annotations

import contextlib
import json

from hypothesis import given
from hypothesis import strategies as st

from rooflight.probe.endpoint.stream import Fault, Reader

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
ends = st.sampled_from(["\n", "\r\n", "\r"])


@given(texts=st.lists(words, min_size=1, max_size=6), end=ends, data=st.data())
def test_cuts_do_not_matter(texts, end, data):
    chunks = [{"choices": [{"text": one}]} for one in texts] + [{"choices": [{"text": "x", "finish_reason": "stop"}]}]
    events = [f"data: {json.dumps(one, ensure_ascii=False)}{end}{end}" for one in chunks]
    raw = "".join([*events, f"data: [DONE]{end}{end}"]).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=10)))
    whole, pieces = Reader(), Reader()
    whole.feed(raw, 1.0)
    for begin, until in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        pieces.feed(raw[begin:until], 1.0)
    for reader in (whole, pieces):
        reader.close(1.0)

    assert whole.chunks_s == pieces.chunks_s == [1.0] * (len(texts) + 1)
    assert whole.done == pieces.done is True


@given(
    pieces=st.lists(st.binary(max_size=40) | st.sampled_from([b"data: ", b"\n\n", b"{}", b"[DONE]", b'{"choices":']))
)
def test_any_bytes_are_an_answer_or_a_fault(pieces):
    reader = Reader()
    with contextlib.suppress(Fault):
        for piece in pieces:
            reader.feed(piece, 0.0)
        reader.close(0.0)

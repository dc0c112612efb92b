"""Server-sent events in the forms in which servers send them."""

from __future__ import annotations

import json

import pytest

from rooflight.probe.endpoint.stream import Fault, Reader, told


def event(value: object) -> bytes:
    return f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()


def text(words: str | None, reason: str | None = None) -> bytes:
    return event({"choices": [{"text": words, "finish_reason": reason}]})


def delta(reason: str | None = None, **said) -> bytes:
    return event({"choices": [{"delta": said, "finish_reason": reason}]})


def read(pieces: list[bytes]) -> Reader:
    """A whole answer, a piece a second."""
    reader = Reader()
    for second, piece in enumerate(pieces):
        reader.feed(piece, float(second))
    reader.close(99.0)
    return reader


DONE = event("[DONE]")
# A whole answer of two tokens as each engine streams it.
ANSWERS = {
    "vllm": [text("a"), text("b", "length"), event({"choices": [], "usage": {"completion_tokens": 2}}), DONE],
    "llama.cpp": [text("a"), text("b"), text("", "length"), DONE],
    "chat": [delta(role="assistant", content=""), delta(content="a"), delta("stop", content="b"), DONE],
    "null role": [delta(role="assistant", content=None), delta(content="a"), delta(content="b"), delta("stop"), DONE],
    "first with role": [delta(role="assistant", content="a"), delta(content="b"), delta("stop"), DONE],
    "reasoning": [delta(role="assistant"), delta(reasoning_content="a"), delta(reasoning="b"), delta("stop"), DONE],
    "tools": [delta(tool_calls=[{"index": 0}]), delta(tool_calls=[{"index": 0}]), delta("tool_calls"), DONE],
    "half characters": [text(""), text("b"), text("", "stop"), DONE],
    "half characters of a chat": [delta(content=""), delta(content="b"), delta("stop", content=""), DONE],
    "no done": [text("a"), text("b", "stop")],
    "no space, carriage returns": [
        b'data:{"choices":[{"text":"a"}]}\r\n\r\n',
        text("b", "stop"),
        b"data:[DONE]\r\n\r\n",
    ],
    "carriage returns alone": [one.replace(b"\n", b"\r") for one in (text("a"), text("b", "stop"), DONE)],
    "an end cut in two": [b'data: {"choices": [{"text": "a"}]}\r', b"\n\r", b"\n", text("b", "stop"), DONE],
    "comments and names": [b": ping\n\n", b"event: m\nid: 1\nretry: 5\n" + text("a"), text("b", "stop"), DONE],
    "two lines": [b'data: {"choices":\ndata: [{"text": "a"}]}\n\n', text("b", "stop"), DONE],
    "a mark first": [b"\xef\xbb\xbf" + text("a"), text("b", "stop"), DONE],
    "no last line end": [text("a"), text("b", "stop"), b"data: [DONE]"],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_two_tokens_are_two_chunks(name):
    reader = read(ANSWERS[name])

    assert len(reader.chunks_s) == 2
    assert reader.finished
    assert reader.end_s < 90


def test_the_end_is_the_last_word_about_the_answer_and_not_the_count():
    reader = read([text("a"), text("b"), text("", "stop"), event({"usage": {}, "choices": []}), DONE])

    assert reader.chunks_s == [0.0, 1.0]
    assert reader.end_s == 2.0


def test_tokens_are_as_the_server_counts():
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}
    reader = read([text("a b c", "stop"), event({"usage": usage}), DONE])

    assert (reader.prompt_tokens, reader.output_tokens, reader.cached_tokens) == (7, 5, 3)


def test_the_last_count_holds_and_nothing_in_it_is_no_count():
    reader = Reader()
    for count in (
        {"completion_tokens": 1, "prompt_tokens": 4},
        {"completion_tokens": 2, "prompt_tokens_details": None},
    ):
        reader.feed(event({"choices": [{"text": "a", "finish_reason": "stop"}], "usage": count}), 1.0)
    reader.feed(event({"choices": [], "usage": None}) + DONE, 1.0)
    reader.close(1.0)

    assert (reader.prompt_tokens, reader.output_tokens) == (4, 2)


@pytest.mark.parametrize(
    ("pieces", "outcome"),
    [
        ([text("a")], "truncated"),
        ([text("a"), b'data: {"choices": [{"te'], "truncated"),
        ([], "truncated"),
        ([DONE], "empty"),
        ([text("", "stop"), DONE], "empty"),
        ([event("no JSON")], "broken"),
        ([event("[1]")], "broken"),
        ([event({"choices": [{"text": 5}]})], "broken"),
        ([b'{"choices": []}\n'], "broken"),
        ([b"<html>\n"], "broken"),
        ([b"data: \xff\n\n"], "broken"),
        ([event({"error": "out of memory"})], "error"),
        ([event({"object": "error", "message": "out of memory", "code": 400})], "error"),
        ([text("a"), b'error: {"message": "out of memory"}\n'], "error"),
    ],
)
def test_what_is_no_answer_is_a_fault(pieces, outcome):
    with pytest.raises(Fault) as fault:
        read(pieces)
    assert fault.value.outcome == outcome
    assert "out of memory" in fault.value.why or outcome != "error"


def test_what_never_ends_is_not_kept():
    for piece in (b"x" * (1 << 20), b"data: " + b"x" * (1 << 20) + b"\n"):
        with pytest.raises(Fault, match="over"):
            read([piece] * 10)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"error": {"message": "no"}}', "no"),
        (b'{"error": "no"}', "no"),
        (b'{"detail": [{"msg": "no"}]}', "no"),
        (b'{"message": "no"}', "no"),
        (b"plain", "plain"),
        (b"", "nothing"),
        (b"\x1b[31mred", "\\x1b[31mred"),
        (b"[]", "[]"),
    ],
)
def test_what_a_server_says_of_an_error(raw, said):
    assert told(raw) == said

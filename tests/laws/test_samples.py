"""What a killed process leaves of a file of samples costs one line at most, wherever it was cut."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rooflight.errors import BadConfig
from rooflight.ingest.samples import append, read_samples
from rooflight.values.sample import Sample

# What machines give: others are lost lines by themselves, which tests/unit/ingest shows.
AMOUNTS = st.just(0.0) | st.floats(1e-12, 1e30)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
samples = st.lists(
    st.builds(Sample, kind=st.sampled_from(["kernel", "request"]), name=names, flop=st.none() | AMOUNTS),
    min_size=1, max_size=5,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(before=samples, after=samples, cut=st.floats(0, 1))
def test_a_file_cut_anywhere_and_added_to_loses_only_the_cut_line(tmp_path_factory, before, after, cut):
    path = tmp_path_factory.mktemp("samples") / "a.jsonl"
    append(path, before)
    whole = path.read_bytes()
    kept = whole[: round(cut * len(whole))]
    path.write_bytes(kept)
    append(path, after)
    found = read_samples(path)
    full = kept.count(b"\n")
    half = len(kept) - (kept.rfind(b"\n") + 1)
    # a line that lacks nothing but its end is whole
    full += half > 0 and whole[len(kept) : len(kept) + 1] == b"\n"
    assert list(found.samples) == before[:full] + after
    assert [one.line for one in found.lost] == ([full + 1] if half and len(before) > full and kept[-1:] != b"}" else [])


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=300))
def test_any_bytes_in_front_lose_no_sample(tmp_path_factory, data):
    """A byte-order mark would make the rest UTF-16: no process of ours leaves one."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b"):
        return
    path = tmp_path_factory.mktemp("samples") / "a.jsonl"
    path.write_bytes(data)
    one = Sample(kind="kernel", name="a")
    append(path, [one])
    try:
        assert read_samples(path).samples[-1] == one
    except BadConfig as error:
        raise AssertionError(error) from None

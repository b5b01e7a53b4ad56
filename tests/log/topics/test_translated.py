"""Where a reader of one log stands in another: never wrong, and exact where the other is a faithful copy."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.log.format.record import LogRecord
from kgroup.log.topics.translated import Mirrored, Place, Recognised, content_of


def log(contents: Sequence[str], first: int = 0, step: int = 1) -> list[Recognised]:
    return [Recognised(first + step * number, text.encode()) for number, text in enumerate(contents)]


def place(source: str, mirror: str, offset: int) -> Place | None:
    return Mirrored(log(source), log(mirror, 100)).place(offset)


@pytest.mark.parametrize(
    ("source", "mirror", "offset", "expected", "why"),
    [
        ("abcdef", "abcdef", 3, Place(3, 3, 0), "a faithful copy"),
        ("abcdef", "abcdef", 6, Place(6, 6, 0), "all is read"),
        ("abcdef", "abcdef", 0, Place(0, 0, 0), "nothing is read"),
        ("abcdef", "abcd", 3, Place(3, 3, 2), "the copy is behind, and the reader is not"),
        ("abcdef", "abcd", 5, Place(4, 4, 1), "the reader is further than the copy"),
        ("abcdef", "cdef", 4, Place(2, 2, 0), "the copy began later"),
        ("abcdef", "cdef", 1, Place(0, 0, 1), "the reader stands before its beginning"),
        ("aaaa", "aaaa", 2, Place(2, 2, 0), "records that say the same, as often"),
        ("aaaa", "aaa", 2, None, "not as often: nothing is recognised"),
        ("xaaaay", "xaaay", 3, Place(1, 4, 0), "not as often, between others: bounds"),
        ("xaaaay", "xaaaay", 3, Place(3, 3, 0), "as often, between others"),
        ("abcd", "abbcd", 2, Place(1, 3, 0), "a retry wrote one twice"),
        ("abcd", "abbcd", 3, Place(4, 4, 0), "behind what a retry wrote twice"),
        ("abcd", "acd", 2, Place(1, 1, 0), "one was lost, and it was read"),
        ("abcd", "acd", 1, Place(1, 1, 1), "one was lost, and it was not read"),
        ("abcd", "abcdefg", 4, Place(4, 4, 0), "the copy is written to since"),
        ("abcd", "badc", 2, None, "another order"),
        ("abcd", "efgh", 2, None, "another topic"),
    ],
)
def test_a_place_is(source: str, mirror: str, offset: int, expected: Place | None, why: str) -> None:
    assert place(source, mirror, offset) == expected


def test_what_the_source_has_deleted_before_the_place_the_copy_may_still_have() -> None:
    logs = Mirrored(log("cdef", 2), log("abcdef", 100))
    assert logs.place(2) == Place(2, 2, 0)
    assert logs.place(1) == Place(0, 2, 0)


def test_places_have_the_offsets_of_their_own_log() -> None:
    logs = Mirrored(log("abcd"), log("abcd", 100, step=2))
    assert [logs.behind(offset) for offset in (99, 100, 101, 102, 107)] == [0, 0, 1, 1, 4]
    assert [logs.mirror_offset(index, 108) for index in (0, 3, 4)] == [100, 106, 108]


def test_a_mirror_keeps_offsets_if_all_that_is_recognised_has_the_same() -> None:
    assert Mirrored(log("abcd"), log("abc")).keeps_offsets
    assert not Mirrored(log("abcd"), log("abcd", 1)).keeps_offsets
    assert not Mirrored(log("abcd"), log("xyz")).keeps_offsets


def record(timestamp_ms: int, key: bytes | None, value: bytes | None) -> LogRecord:
    return LogRecord(offset=0, timestamp_ms=timestamp_ms, key=key, value=value)


def test_records_are_the_same_by_time_key_and_value() -> None:
    each = [record(1, b"a", b"b"), record(2, b"a", b"b"), record(1, b"ab", b""), record(1, None, b"ab")]
    each += [record(1, b"", b"ab"), record(1, b"ab", None)]
    assert len({content_of(one) for one in each}) == len(each)
    assert content_of(each[0], timed=False) == content_of(each[1], timed=False)


@given(st.data())
def test_the_truth_lies_within_the_bounds(data: st.DataObject) -> None:
    """A copy that lost some, wrote some twice, began later and is behind; the source has deleted some."""
    count = data.draw(st.integers(1, 12))
    copied: list[int] = []
    for number in range(count):
        copied += [number] * data.draw(st.sampled_from([0, 1, 1, 1, 1, 2]))
    copied = copied[data.draw(st.integers(0, 3)) : len(copied) - data.draw(st.integers(0, 3))]
    begins, offset = data.draw(st.integers(0, 3)), data.draw(st.integers(0, count))
    source = [Recognised(number, b"%d" % number) for number in range(begins, count)]
    mirror = [Recognised(500 + index, b"%d" % number) for index, number in enumerate(copied)]
    found = Mirrored(source, mirror).place(offset)
    if found is not None:
        truth = next((index for index, number in enumerate(copied) if number >= offset), len(copied))
        assert found.low <= truth <= found.high


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=12), st.data())
def test_a_faithful_copy_is_exact_whatever_records_say(contents: list[str], data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(contents)))
    assert Mirrored(log(contents), log(contents, 77)).place(offset) == Place(offset, offset, 0)

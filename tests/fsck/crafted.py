"""The crafted partitions, by name: well, or wrong in one way. `beside` commits last in all of them."""

import struct
from collections.abc import Callable
from functools import cache

import google_crc32c

from kgroup.log.format.batch import HEADER_SIZE, Codec
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from tests.fsck.writing import (
    START_MS,
    Consumer,
    Pair,
    Share,
    Streams,
    T,
    Written,
    classic,
    commit,
    member,
    no_classic,
    record,
)

BESIDE = "beside"
"""A group in each of them, whose only commit comes last: does it survive?"""

_CASES: dict[str, Callable[[], Written]] = {}
DAMAGED: set[str] = set()


def _case(function: Callable[[], Written]) -> Callable[[], Written]:
    _CASES[function.__name__.replace("_", "-")] = function
    return function


def _damaged(function: Callable[[], Written]) -> Callable[[], Written]:
    DAMAGED.add(function.__name__.replace("_", "-"))
    return _case(function)


@cache
def crafted() -> dict[str, bytes]:
    """Name -> the bytes of its one segment, which begins at offset 0."""
    made = {name: make() for name, make in _CASES.items()}
    return {name: written.raw for name, written in made.items()}


def _log(*pairs: Pair) -> Written:
    return Written().each(*pairs, commit(BESIDE))


# ---- healthy -----------------------------------------------------------------------------------------


@_case
def commits_only() -> Written:
    return _log(commit("app", 0), commit("app", 1), commit("app", 0, 200), commit("app", 1, None))


@_case
def classic_group() -> Written:
    return _log(classic("app", member("m1")), commit("app"), classic("app"), no_classic("app"))


@_case
def consumer_group() -> Written:
    c = Consumer("app")
    return _log(*c.joined("m1", 2, 0, 1), commit("app"), *c.left("m1"), *c.deleted())


@_case
def consumer_group_with_pattern() -> Written:
    c = Consumer("app")
    return _log(c.pattern(), *c.joined("m1", 2, 0, 1), c.topics(), c.pattern(gone=True))


@_case
def streams_group() -> Written:
    s = Streams("app")
    return _log(*s.joined("m1", 2, 0, 1), commit("app"), *s.left("m1"), *s.deleted())


@_case
def share_group() -> Written:
    s = Share("app")
    return _log(*s.joined("m1"), s.state(), *s.left("m1"), *s.deleted())


@_case
def group_reused_for_commits_only() -> Written:
    """KAFKA-4704: the group was deleted, and somebody commits under its name."""
    return _log(classic("app", member("m1")), commit("app"), no_classic("app"), commit("app", 1))


@_case
def transactions() -> Written:
    log = Written().transaction(7, commit("app")).marker(7, commits=True)
    log.transaction(8, commit("app", 1)).transaction(9, commit("other")).marker(8, commits=False)
    return log.marker(10, commits=True).each(commit("app", 1, None), commit(BESIDE))


@_case
def legacy_commit() -> Written:
    key = OffsetCommitKey(group="app", topic="orders", partition=0)
    value = OffsetCommitValue(offset=100, metadata="", commit_timestamp=START_MS)
    return _log(record(T.LEGACY_OFFSET_COMMIT, key, value))


@_case
def empty() -> Written:
    return Written()


# ---- tombstones of what is not there (KAFKA-17306) ------------------------------------------------------


@_case
def consumer_tombstones_first() -> Written:
    c = Consumer("gone")
    return _log(*c.left("m1"), *c.deleted())


@_case
def consumer_pattern_tombstone_first() -> Written:
    return _log(Consumer("gone").pattern(gone=True))


@_case
def consumer_member_tombstones_first() -> Written:
    c = Consumer("app")
    return _log(*c.left("m0"), *c.joined("m1", 5, 0), *c.left("m2"))


@_case
def consumer_tombstone_of_another_member() -> Written:
    c = Consumer("app")
    return _log(*c.joined("m1", 5, 0), *c.left("m2"))


@_case
def streams_tombstones_first() -> Written:
    s = Streams("gone")
    return _log(*s.left("m1"), *s.deleted())


@_case
def share_tombstones_first() -> Written:
    s = Share("gone")
    return _log(*s.left("m1"), *s.deleted())


@_case
def share_state_tombstone_first() -> Written:
    return _log(Share("gone").state(gone=True))


@_case
def share_tombstone_of_another_member() -> Written:
    s = Share("app")
    return _log(*s.joined("m1"), *s.left("m2"))


@_case
def share_epoch_first() -> Written:
    """As compaction leaves it when the member has changed since."""
    s = Share("app")
    return _log(s.epoch(1), s.target("m1"), s.target_epoch(1), s.current("m1", 1), s.member("m1"))


@_case
def share_current_assignment_first() -> Written:
    s = Share("app")
    return _log(s.current("m1", 1), s.member("m1"))


@_case
def classic_tombstone_first() -> Written:
    return _log(no_classic("gone"), commit("gone", 0, None))


# ---- owners of a partition (KAFKA-19862) ----------------------------------------------------------------


@_case
def partition_moved_and_release_lost() -> Written:
    """Compaction took the record with which m1 let go; its newer one comes later."""
    c = Consumer("app")
    return _log(
        *c.joined("m1", 5, 0, 1),
        c.member("m2"),
        c.current("m2", 6, 1),
        c.current("m1", 6, 0),
    )


@_case
def partition_taken_in_an_older_epoch() -> Written:
    c = Consumer("app")
    return _log(*c.joined("m1", 6, 0, 1), c.member("m2"), c.current("m2", 5, 1))


@_case
def partition_taken_in_the_same_epoch() -> Written:
    c = Consumer("app")
    return _log(*c.joined("m1", 6, 0, 1), c.member("m2"), c.current("m2", 6, 1))


@_case
def partition_owned_and_revoked_at_once() -> Written:
    c = Consumer("app")
    return _log(*c.joined("m1", 6, 0), c.current("m1", 7, 0, revoking=(0,)))


@_case
def partition_handed_on_as_it_should() -> Written:
    c = Consumer("app")
    return _log(
        *c.joined("m1", 5, 0, 1),
        c.member("m2"),
        c.current("m1", 5, 0, revoking=(1,)),
        c.current("m1", 6, 0),
        c.current("m2", 6, 1),
        c.current("m2", 7, 1),
    )


@_case
def task_moved_and_release_lost() -> Written:
    s = Streams("app")
    return _log(
        *s.joined("m1", 5, 0, 1),
        s.member("m2", "p2"),
        s.current("m2", 6, 1),
        s.current("m1", 6, 0),
    )


# ---- kinds of group under one name (KAFKA-20254, KAFKA-21117) ---------------------------------------------


@_case
def commit_before_streams() -> Written:
    return _log(commit("app"), *Streams("app").joined("m1", 2, 0))


@_case
def transaction_before_streams() -> Written:
    log = Written().transaction(7, commit("app")).marker(7, commits=False)
    return log.each(*Streams("app").joined("m1", 2, 0), commit(BESIDE))


@_case
def streams_tombstone_after_commit() -> Written:
    return _log(commit("app"), Streams("app").epoch(None))


@_case
def streams_member_tombstone_after_commit() -> Written:
    return _log(commit("app"), Streams("app").current("m1", None))


@_case
def commit_before_consumer() -> Written:
    return _log(commit("app"), *Consumer("app").joined("m1", 2, 0))


@_case
def consumer_tombstones_after_commit() -> Written:
    c = Consumer("app")
    return _log(commit("app"), *c.left("m1"), *c.deleted())


@_case
def commit_before_share() -> Written:
    return _log(commit("app"), *Share("app").joined("m1"))


@_case
def share_tombstones_after_commit() -> Written:
    s = Share("app")
    return _log(commit("app"), *s.left("m1"), *s.deleted())


@_case
def share_state_tombstone_after_commit() -> Written:
    return _log(commit("app"), Share("app").state(gone=True))


@_case
def classic_members_before_consumer() -> Written:
    return _log(classic("app", member("m1")), *Consumer("app").joined("m2", 2, 0))


@_case
def empty_classic_before_consumer() -> Written:
    return _log(classic("app"), *Consumer("app").joined("m2", 2, 0))


@_case
def empty_classic_before_streams() -> Written:
    return _log(classic("app"), *Streams("app").joined("m2", 2, 0))


@_case
def empty_classic_without_type_before_consumer() -> Written:
    return _log(classic("app", protocol_type=""), *Consumer("app").joined("m2", 2, 0))


@_case
def classic_before_streams_without_type() -> Written:
    return _log(classic("app", protocol_type=""), *Streams("app").joined("m2", 2, 0))


@_case
def upgraded_as_it_should() -> Written:
    c = Consumer("app")
    return _log(classic("app", member("m1")), commit("app"), no_classic("app"), *c.joined("m1", 4, 0))


@_case
def classic_over_consumer() -> Written:
    return _log(*Consumer("app").joined("m1", 2, 0), classic("app", member("m1")), commit("app"))


@_case
def consumer_tombstones_after_classic() -> Written:
    """A downgrade whose tombstones compaction has left behind the classic group's record."""
    c = Consumer("app")
    return _log(classic("app", member("m1")), commit("app"), *c.left("m1"), *c.deleted())


@_case
def consumer_member_tombstone_after_empty_classic() -> Written:
    return _log(classic("app"), Consumer("app").current("m1", None))


@_case
def classic_tombstone_after_consumer() -> Written:
    c = Consumer("app")
    return _log(*c.joined("m1", 2, 0), no_classic("app"), c.current("m1", 3, 0))


@_case
def consumer_over_streams() -> Written:
    return _log(*Streams("app").joined("m1", 2, 0), *Consumer("app").joined("m1", 2, 0))


@_case
def streams_over_consumer() -> Written:
    return _log(*Consumer("app").joined("m1", 2, 0), *Streams("app").joined("m1", 2, 0))


@_case
def share_over_consumer() -> Written:
    return _log(*Consumer("app").joined("m1", 2, 0), *Share("app").joined("m1"))


@_case
def commits_of_consumer_and_classic() -> Written:
    return _log(*Consumer("app").joined("m1", 2, 0), commit("app"), commit("app", 1, None))


# ---- deleted before what belongs to it ------------------------------------------------------------------


@_case
def consumer_group_deleted_with_members() -> Written:
    c = Consumer("app")
    return _log(c.member("m1"), c.epoch(2), c.epoch(None))


@_case
def consumer_group_deleted_with_target() -> Written:
    c = Consumer("app")
    return _log(c.epoch(2), c.target("m1", 0), c.epoch(None))


@_case
def consumer_group_deleted_with_target_epoch() -> Written:
    c = Consumer("app")
    return _log(c.epoch(2), c.target_epoch(2), c.epoch(None))


@_case
def consumer_member_deleted_with_assignment() -> Written:
    c = Consumer("app")
    return _log(c.member("m1"), c.current("m1", 2, 0), c.member("m1", gone=True))


@_case
def consumer_member_deleted_that_never_had_an_assignment() -> Written:
    c = Consumer("app")
    return _log(c.member("m1"), c.member("m1", gone=True))


@_case
def consumer_member_deleted_with_target() -> Written:
    c = Consumer("app")
    return _log(*c.joined("m1", 2, 0), c.current("m1", None), c.member("m1", gone=True))


@_case
def consumer_target_epoch_deleted_with_targets() -> Written:
    c = Consumer("app")
    return _log(c.epoch(2), c.target("m1", 0), c.target_epoch(2), c.target_epoch(None))


@_case
def streams_group_deleted_with_members() -> Written:
    s = Streams("app")
    return _log(*s.joined("m1", 2, 0), s.target_epoch(None), s.epoch(None))


@_case
def streams_group_deleted_with_target() -> Written:
    s = Streams("app")
    return _log(s.epoch(2), s.target("m1", 0), s.epoch(None))


@_case
def streams_member_deleted_with_assignment() -> Written:
    s = Streams("app")
    return _log(*s.joined("m1", 2, 0), s.target("m1", gone=True), s.member("m1", gone=True))


@_case
def streams_member_deleted_that_never_had_an_assignment() -> Written:
    s = Streams("app")
    return _log(s.member("m1", "p1"), s.member("m1", gone=True))


@_case
def share_group_deleted_with_members() -> Written:
    s = Share("app")
    return _log(s.member("m1"), s.epoch(1), s.epoch(None))


@_case
def share_member_deleted_with_assignment() -> Written:
    s = Share("app")
    return _log(s.member("m1"), s.current("m1", 1), s.member("m1", gone=True))


@_case
def share_member_deleted_that_never_had_an_assignment() -> Written:
    s = Share("app")
    return _log(s.member("m1"), s.member("m1", gone=True))


# ---- types and versions ---------------------------------------------------------------------------------


@_case
def unknown_type() -> Written:
    return _log((b"\0\x63\0\3app", b"\0\0xyz"), (b"\0\x63\0\3app", None))


@_case
def type_18() -> Written:
    return _log((b"\0\x12\0\3app", b"\0\0\0"))


@_case
def type_9_tombstone() -> Written:
    return _log((b"\0\x09\0\3app", None))


@_case
def type_9_after_its_group() -> Written:
    return _log(*Share("app").joined("m1"), (b"\0\x09\0\3app", None))


@_case
def commit_of_a_later_version() -> Written:
    key, value = commit("app")
    assert value is not None
    return _log((key, b"\0\5" + value[2:]))


@_case
def group_of_a_later_version() -> Written:
    key, value = classic("app", member("m1"))
    assert value is not None
    return _log((key, b"\0\5" + value[2:]))


@_case
def epoch_of_a_later_version() -> Written:
    key, value = Consumer("app").epoch(2)
    assert value is not None
    return _log((key, b"\0\1" + value[2:]))


@_case
def legacy_commit_of_version_1() -> Written:
    key, _ = commit("app")
    assert key is not None
    return _log((b"\0\0" + key[2:], struct.pack(">hqhqq", 1, 100, 0, 1, -1)))


@_case
def commit_cut_short() -> Written:
    key, value = commit("app")
    assert value is not None
    return _log((key, value[:9]))


@_case
def commit_with_more_behind() -> Written:
    key, value = commit("app")
    assert value is not None
    return _log((key, value + b"more"))


@_case
def value_without_version() -> Written:
    key, _ = commit("app")
    return _log((key, b"\0"))


@_case
def value_of_no_bytes() -> Written:
    key, _ = commit("app")
    return _log((key, b""))


@_case
def no_key() -> Written:
    return _log((None, b"value"))


@_case
def key_of_one_byte() -> Written:
    return _log((b"\0", b"value"))


@_case
def key_cut_short() -> Written:
    return _log((b"\0\1\0\x0aapp", None))


@_case
def members_of_one_instance() -> Written:
    return _log(classic("app", member("m1", instance="i"), member("m2", instance="i")))


@_case
def members_without_protocol() -> Written:
    return _log(classic("app", member("m1"), member("m2"), protocol=None))


@_case
def members_without_protocol_type() -> Written:
    return _log(classic("app", member("m1"), member("m2"), protocol_type=""))


@_case
def subscription_of_no_bytes() -> Written:
    return _log(classic("app", member("m1", subscription=b"")))


@_case
def subscription_cut_short() -> Written:
    return _log(classic("app", member("m1", subscription=b"\0\0\0\0\0\1\0\x20or")))


@_case
def subscription_with_null_topics() -> Written:
    return _log(classic("app", member("m1", subscription=b"\0\0\xff\xff\xff\xff\xff\xff\xff\xff")))


@_case
def marker_of_another_type() -> Written:
    return Written().marker(7, commits=True, key=b"\0\0\0\5").each(commit(BESIDE))


@_case
def marker_with_a_short_key() -> Written:
    return Written().marker(7, commits=True, key=b"\0").each(commit(BESIDE))


# ---- damage ---------------------------------------------------------------------------------------------


def _three() -> Written:
    return Written().each(commit("app", 0), commit("app", 1), commit("app", 2), commit(BESIDE))


def _changed(batch: int, at: int, to: bytes) -> Written:
    log = _three()
    raw = bytearray(log.batches[batch])
    raw[at : at + len(to)] = to
    log.batches[batch] = bytes(raw)
    return log


@_damaged
def flipped_byte_in_a_value() -> Written:
    log = _three()
    raw = bytearray(log.batches[1])
    at = bytes(raw).index(struct.pack(">q", 100), HEADER_SIZE)
    raw[at + 7] ^= 0x40
    log.batches[1] = bytes(raw)
    return log


@_damaged
def flipped_byte_in_a_value_version() -> Written:
    log = _three()
    raw = bytearray(log.batches[1])
    at = bytes(raw).index(struct.pack(">q", 100), HEADER_SIZE)
    raw[at - 1] ^= 0x40
    log.batches[1] = bytes(raw)
    return log


@_damaged
def flipped_byte_in_the_crc() -> Written:
    return _changed(1, 17, b"\1\2\3\4")


@_damaged
def cut_short_at_the_end() -> Written:
    log = _three()
    log.batches[-1] = log.batches[-1][:-10]
    return log


@_damaged
def cut_short_in_the_last_header() -> Written:
    log = _three()
    log.batches[-1] = log.batches[-1][:9]
    return log


@_damaged
def zeros_at_the_end() -> Written:
    return _three().bytes_between(bytes(300))


@_damaged
def foreign_bytes_between() -> Written:
    log = _three()
    log.batches.insert(2, b"\x5a" * 100)
    return log


@_damaged
def zeros_between() -> Written:
    log = _three()
    log.batches.insert(2, bytes(100))
    return log


@_damaged
def length_too_small() -> Written:
    return _changed(1, 8, struct.pack(">i", 3))


@_damaged
def length_too_large() -> Written:
    return _changed(1, 8, struct.pack(">i", 1 << 20))


@_damaged
def length_negative() -> Written:
    return _changed(1, 8, struct.pack(">i", -5))


@_damaged
def magic_of_the_future() -> Written:
    return _changed(1, 16, b"\7")


@_damaged
def offset_goes_back() -> Written:
    return _changed(2, 0, struct.pack(">q", 0))


@_damaged
def offset_far_ahead() -> Written:
    return _changed(2, 0, struct.pack(">q", 5000))


@_damaged
def more_records_than_there_are() -> Written:
    return _recounted(3)


@_damaged
def fewer_records_than_there_are() -> Written:
    return _recounted(0)


def _recounted(count: int) -> Written:
    log = _three()
    raw = bytearray(log.batches[1])
    raw[57:61] = struct.pack(">i", count)
    raw[17:21] = google_crc32c.value(bytes(raw[21:])).to_bytes(4, "big")
    log.batches[1] = bytes(raw)
    return log


@_damaged
def broken_compression() -> Written:
    log = Written().each(commit("app", 0)).batch(*[commit("app", n) for n in range(20)], codec=Codec.GZIP)
    raw = bytearray(log.batches[1])
    raw[HEADER_SIZE + 15 : HEADER_SIZE + 45] = b"\x99" * 30
    raw[17:21] = google_crc32c.value(bytes(raw[21:])).to_bytes(4, "big")
    log.batches[1] = bytes(raw)
    return log.each(commit("app", 2), commit(BESIDE))

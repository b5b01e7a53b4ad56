"""What counts of a log, transactions settled: Kafka 4.x's `OffsetMetadataManager`."""

import pytest

from kgroup.history.groups.newest import NewestEntries
from kgroup.protocol.records.entries import (
    LoggedEntry,
    OffsetsEntry,
    RecordType,
    TransactionMarker,
    Undecodable,
)
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue

ORDERS_0 = OffsetCommitKey(group="billing", topic="orders", partition=0)
ORDERS_1 = OffsetCommitKey(group="billing", topic="orders", partition=1)


class Log:
    """Writes entries to one offsets partition and says what counts."""

    def __init__(self, newest=None, partition=7):
        self.newest = newest or NewestEntries()
        self.partition = partition
        self.offset = 0

    def append(self, entry, *, producer=None, offset=None):
        self.offset = self.offset + 1 if offset is None else offset
        logged = LoggedEntry(
            partition=self.partition,
            offset=self.offset,
            timestamp_ms=0,
            leader_epoch=0,
            producer_id=producer,
            entry=entry,
        )
        self.newest.add(logged)
        return self

    def commit(self, committed, *, key=ORDERS_0, producer=None, offset=None):
        value = OffsetCommitValue(offset=committed, metadata="", commit_timestamp=0)
        entry = OffsetsEntry(type=RecordType.OFFSET_COMMIT, key=key, value=value, value_version=3)
        return self.append(entry, producer=producer, offset=offset)

    def tombstone(self, *, key=ORDERS_0, producer=None):
        entry = OffsetsEntry(type=RecordType.OFFSET_COMMIT, key=key, value=None, value_version=None)
        return self.append(entry, producer=producer)

    def end(self, producer, *, committed):
        marker = TransactionMarker(
            producer_id=producer, producer_epoch=0, committed=committed, coordinator_epoch=0
        )
        return self.append(marker, producer=producer)

    def counts(self):
        return {logged.entry.key: logged.entry.value.offset for logged in self.newest.commits()}

    def waits(self):
        return {logged.entry.key: logged.entry.value.offset for logged in self.newest.pending()}


def test_the_newest_commit_of_a_partition_counts():
    assert Log().commit(5).commit(3, key=ORDERS_1).commit(6).counts() == {ORDERS_0: 6, ORDERS_1: 3}


def test_a_tombstone_removes():
    assert Log().commit(5).tombstone().counts() == {}


def test_a_commit_after_a_tombstone_counts():
    assert Log().commit(5).tombstone().commit(2).counts() == {ORDERS_0: 2}


def test_an_open_transaction_does_not_count_and_is_pending():
    log = Log().commit(5).commit(9, producer=1)
    assert (log.counts(), log.waits()) == ({ORDERS_0: 5}, {ORDERS_0: 9})


def test_a_committed_transaction_counts():
    log = Log().commit(5).commit(8, producer=1).commit(9, producer=1).end(1, committed=True)
    assert (log.counts(), log.waits()) == ({ORDERS_0: 9}, {})


def test_an_aborted_transaction_never_counts():
    log = Log().commit(5).commit(9, producer=1).end(1, committed=False)
    assert (log.counts(), log.waits()) == ({ORDERS_0: 5}, {})


def test_a_marker_ends_the_transaction_of_its_own_producer_only():
    log = Log().commit(8, producer=1).commit(9, producer=2).end(1, committed=True)
    assert (log.counts(), log.waits()) == ({ORDERS_0: 8}, {ORDERS_0: 9})


def test_a_marker_ends_transactions_of_its_own_offsets_partition_only():
    newest = NewestEntries()
    Log(newest, partition=7).commit(8, producer=1)
    other = Log(newest, partition=8).commit(3, key=ORDERS_1, producer=1).end(1, committed=True)
    assert (other.counts(), other.waits()) == ({ORDERS_1: 3}, {ORDERS_0: 8})


def test_a_marker_without_a_transaction_is_passed_over():
    assert Log().commit(5).end(1, committed=True).counts() == {ORDERS_0: 5}


def test_the_place_of_the_record_decides_and_not_the_place_of_the_marker():
    log = Log().commit(9, producer=1).commit(5).end(1, committed=True)
    assert log.counts() == {ORDERS_0: 5}


def test_an_older_transactional_commit_does_not_undo_a_tombstone():
    log = Log().commit(9, producer=1).tombstone()
    assert log.waits() == {}
    assert log.end(1, committed=True).counts() == {}


def test_a_tombstone_acts_at_once_even_inside_a_transaction():
    assert Log().commit(5).tombstone(producer=1).counts() == {}


def test_an_older_record_that_comes_later_does_not_count():
    assert Log().commit(5, offset=10).commit(3, offset=9).counts() == {ORDERS_0: 5}


def test_entries_of_other_types_count_at_once():
    log = Log()
    value = GroupMetadataValue(protocol_type="consumer", generation=1, protocol=None, leader=None, members=())
    key = GroupMetadataKey(group="billing")
    log.append(
        OffsetsEntry(type=RecordType.GROUP_METADATA, key=key, value=value, value_version=3), producer=1
    )
    assert [logged.entry.value for logged in log.newest.others()] == [value]
    log.append(OffsetsEntry(type=RecordType.GROUP_METADATA, key=key, value=None, value_version=None))
    assert list(log.newest.others()) == []


@pytest.mark.parametrize("key", [None, b"\x00\x09"])
def test_what_cannot_be_decoded_is_no_one_s_newest(key):
    log = Log().append(Undecodable(key=key, value=None, key_version=None, value_version=None, why="so"))
    assert (list(log.newest.commits()), list(log.newest.others())) == ([], [])

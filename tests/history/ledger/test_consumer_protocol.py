"""The ledger of groups whose broker assigns (KIP-848): readings begin and end with members' own records."""

from uuid import UUID

from kgroup.history.ledger.ledger import ledgers
from kgroup.history.ledger.model import LedgerCause, LedgerKind
from kgroup.protocol.records.consumer_group import TopicPartitions
from kgroup.protocol.records.entries import RecordType
from kgroup.protocol.records.keys import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
)
from kgroup.protocol.records.values import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
)
from tests.history.group_log import GROUP, GroupLog, member
from tests.history.ledger.test_ledger import Bounds, Topic

T = UUID(int=7)
DOUBLED = LedgerKind.DOUBLED


class BrokersLog(GroupLog):
    """Records of members of the consumer protocol, too."""

    def joins(self, at, name):
        value = ConsumerGroupMemberMetadataValue(
            instance_id=None,
            rack_id=None,
            client_id=name,
            client_host="/10.0.0.1",
            subscribed_topic_names=("t",),
            subscribed_topic_regex=None,
            server_assignor=None,
            classic_member_metadata=None,
        )
        key = ConsumerGroupMemberMetadataKey(group_id=GROUP, member_id=f"{name}-id")
        self._write(at, RecordType.CONSUMER_GROUP_MEMBER_METADATA, key, value)

    def leaves(self, at, name):
        self.owns(at, name, None)
        key = ConsumerGroupMemberMetadataKey(group_id=GROUP, member_id=f"{name}-id")
        self._write(at, RecordType.CONSUMER_GROUP_MEMBER_METADATA, key, None)

    def owns(self, at, name, partitions, epoch=1):
        value = None
        if partitions is not None:
            value = ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=epoch,
                previous_member_epoch=epoch - 1,
                state=0,
                assigned_partitions=(TopicPartitions(topic_id=T, partitions=partitions),),
                partitions_pending_revocation=(),
            )
        key = ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id=f"{name}-id")
        self._write(at, RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, key, value)


def entries(log, *ends):
    made = ledgers(log.entries, {T: "t"}, Bounds(Topic(0, list(ends))))[GROUP].entries
    return [
        (each.kind, each.partition.partition, each.from_offset, each.to_offset, each.is_certain, each.cause)
        for each in made
        if each.cause is not LedgerCause.FIRST_COMMIT
    ]


def reading():
    """Two members, of which `a` reads partition 0 and `b` partition 1, 10 records a second, until 10."""
    log = BrokersLog()
    log.joins(0, "a")
    log.joins(0, "b")
    log.owns(0, "a", (0,))
    log.owns(0, "b", (1,))
    log.commits(2, 10, 2, 0, 1)
    return log


def test_who_keeps_a_partition_reads_on_through_another_ones_epochs():
    log = reading()
    log.owns(12, "a", (0,), 2)
    log.commits(14, 20, 2, 0, 1)
    assert entries(log, (5, 50), (20, 200)) == []


def test_what_passes_from_one_member_to_another_may_double_what_was_written_by_then():
    log = reading()
    log.owns(20, "b", (), 2)
    log.owns(20, "a", (0, 1), 2)
    log.commit(22, 1, 210)
    assert entries(log, (10, 100), (20, 150), (25, 300)) == [
        (DOUBLED, 1, 100, 150, False, LedgerCause.HAND_OVER)
    ]


def test_a_member_that_is_gone_has_read_no_more():
    """Its partition has nobody for a while; what was written meanwhile it was not given."""
    log = reading()
    log.leaves(12, "b")
    log.owns(40, "a", (0, 1), 2)
    log.commit(42, 1, 500)
    assert entries(log, (10, 100), (12, 120), (40, 400), (45, 600)) == [
        (DOUBLED, 1, 100, 120, False, LedgerCause.HAND_OVER)
    ]


def test_who_stays_reads_on_when_another_member_leaves():
    log = reading()
    log.leaves(12, "b")
    log.commit(14, 0, 140)
    log.commit(16, 0, 160)
    assert entries(log, (5, 50), (20, 200)) == []


def test_a_group_that_is_upgraded_begins_anew():
    """Classic members' partitions are theirs no more, though one has the same id."""
    log = BrokersLog()
    log.generation(0, 1, member("a", 0))
    log.commits(2, 10, 2, 0)
    log.joins(20, "a")
    log.owns(20, "a", (0,), 2)
    log.commit(22, 0, 210)
    assert entries(log, (10, 100), (20, 150), (25, 300)) == [
        (DOUBLED, 0, 100, 150, False, LedgerCause.REJOIN)
    ]


def test_a_group_without_members_has_its_offset_set():
    log = reading()
    log.leaves(12, "a")
    log.leaves(12, "b")
    log.commit(60, 1, 40)
    log.joins(70, "a")
    log.owns(70, "a", (0, 1), 2)
    log.commit(72, 1, 90)
    log.commit(74, 1, 120)
    assert (DOUBLED, 1, 40, 100, True, LedgerCause.ADMIN_RESET) in entries(
        log, (10, 100), (12, 100), (80, 800)
    )

"""Offsets of a group: what is committed, pending, read, deleted and expired, and what a reload keeps.

The rules are those of OffsetMetadataManager of Kafka 4.3.
"""

from dataclasses import replace
from uuid import UUID

import pytest

from kgroup.group.coordinator.offsets import FetchTopic
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import OffsetsRecord, Request, Step
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, TransactionMarker
from kgroup.protocol.records.keys import GroupMetadataKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    DeleteGroups,
    DeleteGroupsResponse,
    EndTransaction,
    FetchedOffset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetDelete,
    OffsetDeleteResponse,
    PartitionsDeleted,
    RequestBody,
    TxnOffsetCommit,
)
from tests.group.coordinator.script import GROUP, ScriptWorld, stable

E = ErrorCode
DAY_MS = 86_400_000
HOUR_MS = 3_600_000
FIRST_ID, SECOND_ID = UUID(int=1), UUID(int=2)
RETAINED = GroupSettings(
    initial_rebalance_delay_ms=0, offsets_retention_ms=DAY_MS, offsets_retention_check_interval_ms=HOUR_MS
)
SESSION = "session=1800000"


def sent(world: ScriptWorld, body: RequestBody) -> Step:
    """The step of a request; its records are in the world's log afterwards."""
    world.unanswered[999] = ("-", body)
    step = world.coordinator.handle(Request(id=999, body=body, client_id="c", client_host="/h"), world.now_ms)
    world._take(step)
    return step


def committed(
    offset: int,
    *,
    topic_id: UUID | None = None,
    epoch: int = -1,
    metadata: str | None = "",
    partition: int = 0,
) -> CommitTopic:
    return CommitTopic(
        name="orders",
        topic_id=topic_id,
        partitions=(
            CommitPartition(
                partition_index=partition,
                committed_offset=offset,
                committed_leader_epoch=epoch,
                committed_metadata=metadata,
            ),
        ),
    )


def plain(*topics: CommitTopic, retention_ms: int = -1) -> OffsetCommit:
    return OffsetCommit(
        group_id=GROUP,
        generation_id=-1,
        member_id="",
        group_instance_id=None,
        retention_time_ms=retention_ms,
        topics=topics,
    )


def read(
    world: ScriptWorld, *, topic_id: UUID | None = None, stable: bool = False, partition: int = 0
) -> FetchedOffset:
    """What a fetch of one named partition gives."""
    topics = (FetchTopic(name="orders", topic_id=topic_id, partition_indexes=(partition,)),)
    [topic] = world.coordinator.fetch_offsets(GROUP, topics, stable)
    [offset] = topic.offsets
    return offset


def tombstones(lines: list[str]) -> list[str]:
    return [line for line in lines if "tombstone" in line]


# ---- one commit ---------------------------------------------------------------------------------------


def test_a_commit_is_read_back_as_it_was_made() -> None:
    world = ScriptWorld()
    sent(world, plain(committed(5, epoch=7, metadata="here", topic_id=FIRST_ID)))
    for _ in range(2):
        assert read(world) == FetchedOffset(
            partition_index=0, committed_offset=5, committed_leader_epoch=7, metadata="here"
        )
        world.run("reload")


def test_the_record_of_a_commit_has_version_4_with_all_that_was_said() -> None:
    world = ScriptWorld(now_ms=1234)
    [record] = sent(world, plain(committed(5, epoch=7, metadata=None, topic_id=FIRST_ID))).records()
    entry = record.entry
    assert isinstance(entry, OffsetsEntry) and isinstance(entry.value, OffsetCommitValue)
    assert entry.value_version == 4
    assert entry.value == OffsetCommitValue(
        offset=5, leader_epoch=7, metadata="", commit_timestamp=1234, expire_timestamp=-1, topic_id=FIRST_ID
    )
    assert record.timestamp_ms == 1234


def test_the_record_of_a_commit_with_a_retention_has_version_1_that_can_say_so() -> None:
    world = ScriptWorld(now_ms=1000)
    [record] = sent(world, plain(committed(5, epoch=7, topic_id=FIRST_ID), retention_ms=500)).records()
    entry = record.entry
    assert isinstance(entry, OffsetsEntry) and isinstance(entry.value, OffsetCommitValue)
    assert entry.value_version == 1
    assert entry.value == OffsetCommitValue(
        offset=5, leader_epoch=-1, metadata="", commit_timestamp=1000, expire_timestamp=1500, topic_id=None
    )


def test_nothing_is_read_of_a_partition_that_nobody_committed() -> None:
    world = ScriptWorld()
    sent(world, plain(committed(5)))
    assert read(world, partition=1) == FetchedOffset(
        partition_index=1, committed_offset=-1, committed_leader_epoch=-1, metadata=""
    )


@pytest.mark.parametrize(
    ("at_commit", "at_fetch", "offset"),
    [
        (FIRST_ID, FIRST_ID, 5),
        (FIRST_ID, SECOND_ID, -1),  # the topic was deleted and made anew
        (FIRST_ID, None, 5),
        (None, SECOND_ID, 5),
    ],
)
def test_an_offset_of_another_topic_of_that_name_is_none(
    at_commit: UUID | None, at_fetch: UUID | None, offset: int
) -> None:
    world = ScriptWorld()
    sent(world, plain(committed(5, topic_id=at_commit)))
    assert read(world, topic_id=at_fetch).committed_offset == offset
    world.run("reload")
    assert read(world, topic_id=at_fetch).committed_offset == offset


def test_metadata_may_be_as_long_as_the_limit_and_a_longer_one_stops_its_partition_only() -> None:
    world = ScriptWorld(GroupSettings(offset_metadata_max_bytes=4))
    topic = CommitTopic(
        name="orders",
        topic_id=None,
        partitions=tuple(
            CommitPartition(
                partition_index=index,
                committed_offset=index,
                committed_leader_epoch=-1,
                committed_metadata=text,
            )
            for index, text in enumerate(["1234", "12345", "12", None])
        ),
    )
    step = sent(world, plain(topic))
    [answer] = [reply.body for reply in step.replies]
    assert isinstance(answer, OffsetCommitResponse)
    [result] = answer.topics
    assert [(each.partition_index, each.error_code) for each in result.partitions] == [
        (0, E.NONE),
        (1, E.OFFSET_METADATA_TOO_LARGE),
        (2, E.NONE),
        (3, E.NONE),
    ]
    assert [read(world, partition=index).committed_offset for index in range(4)] == [0, -1, 2, 3]


# ---- transactions -------------------------------------------------------------------------------------


def in_transaction(producer_id: int, *topics: CommitTopic, epoch: int = 3) -> TxnOffsetCommit:
    return TxnOffsetCommit(
        group_id=GROUP,
        producer_id=producer_id,
        producer_epoch=epoch,
        generation_id=-1,
        member_id="",
        group_instance_id=None,
        topics=topics,
    )


def test_a_transactions_records_carry_its_producer_and_its_marker_the_coordinators_epoch() -> None:
    world = ScriptWorld()
    [record] = sent(world, in_transaction(7, committed(5), epoch=3)).records()
    assert (record.producer_id, record.producer_epoch) == (7, 3)
    end = EndTransaction(producer_id=7, producer_epoch=4, committed=True, coordinator_epoch=9)
    [marker] = sent(world, end).append
    assert marker == OffsetsRecord(
        entry=TransactionMarker(producer_id=7, producer_epoch=4, committed=True, coordinator_epoch=9),
        timestamp_ms=0,
        producer_id=7,
        producer_epoch=4,
    )


def test_a_stable_fetch_of_a_pending_offset_is_put_off_and_another_is_not() -> None:
    """KIP-447: UNSTABLE_OFFSET_COMMIT for those partitions only, and only who requires it."""
    world = ScriptWorld()
    world.play("commit - orders/0=1 orders/1=1", "txn-commit - producer=7 orders/0=5")
    for _ in range(2):
        assert read(world, stable=True).error_code is E.UNSTABLE_OFFSET_COMMIT
        assert read(world, stable=True, partition=1).committed_offset == 1
        assert (read(world).error_code, read(world).committed_offset) == (E.NONE, 1)
        world.run("reload")
    world.run("end-txn - producer=7 commit")
    assert read(world, stable=True).committed_offset == 5


def test_a_pending_offset_without_a_committed_one_is_unstable_too() -> None:
    world = ScriptWorld()
    world.run("txn-commit - producer=7 orders/0=5")
    assert read(world, stable=True).error_code is E.UNSTABLE_OFFSET_COMMIT
    assert read(world).committed_offset == -1


def test_one_producers_marker_leaves_the_others_transaction_open() -> None:
    world = ScriptWorld()
    world.play("txn-commit - producer=7 orders/0=5", "txn-commit - producer=8 orders/0=6 orders/1=6")
    world.run("end-txn - producer=7 commit")
    assert read(world, stable=True).error_code is E.UNSTABLE_OFFSET_COMMIT
    assert read(world).committed_offset == 5
    world.run("end-txn - producer=8 commit")
    assert (read(world, stable=True).committed_offset, read(world, partition=1).committed_offset) == (6, 6)


@pytest.mark.parametrize("reloads", [(), ("reload",)])
def test_the_newest_record_counts_whenever_its_marker_came(reloads: tuple[str, ...]) -> None:
    world = ScriptWorld()
    world.play("txn-commit - producer=7 orders/0=50", *reloads, "commit - orders/0=3", *reloads)
    world.play("end-txn - producer=7 commit", *reloads)
    assert read(world).committed_offset == 3
    world.play("txn-commit - producer=8 orders/0=60", *reloads, "end-txn - producer=8 commit")
    assert read(world).committed_offset == 60
    # The transaction that wrote first is ended last.
    world.play("txn-commit - producer=1 orders/0=70", "txn-commit - producer=2 orders/0=80", *reloads)
    world.play("end-txn - producer=2 commit", *reloads, "end-txn - producer=1 commit")
    assert read(world).committed_offset == 80


def test_a_producer_may_commit_twice_and_in_several_transactions() -> None:
    world = ScriptWorld()
    world.play("txn-commit - producer=7 orders/0=5", "txn-commit - producer=7 orders/0=6 orders/1=1")
    world.run("end-txn - producer=7 commit")
    assert read(world).committed_offset == 6
    world.play("txn-commit - producer=7 orders/0=9", "end-txn - producer=7 abort")
    assert (read(world, stable=True).committed_offset, read(world, partition=1).committed_offset) == (6, 1)


def test_a_group_of_nothing_but_pending_offsets_is_there_also_after_a_reload() -> None:
    world = ScriptWorld()
    world.run("txn-commit - producer=7 orders/0=5")
    for _ in range(2):
        assert world.coordinator.describe(GROUP).group_state == "Empty"
        world.run("reload")


def test_a_marker_settles_the_offsets_of_every_group() -> None:
    world = ScriptWorld()
    for group_id in ("g", "h", "i"):
        body = in_transaction(7, committed(5))
        sent(world, replace(body, group_id=group_id))
    sent(world, EndTransaction(producer_id=7, producer_epoch=3, committed=True))
    for group_id in ("g", "h", "i"):
        [topic] = world.coordinator.fetch_offsets(group_id, None, True)
        assert topic.offsets[0].committed_offset == 5


def test_a_marker_of_a_producer_without_offsets_here_changes_nothing() -> None:
    world = ScriptWorld()
    world.play("commit - orders/0=1", "end-txn - producer=99 commit")
    assert read(world, stable=True).committed_offset == 1


# ---- deletion -----------------------------------------------------------------------------------------


def test_an_offset_deleted_during_a_transaction_does_not_come_back_with_its_marker() -> None:
    world = ScriptWorld()
    world.play("commit - orders/0=1", "txn-commit - producer=7 orders/0=5", "delete-offsets - orders")
    assert read(world, stable=True).committed_offset == -1
    world.run("end-txn - producer=7 commit")
    assert read(world).committed_offset == -1


def test_a_pending_offset_can_be_deleted() -> None:
    world = ScriptWorld()
    world.run("txn-commit - producer=7 orders/0=5")
    assert tombstones(world.run("delete-offsets - orders")) == ["log orders-0 tombstone"]
    world.run("end-txn - producer=7 commit")
    assert read(world).committed_offset == -1


def test_the_pending_offsets_of_a_deleted_group_do_not_come_back() -> None:
    world = ScriptWorld()
    world.play("commit - orders/1=1", "txn-commit - producer=7 orders/0=5")
    assert tombstones(world.run("delete-group")) == [
        "log orders-1 tombstone",
        "log orders-0 tombstone",
        "log group tombstone",
    ]
    world.run("end-txn - producer=7 commit")
    assert world.run("offsets") == []


def test_topics_that_are_gone_take_pending_offsets_along_in_groups_that_have_no_others() -> None:
    world = ScriptWorld()
    world.run("txn-commit - producer=7 orders/0=5 other/0=6")
    sent(world, PartitionsDeleted(topics=("orders",)))
    world.run("end-txn - producer=7 commit")
    assert world.run("offsets") == ["other-0 offset=6"]


def test_groups_that_cannot_be_deleted_do_not_keep_the_others() -> None:
    world = stable("m1")
    other = plain(committed(5))
    sent(world, replace(other, group_id="h"))
    step = sent(world, DeleteGroups(group_ids=(GROUP, "ghost", "h")))
    [answer] = [reply.body for reply in step.replies]
    assert isinstance(answer, DeleteGroupsResponse)
    assert [(each.group_id, each.error_code) for each in answer.results] == [
        (GROUP, E.NON_EMPTY_GROUP),
        ("ghost", E.GROUP_ID_NOT_FOUND),
        ("h", E.NONE),
    ]
    assert world.coordinator.fetch_offsets("h", None, False) == []


def test_offsets_that_members_read_stay_and_nothing_else_is_said_of_the_others() -> None:
    world = stable("m1 topics=orders")
    world.run("commit m1 generation=1 orders/0=5 other/0=6")
    assert world.run("delete-offsets - orders other ghost") == [
        "log other-0 tombstone",
        "reply - OffsetDelete NONE orders-0:GROUP_SUBSCRIBED_TO_TOPIC other-0:NONE ghost-0:NONE",
    ]
    assert world.run("offsets") == ["orders-0 offset=5"]


def test_each_partition_of_a_deletion_is_answered() -> None:
    world = ScriptWorld()
    world.run("commit - orders/0=1 orders/2=1")
    body = OffsetDelete(group_id=GROUP, topics=(("orders", (0, 1, 2)), ("other", (5,))))
    [answer] = [reply.body for reply in sent(world, body).replies]
    assert isinstance(answer, OffsetDeleteResponse)
    assert [(topic.name, [each.partition_index for each in topic.partitions]) for topic in answer.topics] == [
        ("orders", [0, 1, 2]),
        ("other", [5]),
    ]
    assert world.run("offsets") == []


def test_whatever_some_member_reads_stays() -> None:
    for first, second in (("orders", "other"), ("other", "orders")):
        world = stable(f"m1 topics={first}", f"m2 topics={second}")
        world.run("commit m1 generation=1 orders/0=5 other/0=6 third/0=7")
        assert tombstones(world.run("delete-offsets - orders other third")) == ["log third-0 tombstone"]


def test_one_member_whose_subscription_is_not_known_may_read_everything() -> None:
    """computeSubscribedTopics gives nothing then, and consumers without known topics count as reading all."""
    for first, second in (("raw=", "topics=orders"), ("topics=orders", "raw=")):
        world = stable(f"m1 {first}", f"m2 {second}")
        world.run("commit m1 generation=1 orders/0=5 other/0=6")
        assert tombstones(world.run("delete-offsets - orders other")) == []


def test_what_is_read_is_known_while_the_leader_assigns() -> None:
    world = stable("m1 topics=orders")
    world.run("commit m1 generation=1 orders/0=5 other/0=6")
    world.run("join m1 topics=other")
    assert "other-0:GROUP_SUBSCRIBED_TO_TOPIC" in world.run("delete-offsets - other")[-1]
    assert tombstones(world.run("delete-offsets - orders")) == ["log orders-0 tombstone"]


# ---- expiry (KIP-211) ---------------------------------------------------------------------------------


def expired(world: ScriptWorld, at_ms: int) -> list[str]:
    """What the checks up to this time delete, each as it is logged."""
    return [line for line in world.run(f"advance {at_ms - world.now_ms}") if "tombstone" in line]


def test_offsets_of_a_simple_consumer_go_by_their_own_age() -> None:
    world = ScriptWorld(RETAINED)
    world.play("commit - orders/0=1", f"advance {12 * HOUR_MS}", "commit - orders/1=1")
    assert expired(world, DAY_MS - 1) == []
    assert expired(world, DAY_MS) == [f"at {DAY_MS}: log orders-0 tombstone"]
    assert expired(world, DAY_MS + 12 * HOUR_MS) == [
        f"at {DAY_MS + 12 * HOUR_MS}: log orders-1 tombstone",
        f"at {DAY_MS + 12 * HOUR_MS}: log group tombstone",
    ]


def test_offsets_of_a_group_that_had_members_go_by_when_it_turned_empty() -> None:
    for reloads in ((), ("reload",)):
        world = stable(f"m1 topics=orders {SESSION}", settings=RETAINED)
        world.play("commit m1 generation=1 orders/0=5", "advance 1200000", "heartbeat m1 generation=1")
        world.play("advance 1200000", "leave m1 id=m1-1", "advance 600000", *reloads)
        # Empty since 40 minutes: not deleted at 24 h, but at 24 h 40 min or the first check after it.
        assert expired(world, DAY_MS + 2_399_999) == []
        [offset, group] = expired(world, DAY_MS + HOUR_MS + 600_000)
        assert "orders-0 tombstone" in offset and "group tombstone" in group


def test_an_offset_goes_at_the_end_of_its_retention_not_after() -> None:
    world = ScriptWorld(RETAINED)
    world.run("commit - orders/0=1")
    # A check is due at each full hour: at 24 h the commit is exactly as old as the retention.
    assert expired(world, DAY_MS - HOUR_MS) == []
    assert expired(world, DAY_MS) == [
        f"at {DAY_MS}: log orders-0 tombstone",
        f"at {DAY_MS}: log group tombstone",
    ]


def test_a_commits_own_retention_is_kept() -> None:
    world = ScriptWorld(RETAINED)
    world.play("commit - retention=7200000 orders/0=1", "commit - orders/1=1")
    assert expired(world, 2 * HOUR_MS - 1) == []
    assert expired(world, 2 * HOUR_MS) == [f"at {2 * HOUR_MS}: log orders-0 tombstone"]


def test_an_offset_that_a_transaction_is_about_to_replace_does_not_expire() -> None:
    world = ScriptWorld(RETAINED)
    world.play(
        "commit - orders/0=1 orders/1=1", f"advance {DAY_MS - 1}", "txn-commit - producer=7 orders/0=5"
    )
    assert expired(world, DAY_MS) == [f"at {DAY_MS}: log orders-1 tombstone"]
    assert world.run("offsets") == ["orders-0 offset=1"]
    world.run("end-txn - producer=7 commit")
    # The new one counts from its own commit.
    assert expired(world, 2 * DAY_MS - HOUR_MS) == []
    assert len(expired(world, 2 * DAY_MS)) == 2


def test_a_group_with_nothing_but_pending_offsets_is_not_deserted() -> None:
    world = ScriptWorld(RETAINED)
    world.play("txn-commit - producer=7 orders/0=5")
    assert expired(world, 3 * DAY_MS) == []
    assert world.coordinator.describe(GROUP).group_state == "Empty"
    world.run("end-txn - producer=7 abort")
    assert expired(world, 3 * DAY_MS + HOUR_MS) == [f"at {3 * DAY_MS + HOUR_MS}: log group tombstone"]


def test_a_group_that_a_member_is_about_to_join_is_not_deserted() -> None:
    world = stable(f"m1 {SESSION}", settings=RETAINED)
    world.play("leave m1 id=m1-1", "advance 1800001", "join m2 two-step session=1800000")
    assert expired(world, HOUR_MS) == []
    assert world.run("join m2 two-step session=1800000")[-1].startswith("parked")


def test_a_join_that_came_to_nothing_makes_no_group_of_consumers() -> None:
    """Its record names no protocol type: offsets are a simple consumer's, each with its own age."""
    for reloads in ((), ("reload",)):
        world = ScriptWorld(RETAINED)
        world.play("commit - orders/0=1", "join m1 two-step", f"advance {12 * HOUR_MS}", *reloads)
        world.run("commit - orders/1=1")
        assert expired(world, DAY_MS + HOUR_MS) == [f"at {DAY_MS}: log orders-0 tombstone"]


def test_a_group_whose_record_has_no_protocol_type_is_of_simple_consumers() -> None:
    """Kafka's own loading (`GroupMetadataManager.replay`) takes an empty type for none."""
    world = ScriptWorld(RETAINED)
    world.run("commit - orders/0=1")
    value = GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=0, members=()
    )
    entry = OffsetsEntry(RecordType.GROUP_METADATA, GroupMetadataKey(group=GROUP), value, 3)
    world.log.append(replace(world.log[-1], offset=world.log[-1].offset + 1, entry=entry))
    world.play("reload", f"advance {12 * HOUR_MS}", "commit - orders/1=1")
    assert expired(world, DAY_MS + HOUR_MS) == [f"at {DAY_MS}: log orders-0 tombstone"]


def test_an_empty_group_without_offsets_goes_with_the_next_check() -> None:
    world = stable(f"m1 {SESSION}", settings=RETAINED)
    world.run("leave m1 id=m1-1")
    assert expired(world, HOUR_MS) == [f"at {HOUR_MS}: log group tombstone"]


def test_offsets_of_members_that_live_stay_but_of_topics_that_nobody_reads() -> None:
    world = stable(f"m1 topics=orders {SESSION}", settings=RETAINED)
    world.run("commit m1 generation=1 orders/0=5 other/0=6")
    gone = []
    while world.now_ms < 2 * DAY_MS:
        gone += tombstones(world.run("advance 1200000"))
        world.run("heartbeat m1 generation=1")
    assert gone == [f"at {DAY_MS}: log other-0 tombstone"]


def test_offsets_are_checked_again_and_again_also_after_a_reload() -> None:
    for reloads in ((), ("reload",)):
        world = ScriptWorld(RETAINED)
        world.play(*reloads, "commit - orders/0=1")
        assert len(expired(world, DAY_MS + HOUR_MS)) == 2
        world.run("commit - orders/0=1")
        assert len(expired(world, 2 * DAY_MS + 2 * HOUR_MS)) == 2


def test_a_group_is_there_also_when_all_of_its_first_commit_was_refused() -> None:
    """It can be deleted, for one thing; that holds in a transaction and outside of one."""
    for body in (plain(committed(5, metadata="long")), in_transaction(7, committed(5, metadata="long"))):
        world = ScriptWorld(GroupSettings(offset_metadata_max_bytes=1))
        assert sent(world, body).append == ()
        assert "reply - DeleteGroups g:NONE" in world.run("delete-group")

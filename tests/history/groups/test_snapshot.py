"""Groups as their newest records show them, rule by rule. Real groups are in tests/compat/test_groups.py."""

from uuid import UUID

import pytest

from kgroup.history.groups.model import GroupKind, GroupState, OwnedPartition
from kgroup.history.groups.snapshot import logged_topic_names, read_groups
from kgroup.history.groups.topology import Tasks
from kgroup.protocol.records import consumer_group as consumer_values
from kgroup.protocol.records import keys, values
from kgroup.protocol.records import share_group as share_values
from kgroup.protocol.records import streams_group as streams_values
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, RecordType
from kgroup.protocol.subscription import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    encode_assignment,
    encode_subscription,
)

ORDERS_ID = UUID(bytes=bytes(range(16)))
NAMES = {ORDERS_ID: "orders"}


def logged(key, value, offset=0, *, partition=7, timestamp_ms=0):
    entry = OffsetsEntry(type=RecordType.GROUP_METADATA, key=key, value=value, value_version=0)
    return LoggedEntry(
        partition=partition,
        offset=offset,
        timestamp_ms=timestamp_ms,
        leader_epoch=0,
        producer_id=None,
        entry=entry,
    )


def only_group(*entries, names=NAMES):
    (group,) = read_groups(entries, names).values()
    return group


# Classic groups


def classic_member(member_id="m-1", *, subscription=None, assignment=None):
    if subscription is None:
        subscription = encode_subscription(Subscription(topics=("orders",)))
    if assignment is None:
        assigned = NamedTopicPartitions(topic="orders", partitions=(1, 0))
        assignment = encode_assignment(Assignment(assigned_partitions=(assigned,)))
    return values.MemberMetadata(
        member_id=member_id,
        client_id="c-1",
        client_host="/10.0.0.1",
        session_timeout=10_000,
        subscription=subscription,
        assignment=assignment,
    )


def classic(*members, protocol_type="consumer", generation=3, **position):
    value = values.GroupMetadataValue(
        protocol_type=protocol_type,
        generation=generation,
        protocol="range" if members else None,
        leader="m-1" if members else None,
        members=members,
    )
    return logged(keys.GroupMetadataKey(group="billing"), value, **position)


def test_a_classic_group_with_members_is_stable():
    group = only_group(classic(classic_member()))
    assert (group.kind, group.state, group.epoch) == (GroupKind.CLASSIC, GroupState.STABLE, 3)
    assert (group.protocol_type, group.protocol, group.leader) == ("consumer", "range", "m-1")
    (member,) = group.members
    assert member.subscribed == ("orders",)
    assert member.owned == (OwnedPartition("orders", 0), OwnedPartition("orders", 1))
    assert (group.notes, member.notes) == ((), ())


def test_a_classic_group_without_members_is_empty():
    group = only_group(classic())
    assert (group.kind, group.state, group.members) == (GroupKind.CLASSIC, GroupState.EMPTY, ())


def test_a_group_that_never_had_a_protocol_type_is_simple():
    assert only_group(classic(protocol_type="")).kind is GroupKind.SIMPLE


def test_members_stand_in_the_order_of_their_ids():
    group = only_group(classic(classic_member("m-2"), classic_member("m-1")))
    assert [member.member_id for member in group.members] == ["m-1", "m-2"]


def test_a_member_that_the_leader_left_out_owns_nothing():
    (member,) = only_group(classic(classic_member(assignment=b""))).members
    assert (member.owned, member.notes) == ((), ())


@pytest.mark.parametrize("blob", [b"\x00", b"\xff\xfe", b"\x00\x00\x00\x00\x00\x02"])
def test_an_assignment_that_nobody_can_read_is_noted(blob):
    (member,) = only_group(classic(classic_member(assignment=blob))).members
    assert member.owned == ()
    assert member.subscribed == ("orders",)
    assert [note.partition(":")[0] for note in member.notes] == ["assignment unreadable"]


def test_a_subscription_that_nobody_can_read_is_noted():
    (member,) = only_group(classic(classic_member(subscription=b"\x00"))).members
    assert member.subscribed is None
    assert len(member.owned) == 2
    assert [note.partition(":")[0] for note in member.notes] == ["subscription unreadable"]


def test_members_of_another_protocol_type_are_not_read_as_consumers():
    group = only_group(classic(classic_member(assignment=b"\x00"), protocol_type="connect"))
    (member,) = group.members
    assert (member.subscribed, member.owned, member.notes) == (None, (), ())
    assert group.notes == ("protocol type 'connect': its members' assignments are not partitions",)


# Consumer groups (KIP-848)


def epoch(number, offset=0):
    return logged(
        keys.ConsumerGroupMetadataKey(group_id="billing"),
        consumer_values.ConsumerGroupMetadataValue(epoch=number),
        offset,
    )


def target(number, offset=0):
    return logged(
        keys.ConsumerGroupTargetAssignmentMetadataKey(group_id="billing"),
        consumer_values.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=number),
        offset,
    )


def joined(member_id="m-1", assignor=None):
    value = consumer_values.ConsumerGroupMemberMetadataValue(
        instance_id="i-1",
        rack_id=None,
        client_id="c-1",
        client_host="/10.0.0.1",
        subscribed_topic_names=("orders",),
        subscribed_topic_regex="ord.*",
        server_assignor=assignor,
        classic_member_metadata=None,
    )
    return logged(keys.ConsumerGroupMemberMetadataKey(group_id="billing", member_id=member_id), value)


def holds(number, *, state=0, member_id="m-1", topic_id=ORDERS_ID):
    value = consumer_values.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=number,
        previous_member_epoch=number - 1,
        state=state,
        assigned_partitions=(consumer_values.TopicPartitions(topic_id=topic_id, partitions=(0, 1)),),
        partitions_pending_revocation=(),
    )
    return logged(
        keys.ConsumerGroupCurrentMemberAssignmentKey(group_id="billing", member_id=member_id), value
    )


@pytest.mark.parametrize(
    ("entries", "state"),
    [
        ([epoch(4), target(4)], GroupState.EMPTY),
        ([epoch(4), target(4), joined(), holds(4)], GroupState.STABLE),
        ([epoch(5), target(4), joined(), holds(4)], GroupState.ASSIGNING),
        ([epoch(4), joined()], GroupState.ASSIGNING),
        ([epoch(5), target(5), joined(), holds(4)], GroupState.RECONCILING),
        ([epoch(4), target(4), joined(), holds(4, state=1)], GroupState.RECONCILING),
        ([epoch(4), target(4), joined()], GroupState.RECONCILING),
        ([epoch(4), target(4), joined(), holds(4), joined("m-2")], GroupState.RECONCILING),
    ],
)
def test_the_state_of_a_consumer_group_comes_from_epochs_and_members(entries, state):
    group = only_group(*entries)
    assert (group.kind, group.state) == (GroupKind.CONSUMER, state)


def test_a_member_of_a_consumer_group():
    group = only_group(epoch(4), target(4), joined(), holds(4))
    (member,) = group.members
    assert (group.epoch, member.epoch, member.instance_id) == (4, 4, "i-1")
    assert (member.subscribed, member.subscribed_regex) == (("orders",), "ord.*")
    assert member.owned == (OwnedPartition("orders", 0, ORDERS_ID), OwnedPartition("orders", 1, ORDERS_ID))


def test_a_topic_id_without_a_name_is_shown_as_it_is():
    (member,) = only_group(epoch(4), joined(), holds(4), names={}).members
    assert {owned.topic for owned in member.owned} == {"AAECAwQFBgcICQoLDA0ODw"}


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        (("uniform", "range", "range", None), "range"),
        (("range", "uniform", "uniform", None), "uniform"),
        (("uniform", "range"), "range"),
    ],
    ids=["range", "uniform", "as-many-each"],
)
def test_the_assignor_is_the_one_most_members_ask_for(asked, chosen):
    members = [joined(f"m-{number}", *filter(None, [assignor])) for number, assignor in enumerate(asked)]
    assert only_group(epoch(4), *members).protocol == chosen


# Changes


def test_a_group_is_of_the_kind_it_wrote_last():
    older, newer = classic(classic_member(), offset=5), epoch(1, offset=6)
    group = only_group(older, newer)
    assert (group.kind, group.notes) == (GroupKind.CONSUMER, ("remains of a classic group",))
    assert only_group(classic(classic_member(), offset=7), newer).kind is GroupKind.CLASSIC


@pytest.mark.parametrize("partition", [3, 30], ids=["a-lower-one", "a-higher-one"])
def test_of_a_group_in_two_offsets_partitions_the_newer_state_is_shown(partition):
    older = classic(classic_member(), generation=3, partition=7, timestamp_ms=1000, offset=90)
    newer = classic(generation=4, partition=partition, timestamp_ms=2000)
    for entries in ([older, newer], [newer, older]):
        group = only_group(*entries)
        assert (group.epoch, group.notes) == (4, ("an older state of it is in offsets partition 7",))


def test_tombstones_and_commits_make_no_group():
    commit = logged(
        keys.OffsetCommitKey(group="simple", topic="orders", partition=0),
        values.OffsetCommitValue(offset=1, metadata="", commit_timestamp=0),
    )
    assert read_groups([logged(keys.GroupMetadataKey(group="gone"), None), commit], {}) == {}


# Share and streams groups


@pytest.mark.parametrize(("members", "state"), [((), GroupState.EMPTY), (("m-1",), GroupState.STABLE)])
def test_a_share_group_is_stable_as_soon_as_it_has_members(members, state):
    metadata = share_values.ShareGroupMetadataValue(epoch=3, metadata_hash=0)
    entries = [logged(keys.ShareGroupMetadataKey(group_id="billing"), metadata)]
    for member_id in members:
        value = share_values.ShareGroupMemberMetadataValue(
            rack_id=None, client_id="c-1", client_host="/10.0.0.1", subscribed_topic_names=("orders",)
        )
        entries.append(
            logged(keys.ShareGroupMemberMetadataKey(group_id="billing", member_id=member_id), value)
        )
    group = only_group(*entries)
    assert (group.kind, group.state, group.epoch) == (GroupKind.SHARE, state, 3)


def streams_entries(*, validated=0, topology=0, held_state=1):
    subtopology = streams_values.Subtopology(
        subtopology_id="0",
        source_topics=("orders",),
        source_topic_regex=(),
        state_changelog_topics=(),
        repartition_sink_topics=(),
        repartition_source_topics=(
            streams_values.TopicInfo(name="shuffled", partitions=2, replication_factor=1, topic_configs=()),
        ),
        copartition_groups=(),
    )
    member = streams_values.StreamsGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="c-1",
        client_host="/10.0.0.1",
        topology_epoch=0,
        process_id="p",
        user_endpoint=None,
        client_tags=(),
    )
    held = streams_values.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=2,
        previous_member_epoch=1,
        state=held_state,
        active_tasks=(streams_values.TaskIds(subtopology_id="0", partitions=(1,)),),
        standby_tasks=(streams_values.TaskIds(subtopology_id="0", partitions=(0,)),),
        warmup_tasks=(),
        active_tasks_pending_revocation=(),
        standby_tasks_pending_revocation=(),
        warmup_tasks_pending_revocation=(),
    )
    return [
        logged(
            keys.StreamsGroupMetadataKey(group_id="billing"),
            streams_values.StreamsGroupMetadataValue(
                epoch=2, metadata_hash=0, validated_topology_epoch=validated
            ),
        ),
        logged(
            keys.StreamsGroupTargetAssignmentMetadataKey(group_id="billing"),
            streams_values.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=2),
        ),
        logged(
            keys.StreamsGroupTopologyKey(group_id="billing"),
            streams_values.StreamsGroupTopologyValue(epoch=topology, subtopologies=(subtopology,)),
        ),
        logged(keys.StreamsGroupMemberMetadataKey(group_id="billing", member_id="m-1"), member),
        logged(keys.StreamsGroupCurrentMemberAssignmentKey(group_id="billing", member_id="m-1"), held),
    ]


def test_a_streams_member_owns_the_sources_of_its_active_tasks():
    group = only_group(*streams_entries())
    assert (group.kind, group.state) == (GroupKind.STREAMS, GroupState.STABLE)
    assert group.members[0].owned == (OwnedPartition("orders", 1), OwnedPartition("shuffled", 1))


def test_a_streams_group_whose_topology_is_not_validated_is_not_ready():
    group = only_group(*streams_entries(validated=-1))
    assert group.state is GroupState.NOT_READY
    assert group.topology is not None
    assert (group.topology.epoch, group.topology.validated_epoch) == (0, -1)


def test_a_streams_group_has_its_topology_and_members_their_tasks():
    group = only_group(*streams_entries())
    assert group.topology is not None
    assert group.topology.topics == {"orders": "source", "shuffled": "repartition"}
    assert group.members[0].tasks == Tasks(active=("0_1",), standby=("0_0",), warmup=())


def test_a_share_group_has_the_partitions_whose_state_is_set_up_and_those_where_it_is_not_yet():
    topic = share_values.TopicPartitionsInfo(topic_id=ORDERS_ID, topic_name="orders", partitions=(1, 0))
    later = share_values.TopicPartitionsInfo(topic_id=ORDERS_ID, topic_name="orders", partitions=(2,))
    state = share_values.ShareGroupStatePartitionMetadataValue(
        initializing_topics=(later,), initialized_topics=(topic,), deleting_topics=()
    )
    group = only_group(
        logged(
            keys.ShareGroupMetadataKey(group_id="billing"),
            share_values.ShareGroupMetadataValue(epoch=3, metadata_hash=0),
        ),
        logged(keys.ShareGroupStatePartitionMetadataKey(group_id="billing"), state),
    )
    assert group.shared == (OwnedPartition("orders", 0, ORDERS_ID), OwnedPartition("orders", 1, ORDERS_ID))
    assert group.share_waiting == (OwnedPartition("orders", 2, ORDERS_ID),)


def test_a_streams_member_that_is_not_done_keeps_its_group_reconciling():
    assert only_group(*streams_entries(held_state=2)).state is GroupState.RECONCILING


# Topic names


def test_commits_and_partition_metadata_give_names_to_topic_ids():
    commit = logged(
        keys.OffsetCommitKey(group="billing", topic="orders", partition=0),
        values.OffsetCommitValue(offset=1, metadata="", commit_timestamp=0, topic_id=ORDERS_ID),
    )
    unnamed = logged(
        keys.OffsetCommitKey(group="billing", topic="invoices", partition=0),
        values.OffsetCommitValue(offset=1, metadata="", commit_timestamp=0),
    )
    other = UUID(int=9)
    known = consumer_values.TopicMetadata(
        topic_id=other, topic_name="payments", num_partitions=1, partition_metadata=()
    )
    metadata = logged(
        keys.ConsumerGroupPartitionMetadataKey(group_id="billing"),
        consumer_values.ConsumerGroupPartitionMetadataValue(topics=(known,)),
    )
    shared_id = UUID(int=10)
    shared = logged(
        keys.ShareGroupStatePartitionMetadataKey(group_id="billing"),
        share_values.ShareGroupStatePartitionMetadataValue(
            initializing_topics=(),
            initialized_topics=(
                share_values.TopicPartitionsInfo(topic_id=shared_id, topic_name="clicks", partitions=(0,)),
            ),
            deleting_topics=(),
        ),
    )
    assert logged_topic_names([commit, unnamed, metadata, shared]) == {
        ORDERS_ID: "orders",
        other: "payments",
        shared_id: "clicks",
    }

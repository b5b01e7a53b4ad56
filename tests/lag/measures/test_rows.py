"""Rows of the lag report, rule by rule."""

from uuid import UUID

import pytest

from kgroup.history.groups.model import Group, GroupKind, GroupState, Member, OwnedPartition
from kgroup.lag.measures.log_ends import LogEnds, TopicState
from kgroup.lag.measures.rows import Commit, Note, lag_rows
from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog

OLD, NEW = UUID(int=1), UUID(int=2)


def log(topic="orders", partition=0, *, start=None, end=None, topic_id=None):
    return PartitionLog(
        topic=topic,
        partition=partition,
        source=LogEndSource.CHECKPOINT,
        log_start_offset=start,
        log_end_offset=end,
        topic_id=topic_id,
    )


def ends(*logs, complete=False):
    return LogEnds([LogListing(logs=logs, complete=complete)])


def commit(offset, *, group="billing", topic="orders", partition=0, **more):
    return Commit(group=group, topic=topic, partition=partition, offset=offset, **more)


def member(*owned, member_id="m-1"):
    return Member(
        member_id=member_id,
        instance_id="i-1",
        client_id="c-1",
        client_host="/10.0.0.1",
        owned=tuple(OwnedPartition(*one) for one in owned),
    )


def group(*members, group_id="billing", kind=GroupKind.CLASSIC):
    state = GroupState.STABLE if members else GroupState.EMPTY
    return Group(group_id=group_id, kind=kind, state=state, members=members)


def rows_of(commits=(), groups=(), ends=ends(), pending=()):  # noqa: B008 - a constant
    return list(lag_rows({group.group_id: group for group in groups}, commits, ends, pending))


def only_row(*arguments, **more):
    (row,) = rows_of(*arguments, **more)
    return row


@pytest.mark.parametrize(
    ("committed", "start", "end", "lag", "notes"),
    [
        (40, 0, 50, 10, []),
        (50, 0, 50, 0, []),
        (0, 0, 0, 0, []),
        (0, None, 50, 50, []),
        (40, None, None, None, []),
        (40, 45, 50, 10, [Note.BELOW_LOG_START]),
        (45, 45, 50, 5, []),
        (51, 0, 50, -1, [Note.BEYOND_LOG_END]),
        (2**63 - 1, 0, 50, 50 - (2**63 - 1), [Note.BEYOND_LOG_END]),
    ],
)
def test_lag_is_the_log_end_less_the_committed_offset(committed, start, end, lag, notes):
    row = only_row([commit(committed)], [group(member(("orders", 0)))], ends(log(start=start, end=end)))
    assert (row.current_offset, row.log_start_offset, row.log_end_offset) == (committed, start, end)
    assert row.lag == lag
    assert list(row.notes) == notes


def test_a_topic_that_no_source_knows_has_an_unknown_lag():
    row = only_row([commit(40)])
    assert (row.log_end_offset, row.lag, row.log_end_source) == (None, None, None)
    assert row.topic_state is TopicState.UNKNOWN


def test_a_topic_that_is_gone_is_deleted():
    row = only_row([commit(40)], ends=ends(complete=True))
    assert (row.lag, row.topic_state) == (None, TopicState.DELETED)
    assert Note.TOPIC_DELETED in row.notes


def test_the_offset_of_an_earlier_topic_of_the_name_has_no_lag():
    row = only_row([commit(40, topic_id=OLD)], ends=ends(log(start=0, end=50, topic_id=NEW)))
    assert (row.current_offset, row.log_end_offset, row.lag) == (40, 50, None)
    assert (row.topic_id, row.topic_state) == (OLD, TopicState.RECREATED)
    assert Note.TOPIC_RECREATED in row.notes


def test_an_owned_partition_without_a_commit_has_a_row():
    row = only_row(groups=[group(member(("orders", 0)))], ends=ends(log(end=50)))
    assert (row.current_offset, row.log_end_offset, row.lag) == (None, 50, None)
    assert list(row.notes) == [Note.NEVER_COMMITTED]
    assert (row.member_id, row.group_instance_id, row.client_id, row.host) == (
        "m-1",
        "i-1",
        "c-1",
        "/10.0.0.1",
    )


def test_kafkas_invalid_offset_is_no_commit():
    row = only_row([commit(-1)], [group(member(("orders", 0)))], ends(log(end=50)))
    assert (row.current_offset, row.lag, list(row.notes)) == (None, None, [Note.NEVER_COMMITTED])


def test_a_group_without_members_has_nobody_behind_its_offsets():
    row = only_row([commit(40)], [group()])
    assert (row.group_state, list(row.notes)) == (GroupState.EMPTY, [Note.NO_MEMBERS])


def test_a_group_that_is_in_its_commits_only_is_simple():
    row = only_row([commit(40)])
    assert (row.group_kind, row.group_state) == (GroupKind.SIMPLE, GroupState.EMPTY)


def test_a_partition_that_no_member_owns_is_noted():
    owned, left = rows_of([commit(40), commit(41, partition=1)], [group(member(("orders", 0)))])
    assert (list(owned.notes), list(left.notes)) == ([], [Note.NO_OWNER])


def test_a_partition_with_two_owners_shows_the_first_and_says_so():
    row = only_row(groups=[group(member(("orders", 0)), member(("orders", 0), member_id="m-2"))])
    assert row.member_id == "m-1"
    assert Note.TWO_OWNERS in row.notes


def test_a_newer_commit_in_an_open_transaction_is_noted():
    first, second = rows_of(
        [commit(40), commit(41, partition=1)], pending={("billing", "orders", 1), ("other", "orders", 0)}
    )
    assert Note.PENDING_COMMIT not in first.notes
    assert Note.PENDING_COMMIT in second.notes


@pytest.mark.parametrize("newer_first", [True, False])
def test_of_commits_in_two_offsets_partitions_the_newer_counts(newer_first):
    newer = commit(60, commit_timestamp=2000, offsets_partition=30)
    older = commit(40, commit_timestamp=1000, offsets_partition=12)
    row = only_row([newer, older] if newer_first else [older, newer])
    assert row.current_offset == 60
    assert Note.TWO_COORDINATORS in row.notes


def test_rows_are_sorted_by_group_topic_and_partition():
    commits = [
        commit(1, group="b", topic="t", partition=10),
        commit(1, group="b", topic="t", partition=2),
        commit(1, group="b", topic="a"),
        commit(1, group="d"),
    ]
    groups = [group(member(("u", 0)), group_id=name) for name in ("e", "c", "a", "b")]
    assert [(row.group, row.topic, row.partition) for row in rows_of(commits, groups)] == [
        ("a", "u", 0),
        ("b", "a", 0),
        ("b", "t", 2),
        ("b", "t", 10),
        ("b", "u", 0),
        ("c", "u", 0),
        ("d", "orders", 0),
        ("e", "u", 0),
    ]


def test_a_share_group_has_no_rows():
    assert rows_of(groups=[group(member(("orders", 0)), kind=GroupKind.SHARE)]) == []


def test_a_streams_task_owns_partitions_that_exist():
    streams = group(member(("orders", 0), ("orders", 1)), kind=GroupKind.STREAMS)
    row = only_row(groups=[streams], ends=ends(log(end=50)))
    assert (row.topic, row.partition) == ("orders", 0)


def test_an_owned_topic_made_anew_is_seen_by_its_id():
    row = only_row(
        groups=[group(member(("orders", 0, OLD)), kind=GroupKind.CONSUMER)], ends=ends(log(topic_id=NEW))
    )
    assert (row.topic_id, row.topic_state) == (OLD, TopicState.RECREATED)


def test_a_commit_shows_what_it_said():
    row = only_row([commit(40, leader_epoch=3, metadata="note — ✓", commit_timestamp=1_700_000_000_000)])
    assert (row.leader_epoch, row.metadata, row.commit_timestamp) == (3, "note — ✓", 1_700_000_000_000)

"""Commits with their steps, as a reader would count them by hand: (seconds, partition, offset)."""

from kgroup.history.timeline.commit_steps import commit_steps, with_removals
from kgroup.history.timeline.model import CauseKind
from kgroup.history.timeline.replay import replay
from kgroup.protocol.records.entries import TransactionOutcome
from tests.history.group_log import GroupLog


def steps(log):
    """(partition, offset, step, gap in ms, rate) of each commit."""
    return [
        (one.partition, one.offset, one.step, one.gap_ms, one.records_per_s)
        for one in commit_steps(log.entries)
    ]


def test_a_step_is_from_the_commit_before_of_the_same_partition() -> None:
    log = GroupLog()
    log.commit(1, 0, 10)
    log.commit(2, 1, 100)
    log.commit(3, 0, 14)
    log.commit(7, 1, 100)
    assert steps(log) == [
        (0, 10, None, None, None),
        (1, 100, None, None, None),
        (0, 14, 4, 2000, 2.0),
        (1, 100, 0, 5000, 0.0),
    ]


def test_a_rewind_is_a_step_back_and_commits_at_one_time_have_no_rate() -> None:
    log = GroupLog()
    log.commit(1, 0, 10)
    log.commit(1, 0, 3)
    log.commit(2, 0, 5)
    assert steps(log)[1:] == [(0, 3, -7, 0, None), (0, 5, 2, 1000, 2.0)]


def test_groups_on_one_partition_are_told_apart() -> None:
    log = GroupLog()
    log.commit(1, 0, 10)
    log.commit(2, 0, 12)
    two = log.entries[1]
    other = two.entry._replace(key=type(two.entry.key)(group="other", topic="t", partition=0))
    log.entries[1] = type(two)(
        partition=two.partition,
        offset=two.offset,
        timestamp_ms=two.timestamp_ms,
        leader_epoch=two.leader_epoch,
        producer_id=None,
        entry=other,
    )
    assert [(one.group, one.step) for one in commit_steps(log.entries)] == [("orders", None), ("other", None)]


def test_after_a_deletion_counting_begins_anew() -> None:
    log = GroupLog()
    log.commit(1, 0, 10)
    log.remove_commit(2, 0)
    log.commit(3, 0, 14)
    assert steps(log)[1:] == [(0, None, None, None, None), (0, 14, None, None, None)]


def test_only_what_a_transaction_committed_counts() -> None:
    log = GroupLog()
    log.commit(1, 0, 10)
    log.commit(2, 0, 999, producer=7)
    log.end_transaction(3, 7, committed=False)
    log.commit(4, 0, 20, producer=7)
    log.commit(5, 0, 22)
    log.end_transaction(6, 7, committed=True)
    log.commit(7, 0, 30, producer=7)
    assert [(one.offset, one.step, one.transaction) for one in commit_steps(log.entries)] == [
        (10, None, None),
        (999, None, TransactionOutcome.ABORTED),
        (20, 10, TransactionOutcome.COMMITTED),
        (22, 2, None),
        (30, None, TransactionOutcome.PENDING),
    ]


def test_across_what_compaction_took_no_step_is_known() -> None:
    log = GroupLog()
    log.commit(1, 0, 10)
    log.gap()
    log.commit(3, 0, 14)
    log.commit(4, 0, 15)
    found = commit_steps(log.entries)
    assert [(one.step, one.is_cut) for one in found] == [(None, False), (None, True), (1, False)]


def test_each_deletion_has_its_own_cause() -> None:
    """One offset goes alone, and long after it both with their group."""
    log = GroupLog()
    log.commit(1, 0, 10)
    log.commit(2, 1, 10)
    log.remove_commit(3, 0)
    log.commit(200, 0, 4)
    log.commit(201, 1, 4)
    log.remove_commit(202, 0)
    log.remove_commit(202, 1)
    log.remove_group(202)
    [timeline] = replay(log.entries, {}).values()
    deleted = [one for one in with_removals(commit_steps(log.entries), timeline) if one.offset is None]
    assert [(one.partition, one.removal and one.removal.kind) for one in deleted] == [
        (0, CauseKind.OFFSETS_REMOVED),
        (0, CauseKind.GROUP_REMOVED),
        (1, CauseKind.GROUP_REMOVED),
    ]


def test_a_deletion_of_which_the_timeline_says_nothing_has_no_cause() -> None:
    log = GroupLog()
    log.commit(1, 0, 10)
    log.remove_commit(2, 0)
    other = GroupLog()
    other.commit(1, 0, 10)
    [timeline] = replay(other.entries, {}).values()
    steps_of = with_removals(commit_steps(log.entries), timeline)
    assert [one.removal for one in steps_of] == [None, None]

"""Facts on a group for tests of findings, written on a few lines; times are seconds ago."""

from dataclasses import replace

from kgroup.history.groups.model import Group, GroupKind, GroupState, Member, OwnedPartition
from kgroup.lag.findings.model import GroupFacts
from kgroup.lag.findings.partition_facts import partition_facts, usual_step
from kgroup.lag.findings.seen_ends import seen_ends
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.rows import LagRow, Note
from kgroup.lag.status.window import CommitWindow, LogEnd, WindowCommit
from kgroup.protocol.log_listing import LogEndSource, OpenTransaction
from tests.lag.windows import NOW, ago


def steadily(until, offset, step=5, every=2, commits=10):
    """Commits (seconds ago, offset), one every 2 s, that end at an offset."""
    return [(until + every * back, offset - step * back) for back in reversed(range(commits))]


def partition(
    number, commits, end, *, member="m1", seen=(), topic="orders", state=TopicState.EXISTS, start=0
):
    """A partition that ends at `end`, if known; `seen` are (seconds ago, offset) of what anybody had read."""
    orders = range(10, 1000, 10)
    window = CommitWindow(
        slots=10 if commits else 0,
        commits=tuple(
            WindowCommit(offset=offset, timestamp=ago(seconds), order=order)
            for order, (seconds, offset) in zip(orders, commits, strict=False)
        ),
        membership_changes=(),
    )
    committed = commits[-1][1] if commits else None
    proven = seen_ends((LogEnd(offset=offset, timestamp=ago(seconds)) for seconds, offset in seen), end)
    row = LagRow(
        group="g",
        topic=topic,
        partition=number,
        current_offset=committed,
        log_end_offset=end,
        lag=None if committed is None or end is None else end - committed,
        log_start_offset=start,
        leader_epoch=None,
        metadata="",
        commit_timestamp=ago(commits[-1][0]) if commits else None,
        member_id=member,
        group_instance_id=None,
        host=None,
        client_id=member,
        group_kind=GroupKind.CLASSIC,
        group_state=GroupState.STABLE,
        topic_id=None,
        topic_state=state,
        log_end_source=LogEndSource.SEGMENTS,
        notes=() if commits else (Note.NEVER_COMMITTED,),
    )
    return partition_facts(row, window, proven, NOW)


def facts(*partitions, kind=GroupKind.CLASSIC, since=3600, patterns=(), open_commits=()):
    """A group with the members that own its partitions; `since` is how long it has been in its state."""
    names = sorted({one.row.member_id for one in partitions if one.row.member_id})
    members = tuple(
        Member(
            member_id=name,
            instance_id=None,
            client_id=name,
            client_host="/h",
            owned=tuple(
                OwnedPartition(one.row.topic, one.row.partition)
                for one in partitions
                if one.row.member_id == name
            ),
        )
        for name in names
    )
    state = GroupState.STABLE if members else GroupState.EMPTY
    return GroupFacts(
        group=Group(
            group_id="g",
            kind=kind,
            state=state,
            members=members,
            since_ms=None if since is None else ago(since),
        ),
        partitions=partitions,
        now_ms=NOW,
        usual_step=usual_step(one.window for one in partitions),
        patterns=patterns,
        open_commits=open_commits,
    )


def behind(one, *, first=None, open_for=120, producer=7, epoch=0):
    """A partition of which all that is unread lies behind a transaction, open for so many seconds."""
    transaction = OpenTransaction(
        first_offset=one.last_offset if first is None else first,
        since_ms=None if open_for is None else ago(open_for),
        producer_id=producer,
        producer_epoch=None if producer is None else epoch,
    )
    return replace(one, open_transaction=transaction)

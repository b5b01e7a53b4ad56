"""What is said of groups that no consumer group is."""

from kgroup.history.groups.model import Group, GroupKind, GroupState, Member, OwnedPartition
from kgroup.history.groups.topology import Subtopology, Topology
from kgroup.lag.findings.kinds import kind_notes, remarks_on_streams
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog

MEMBER = Member(member_id="m", instance_id=None, client_id="c", client_host="/h")


def ends_of(*topics: str, complete: bool = True) -> LogEnds:
    logs = [
        PartitionLog(topic=topic, partition=0, source=LogEndSource.LIVE, log_end_offset=1) for topic in topics
    ]
    return LogEnds([LogListing(logs=tuple(logs), complete=complete)])


def streams(validated: int | None, members: tuple[Member, ...] = (MEMBER,)) -> Group:
    part = Subtopology(
        subtopology_id="0",
        source_topics=("orders",),
        repartition_topics=("app-by-key-repartition",),
        changelog_topics=("app-count-changelog", "app-sum-changelog"),
    )
    return Group(
        group_id="app",
        kind=GroupKind.STREAMS,
        state=GroupState.NOT_READY,
        members=members,
        topology=Topology(epoch=1, subtopologies=(part,), validated_epoch=validated),
    )


def test_a_streams_group_names_the_topics_that_it_lacks_by_what_they_are_for():
    there = ends_of("orders", "app-sum-changelog")
    assert list(kind_notes(streams(validated=0), there)) == [
        "the topics of its topology 1 were not all found, so no task is assigned",
        "missing repartition topic: app-by-key-repartition",
        "missing changelog topic: app-count-changelog",
    ]


def test_a_topic_that_may_just_not_have_been_listed_is_not_missing():
    assert list(kind_notes(streams(validated=1), ends_of("orders", complete=False))) == []


def test_a_topology_of_which_nobody_says_whether_it_was_validated_or_that_nobody_runs_is_not_accused():
    there = ends_of("orders", "app-sum-changelog", "app-count-changelog", "app-by-key-repartition")
    assert list(kind_notes(streams(validated=None), there)) == []
    assert list(kind_notes(streams(validated=-1, members=()), there)) == []


def test_a_share_group_names_the_partitions_that_nobody_gets_yet():
    group = Group(
        group_id="queue",
        kind=GroupKind.SHARE,
        state=GroupState.STABLE,
        share_waiting=(OwnedPartition("clicks", 0), OwnedPartition("clicks", 1)),
    )
    assert list(kind_notes(group, ends_of())) == [
        "not shared yet, their state is being set up: clicks-0, clicks-1"
    ]


def test_one_line_says_of_all_streams_groups_what_their_lag_is_of():
    (line,) = remarks_on_streams(["app", "app"])
    assert line.startswith("streams groups app, app: lag is of source and repartition topics")
    assert list(remarks_on_streams([])) == []

"""Sums over the partitions of a group, and what is said of groups that are refused."""

from dataclasses import replace

import pytest

from kgroup.history.groups.model import Group, GroupKind, GroupState, Member
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.lag.measures.rows import Commit, LagRow, lag_rows
from kgroup.lag.measures.seen_groups import SeenGroup, SeenGroups
from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog

GROUP = Group(group_id="g", kind=GroupKind.CLASSIC, state=GroupState.EMPTY)


def rows(*lags: int | None, times: tuple[int, ...] = ()) -> tuple[LagRow, ...]:
    """A row of topic t for each lag, committed at 100."""
    logs = tuple(
        PartitionLog(
            topic="t",
            partition=index,
            source=LogEndSource.LIVE,
            log_end_offset=None if lag is None else 100 + lag,
        )
        for index, lag in enumerate(lags)
    )
    commits = [
        Commit(group="g", topic="t", partition=index, offset=100, commit_timestamp=time)
        for index, time in enumerate(times or (-1,) * len(lags))
    ]
    return tuple(lag_rows({"g": GROUP}, commits, LogEnds([LogListing(logs=logs, complete=True)])))


@pytest.mark.parametrize(
    ("lags", "lag", "unknown"),
    [
        ((), None, 0),
        ((None, None), None, 2),
        ((3, 4), 7, 0),
        ((3, None), 3, 1),
        ((5, -9), 5, 0),
        ((-9,), 0, 0),
    ],
)
def test_a_lag_below_0_makes_up_for_none_and_what_is_unknown_is_counted(lags, lag, unknown) -> None:
    seen = SeenGroup(group=GROUP, rows=rows(*lags))
    assert (seen.lag, seen.lag_unknown) == (lag, unknown)


@pytest.mark.parametrize(("times", "last"), [((5, 9, 7), 9), ((-1, 4), 4), ((-1, -1), None), ((0,), 0)])
def test_the_last_commit_is_the_newest_whose_time_is_known(times, last) -> None:
    seen = SeenGroup(group=GROUP, rows=rows(*[0] * len(times), times=times))
    assert seen.last_commit_ms == last


def test_hosts_and_topics_are_named_once() -> None:
    def member(name: str, host: str) -> Member:
        return Member(member_id=name, instance_id=None, client_id="c", client_host=host)

    group = replace(
        GROUP, members=(member("a", "/10.0.0.2"), member("b", "10.0.0.1"), member("c", "/10.0.0.2"))
    )
    seen = SeenGroup(group=group, rows=rows(1, 2))
    assert (seen.hosts, seen.topics, seen.member_count) == (("10.0.0.1", "10.0.0.2"), ("t",), 3)


def test_of_a_group_that_nobody_describes_only_what_the_list_says_is_known() -> None:
    listed = SeenGroup(group=GROUP, problem="NO", is_described=False)
    assert (listed.kind, listed.member_count) == (GroupKind.CLASSIC, None)
    unknown = SeenGroup(group=replace(GROUP, state=GroupState.UNKNOWN), problem="NO", is_described=False)
    assert (unknown.kind, unknown.member_count) == (None, None)


def test_what_is_refused_is_counted_and_the_first_is_named() -> None:
    well = SeenGroup(group=GROUP)
    bad = SeenGroup(group=replace(GROUP, group_id="h"), problem="NO")
    worse = SeenGroup(group=replace(GROUP, group_id="i"), problem="NEVER")
    assert SeenGroups(groups=(well,), now_ms=0).refused is None
    assert SeenGroups(groups=(well, bad), now_ms=0).refused == "group h: NO"
    three = SeenGroups(groups=(well, bad, worse), now_ms=0, requests=4)
    assert three.refused == "2 of 3 groups: group h: NO"
    assert [each.group_id for each in three] == ["g", "h", "i"]
    assert (len(three), three.requests) == (3, 4)

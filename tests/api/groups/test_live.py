"""Groups of a cluster, as its coordinators describe them."""

from collections.abc import Iterator

import pytest

import kgroup
import kgroup.testing
from benchmarks.groups import commit_groups
from kgroup.api.groups.groups import groups
from kgroup.api.opened import OpenedLogs
from kgroup.errors import SourceError
from kgroup.history.groups.model import GroupKind, GroupState
from kgroup.lag.measures.rows import Note
from kgroup.protocol.error_codes import ErrorCode
from tests.net.usual_groups import CLIENT_ID, commit, usual_groups


@pytest.fixture(scope="module")
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with usual_groups(nodes=2) as running:
        yield running


@pytest.fixture
def logs(kafka: kgroup.testing.Cluster) -> Iterator[OpenedLogs]:
    with kgroup.connect(kafka.bootstrap) as opened:
        yield opened


def test_each_group_with_its_kind_state_members_and_lag(logs: OpenedLogs) -> None:
    seen = {each.group_id: each for each in groups(logs, clock_ms=1)}
    assert list(seen) == ["empty-g", "live-classic", "live-new"]
    empty, classic, new = seen.values()
    assert (empty.group.kind, empty.group.state, empty.group.members) == (
        GroupKind.SIMPLE,
        GroupState.EMPTY,
        (),
    )
    assert (empty.lag, empty.lag_unknown, empty.hosts, empty.topics) == (250, 0, (), ("orders",))
    assert (classic.group.kind, classic.group.state, classic.group.protocol) == (
        GroupKind.CLASSIC,
        GroupState.STABLE,
        "range",
    )
    assert (classic.group.epoch, classic.group.target_epoch) == (None, None)
    assert (new.group.kind, new.group.state, new.group.protocol) == (
        GroupKind.CONSUMER,
        GroupState.STABLE,
        "uniform",
    )
    assert new.group.epoch == new.group.target_epoch == new.group.members[0].epoch
    for live in (classic, new):
        (member,) = live.group.members
        assert (live.lag, live.lag_unknown, live.hosts) == (0, 0, ("127.0.0.1",))
        assert (member.client_id, member.subscribed) == (CLIENT_ID, ("orders",))
        assert [(each.topic, each.partition) for each in member.owned] == [
            ("orders", each) for each in range(3)
        ]
    assert new.group.members[0].target == new.group.members[0].owned
    assert (classic.group.members[0].target, classic.group.members[0].is_classic) == (None, None)
    assert new.group.members[0].is_classic is False


def test_coordinators_are_those_that_the_cluster_has(logs: OpenedLogs, kafka: kgroup.testing.Cluster) -> None:
    for each in groups(logs):
        assert each.coordinator == kafka.coordinator_of(each.group_id)


def test_only_the_offsets_topic_knows_when_something_was_committed(logs: OpenedLogs) -> None:
    without = groups(logs, groups="empty-g")
    (empty,) = without
    assert (without.times_known, empty.last_commit_ms) == (False, None)
    (read,) = groups(logs, groups="empty-g", commit_times=True)
    (logged,) = (kgroup.lag_report(logs, groups="empty-g").rows().__next__(),)
    assert read.last_commit_ms is not None
    assert read.last_commit_ms >= (logged.commit_timestamp or 0) > 0


def test_patterns_choose_and_a_name_that_is_not_there_is_absent(logs: OpenedLogs) -> None:
    seen = groups(logs, groups=["live-*", "nosuch"])
    assert [each.group_id for each in seen] == ["live-classic", "live-new"]
    assert seen.absent == ("nosuch",)
    with pytest.raises(
        SourceError, match=r"^no group here matches live-clasic; did you mean live-classic\?$"
    ):
        groups(logs, groups="live-clasic")


def test_states_alone_need_no_offsets(logs: OpenedLogs) -> None:
    seen = groups(logs, offsets=False)
    assert [(each.group_id, each.rows) for each in seen] == [
        ("empty-g", ()),
        ("live-classic", ()),
        ("live-new", ()),
    ]


def test_a_coordinator_that_refuses_is_named_and_what_the_list_says_is_kept(
    logs: OpenedLogs, kafka: kgroup.testing.Cluster
) -> None:
    fault = kafka.refuse("DescribeGroups", ErrorCode.GROUP_AUTHORIZATION_FAILED)
    seen = groups(logs, groups="live-*")
    classic, new = seen
    assert fault.hits == 1
    assert (classic.problem, classic.group.state, classic.kind, classic.member_count) == (
        "GROUP_AUTHORIZATION_FAILED",
        GroupState.STABLE,
        GroupKind.CLASSIC,
        None,
    )
    assert (new.problem, new.member_count) == (None, 1)
    assert seen.refused == "group live-classic: GROUP_AUTHORIZATION_FAILED"


def test_if_all_that_were_named_are_refused_there_is_no_answer(
    logs: OpenedLogs, kafka: kgroup.testing.Cluster
) -> None:
    kafka.refuse("DescribeGroups", ErrorCode.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(SourceError, match=r": group live-classic: GROUP_AUTHORIZATION_FAILED$"):
        groups(logs, groups="live-classic")


def test_a_coordinator_that_has_moved_is_found_again(logs: OpenedLogs, kafka: kgroup.testing.Cluster) -> None:
    faults = [
        kafka.refuse("DescribeGroups", ErrorCode.NOT_COORDINATOR),
        kafka.refuse("OffsetFetch", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ]
    (seen,) = groups(logs, groups="empty-g")
    assert [fault.hits for fault in faults] == [1, 1]
    assert (seen.problem, seen.lag) == (None, 250)


@pytest.mark.parametrize(("size", "requests"), [(1, 2), (50, 2), (51, 3), (100, 3), (101, 5), (250, 8)])
def test_the_number_of_requests_grows_with_the_batches_alone(size: int, requests: int) -> None:
    """A hundred groups to a description, fifty to a read of offsets; the rest is the same for all sizes."""
    with kgroup.testing.cluster(topics={"orders": 2}) as kafka, kgroup.connect(kafka.bootstrap) as logs:
        assert logs.cluster is not None
        commit_groups(logs.cluster, [f"g-{number}" for number in range(size)], 2)
        seen = groups(logs)
        assert len(seen) == size
        assert seen.requests == 6 + requests


def test_the_number_of_requests_does_not_grow_with_a_few_groups(
    logs: OpenedLogs, kafka: kgroup.testing.Cluster
) -> None:
    before = groups(logs).requests or 0
    for number in range(30):
        commit(kafka, f"more-{number}", [0, 0, 0])
    after = groups(logs).requests or 0
    assert after - before <= 2  # the other node has classic groups now, too, to describe and to read


def test_a_topic_that_is_gone_leaves_its_lag_unknown() -> None:
    with kgroup.testing.cluster(topics={"orders": 1, "gone": 1}) as kafka:
        commit(kafka, "g", [3], topic="gone")
        commit(kafka, "g", [0], topic="orders")
        with kgroup.connect(kafka.bootstrap) as logs:
            (seen,) = groups(logs)
            assert (seen.lag, seen.lag_unknown) == (0, 0)
            assert [Note.BEYOND_LOG_END in row.notes for row in seen.rows] == [True, False]

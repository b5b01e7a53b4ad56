"""What groups are now, of many asked for together."""

from collections.abc import Iterator

import pytest

import kgroup.testing
from kgroup.errors import SourceError
from kgroup.history.groups.model import GroupKind, GroupState
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.group_states import present_groups
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.testing import ErrorCode
from tests.cli.operations.conftest import commit
from tests.cli.operations.modern import modern_member


@pytest.fixture
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(topics={"orders": 1}) as running:
        commit(running.bootstrap, "simple", {("orders", 0): 0})
        yield running


@pytest.fixture
def cluster(kafka: kgroup.testing.Cluster) -> Iterator[Cluster]:
    with Cluster(ConnectionOptions(bootstrap_servers=kafka.bootstrap)) as opened:
        yield opened


def test_each_group_is_as_its_coordinator_describes_it_in_the_order_asked_for(
    kafka: kgroup.testing.Cluster, cluster: Cluster
) -> None:
    with modern_member(kafka, "modern"):
        found = present_groups(cluster, ["nosuch", "simple", "modern", "nosuch"])
    assert list(found) == ["nosuch", "simple", "modern"]
    assert found["nosuch"] is None
    simple, modern = found["simple"], found["modern"]
    assert not isinstance(simple, SourceError) and simple is not None
    assert not isinstance(modern, SourceError) and modern is not None
    assert (simple.kind, simple.state) == (GroupKind.SIMPLE, GroupState.EMPTY)
    assert (modern.kind, len(modern.members)) == (GroupKind.CONSUMER, 1)


def test_many_groups_that_are_not_there_take_as_many_requests_as_one(cluster: Cluster) -> None:
    """The groups of the cluster are listed once, whatever is missing."""
    counts = []
    for number in (1, 90):
        before = cluster.requests_sent
        assert set(present_groups(cluster, [f"nosuch-{each}" for each in range(number)]).values()) == {None}
        counts.append(cluster.requests_sent - before)
    assert counts[0] == counts[1]


def test_one_that_is_refused_hides_no_other(kafka: kgroup.testing.Cluster, cluster: Cluster) -> None:
    kafka.refuse("ConsumerGroupDescribe", ErrorCode.GROUP_AUTHORIZATION_FAILED, times=1)
    found = present_groups(cluster, ["simple"])
    assert str(found["simple"]).endswith("cannot describe group 'simple': GROUP_AUTHORIZATION_FAILED")
    assert not isinstance(present_groups(cluster, ["simple"])["simple"], SourceError)

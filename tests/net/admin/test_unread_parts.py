"""What is unread of a live cluster, by what was written to it: records, and transactions of three fates."""

from collections.abc import Iterator

import pytest

import kgroup.testing
from kgroup.log.topics.unread_parts import UnreadParts
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.unread import UnreadPlace
from kgroup.net.admin.unread_parts import fetch_unread_parts
from kgroup.net.connect.properties import ConnectionOptions
from tests.net.admin.test_unread import BEGIN_MS, OPEN, deals, produce


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    topics = {"plain": 1, "deals": 1, "large": 1, "empty": 1}
    with kgroup.testing.cluster(nodes=2, topics=topics) as running:
        produce(running, "plain", 0, [BEGIN_MS + number for number in range(5)])
        produce(running, "large", 0, [BEGIN_MS, BEGIN_MS + 1, BEGIN_MS + 2], size=200_000)
        deals(running)
        with Cluster(ConnectionOptions(bootstrap_servers=running.bootstrap)) as connected:
            yield connected
        OPEN.clear()


def fetched(cluster: Cluster, ends: dict[UnreadPlace, int], **bound: int) -> dict[UnreadPlace, UnreadParts]:
    answers = fetch_unread_parts(cluster, ends, **bound)
    assert (answers.problems, answers.too_long) == ([], set())
    return answers.parts


def test_of_plain_records_all_are_records_up_to_the_end_that_is_given(cluster: Cluster) -> None:
    """What was written after somebody asked where the log ends does not count."""
    first, third = UnreadPlace("plain", 0, 0), UnreadPlace("plain", 0, 3)
    assert fetched(cluster, {first: 5, third: 5}) == {
        first: UnreadParts(records=5, last_stable_offset=5),
        third: UnreadParts(records=2, last_stable_offset=5),
    }
    assert fetched(cluster, {first: 4}) == {first: UnreadParts(records=4, last_stable_offset=4)}


@pytest.mark.parametrize(
    ("offset", "parts"),
    [
        (0, UnreadParts(records=1, aborted=1, undecided=1, markers=2, last_stable_offset=4)),
        (1, UnreadParts(records=1, undecided=1, markers=2, last_stable_offset=4)),
        (4, UnreadParts(undecided=1, last_stable_offset=4)),
        (5, UnreadParts(last_stable_offset=5)),
    ],
)
def test_transactions_are_told_apart(cluster: Cluster, offset: int, parts: UnreadParts) -> None:
    """0 is aborted, 2 committed, 4 undecided; 1 and 3 are markers."""
    start = UnreadPlace("deals", 0, offset)
    assert fetched(cluster, {start: 5}) == {start: parts}


def test_where_nothing_is_unread_nothing_is_asked(cluster: Cluster) -> None:
    empty, beyond = UnreadPlace("empty", 0, 0), UnreadPlace("nosuch", 0, 9)
    assert fetched(cluster, {empty: 0, beyond: 5}) == {
        empty: UnreadParts(last_stable_offset=0),
        beyond: UnreadParts(last_stable_offset=9),
    }


def test_beyond_the_bound_nothing_is_said_and_nearer_places_are_answered(cluster: Cluster) -> None:
    places = [UnreadPlace("large", 0, offset) for offset in range(3)]
    done: list[int] = []
    answers = fetch_unread_parts(cluster, dict.fromkeys(places, 3), done.append, bytes_max=500_000)
    assert answers.parts == {
        places[2]: UnreadParts(records=1, last_stable_offset=3),
        places[1]: UnreadParts(records=2, last_stable_offset=3),
    }
    assert answers.too_long == {places[0]}
    assert answers.problems == []
    assert done == [3]


def test_what_a_broker_refuses_is_named_once_and_the_rest_answered(cluster: Cluster) -> None:
    gone, there = UnreadPlace("plain", 0, 77), UnreadPlace("plain", 0, 4)
    answers = fetch_unread_parts(cluster, {gone: 78, UnreadPlace("plain", 0, 76): 78, there: 5})
    assert answers.parts == {}
    assert answers.problems == [f"{cluster.name}: plain partition 0: OFFSET_OUT_OF_RANGE"]


def test_how_far_committed_data_goes(cluster: Cluster) -> None:
    assert cluster.last_stable_offsets({"plain", "deals", "nosuch"}) == {("plain", 0): 5, ("deals", 0): 4}

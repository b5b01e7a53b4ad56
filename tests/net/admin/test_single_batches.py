"""Batches of a live cluster that are fetched one by one."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

import kgroup.testing
from kgroup.net.admin import single_batches
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.single_batches import BatchAt, fetch_batches
from kgroup.net.connect.properties import ConnectionOptions

PATIENCE_S = 30
LARGE = 200_000


@pytest.fixture(scope="module")
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(nodes=2, topics={"small": 2, "large": 2}) as running:
        producer = Producer({"bootstrap.servers": running.bootstrap})
        for topic, size in (("small", 1), ("large", LARGE)):
            for partition in range(2):
                for _ in range(3):
                    producer.produce(topic, b"v" * size, partition=partition)
                    producer.flush(PATIENCE_S)
        yield running


@pytest.fixture(scope="module")
def cluster(kafka: kgroup.testing.Cluster) -> Iterator[Cluster]:
    with Cluster(ConnectionOptions(bootstrap_servers=kafka.bootstrap)) as connected:
        yield connected


def bases(cluster: Cluster, wanted: list[BatchAt]) -> dict[BatchAt, int]:
    return {each: int.from_bytes(sent[:8]) for each, sent in fetch_batches(cluster, wanted)}


def test_each_batch_of_many_partitions(cluster: Cluster) -> None:
    wanted = [BatchAt("small", partition, offset) for partition in range(2) for offset in (0, 2)]
    assert bases(cluster, wanted) == {each: each.offset for each in wanted}


def test_batches_that_do_not_fit_together_are_fetched_alone(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_batches, "_ANSWER_BYTES", LARGE // 2)
    wanted = [BatchAt("large", 0, 1), BatchAt("large", 1, 2), BatchAt("small", 0, 1)]
    fetched = dict(fetch_batches(cluster, wanted))
    assert {each: int.from_bytes(sent[:8]) for each, sent in fetched.items()} == {
        each: each.offset for each in wanted
    }
    assert len(fetched[wanted[0]]) > LARGE


def test_what_is_not_there_is_left_out(cluster: Cluster) -> None:
    wanted = [BatchAt("small", 0, 3), BatchAt("small", 1, 99), BatchAt("nowhere", 0, 0)]
    assert bases(cluster, wanted) == {}


def test_a_leader_that_has_moved_is_asked_again(kafka: kgroup.testing.Cluster, cluster: Cluster) -> None:
    slept: list[float] = []
    stale = cluster.leaders({"small"})
    other = {place: 3 - node for place, node in stale.items()}
    answers = iter((other, stale, stale))
    moved = _Moved(cluster, answers)
    fetched = dict(fetch_batches(moved, [BatchAt("small", 0, 1)], slept.append))  # type: ignore[arg-type]
    assert len(fetched) == 1


class _Moved:
    """The cluster as one sees it whose metadata are behind."""

    def __init__(self, cluster: Cluster, leaders: Iterator[dict[tuple[str, int], int]]) -> None:
        self._leaders = leaders
        self.ask = cluster.ask

    def leaders(self, topics: set[str]) -> dict[tuple[str, int], int]:
        return next(self._leaders)

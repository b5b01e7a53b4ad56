"""What of a live cluster can be said of feeds and deadlines."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import kgroup
import kgroup.testing
from kgroup.api.opened import OpenedLogs
from kgroup.history.feeds.model import FeedKind
from kgroup.lag.deadlines.model import DeadlineNote, Outlook

PATIENCE_S = 30


@pytest.fixture(scope="module")
def kafka() -> Iterator[OpenedLogs]:
    """A group that has read 2 of 6 records and committed once."""
    with kgroup.testing.cluster(topics={"orders": 1}) as running:
        producer = Producer({"bootstrap.servers": running.bootstrap})
        for _ in range(6):
            producer.produce("orders", b"v", partition=0)
        producer.flush(PATIENCE_S)
        consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": "slow"})
        consumer.commit(offsets=[TopicPartition("orders", 0, 2)], asynchronous=False)
        consumer.close()
        with kgroup.connect(running.bootstrap) as logs:
            yield logs


def test_what_is_met_needs_no_pace_and_the_rest_does(kafka: OpenedLogs) -> None:
    made = kgroup.deadlines(kafka, slo_records=[3, 5])
    assert [(each.deadline.bound, each.deadline.outlook, each.deadline.note) for each in made.deadlines] == [
        (3, Outlook.PASSED, None),
        (5, Outlook.UNKNOWN, DeadlineNote.TOO_FEW_COMMITS),
    ]
    assert made.problems == ()


def test_only_what_groups_read_is_known(kafka: OpenedLogs) -> None:
    made = kgroup.feeds(kafka)
    assert [(feed.topic, feed.kind, feed.group) for feed in made.feeds] == [
        ("orders", FeedKind.READS, "slow")
    ]
    assert "of a live cluster only what groups read and declare" in made.remarks[-1]

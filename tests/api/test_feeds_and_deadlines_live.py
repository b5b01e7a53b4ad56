"""What of a live cluster can be said of feeds and deadlines."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import kgroup
import kgroup.testing
from kgroup.api.opened import OpenedLogs
from kgroup.errors import InputError
from kgroup.history.feeds.model import FeedKind
from kgroup.lag.deadlines.model import DeadlineKind, DeadlineNote, Outlook

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


def test_topics_own_retention_is_asked_for() -> None:
    """One topic deletes by time, one by size, one never, and one is compacted and deletes, too."""
    topics = {
        "timed": {"retention.ms": "3600000"},
        "sized": {"retention.ms": "-1", "retention.bytes": "5000"},
        "forever": {"retention.ms": "-1"},
        "compacted": {"cleanup.policy": "compact", "retention.ms": "1"},
        "both": {"cleanup.policy": "compact, delete", "retention.ms": "7200000"},
    }
    with kgroup.testing.cluster() as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        for made in admin.create_topics(
            [NewTopic(name, 1, 1, config=config) for name, config in topics.items()]
        ).values():
            made.result(PATIENCE_S)
        consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": "reader"})
        commits = [TopicPartition(name, 0, 0) for name in topics]
        consumer.commit(offsets=commits, asynchronous=False)
        consumer.close()
        with kgroup.connect(running.bootstrap) as logs:
            made = kgroup.deadlines(logs, topic_retention=True)
    assert {(each.topic, each.deadline.kind, each.deadline.bound) for each in made.deadlines} == {
        ("timed", DeadlineKind.RETENTION_TIME, 3_600_000),
        ("sized", DeadlineKind.RETENTION_BYTES, 5_000),
        ("both", DeadlineKind.RETENTION_TIME, 7_200_000),
    }
    assert made.kept == ("compacted", "forever")


def test_files_do_not_say_what_topics_own_retention_is() -> None:
    with pytest.raises(InputError, match="a live cluster's to say"):
        kgroup.deadlines(kgroup.open_logs("fixtures/pipeline/4.3.1"), topic_retention=True)

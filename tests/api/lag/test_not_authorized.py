"""Topics that the user of a live cluster may not describe are not called deleted.

A stand-in for a broker with ACLs, which lists what the user may see, and answers TOPIC_AUTHORIZATION_FAILED
for all else by its name, as Kafka 4.3.1 does: `KafkaApis.handleTopicMetadataRequest`.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

import kgroup.testing
from kgroup.api.assign import group_plan
from kgroup.api.lag.report import lag_report
from kgroup.api.live import connect
from kgroup.api.opened import OpenedLogs
from kgroup.broker.apis import cluster_apis
from kgroup.errors import InputError, SourceError
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.rows import LagRow, Note
from kgroup.net.admin.raw_logs import offsets_spans
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.group_hash import OFFSETS_TOPIC

ERRORS = {
    "hidden": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    "gone": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    "odd": ErrorCode.LEADER_NOT_AVAILABLE,
}


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> dict[str, ErrorCode]:
    """The errors that the broker answers instead of these topics, from when they are put in here."""
    answered: dict[str, ErrorCode] = {}
    topic_of = cluster_apis._topic

    def topic_or_error(node: Any, version: int, topic: Any) -> Any:
        if (error := answered.get(topic.spec.name)) is None:
            return topic_of(node, version, topic)
        return cluster_apis._no_topic(version, topic.spec.name, None, error)

    monkeypatch.setattr(cluster_apis, "_topic", topic_or_error)
    return answered


@pytest.fixture
def logs(errors: dict[str, ErrorCode]) -> Iterator[OpenedLogs]:
    """A group with an offset in each topic, of which its user may afterwards describe one."""
    names = ["orders", *ERRORS]
    with kgroup.testing.cluster(topics=dict.fromkeys(names, 1)) as running:
        consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": "billing"})
        consumer.commit(offsets=[TopicPartition(name, 0, 7) for name in names], asynchronous=False)
        consumer.close()
        errors.update(ERRORS)
        with connect(running.bootstrap) as opened:
            yield opened


def test_a_topic_that_may_not_be_described_keeps_its_row_and_is_not_called_deleted(logs: OpenedLogs) -> None:
    report = lag_report(logs)
    rows: dict[str, LagRow] = {row.topic: row for row in report.rows()}
    assert {name: row.topic_state for name, row in rows.items()} == {
        "orders": TopicState.EXISTS,
        "hidden": TopicState.NOT_AUTHORIZED,
        "gone": TopicState.DELETED,
        "odd": TopicState.UNKNOWN,
    }
    row = rows["hidden"]
    assert Note.TOPIC_NOT_AUTHORIZED in row.notes and Note.TOPIC_DELETED not in row.notes
    assert (row.current_offset, row.log_end_offset, row.lag) == (7, None, None)
    assert any("no right to describe hidden" in line for line in report.inputs.remarks())


def test_the_same_with_a_time_lag_and_findings(logs: OpenedLogs) -> None:
    report = lag_report(logs, time_lag="exact", findings=True, status=True)
    [lag] = [
        time
        for chunk in report.chunks()
        for row, time in zip(chunk.rows, chunk.columns["time_lag_reason"], strict=True)
        if row.topic == "hidden"
    ]
    assert lag == "topic-not-authorized"


def test_a_hidden_offsets_topic_is_called_that(errors: dict[str, ErrorCode]) -> None:
    with kgroup.testing.cluster(topics={"orders": 1}) as running, connect(running.bootstrap) as opened:
        assert opened.cluster is not None
        errors[OFFSETS_TOPIC] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        with pytest.raises(SourceError, match="no right to describe __consumer_offsets: TOPIC_AUTH"):
            offsets_spans(opened.cluster)


def test_assign_asks_for_the_partitions_of_a_topic_that_may_not_be_described(
    errors: dict[str, ErrorCode],
) -> None:
    with kgroup.testing.cluster(topics={"orders": 1}) as running:
        member = Consumer({"bootstrap.servers": running.bootstrap, "group.id": "billing"})
        member.subscribe(["orders"])
        while not member.assignment():
            member.poll(0.05)
        errors["orders"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        with connect(running.bootstrap) as opened:
            with pytest.raises(InputError, match="which you may not describe: say --topic orders:N"):
                group_plan(opened, "billing")
            assert group_plan(opened, "billing", topics={"orders": 3}).plan.topics[0].partitions == 3
        errors.clear()
        member.close()

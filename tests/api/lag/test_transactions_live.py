"""Readers that wait for an open transaction of a live cluster, and one that does not."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

import kgroup.testing
from kgroup.api.lag.report import LagReport, lag_report
from kgroup.api.live import connect
from kgroup.lag.findings.model import FindingKind
from tests.net.admin.test_unread import BEGIN_MS, OPEN, deals

COMMITTED = {"waits": 4, "before-a-marker": 3, "could-read": 2, "uncommitted": 5}
"""In `deals` 0 is aborted, 2 committed, 4 in a transaction that stays open; 1 and 3 are markers."""


@pytest.fixture(scope="module")
def report() -> Iterator[LagReport]:
    """As of long after the commits, so that whoever could read has surely stopped."""
    with kgroup.testing.cluster(topics={"deals": 1}) as running:
        deals(running)
        for group, offset in COMMITTED.items():
            consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": group})
            consumer.commit(offsets=[TopicPartition("deals", 0, offset)], asynchronous=False)
            consumer.close()
        with connect(running.bootstrap) as logs:
            now_ms = lag_report(logs).as_of.now_ms + 400_000
            yield lag_report(logs, findings=True, status=True, now_ms=now_ms)
        OPEN.clear()


def test_findings(report: LagReport) -> None:
    assert {finding.group: finding.kind for finding in report.findings()} == {
        "waits": FindingKind.OPEN_TRANSACTION,
        "before-a-marker": FindingKind.OPEN_TRANSACTION,
        "could-read": FindingKind.STOPPED_GROUP,
    }
    waits = next(finding for finding in report.findings() if finding.group == "waits")
    assert waits.since_ms == BEGIN_MS + 2
    assert waits.numbers["first_offset"] == 4
    assert report.problems == ()


def test_statuses(report: LagReport) -> None:
    assert {row["group"]: row["rule"] for row in report.to_arrow().to_pylist()} == {
        "waits": "open-transaction",
        "before-a-marker": "open-transaction",
        "could-read": "stopped",
        "uncommitted": "within-allowed",
    }

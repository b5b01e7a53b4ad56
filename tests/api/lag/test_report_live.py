"""The lag report on a live cluster that is asked some rows at a time."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import kgroup.testing
from kgroup.api.lag import proof
from kgroup.api.lag.report import lag_report
from kgroup.api.live import connect
from kgroup.api.opened import OpenedLogs
from kgroup.lag.measures.time_lag_method import TimeLagMethod

BEGIN_MS = 1_700_000_000_000
PATIENCE_S = 30


@pytest.fixture(scope="module")
def kafka() -> Iterator[OpenedLogs]:
    """Three groups that have read 0, 3 and all 6 records, one a second, of each of two partitions."""
    with kgroup.testing.cluster(topics={"orders": 2}) as running:
        producer = Producer({"bootstrap.servers": running.bootstrap})
        for partition in range(2):
            for number in range(6):
                producer.produce("orders", b"v", partition=partition, timestamp=BEGIN_MS + 1000 * number)
        producer.flush(PATIENCE_S)
        for group, offset in (("a", 0), ("b", 3), ("c", 6), ("d", 3)):
            consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": group})
            places = [TopicPartition("orders", partition, offset) for partition in range(2)]
            consumer.commit(offsets=places, asynchronous=False)
            consumer.close()
        with connect(running.bootstrap) as logs:
            yield logs


@pytest.mark.parametrize("method", [TimeLagMethod.EXACT, TimeLagMethod.BISECT])
@pytest.mark.parametrize("rows_at_once", [1, 4096])
def test_rows_asked_in_pieces_know_the_same(
    kafka: OpenedLogs, method: TimeLagMethod, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "ROWS_AT_ONCE", rows_at_once)
    report = lag_report(kafka, status=True, time_lag=method, breakdown=True, now_ms=BEGIN_MS + 10_000)
    assert len(list(report.chunks())) == (4 if rows_at_once == 1 else 1)
    rows = report.to_arrow().to_pylist()
    assert [
        (row["group"], row["partition"], row["lag"], row["time_lag_ms"], row["unread_records"])
        for row in rows
    ] == [
        (group, partition, lag, waited_ms, lag)
        for group, lag, waited_ms in (("a", 6, 10_000), ("b", 3, 7_000), ("c", 0, 0), ("d", 3, 7_000))
        for partition in range(2)
    ]
    assert report.problems == ()


def test_nobody_is_asked_again_about_the_same_place(
    kafka: OpenedLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "ROWS_AT_ONCE", 1)
    fetched: list[object] = []
    real = kgroup.api.lag.breakdown_live.fetch_unread_parts

    def counted(cluster, ends, advance):  # type: ignore[no-untyped-def]
        fetched.extend(ends)
        return real(cluster, ends, advance)

    monkeypatch.setattr("kgroup.api.lag.breakdown_live.fetch_unread_parts", counted)
    report = lag_report(kafka, status=True, breakdown=True, now_ms=BEGIN_MS + 10_000)
    assert report.to_arrow().num_rows == 8
    assert len(fetched) == len(set(fetched)) == 6

"""`kgroup lag-report --time-lag`: from the files of real brokers and hand-made logs, and from a cluster."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import kgroup.testing
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from tests.cli.conftest import Kgroup
from tests.log.offsets_log import batch, write
from tests.log.offsets_log import commit as logged_commit
from tests.log.topics.test_log_end_history import one
from tests.log.truth import FIXTURES

LIVES, OLD = FIXTURES / "4.3.1/lives", FIXTURES / "0.10.1.1/lives"
PATIENCE_S = 30
BEGIN_MS = 1_700_000_000_000

Report = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def report(kgroup: Kgroup) -> Report:
    """The rows of a report that succeeds and has nothing to complain of."""

    def run(*arguments: object) -> list[dict[str, Any]]:
        ended = kgroup("lag-report", *map(str, arguments), "-q", "-o", "jsonl")
        assert (ended.status, ended.err) == (0, "")
        return [json.loads(line) for line in ended.out.splitlines()]

    return run


def times_of(capture: Path, topic: str, partition: int) -> dict[int, int]:
    """Offset and timestamp of all records of a data topic, read one by one."""
    batches = read_segment(capture / f"{topic}-{partition}" / f"{0:020}.log")
    return {
        record.offset: record.timestamp_ms
        for item in batches
        if isinstance(item, Batch)
        for record in item.records()
    }


@pytest.mark.parametrize("version", ["0.10.1.1", "1.1.1", "2.4.1", "3.9.1", "4.3.1"])
def test_exact_is_the_age_of_the_record_at_the_offset_that_the_broker_answered(
    report: Report, version: str
) -> None:
    capture = FIXTURES / version / "lives"
    answered = json.loads((capture / "groups.json").read_text())
    now_ms = answered["takenAtMs"]
    rows = report(capture, "--topic", "payments", "--time-lag", "exact", "--now", now_ms)
    expected = {}
    for group, said in answered["groups"].items():
        for offset in said.get("offsets", {}).values():
            if offset["topic"] == "payments":
                times = times_of(capture, "payments", offset["partition"])
                written_ms = times.get(offset["offset"])
                lag = (0, "caught-up") if written_ms is None else (now_ms - written_ms, None)
                expected[group, offset["partition"]] = lag
    time_lags = {
        (row["group"], row["partition"]): (row["time_lag_ms"], row["time_lag_reason"]) for row in rows
    }
    assert expected
    assert time_lags == time_lags | expected
    assert {row["time_lag_method"] for row in rows} == {"exact"}


def test_what_cannot_be_known_has_a_reason_and_is_not_0(report: Report) -> None:
    rows = [*report(LIVES, "--time-lag", "exact"), *report(OLD, "--time-lag", "exact")]
    reasons = {row["time_lag_reason"] for row in rows if row["time_lag_ms"] is None}
    assert reasons == {"no-data-log", "no-commit", "topic-deleted"}
    # Without the data topic's log nobody knows how fast it grows.
    without = [row for row in rows if row["time_lag_reason"] == "no-data-log"]
    assert {(row["growth_per_s"], row["drain_ms"]) for row in without} == {(None, None)}
    assert all(row["time_lag_ms"] >= 0 for row in rows if row["time_lag_ms"] is not None)


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A group that commits 10, 20, 30 in steps of 10 s, and a topic that gets 2 records a second."""
    folder = tmp_path / "orders-0"
    folder.mkdir()
    records = [one(offset, BEGIN_MS + 500 * offset) for offset in range(100)]
    (folder / f"{0:020}.log").write_bytes(b"".join(records))
    commits = [_commit_at(BEGIN_MS + 10_000 * number, 10 * number) for number in (1, 2, 3)]
    write(tmp_path, [batch(0, commits)])
    return tmp_path


def _commit_at(time_ms: int, offset: int) -> tuple[bytes, bytes | None]:
    """`logged_commit` takes its offset for its time."""
    key, value = logged_commit("g", "orders", 0, offset)
    assert value is not None
    return key, value.replace((offset + 1).to_bytes(8, "big"), time_ms.to_bytes(8, "big"))


def test_rates_and_time_to_drain_of_a_group_that_falls_behind(report: Report, log_dir: Path) -> None:
    """Since its first commit, after 10 s, the log has grown from 21 to 100 in 39.5 s."""
    (row,) = report(log_dir, "--time-lag", "exact", "--now", BEGIN_MS + 60_000)
    assert (row["lag"], row["time_lag_ms"], row["time_lag_reason"]) == (70, 45_000, None)
    assert row["written_per_s"] == pytest.approx(79 / 39.5)
    assert row["read_per_s"] == pytest.approx(20 / 39.5)
    assert row["growth_per_s"] == pytest.approx(59 / 39.5)
    assert row["drain_ms"] is None


def test_a_group_that_catches_up_says_when_it_will_be_done(report: Report, log_dir: Path) -> None:
    """In 10 s the log grows from 60 to 100, and the group goes from 5 to 95."""
    commits = [_commit_at(BEGIN_MS, 5), _commit_at(BEGIN_MS + 8000, 95), _commit_at(BEGIN_MS + 9000, 95)]
    write(log_dir, [batch(0, commits)])
    (log_dir / "orders-0" / f"{0:020}.log").write_bytes(
        b"".join(one(offset, BEGIN_MS if offset < 60 else BEGIN_MS + 10_000) for offset in range(100))
    )
    (row,) = report(log_dir, "--time-lag", "exact", "--now", BEGIN_MS + 60_000)
    assert (row["written_per_s"], row["read_per_s"], row["growth_per_s"]) == (4, 9, -5)
    assert (row["lag"], row["drain_ms"]) == (5, 1000)


def test_interpolation_is_along_the_records_times(report: Report, log_dir: Path) -> None:
    """The log ended at 30 when the record at 29 was written."""
    (row,) = report(log_dir, "--time-lag", "interpolate", "--now", BEGIN_MS + 60_000)
    assert (row["time_lag_ms"], row["time_lag_method"]) == (60_000 - 14_500, "interpolate")


def test_damage_is_told_once_and_leaves_the_time_unknown(kgroup: Kgroup, log_dir: Path) -> None:
    path = log_dir / "orders-0" / f"{0:020}.log"
    raw = bytearray(path.read_bytes())
    size = len(one(0, BEGIN_MS))
    raw[30 * size + 30] ^= 1
    path.write_bytes(raw)
    ended = kgroup("lag-report", str(log_dir), "--time-lag", "exact", "-q", "-o", "json", "--strict")
    (row,) = json.loads(ended.out)
    assert (row["time_lag_ms"], row["time_lag_reason"]) == (None, "unreadable")
    assert ended.status == 3
    assert ended.err.startswith(f"kgroup: {path}: byte {30 * size}: batch CRC-32C")
    assert ended.err.count("\n") == 2


def test_a_log_that_ends_before_the_record_is_no_proof_of_anything(report: Report, log_dir: Path) -> None:
    ends = log_dir / "ends.csv"
    ends.write_text("topic,partition,log_end_offset\norders,0,300\n")
    write(log_dir, [batch(0, [_commit_at(BEGIN_MS, 200)])])
    (row,) = report(log_dir, "--log-ends", ends, "--time-lag", "exact")
    assert (row["lag"], row["time_lag_ms"], row["time_lag_reason"]) == (100, None, "no-data-log")


def test_the_table_names_the_method(kgroup: Kgroup, log_dir: Path) -> None:
    ended = kgroup("lag-report", str(log_dir), "--time-lag", "exact", "--now", str(BEGIN_MS + 60_000), "-q")
    assert [line.split() for line in ended.out.splitlines()] == [
        ["GROUP", "TOPIC", "PARTITION", "LAG", "TIME-LAG", "METHOD", "REASON", "GROWTH/S", "DRAIN", "NOTES"],
        ["g", "orders", "0", "70", "45s", "exact", "-", "1.49", "-", "no-members"],
    ]


def test_status_and_time_lag_go_together(report: Report, log_dir: Path) -> None:
    (row,) = report(log_dir, "--time-lag", "exact", "--status", "--now", BEGIN_MS + 60_000)
    assert (row["time_lag_ms"], row["status"]) == (45_000, "OK")


@pytest.fixture(scope="module")
def kafka() -> Iterator[kgroup.testing.Cluster]:
    """A group that has committed 2 and 5 of 5 records, one a second, and 3 where there are 3."""
    with kgroup.testing.cluster(topics={"orders": 2, "deals": 1}) as running:
        producer = Producer({"bootstrap.servers": running.bootstrap})
        for number in range(5):
            for partition in (0, 1):
                producer.produce("orders", b"v", partition=partition, timestamp=BEGIN_MS + 1000 * number)
            producer.flush(PATIENCE_S)
        del producer  # or it would complain when the cluster is gone
        group = Consumer(
            {"bootstrap.servers": running.bootstrap, "group.id": "g", "enable.auto.commit": False}
        )
        group.commit(
            offsets=[TopicPartition("orders", 0, 2), TopicPartition("orders", 1, 5)], asynchronous=False
        )
        group.close()
        yield running


@pytest.mark.parametrize(("choice", "method"), [("exact", "exact"), ("bisect", "bisect")])
def test_a_cluster_is_asked(report: Report, kafka: kgroup.testing.Cluster, choice: str, method: str) -> None:
    rows = report("-b", kafka.bootstrap, "--time-lag", choice, "--now", BEGIN_MS + 60_000)
    assert [(row["partition"], row["lag"], row["time_lag_ms"], row["time_lag_reason"]) for row in rows] == [
        (0, 3, 58_000, None),
        (1, 0, 0, "caught-up"),
    ]
    assert {row["time_lag_method"] for row in rows} == {method}


def test_a_cluster_knows_how_long_its_logs_were_when_a_group_committed_first(report: Report) -> None:
    """10 records before its first commit and 20 behind that; 5 and 25 are read; asked 100 s later."""
    with kgroup.testing.cluster(topics={"orders": 1}) as kafka:
        produce(kafka, 10, BEGIN_MS)
        commit(kafka, 5)
        (first,) = report("-b", kafka.bootstrap)
        produce(kafka, 20, first["commit_timestamp"] + 90_000)
        commit(kafka, 25)
        now_ms = first["commit_timestamp"] + 100_000
        (row,) = report("-b", kafka.bootstrap, "--time-lag", "exact", "--now", now_ms)
    assert (row["lag"], row["written_per_s"], row["read_per_s"]) == (5, 0.2, 0.2)
    assert (row["growth_per_s"], row["drain_ms"]) == (0, None)


def produce(kafka: kgroup.testing.Cluster, count: int, time_ms: int) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for _ in range(count):
        producer.produce("orders", b"v", partition=0, timestamp=time_ms)
    producer.flush(PATIENCE_S)


def commit(kafka: kgroup.testing.Cluster, offset: int) -> None:
    group = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
    group.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)
    group.close()


def test_a_clock_behind_the_producers_is_no_negative_lag(
    report: Report, kafka: kgroup.testing.Cluster
) -> None:
    rows = report("-b", kafka.bootstrap, "--time-lag", "exact", "--now", BEGIN_MS)
    assert [(row["time_lag_ms"], row["time_lag_reason"]) for row in rows] == [
        (0, "in-future"),
        (0, "caught-up"),
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([str(LIVES), "--time-lag", "bisect"], "--time-lag bisect asks brokers"),
        (["-b", "127.0.0.1:1", "--time-lag", "interpolate"], "needs more than one reading from a cluster"),
        ([str(LIVES), "--time-lag", "best"], "--time-lag: 'best' is not one of exact, bisect, interpolate"),
        ([str(LIVES), "--now", "5m"], "--now is for --status, --stuck"),
    ],
)
def test_what_makes_no_sense_is_refused(kgroup: Kgroup, arguments: list[str], why: str) -> None:
    ended = kgroup("lag-report", *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert why in ended.err
    assert ended.err.count("\n") == 1

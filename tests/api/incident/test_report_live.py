"""Reports on a live cluster: lag and findings from the batches that prove them, and from no others."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import kgroup.testing
from kgroup.api.incident import live_batches
from kgroup.api.incident.ahead import AskedDeadline
from kgroup.api.incident.check import check_report, rendered
from kgroup.api.incident.evidence import EvidenceReader
from kgroup.api.incident.live_batches import LiveBatches
from kgroup.api.incident.made import incident_report
from kgroup.api.lag.report import lag_report
from kgroup.api.live import connect
from kgroup.api.opened import OpenedLogs
from kgroup.lag.deadlines.model import DeadlineKind
from kgroup.report.incident.claims import ClaimKind, Incident

PATIENCE_S = 30
RECORDS = 60
MINUTE_MS = 60_000


@pytest.fixture(scope="module")
def kafka() -> Iterator[kgroup.testing.Cluster]:
    """A group that has read 10 records and gone; an hour's worth of records, one a minute, in batches of one.

    The first 10 are older than its commit, the others are stamped ahead of it.
    """
    with kgroup.testing.cluster(nodes=2, topics={"orders": 2, "empty": 1}) as running:
        consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": "gone"})
        consumer.subscribe(["orders"])
        while len(consumer.assignment()) < 2:
            consumer.poll(0.1)
        consumer.commit(offsets=[TopicPartition("orders", each, 10) for each in range(2)], asynchronous=False)
        consumer.close()
        with connect(running.bootstrap) as opened:
            committed_ms = lag_report(opened).as_of.now_ms
        producer = Producer({"bootstrap.servers": running.bootstrap})
        for number in range(RECORDS):
            for partition in range(2):
                at_ms = committed_ms + (number - 10) * MINUTE_MS
                producer.produce("orders", b"v", partition=partition, timestamp=at_ms)
            producer.flush(PATIENCE_S)
        yield running


@pytest.fixture(scope="module")
def logs(kafka: kgroup.testing.Cluster) -> Iterator[OpenedLogs]:
    with connect(kafka.bootstrap) as opened:
        yield opened


@pytest.fixture(scope="module")
def until_ms(logs: OpenedLogs) -> int:
    return lag_report(logs).as_of.now_ms + 30 * MINUTE_MS


@pytest.fixture(scope="module")
def incident(logs: OpenedLogs, until_ms: int) -> Incident:
    """Half an hour later, when 31 records of each partition are unread."""
    return incident_report(
        logs, groups=["gone"], to_ms=until_ms, deadlines=[AskedDeadline(DeadlineKind.SLO_RECORDS, 20)]
    )


def test_it_says_how_far_behind_the_group_was(incident: Incident) -> None:
    (lag,) = incident.of(ClaimKind.LAG)
    lags = lag.says["lags"]
    assert lags[1:] == sorted(lags[1:])
    assert lags[-1] == 2 * 31
    assert set(lag.says["unknown"][1:]) == {0}


def test_it_says_what_is_wrong(incident: Incident) -> None:
    found = [claim.says["finding"] for claim in incident.of(ClaimKind.FINDING)]
    assert found == ["dead-with-lag"]
    assert [claim.says["outlook"] for claim in incident.of(ClaimKind.DEADLINE)] == ["passed"]
    assert any("batches of the cluster's topics were fetched" in remark for remark in incident.remarks)
    assert not any("dead-with-lag" in remark for remark in incident.remarks)
    assert not any("no batch" in remark for remark in incident.remarks)


@pytest.mark.parametrize("form", ["md", "json"])
def test_another_reader_of_the_cluster_derives_it_again(
    kafka: kgroup.testing.Cluster, incident: Incident, tmp_path: Path, form: str
) -> None:
    path = tmp_path / "report"
    path.write_text(rendered(incident, form), encoding="utf-8")
    with connect(kafka.bootstrap) as later:
        checked = check_report(path, later)
    assert checked.failures == ()
    assert checked.claims == len(incident.claims)


def test_it_ends_with_the_newest_record_of_the_groups_unless_told_otherwise(logs: OpenedLogs) -> None:
    assert incident_report(logs, groups=["gone"]).to_ms == lag_report(logs).as_of.now_ms


def test_it_names_the_cluster(logs: OpenedLogs, incident: Incident) -> None:
    assert logs.cluster is not None
    assert incident.sources == (logs.cluster.name,)


def test_a_report_without_the_batches_would_know_no_lag(
    logs: OpenedLogs, until_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the cluster says and no batch proves is not claimed, and the report says so."""
    monkeypatch.setattr(LiveBatches, "_fetch", lambda self, wanted: None)
    incident = incident_report(logs, groups=["gone"], to_ms=until_ms)
    assert not incident.of(ClaimKind.LAG)
    assert not incident.of(ClaimKind.FINDING)
    assert any("dead-with-lag" in remark and "left out" in remark for remark in incident.remarks)
    silent = "no batch could be fetched of 2 partitions (orders-0 and others)"
    assert any(remark.startswith(silent) for remark in incident.remarks)


def test_a_group_that_never_committed_is_reported_without_lag() -> None:
    with kgroup.testing.cluster(topics={"orders": 1}) as running:
        for _ in range(2):
            consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": "idle"})
            consumer.subscribe(["orders"])
            while not consumer.assignment():
                consumer.poll(0.1)
            consumer.close()
        with connect(running.bootstrap) as opened:
            incident = incident_report(opened, groups=["idle"])
    assert {claim.group for claim in incident.claims} == {"idle"}
    assert not incident.of(ClaimKind.LAG)


def test_batches_are_those_of_the_times_and_some_between(logs: OpenedLogs, until_ms: int) -> None:
    live = EvidenceReader(logs).live
    assert live is not None
    place = ("orders", 0)
    live.look({place: [until_ms], ("empty", 0): [until_ms]})
    newer = next(batch for batch, _ in live.all(place) if batch.max_timestamp_ms > until_ms)
    assert [batch.base_offset for batch, _ in live.all(place)] == [newer.base_offset - 1, newer.base_offset]
    assert live.all(("empty", 0)) == ()
    live.sample([place, ("empty", 0)], 4)
    assert {0, 15, 30, 45, RECORDS - 1} <= {batch.base_offset for batch, _ in live.all(place)}
    assert live.number < 10
    assert live.at(place, RECORDS) is None
    found = live.at(place, 7)
    assert found is not None
    assert found[0].base_offset == 7


def test_sampling_ends_where_batches_are_large(logs: OpenedLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_batches, "_BYTES_MAX", 100)
    live = EvidenceReader(logs).live
    assert live is not None
    live.sample([("orders", 0)], 64)
    assert (live.number, live.is_cut) == (2, True)

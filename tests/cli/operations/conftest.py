"""A cluster with records of known times, and groups with commits."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

import kgroup.testing
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.committed import fetch_offsets
from kgroup.net.connect.properties import ConnectionOptions

PATIENCE_S = 60
BEGIN_MS = 1_700_000_000_000
MINUTE_MS = 60_000
ORDERS = (40, 0, 300)
"""Records of orders-0 to orders-2, one a minute from BEGIN_MS on."""
Commits = dict[tuple[str, int], tuple[int, int, str]]


@pytest.fixture(scope="module")
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(topics={"orders": 3, "audit": 1}) as running:
        produce(running.bootstrap, "orders", ORDERS)
        yield running


@pytest.fixture(autouse=True)
def undo_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "kgroup" / "undo"


def produce(bootstrap: str, topic: str, counts: tuple[int, ...], begin_ms: int = BEGIN_MS) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for partition, count in enumerate(counts):
        for number in range(count):
            producer.send(topic, b"x", partition=partition, timestamp_ms=begin_ms + number * MINUTE_MS)
    producer.flush(PATIENCE_S)
    producer.close()


def commit(bootstrap: str, group: str, offsets: Mapping[tuple[str, int], int | tuple[int, int, str]]) -> None:
    """Commit as a consumer that assigns partitions to itself."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    consumer.commit(
        {TopicPartition(*place): OffsetAndMetadata(*_triple(given)) for place, given in offsets.items()}
    )
    consumer.close()


def _triple(given: int | tuple[int, int, str]) -> tuple[int, str, int]:
    offset, epoch, metadata = (given, -1, "") if isinstance(given, int) else given
    return offset, metadata, epoch


def committed(bootstrap: str, group: str) -> Commits:
    """What a group has committed: offset, leader epoch and metadata."""
    with Cluster(ConnectionOptions(bootstrap_servers=bootstrap)) as cluster:
        return {place: tuple(position) for place, position in fetch_offsets(cluster, group).commits.items()}


@contextmanager
def member(bootstrap: str, group: str, *options: str) -> Iterator[str]:
    """A live member of a classic group on orders; gives its member id."""
    command = [
        *(sys.executable, "-m", "kgroup", "join", "-b", bootstrap, "--group", group, "--topic", "orders"),
        *("--client-id", "c1", "--assignor", "range", "--from", "earliest", "-o", "jsonl", *options),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        joined = next(
            event for event in map(json.loads, process.stdout) if event["event"] in ("assigned", "committed")
        )
        try:
            yield str(joined.get("member_id", ""))
        finally:
            process.terminate()
            process.stdout.read()

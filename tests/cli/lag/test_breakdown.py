"""`kgroup lag-report --breakdown` of a live cluster: what it says of the cluster's files, up to a bound."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

import kgroup.testing
from kgroup.api.lag import breakdown_live as lag_breakdown_live
from kgroup.net.admin.unread_parts import fetch_unread_parts
from tests.cli.conftest import Kgroup
from tests.net.admin.test_unread import BEGIN_MS, OPEN, PATIENCE_S, deals, produce

PARTS = (
    "unread_records",
    "aborted_records",
    "undecided_records",
    "transaction_markers",
    "missing_offsets",
    "beyond_last_stable",
    "lost_offsets",
)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Bootstrap servers, and the log directory, of a broker whose groups are behind in different ways."""
    folder = tmp_path_factory.mktemp("broker")
    with kgroup.testing.cluster(topics={"plain": 2, "deals": 1, "large": 1}, data_dir=folder) as running:
        produce(running, "plain", 0, [BEGIN_MS + number for number in range(6)])
        produce(running, "plain", 1, [BEGIN_MS])
        produce(running, "large", 0, [BEGIN_MS, BEGIN_MS + 1], size=200_000)
        deals(running)
        commit(running, "slow", [("plain", 0, 1), ("plain", 1, 1), ("deals", 0, 0), ("large", 0, 0)])
        commit(running, "close", [("deals", 0, 2), ("large", 0, 1)])
        admin, before_3 = AdminClient({"bootstrap.servers": running.bootstrap}), TopicPartition("plain", 0, 3)
        admin.delete_records([before_3])[before_3].result(PATIENCE_S)
        yield running.bootstrap, folder
        OPEN.clear()


def commit(kafka: kgroup.testing.Cluster, group: str, offsets: list[tuple[str, int, int]]) -> None:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(*offset) for offset in offsets], asynchronous=False)
    consumer.close()


def breakdown(kgroup: Kgroup, *source: str) -> tuple[dict[tuple[str, str, int], tuple[Any, ...]], str]:
    ended = kgroup("lag-report", *source, "--breakdown", "-o", "jsonl")
    assert ended.status == 0, ended.err
    rows = [json.loads(line) for line in ended.out.splitlines()]
    parts = {
        (row["group"], row["topic"], row["partition"]): tuple(row[name] for name in PARTS) for row in rows
    }
    assert all(row["expires"] is not None for row in rows)
    return parts, ended.err


def test_each_kind_of_unread_offset_is_counted(kgroup: Kgroup, kafka: tuple[str, Path]) -> None:
    """Of deals 0 is aborted, 2 committed and 4 open, 1 and 3 are markers; of plain 0 to 2 were deleted."""
    parts, messages = breakdown(kgroup, "-b", kafka[0])
    assert parts == {
        ("slow", "plain", 0): (3, 0, 0, 0, 0, 0, 2),
        ("slow", "plain", 1): (0, 0, 0, 0, 0, 0, 0),
        ("slow", "deals", 0): (1, 1, 1, 2, 0, 1, 0),
        ("slow", "large", 0): (2, 0, 0, 0, 0, 0, 0),
        ("close", "deals", 0): (1, 0, 1, 1, 0, 1, 0),
        ("close", "large", 0): (1, 0, 0, 0, 0, 0, 0),
    }
    assert messages == ""


def test_the_brokers_files_say_the_same(kgroup: Kgroup, kafka: tuple[str, Path]) -> None:
    """Of topics from which nothing was deleted: log starts are in a checkpoint, written now and then."""
    topics = ("--topic", "deals", "--topic", "large", "-q")
    live = breakdown(kgroup, "-b", kafka[0], *topics)
    assert live == breakdown(kgroup, str(kafka[1]), *topics)
    assert len(live[0]) == 4


def test_beyond_the_bound_only_what_can_be_asked_is_known_and_that_is_said(
    kgroup: Kgroup, kafka: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def bounded(*arguments: Any) -> Any:
        return fetch_unread_parts(*arguments, bytes_max=100)

    monkeypatch.setattr(lag_breakdown_live, "fetch_unread_parts", bounded)
    parts, messages = breakdown(kgroup, "-b", kafka[0])
    assert parts["slow", "plain", 0] == (None, None, None, None, None, 0, 2)
    assert parts["slow", "deals", 0] == (None, None, None, None, None, 1, 0)
    assert parts["slow", "plain", 1] == (0, 0, 0, 0, 0, 0, 0)
    why = "3 partitions with more than 16 MB unread: what these are made of is not fetched"
    assert messages == f"kgroup: {why}\n"


def test_a_table_has_it_beside_the_lag(kgroup: Kgroup, kafka: tuple[str, Path]) -> None:
    ended = kgroup("lag-report", "-b", kafka[0], "--breakdown", "--topic", "deals")
    assert ended.status == 0
    header, *rows = ended.out.splitlines()
    assert header.split()[:9] == (
        ["GROUP", "TOPIC", "PARTITION", "LAG", "RECORDS", "ABORTED", "UNDECIDED", "MARKERS", "MISSING"]
    )
    assert [row.split()[:9] for row in rows] == [
        ["close", "deals", "0", "3", "1", "0", "1", "1", "0"],
        ["slow", "deals", "0", "5", "1", "1", "1", "2", "0"],
    ]


def test_sums_of_a_live_cluster(kgroup: Kgroup, kafka: tuple[str, Path]) -> None:
    """Of slow, all four partitions: 3 + 1 + 2 records, and 2 that were deleted unread."""
    ended = kgroup("lag-report", "-b", kafka[0], "--breakdown", "--by", "group", "-o", "jsonl")
    assert (ended.status, ended.err) == (0, "")
    sums = {row["group"]: row for row in map(json.loads, ended.out.splitlines())}
    assert [sums["slow"][name] for name in PARTS] == [6, 1, 1, 2, 0, 1, 2]
    assert [sums["close"][name] for name in PARTS] == [2, 0, 1, 1, 0, 1, 0]
    assert {of_group["parts_unknown"] for of_group in sums.values()} == {0}

"""What groups have not read of a live cluster, at places and times that were chosen when it was written."""

from collections.abc import Iterator, Sequence

import pytest
from confluent_kafka import Producer

import kgroup.testing
from kgroup.lag.measures.time_lag import TimeLag, TimeLagNote
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.timestamps import TimeInLog, first_newer, search_timestamps
from kgroup.net.admin.unread import UnreadPlace, fetch_first_unread
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.protocol.log_listing import FirstUnread
from kgroup.protocol.records.entries import TransactionOutcome

PATIENCE_S = 30
BEGIN_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(nodes=2, topics={"plain": 2, "deals": 1, "large": 2, "empty": 1}) as running:
        produce(running, "plain", 0, [BEGIN_MS + 1000 * number for number in range(5)])
        produce(running, "plain", 1, [BEGIN_MS])
        produce(running, "large", 0, [BEGIN_MS, BEGIN_MS + 1], size=200_000)
        produce(running, "large", 1, [BEGIN_MS + 2, BEGIN_MS + 3], size=200_000)
        deals(running)
        yield running
        OPEN.clear()


@pytest.fixture(scope="module")
def cluster(kafka: kgroup.testing.Cluster) -> Iterator[Cluster]:
    with Cluster(ConnectionOptions(bootstrap_servers=kafka.bootstrap)) as connected:
        yield connected


def produce(
    kafka: kgroup.testing.Cluster, topic: str, partition: int, times: Sequence[int], size: int = 1
) -> None:
    """A batch for each record."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "message.timeout.ms": 1000 * PATIENCE_S})
    for time_ms in times:
        producer.produce(topic, b"v" * size, partition=partition, timestamp=time_ms)
        producer.flush(PATIENCE_S)


def deals(kafka: kgroup.testing.Cluster) -> None:
    """Offset 0 aborted, its marker at 1, 2 committed, its marker at 3, 4 in a transaction that stays open."""
    for number, end in enumerate((Producer.abort_transaction, Producer.commit_transaction, None)):
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": f"dealer-{number}"})
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        producer.produce("deals", b"v", partition=0, timestamp=BEGIN_MS + number)
        producer.flush(PATIENCE_S)
        if end is not None:
            end(producer, PATIENCE_S)
        else:
            OPEN.append(producer)


OPEN: list[Producer] = []  # a producer that is collected would end its transaction


def record(offset: int, after_ms: int, outcome: TransactionOutcome | None = None) -> FirstUnread:
    return FirstUnread(offset=offset, timestamp_ms=BEGIN_MS + after_ms, outcome=outcome)


def test_every_place_of_two_partitions(cluster: Cluster) -> None:
    places = [UnreadPlace("plain", 0, offset) for offset in range(6)] + [UnreadPlace("plain", 1, 0)]
    answers = fetch_first_unread(cluster, places)
    assert answers.problems == ()
    assert answers.records == {
        **{UnreadPlace("plain", 0, offset): record(offset, 1000 * offset) for offset in range(5)},
        UnreadPlace("plain", 0, 5): None,
        UnreadPlace("plain", 1, 0): record(0, 0),
    }


def test_batches_larger_than_what_is_asked_for_come_whole(cluster: Cluster) -> None:
    places = [UnreadPlace("large", partition, offset) for partition in (0, 1) for offset in (0, 1)]
    assert fetch_first_unread(cluster, places).records == {
        UnreadPlace("large", 0, 0): record(0, 0),
        UnreadPlace("large", 0, 1): record(1, 1),
        UnreadPlace("large", 1, 0): record(0, 2),
        UnreadPlace("large", 1, 1): record(1, 3),
    }


def test_transactions_are_told_apart_and_markers_are_no_data(cluster: Cluster) -> None:
    places = [UnreadPlace("deals", 0, offset) for offset in range(6)]
    committed = record(2, 1, TransactionOutcome.COMMITTED)
    still_open = record(4, 2, TransactionOutcome.PENDING)
    assert fetch_first_unread(cluster, places).records == dict(
        zip(
            places,
            [record(0, 0, TransactionOutcome.ABORTED), committed, committed, still_open, still_open, None],
            strict=True,
        )
    )


def test_what_the_broker_refuses_is_named_and_the_rest_answered(cluster: Cluster) -> None:
    beyond, gone = UnreadPlace("plain", 0, 77), UnreadPlace("nosuch", 3, 0)
    answers = fetch_first_unread(cluster, [beyond, gone, UnreadPlace("plain", 1, 0)])
    assert answers.records == {UnreadPlace("plain", 1, 0): record(0, 0)}
    assert answers.problems == (
        f"{cluster.name}: nosuch partition 3 at offset 0: no leader, or it may not be seen",
        f"{cluster.name}: plain partition 0 at offset 77: OFFSET_OUT_OF_RANGE",
    )


def test_nothing_asked_is_nothing_answered(cluster: Cluster) -> None:
    assert fetch_first_unread(cluster, []).records == {}
    assert search_timestamps(cluster, []).searches == {}


def test_bisection_finds_the_same_times_by_list_offsets_alone(cluster: Cluster) -> None:
    places = [UnreadPlace("plain", 0, offset) for offset in range(5)] + [UnreadPlace("plain", 1, 0)]
    answers = search_timestamps(cluster, places)
    assert answers.problems == ()
    lags = {start: search.time_lag(BEGIN_MS + 60_000) for start, search in answers.searches.items()}
    assert lags == {
        start: TimeLag(lag_ms=60_000 - 1000 * start.offset, method=TimeLagMethod.BISECT) for start in places
    }


def test_bisection_before_a_marker_says_at_most(cluster: Cluster) -> None:
    """`ListOffsets` names records only, so that the one at 2 is newer than the place is not told exactly."""
    search = search_timestamps(cluster, [UnreadPlace("deals", 0, 1)]).searches[UnreadPlace("deals", 0, 1)]
    assert search.time_lag(BEGIN_MS + 10) == TimeLag(
        lag_ms=10, method=TimeLagMethod.BISECT, note=TimeLagNote.AT_MOST
    )


def test_where_a_log_ended_at_a_time_is_where_its_first_newer_record_is(cluster: Cluster) -> None:
    times = [
        TimeInLog("plain", 0, BEGIN_MS + after_ms) for after_ms in (-1, 0, 1, 999, 1000, 3999, 4000, 9000)
    ]
    offsets = [0, 1, 1, 1, 2, 4, None, None]
    assert first_newer(cluster, [*times, TimeInLog("nosuch", 0, 5)]) == dict(zip(times, offsets, strict=True))


def test_bisection_names_what_has_no_leader(cluster: Cluster) -> None:
    answers = search_timestamps(cluster, [UnreadPlace("nosuch", 3, 0)])
    assert answers.searches == {}
    assert answers.problems == (f"{cluster.name}: nosuch partition 3: no leader, or it may not be seen",)

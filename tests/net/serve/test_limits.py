"""What one client can take of a server: connections, bytes that it sends, answers that it does not read."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from kafka.protocol.consumer.fetch import FetchRequest

import kgroup.testing
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.net.serve import server as server_module
from kgroup.net.serve.server import ClusterServer
from kgroup.testing import ErrorCode
from tests.broker.apis.record_requests import TOPIC, batch, fetch_request, part_of, produce_request
from tests.net.serve.test_faults import address, find, heartbeat
from tests.net.wire_client import WireClient

MIB = 1 << 20
BATCHES = 32


@pytest.fixture
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(topics={TOPIC: 1}) as running:
        yield running


def served(kafka: kgroup.testing.Cluster) -> ClusterServer:
    return kafka._running


def greedy_fetch(max_wait_ms: int = 0) -> FetchRequest:
    request = fetch_request(0, max_wait_ms=max_wait_ms)
    request.max_bytes = request.topics[0].partitions[0].partition_max_bytes = 90 * MIB
    return request


class SlowReader(WireClient):
    """A client with a small window, who reads when told to."""

    def __init__(self, where: tuple[str, int]) -> None:
        super().__init__(where)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)


@pytest.fixture
def full(kafka: kgroup.testing.Cluster) -> kgroup.testing.Cluster:
    """A topic of 32 MiB, and room for 1 MiB of answers."""
    server = served(kafka)
    raw = encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v" * MIB)])
    for _ in range(BATCHES):
        kafka._call(lambda: server.cluster.topics[TOPIC].partitions[0].append(raw))
    server.cluster.settings = replace(server.cluster.settings, unsent_max_bytes=MIB)
    return kafka


def test_requests_larger_than_what_may_wait_are_read_once_it_is_their_turn(
    kafka: kgroup.testing.Cluster,
) -> None:
    with WireClient(address(kafka)) as client, WireClient(address(kafka)) as other:
        client.send(fetch_request(0, max_wait_ms=60_000))
        connections = served(kafka).nodes[1].connections
        while not connections:  # until the loop has accepted them
            pass
        waiting = next(iter(connections.values()))

        def send_three() -> None:
            for _ in range(3):
                client.send(produce_request(b"x" * (3 * MIB)))  # the first of them arrives in part

        sending = threading.Thread(target=send_three)
        sending.start()
        while kafka._call(lambda: waiting._queue.waiting_bytes) <= MIB:
            pass
        other.ask(produce_request(batch(1)))
        assert part_of(client.receive()).error_code == ErrorCode.NONE
        for _ in range(3):
            (answer,) = client.receive().responses
            assert answer.partition_responses[0].error_code == ErrorCode.CORRUPT_MESSAGE
        sending.join()


def test_answers_that_nobody_reads_are_bounded_and_the_others_are_served(
    full: kgroup.testing.Cluster,
) -> None:
    server = served(full)
    with SlowReader(address(full)) as slow, WireClient(address(full)) as other:
        for _ in range(8):
            slow.send(greedy_fetch())
        other.ask(find())
        while full._call(lambda: server.unsent_bytes) < BATCHES * MIB:
            other.ask(heartbeat())
        part = part_of(other.ask(greedy_fetch()))
        assert (part.error_code, part.records) == (ErrorCode.NONE, b"")
        assert other.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert full._call(lambda: server.unsent_bytes) < (BATCHES + 1) * MIB
        assert len(part_of(slow.receive()).records) > BATCHES * MIB
        slow.close()
        while not part_of(other.ask(greedy_fetch())).records:
            pass
    while full._call(lambda: server.unsent_bytes):
        pass


def test_a_client_that_asks_many_times_at_once_is_answered_bit_by_bit(full: kgroup.testing.Cluster) -> None:
    server = served(full)
    server.cluster.settings = replace(server.cluster.settings, unsent_max_bytes=1 << 40)
    with SlowReader(address(full)) as slow, WireClient(address(full)) as other:
        for _ in range(20):
            slow.send(greedy_fetch())
        while full._call(lambda: server.unsent_bytes) < BATCHES * MIB:
            other.ask(heartbeat())
        assert full._call(lambda: server.unsent_bytes) < (BATCHES + 1) * MIB


def test_a_client_that_reads_nothing_has_to_go_when_there_is_no_room(
    full: kgroup.testing.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = served(full)
    with SlowReader(address(full)) as slow, WireClient(address(full)) as other:
        slow.send(greedy_fetch())
        while full._call(lambda: server.unsent_bytes) < BATCHES * MIB:
            other.ask(heartbeat())
        full._call(server._close_idle)
        assert len(server.nodes[1].connections) == 2  # not yet
        monkeypatch.setattr(server_module, "_STALLED_S", 0.0)
        while len(server.nodes[1].connections) > 1:
            full._call(server._close_idle)
        assert full._call(lambda: server.unsent_bytes) == 0
        assert part_of(other.ask(greedy_fetch())).records


def test_requests_that_nobody_takes_the_answers_of_are_not_read_without_end(
    full: kgroup.testing.Cluster,
) -> None:
    server = served(full)
    with SlowReader(address(full)) as slow, WireClient(address(full)) as other:
        slow.send(greedy_fetch())
        while full._call(lambda: server.unsent_bytes) < BATCHES * MIB:
            other.ask(heartbeat())
        slow._socket.setblocking(False)
        junk = b"\0" * MIB
        with pytest.raises(BlockingIOError):
            for _ in range(64):
                slow._socket.send(junk)
        (paused,) = [each for each in server.nodes[1].connections.values() if not each._may_write]
        assert full._call(lambda: paused._queue.waiting_bytes) < 4 * MIB


@pytest.mark.parametrize("name", ["max.connections", "max.connections.per.ip"])
def test_more_connections_than_allowed_are_closed_at_once(name: str) -> None:
    with kgroup.testing.cluster(properties={name: "2"}) as kafka:
        with WireClient(address(kafka)) as first, WireClient(address(kafka)) as second:
            assert first.ask(find()).error_code == ErrorCode.NONE
            assert second.ask(find()).error_code == ErrorCode.NONE
            with WireClient(address(kafka)) as third:
                assert third.is_closed_by_peer()
            assert first.ask(find()).error_code == ErrorCode.NONE
        while kafka._call(lambda: len(served(kafka).nodes[1].connections)):
            pass
        with WireClient(address(kafka)) as again:
            assert again.ask(find()).error_code == ErrorCode.NONE

"""What one client can take of a server: connections, bytes that it sends, answers that it does not read."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from kafka.protocol.consumer.fetch import FetchRequest

import kgroup.testing
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.store.stretch import PIECE_BYTES
from kgroup.net.serve import server as server_module
from kgroup.net.serve.connection import ClientConnection
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


def until_stuck(kafka: kgroup.testing.Cluster, other: WireClient, count: int = 1) -> list[ClientConnection]:
    """The connections of so many clients that have long answers to read and do not."""

    def stuck() -> list[ClientConnection]:
        connections = served(kafka).nodes[1].connections.values()
        return [each for each in connections if each._rest_bytes and not each._may_write]

    while len(kafka._call(stuck)) < count:
        other.ask(heartbeat())
    return kafka._call(stuck)


def test_of_a_long_answer_no_more_is_made_than_its_client_takes(full: kgroup.testing.Cluster) -> None:
    server = served(full)
    with SlowReader(address(full)) as slow, WireClient(address(full)) as other:
        for _ in range(8):
            slow.send(greedy_fetch())
        (stuck,) = until_stuck(full, other)
        assert other.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert full._call(lambda: server.unsent_bytes) < PIECE_BYTES + 1000
        assert full._call(stuck._transport.get_write_buffer_size) <= PIECE_BYTES  # type: ignore[union-attr]
        assert stuck._rest_bytes > (BATCHES - 8) * MIB  # the kernel has taken a little
        assert stuck._queue.busy  # of what else was asked, nothing is looked at
        assert len(part_of(other.ask(greedy_fetch())).records) > BATCHES * MIB
        for _ in range(2):
            assert len(part_of(slow.receive()).records) > BATCHES * MIB
        slow.close()
    while full._call(lambda: server.unsent_bytes):
        pass


def test_answers_that_nobody_reads_are_bounded_together(full: kgroup.testing.Cluster) -> None:
    server = served(full)
    clients = MIB // PIECE_BYTES
    with ExitStack() as stack, WireClient(address(full)) as other:
        slow = [stack.enter_context(SlowReader(address(full))) for _ in range(clients)]
        for client in slow:
            client.send(greedy_fetch())
        until_stuck(full, other, clients)
        part = part_of(other.ask(greedy_fetch()))
        assert (part.error_code, part.records) == (ErrorCode.NONE, b"")
        assert other.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert full._call(lambda: server.unsent_bytes) < MIB + clients * 1000
        slow[0].close()
        while not part_of(other.ask(greedy_fetch())).records:
            pass
    while full._call(lambda: server.unsent_bytes):
        pass


def test_records_that_go_while_they_are_sent_end_the_connection(tmp_path: Path) -> None:
    with kgroup.testing.cluster(topics={TOPIC: 1}, data_dir=tmp_path) as kafka:
        server = served(kafka)
        raw = encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v" * MIB)])
        for _ in range(BATCHES):
            kafka._call(lambda: server.cluster.topics[TOPIC].partitions[0].append(raw))
        with SlowReader(address(kafka)) as slow, WireClient(address(kafka)) as other:
            slow.send(greedy_fetch())
            until_stuck(kafka, other)
            kafka._call(lambda: server.cluster.delete_topic(TOPIC, server.clock.now_ms()))
            with pytest.raises(ConnectionError):
                slow.receive()
            assert other.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert kafka.warnings == []


def test_a_client_that_reads_nothing_has_to_go_when_there_is_no_room(
    full: kgroup.testing.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = served(full)
    server.cluster.settings = replace(server.cluster.settings, unsent_max_bytes=PIECE_BYTES)
    with SlowReader(address(full)) as slow, WireClient(address(full)) as other:
        slow.send(greedy_fetch())
        until_stuck(full, other)
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
    with SlowReader(address(full)) as slow, WireClient(address(full)) as other:
        slow.send(greedy_fetch())
        (stuck,) = until_stuck(full, other)
        slow._socket.setblocking(False)
        junk = b"\0" * MIB
        with pytest.raises(BlockingIOError):
            for _ in range(64):
                slow._socket.send(junk)
        assert full._call(lambda: stuck._queue.waiting_bytes) < 4 * MIB


def test_while_too_many_bytes_of_requests_wait_no_other_request_is_begun_with() -> None:
    """Kafka's queued.max.request.bytes; what was begun with is read to its end."""
    limits = {"socket.request.max.bytes": "10000", "queued.max.request.bytes": "10000"}
    with kgroup.testing.cluster(topics={TOPIC: 1}, properties=limits) as kafka:
        server = served(kafka)
        with (
            WireClient(address(kafka)) as first,
            WireClient(address(kafka)) as second,
            WireClient(address(kafka)) as third,
        ):
            assert third.ask(find()).error_code == ErrorCode.NONE
            first.send_bytes((9000).to_bytes(4, "big") + bytes(6000))
            second.send_bytes((9000).to_bytes(4, "big") + bytes(6000))
            while kafka._call(lambda: server.intake.held_bytes) < 12_000:
                pass
            reading = [each._transport.is_reading() for each in server.nodes[1].connections.values()]  # type: ignore[union-attr]
            assert sorted(reading) == [False, True, True]
            third.send(find())
            first.close()
            assert third.receive().error_code == ErrorCode.NONE
        while kafka._call(lambda: server.intake.held_bytes):
            pass


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

"""Cost of a crowd to a well-behaved member: `python -m benchmarks.serve_limits [--connections N]`.

One node in memory, in a process of its own. Under each kind of crowd a member's heartbeats are timed, and the
node's memory is read afterwards. A heartbeat is due every few milliseconds: one that cannot be sent yet,
since the one before it is still unanswered, is late from then on, so that one long pause counts as often as
it would for as many members. The first row, without a crowd, is what the machine makes of it. A crowd comes
from another process while heartbeats continue; it is bounded in number, and it goes away before the next one
comes. The machine wants two cores: one for the node, one for the others.
"""

import argparse
import multiprocessing
import resource
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from kafka.protocol.producer.produce import ProduceRequest
from tabulate import tabulate

from kgroup.log.format.batch import LogRecord, encode_batch

TOPIC: Final = "wide"
_PARTITIONS: Final = 16
_MEMBER_ID_REQUIRED: Final = 79
_PATIENCE_S: Final = 60
_EVERY_S: Final = 0.005
_MANY_BEATS: Final = 50
_BATCHES_EACH: Final = 6  # 90 MB in all
_BATCH: Final = encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=bytes(900_000))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowded:
    """Heartbeats in ms (median, 99th percentile, longest) and the node's resident memory in MB."""

    crowd: str
    beats: int
    median_ms: float
    p99_ms: float
    longest_ms: float
    memory_mb: int


class _Client:
    """A connection that sends and receives whole frames."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, _PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests: list[Any] = []

    def send(self, request: Any) -> None:
        request.with_header(1, "crowd")
        self._requests.append(request)
        self.socket.sendall(bytes(request.encode(header=True, framed=True)))

    def receive(self) -> Any:
        size = struct.unpack(">i", self._bytes(4))[0]
        return self._requests.pop(0).header.get_response_class().decode(self._bytes(size), header=True)

    def ask(self, request: Any) -> Any:
        self.send(request)
        return self.receive()

    def _bytes(self, size: int) -> bytes:
        parts = []
        while size:
            part = self.socket.recv(size)
            if not part:
                raise ConnectionError("the node hung up")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class _Member:
    """The only member of a group, whose heartbeats count."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._client = _Client(address)
        self._member_id = ""
        while True:
            joined = self._client.ask(_join("steady", self._member_id))
            self._member_id = joined.member_id
            if joined.error_code == 0:
                break
        self._generation = joined.generation_id
        assignment = SyncGroupRequest.SyncGroupRequestAssignment(
            version=3, member_id=self._member_id, assignment=b""
        )
        synced = self._client.ask(
            SyncGroupRequest(
                version=3,
                group_id="steady",
                generation_id=self._generation,
                member_id=self._member_id,
                group_instance_id=None,
                assignments=[assignment],
            )
        )
        assert synced.error_code == 0, synced

    def beat(self) -> float:
        """Seconds that one heartbeat took."""
        request = HeartbeatRequest(
            version=3,
            group_id="steady",
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=None,
        )
        began = time.perf_counter()
        answer = self._client.ask(request)
        took = time.perf_counter() - began
        assert answer.error_code == 0, answer
        return took


def _join(group: str, member_id: str) -> Any:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(version=5, name="range", metadata=b"")
    return JoinGroupRequest(
        version=5,
        group_id=group,
        session_timeout_ms=300_000,
        rebalance_timeout_ms=300_000,
        member_id=member_id,
        group_instance_id=None,
        protocol_type="consumer",
        protocols=[protocol],
    )


def _commit(group: str) -> Any:
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = topic.OffsetCommitRequestPartition(
        version=7, partition_index=0, committed_offset=1, committed_metadata=""
    )
    return OffsetCommitRequest(
        version=7,
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[topic(version=7, name=TOPIC, partitions=[partition])],
    )


def _produce(partition: int) -> Any:
    data = ProduceRequest.TopicProduceData
    part = data.PartitionProduceData(version=8, index=partition, records=_BATCH)
    return ProduceRequest(
        version=8,
        transactional_id=None,
        acks=-1,
        timeout_ms=1000,
        topic_data=[data(version=8, name=TOPIC, partition_data=[part])],
    )


def _fetch_all() -> Any:
    topic = FetchRequest.FetchTopic
    partitions = [
        topic.FetchPartition(
            version=11, partition=n, current_leader_epoch=-1, fetch_offset=0, partition_max_bytes=1 << 30
        )
        for n in range(_PARTITIONS)
    ]
    return FetchRequest(
        version=11,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=(1 << 31) - 1,
        isolation_level=0,
        topics=[topic(version=11, topic=TOPIC, partitions=partitions)],
        rack_id="",
    )


# ---- crowds: each comes, says so, goes on until it is told to go --------------------------------


def _idle(address: tuple[str, int], count: int, come: Callable[[], bool]) -> None:
    clients = [_Client(address) for _ in range(count)]
    while come():
        time.sleep(0.01)
    del clients


def _half_open(address: tuple[str, int], count: int, come: Callable[[], bool]) -> None:
    """Each announces a request and sends a part of it."""
    clients = [_Client(address) for _ in range(count // 5)]
    for client in clients:
        client.socket.sendall(struct.pack(">i", 1 << 20) + bytes(1000))
    while come():
        time.sleep(0.01)


def _slow_readers(address: tuple[str, int], count: int, come: Callable[[], bool]) -> None:
    """Each asks for everything, over and over, and reads nothing."""
    clients = [_Client(address) for _ in range(15)]
    for client in clients:
        client.socket.setblocking(False)
    while come():
        for client in clients:
            try:
                client.send(_fetch_all())
            except (BlockingIOError, ConnectionError):
                continue
        time.sleep(0.01)


def _member_ids(address: tuple[str, int], count: int, come: Callable[[], bool]) -> None:
    """New members of one group that take their ids and never come back."""
    client = _Client(address)
    for _ in range(count):
        assert client.ask(_join("flood", "")).error_code == _MEMBER_ID_REQUIRED
    while come():
        client.ask(_join("flood", ""))


def _groups(address: tuple[str, int], count: int, come: Callable[[], bool]) -> None:
    """A commit of a new group, again and again."""
    client = _Client(address)
    number = 0
    while number < count or come():
        client.ask(_commit(f"group-{number}"))
        number += 1


def _connections(address: tuple[str, int], count: int, come: Callable[[], bool]) -> None:
    """Clients that come and go."""
    while come():
        _Client(address).socket.close()


def _noise(address: tuple[str, int], count: int, come: Callable[[], bool]) -> None:
    """Frames that are no requests."""
    while come():
        client = _Client(address)
        client.socket.sendall(struct.pack(">i", 64) + bytes(range(64)))
        client.socket.close()


CROWDS: Final = {
    "nobody else": None,
    "idle connections": _idle,
    "half a request each": _half_open,
    "15 that never read": _slow_readers,
    "new member ids": _member_ids,
    "new groups": _groups,
    "come and go": _connections,
    "noise": _noise,
}


def _crowd(name: str, address: tuple[str, int], count: int, ours: Connection) -> None:
    _allow_many_files()
    crowd = CROWDS[name]
    assert crowd is not None
    came = False

    def come() -> bool:
        nonlocal came
        if not came:
            came = True
            ours.send("here")
        return not ours.poll()

    crowd(address, count, come)


def _allow_many_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextmanager
def _crowded(name: str, address: tuple[str, int], count: int) -> Iterator[Callable[[], bool]]:
    """Let a crowd come; the value says whether it is all there."""
    if CROWDS[name] is None:
        yield lambda: True
        return
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_crowd, args=(name, address, count, theirs))
    process.start()
    try:
        yield ours.poll
    finally:
        ours.send("go")
        process.join(_PATIENCE_S)
        process.kill()


def _beats(member: _Member, seconds: float, is_there: Callable[[], bool]) -> tuple[list[float], list[float]]:
    """In ms, heartbeats while the crowd came and, for so many seconds, when it was there."""
    coming: list[float] = []
    there: list[float] = []
    due = time.perf_counter()
    patience_s = due + _PATIENCE_S * 5
    until = 0.0
    while not until or due < until:
        time.sleep(max(due - time.perf_counter(), 0))
        member.beat()
        took_ms = (time.perf_counter() - due) * 1000
        (there if until else coming).append(took_ms)
        due += _EVERY_S
        if not until and is_there():
            until = due + seconds
        if not until and due > patience_s:
            raise RuntimeError("the crowd did not come")
    return coming, there


def measure(seconds: float, connections: int) -> Iterator[Crowded]:
    """The member's heartbeats under each crowd, each for so many seconds."""
    _allow_many_files()
    command = [sys.executable, "-m", "kgroup", "serve", "--listen", "127.0.0.1:0"]
    command += ["--topic", f"{TOPIC}:{_PARTITIONS}", "--property", "group.initial.rebalance.delay.ms=0"]
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(process.terminate)
        assert process.stdout is not None
        host, _, port = process.stdout.readline().split()[1].rpartition(":")
        address = (host, int(port))
        filling = _Client(address)
        for number in range(_PARTITIONS * _BATCHES_EACH):
            assert (
                filling.ask(_produce(number % _PARTITIONS)).responses[0].partition_responses[0].error_code
                == 0
            )
        member = _Member(address)
        for name in CROWDS:
            with _crowded(name, address, connections) as is_there:
                coming, there = _beats(member, seconds, is_there)
                rows = [_row(name, sorted(there), process.pid)]
            if len(coming) > _MANY_BEATS:
                rows.insert(0, _row(f"{name}, coming", sorted(coming), process.pid))
            yield from rows


def _row(name: str, beats: Sequence[float], pid: int) -> Crowded:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return Crowded(
        crowd=name,
        beats=len(beats),
        median_ms=beats[len(beats) // 2],
        p99_ms=beats[int(len(beats) * 0.99)],
        longest_ms=beats[-1],
        memory_mb=pages * resource.getpagesize() // 10**6,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve_limits", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each crowd")
    parser.add_argument("--connections", type=int, default=5000, metavar="N")
    given = parser.parse_args()
    rows = []
    for row in measure(given.seconds, given.connections):
        print(f"measured: {row.crowd}", file=sys.stderr)
        rows.append((row.crowd, row.beats, row.median_ms, row.p99_ms, row.longest_ms, row.memory_mb))
    headers = ("crowd", "heartbeats", "median ms", "p99 ms", "longest ms", "memory MB")
    print(tabulate(rows, headers=headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()

"""Groups of the consumer protocol (KIP-848) under load, for `python -m benchmarks.serve`.

Each member has a connection of its own, in one Python thread. All join a new group at once, and each sends
its next heartbeat when the last is answered, until all partitions of the topic are with members of the newest
epoch: a real client would wait for its heartbeat interval in between, so this is how long the broker needs.
"""

import asyncio
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.topics import make_topic
from kgroup.net.admin.cluster import Cluster
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.wire.consumer_group_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

_PATIENCE_S: Final = 180.0
_PARTITIONS: Final = 1000
# The coordinator assigns at most once a second (KIP-1263): an epoch may come after the group looks settled.
_CALM_S: Final = 2.0
# Of an answer behind its length: correlation id, tagged fields of the header, throttle time; then the error.
_ERROR_AT: Final = 4 + 1 + 4


class _Connection(asyncio.Protocol):
    """One request in flight."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        length = int.from_bytes(self._received[:4])
        if len(self._received) < 4 or len(self._received) < 4 + length or self._answer is None:
            return
        answer, self._answer = self._answer, None
        frame = bytes(self._received[4 : 4 + length])
        self._received.clear()
        answer.set_result(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the broker hung up"))

    def ask(self, frame: bytes) -> asyncio.Future[bytes]:
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        return self._answer

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()


@dataclass(slots=True)
class _Member:
    group: str
    topic: str
    connection: _Connection
    member_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    epoch: int = 0
    owned: list[Any] = field(default_factory=list)

    def frame(self, *, whole: bool) -> bytes:
        """A heartbeat; `whole` with all that a member says when it joins or owns something else."""
        request = ConsumerGroupHeartbeatRequest(
            version=1,
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=None,
            rack_id=None,
            rebalance_timeout_ms=300_000 if whole else -1,
            subscribed_topic_names=[self.topic] if whole else None,
            subscribed_topic_regex=None,
            server_assignor=None,
            topic_partitions=self.owned if whole else None,
        )
        request.with_header(1, "bench")
        return bytes(request.encode(header=True, framed=True))

    def hear(self, frame: bytes) -> bool:
        """Take an answer; whether it gives another assignment, which is to be acknowledged."""
        answer = ConsumerGroupHeartbeatResponse.decode(frame, version=1, header=True)
        if answer.error_code:
            raise RuntimeError(
                f"a heartbeat was refused with error {answer.error_code}: {answer.error_message}"
            )
        self.epoch = answer.member_epoch
        if answer.assignment is None:
            return False
        owned = [
            ConsumerGroupHeartbeatRequest.TopicPartitions(
                topic_id=topic.topic_id, partitions=list(topic.partitions)
            )
            for topic in answer.assignment.topic_partitions
        ]
        # The answer to a whole heartbeat has the assignment in any case.
        is_another = _numbers(owned) != _numbers(self.owned)
        self.owned = owned
        return is_another

    @property
    def owns(self) -> int:
        return sum(len(topic.partitions) for topic in self.owned)


def _numbers(owned: Sequence[Any]) -> set[int]:
    return {number for topic in owned for number in topic.partitions}


async def figures(bootstrap: str, members: Sequence[int], seconds: float) -> dict[str, tuple[float, str]]:
    """The figures by name: seconds until a new group has its partitions, and its heartbeats per second."""
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    with Cluster(ConnectionOptions(bootstrap_servers=bootstrap)) as cluster:
        make_topic(cluster, topic, _PARTITIONS)
    host, _, port = bootstrap.partition(",")[0].rpartition(":")
    found: dict[str, tuple[float, str]] = {}
    first = await _members(host, int(port), topic, 1)
    await _form(first)  # not measured: a broker of Kafka takes seconds to make so many partitions
    await _leave(first)
    for count in members:
        group = await _members(host, int(port), topic, count)
        found[f"consumer protocol: rebalance new, {count} members"] = (await _form(group), "s")
        found[f"consumer protocol: heartbeats, {count} members"] = (await _beat(group, seconds), "/s")
        await _leave(group)
    return found


async def _members(host: str, port: int, topic: str, count: int) -> list[_Member]:
    """Those of a group that is not there yet, each with its connection."""
    group_id = f"bench-consumer-{uuid.uuid4().hex[:8]}"
    connections = await _connected(host, port, count)
    return [_Member(group=group_id, topic=topic, connection=each) for each in connections]


async def _leave(group: Sequence[_Member]) -> None:
    for member in group:
        member.epoch = -1
        await member.connection.ask(member.frame(whole=False))
        member.connection.close()


async def _connected(host: str, port: int, count: int) -> list[_Connection]:
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(_Connection, host, port))[1] for _ in range(count)]


async def _form(group: Sequence[_Member]) -> float:
    """Seconds until the group has its partitions; returns when nothing has changed for a while after that."""
    settled_at: float | None = None
    changed_at = began = time.perf_counter()

    async def live(member: _Member) -> None:
        nonlocal settled_at, changed_at
        whole = True
        while settled_at is None or time.perf_counter() - changed_at < _CALM_S:
            epoch = member.epoch
            whole = member.hear(await member.connection.ask(member.frame(whole=whole)))
            if whole or member.epoch != epoch:
                changed_at = time.perf_counter()
            elif settled_at is None and _is_settled(group):
                settled_at = time.perf_counter()

    await asyncio.wait_for(asyncio.gather(*map(live, group)), _PATIENCE_S)
    assert settled_at is not None
    return settled_at - began


def _is_settled(group: Sequence[_Member]) -> bool:
    """Whether all are at the epoch of the last join, and nothing is without an owner."""
    epoch = group[0].epoch
    return all(member.epoch == epoch for member in group) and sum(m.owns for m in group) == _PARTITIONS


async def _beat(group: Sequence[_Member], seconds: float) -> float:
    beats = 0
    began = time.perf_counter()

    async def live(member: _Member) -> None:
        nonlocal beats
        frame = member.frame(whole=False)
        while time.perf_counter() - began < seconds:
            answer = await member.connection.ask(frame)
            assert answer[_ERROR_AT : _ERROR_AT + 2] == b"\0\0", "a heartbeat was refused"
            beats += 1

    await asyncio.gather(*map(live, group))
    return beats / (time.perf_counter() - began)

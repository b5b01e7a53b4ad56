"""A cluster without sockets, asked through the codec of a client that nobody here wrote."""

from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import UUID

from kafka.protocol.consumer.group import JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kgroup.broker.cluster import Cluster, NodeSpec
from kgroup.broker.dispatch import handle
from kgroup.broker.fetching import FetchWaits
from kgroup.broker.node import BrokerNode
from kgroup.broker.settings import from_properties
from kgroup.broker.storage import MemoryStorage, Storage
from kgroup.wire.apis import APIS

GROUP = "g"
QUICK = {"group.initial.rebalance.delay.ms": "0"}


class BrokerWorld:
    """Nodes 1 to n and a clock that the test moves."""

    def __init__(
        self,
        nodes: int = 1,
        properties: dict[str, str] | None = None,
        storage: Storage | None = None,
        *,
        syncs_decisions: bool = False,
    ) -> None:
        self.now_ms = 1_000_000
        self.warnings: list[str] = []
        numbers = count(1)
        self.cluster = Cluster(
            from_properties(QUICK | (properties or {})),
            [NodeSpec(number, "127.0.0.1", 9000 + number) for number in range(1, nodes + 1)],
            storage or MemoryStorage(),
            lambda: UUID(int=next(numbers)),
            self.now_ms,
            self.warnings.append,
            syncs_decisions=syncs_decisions,
        )
        self.nodes = {number: BrokerNode(number, self.cluster, FetchWaits()) for number in self.cluster.nodes}
        self._tokens = count(1)
        self._asked: dict[int, Any] = {}
        self._on_append()

    def _on_append(self) -> None:
        nodes = list(self.nodes.values())

        def appended(partition: Any) -> None:
            for node in nodes:
                node.waits.appended(partition)

        self.cluster.on_append = appended

    def send(self, request: Any, node: int = 1) -> int:
        """Hand a request in; its answer is among those of a later `settle`."""
        token = next(self._tokens)
        request.with_header(token, "tester")
        self._asked[token] = request
        frame = bytes(request.encode(header=True))
        handle(self.nodes[node], self.nodes[node].read(frame, token, "/127.0.0.1"), self.now_ms)
        return token

    def settle(self) -> dict[int, Any]:
        """Let everything happen that is due now; the answers by token."""
        answers: dict[int, Any] = {}
        for _ in range(1000):
            self.cluster.tick(self.now_ms)
            self.cluster.coordinators.flush()
            for node in self.nodes.values():
                node.waits.wake(self.now_ms)
                for answer in node.take_answers():
                    answers[answer.token] = self._decoded(answer.token, answer.whole())
            deadline = self.cluster.next_deadline_ms()
            if deadline is None or deadline > self.now_ms:
                return answers
        raise AssertionError("never settles")

    def ask(self, request: Any, node: int = 1) -> Any:
        """Send, settle, and the answer; an AssertionError if there is none yet."""
        token = self.send(request, node)
        answers = self.settle()
        assert token in answers, f"{type(request).__name__} is still waiting"
        return answers[token]

    def advance(self, duration_ms: int) -> dict[int, Any]:
        """Move the clock from deadline to deadline; all answers given meanwhile."""
        end_ms = self.now_ms + duration_ms
        answers = self.settle()
        while (due := self._next_ms()) is not None and due <= end_ms:
            self.now_ms = max(due, self.now_ms + 1)
            answers |= self.settle()
        self.now_ms = end_ms
        return answers | self.settle()

    def _next_ms(self) -> int | None:
        sources: list[Callable[[], int | None]] = [self.cluster.next_deadline_ms]
        sources += [node.waits.next_deadline_ms for node in self.nodes.values()]
        return min((time for time in (source() for source in sources) if time is not None), default=None)

    def _decoded(self, token: int, frame: bytes | None) -> Any:
        request = self._asked.pop(token)
        if frame is None:
            return None
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        assert int.from_bytes(frame[4:8], "big") == token
        response = APIS[request.API_KEY].response
        return response.decode(frame[4:], version=request.API_VERSION, header=True)


def commit(offset: int, topic: str = "orders") -> OffsetCommitRequest:
    each = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = each.OffsetCommitRequestPartition(
        version=7, partition_index=0, committed_offset=offset, committed_metadata=""
    )
    topics = [each(version=7, name=topic, partitions=[partition])]
    return OffsetCommitRequest(
        version=7, group_id=GROUP, generation_id_or_member_epoch=-1, member_id="", topics=topics
    )


def join(member_id: str = "", group: str = GROUP) -> JoinGroupRequest:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(version=3, name="range", metadata=b"")
    return JoinGroupRequest(
        version=3,
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[protocol],
    )


def sync(member_id: str, generation: int) -> SyncGroupRequest:
    assignment = SyncGroupRequest.SyncGroupRequestAssignment(
        version=3, member_id=member_id, assignment=b"all"
    )
    return SyncGroupRequest(
        version=3, group_id=GROUP, generation_id=generation, member_id=member_id, assignments=[assignment]
    )


def coordinator(world: BrokerWorld, node_id: int = 1) -> int:
    return int(world.ask(FindCoordinatorRequest(version=2, key=GROUP, key_type=0), node_id).node_id)

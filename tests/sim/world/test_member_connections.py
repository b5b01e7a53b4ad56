"""A member's requests on connections: each ends with its answer or at its deadline."""

from collections.abc import Iterable
from random import Random
from typing import Any

from kgroup.group.member.step import Send
from kgroup.protocol.requests.client import FindCoordinator
from kgroup.sim.scenario.scenario import NetworkSettings
from kgroup.sim.world.exchange import Connection, Exchange
from kgroup.sim.world.member_connections import Connections
from kgroup.sim.world.network import Network
from kgroup.sim.world.process import Process
from kgroup.sim.world.schedule import Schedule


class SilentNode:
    """A node that answers nothing."""

    def receive(self, connection: Connection, exchange: Exchange) -> None:
        pass

    def lost(self, connection: Connection) -> None:
        pass


class AskingMember:
    """Asks the two nodes `a` and `b`; what has failed it asks again, if it `insists`.

    `failures` are (ms after the start, ids of requests).
    """

    def __init__(self, *, insists: bool) -> None:
        self.schedule = Schedule(0)
        self.failures: list[tuple[int, list[int]]] = []
        self._insists = insists
        self._hosts: dict[int, str] = {}
        nodes: dict[str, Any] = {"a": SilentNode(), "b": SilentNode()}
        self._connections = Connections(
            Process("member", self.schedule),
            address="/10.0.0.1",
            first_token=0,
            network=Network(self.schedule, Random(1), NetworkSettings()),
            nodes=nodes,
            codec=False,
            on_answer=lambda request_id, body: None,
            on_failure=self._failed,
            on_second_answer=lambda asked, body: None,
            tell=None,
        )

    def ask(self, host: str, *, timeout_ms: int) -> None:
        request_id = len(self._hosts)
        self._hosts[request_id] = host
        self._connections.send(
            Send(
                request_id=request_id,
                connection_id=ord(host),
                host=host,
                port=9092,
                timeout_ms=timeout_ms,
                body=FindCoordinator(key="g"),
            )
        )

    def _failed(self, request_ids: Iterable[int], why: str) -> None:
        failed = list(request_ids)
        self.failures.append((self.schedule.now_ms, failed))
        if self._insists:
            self._insists = False
            for each in failed:
                self.ask(self._hosts[each], timeout_ms=30_000)


def test_a_request_without_an_answer_ends_with_its_connection_at_its_deadline() -> None:
    """Kafka: NetworkClient.handleTimedOutRequests closes the connection, and all in flight there fail."""
    member = AskingMember(insists=False)
    member.ask("a", timeout_ms=30_000)
    member.ask("b", timeout_ms=40_000)
    member.schedule.run(20_000)
    member.ask("a", timeout_ms=30_000)
    member.schedule.run(29_999)
    assert not member.failures
    member.schedule.run(100_000)
    assert member.failures == [(30_000, [0, 2]), (40_000, [1])]


def test_a_request_sent_when_another_fails_puts_off_no_deadline_of_a_third() -> None:
    member = AskingMember(insists=True)
    member.ask("a", timeout_ms=30_000)
    member.ask("b", timeout_ms=33_000)
    member.schedule.run(100_000)
    assert member.failures == [(30_000, [0]), (33_000, [1]), (60_000, [2])]

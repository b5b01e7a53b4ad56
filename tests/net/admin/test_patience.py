"""Brokers that take no request just now, as those do that throttle a client by a quota."""

import asyncio
from collections.abc import Collection, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError, NodeNotReadyError
from kafka.protocol.admin import ListGroupsRequest

import kgroup.testing
from kgroup.errors import SourceError
from kgroup.net.admin import patience
from kgroup.net.admin.cluster import Cluster
from kgroup.net.connect.properties import ConnectionOptions


class Scripted:
    """A manager whose brokers take a request at the n-th try; `pauses` are those before.

    `paused` says why broker 7 does not: kafka-python's reasons for an open connection, none for a closed one.
    """

    def __init__(self, *outcomes: Any, paused: Collection[str] = ()) -> None:
        self.outcomes = list(outcomes)
        self._conns = {7: SimpleNamespace(paused=set(paused))}
        self.pauses: list[float] = []
        self._net = SimpleNamespace(sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def send(self, request: Any, node_id: int | None) -> Any:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def ask(manager: Scripted, node_id: int | None = 7) -> Any:
    return asyncio.run(patience.send_when_ready(manager, "request", node_id))


def test_a_request_waits_until_it_is_taken() -> None:
    manager = Scripted(NodeNotReadyError("paused"), NodeNotReadyError("paused"), "answer")
    assert (ask(manager), len(manager.pauses)) == ("answer", 2)


def test_other_failures_are_not_waited_for() -> None:
    manager = Scripted(KafkaConnectionError("gone"), "answer")
    with pytest.raises(KafkaConnectionError, match="gone"):
        ask(manager)
    assert manager.pauses == []


@pytest.mark.parametrize(
    ("node_id", "who"), [(7, "broker 7 takes no request"), (None, "no broker takes a request")]
)
@pytest.mark.parametrize(
    ("paused", "limit", "why"),
    [
        (["throttle"], "_THROTTLED_S", "a quota throttles this client"),
        ([], "_RESTING_S", "connecting has failed"),
    ],
)
def test_patience_ends_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, node_id: int | None, who: str, paused: list[str], limit: str, why: str
) -> None:
    """Each reason has a limit of its own."""
    monkeypatch.setattr(patience, limit, 0)
    with pytest.raises(NodeNotReadyError, match=f"{who} for 0 s: {why}"):
        ask(Scripted(NodeNotReadyError("not ready"), paused=paused), node_id)


def test_a_broker_that_has_no_connection_yet_is_not_throttled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_RESTING_S", 0)
    with pytest.raises(NodeNotReadyError, match="broker 8 takes no request for 0 s: connecting has failed"):
        ask(Scripted(NodeNotReadyError("not ready"), paused=["throttle"]), 8)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with (
        kgroup.testing.cluster(nodes=2) as kafka,
        Cluster(ConnectionOptions(bootstrap_servers=kafka.bootstrap)) as opened,
    ):
        opened.ask_each({node: ListGroupsRequest() for node in opened.brokers()})
        yield opened


def throttle(cluster: Cluster, seconds: float | None) -> None:
    """All connections are throttled, as after an answer with a throttle_time_ms; None: for good."""
    manager = cluster._admin._manager

    def begin() -> None:
        for connection in manager._conns.values():
            connection.pause("throttle")
            if seconds is not None:
                manager._net.call_later(seconds, lambda each=connection: each.unpause("throttle"))

    manager.run(begin)


def test_a_throttled_cluster_is_asked_when_it_takes_questions_again(cluster: Cluster) -> None:
    throttle(cluster, 0.01)
    nodes = sorted(cluster.brokers())
    throttle(cluster, 0.01)
    answers = cluster.ask_each({node: ListGroupsRequest() for node in nodes})
    assert [answers[node].error_code for node in nodes] == [0, 0]


def test_a_cluster_that_throttles_for_ever_is_told_as_that(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "_THROTTLED_S", 0)
    throttle(cluster, None)
    try:
        with pytest.raises(SourceError, match="no broker takes a request for 0 s: a quota throttles"):
            cluster.brokers()
        answers = cluster.ask_each({1: ListGroupsRequest()})
        assert "broker 1 takes no request for 0 s" in str(answers[1])
    finally:
        throttle(cluster, 0)

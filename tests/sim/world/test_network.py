from random import Random
from typing import Any

import pytest

from kgroup.sim.scenario.scenario import NetworkSettings
from kgroup.sim.world.network import Network, Stream
from kgroup.sim.world.schedule import Schedule


class Way:
    """From `a` to `b`; `arrived` are (ms after the start, message)."""

    def __init__(self, seed: int = 1, **settings: Any) -> None:
        self.schedule = Schedule(0)
        self.network = Network(self.schedule, Random(seed), NetworkSettings(**settings))
        self.stream = Stream("a", "b")
        self.arrived: list[tuple[int, str]] = []

    def send(self, message: str) -> None:
        self.network.send(self.stream, lambda: self.arrived.append((self.schedule.now_ms, message)))

    def pass_time(self, ms: int) -> None:
        self.schedule.run(self.schedule.now_ms + ms)


def test_a_message_takes_the_latency_of_its_way() -> None:
    way = Way(latency_min_ms=7, latency_max_ms=7)
    way.send("hello")
    way.pass_time(1_000)
    assert way.arrived == [(7, "hello")]


def test_messages_of_a_connection_never_overtake_each_other() -> None:
    way = Way(latency_min_ms=1, latency_max_ms=500)
    for number in range(50):
        way.send(str(number))
        way.pass_time(1)
    way.pass_time(10_000)
    assert [message for _, message in way.arrived] == [str(number) for number in range(50)]


def test_what_is_lost_comes_later_and_in_order_as_tcp_sends_it_again() -> None:
    way = Way(latency_min_ms=1, latency_max_ms=1, loss_percent=40)
    for number in range(50):
        way.send(str(number))
    way.pass_time(600_000)
    assert [message for _, message in way.arrived] == [str(number) for number in range(50)]
    assert way.arrived[-1][0] >= 200, "a lost packet costs at least TCP's shortest timeout"


@pytest.mark.parametrize(
    ("cut_ms", "arrives_ms"),
    [(100, 201), (201, 601), (1_000, 1_401), (60_000, 102_201)],
    ids=["before the first retry", "first retry cut", "third retry", "a minute"],
)
def test_a_message_sent_into_a_cut_arrives_with_the_first_retry_after_it(
    cut_ms: int, arrives_ms: int
) -> None:
    """TCP doubles its pauses: it tries again after 200, 600, 1400, 3000, ... ms."""
    way = Way(latency_min_ms=1, latency_max_ms=1)
    way.network.cut("b", None)
    way.send("hello")
    way.pass_time(cut_ms)
    assert not way.arrived
    way.network.mend("b", None)
    way.pass_time(600_000)
    assert way.arrived == [(arrives_ms, "hello")]


def test_what_is_sent_behind_a_held_back_message_does_not_overtake_it() -> None:
    way = Way(latency_min_ms=1, latency_max_ms=1)
    way.network.cut("a", "b")
    way.send("first")
    way.pass_time(50)
    way.network.mend("a", "b")
    way.send("second")
    way.pass_time(10_000)
    assert [message for _, message in way.arrived] == ["first", "second"]


def test_a_cut_between_two_leaves_the_others_alone() -> None:
    way = Way()
    way.network.cut("a", "b")
    assert way.network.is_cut("b", "a")
    assert not way.network.is_cut("a", "c")


def test_cuts_of_the_same_way_add_up() -> None:
    way = Way()
    way.network.cut("a", None)
    way.network.cut("a", None)
    way.network.mend("a", None)
    assert way.network.is_cut("a", "b")
    way.network.mend("a", None)
    assert not way.network.is_cut("a", "b")


def test_opening_a_connection_takes_its_round_trips() -> None:
    way = Way(latency_min_ms=10, latency_max_ms=10)
    way.network.send(way.stream, lambda: way.arrived.append((way.schedule.now_ms, "hello")), 2)
    way.pass_time(1_000)
    assert way.arrived == [(50, "hello")]

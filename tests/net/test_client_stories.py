"""Whole lives of groups with clients that nobody here wrote, in processes that can be killed."""

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from kafka import KafkaProducer

import kgroup.testing

MEMBER = Path(__file__).with_name("member.py")
GROUP = "story"
TOPIC = "orders"
PARTITIONS = 6
QUICK_SESSIONS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",
}
PATIENCE_S = 60  # how long until a story counts as stuck

Event = dict[str, Any]


class MemberProcess:
    """A running member and what it has said so far."""

    def __init__(self, client: str, bootstrap: str, said: "queue.Queue[tuple[MemberProcess, Event]]") -> None:
        self.read: list[str] = []
        self.owns: list[int] = []
        self.ended = False
        self._said = said
        self.process = subprocess.Popen(
            [sys.executable, str(MEMBER), client, bootstrap, GROUP, TOPIC],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._said.put((self, json.loads(line)))
        self._said.put((self, {"ended": True}))

    def take_in(self, event: Event) -> None:
        self.read += event.get("read", [])
        self.owns = event.get("owns", self.owns)
        self.ended = event.get("ended", self.ended)

    def end(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)
        self.listener.join(PATIENCE_S)


class Story:
    """One group on one cluster: members, and everything that was produced."""

    def __init__(self, kafka: kgroup.testing.Cluster) -> None:
        self.kafka = kafka
        self.produced: list[str] = []
        self.members: list[MemberProcess] = []
        self._said: queue.Queue[tuple[MemberProcess, Event]] = queue.Queue()

    def join(self, client: str) -> MemberProcess:
        member = MemberProcess(client, self.kafka.bootstrap, self._said)
        self.members.append(member)
        return member

    def leave(self, member: MemberProcess) -> None:
        member.end(signal.SIGTERM)
        self.until(lambda: member.ended)

    def kill(self, member: MemberProcess) -> None:
        member.end(signal.SIGKILL)
        self.until(lambda: member.ended)

    def produce(self, count: int) -> list[str]:
        values = [str(len(self.produced) + number) for number in range(count)]
        producer = KafkaProducer(bootstrap_servers=self.kafka.bootstrap, acks="all")
        futures = [
            producer.send(TOPIC, value.encode(), partition=int(value) % PARTITIONS) for value in values
        ]
        for future in futures:
            future.get(PATIENCE_S)
        producer.close()
        self.produced += values
        return values

    def until(self, holds: Callable[[], bool]) -> None:
        """Listen to the members until it holds."""
        while not holds():
            member, event = self._said.get(timeout=PATIENCE_S)
            member.take_in(event)

    def until_all_is_read(self) -> None:
        """Every produced value has been read, and committed, by somebody."""
        self.until(lambda: {value for member in self.members for value in member.read} >= set(self.produced))

    def until_each_owns(self, count: int, *members: MemberProcess) -> None:
        """The members share all partitions, `count` each."""
        self.until(
            lambda: (
                all(len(member.owns) == count for member in members)
                and len({partition for member in members for partition in member.owns}) == PARTITIONS
            )
        )


@contextmanager
def story(nodes: int = 1, properties: dict[str, str] | None = None) -> Iterator[Story]:
    with kgroup.testing.cluster(nodes=nodes, topics={TOPIC: PARTITIONS}, properties=properties) as kafka:
        life = Story(kafka)
        try:
            yield life
        finally:
            for member in life.members:
                if member.process.poll() is None:
                    member.end(signal.SIGKILL)


@pytest.mark.parametrize(
    "clients",
    [
        pytest.param(["kafka-python"] * 4, id="kafka-python"),
        pytest.param(["confluent"] * 4, id="confluent"),
        pytest.param(["aiokafka"] * 4, id="aiokafka"),
        pytest.param(["kafka-python", "confluent", "aiokafka", "confluent"], id="mixed"),
        pytest.param(["confluent-848"] * 4, id="consumer-protocol"),
        pytest.param(["confluent-848", "confluent", "confluent-848", "confluent-848"], id="both-protocols"),
    ],
)
def test_members_come_leave_and_die_and_one_resumes_with_nothing_lost(clients: list[str]) -> None:
    with story(properties=QUICK_SESSIONS) as life:
        life.produce(60)
        first = life.join(clients[0])
        life.until_each_owns(6, first)
        second = life.join(clients[1])
        life.until_each_owns(3, first, second)
        third = life.join(clients[2])
        life.until_each_owns(2, first, second, third)
        life.produce(60)
        life.until_all_is_read()

        life.leave(second)
        life.until_each_owns(3, first, third)
        life.kill(third)
        life.until_each_owns(6, first)
        life.produce(60)
        life.until_all_is_read()
        life.leave(first)
        assert [(group["group"], group["state"]) for group in life.kafka.state()["groups"]] == [
            (GROUP, "Empty")
        ]

        after = life.produce(12)
        resumed = life.join(clients[3])
        life.until_all_is_read()
        assert sorted(resumed.read) == sorted(after)  # only what came after the last commits
        life.leave(resumed)


def test_members_go_on_when_their_coordinator_dies() -> None:
    with story(nodes=3) as life:
        life.produce(60)
        first = life.join("kafka-python")
        life.until_each_owns(6, first)
        second = life.join("confluent")
        life.until_each_owns(3, first, second)
        third = life.join("aiokafka")
        life.until_each_owns(2, first, second, third)
        life.until_all_is_read()

        coordinator = life.kafka.coordinator_of(GROUP)
        life.kafka.kill_node(coordinator)
        assert life.kafka.coordinator_of(GROUP) != coordinator
        life.produce(60)
        life.until_all_is_read()
        life.kafka.start_node(coordinator)
        for member in (first, second, third):
            life.leave(member)

        after = life.produce(12)
        resumed = life.join("kafka-python")
        life.until_all_is_read()
        assert set(after) <= set(resumed.read)
        life.leave(resumed)


def test_members_share_the_partitions_that_a_topic_grows_by() -> None:
    with story() as life:
        first, second = life.join("kafka-python"), life.join("confluent")
        life.until_each_owns(3, first, second)
        life.kafka.create_partitions(TOPIC, PARTITIONS + 2)
        life.until(lambda: sorted(first.owns + second.owns) == list(range(PARTITIONS + 2)))
        life.leave(first)
        life.leave(second)


def test_a_group_changes_over_to_the_consumer_protocol_and_back_without_a_pause_for_all() -> None:
    """One member after the other is replaced: an online upgrade, then a downgrade (KIP-848)."""
    with story(properties=QUICK_SESSIONS) as life:
        life.produce(60)
        first, second = life.join("confluent"), life.join("confluent")
        life.until_each_owns(3, first, second)
        assert kinds(life) == ["Stable classic"]
        newer = life.join("confluent-848")
        life.until_each_owns(2, first, second, newer)
        assert kinds(life) == ["Stable consumer"]
        life.leave(first)
        newest = life.join("confluent-848")
        life.leave(second)
        life.until_each_owns(3, newer, newest)
        life.produce(60)
        life.until_all_is_read()

        back = life.join("confluent")
        life.until_each_owns(2, newer, newest, back)
        life.leave(newer)
        life.leave(newest)
        life.until_each_owns(6, back)
        assert kinds(life) == ["Stable classic"]
        life.produce(60)
        life.until_all_is_read()
        life.leave(back)


def test_members_of_the_consumer_protocol_go_on_when_their_coordinator_dies() -> None:
    with story(nodes=3, properties=QUICK_SESSIONS) as life:
        life.produce(60)
        first, second = life.join("confluent-848"), life.join("confluent-848")
        life.until_each_owns(3, first, second)
        coordinator = life.kafka.coordinator_of(GROUP)
        life.kafka.kill_node(coordinator)
        life.produce(60)
        life.until_all_is_read()
        life.kafka.start_node(coordinator)
        life.leave(first)
        life.until_each_owns(6, second)
        life.leave(second)


def kinds(life: Story) -> list[str]:
    """State and type of each group, as an administrator sees them."""
    admin = AdminClient({"bootstrap.servers": life.kafka.bootstrap})  # has to live until the answer is there
    answer = admin.list_consumer_groups().result(PATIENCE_S)
    return [f"{group.state.name.title()} {group.type.name.lower()}" for group in answer.valid]

"""Members over TCP: a recorded conversation of Kafka's Java client, old versions, and a user's listener."""

import asyncio
import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest

import kgroup.testing
from kgroup.errors import SourceError
from kgroup.group.member.settings import MemberSettings, OffsetReset
from kgroup.net.member.client import GroupMember, RebalanceListener
from kgroup.net.member.connection import Exchange
from kgroup.protocol.requests.client import Node
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.records.exchange_text import api_name, json_fields
from tests.group.member.test_conversation import NOT_LOGGED, STEPS, TOPIC, plain
from tests.net.member.test_connection import Silent

PATIENCE_S = 30
QUICK = {"group.initial.rebalance.delay.ms": "0"}
ASIDE = {"API_VERSIONS", "METADATA"}  # the recording leaves them out
RECORDED_ID = STEPS[1]["response"]["member_id"]
NAMES = {"".join(word.capitalize() for word in step["api"].split("_")): step["version"] for step in STEPS}


class Recorder(Silent):
    """Keeps the requests, and the first answer with a member id."""

    def __init__(self) -> None:
        self.requests: list[Exchange] = []
        self.member_id = ""

    def exchange(self, exchange: Exchange) -> None:
        if exchange.is_request and api_name(exchange.api) not in ASIDE:
            self.requests.append(exchange)
        self.member_id = self.member_id or getattr(exchange.body, "member_id", "")


def node(kafka: kgroup.testing.Cluster) -> Node:
    host, _, port = kafka.bootstrap.split(",")[0].rpartition(":")
    return Node(node_id=-1, host=host, port=int(port))


def fields(exchange: Exchange, member_id: str) -> dict[str, Any]:
    """As the recording has them, with the recorded member id."""
    body = exchange.body
    on_the_wire = type(body).decode(bytes(body.encode()), version=exchange.version)
    said = json_fields(on_the_wire.to_dict(json=False))
    assert isinstance(said, dict)
    text = json.dumps({name: plain(value) for name, value in said.items()})
    read: dict[str, Any] = json.loads(text.replace(member_id, RECORDED_ID) if member_id else text)
    return read


def test_the_same_script_gives_the_same_requests_in_the_same_order_as_kafkas_client() -> None:
    """Partition 1 has a leader of its own; the recording is of the requests to that one."""

    async def story() -> Recorder:
        async with kgroup.testing.cluster(nodes=3, topics={TOPIC: 3}, properties=QUICK) as kafka:
            settings = MemberSettings(
                group_id="group1", client_id="consumer-group1-1", auto_offset_reset=OffsetReset.EARLIEST
            )
            watcher = Recorder()
            member = GroupMember(settings, [node(kafka)], watcher, versions=NAMES)
            member.subscribe([TOPIC])
            async with asyncio.timeout(PATIENCE_S):
                while len(to_partition_1(watcher.requests)) < len(STEPS):
                    await member.poll(0.05)
            await member.abandon()
            return watcher

    seen = asyncio.run(story())
    said = to_partition_1(seen.requests)[: len(STEPS)]
    assert [(api_name(each.api), each.version) for each in said] == [
        (step["api"], step["version"]) for step in STEPS
    ]
    for each, step in zip(said, STEPS, strict=True):
        wanted = deepcopy(step["request"]) | NOT_LOGGED.get(step["api"], {})
        wanted.pop("reason", None)  # of a later version
        got = fields(each, seen.member_id)
        if step["api"] == "FETCH":  # its log began at another offset
            wanted["topics"][0][1][0]["fetch_offset"] = got["topics"][0][1][0]["fetch_offset"]
        assert got == wanted
        if "timeout_ms" in step:
            assert each.timeout_ms == step["timeout_ms"]
    own = {each.connection_id for each in said[1:5]}
    assert len(own) == 1 and own.pop() > 2147483640


def to_partition_1(requests: Sequence[Exchange]) -> list[Exchange]:
    """Without what goes to the leaders of the other partitions."""
    by_leader = ("ListOffsets", "Fetch")
    return [each for each in requests if each.api not in by_leader or "'partition': 1" in _topics(each)]


def _topics(exchange: Exchange) -> str:
    return str(exchange.body.to_dict(json=False)["topics"]).replace("partition_index", "partition")


class Listener(RebalanceListener):
    def __init__(self) -> None:
        self.heard: list[tuple[str, tuple[TopicPartition, ...]]] = []

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self.heard.append(("assigned", tuple(partitions)))
        if len(self.heard) == 1:
            raise RuntimeError("the user stumbles")

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.heard.append(("revoked", tuple(partitions)))


def test_a_listener_hears_what_comes_and_goes_and_may_stumble() -> None:
    """Kafka: what a listener throws comes out of `poll`, and the member has its partitions all the same."""

    async def story() -> Listener:
        async with kgroup.testing.cluster(topics={"orders": 1}, properties=QUICK) as kafka:
            listener = Listener()
            member = GroupMember(MemberSettings(group_id="g"), [node(kafka)], Silent())
            member.subscribe(["orders"], listener)
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(RuntimeError, match="stumbles"):
                    while True:
                        await member.poll(0.05)
                assert list(member.machine.positions) == [("orders", 0)]
                await member.poll(0.05)
                member.unsubscribe()
                member.assign([("orders", 0)])
                await member.close()
            return listener

    assert asyncio.run(story()).heard == [
        ("assigned", (("orders", 0),)),
        ("revoked", (("orders", 0),)),
    ]


def test_a_version_that_the_broker_does_not_speak_ends_the_member_with_a_reason() -> None:
    async def story() -> None:
        async with kgroup.testing.cluster(topics={"orders": 1}) as kafka:
            member = GroupMember(
                MemberSettings(group_id="g"), [node(kafka)], Silent(), versions={"FindCoordinator": 99}
            )
            member.subscribe(["orders"])
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(SourceError, match="speaks FindCoordinator 0 to 6, and not version 99"):
                    while True:
                        await member.poll(0.05)
            await member.abandon()

    asyncio.run(story())

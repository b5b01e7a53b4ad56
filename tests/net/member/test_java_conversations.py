"""One script, played by Kafka's Java client and by a member of kgroup: the same requests in the same order.

Recorded of kafka-clients 4.1.0 (`group.protocol=classic`) on a cluster of kgroup's brokers, which saw both.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer

import kgroup.testing
from kgroup.group.member.settings import MemberSettings, OffsetReset
from kgroup.net.member.client import GroupMember
from kgroup.net.member.connection import Exchange
from kgroup.report.records.exchange_text import api_name, json_fields
from tests.net.member.test_connection import Silent
from tests.net.member.test_conversations import PATIENCE_S, QUICK, node

RECORDED = Path(__file__).parents[3] / "fixtures" / "vectors" / "java_conversations.jsonl"
SCRIPTS = {
    line["script"]: line["requests"]
    for line in map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
}
TIMELESS = {"FIND_COORDINATOR", "JOIN_GROUP", "SYNC_GROUP", "OFFSET_FETCH", "OFFSET_COMMIT", "LEAVE_GROUP"}
"""How often the others come depends on how fast the machine is."""


class Recorder(Silent):
    def __init__(self) -> None:
        self.requests: list[Exchange] = []
        self.member_id = ""

    def exchange(self, exchange: Exchange) -> None:
        if exchange.is_request and api_name(exchange.api) in TIMELESS:
            self.requests.append(exchange)
        self.member_id = self.member_id or getattr(exchange.body, "member_id", "")


def produce(bootstrap: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for _ in range(3):
        producer.send("orders", b"x").get(PATIENCE_S)
    producer.close()


def at_home(member: GroupMember, partitions: int) -> bool:
    """Whether it has its partitions, and knows where to read each."""
    positions = [each.position for each in member.machine.positions.values()]
    return len(positions) == partitions and None not in positions


async def read(member: GroupMember, records: int) -> None:
    count = 0
    while count < records:
        count += sum(len(many) for _, many in await member.poll(0.05))


async def play(script: str) -> Recorder:
    """What the Java program of the recording does."""
    async with kgroup.testing.cluster(topics={"orders": 1, "bills": 1}, properties=QUICK) as kafka:
        await asyncio.to_thread(produce, kafka.bootstrap)
        watcher = Recorder()
        settings = MemberSettings(
            group_id="group1", client_id="consumer-group1-1", auto_offset_reset=OffsetReset.EARLIEST
        )
        member = GroupMember(settings, [node(kafka)], watcher)
        member.subscribe(["orders"])
        async with asyncio.timeout(PATIENCE_S):
            await read(member, 3)
            match script:
                case "change":
                    member.subscribe(["orders", "bills"])
                    while not at_home(member, 2):
                        await member.poll(0.05)
                case "enforce":
                    member.enforce_rebalance()
                    while member.machine.generation < 2 or not at_home(member, 1):
                        await member.poll(0.05)
                case "unsubscribe":
                    member.unsubscribe()
            await member.close()
        return watcher


def fields(exchange: Exchange, member_id: str) -> dict[str, Any]:
    """As they are on the wire, in the recording's form."""
    on_the_wire = type(exchange.body).decode(bytes(exchange.body.encode()), version=exchange.version)
    said = json_fields(on_the_wire.to_dict(json=False))
    read_back: dict[str, Any] = json.loads(json.dumps(said).replace(member_id, "MEMBER"))
    return read_back


@pytest.mark.parametrize("script", SCRIPTS)
def test_kafkas_java_client_and_a_member_say_the_same(script: str) -> None:
    seen = asyncio.run(play(script))
    recorded = SCRIPTS[script]
    assert [(api_name(each.api), each.version) for each in seen.requests] == [
        (each["api"], each["version"]) for each in recorded
    ]
    for each, wanted in zip(seen.requests, recorded, strict=True):
        assert as_committed(fields(each, seen.member_id)) == as_committed(wanted["request"]), wanted["api"]


def as_committed(request: dict[str, Any]) -> dict[str, Any]:
    """Without the two differences, which are in commits alone.

    Kafka's client commits the leader epoch of what it has read, and topics in the order of a HashMap; here
    there is no epoch, and topics come by name.
    """
    topics = request.get("topics", [])
    if not any("committed_offset" in each for topic in topics for each in topic["partitions"]):
        return request
    return request | {
        "topics": [
            {
                "name": topic["name"],
                "partitions": [each | {"committed_leader_epoch": -1} for each in topic["partitions"]],
            }
            for topic in sorted(topics, key=lambda topic: str(topic["name"]))
        ]
    }

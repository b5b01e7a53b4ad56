"""Longer scripts, played by Kafka's Java client and by members of kgroup: the same requests in one order.

Recorded of kafka-clients 4.3.1 (`group.protocol=classic`) on a cluster of kgroup's brokers, which saw both.
What is repeated without a change counts once: how often depends on how fast the machine is.
"""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

import kgroup.testing
from kgroup.group.member.settings import MemberSettings, OffsetReset
from kgroup.net.member.client import GroupMember
from kgroup.net.member.connection import Exchange
from kgroup.report.records.exchange_text import api_name, json_fields
from tests.net.member.test_connection import Silent
from tests.net.member.test_conversations import PATIENCE_S, QUICK, node
from tests.net.member.test_java_conversations import TIMELESS, as_committed, at_home, produce, read

RECORDED = Path(__file__).parents[3] / "fixtures" / "vectors" / "java_members.jsonl"
SCRIPTS: dict[str, dict[str, list[dict[str, Any]]]] = {
    line["script"]: line["requests"]
    for line in map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
}
UUID = re.compile("-".join(f"[0-9a-f]{{{digits}}}" for digits in (8, 4, 4, 4, 12)))
OWNS_NOTHING = re.compile("(?<=00000004)[0-9a-f]{8}(?=00000000)")
"""The generation in the sticky assignor's own data, of a member that owns nothing."""
ORDERS = ("orders", 0)
IN_A_HEARTBEAT = "group is already rebalancing"
IN_A_SYNC = "rebalance failed due to RebalanceInProgressException"


class Recorder(Silent):
    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def exchange(self, exchange: Exchange) -> None:
        api = api_name(exchange.api)
        if not exchange.is_request or api not in TIMELESS:
            return
        on_the_wire = type(exchange.body).decode(bytes(exchange.body.encode()), version=exchange.version)
        said = json.loads(UUID.sub("UUID", json.dumps(json_fields(on_the_wire.to_dict(json=False)))))
        each = {"api": api, "version": exchange.version, "request": said}
        if self.requests[-1:] != [each]:
            self.requests.append(each)


class Players:
    """The members of a script, by their client ids, and what each has asked."""

    def __init__(self, kafka: kgroup.testing.Cluster) -> None:
        self._node = node(kafka)
        self.seen: dict[str, Recorder] = {}

    def new(self, number: int, topic: str, **settings: Any) -> GroupMember:
        client_id = f"consumer-group1-{number}"
        given = {"heartbeat_interval_ms": 200, "auto_commit_interval_ms": 60_000} | settings
        member = GroupMember(
            MemberSettings(
                group_id="group1", client_id=client_id, auto_offset_reset=OffsetReset.EARLIEST, **given
            ),
            [self._node],
            self.seen.setdefault(client_id, Recorder()),
        )
        member.subscribe([topic])
        return member


async def share(*shares: tuple[GroupMember, int]) -> None:
    """Poll in turn until each has so many partitions."""
    while not all(at_home(member, partitions) for member, partitions in shares):
        for member, _ in shares:
            await member.poll(0.05)


async def static(players: Players, kafka: kgroup.testing.Cluster) -> None:
    for has_read in (False, True):
        member = players.new(1, "orders", group_instance_id="static-1")
        await (share((member, 1)) if has_read else read(member, 3))
        await member.close()


async def auto(players: Players, kafka: kgroup.testing.Cluster) -> None:
    member = players.new(1, "orders", auto_commit_interval_ms=3_000)
    await read(member, 3)
    said = players.seen["consumer-group1-1"].requests
    while said[-1]["api"] != "OFFSET_COMMIT":
        await member.poll(0.05)
    await member.close()


async def seek(players: Players, kafka: kgroup.testing.Cluster) -> None:
    member = players.new(1, "orders")
    await read(member, 3)
    member.seek(ORDERS, 1)
    await read(member, 2)
    member.pause([ORDERS])
    for _ in range(5):
        assert not await member.poll(0.05)
    member.resume([ORDERS])
    member.seek(ORDERS, 2)
    await read(member, 1)
    await member.commit()
    member.unsubscribe()
    member.subscribe(["bills"])
    await share((member, 1))
    await member.close()


async def two(players: Players, assignor: str) -> None:
    stays = players.new(1, "wide", partition_assignment_strategy=(assignor,))
    await share((stays, 2))
    goes = players.new(2, "wide", partition_assignment_strategy=(assignor,))
    await share((stays, 1), (goes, 1))
    await goes.close()
    await share((stays, 2))
    await stays.close()


async def eager(players: Players, kafka: kgroup.testing.Cluster) -> None:
    await two(players, "range")


async def cooperative(players: Players, kafka: kgroup.testing.Cluster) -> None:
    await two(players, "cooperative-sticky")


async def coordinator(players: Players, kafka: kgroup.testing.Cluster) -> None:
    member = players.new(1, "orders", enable_auto_commit=False)
    await read(member, 3)
    await member.commit()
    await asyncio.to_thread(lambda: kafka.kill_node(kafka.coordinator_of("group1")))
    await member.commit()
    await member.close()


PLAYED = {each.__name__: each for each in (static, auto, seek, eager, cooperative, coordinator)}


def test_every_recorded_script_is_played() -> None:
    assert PLAYED.keys() == SCRIPTS.keys()


@pytest.mark.parametrize("script", PLAYED)
def test_kafkas_java_client_and_members_say_the_same(script: str) -> None:
    async def story() -> dict[str, Recorder]:
        topics = {"orders": 1, "bills": 1, "wide": 2}
        nodes = 3 if script == "coordinator" else 1
        async with kgroup.testing.cluster(nodes=nodes, topics=topics, properties=QUICK) as kafka:
            await asyncio.to_thread(produce, kafka.bootstrap)
            players = Players(kafka)
            async with asyncio.timeout(PATIENCE_S):
                await PLAYED[script](players, kafka)
            return players.seen

    seen = asyncio.run(story())
    assert seen.keys() == SCRIPTS[script].keys()
    for client, recorded in SCRIPTS[script].items():
        said = seen[client].requests
        assert [each["api"] for each in said] == [each["api"] for each in recorded], client
        for each, wanted in zip(said, recorded, strict=True):
            assert plain(each) == plain(wanted), client


def plain(request: dict[str, Any]) -> dict[str, Any]:
    """Without what is chance: the order of a HashMap whose keys have UUIDs, and who of two members is first.

    A member without partitions hears of the other's rejoin before it has synced or after: its own reason says
    which, and the generation in what its assignor tells the leader.
    """
    body = as_committed(request["request"])
    if "assignments" in body:
        body = body | {"assignments": sorted(body["assignments"], key=lambda each: str(each["member_id"]))}
    if body.get("reason") in (IN_A_SYNC, IN_A_HEARTBEAT):
        protocols = [
            each | {"metadata": OWNS_NOTHING.sub("", each["metadata"])} for each in body["protocols"]
        ]
        body = body | {"reason": IN_A_HEARTBEAT, "protocols": protocols}
    return request | {"request": body}

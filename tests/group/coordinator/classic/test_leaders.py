"""The next leader is the first key of Kafka's HashMap of members (ClassicGroup 4.3.1), whoever joined first.

The orders are those that java.util.HashMap of OpenJDK 17 gave for these ids.
"""

import pytest

from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request
from tests.group.coordinator.script import ScriptWorld


def joined(*members: str) -> ScriptWorld:
    """Members NAME-1, NAME-2, ... of generation 1, which the first leads and has assigned."""
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    for member in members:
        world.run(f"join {member}")
    world.run("advance 3000")
    for member in reversed(members):
        shares = ",".join(f"{each}:x" for each in members)
        world.run(f"sync {member} generation=1 assign={shares if member == members[0] else ''}")
    return world


def next_leader(world: ScriptWorld, *left: str) -> str:
    """Of the round that `left` join, in this order."""
    lines = [line for member in left for line in world.run(f"join {member}")]
    lines += world.run("advance 300000")
    [leader] = {line.split("leader=")[1].split()[0] for line in lines if "JoinGroup NONE" in line}
    return leader


@pytest.mark.parametrize(
    ("members", "leaver", "order"),
    [
        (("m1", "m2", "m3"), "m2", ["m1-1", "m3-3"]),  # [m2-2, m1-1, m3-3]; m1 leads on
        (("m1", "m2", "m3", "m4", "m5"), "m1", ["m5-5", "m2-2", "m4-4", "m3-3"]),
        (("h1", "h2", "h3"), "h1", ["h3-3", "h2-2"]),
        (("e1", "e2", "e3"), "e1", ["e3-3", "e2-2"]),
        (("p1", "p2", "p3"), "p1", ["p2-2", "p3-3"]),
    ],
)
def test_when_the_leader_leaves(members: tuple[str, ...], leaver: str, order: list[str]) -> None:
    world = joined(*members)
    world.run(f"leave {leaver}")
    left = [member for member in members if member != leaver]
    assert next_leader(world, *left) == order[0]


@pytest.mark.parametrize(
    ("others", "leader"),
    [
        (3, "w3-4"),  # [w3-4, w2-3, w1-2]
        (13, "w1-2"),  # [w1-2, w3-4, w2-3]: a table that 14 members made larger stays so
    ],
)
def test_the_map_does_not_shrink_when_members_go(others: int, leader: str) -> None:
    members = [f"w{number}" for number in range(1, others + 1)]
    world = joined("z", *members)
    for member in (*members[3:], "z"):
        world.run(f"leave {member}")
    assert next_leader(world, "w1", "w2", "w3") == leader


def test_a_leader_that_does_not_join_is_followed_by_the_first_who_did() -> None:
    """ClassicGroup.maybeElectNewJoinedLeader; the leader is static, and so it is not put out."""
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    world.run("join t1 instance=i1 session=1800000 rebalance=10000")
    for member in ("t2", "t3"):
        world.run(f"join {member} instance={member} session=1800000 rebalance=10000")
    world.run("advance 3000")
    world.run("sync t1 generation=1 assign=t1:x,t2:y,t3:z")
    for member in ("t2", "t3"):
        world.run(f"sync {member} generation=1")
    # [t3-3, t1-1, t2-2]
    assert next_leader(world, *("t2 topics=other instance=t2", "t3 topics=other instance=t3")) == "t3-3"


def test_members_that_the_leader_leaves_out_are_named() -> None:
    """Kafka: "Setting empty assignments for members ... of ... for generation ..."."""
    world = joined("m1", "m2", "m3")
    world.run("join m1")
    world.run("join m2")
    world.run("join m3")
    events = []
    body = world._body("sync", "m1", [], {"generation": "2", "assign": "m2:y"})
    request = Request(id=99, body=body, client_id="m1", client_host="/h")
    for event in world.coordinator.handle(request, world.now_ms).events:
        events.append((type(event).__name__, getattr(event, "member_ids", None)))
    assert events == [("MembersLeftOut", ("m1-1", "m3-3")), ("GroupStable", None)]

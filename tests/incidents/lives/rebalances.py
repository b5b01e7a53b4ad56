"""Rebalances without end, and rebalances that take too long."""

import struct

from tests.incidents.groups import Group, sticky
from tests.incidents.world import World


def generations_within_milliseconds(world: World) -> None:
    """A client that answers each rebalance by joining again."""
    world.topic("kaffe", 6, 2)
    group = world.group("kaffe-app", "kaffe")
    group.start_all("kaffe-1", "kaffe-2", "kaffe-3", heartbeat_s=1)
    world.run(300)
    began = world.now_ms
    for _ in range(300):
        group.rebalance()
        for member in group.members:
            member.rejoin_ms = 0
        world.run(0.4, 20)
    world.proven("hundreds of generations", group.generation > 200)
    world.wrong(group.name, "rebalance-storm", began)
    world.run(30)


def unknown_member_for_ever(world: World) -> None:
    """A member leaves and joins again every few seconds."""
    world.topic("zen", 4, 2)
    group = world.group("desk", "zen")
    _, two = group.start_all("desk-1", "desk-2")
    world.run(300)
    began = world.now_ms
    for _ in range(60):
        two.leave()
        two.join()
        world.run(9)
    world.proven("a generation every few seconds", group.generation > 50)
    world.wrong(group.name, "rebalance-storm", began)


def the_slow_record_goes_round(world: World) -> None:
    world.topic("reports", 4, 1)
    group = world.group("report", "reports")
    group.start_all("report-1", "report-2", "report-3", poll_interval_s=90, library="java")
    world.run(300)
    began = world.now_ms
    group.stops_at["reports", 3] = bad = world.log(("reports", 3)).end + 3
    world.run(1800)
    left = [e for e in world.events if e["what"] == "poll-interval-exceeded"]
    world.proven("the owners leave, one and another", len({e["handle"] for e in left}) > 1 and len(left) > 8)
    world.wrong(group.name, "slow-record-goes-round", began, partition="reports-3", offset=bad)


def autoscaler_on_lag(world: World) -> None:
    """Each change of size costs a rebalance, the rebalance makes lag, and lag makes a change of size."""
    world.topic("clicks", 6, 3)
    group = world.group("clicker", "clicks")
    group.start_all("clicker-a", "clicker-b")
    world.run(300)
    began, pods = world.now_ms, []
    for number in range(8):
        pods = group.start_all(f"clicker-{number}x", f"clicker-{number}y")
        world.run(50)
        for pod in pods:
            pod.close()
            world.run(2)
        world.run(45)
    world.proven("up and down eight times", group.generation >= 16)
    world.wrong(group.name, "autoscaler-flapping", began)


def cooperative_group_never_settles(world: World) -> None:
    """Two members keep giving each other the same partition."""
    world.topic("flow", 5, 2)
    toggle = [0]

    def assign(group: Group, members):  # type: ignore[no-untyped-def]
        shares = sticky(group, members)
        if toggle[0] and len(members) == 2:
            giver, taker = sorted(members, key=lambda m: -len(shares[m]))
            shares[taker].append(shares[giver].pop())
        return shares

    group = world.group("settler", "flow", assignor="cooperative-sticky", assign=assign)
    group.start_all("settler-1", "settler-2")
    world.run(300)
    began, toggle[0] = world.now_ms, 1
    for _ in range(80):
        group.rebalance()
        world.run(6)
    toggle[0] = 0
    world.proven("a generation every few seconds", group.generation > 80)
    world.wrong(group.name, "rebalance-storm", began)


def connect_config_never_read(world: World) -> None:
    """The leader's config offset is behind: every assignment is a refusal, with the offset that it lacks."""
    world.topic("connect-configs", 1, 0)
    group = world.group("connect-cluster", "connect-configs", assignor="default", protocol_type="connect")
    for number in (1, 2):
        url = f"http://worker-{number}:8083/".encode()
        offset = 41 if number == 1 else 47
        group.start(
            f"worker-{number}",
            commit_s=None,
            subscription=struct.pack(">hh", 0, len(url)) + url + struct.pack(">q", offset),
            assignment=struct.pack(">hhh", 0, 1, 8)
            + b"worker-1"
            + struct.pack(">h", len(url))
            + url
            + struct.pack(">qi", 47, 0),
        )
    world.run(60)
    began = world.now_ms
    for _ in range(200):
        group.rebalance()
        world.run(3)
    world.proven("generations without end", group.generation > 150)
    world.wrong(group.name, "connect-config-behind", began)


def member_id_dropped(world: World) -> None:
    """A client asks for a member id (KIP-394) and never joins with it: the round waits for its session."""
    world.topic("stock", 4, 2)
    group = world.group("stocker", "stock")
    group.start_all("stocker-1", "stocker-2", session_s=45, poll_interval_s=600)
    world.run(600)
    began = world.now_ms
    for _ in range(3):
        group.wait_for_pending(45_000)
        world.happened("pending-member", group.name, session_ms=45_000)
        world.run(200)
    gaps = group.generation
    world.proven("three rounds, and nobody came or went", gaps == 4 and len(group.members) == 2)
    world.wrong(group.name, "pending-member", began)


def coordinator_moves_again_and_again(world: World) -> None:
    """The offsets partition loses its ISR; members join anew at each new leader, which knows them not."""
    world.topic("meters", 4, 2)
    group = world.group("metering", "meters")
    group.start_all("metering-1", "metering-2")
    world.run(300)
    began = world.now_ms
    for _ in range(4):
        world.move_coordinator(group.name)
        for member in list(group.members):
            group.members.remove(member)
        for member in group.clients:
            member.join()
        world.run(120)
    world.proven("a new generation after each move", group.generation >= 5)
    world.wrong(group.name, "coordinator-moves", began)


def join_waits_for_one(world: World) -> None:
    """A member that does not poll, and does not leave either, keeps all others waiting in the join phase."""
    world.topic("rest", 4, 2)
    group = world.group("proxy", "rest")
    _, two, _ = group.start_all("proxy-1", "proxy-2", "proxy-3", poll_interval_s=600, leaves_when_late=False)
    world.run(600)
    began = world.now_ms
    two.busy(4000)
    group.start("proxy-4", poll_interval_s=600, leaves_when_late=False)
    world.run(1000)
    world.proven("it was left out", two not in group.members and group.members[0].is_up)
    world.wrong(group.name, "join-waits-for-one", began)

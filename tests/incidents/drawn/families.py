"""Incidents with drawn settings. Each function plays one into a world; its docstring says what all share."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.incidents.drawn.draws import draw
from tests.incidents.world import START_MS, World

Family = Callable[[World, random.Random], None]


def poll_interval(world: World, rng: random.Random) -> None:
    """A handler blocks again and again for longer than max.poll.interval.ms; the client comes back after."""
    session_s = rng.choice((6.0, 10.0, 30.0, 45.0))
    interval_s = rng.choice((8.0, 20.0, 30.0, 60.0, 120.0))
    own = draw(
        world, rng, session_s=session_s, poll_interval_s=interval_s, heartbeat_s=min(3.0, session_s / 3)
    )
    count = rng.randint(1, 4)
    members = own.members(count)
    own.run(200, 400)
    began, bad = world.now_ms, rng.choice(members)
    for _ in range(rng.randint(3, 8)):
        bad.busy(interval_s * rng.uniform(1.2, 2.5))
        own.run(interval_s * 3, interval_s * 5 + 20)
    left = sum(event["what"] == "poll-interval-exceeded" for event in world.events)
    own.need("it left again and again", left >= 3 and bool(own.group.handed))
    world.wrong("g", "max-poll-interval-exceeded", began, handle=bad.client_id)


def lost_session(world: World, rng: random.Random) -> None:
    """A process with a steady flow of records dies or freezes for longer than its session."""
    own = draw(world, rng, per_s=rng.choice((2.0, 5.0, 20.0)), partitions=rng.choice((3, 4, 6, 8)))
    members = own.members(rng.randint(2, 3))
    own.run(200, 500)
    began, bad = world.now_ms, rng.choice(members)
    session_s = own.how["session_s"]
    if rng.random() < 0.5:
        bad.kill()
        world.run(session_s + rng.uniform(5, 60))
        bad.join()
    else:
        bad.frozen = True
        world.happened("freeze", "g", handle=bad.name)
        world.run(session_s + rng.uniform(5, 60))
        bad.frozen = False
    own.run(60, 200)
    own.need("its session ended", any(event["what"] == "session-expired" for event in world.events))
    world.wrong("g", "member-lost-by-session-timeout", began, handle=bad.client_id)


def autoscaler(world: World, rng: random.Random) -> None:
    """Pods with ever new names come and go while some members stay."""
    own = draw(world, rng, partitions=rng.choice((4, 6, 12)))
    own.members(rng.randint(1, 4))
    own.run(100, 400)
    began, stay_s, pause_s = world.now_ms, rng.choice((8, 20, 60, 200)), rng.choice((5, 20, 90, 400))
    for wave in range(rng.randint(4, 10)):
        pods = [own.group.start(f"pod-{wave}-{each}", **own.how) for each in range(rng.randint(1, 3))]
        world.run(stay_s * rng.uniform(0.6, 1.5))
        for pod in pods:
            pod.close()
            if rng.random() < 0.5:
                world.run(rng.uniform(0.5, 5))
        world.run(pause_s * rng.uniform(0.6, 1.5))
    own.need("up and down", own.group.generation >= 8)
    world.wrong("g", "autoscaler-flapping", began)


def duel(world: World, rng: random.Random) -> None:
    """Two processes with one group.instance.id, each started again by its supervisor after it was fenced."""
    own = draw(world, rng, session_s=rng.choice((10.0, 30.0, 45.0)), heartbeat_s=3.0)
    for number in range(rng.randint(0, 3)):
        own.group.start(f"other-{number}", **own.how, instance=f"other-{number}")
    host_b = rng.choice((None, "/10.0.0.99"))
    how = own.how | {"instance": "till-7", "client_id": rng.choice(("till", "till-7", ""))}
    one = own.group.start("till-7a", **how, host="/10.0.0.98")
    own.run(60, 200)
    began = world.now_ms
    two = own.group.start("till-7b", **how, host=host_b or "/10.0.0.98")
    back_s = {id(one): rng.choice((2, 5, 15, 40)), id(two): rng.choice((2, 5, 15, 40))}
    for _ in range(rng.randint(8, 20)):
        fenced = one if one.is_fenced else two
        world.run(back_s[id(fenced)] * rng.uniform(0.8, 1.3))
        fenced.join()
    takeovers = sum(event["what"] == "fenced" for event in world.events)
    own.need("the id changed hands again and again", takeovers >= 8)
    world.wrong("g", "one-instance-id-used-twice", began, instance="till-7")


def pending(world: World, rng: random.Random) -> None:
    """A client loses the answer with its member id and joins with another: the round waits for the first."""
    own = draw(world, rng, partitions=rng.choice((4, 6, 8)), poll_interval_s=300.0, assignor="range")
    session_s = own.how["session_s"]
    own.members(rng.randint(2, 4))
    own.run(200, 500)
    began = world.now_ms
    for number in range(rng.randint(1, 4)):
        own.group.wait_for_pending(round(session_s * 1000))
        world.happened("pending-member", "g", session_ms=session_s * 1000)
        late = own.member(f"late-{number}")
        own.run(session_s + 60, session_s + 200)
        if rng.random() < 0.5:
            late.close()
            own.run(30, 60)
    own.need("it waited", own.group.generation >= 2)
    world.wrong("g", "pending-member", began)


def poison_crash(world: World, rng: random.Random) -> None:
    """One record ends each process that gets it; a supervisor starts it again."""
    own = draw(world, rng, per_s=rng.choice((1.0, 5.0)), poll_interval_s=300.0)
    own.members(rng.randint(1, 4))
    own.run(200, 400)
    began, partition = world.now_ms, rng.randrange(len(world.topics["t"].partitions))
    own.group.crash_s = rng.choice((2.0, 5.0, 15.0, 40.0))
    own.group.stops_at["t", partition] = bad = world.log(("t", partition)).end + rng.randint(1, 20)
    world.run(max(600.0, 8 * (own.group.crash_s + own.how["session_s"])))
    crashes = sum(event["what"] == "kill-member" for event in world.events)
    own.need(
        "it crashed again and again", crashes >= 4 and own.group.committed.get(("t", partition), 0) <= bad
    )
    world.happened("lost", "g", handle="all")
    world.wrong("g", "poison-record", began, partition=f"t-{partition}", offset=bad)


def poison_hang(world: World, rng: random.Random) -> None:
    """No handler finishes one record: each owner leaves by its poll interval, and the next one gets it."""
    own = draw(world, rng, per_s=rng.choice((1.0, 5.0)), poll_interval_s=rng.choice((20.0, 60.0, 120.0)))
    own.members(rng.randint(1, 4), parallel=rng.random() < 0.3)
    own.run(200, 400)
    began, partition = world.now_ms, rng.randrange(len(world.topics["t"].partitions))
    own.group.stops_at["t", partition] = bad = world.log(("t", partition)).end + rng.randint(1, 20)
    world.run(12 * own.how["poll_interval_s"])
    left = sum(event["what"] == "poll-interval-exceeded" for event in world.events)
    own.need("the owners leave", left >= 3)
    world.wrong("g", "slow-record-goes-round", began, partition=f"t-{partition}", offset=bad)


def slow_member(world: World, rng: random.Random) -> None:
    """A topic that is written evenly, and one host that reads less than is written to its share."""
    per_s = rng.choice((2.0, 5.0, 20.0))
    count = rng.randint(2, 4)
    partitions = count * rng.randint(2, 3)
    own = draw(world, rng, per_s=per_s, partitions=partitions)
    members = own.members(count, speed=per_s * partitions * 5)
    own.run(100, 300)
    began, slow = world.now_ms, rng.choice(members)
    slow.speed = per_s * len(slow.owned) * rng.uniform(0.3, 0.7)
    own.run(600, 1500)
    own.need("it is behind", own.group.lag(*slow.owned) > 60 * per_s)
    world.wrong("g", "slow-member", began, handle=slow.client_id)


def hot_partition(world: World, rng: random.Random) -> None:
    """One partition gets most of what is written, more than its reader manages."""
    partitions, low = rng.choice((3, 4, 6, 12)), rng.choice((0.5, 1.0, 3.0))
    rates, hot = [low * rng.uniform(0.8, 1.2) for _ in range(partitions)], rng.randrange(partitions)
    rates[hot] = low * rng.uniform(6, 30)
    own = draw(world, rng, partitions=partitions, rates=rates)
    own.members(rng.randint(2, 4), speed=rates[hot] * rng.uniform(0.4, 0.7) + low * 2)
    began = world.now_ms
    own.run(900, 1800)
    own.need("it is behind", own.group.lag(("t", hot)) > 60 * low)
    world.wrong("g", "hot-partition", began, partition=f"t-{hot}")


def open_transaction(world: World, rng: random.Random) -> None:
    """A producer leaves a transaction open; readers of committed data wait behind it."""
    own = draw(world, rng, per_s=rng.choice((1.0, 4.0, 10.0)))
    own.members(rng.randint(1, 3), committed_only=True)
    own.run(200, 400)
    began, logs = world.now_ms, world.topics["t"].partitions
    for log in rng.sample(logs, rng.randint(1, len(logs))):
        log.append(START_MS + world.now_ms, rng.randint(1, 10), producer_id=9001)
    world.happened("txn-opened", producer_id=9001)
    own.run(150, 900)
    behind = [("t", n) for n, log in enumerate(logs) if log.open]
    own.need("it is blocked", own.group.lag(*behind) > 50 * own.per_s)
    world.wrong("g", "reader-blocked-by-open-transaction", began)


def retention(world: World, rng: random.Random) -> None:
    """Nobody reads for a while, and retention deletes what is unread; then it goes on, or not."""
    own = draw(world, rng, per_s=rng.choice((2.0, 5.0, 20.0)), reset=rng.choice(("earliest", "latest")))
    members = own.members(rng.randint(1, 3))
    own.run(300, 600)
    for member in members:
        member.close()
    own.run(400, 1800)
    began = world.now_ms
    for log in world.topics["t"].partitions:
        log.start = log.end - rng.randint(1, int(own.per_s * 200))
    world.happened("retention", topic="t")
    own.run(60, 120)
    gone = min(
        world.log(("t", n)).start - own.group.committed.get(("t", n), 0)
        for n in range(len(world.topics["t"].partitions))
    )
    if rng.random() < 0.6:
        for member in members:
            member.join()
        own.run(60, 300)
    own.need("unread records are gone", gone > 50)
    world.wrong("g", "retention-deleted-unread", began)


def reset_by_hand(world: World, rng: random.Random) -> None:
    """All stop, an admin sets the offsets back, all start again."""
    own = draw(world, rng, per_s=rng.choice((2.0, 5.0, 20.0)), speed=rng.choice((50.0, 1000.0)))
    members = own.members(rng.randint(1, 3))
    own.run(400, 900)
    for member in members:
        member.close()
        world.run(rng.uniform(0.2, 3))
    own.run(15, 200)
    began, group = world.now_ms, own.group
    back = rng.choice((0.0, 0.3, 0.7))
    group.commit({p: int(at * back) for p, at in group.committed.items()})
    world.happened("admin", "g", action=["reset-offsets"])
    own.run(5, 60)
    for member in members:
        member.join()
    own.run(60, 300)
    own.need("records were read twice", sum(group.doubled(p) for p in group.committed) > 50)
    world.wrong("g", "rewind-by-admin", began)


def forward_by_hand(world: World, rng: random.Random) -> None:
    """All stop for long, an admin sets the offsets to the end, all start again."""
    own = draw(world, rng, per_s=rng.choice((2.0, 5.0, 20.0)), speed=rng.choice((200.0, 1000.0)))
    members = own.members(rng.randint(1, 3))
    own.run(400, 900)
    for member in members:
        member.close()
    own.run(400, 3000)
    began, group = world.now_ms, own.group
    group.commit({p: world.log(p).end for p in group.committed})
    world.happened("admin", "g", action=["reset-offsets"])
    own.run(5, 60)
    for member in members:
        member.join()
    own.run(60, 300)
    own.need("records were skipped", sum(group.skipped(p) for p in group.committed) > 300)
    world.wrong("g", "set-forward-by-admin", began)


def recreated(world: World, rng: random.Random) -> None:
    """The topic is deleted and made again under a group that goes on, or that starts again."""
    own = draw(world, rng, per_s=rng.choice((2.0, 5.0)))
    members = own.members(rng.randint(1, 3))
    own.run(600, 1200)
    began, restarts = world.now_ms, rng.random() < 0.5
    for member in members:
        member.is_deaf = True
        if restarts:
            member.close()
    world.run(10)
    world.topics["t"].recreate(world.new_id())
    world.happened("admin", "g", action=["delete-topic"])
    if restarts:
        own.group.committed.clear()
        for member in members:
            member.is_deaf = False
            member.join()
    own.run(200, 400)
    world.wrong("g", "topic-recreated", began)


def partition_stands(world: World, rng: random.Random) -> None:
    """One partition is not read by its owner, who goes on with others."""
    own = draw(world, rng, partitions=rng.choice((4, 6, 8, 12)))
    members = own.members(rng.randint(1, 3))
    own.run(300, 600)
    bad = rng.choice(members)
    if len(bad.owned) < 2:
        own.need("it owns two or more", False)
    began = world.now_ms
    bad.deaf.add(rng.choice(bad.owned))
    own.run(400, 1200)
    own.need("it lags", own.group.lag(*bad.deaf) > 100)
    world.wrong("g", "stuck-one-partition", began)


def group_stands(world: World, rng: random.Random) -> None:
    """All members hold the group, and none reads any more."""
    own = draw(world, rng)
    members = own.members(rng.randint(1, 4))
    own.run(300, 600)
    began = world.now_ms
    for member in members:
        member.is_deaf = True
    own.run(300, 1800)
    own.need("it lags", own.group.lag(("t", 0)) > 50)
    world.wrong("g", "stuck-no-commits", began)


def all_gone(world: World, rng: random.Random) -> None:
    """All processes die, or are closed, and records go on coming."""
    own = draw(world, rng)
    members = own.members(rng.randint(1, 4))
    own.run(300, 600)
    began, killed = world.now_ms, rng.random() < 0.5
    for member in members:
        member.kill() if killed else member.close()
        world.run(rng.uniform(0, 3))
    own.run(300, 1800)
    own.need("it lags", own.group.lag(("t", 0)) > 50)
    world.wrong("g", "all-members-killed" if killed else "empty-with-lag-growing", began)


def never_commits(world: World, rng: random.Random) -> None:
    """A group that reads and never commits."""
    own = draw(world, rng, commit_s=None)
    began = world.now_ms
    own.members(rng.randint(1, 4))
    own.run(300, 1800)
    own.need("much was read, nothing committed", bool(own.group.handed) and not own.group.committed)
    world.wrong("g", "never-commits", began)


def too_slow(world: World, rng: random.Random) -> None:
    """The whole group reads less than is written."""
    per_s = rng.choice((2.0, 5.0, 20.0))
    partitions = rng.choice((2, 4, 6, 12))
    count = rng.choice([n for n in (1, 2, 3, 4, 6) if partitions % n == 0])
    own = draw(world, rng, per_s=per_s, partitions=partitions)
    began = world.now_ms
    own.members(count, speed=per_s * partitions / count * rng.uniform(0.4, 0.75))
    own.run(600, 1500)
    own.need("it is behind", own.group.lag(("t", 0)) > 60 * per_s)
    world.wrong("g", "lag-growing", began)


def coordinator_moves(world: World, rng: random.Random) -> None:
    """The offsets partition gets another leader again and again, and members join anew each time."""
    own = draw(world, rng)
    own.members(rng.randint(1, 4))
    own.run(200, 400)
    began = world.now_ms
    for _ in range(rng.randint(3, 6)):
        world.move_coordinator("g")
        for member in list(own.group.members):
            own.group.members.remove(member)
        for member in own.group.clients:
            member.join()
        own.run(60, 200)
    own.need("a new generation after each move", own.group.generation >= 4)
    world.wrong("g", "coordinator-moves", began)


def storm(world: World, rng: random.Random) -> None:
    """A member leaves and joins again every few seconds."""
    own = draw(world, rng)
    members = own.members(rng.randint(2, 4))
    own.run(200, 400)
    began, bad, pause_s = world.now_ms, rng.choice(members), rng.choice((3, 8, 15))
    for _ in range(rng.randint(20, 40)):
        bad.leave()
        bad.join()
        world.run(pause_s * rng.uniform(0.7, 1.3))
    own.need("a generation every few seconds", own.group.generation > 12)
    world.wrong("g", "rebalance-storm", began)


FAMILIES: dict[str, Family] = {
    function.__name__: function
    for function in (
        poll_interval,
        lost_session,
        autoscaler,
        duel,
        pending,
        poison_crash,
        poison_hang,
        slow_member,
        hot_partition,
        open_transaction,
        retention,
        reset_by_hand,
        forward_by_hand,
        recreated,
        partition_stands,
        group_stands,
        all_gone,
        never_commits,
        too_slow,
        coordinator_moves,
        storm,
    )
}

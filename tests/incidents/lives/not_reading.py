"""Members that are alive and do not read: a partition, a member or a group stands still."""

from tests.incidents.groups import sticky
from tests.incidents.world import World


def two_of_fifty_partitions(world: World) -> None:
    world.topic("orders", 50, 0.5)
    group = world.group("billing", "orders")
    first, *_ = group.start_all("billing-1", "billing-2", "billing-3", "billing-4", "billing-5")
    world.run(300)
    began = world.now_ms
    first.deaf |= set(first.owned[2:4])
    world.run(900)
    world.proven("two partitions lag", group.lag(*first.deaf) > 800)
    world.wrong(group.name, "stuck-one-partition", began, partitions=[f"{t}-{p}" for t, p in first.deaf])


def others_each_time(world: World) -> None:
    """One stands still and heals, later another one."""
    world.topic("events", 6, 2)
    group = world.group("indexer", "events")
    one, two = group.start_all("indexer-1", "indexer-2", library="java")
    world.run(300)
    one.deaf.add(one.owned[0])
    world.run(900)
    one.deaf.clear()
    world.run(600)
    began = world.now_ms
    two.deaf.add(two.owned[1])
    world.run(900)
    world.proven("its partition lags", group.lag(*two.deaf) > 1500)
    world.wrong(group.name, "stuck-one-partition", began)


def after_broker_trouble(world: World) -> None:
    topic = world.topic("ticks", 4, 3)
    group = world.group("quotes", "ticks")
    (one,) = group.start_all("quotes-1")
    world.run(400)
    topic.writes, one.is_deaf = False, True
    world.happened("broker-restarted")
    world.run(25)
    topic.writes, one.is_deaf = True, False
    began = world.now_ms
    one.deaf.add(("ticks", 2))
    world.run(1200)
    world.proven("its partition lags", group.lag(("ticks", 2)) > 3000)
    world.wrong(group.name, "stuck-one-partition", began)


def not_returned_after_a_rebalance(world: World) -> None:
    world.topic("jobs", 6, 2)
    group = world.group("workers", "jobs", assignor="cooperative-sticky", assign=sticky)
    one, _ = group.start_all("workers-1", "workers-2")
    world.run(300)
    group.start("workers-3")
    world.run(30)
    before = set(one.owned)
    group.clients[2].close()
    while set(one.owned) == before:
        world.run(1)
    began = world.now_ms
    one.deaf |= set(one.owned) - before
    world.run(1500)
    world.proven("what it got back lags", group.lag(*one.deaf) > 2000)
    world.wrong(group.name, "partition-not-returned", began, generation=group.generation)


def after_a_deployment(world: World) -> None:
    world.topic("mail", 8, 2)
    group = world.group("sender", "mail", assignor="cooperative-sticky", assign=sticky)
    members = group.start_all("sender-1", "sender-2", "sender-3")
    world.run(300)
    for member in members:
        member.restart(8)
        world.run(20)
    world.run(240)
    began = world.now_ms
    members[0].deaf.add(members[0].owned[0])
    members[2].deaf.add(members[2].owned[-1])
    world.run(900)
    world.proven("they lag", group.lag(*members[0].deaf, *members[2].deaf) > 3000)
    world.wrong(group.name, "stuck-one-partition", began)


def the_application_thinks_it_lost_it(world: World) -> None:
    """The coordinator keeps the partition with a member that has thrown it away."""
    world.topic("claims", 6, 2)
    group = world.group("assessor", "claims", assignor="cooperative-sticky", assign=sticky)
    one, two = group.start_all("assessor-1", "assessor-2")
    world.run(300)
    two.frozen = True
    world.run(40)
    two.frozen = False
    began = world.now_ms
    two.deaf.add(two.owned[1])
    world.run(900)
    world.proven("it lags", group.lag(*two.deaf) > 1500)
    world.wrong(group.name, "stuck-one-partition", began)
    assert one.is_up


def a_handler_without_timeout(world: World) -> None:
    """It blocks, a deployment starts a rebalance, and the whole group waits for the one."""
    world.topic("payments", 6, 3)
    group = world.group("settle", "payments")
    _, two, _ = group.start_all("settle-1", "settle-2", "settle-3", library="java", poll_interval_s=900)
    world.run(600)
    began = world.now_ms
    two.busy(7200)
    world.run(40)
    group.start("settle-4", library="java", poll_interval_s=900)
    world.run(720)
    world.proven("all partitions lag", min(group.lag(("payments", p)) for p in range(6)) > 1500)
    world.wrong(group.name, "stuck-no-commits", began)


def one_message_to_and_fro(world: World) -> None:
    """A retry that never gives up outlasts each owner's time. Other partitions are handled meanwhile."""
    world.topic("bookings", 4, 1)
    group = world.group("booker", "bookings", assignor="sticky", assign=sticky)
    group.start_all("booker-1", "booker-2", poll_interval_s=60, parallel=True)
    world.run(240)
    began = world.now_ms
    bad = world.log(("bookings", 1)).end + 5
    group.stops_at["bookings", 1] = bad
    world.run(1500)
    left = [e for e in world.events if e["what"] == "poll-interval-exceeded"]
    world.proven("both owners failed at it", len({e["handle"] for e in left}) == 2 and len(left) > 8)
    world.proven("others are read", group.lag(("bookings", 3)) < 100 < group.lag(("bookings", 1)))
    world.wrong(group.name, "poison-record", began, partition="bookings-1", offset=bad)


def nothing_for_a_day(world: World) -> None:
    world.topic("audit", 3, 0.5)
    group = world.group("auditor", "audit")
    (one,) = group.start_all("auditor-1", library="librdkafka")
    world.run(1800, 2000)
    began = world.now_ms
    one.is_deaf = True
    world.run(86_400, 20_000)
    world.proven("it lags by a day", group.lag(("audit", 0)) > 40_000)
    world.wrong(group.name, "stuck-no-commits", began)


def left_and_never_back(world: World) -> None:
    """A poll took too long; the client left, and its loop never joins again."""
    world.topic("tasks", 3, 1)
    group = world.group("runner", "tasks")
    (one,) = group.start_all("runner-1", poll_interval_s=120)
    world.run(600)
    began = world.now_ms
    one.busy(100_000)
    world.run(1800)
    world.proven("it is out, and lags", not group.members and group.lag(("tasks", 0)) > 1500)
    world.wrong(group.name, "left-and-never-back", began)


def static_id_still_held(world: World) -> None:
    """A new pod takes the id while the old process still has it; each fences the other."""
    world.topic("feeds", 4, 2)
    group = world.group("loader", "feeds")
    old = group.start("pod-0", instance="pod-0", library="java")
    other = group.start("pod-1", instance="pod-1", library="java")
    world.run(600)
    began = world.now_ms
    new = group.start("pod-0", instance="pod-0", library="java")
    world.run(4)
    old.join()
    world.run(3)
    # The pod is Ready, its heartbeats go on, and its loop has ended with the fatal error.
    old.is_deaf, old.commit_ms = True, None
    world.run(4 * 3600, 5000)
    lag = group.lag(*old.owned)
    world.proven("what the fenced pod owns lags", new.is_fenced and lag > 20_000 and other.is_up)
    world.wrong(group.name, "static-member-silent", began, instance="pod-0")


def two_processes_one_instance_id(world: World) -> None:
    world.topic("tills", 4, 2)
    group = world.group("till", "tills")
    a = group.start("till-7", instance="till-7", library="java", host="/10.0.0.7")
    group.start("till-8", instance="till-8", library="java")
    b = None
    world.run(120)
    began = world.now_ms
    for _ in range(16):
        # Each takes the id from the other, which dies of it and is started again by its supervisor.
        if b is None:
            b = group.start("till-7", instance="till-7", library="java", host="/10.0.0.9")
        elif a.is_fenced:
            a.join()
        else:
            b.join()
        world.run(20)
    fenced = [e for e in world.events if e["what"] == "fenced"]
    world.proven("the id changed hands again and again", len(fenced) >= 15)
    world.wrong(group.name, "one-instance-id-used-twice", began, instance="till-7")

"""Groups with nothing wrong, each of which looks a little like an incident."""

from collections.abc import Sequence

from tests.incidents.groups import Group, Shares, by_range, sticky
from tests.incidents.members import Member
from tests.incidents.world import World


def slow_but_steady(world: World) -> None:
    """Records take seconds each, as many come as are done."""
    world.topic("video", 3, 0.15)
    group = world.group("encoder", "video")
    group.start_all("encoder-1", "encoder-2", "encoder-3", speed=0.25)
    world.run(2400)
    world.proven("it keeps up", group.lag(("video", 0)) < 10)
    world.healthy(group.name)


def idle_topic(world: World) -> None:
    topic = world.topic("quiet", 3, 2)
    for name, library in (("quiet-java", "java"), ("quiet-rdkafka", "librdkafka")):
        world.group(name, "quiet").start_all(f"{name}-1", library=library)
    world.run(600)
    topic.writes = False
    world.run(7200, 3000)
    world.healthy("quiet-java", "quiet-rdkafka")


def hourly_batch(world: World) -> None:
    """A job that comes once an hour, reads all there is, commits once and goes."""
    world.topic("hourly", 2, 0.5)
    group = world.group("batch", "hourly")
    for _ in range(6):
        job = group.start("batch", speed=5000, commit_s=600)
        world.run(90)
        job.close()
        world.run(3510, 5000)
    job = group.start("batch", speed=5000, commit_s=600)
    world.run(60)
    job.close()
    world.run(10)
    world.healthy(group.name, note="a batch job that commits every hour, just after its run")


def commits_each_ten_minutes(world: World) -> None:
    """A member that is always there and commits rarely; the log ends in the middle of an interval."""
    world.topic("slowly", 2, 1)
    group = world.group("rarely", "slowly")
    group.start_all("rarely-1", commit_s=600)
    world.run(2 * 3600 + 290, 2000)
    world.healthy(group.name, note="commits every 10 minutes")


def catching_up_after_a_burst(world: World) -> None:
    topic = world.topic("burst", 3, 2)
    group = world.group("burst-app", "burst")
    group.start_all("burst-1", "burst-2", speed=60, commit_s=2)
    world.run(600)
    topic.write(150)
    world.run(60)
    topic.write(2)
    world.run(60)
    world.proven("it is behind, and comes nearer", group.lag(("burst", 0)) > 2000)
    world.healthy(group.name)


def fast_catch_up(world: World) -> None:
    """Down for an hour, then a hundred times as fast as ever before: a leap, but all of it is read."""
    world.topic("leap", 2, 3)
    group = world.group("leaper", "leap")
    (one,) = group.start_all("leaper-1", speed=20_000, commit_s=10)
    world.run(900)
    one.close()
    world.run(3600, 2000)
    one.join()
    world.run(120)
    world.proven("all was read", group.skipped(("leap", 0)) == 0 and group.lag(("leap", 0)) < 100)
    world.healthy(group.name)


def start_of_a_deployment(world: World) -> None:
    """A new application, half a minute old: some have joined, little is committed."""
    world.topic("fresh", 6, 3)
    world.run(900)
    group = world.group("fresh-app", "fresh")
    for number in range(4):
        group.start(f"fresh-{number}", speed=50, commit_s=5)
        world.run(6)
    world.run(8)
    world.healthy(group.name)


def rolling_restart(world: World) -> None:
    """Six members, one after the other, closed in order and back with the new version."""
    world.topic("rolled", 12, 2)
    group = world.group("rolling", "rolled", assignor="cooperative-sticky", assign=sticky)
    eager = world.group("rolling-eager", "rolled")
    for each in (group, eager):
        each.start_all(*(f"{each.name}-{number}" for number in range(6)))
    world.run(900)
    for number in range(6):
        for each in (group, eager):
            each.clients[number].close()
        world.run(12)
        for each in (group, eager):
            each.clients[number].join()
        world.run(15)
    world.run(120)
    world.healthy(group.name, eager.name)


def rolling_restart_of_static_members(world: World) -> None:
    world.topic("fixed", 6, 2)
    group = world.group("static-app", "fixed")
    members = [group.start(f"static-{n}", instance=f"static-{n}", library="java") for n in range(3)]
    world.run(600)
    for member in members:
        member.restart(15)
        world.run(20)
    world.run(120)
    world.healthy(group.name)


def blue_green(world: World) -> None:
    """All new members come, all old ones go."""
    world.topic("hues", 6, 2)
    group = world.group("hue", "hues")
    old = group.start_all("hue-blue-1", "hue-blue-2", "hue-blue-3")
    world.run(900)
    group.start_all("hue-green-1", "hue-green-2", "hue-green-3")
    world.run(20)
    for member in old:
        member.close()
        world.run(2)
    world.run(180)
    world.healthy(group.name)


def scaled_by_the_clock(world: World) -> None:
    """More members at nine, fewer at eighteen, for three days."""
    world.topic("daily", 6, 0.2)
    group = world.group("office", "daily")
    group.start("office-night", commit_s=60)
    world.run(3600, 20_000)
    for day in range(3):
        pods = group.start_all(f"office-{day}a", f"office-{day}b", commit_s=60)
        world.run(9 * 3600, 20_000)
        for pod in pods:
            pod.close()
        world.run(15 * 3600, 20_000)
    world.healthy(group.name)


def topic_grows(world: World) -> None:
    topic = world.topic("wider", 3, 2)
    group = world.group("widening", "wider")
    group.start_all("widening-1", "widening-2", library="java")
    world.run(600)
    topic.grow(6, 2)
    world.run(30)
    group.rebalance()
    world.run(400)
    world.proven("nothing was skipped", group.skipped(("wider", 5)) == 0)
    world.healthy(group.name)


def compacted_topic(world: World) -> None:
    """Offsets leap where the cleaner was; no record is passed over."""
    topic = world.topic("state", 2, 0)
    for partition in topic.partitions:
        for number in range(40):
            partition.append_compacted(1_789_999_000_000 + number, 500, 17, 300, 499)
    topic.write(1)
    group = world.group("state-reader", "state")
    group.start_all("state-reader-1", speed=20, commit_s=1)
    world.run(600)
    world.healthy(group.name)


def aborted_transactions(world: World) -> None:
    """A producer that aborts a lot, and a reader of committed data: leaps, and nothing to read in them."""
    topic = world.topic("aborts", 1, 1)
    group = world.group("aborts-reader", "aborts")
    group.start_all("aborts-reader-1", committed_only=True)
    log = topic.partitions[0]
    for number in range(30):
        log.append(_at(world), 200, producer_id=500)
        world.run(6)
        log.end_transaction(_at(world), 500, committed=number % 3 == 0)
        world.run(12)
    world.healthy(group.name)


def transactional_pipeline(world: World) -> None:
    """Offsets committed in transactions of a few seconds, one of which is open as the log ends."""
    world.topic("in", 2, 3)
    group = world.group("eos", "in")
    group.start_all("eos-1", commit_s=None)
    for number in range(60):
        world.run(8)
        done = {("in", p): world.log(("in", p)).end for p in (0, 1)}
        group.committed |= done
        world.commit(group.name, *((t, p, at) for (t, p), at in done.items()), producer_id=44)
        if number < 59:
            world.run(1)
            world.end_transaction(group.name, 44, committed=True)
    world.run(3)
    world.healthy(group.name)


def tail_from_the_end(world: World) -> None:
    """A dashboard that wants to see what comes from now on: auto.offset.reset=latest, and meant so."""
    world.topic("tail", 2, 5)
    world.run(1800)
    group = world.group("dashboard", "tail")
    group.start_all("dashboard-1", reset="latest", library="java")
    world.run(600)
    world.healthy(group.name, note="a new group that begins at the end on purpose")


def eight_partitions_for_three(world: World) -> None:
    world.topic("eight", 8, 2)
    group = world.group("three", "eight")
    group.start_all("three-1", "three-2", "three-3")
    world.run(900)
    world.healthy(group.name)


def more_members_than_partitions(world: World) -> None:
    """Four on two partitions: spares, and no trouble."""
    world.topic("pair", 2, 2)
    group = world.group("spares", "pair")
    group.start_all("spare-1", "spare-2", "spare-3", "spare-4")
    world.run(900)
    world.healthy(group.name)


def new_version_with_one_topic_more(world: World) -> None:
    """While a rollout is under way, members subscribe to different topics."""
    world.topic("base", 4, 2)
    world.topic("extra", 4, 2)
    group = world.group("rollout", "base", "extra")
    old = group.start_all("rollout-1", "rollout-2", "rollout-3", topics=("base",))
    world.run(900)
    for number, member in enumerate(old):
        member.close()
        world.run(4)
        group.start(f"rollout-{number + 1}-new")
        world.run(20)
    world.run(180)
    world.healthy(group.name)


def in_the_middle_of_a_rollout(world: World) -> None:
    """The same, and the log ends in the middle of it."""
    world.topic("half", 4, 2)
    world.topic("half-extra", 4, 2)
    group = world.group("half-way", "half", "half-extra")
    old = group.start_all("half-1", "half-2", "half-3", "half-4", topics=("half",))
    world.run(900)
    for number, member in enumerate(old[:2]):
        member.close()
        world.run(4)
        group.start(f"half-{number + 1}-new")
        world.run(20)
    world.healthy(group.name)


def coordinator_moves_once(world: World) -> None:
    """A broker is restarted; the next coordinator reads the group from the log, and all goes on."""
    world.topic("moved", 3, 2)
    group = world.group("mover", "moved")
    group.start_all("mover-1", "mover-2")
    world.run(600)
    world.move_coordinator(group.name)
    world.run(300)
    world.healthy(group.name)


def ended_in_order(world: World) -> None:
    """It read everything, was closed, and nothing more is written."""
    topic = world.topic("over", 2, 2)
    group = world.group("finished", "over")
    (one,) = group.start_all("finished-1")
    world.run(600)
    topic.writes = False
    world.run(30)
    one.close()
    world.run(3600, 5000)
    world.healthy(group.name)


def one_long_record_now_and_then(world: World) -> None:
    """Some records take 100 s, well within max.poll.interval.ms; others of the group go on."""
    world.topic("uneven", 2, 0.5)
    group = world.group("heavy", "uneven")
    one, _ = group.start_all("heavy-1", "heavy-2")
    for _ in range(8):
        world.run(200)
        one.busy(100)
    world.run(160)
    world.healthy(group.name)


def a_member_lost_and_replaced(world: World) -> None:
    """A node dies once; the session expires, the others take over, a new pod comes: over and done with."""
    world.topic("nodes", 6, 2)
    group = world.group("robust", "nodes")
    _, two, _ = group.start_all("robust-1", "robust-2", "robust-3", library="java")
    world.run(900)
    two.kill()
    world.run(70)
    group.start("robust-4", library="java")
    world.run(600)
    world.healthy(group.name, note="robust-2 was killed once")


def two_topics_of_different_weight(world: World) -> None:
    """One topic has most of the records, and every member has its share of it."""
    world.topic("heavy-topic", 4, 20)
    world.topic("light-topic", 4, 0.1)
    group = world.group("both", "heavy-topic", "light-topic")
    group.start_all("both-1", "both-2")
    world.run(900)
    world.healthy(group.name)


def one_partition_written_more(world: World) -> None:
    """Keys are uneven, and the group keeps up all the same."""
    world.topic("skewed", 4, [30, 1, 1, 1])
    group = world.group("skewed-app", "skewed")
    group.start_all("skewed-1", "skewed-2")
    world.run(900)
    world.healthy(group.name)


def assigned_to_one_for_locality(world: World) -> None:
    """A custom assignor gives each site's partitions to that site's member: uneven, and meant so."""
    world.topic("sites", 6, 1)

    def assign(group: Group, members: Sequence[Member]) -> Shares:
        shares = by_range(group, members)
        first, *others = sorted(members, key=lambda member: member.name)
        return (
            {first: group.partitions(["sites"])[:4], others[0]: group.partitions(["sites"])[4:]}
            if others
            else shares
        )

    group = world.group("sited", "sites", assignor="site-local", assign=assign)
    group.start_all("sited-1", "sited-2")
    world.run(900)
    world.healthy(group.name)


def _at(world: World) -> int:
    from tests.incidents.world import START_MS

    return START_MS + world.now_ms

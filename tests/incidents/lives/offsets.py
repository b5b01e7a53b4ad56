"""Offsets that are lost, go back, or jump over what nobody read."""

from tests.incidents.groups import Group
from tests.incidents.world import World

DAY_S = 86_400


def offsets_expired(world: World) -> None:
    """Brokers before 2.1 drop a commit after a day, though its group is there, which then rereads all."""
    world.before_kip_211 = True
    topic = world.topic("archive", 2, 0.2)
    group = world.group("archiver", "archive")
    (one,) = group.start_all("archiver-1")
    world.run(7200, 5000)
    topic.writes = False
    world.run(DAY_S + 300, 60_000)
    began = world.now_ms
    world.commit(group.name, ("archive", 0, None), ("archive", 1, None))
    group.committed.clear()
    world.happened("offsets-expired", group.name)
    world.run(3600, 20_000)
    one.restart(10)
    world.run(600)
    world.proven("all is read again", group.doubled(("archive", 0)) > 1000)
    world.wrong(group.name, "offsets-expired", began)


def lower_after_each_rebalance(world: World) -> None:
    """Each new owner begins thousands of records before the last commit, and commits that."""
    world.topic("ledger", 4, 5)
    group = world.group("booking", "ledger")
    _, two = group.start_all("booking-1", "booking-2", speed=200)
    world.run(900)
    began = world.now_ms
    for _ in range(4):
        two.restart(5)
        world.run(10)
        for member in group.members:
            for partition in member.owned:
                member.seek(partition, member.positions[partition] - 2500)
        world.run(70)
    two.speed = group.clients[0].speed = 12
    for partition in two.owned:
        two.seek(partition, two.positions[partition] - 4000)
    world.run(40)
    world.proven("much was read twice", group.doubled(("ledger", 0)) > 2000)
    world.wrong(group.name, "rewind-by-member", began)


def duplicates_after_a_missed_heartbeat(world: World) -> None:
    """A session expires, the partition is read on from an offset of hours ago, and that is committed."""
    world.topic("ruby", 3, 2)
    group = world.group("importer", "ruby")
    one, _ = group.start_all("importer-1", "importer-2", session_s=30, speed=50)
    world.run(4 * 3600, 4000)
    one.frozen = True
    began = world.now_ms
    world.run(40)
    one.frozen = False
    world.run(15)
    owner = next(member for member in group.members if ("ruby", 0) in member.owned)
    owner.seek(("ruby", 0), owner.positions["ruby", 0] - 20_000)
    world.run(120)
    world.proven("hours are read again", group.doubled(("ruby", 0)) > 1500)
    world.wrong(group.name, "rewind-by-member", began)


def old_owner_commits(world: World) -> None:
    """Whoever lost the partition goes on to commit where it stands, between the commits of the new owner."""
    world.topic("alpakka", 2, 5)
    group = world.group("stream", "alpakka")
    group.start_all("stream-1", "stream-2")
    world.run(600)
    began = world.now_ms
    group.start("stream-3")
    world.run(20)
    stale = group.committed["alpakka", 0]
    for _ in range(12):
        world.run(3)
        current = group.committed["alpakka", 0]
        stale += 4
        group.commit({("alpakka", 0): stale})
        world.happened("stale-commit", group.name, offset=stale)
        world.run(2.5)
        group.commit({("alpakka", 0): max(current, world.log(("alpakka", 0)).end)})
    world.wrong(group.name, "zombie-commits", began)
    world.proven("the offset went to and fro", stale < group.committed["alpakka", 0])


def silently_at_latest(world: World) -> None:
    """Its fetch of offsets is refused while the epoch changes, and the client begins at the end instead.

    A burst before shows how fast it is when it has much to read, and a slow hour that it is far behind.
    """
    topic = world.topic("trades", 3, 10)
    group = world.group("position", "trades")
    group.start_all("position-1", "position-2", speed=40)
    world.run(300)
    topic.write(100)
    world.run(60)
    topic.write(10)
    world.run(600)
    for member in group.clients:
        member.speed = 3
    world.run(600)
    began = world.now_ms
    kept = dict(group.committed)
    group.committed.clear()
    for member in group.clients:
        member.reset = "latest"
    group.rebalance()
    world.run(10)
    group.committed = kept | group.committed
    for member in group.clients:
        member.speed = 40
    world.run(300)
    world.proven("nobody read what lay between", group.skipped(("trades", 0)) > 2000)
    world.wrong(group.name, "records-skipped", began, skipped=group.skipped(("trades", 0)))


def new_partition_at_latest(world: World) -> None:
    """A topic grows; producers write at once, the group hears of it after metadata.max.age.ms.

    A burst before shows how fast it is when it has much to read.
    """
    topic = world.topic("signup", 3, 20)
    group = world.group("welcome", "signup")
    group.start_all("welcome-1", "welcome-2", reset="latest", library="java", speed=150)
    world.run(300)
    topic.write(200)
    world.run(60)
    topic.write(20)
    world.run(540)
    topic.grow(6, 20)
    began = world.now_ms
    world.happened("partitions-added", group.name, topic="signup", partitions=6)
    world.run(240)
    group.rebalance()
    world.run(600)
    handed = sum(after - first for first, after in group.handed["signup", 4])
    world.proven("the first records were never read", world.log(("signup", 4)).end - handed > 4000)
    world.wrong(group.name, "new-partition-at-latest", began, partition="signup-4")


def retention_took_it(world: World) -> None:
    """The reader is down; what it has not read is deleted meanwhile."""
    world.topic("metrics", 2, 5)
    group = world.group("rollup", "metrics")
    (one,) = group.start_all("rollup-1")
    world.run(600)
    one.close()
    world.run(1800)
    began = world.now_ms
    for partition in (0, 1):
        log = world.log(("metrics", partition))
        log.start = log.end - 1000
    world.happened("retention", topic="metrics")
    world.run(120)
    log = world.log(("metrics", 0))
    world.proven("what it would read next is gone", group.committed["metrics", 0] < log.start - 1000)
    world.wrong(group.name, "retention-deleted-unread", began)


def topic_made_anew(world: World) -> None:
    """The same name, other records: the group's offset is beyond the end, and nothing is read."""
    topic = world.topic("catalog", 2, 3)
    group = world.group("search", "catalog")
    (one,) = group.start_all("search-1", library="librdkafka")
    world.run(1800)
    one.is_deaf = True
    world.run(10)
    began = world.now_ms
    topic.recreate(world.new_id())
    world.happened("topic-recreated", group.name, topic="catalog")
    topic.write(0.5)
    world.run(1200)
    world.proven(
        "the commit is beyond the end", group.committed["catalog", 0] > world.log(("catalog", 0)).end
    )
    world.wrong(group.name, "topic-recreated", began)


def _mirrored(world: World) -> tuple[Group, Group]:
    """A source whose retention has deleted the beginning, and its mirror; a group reads in the source."""
    world.source = source = World(f"{world.name}-source")
    source.topic("mirrored", 2, 5)
    reader = source.group("failover", "mirrored")
    reader.start_all("east-1", speed=100)
    source.run(600)
    for number, log in enumerate(source.topics["mirrored"].partitions):
        log.start = log.batches[len(log.batches) // 2 + number].first
    world.skip(600)
    world.topic("mirrored", 2, 0)
    world.mirror(600)
    return reader, world.group("failover", "mirrored")


def offsets_of_another_cluster(world: World) -> None:
    """Offsets were copied to the mirror as they stood, where the records have others."""
    reader, group = _mirrored(world)
    began = world.now_ms
    for _ in range(10):
        group.commit(dict(reader.committed))
        world.mirror(60)
    world.proven("they are beyond the end", group.lag(("mirrored", 0)) < 0)
    world.wrong(group.name, "offsets-of-another-cluster", began)


def offsets_of_a_mirror(world: World) -> None:
    """The same with offsets that were translated, a minute behind the group: it will repeat a little."""
    reader, group = _mirrored(world)
    for _ in range(10):
        shifts = {place: world.log(place).end - reader.world.log(place).end for place in reader.committed}
        translated = {place: offset + shifts[place] for place, offset in reader.committed.items()}
        world.mirror(60)
        group.commit(translated)
    world.proven("it stands in the mirror", all(0 < group.lag(place) < 1000 for place in reader.committed))
    world.healthy(group.name, note="a mirror's group waits for its clients")


def out_of_range_to_the_end(world: World) -> None:
    """Retention overtakes a slow reader; OFFSET_OUT_OF_RANGE, and auto.offset.reset says latest."""
    world.topic("sensors", 2, 20)
    group = world.group("alarm", "sensors")
    (one,) = group.start_all("alarm-1", reset="latest", speed=100)
    world.run(600)
    one.speed = 8
    world.run(900)
    began = world.now_ms
    for partition in (0, 1):
        log = world.log(("sensors", partition))
        log.start = log.end - 2000
    world.happened("retention", topic="sensors")
    one.speed = 100
    world.run(300)
    world.proven("nobody read what lay between", group.skipped(("sensors", 0)) > 5000)
    world.wrong(group.name, "records-skipped", began)


def commits_the_last_offset(world: World) -> None:
    """It commits the offset of the last record it processed, not of the next one."""
    world.topic("kjs", 3, 2)
    topic = world.topics["kjs"]
    group = world.group("off-by-one", "kjs")
    group.start_all("off-by-one-1", commits_back=-1)
    began = world.now_ms
    world.run(900)
    for _ in range(4):
        topic.write(0)
        world.run(300)
        topic.write(2)
        world.run(200)
    topic.write(0)
    world.run(600)
    lags = {group.lag(("kjs", p)) for p in range(3)}
    world.proven("lag is 1 wherever it is idle", lags == {1})
    world.wrong(group.name, "commits-last-offset", began)


def stored_and_not_committed(world: World) -> None:
    """enable.auto.commit is off, and nobody commits."""
    world.topic("invoices", 3, 2)
    group = world.group("invoicing", "invoices")
    began = world.now_ms
    group.start_all("invoicing-1", commit_s=None)
    world.run(1800)
    world.proven("much was read, nothing committed", not group.committed and bool(group.handed))
    world.wrong(group.name, "never-commits", began)

"""Transactions, and lag that is none."""

from tests.incidents.world import World


def offsets_in_an_open_transaction(world: World) -> None:
    """A transactional producer commits offsets and is gone: UNSTABLE_OFFSET_COMMIT for whoever asks."""
    world.topic("source", 2, 3)
    group = world.group("pipeline", "source")
    (one,) = group.start_all("pipeline-1", commit_s=None)
    for number in range(40):
        world.run(10)
        done = {("source", p): world.log(("source", p)).end for p in (0, 1)}
        group.committed |= done
        world.commit(group.name, *((t, p, at) for (t, p), at in done.items()), producer_id=4000)
        if number < 39:
            world.end_transaction(group.name, 4000, committed=True)
    began = world.now_ms
    world.happened("txn-opened", group.name, producer_id=4000)
    one.kill()
    two = group.start("pipeline-2", commit_s=None)
    two.is_deaf = True
    world.run(3600, 2000)
    world.proven("it gets no offsets and reads nothing", not two.read)
    world.wrong(group.name, "offsets-in-open-transaction", began, producer_id=4000)


def only_markers_are_left(world: World) -> None:
    """A transaction ends in a marker, which takes an offset; who commits behind the last record lags 1."""
    topic = world.topic("exactly", 2, 0)
    group = world.group("once", "exactly")
    for number in range(60):
        for partition in topic.partitions:
            partition.append(_at(world), 20, producer_id=7000)
            group.hand(("exactly", topic.partitions.index(partition)), partition.end - 20, partition.end)
        world.run(5)
        for partition in topic.partitions:
            partition.end_transaction(_at(world), 7000, committed=True)
        group.commit({("exactly", p): log.end - 1 for p, log in enumerate(topic.partitions)})
        world.run(5)
        assert number < 60
    began = world.now_ms
    world.run(1200)
    world.proven("its lag is 1 and nothing is unread", group.lag(("exactly", 0)) == 1)
    world.wrong(group.name, "only-markers-left", began)


def read_committed_behind_an_open_one(world: World) -> None:
    """A producer left a transaction open in the data topic: readers of committed data wait, others go on."""
    topic = world.topic("account", 2, 4)
    group = world.group("balance", "account")
    group.start_all("balance-1", committed_only=True, library="java")
    world.group("tailing", "account").start_all("tailing-1", library="java")
    world.run(300)
    began = world.now_ms
    for partition in topic.partitions:
        partition.append(_at(world), 3, producer_id=9001)
    world.happened("txn-opened", producer_id=9001)
    world.run(600)
    world.proven("it is blocked", group.lag(("account", 0)) > 2000)
    world.wrong(group.name, "reader-blocked-by-open-transaction", began)
    world.healthy("tailing")


def offsets_without_membership(world: World) -> None:
    """A Flink job commits at each checkpoint, for others to look at; it never joins a group."""
    world.topic("lake", 3, 5)
    group = world.group("flink-job", "lake")
    for _ in range(12):
        world.run(600, 2000)
        group.commit({("lake", p): world.log(("lake", p)).end for p in range(3)})
    world.run(420, 2000)
    world.proven("it lags, and was never in a group", group.lag(("lake", 0)) > 1000 and not group.generation)
    world.wrong(group.name, "commits-without-membership", 0)


def topic_that_the_group_left(world: World) -> None:
    """A new version subscribes to another topic; the old one goes on growing, and nobody owns it."""
    world.topic("v1", 2, 3)
    world.topic("v2", 2, 3)
    group = world.group("versioned", "v1", "v2")
    group.start_all("versioned-1", topics=("v1",))
    world.run(600)
    group.clients[0].close()
    began = world.now_ms
    group.start("versioned-2", topics=("v2",))
    world.run(1800)
    world.proven("the old topic's lag grows", group.lag(("v1", 0)) > 5000)
    world.wrong(group.name, "topic-no-longer-read", began)


def _at(world: World) -> int:
    from tests.incidents.world import START_MS

    return START_MS + world.now_ms

"""Wrong shares of the work: the assignment itself, or the topic's partitions."""

from collections.abc import Sequence

from tests.incidents.groups import Group, Shares, by_range, sticky
from tests.incidents.members import Member
from tests.incidents.world import World


def all_of_a_topic_to_one(world: World) -> None:
    """Three members, and one has both topics whole, of which one has nearly all of the records."""
    world.topic("a-requests", 6, 8)
    world.topic("b-replies", 6, 0.2)

    def assign(group: Group, members: Sequence[Member]) -> Shares:
        if len(members) != 3:
            return sticky(group, members)
        one, two, three = sorted(members, key=lambda member: member.name)
        return {one: group.partitions(["a-requests", "b-replies"]), two: [], three: []}

    group = world.group("gateway", "a-requests", "b-replies", assignor="cooperative-sticky", assign=assign)
    began = world.now_ms
    group.start_all("gateway-1", "gateway-2", "gateway-3", speed=30)
    world.run(1500)
    shares = sorted(len(member.owned) for member in group.members)
    world.proven("one has all twelve, and lags", shares == [0, 0, 12] and group.lag(("a-requests", 0)) > 500)
    world.wrong(group.name, "uneven-assignment", began)


def partitions_of_nobody(world: World) -> None:
    """The topic grew, the leader's metadata is old, and so the new partitions are in no assignment."""
    topic = world.topic("tickets", 4, 2)

    def assign(group: Group, members: Sequence[Member]) -> Shares:
        return {m: [p for p in share if p[1] < 4] for m, share in by_range(group, members).items()}

    group = world.group("ticketing", "tickets", assign=assign)
    one, _ = group.start_all("ticketing-1", "ticketing-2")
    world.run(600)
    topic.grow(6, 2)
    world.happened("partitions-added", group.name, topic="tickets", partitions=6)
    world.run(300)
    began = world.now_ms
    one.restart(6)
    world.run(1500)
    owned = {number for member in group.members for _, number in member.owned}
    world.proven("nobody owns or reads them", owned == {0, 1, 2, 3} and not group.handed["tickets", 5])
    world.wrong(group.name, "unowned-partition", began, partitions=["tickets-4", "tickets-5"])


def two_applications_one_group(world: World) -> None:
    world.topic("carts", 4, 2)
    world.topic("refunds", 4, 2)
    group = world.group("shop", "carts", "refunds")
    began = world.now_ms
    group.start_all("cart-1", "cart-2", topics=("carts",), library="java")
    group.start_all("refund-1", "refund-2", topics=("refunds",), library="java")
    for number in range(6):
        world.run(150)
        group.clients[number % 4].restart(5)
    world.run(600)
    world.proven("each restart of one stops the other", group.generation > 12)
    world.wrong(group.name, "mixed-subscriptions", began)


def one_partition_gets_the_data(world: World) -> None:
    world.topic("keyed", 6, [20, 1, 1, 1, 1, 1])
    group = world.group("keyed-app", "keyed")
    began = world.now_ms
    group.start_all("keyed-1", "keyed-2", "keyed-3", speed=14)
    world.run(1800)
    rest = max(group.lag(("keyed", p)) for p in range(1, 6))
    world.proven("the one is far behind", group.lag(("keyed", 0)) > 10_000 and rest < 400)
    world.wrong(group.name, "hot-partition", began, partition="keyed-0")


def more_pods_for_one_partition(world: World) -> None:
    """One of sixteen partitions is behind, and the scaler adds pods that have nothing to do with it."""
    world.topic("scaled", 16, [40, *[0.5] * 15])
    group = world.group("scaled-app", "scaled")
    group.start_all(*(f"scaled-{number}" for number in range(4)), speed=15)
    world.run(600)
    began = world.now_ms
    for number in range(4, 16, 4):
        group.start_all(*(f"scaled-{number + more}" for more in range(4)), speed=15)
        world.run(400)
    world.run(300)
    world.proven("the one is far behind", group.lag(("scaled", 0)) > 20_000)
    world.wrong(group.name, "hot-partition", began, partition="scaled-0")

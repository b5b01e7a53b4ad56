"""Small worlds full of trouble, one per seed, for the checkers to search."""

from dataclasses import replace
from enum import StrEnum
from random import Random
from typing import Final

from kgroup.group.member.settings import OffsetReset
from kgroup.sim.scenario.protocols import with_consumer_protocol, with_migration
from kgroup.sim.scenario.scenario import (
    Chaos,
    CommitMode,
    FaultKind,
    NetworkSettings,
    Scenario,
    SimMember,
    SimTopic,
)
from kgroup.sim.watch.result import Run
from kgroup.sim.world.world import run


class Swarm(StrEnum):
    """The protocol of a swarm's members: one of the two, or classic ones that change over and back."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    MIGRATION = "migration"


_DURATION_MS: Final = 75_000
_RETENTION_DURATION_MS: Final = 110_000
"""In a world where offsets expire, which takes a minute at least."""
_RETENTION: Final = "offsets.retention.minutes"
_CODEC_EVERY: Final = 10
"""One seed in this number sends every request through the wire's codec; the others save the time."""

_ASSIGNORS: Final = (
    ("range", "cooperative-sticky"),
    ("range",),
    ("roundrobin",),
    ("sticky",),
    ("cooperative-sticky",),
)
_MORE_KINDS: Final = (
    FaultKind.SUBSCRIBE,
    FaultKind.UNSUBSCRIBE,
    FaultKind.LAG_REPLICAS,
    FaultKind.FAIL_APPENDS,
)
"""What is drawn by a chance of its own: the other faults of a seed stay what they were."""
_KINDS: Final = tuple(
    kind
    for kind in FaultKind
    if kind not in (FaultKind.START, FaultKind.LEAVE, FaultKind.CREATE, *_MORE_KINDS)
)
"""Not what would leave a member out for good."""
_NEWCOMER_AFTER_MS: Final = 30_000
"""After the faults, in a world with static members. A static member that comes back to a Stable group is
handed what the last assignment gave it (KIP-345, KIP-814), and two kinds of partitions stay without a reader
until another member brings about a rebalance: those that grew while the leader was away, and those that a
cooperative round kept back until the member gave them up, which it forgot before it could. Kafka's gaps, not
bugs to look for (`tests/sim/watch/test_checkers.py` shows both): somebody comes, then all must be read."""


def run_seed(seed: int, swarm: Swarm = Swarm.CLASSIC, *, more: bool = True) -> Run:
    """Play the seed's own scenario until it has settled."""
    return run(
        draw_scenario(seed, swarm, more=more), seed, codec=seed % _CODEC_EVERY == 0, until_settled=True
    )


def draw_scenario(seed: int, swarm: Swarm = Swarm.CLASSIC, *, more: bool = True) -> Scenario:
    """The seed's scenario with the protocol of this swarm; the same trouble in each.

    Without `more` it is what the seed meant before topics and subscriptions changed, for what is on record.
    """
    scenario = _draw(seed)
    if more:
        scenario = _with_more(scenario, Random(f"{seed}/more"))
    if swarm is Swarm.CLASSIC:
        return scenario
    chance = Random(f"{seed}/{swarm}")
    interval_ms = chance.choice(("0", "1000"))
    properties = {**scenario.properties, "group.consumer.assignment.interval.ms": interval_ms}
    if "group.max.size" in properties:
        properties["group.consumer.max.size"] = properties["group.max.size"]
    scenario = replace(scenario, name=f"{scenario.name}-{swarm}", properties=properties)
    return with_consumer_protocol(scenario) if swarm is Swarm.CONSUMER else with_migration(scenario)


def _draw(seed: int) -> Scenario:
    """Two to five members on three nodes, four to twelve partitions, and a fault every few seconds.

    Timeouts are short, so that two virtual minutes hold many rebalances. What has to settle within the
    scenario's time: sessions of 10 s and rebalances of 20 s end, metadata is 20 s old at most, and TCP tries
    again up to a minute after a cut.
    """
    chance = Random(f"{seed}/scenario")
    topics = tuple(
        SimTopic(
            name=name,
            partitions=chance.randint(4, 6),
            records_per_s=chance.choice((1, 4)),
            linger_ms=5_000,
        )
        for name in ("orders", "payments")[: chance.randint(1, 2)]
    )
    assignors = chance.choice(_ASSIGNORS)
    with_static = chance.random() < 0.4
    members = tuple(
        SimMember(
            name=f"c{number}",
            topics=tuple(topic.name for topic in topics),
            start_ms=chance.choice((0, 0, 1_000, 20_000)),
            assignors=assignors,
            instance_id=f"static-{number}" if with_static and chance.random() < 0.5 else None,
            session_timeout_ms=10_000,
            heartbeat_interval_ms=3_000,
            max_poll_interval_ms=20_000,
            max_poll_records=chance.choice((10, 100)),
            poll_timeout_ms=3_000,
            fetch_max_wait_ms=5_000,
            metadata_max_age_ms=20_000,
            processing_ms=chance.choice((1, 20, 100)),
            commit_mode=chance.choice(tuple(CommitMode)),
        )
        for number in range(1, chance.randint(2, 5) + 1)
    )
    properties = _properties(chance)
    duration_ms = _RETENTION_DURATION_MS if _RETENTION in properties else _DURATION_MS
    if any(member.instance_id for member in members):
        start_ms = duration_ms + _NEWCOMER_AFTER_MS
        members += (replace(members[0], name="newcomer", instance_id=None, start_ms=start_ms),)
    producers = chance.choice((0, 1, 2))
    return Scenario(
        name=f"swarm-{seed}",
        duration_ms=duration_ms,
        settle_ms=180_000,
        topics=topics,
        members=members,
        chaos=Chaos(
            mean_interval_ms=chance.choice((3_000, 8_000, 20_000)),
            mean_duration_ms=chance.choice((2_000, 10_000, 20_000)),
            kinds=tuple(kind for kind in _KINDS if kind is not FaultKind.LOSE_WRITES or not producers),
        ),
        strangers=chance.choice((0, 2, 3, 4)),
        producers=producers,
        network=NetworkSettings(latency_max_ms=chance.choice((2, 20, 200))),
        properties=properties,
    )


def _with_more(scenario: Scenario, chance: Random) -> Scenario:
    """The scenario, at times with a late topic, patterns, `latest`, subscriptions or replicas in trouble."""
    if chance.random() < 0.3:
        late = SimTopic(
            name="returns",
            partitions=chance.randint(1, 4),
            records_per_s=chance.choice((1, 4)),
            linger_ms=5_000,
            start_ms=chance.randint(10_000, scenario.duration_ms - 10_000),
        )
        members = tuple(_asking_for(late.name, member, chance) for member in scenario.members)
        scenario = replace(scenario, topics=(*scenario.topics, late), members=members)
    if chance.random() < 0.15:
        members = tuple(replace(member, auto_offset_reset=OffsetReset.LATEST) for member in scenario.members)
        scenario = replace(scenario, members=members)
    if chance.random() < 0.3:
        changes = Chaos(mean_interval_ms=chance.choice((8_000, 20_000)), kinds=_MORE_KINDS)
        scenario = replace(scenario, more_chaos=changes)
    return scenario


def _asking_for(topic: str, member: SimMember, chance: Random) -> SimMember:
    if chance.random() < 0.5:
        return replace(member, topics=(), pattern="[a-z]+s")
    return replace(member, topics=(*member.topics, topic))


def _properties(chance: Random) -> dict[str, str]:
    """The brokers' settings: at times a short retention, and too little room for everybody."""
    properties = {
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
        "group.initial.rebalance.delay.ms": chance.choice(("0", "1000", "3000")),
    }
    if chance.random() < 0.35:
        properties[_RETENTION] = "1"
        properties["offsets.retention.check.interval.ms"] = chance.choice(("1000", "5000"))
    if chance.random() < 0.1:
        properties["group.max.size"] = chance.choice(("2", "3", "4"))
    return properties

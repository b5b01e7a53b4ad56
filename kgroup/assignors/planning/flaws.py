"""Flaws of an assignment by any standard. Kafka's assignors give such answers for odd input."""

from collections import Counter
from enum import StrEnum

from kgroup.assignors.model import Assignment
from kgroup.assignors.planning.plan import GroupPlan
from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.protocol.topic_partition import TopicPartition


class Flaw(StrEnum):
    """A rule that an assignment breaks."""

    NOT_SUBSCRIBED = "not-subscribed"
    TWICE = "twice"
    NO_SUCH_PARTITION = "no-such-partition"
    LEFT_OUT = "left-out"


def plan_flaws(assignor: str, plan: GroupPlan, assignment: Assignment) -> list[Flaw]:
    """The flaws of an assignor's answer to a plan, in the order of `Flaw`.

    A cooperative one may leave out what some member still claims: it will hand it out next time. A share
    group may have a partition twice.
    """
    entry = ASSIGNORS[assignor]
    subscriptions = {member.member_id: member.topics for member in plan.members}
    existing = {(topic.name, number) for topic in plan.topics if not topic.deleted for number in topic.ids()}
    excused: set[TopicPartition] = set()
    if entry.protocol is Protocol.COOPERATIVE:
        excused = {partition for member in plan.members for partition in member.owned}
    times = Counter(partition for partitions in assignment.values() for partition in partitions)
    subscribed = {name for names in subscriptions.values() for name in names}
    not_subscribed = any(
        not {topic for topic, _ in partitions}.issubset(subscriptions[member_id])
        for member_id, partitions in assignment.items()
    )
    left_out = any(p[0] in subscribed for p in existing if p not in times and p not in excused)
    broken = {
        Flaw.NOT_SUBSCRIBED: not_subscribed,
        Flaw.TWICE: not entry.shares and any(count > 1 for count in times.values()),
        Flaw.NO_SUCH_PARTITION: not existing.issuperset(times),
        Flaw.LEFT_OUT: left_out,
    }
    return [flaw for flaw, is_there in broken.items() if is_there]

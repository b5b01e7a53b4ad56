"""Short ways to write groups down, for tests."""

from kgroup.assignors.model import GroupMember, Topic
from kgroup.assignors.planning.plan import PlanMember, new_plan


def topics(**partitions):
    return [Topic(name=name, partitions=count) for name, count in partitions.items()]


def members(**subscriptions):
    """`members(C0="t0 t1")` subscribes C0 to t0 and t1."""
    return [
        GroupMember(member_id=name, topics=tuple(wanted.split())) for name, wanted in subscriptions.items()
    ]


def plan(counts, **subscriptions):
    return new_plan(
        [PlanMember(member_id=name, topics=tuple(wanted.split())) for name, wanted in subscriptions.items()],
        topics(**counts),
    )


def named(assignment):
    """`{"C0": "t0-0 t0-1"}`, sorted: who has what, without the order."""
    return {
        member: " ".join(f"{topic}-{number}" for topic, number in sorted(partitions))
        for member, partitions in sorted(assignment.items())
    }

"""Steps that change a group between two rebalances: `leave c1`, `join c4 topics=orders`, `grow orders:8`."""

from dataclasses import replace

from kgroup.assignors.model import Topic
from kgroup.assignors.planning.plan import GroupPlan, PlanMember
from kgroup.errors import InputError


def apply_step(plan: GroupPlan, step: str) -> GroupPlan:
    """The group after the step.

    `join ID [topics=a,b] [instance=I] [rack=R]` adds a member, by default with the topics that all
    others share. `leave ID` takes one out. `grow TOPIC:N` gives a topic N partitions, or adds it.
    Raises InputError that names the step and what is wrong in it.
    """
    verb, *arguments = step.split() or [""]
    try:
        match verb:
            case "join":
                return _join(plan, arguments)
            case "leave":
                return _leave(plan, arguments)
            case "grow":
                return _grow(plan, arguments)
            case _:
                raise InputError("a step is 'join ID', 'leave ID' or 'grow TOPIC:N'")
    except InputError as error:
        raise InputError(f"--then '{step}': {error}") from None


def _join(plan: GroupPlan, arguments: list[str]) -> GroupPlan:
    if not arguments or "=" in arguments[0]:
        raise InputError("who joins? join ID [topics=a,b] [instance=I] [rack=R]")
    member_id, *options = arguments
    if any(member.member_id == member_id for member in plan.members):
        raise InputError(f"member '{member_id}' is in the group already")
    said: dict[str, str] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or name not in ("topics", "instance", "rack") or name in said:
            raise InputError(f"member '{member_id}': '{option}' is not topics=, instance= or rack=")
        said[name] = value
    topics = (
        tuple(filter(None, said["topics"].split(",")))
        if "topics" in said
        else _shared_topics(plan, member_id)
    )
    existing = {topic.name for topic in plan.topics}
    for name in topics:
        if name not in existing:
            raise InputError(f"member '{member_id}', topics: there is no topic '{name}'")
    member = PlanMember(
        member_id=member_id, topics=topics, group_instance_id=said.get("instance"), rack_id=said.get("rack")
    )
    return replace(plan, members=(*plan.members, member))


def _shared_topics(plan: GroupPlan, member_id: str) -> tuple[str, ...]:
    subscriptions = {member.topics for member in plan.members}
    if not subscriptions:
        return tuple(topic.name for topic in plan.topics)
    if len(subscriptions) > 1:
        raise InputError(f"member '{member_id}': the others' subscriptions differ, so say topics=a,b")
    return subscriptions.pop()


def _leave(plan: GroupPlan, arguments: list[str]) -> GroupPlan:
    if len(arguments) != 1:
        raise InputError("who leaves? leave ID")
    rest = tuple(member for member in plan.members if member.member_id != arguments[0])
    if len(rest) == len(plan.members):
        names = ", ".join(member.member_id for member in plan.members[:10])
        raise InputError(f"there is no member '{arguments[0]}'; there are {names}")
    return replace(plan, members=rest)


def _grow(plan: GroupPlan, arguments: list[str]) -> GroupPlan:
    if len(arguments) != 1:
        raise InputError("which topic, to how many partitions? grow TOPIC:N")
    grown = parse_topic(arguments[0])
    before = next((topic for topic in plan.topics if topic.name == grown.name), None)
    if before is None:
        return replace(plan, topics=(*plan.topics, grown))
    if grown.partitions < before.partitions:
        raise InputError(f"topic '{grown.name}' has {before.partitions} partitions, and never loses any")
    # Where the replicas of new partitions lie is not known, and neither then is what racks would do.
    topics = (replace(grown, topic_id=topic.topic_id) if topic is before else topic for topic in plan.topics)
    return replace(plan, topics=tuple(topics))


def parse_topic(text: str) -> Topic:
    """The topic of `orders:6`. Raises InputError for anything else."""
    name, colon, count = text.rpartition(":")
    if not colon or not name or not count.isascii() or not count.isdigit():
        raise InputError(f"'{text}' is not TOPIC:PARTITIONS, like orders:6")
    if int(count) > PARTITIONS_MAX:
        raise InputError(f"'{text}': more than {PARTITIONS_MAX} partitions")
    return Topic(name=name, partitions=int(count))


PARTITIONS_MAX = 1_000_000
"""More than any topic has; a slip of the keyboard should not fill the memory."""

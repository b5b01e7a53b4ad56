"""What is wrong with an assignment by any standard. Kafka's assignors give such answers on odd input."""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from kgroup.assignors.model import Assignment, GroupMember, Topic


class Flaw(StrEnum):
    """A rule that an assignment breaks."""

    NOT_SUBSCRIBED = "not-subscribed"
    TWICE = "twice"
    NO_SUCH_PARTITION = "no-such-partition"
    LEFT_OUT = "left-out"


def client_flaws(
    assignor: str, members: Sequence[GroupMember], topics: Iterable[Topic], assignment: Assignment
) -> list[Flaw]:
    """The flaws of a client-side answer, in the order of `Flaw`.

    `cooperative-sticky` may leave out what some member still claims: it will hand it out next time.
    """
    existing = {(topic.name, number) for topic in topics if not topic.deleted for number in topic.ids()}
    times = Counter(partition for partitions in assignment.values() for partition in partitions)
    wanted = {name for member in members for name in member.topics}
    excused = set[tuple[str, int]]()
    if assignor == "cooperative-sticky":
        excused = {partition for member in members for partition in member.owned_partitions}
    found = {
        Flaw.NOT_SUBSCRIBED: any(
            topic not in member.topics
            for member in members
            for topic, _ in assignment.get(member.member_id, ())
        ),
        Flaw.TWICE: any(count > 1 for count in times.values()),
        Flaw.NO_SUCH_PARTITION: not existing.issuperset(times),
        Flaw.LEFT_OUT: any(
            partition[0] in wanted and partition not in times and partition not in excused
            for partition in existing
        ),
    }
    return [flaw for flaw, is_there in found.items() if is_there]

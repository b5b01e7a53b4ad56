"""The way back: from a journal and the current commits to the previous state."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kgroup.operations.journal import Journal
from kgroup.operations.model import Change, Position, Target
from kgroup.protocol.topic_partition import TopicPartition

MOVED_SINCE = "committed since by somebody else"
DELETED_SINCE = "its offset has been deleted since"
GONE_SINCE = "there is no such partition any more: left as it is"


@dataclass(slots=True, kw_only=True)
class WayBack:
    """One group's way back: targets that restore the state before, and partitions left alone, and why."""

    targets: dict[TopicPartition, Target] = field(default_factory=dict)
    left: dict[TopicPartition, str] = field(default_factory=dict)

    def leave_gone(self, gone: Collection[TopicPartition]) -> None:
        """Leave these partitions alone, which are no more: no broker takes an offset for them."""
        for place in self.targets.keys() & gone:
            del self.targets[place]
            self.left[place] = GONE_SINCE


def way_back(journal: Journal, group: str, now: Mapping[TopicPartition, Position]) -> WayBack:
    """The way back for a group that now has these commits. Partitions that are as before need nothing."""
    way = WayBack()
    for number, step in enumerate(journal.steps):
        if step.group != group or number not in journal.begun | journal.applied:
            continue
        for change in step.changes:
            _add(way, journal, number, change, now.get(change.place))
    return way


def groups_to_delete(
    journal: Journal, remaining: Mapping[str, Mapping[TopicPartition, Position]]
) -> list[str]:
    """The groups that the change made, and that have no commits once all is undone; sorted.

    A group for which no step was begun was not created by the change, even if it exists by now.
    """
    begun = {journal.steps[number].group for number in journal.begun | journal.applied}
    return sorted(
        group
        for group, existed in journal.head.existed.items()
        if not existed and group in begun and not remaining.get(group)
    )


def _add(way: WayBack, journal: Journal, number: int, change: Change, now: Position | None) -> None:
    place = change.place
    if now == change.old or place in journal.failed.get(number, {}):
        return
    if now == change.new:
        way.targets[place] = Target(position=change.old)
    elif number in journal.applied:
        way.targets[place] = Target(position=change.old, why=DELETED_SINCE if now is None else MOVED_SINCE)
    else:
        way.left[place] = "neither what was there before nor what was to be written: left as it is"

"""The topics a streams group reads and needs (KIP-1071), and which of its tasks a member has.

Internal topics are made by the application, not the broker: repartition topics, that records pass through
between two subtopologies, and changelogs, from which a task restores its state. Without one of them, or
without a source topic, no task is assigned, and the group is NotReady.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopology:
    """Topics by what they are for, each in order. A coordinator's answer has no regexes."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_regexes: tuple[str, ...] = ()
    repartition_topics: tuple[str, ...] = ()
    changelog_topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """`validated_epoch` is the epoch whose topics were all found; -1: of none, None: that is not said."""

    epoch: int
    subtopologies: tuple[Subtopology, ...] = ()
    validated_epoch: int | None = None

    @property
    def topics(self) -> dict[str, str]:
        """The role of each named topic, by topic: source, repartition or changelog."""
        named: dict[str, str] = {}
        for part in self.subtopologies:
            named |= dict.fromkeys(part.changelog_topics, "changelog")
            named |= dict.fromkeys(part.repartition_topics, "repartition")
            named |= dict.fromkeys(part.source_topics, "source")
        return named


class Tasks(NamedTuple):
    """A member's tasks by Streams' names, `SUBTOPOLOGY_PARTITION`: those it runs, and copies of state."""

    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...]


def topology_of(epoch: int, parts: Iterable[Any], validated_epoch: int | None = None) -> Topology:
    """The topology in a record or in an answer, whose `parts` have the same names."""
    return Topology(
        epoch=epoch,
        validated_epoch=validated_epoch,
        subtopologies=tuple(
            Subtopology(
                subtopology_id=part.subtopology_id,
                source_topics=tuple(sorted(part.source_topics)),
                source_regexes=tuple(sorted(getattr(part, "source_topic_regex", ()))),
                repartition_topics=tuple(sorted(topic.name for topic in part.repartition_source_topics)),
                changelog_topics=tuple(sorted(topic.name for topic in part.state_changelog_topics)),
            )
            for part in parts
        ),
    )


def tasks_of(assignment: Any) -> Tasks:
    """The tasks in a record or in an answer."""
    return Tasks(
        active=_names(assignment.active_tasks),
        standby=_names(assignment.standby_tasks),
        warmup=_names(assignment.warmup_tasks),
    )


def _names(tasks: Iterable[Any]) -> tuple[str, ...]:
    numbered = sorted((task.subtopology_id, partition) for task in tasks for partition in task.partitions)
    return tuple(f"{subtopology}_{partition}" for subtopology, partition in numbered)

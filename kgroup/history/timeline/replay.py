"""Makes the groups' timelines from entries in log order: generations, causes, commit gaps, deletions.

Times come from records. A gap in the log is marked, and nothing is concluded from what lies in it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from kgroup.history.timeline.group import GroupReplay
from kgroup.history.timeline.model import Timeline
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap, OffsetsEntry, TransactionMarker
from kgroup.protocol.records.keys import group_of


class GroupReader(Protocol):
    """Takes the records of one group, in log order, and the ends of its transactions."""

    def begins(self, first: LoggedEntry) -> None:
        """The log of a partition begins for this group with `first`."""

    def cut(self) -> None:
        """The log skips offsets here."""

    def add(self, logged: LoggedEntry) -> None:
        """Take the next entry."""


Reader = TypeVar("Reader", bound=GroupReader)


def replay(
    entries: Iterable[LoggedEntry | OffsetGap], topic_names: Mapping[UUID, str]
) -> dict[str, Timeline]:
    """The timelines of all groups that the entries are of, by group id in order.

    Entries in log order, partition after partition; transaction markers and gaps act on the groups of their
    partition. What cannot be decoded is passed over: the caller reports it.
    """
    groups = of_groups(entries, lambda group_id: GroupReplay(group_id, topic_names))
    return {group_id: groups[group_id].result() for group_id in sorted(groups)}


def of_groups(entries: Iterable[LoggedEntry | OffsetGap], new: Callable[[str], Reader]) -> dict[str, Reader]:
    """A reader for each group, made with its id, that has been given all that is the group's."""
    groups: dict[str, Reader] = {}
    log: _PartitionLog[Reader] = _PartitionLog(-1)
    for item in entries:
        if item.partition != log.partition:
            log.end()
            log = _PartitionLog(item.partition)
        if isinstance(item, OffsetGap):
            log.gaps += 1
        elif isinstance(item.entry, OffsetsEntry):
            group_id = group_of(item.entry.key)
            group = log.groups.get(group_id)
            if group is None:
                group = groups.get(group_id)
                if group is None:
                    group = groups[group_id] = new(group_id)
                log.groups[group_id] = group
                group.begins(item)
            if log.gaps:
                log.tell_gaps(group_id, group)
            if item.producer_id is not None:
                log.producers.setdefault(item.producer_id, {})[group_id] = group
            group.add(item)
        elif isinstance(item.entry, TransactionMarker):
            for group in log.producers.pop(item.entry.producer_id, {}).values():
                group.add(item)
    log.end()
    return groups


@dataclass(slots=True)
class _PartitionLog(Generic[Reader]):
    """State that all entries of one offsets partition share: gaps, and transactions over several groups."""

    partition: int
    gaps: int = 0
    groups: dict[str, Reader] = field(default_factory=dict)
    producers: dict[int, dict[str, Reader]] = field(default_factory=dict)
    _gaps_told: dict[str, int] = field(default_factory=dict)

    def tell_gaps(self, group_id: str, group: Reader) -> None:
        """Let a group know of the gaps since its last entry."""
        if self._gaps_told.get(group_id, 0) != self.gaps:
            self._gaps_told[group_id] = self.gaps
            group.cut()

    def end(self) -> None:
        """Let all know of the gaps behind their last entries."""
        for group_id, group in self.groups.items():
            self.tell_gaps(group_id, group)

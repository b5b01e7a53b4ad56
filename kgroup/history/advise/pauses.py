"""Pauses between a member's commits, from entries in log order. Groups of the classic protocol."""

import heapq
from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from kgroup.history.advise.model import Pause, Pauses
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.keys import OffsetCommitKey, group_of
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue
from kgroup.protocol.subscription import decode_member
from kgroup.protocol.topic_partition import TopicPartition

_KEPT: Final = 1_000
"""The newest pauses of a group, which say what is usual."""
_LONGEST: Final = 20


@dataclass(slots=True)
class _Member:
    client_id: str
    rebalance_timeout_ms: int | None
    last_ms: int | None = None


@dataclass(slots=True)
class _GroupPauses:
    owners: dict[TopicPartition, _Member] = field(default_factory=dict)
    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    newest: deque[int] = field(default_factory=lambda: deque(maxlen=_KEPT))
    count: int = 0
    longest: list[tuple[int, int, Pause]] = field(default_factory=list)

    def settle(self, value: GroupMetadataValue) -> None:
        """A new generation: who owns what, and nobody has committed yet."""
        self.owners = {}
        for member in value.members if value.protocol_type == "consumer" else ():
            blobs = decode_member(member.subscription, member.assignment)
            timeout_ms = member.rebalance_timeout if member.rebalance_timeout > 0 else None
            owner = _Member(member.client_id, timeout_ms)
            self.owners.update(dict.fromkeys(blobs.owned, owner))

    def commit(self, topic_partition: TopicPartition, offset: int, at_ms: int) -> None:
        before, self.offsets[topic_partition] = self.offsets.get(topic_partition), offset
        owner = self.owners.get(topic_partition)
        if owner is None:
            return
        if owner.last_ms is not None and before is not None and offset > before and at_ms > owner.last_ms:
            self.newest.append(at_ms - owner.last_ms)
            self.count += 1
            pause = Pause(
                from_ms=owner.last_ms,
                to_ms=at_ms,
                topic=topic_partition[0],
                partition=topic_partition[1],
                offset=before,
                client_id=owner.client_id,
                rebalance_timeout_ms=owner.rebalance_timeout_ms,
            )
            ranked = pause.length_ms, self.count, pause
            if len(self.longest) < _LONGEST:
                heapq.heappush(self.longest, ranked)
            else:
                heapq.heappushpop(self.longest, ranked)
        owner.last_ms = max(owner.last_ms or at_ms, at_ms)


class PauseReader:
    """Watches entries pass by, and knows the pauses of each group afterwards."""

    def __init__(self) -> None:
        self._groups: dict[str, _GroupPauses] = {}

    def begin(self) -> None:
        """Forget all: the entries come again from the start."""
        self._groups.clear()

    def add(self, logged: LoggedEntry) -> None:
        """Take the next entry."""
        entry = logged.entry
        if not isinstance(entry, OffsetsEntry):
            return
        group = self._groups.setdefault(group_of(entry.key), _GroupPauses())
        match entry.key, entry.value:
            case OffsetCommitKey(topic=topic, partition=partition), OffsetCommitValue() as value:
                group.commit((topic, partition), value.offset, value.commit_timestamp)
            case _, GroupMetadataValue() as value:
                group.settle(value)
            case _:
                pass

    def pauses(self) -> dict[str, Pauses]:
        """The pauses of each group that has any, by group id."""
        return {
            group_id: Pauses(
                longest=tuple(pause for _, _, pause in sorted(group.longest, reverse=True)),
                count=group.count,
                usual_ms=int(median(group.newest)),
            )
            for group_id, group in sorted(self._groups.items())
            if group.longest
        }

"""The interface between a coordinator and a kind of group: classic groups, and the kinds to come.

A kind is a package next to `classic` with a class that keeps `GroupsOfKind`, and one more argument of
`GroupKinds` in `coordinator.py`.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from kgroup.group.coordinator.events import GroupEvent
from kgroup.group.coordinator.step import Request
from kgroup.group.coordinator.timers import TimerKey
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.keys import Key
from kgroup.protocol.records.values import Value
from kgroup.protocol.requests.coordinator import (
    DescribedGroup,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    ListedGroup,
    OffsetCommit,
    SyncGroup,
    TxnOffsetCommit,
)


class OffsetRetention(NamedTuple):
    """The start of the retention for a group's offsets: epoch ms, or None for each from its commit."""

    since_ms: int | None


class GroupsOfKind(Protocol):
    """All groups of one kind, on one offsets partition.

    Requests of classic members come to every kind: Kafka lets them into consumer groups, too. A method that
    takes a request answers it through the turn, at once or in a later step. Ids of no group are answered as
    well, for the first kind of a coordinator is asked about them.
    """

    @property
    def group_type(self) -> str:
        """The kind's name in ListGroups, in lower case."""

    @property
    def record_keys(self) -> tuple[type[Key], ...]:
        """The keys of the records that are this kind's."""

    def __contains__(self, group_id: str) -> bool: ...

    def __iter__(self) -> Iterator[str]:
        """The group ids, in the order in which the groups came up."""

    # Requests of members.

    def join(self, request: Request, body: JoinGroup) -> None:
        """Let a member in, or back in, or refuse it."""

    def sync(self, request: Request, body: SyncGroup) -> None:
        """Give a member its part of the assignment."""

    def heartbeat(self, request: Request, body: Heartbeat) -> None:
        """Keep a member's session."""

    def leave(self, request: Request, body: LeaveGroup) -> None:
        """Take members out."""

    # The kind's say in what the coordinator does with offsets and groups.

    def check_commit(self, body: OffsetCommit | TxnOffsetCommit) -> ErrorCode:
        """The error if the sender may not commit, or NONE, a sign of life where the kind says so."""

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> ErrorCode:
        """The error if the sender may not read offsets; members name themselves from OffsetFetch v9 on."""

    def check_offset_delete(self, group_id: str) -> ErrorCode:
        """The reason no offsets of the group can be deleted, or NONE."""

    def check_delete(self, group_id: str) -> ErrorCode:
        """The reason the group cannot be deleted, or NONE."""

    def subscribes(self, group_id: str, topic: str) -> bool:
        """Whether some member may be reading `topic`."""

    def retention(self, group_id: str) -> OffsetRetention | None:
        """The time to keep offsets that nobody subscribes to; None: as long as the group stays as it is."""

    def is_deserted(self, group_id: str) -> bool:
        """The group has no members, and nobody is about to join."""

    def tombstones(self, group_id: str) -> list[OffsetsEntry]:
        """The entries that delete the group's own records."""

    # The log, and time.

    def ensure(self, group_id: str, now_ms: int) -> tuple[GroupEvent, ...]:
        """Make sure that the group exists: its first commit is enough to found one."""

    def apply(self, key: Key, value: Value | None, timestamp_ms: int) -> tuple[GroupEvent, ...]:
        """Take over a record of one of `record_keys`, live and when loading; None is a tombstone."""

    def loaded(self) -> None:
        """The whole log has been applied: from here on deadlines count."""

    def unload(self, error: ErrorCode) -> None:
        """Answer everything parked with `error`."""

    def on_deadline(self, key: TimerKey) -> None:
        """Act on a deadline of a group; one that no longer means anything is passed over."""

    # Reading.

    def describe(self, group_id: str) -> DescribedGroup:
        """The group; GROUP_ID_NOT_FOUND and Dead if there is none."""

    def listing(self, states: frozenset[str]) -> list[ListedGroup]:
        """All groups, or those in `states`, which are lower case."""

"""Groups as a loading coordinator holds them, as far as a later record can conflict with one."""

from dataclasses import dataclass, field
from typing import Final, Self
from uuid import UUID

from kgroup.history.loading.releases import Release

LEFT: Final = -1
"""A member's epoch once its assignment was deleted (LEAVE_GROUP_MEMBER_EPOCH)."""
_OWNERS_ISSUE: Final = "KAFKA-19862"
_STREAMS_ISSUE: Final = "KAFKA-20254"
_DOWNGRADE_ISSUE: Final = "KAFKA-21117"

Owned = dict[tuple[UUID | None, int], None]
Tasks = dict[tuple[str, int], None]


class RefusedError(Exception):
    """The coordinator throws at this record; `issue` is Kafka's ticket where it is a known fault."""

    def __init__(self, text: str, issue: str | None = None) -> None:
        super().__init__(text)
        self.text, self.issue = text, issue


@dataclass(slots=True)
class ClassicGroup:
    """A classic group. A simple one has no members and no protocol type: commits alone make one."""

    is_simple: bool


@dataclass(slots=True)
class ModernGroup:
    """State common to groups of the newer protocols; `epochs` are those of the members."""

    epochs: dict[str, int | None] = field(default_factory=dict)
    targets: set[str] = field(default_factory=set)
    target_epoch: int = 0  # as long as no record says otherwise, which is not "deleted"

    def check_deleted(self, group_id: str, *, targets: bool) -> None:
        """Refuse to delete a group of which something is left; not every kind asks for its targets."""
        left = None
        if self.epochs:
            left = f"has {len(self.epochs)} members"
        elif targets and self.targets:
            left = f"has a target assignment for {len(self.targets)} members"
        elif self.target_epoch != LEFT:
            left = "has a target assignment"
        if left is not None:
            raise RefusedError(f"group {group_id} is deleted while it still {left}")

    def set_target_epoch(self, epoch: int | None) -> None:
        """None deletes it."""
        if epoch is None and self.targets:
            raise RefusedError(
                f"the target assignment is deleted while {len(self.targets)} members still have theirs"
            )
        self.target_epoch = LEFT if epoch is None else epoch

    def set_target(self, member: str, *, is_there: bool) -> None:
        """A member's part of the target assignment."""
        if is_there:
            self.targets.add(member)
        else:
            self.targets.discard(member)

    def check_member_deleted(self, member: str) -> None:
        """Refuse to delete a member that still owns something, or is to."""
        if self.epochs[member] != LEFT:
            raise RefusedError(f"member {member} is deleted before its current assignment")
        if member in self.targets:
            raise RefusedError(f"member {member} is deleted before its target assignment")


@dataclass(slots=True)
class ConsumerGroup(ModernGroup):
    """A group of the consumer protocol (KIP-848); `owners` is the epoch in which a partition was taken."""

    owned: dict[str, tuple[Owned, Owned]] = field(default_factory=dict)
    owners: dict[tuple[UUID | None, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, state: "State", group_id: str, release: Release, *, creates: bool) -> Self | None:
        """The group of that name; None if a tombstone is for nobody. A simple group gives its place up."""
        group = state.get(group_id)
        if group is None and not creates:
            return None
        if group is None or (isinstance(group, ClassicGroup) and group.is_simple):
            group = state[group_id] = cls()
        if not isinstance(group, cls):
            issue = _DOWNGRADE_ISSUE if not creates and isinstance(group, ClassicGroup) else None
            raise RefusedError(
                f"a record of a consumer group, but {group_id} is a {_name(group)} group", issue
            )
        return group

    def update(self, member: str, release: Release) -> None:
        """The member's own data changed: what it owns is entered again."""
        owned, revoked = self.owned.get(member, ({}, {}))
        self.assign(member, self.epochs.get(member, 0) or 0, owned, revoked, release)

    def assign(self, member: str, epoch: int, owned: Owned, revoked: Owned, release: Release) -> None:
        """The partitions a member owns, and those it must give up, from this epoch on."""
        self._let_go(member, release)
        self.epochs[member], self.owned[member] = epoch, (owned, revoked)
        for partition in (*owned, *revoked):
            before = self.owners.get(partition)
            if before is not None and (release.strict_owners or before >= epoch):
                raise RefusedError(
                    f"member {member} takes partition {partition[1]} of topic {partition[0]} in epoch"
                    f" {epoch}, which was taken in epoch {before} and not given up",
                    _OWNERS_ISSUE if before < epoch else None,
                )
            self.owners[partition] = epoch

    def leave(self, member: str, release: Release) -> None:
        """The member's current assignment is deleted."""
        if member in self.epochs:
            self.assign(member, LEFT, {}, {}, release)

    def remove_member(self, member: str, release: Release) -> None:
        """The member is deleted."""
        if member in self.epochs:
            self.check_member_deleted(member)
            self._let_go(member, release)
            del self.epochs[member]

    def _let_go(self, member: str, release: Release) -> None:
        owned, revoked = self.owned.pop(member, ({}, {}))
        epoch = self.epochs.get(member, 0)
        for partition in (*owned, *revoked):
            before = self.owners.get(partition)
            if before == epoch:
                del self.owners[partition]
            elif release.strict_owners:
                raise RefusedError(
                    f"member {member} gives up partition {partition[1]} of topic {partition[0]}, which"
                    f" another has taken in epoch {before}",
                    _OWNERS_ISSUE,
                )


@dataclass(slots=True)
class StreamsGroup(ModernGroup):
    """A streams group (KIP-1071); `processes` are those of the members, `owners` the tasks' of tasks."""

    processes: dict[str, str | None] = field(default_factory=dict)
    tasks: dict[str, tuple[Tasks, Tasks]] = field(default_factory=dict)
    owners: dict[tuple[str, int], str | None] = field(default_factory=dict)

    @classmethod
    def of(cls, state: "State", group_id: str, release: Release, *, creates: bool) -> Self | None:
        """The group of that name; None if a tombstone is for nobody."""
        group = state.get(group_id)
        if group is None and not creates:
            return None
        is_simple = isinstance(group, ClassicGroup) and group.is_simple
        if group is None or (is_simple and release.streams_over_commits):
            group = state[group_id] = cls()
        if not isinstance(group, cls):
            issue = _STREAMS_ISSUE if is_simple else None
            raise RefusedError(
                f"a record of a streams group, but {group_id} is a {_name(group)} group", issue
            )
        return group

    def describe(self, member: str, process: str, release: Release) -> None:
        """The member's own data; what it runs is entered again."""
        epoch, (tasks, revoked) = self.epochs.get(member), self.tasks.get(member, ({}, {}))
        self._let_go(member, release)
        self.processes[member] = process
        self._take(member, epoch, tasks, revoked, release)

    def assign(self, member: str, epoch: int, tasks: Tasks, revoked: Tasks, release: Release) -> None:
        """The active tasks that the member runs, and those that it is to give up."""
        self._let_go(member, release)
        self._take(member, epoch, tasks, revoked, release)

    def leave(self, member: str, release: Release) -> None:
        """The member's current assignment is deleted."""
        if member in self.epochs:
            self.assign(member, LEFT, {}, {}, release)

    def remove_member(self, member: str, release: Release) -> None:
        """The member is deleted."""
        if member in self.epochs:
            self.check_member_deleted(member)
            self._let_go(member, release)
            del self.epochs[member]

    def _take(self, member: str, epoch: int | None, tasks: Tasks, revoked: Tasks, release: Release) -> None:
        process = self.processes.get(member)
        self.epochs[member], self.tasks[member] = epoch, (tasks, revoked)
        for task in (*tasks, *revoked):
            before = self.owners.get(task)
            if before is not None and release.strict_owners:
                raise RefusedError(
                    f"member {member} takes task {task[0]}_{task[1]}, which another has not given up",
                    _OWNERS_ISSUE,
                )
            self.owners[task] = process

    def _let_go(self, member: str, release: Release) -> None:
        tasks, revoked = self.tasks.pop(member, ({}, {}))
        process = self.processes.get(member)
        for task in (*tasks, *revoked):
            if task in self.owners and self.owners[task] == process:
                del self.owners[task]
            elif release.strict_owners:
                raise RefusedError(
                    f"member {member} gives up task {task[0]}_{task[1]}, which another has taken",
                    _OWNERS_ISSUE,
                )


@dataclass(slots=True)
class ShareGroup(ModernGroup):
    """A share group (KIP-932); nobody owns anything for himself."""

    @classmethod
    def of(cls, state: "State", group_id: str, release: Release, *, creates: bool) -> Self | None:
        """The group of that name; None if a tombstone is for nobody."""
        group = state.get(group_id)
        if group is None and not creates:
            if release.strict_share:
                raise RefusedError(f"share group {group_id} is not there for a tombstone of its own")
            return None
        if group is None:
            group = state[group_id] = cls()
        if not isinstance(group, cls):
            raise RefusedError(f"a record of a share group, but {group_id} is a {_name(group)} group")
        return group

    def set_epoch(self, member: str, epoch: int | None, release: Release) -> None:
        """The member's current assignment; None deletes it."""
        if member not in self.epochs:
            if release.strict_share:
                raise RefusedError(f"member {member} has an assignment before it is a member")
            if epoch is None:
                return
        self.epochs[member] = LEFT if epoch is None else epoch

    def remove_member(self, member: str, release: Release) -> None:
        """The member is deleted."""
        if member not in self.epochs:
            if release.strict_share:
                raise RefusedError(f"member {member} is deleted, and is none")
            return
        self.check_member_deleted(member)
        del self.epochs[member]


State = dict[str, ClassicGroup | ConsumerGroup | StreamsGroup | ShareGroup]


def _name(group: object) -> str:
    return type(group).__name__.removesuffix("Group").lower()

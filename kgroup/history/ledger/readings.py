"""Makes readings from a group's records: stretches in which one reader had a partition and read on.

A commit is taken at its word: what lies before it, from where its reader began, was handed out. A coordinator
lets nobody commit but members of the current generation (`GroupMetadataManager`, KIP-848's epochs), and with
an empty group whoever comes. So commits between two generations are those of the owner, and commits into an
empty group those of a tool or of a consumer without membership (`outside.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from kgroup.history.ledger.keeping import KEEPS_WHAT_IT_HAS, kept_at_join
from kgroup.history.timeline.model import Partition
from kgroup.history.timeline.rosters import classic_roster, time_of
from kgroup.protocol.records import keys, values
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker
from kgroup.protocol.topic_id import topic_id_text

STEPS: Final = 3
"""Steps of a reading that are kept: its longest, and those that it is held against."""
OF_A_CONSUMER: Final = 5
"""This many commits in an empty group, each further than the one before, are a consumer's. Fewer may be
tools' that set the offset one after the other."""


class ReadingKind(StrEnum):
    """The start of a reading."""

    ASSIGNED = "assigned"
    """A member was given the partition."""
    REWIND = "rewind"
    """Its own commits went back."""
    OUTSIDE = "outside"
    """There was a commit while the group had no members."""
    CUT = "cut"
    """What was before is not in the log."""


class LoggedCommit:
    """A commit that counts; times are epoch ms, `log_offset` the place of its record."""

    __slots__ = ("at_ms", "log_offset", "offset")

    def __init__(self, offset: int, at_ms: int, log_offset: int) -> None:
        self.offset, self.at_ms, self.log_offset = offset, at_ms, log_offset


class LoggedStep(NamedTuple):
    """A step from a commit to the next one, which is further."""

    begun: LoggedCommit
    ended: LoggedCommit

    @property
    def length(self) -> int:
        """The length in offsets."""
        return self.ended.offset - self.begun.offset

    @property
    def per_ms(self) -> float:
        """Offsets in a ms; a step takes a ms at least."""
        return self.length / max(self.ended.at_ms - self.begun.at_ms, 1)


@dataclass(slots=True, kw_only=True)
class Reading:
    """One stretch. Times are epoch ms.

    `start` is the committed offset that it found, None if there was none; `before` the commit that set it.
    `was_removed` says that there had been one. `first`, `last` and `highest` are its own commits; `reread_to`
    is how far its commits prove that it read again after it went back. `rises` are the commits that were
    further than the one before. `longest` are its longest steps
    forward, that from the offset that it found among them. `session_ms` is the owner's session timeout, None
    if no record has it. `ended_ms` is when the next reading began or the group lost its members, None if it
    goes on.
    """

    kind: ReadingKind
    partition: Partition
    begun_ms: int
    begun_at: int
    owner: tuple[str, str] | None = None
    session_ms: int | None = None
    generation: int | None = None
    start: int | None = None
    before: LoggedCommit | None = None
    was_removed: bool = False
    group_was_known: bool = False
    after_empty: bool = False
    first: LoggedCommit | None = None
    last: LoggedCommit | None = None
    highest: int = -1
    went_back_from: int = -1
    reread_to: int = -1
    rises: int = 0
    step_max: int = 0
    longest: tuple[LoggedStep, ...] = ()
    ended_ms: int | None = None

    @property
    def is_one_offset(self) -> bool:
        """Whether all its commits are of the same offset."""
        return self.first is not None and self.first.offset == self.highest

    @property
    def may_be_tools(self) -> bool:
        """Whether it is of an empty group, and its commits rise too seldom to be a consumer's for certain."""
        return self.kind is ReadingKind.OUTSIDE and self.rises < OF_A_CONSUMER

    def commit(self, commit: LoggedCommit) -> None:
        """Take the reader's next commit."""
        if self.last is not None:
            self.step_max = max(self.step_max, commit.offset - self.last.offset)
        previous = self.last or (None if self.start is None else self.before)
        if previous is not None and commit.offset > previous.offset:
            self.rises += 1
            self._step(LoggedStep(previous, commit))
        self.first = self.first or commit
        self.last = commit
        self.highest = max(self.highest, commit.offset)
        if self.start is not None and self.start < commit.offset < self.went_back_from:
            self.reread_to = max(self.reread_to, commit.offset)

    def goes_back(self, commit: LoggedCommit) -> bool:
        """Whether the commit is of a lower offset than its reader's last."""
        return self.last is not None and commit.offset < self.last.offset

    def _step(self, step: LoggedStep) -> None:
        if len(self.longest) < STEPS or step.length > self.longest[-1].length:
            self.longest = tuple(sorted((*self.longest, step), key=_by_length)[:STEPS])


def _by_length(step: LoggedStep) -> int:
    return -step.length


@dataclass(slots=True, kw_only=True)
class PartitionReadings:
    """The readings of one partition in log order, and the offset that is committed now."""

    partition: Partition
    offsets_partition: int
    readings: list[Reading] = field(default_factory=list)
    committed: LoggedCommit | None = None
    was_removed: bool = False
    is_cut: bool = False
    current: Reading | None = None

    def begin(self, reading: Reading) -> None:
        """Another reading begins at the committed offset, and the one before ends."""
        self.end(reading.begun_ms)
        if reading.start is None and self.committed is not None:
            reading.start, reading.before = self.committed.offset, self.committed
        reading.was_removed = self.was_removed
        if self.is_cut:
            reading.kind, reading.start, self.is_cut = ReadingKind.CUT, None, False
        self.readings.append(reading)
        self.current = reading

    def end(self, at_ms: int) -> None:
        """The reading ends, if there is one."""
        if self.current is not None:
            self.current.ended_ms, self.current = at_ms, None


class GroupReadings:
    """Takes the records of one group, in log order, those of one offsets partition after the other."""

    def __init__(self, group_id: str, topic_names: Mapping[UUID, str]) -> None:
        self.group_id = group_id
        self.commits = 0
        self.is_cut = False
        self.partitions: dict[Partition, PartitionReadings] = {}
        self._topic_names = topic_names
        self._open: dict[int, list[tuple[Partition, LoggedCommit]]] = {}
        self._members: dict[str, str] = {}
        self._sessions: dict[str, int] = {}
        self._assigned: dict[str, frozenset[Partition]] = {}
        self._is_classic = True
        self._generation: int | None = None
        self._has_had_members = False
        self._now_ms = 0

    @property
    def has_had_members(self) -> bool:
        """Whether there ever was a member; else commits are those of consumers without membership."""
        return self._has_had_members

    def begins(self, first: LoggedEntry) -> None:
        """The log of another offsets partition begins with `first`: nothing carries over."""
        self._open.clear()

    def cut(self) -> None:
        """The log skips offsets here."""
        self.is_cut = True
        for each in self.partitions.values():
            each.is_cut = True

    def add(self, logged: LoggedEntry) -> None:
        """Take the next record, or the end of a transaction."""
        entry = logged.entry
        if isinstance(entry, TransactionMarker):
            for partition, commit in self._open.pop(entry.producer_id, []):
                if entry.committed:
                    self._commit(logged.partition, partition, commit)
            return
        if not isinstance(entry, OffsetsEntry):
            return
        at_ms = time_of(logged)
        # A broker whose clock is behind the one before does not turn back what has happened.
        self._now_ms = max(self._now_ms, at_ms or 0)
        match entry.key, entry.value:
            case keys.OffsetCommitKey() as key, None:
                self._remove(logged, Partition(key.topic, key.partition))
            case keys.OffsetCommitKey() as key, values.OffsetCommitValue() as value:
                partition = Partition(key.topic, key.partition)
                commit = LoggedCommit(value.offset, self._now_ms if at_ms is None else at_ms, logged.offset)
                if logged.producer_id is not None:
                    self._open.setdefault(logged.producer_id, []).append((partition, commit))
                else:
                    self._commit(logged.partition, partition, commit)
            case keys.GroupMetadataKey(), values.GroupMetadataValue() as value:
                self._classic(logged, value)
            case keys.GroupMetadataKey() | keys.ConsumerGroupMetadataKey(), None:
                self._all_gone()
            case keys.ConsumerGroupMemberMetadataKey() as key, value:
                self._member(key.member_id, value)
            case keys.ConsumerGroupCurrentMemberAssignmentKey() as key, value:
                self._reconciled(logged, key.member_id, value)
            case keys.StreamsGroupMetadataKey(), values.StreamsGroupMetadataValue(epoch=epoch):
                self._has_had_members = True
                self._generation = epoch
                for partition in self.partitions:
                    self._begin(logged, partition, None)
            case _:
                pass

    # ---- who reads ------------------------------------------------------------------------------------

    def _classic(self, logged: LoggedEntry, value: values.GroupMetadataValue) -> None:
        roster = classic_roster(logged, value)
        if not roster.members:
            if roster.protocol_type:
                self._all_gone()
            return
        self._has_had_members = True
        kept: Mapping[str, frozenset[Partition]] = {}
        if self._is_classic and roster.generation == self._generation:
            # Written again when a static member came back (KIP-345): the others read on.
            kept = self._assigned
        elif self._is_classic and roster.protocol == KEEPS_WHAT_IT_HAS:
            kept = {
                member.member_id: self._assigned.get(member.member_id, frozenset()) & kept_at_join(member)
                for member in value.members
            }
        self._generation = roster.generation
        self._is_classic = True
        self._assigned = {member.member_id: member.owned for member in roster.members}
        self._members = {member.member_id: member.client_id for member in roster.members}
        self._sessions |= {
            member.member_id: member.session_timeout_ms
            for member in roster.members
            if member.session_timeout_ms is not None
        }
        for member in roster.members:
            owner = member.member_id, member.client_id
            for partition in sorted(member.owned - kept.get(member.member_id, frozenset())):
                self._begin(logged, partition, owner)

    def _member(self, member_id: str, value: values.Value | None) -> None:
        if isinstance(value, values.ConsumerGroupMemberMetadataValue):
            if self._is_classic:
                self._is_classic, self._members, self._assigned = False, {}, {}
            self._has_had_members = True
            self._members[member_id] = value.client_id
            return
        self._members.pop(member_id, None)
        self._assigned.pop(member_id, None)
        for readings in self.partitions.values():
            if readings.current is not None and (readings.current.owner or ("",))[0] == member_id:
                readings.end(self._now_ms)
        if not self._members:
            self._all_gone()

    def _reconciled(self, logged: LoggedEntry, member_id: str, value: values.Value | None) -> None:
        if not isinstance(value, values.ConsumerGroupCurrentMemberAssignmentValue):
            return
        had = self._assigned.get(member_id, frozenset())
        has = frozenset(self._named(value))
        self._assigned[member_id] = has
        self._generation = value.member_epoch
        for partition in sorted(has - had):
            self._begin(logged, partition, (member_id, self._members.get(member_id, "")))

    def _named(self, value: values.ConsumerGroupCurrentMemberAssignmentValue) -> Iterable[Partition]:
        for topic in value.assigned_partitions:
            if topic.topic_id is None:
                continue
            name = self._topic_names.get(topic.topic_id) or topic_id_text(topic.topic_id)
            for number in topic.partitions:
                yield Partition(name, number)

    def _all_gone(self) -> None:
        """Note that the group has no members any more."""
        self._members, self._assigned = {}, {}
        for readings in self.partitions.values():
            readings.end(self._now_ms)

    def _readings(self, offsets_partition: int, partition: Partition) -> PartitionReadings:
        readings = self.partitions.get(partition)
        if readings is None:
            readings = self.partitions[partition] = PartitionReadings(
                partition=partition, offsets_partition=offsets_partition, is_cut=self.is_cut
            )
        return readings

    def _begin(
        self,
        logged: LoggedEntry,
        partition: Partition,
        owner: tuple[str, str] | None,
        kind: ReadingKind = ReadingKind.ASSIGNED,
    ) -> Reading:
        readings = self._readings(logged.partition, partition)
        reading = Reading(
            kind=kind,
            partition=partition,
            begun_ms=self._now_ms,
            begun_at=logged.offset,
            owner=owner,
            session_ms=None if owner is None else self._sessions.get(owner[0]),
            generation=self._generation,
            group_was_known=self.commits > 0,
            after_empty=readings.current is None,
        )
        readings.begin(reading)
        return reading

    # ---- how far --------------------------------------------------------------------------------------

    def _commit(self, offsets_partition: int, partition: Partition, commit: LoggedCommit) -> None:
        if commit.offset < 0:
            return  # Kafka's own way to say that there is none
        readings = self._readings(offsets_partition, partition)
        current = readings.current
        if current is None:
            kind = ReadingKind.ASSIGNED if self._members else ReadingKind.OUTSIDE
            current = self._new(readings, commit, kind, None)
        elif readings.is_cut:
            current = self._new(readings, commit, ReadingKind.CUT, current.owner)
        elif self._has_had_members and current.may_be_tools and current.goes_back(commit):
            current = self._new(readings, commit, ReadingKind.OUTSIDE, None)
        elif current.goes_back(commit):
            back_from = current.highest
            current = self._new(readings, commit, ReadingKind.REWIND, current.owner)
            current.start, current.went_back_from = commit.offset, back_from
        elif current.first is None and current.start is not None and commit.offset < current.start:
            back_from = current.start
            current = self._new(readings, commit, ReadingKind.REWIND, current.owner)
            current.start, current.went_back_from = commit.offset, back_from
        current.commit(commit)
        readings.committed, readings.was_removed = commit, False
        self.commits += 1

    def _new(
        self,
        readings: PartitionReadings,
        commit: LoggedCommit,
        kind: ReadingKind,
        owner: tuple[str, str] | None,
    ) -> Reading:
        reading = Reading(
            kind=kind,
            partition=readings.partition,
            begun_ms=max(commit.at_ms, self._now_ms),
            begun_at=commit.log_offset,
            owner=owner,
            session_ms=None if owner is None else self._sessions.get(owner[0]),
            generation=self._generation,
            group_was_known=self.commits > 0,
            after_empty=readings.current is None,
        )
        readings.begin(reading)
        return reading

    def _remove(self, logged: LoggedEntry, partition: Partition) -> None:
        readings = self._readings(logged.partition, partition)
        readings.was_removed = readings.was_removed or readings.committed is not None
        readings.committed = None

"""Makes one group's timeline from its entries in log order.

Feed a `GroupReplay` and ask for the result; it holds the last state, one commit per partition, and what it
found.
"""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline import causes, incidents
from kgroup.history.timeline.commits import Committed, CommitTrack, silence_of, usual_interval_ms
from kgroup.history.timeline.departures import Evidence, why_renamed_between_rounds
from kgroup.history.timeline.duels import find_duels
from kgroup.history.timeline.generations import begun, finish_round
from kgroup.history.timeline.kept_ids import settle_returns
from kgroup.history.timeline.model import Cause, CommitGap, Generation, Partition, Roster, Takeover, Timeline
from kgroup.history.timeline.patterns import find_patterns
from kgroup.history.timeline.poll_intervals import settle
from kgroup.history.timeline.removals import why_group_removed, why_offsets_removed
from kgroup.history.timeline.rosters import (
    EPOCH_KEYS,
    TARGET_KEYS,
    GroupEpoch,
    ModernGroup,
    classic_roster,
    modern_kind,
    time_of,
)
from kgroup.protocol.records import keys, values
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker

# One deletion writes its tombstones together; a broker's clock may tick between two of its batches.
_ONE_DELETION_MS = 1_000


class GroupReplay:
    """One group, entry by entry."""

    def __init__(self, group_id: str, topic_names: Mapping[UUID, str]) -> None:
        self._timeline = Timeline(group_id=group_id)
        self._topic_names = topic_names
        self._roster: Roster | None = None
        self._modern: ModernGroup | None = None
        self._tracks: dict[Partition, CommitTrack] = {}
        self._open: dict[int, dict[Partition, LoggedEntry]] = {}
        self._waiting: dict[Partition, tuple[Generation, int]] = {}
        self._topic_ids: dict[str, UUID] = {}
        self._takeovers: list[Takeover] = []
        self._awaited: dict[Partition, int] = {}
        self._first_commits: dict[tuple[int, Partition], Committed] = {}
        self._known_counts: dict[str, int] = {}
        self._tombstones: list[tuple[LoggedEntry, Partition]] = []
        self._removed: LoggedEntry | None = None
        self._returned: LoggedEntry | None = None
        self._last_sign_ms: int | None = None
        self._clock_from = 0
        self._clock_ms: int | None = None
        self._together_after_ms: int | None = None
        self._cut = False
        self._leader_epoch: int | None = None

    def begins(self, first: LoggedEntry) -> None:
        """The log of a partition begins for this group with `first`."""
        self._cut = self._cut or bool(self._timeline.generations)
        self._leader_epoch = first.leader_epoch

    def cut(self) -> None:
        """The log skips offsets here."""
        self._cut = True
        self._timeline.is_cut = True

    def add(self, logged: LoggedEntry) -> None:
        """Take the next entry."""
        entry = logged.entry
        if not isinstance(entry, OffsetsEntry):
            if isinstance(entry, TransactionMarker):
                self._end_transaction(logged, entry)
            return
        if self._returned is not None and not _is_one_append(self._returned, logged):
            self._settle_return()
        if logged.leader_epoch != self._leader_epoch:
            self._note_leader_epoch(logged)
        key, value = entry.key, entry.value
        if isinstance(key, keys.OffsetCommitKey):
            partition = Partition(key.topic, key.partition)
            if value is None:
                self._add_tombstone(logged, partition)
            elif logged.producer_id is not None:
                self._open.setdefault(logged.producer_id, {})[partition] = logged
            else:
                if self._tombstones or self._removed is not None:
                    self._settle_removals(logged)
                self._commit(logged, partition)
            return
        self._timeline.has_group_records = True
        if isinstance(key, keys.GroupMetadataKey):
            if value is None:
                self._remove(logged)
            elif isinstance(value, values.GroupMetadataValue):
                self._settle_removals(logged, successor=GroupKind.CLASSIC)
                self._modern = None
                self._add_classic(logged, value)
            return
        kind = modern_kind(key)
        if kind is not None:
            self._add_modern(logged, entry, kind)

    def result(self) -> Timeline:
        """The timeline, once all entries are in."""
        self._settle_return()
        self._settle_removals(None)
        self._close_modern()
        timeline = self._timeline
        if not timeline.has_group_records and timeline.commits:
            timeline.occurrences.insert(0, incidents.no_membership(timeline))
        settle(timeline.generations, self._first_commits)
        settle_returns(timeline.generations)
        incidents.settle_resets(timeline)
        timeline.takeovers = tuple(self._takeovers)
        timeline.patterns = (*find_patterns(timeline, self._tracks), *find_duels(self._takeovers))
        return timeline

    # Generations

    def _add_classic(self, logged: LoggedEntry, value: values.GroupMetadataValue) -> None:
        roster = classic_roster(logged, value)
        if not roster.members and not roster.protocol_type:
            # The coordinator of 4.x writes a group down before its first round.
            return
        self._note_unreadable(logged, roster)
        previous = self._roster
        if previous is not None and previous.kind is roster.kind and previous.generation == roster.generation:
            self._same_generation(logged, previous, roster)
            return
        self._begin(roster)
        finish_round(self._timeline.generations, self._known_counts)

    def _add_modern(self, logged: LoggedEntry, entry: OffsetsEntry, kind: GroupKind) -> None:
        key, value = entry.key, entry.value
        if isinstance(key, EPOCH_KEYS):
            if value is None:
                self._remove(logged)
                return
            self._settle_removals(logged, successor=kind)
        if self._modern is None or self._modern.kind is not kind:
            if value is None:
                return
            self._modern = ModernGroup(kind, self._topic_names, topic_ids=self._timeline.topic_ids)
        self._modern.apply(logged, entry)
        if isinstance(key, EPOCH_KEYS):
            assert isinstance(value, GroupEpoch)
            if value.epoch != self._modern.epoch:
                self._close_modern()
                self._modern.begin(value)
                self._begin(self._modern.roster(logged))
        elif isinstance(key, TARGET_KEYS) and value is not None and self._timeline.generations:
            self._assign_modern(logged)
        elif self._roster is not None and self._modern.has_returned(key, self._roster):
            self._returned = logged

    def _settle_return(self) -> None:
        """A static member came back under another id, and no epoch began with it: its partitions stay."""
        logged, self._returned = self._returned, None
        if logged is None or self._modern is None or self._roster is None:
            return
        previous = self._roster
        known = {member.member_id for member in previous.members}
        come = {
            member.instance_id: member
            for member in self._modern.roster(logged).members
            if member.instance_id and member.member_id not in known
        }
        if not come:
            return  # an epoch began with it, of which it is a cause
        members = tuple(come.get(member.instance_id or "", member) for member in previous.members)
        roster = replace(previous, members=members, at_ms=time_of(logged), offset=logged.offset)
        self._same_generation(logged, previous, replace(roster, leader_epoch=logged.leader_epoch))

    def _assign_modern(self, logged: LoggedEntry) -> None:
        """The broker has worked out who gets what in this epoch."""
        assert self._modern is not None
        generation = self._timeline.generations[-1]
        targets = {member.member_id: member.owned for member in self._modern.roster(logged).members}
        roster = generation.roster
        members = tuple(
            replace(member, owned=targets.get(member.member_id, frozenset())) for member in roster.members
        )
        generation.roster = self._roster = replace(roster, members=members)
        at_ms = time_of(logged)
        if at_ms is not None:
            generation.waits += self._modern.handovers.target(targets, at_ms)
        finish_round(self._timeline.generations, self._known_counts)

    def _close_modern(self) -> None:
        if self._modern is not None and self._timeline.generations:
            generation = self._timeline.generations[-1]
            if not generation.causes and generation.roster.kind is self._modern.kind:
                finish_round(self._timeline.generations, self._known_counts)

    def _begin(self, roster: Roster) -> None:
        """Open a generation: who is in it, and what the records say of why."""
        evidence = Evidence(
            tracks=self._tracks,
            cut=self._cut,
            clock_from=self._clock_from,
            together_after_ms=self._together_after_ms,
            away_since=self._modern.away_since if self._modern else {},
        )
        unrevoked_since_ms = self._modern.unrevoked_since if self._modern else {}
        generations = self._timeline.generations
        last_began_ms = generations[-1].roster.at_ms if generations else None
        generation = begun(roster, self._roster, evidence, unrevoked_since_ms, last_began_ms=last_began_ms)
        if self._roster is not None:
            self._note_takeovers(self._roster, roster, generation.replaced)
        self._cut = False
        self._note_round(roster.at_ms)
        generation.usual_interval_ms = usual_interval_ms(self._tracks, self._tracks)
        self._timeline.generations.append(generation)
        self._roster = roster
        if not roster.members:
            self._last_sign_ms = roster.at_ms
        self._open_gaps(generation)
        for silent in generation.silent:
            self._awaited[silent.partition] = roster.offset

    def _note_round(self, at_ms: int | None) -> None:
        """Remember a time when the members of the round that begins here had not all joined it.

        That is when the last round was stored, or the last commit: while a leader is waited for, a
        coordinator refuses those that are not transactional (REBALANCE_IN_PROGRESS). Only times by one clock
        compare.
        """
        goes_on = self._clock_ms is not None and at_ms is not None and self._clock_ms <= at_ms
        self._together_after_ms = self._clock_ms if goes_on else None
        self._clock_ms = at_ms

    def _same_generation(self, logged: LoggedEntry, previous: Roster, roster: Roster) -> None:
        """Written again without a round: a static member came back (KIP-345)."""
        _, _, replaced = causes.member_changes(previous, roster)
        before = {member.member_id: member for member in previous.members}
        now = {member.member_id: member for member in roster.members}
        for old, new in replaced:
            self._occur(logged, why_renamed_between_rounds(before[old], now[new], previous, roster))
        self._note_takeovers(previous, roster, replaced)
        self._roster = roster
        if self._timeline.generations:
            last = self._timeline.generations[-1]
            last.roster = _as_of(roster, last.roster)

    def _note_takeovers(
        self, previous: Roster, roster: Roster, replaced: tuple[tuple[str, str], ...]
    ) -> None:
        before = {member.member_id: member for member in previous.members}
        now = {member.member_id: member for member in roster.members}
        for old_id, new_id in replaced:
            old, new = before[old_id], now[new_id]
            silence = silence_of(self._tracks, old.owned, previous.offset)
            quiet_ms = roster.at_ms - silence.last_ms if silence and roster.at_ms is not None else None
            self._takeovers.append(
                Takeover(
                    instance_id=new.instance_id or "",
                    at_ms=roster.at_ms,
                    generation=roster.generation,
                    old_id=old_id,
                    new_id=new_id,
                    before=(old.client_id, old.client_host),
                    after=(new.client_id, new.client_host),
                    quiet_ms=quiet_ms,
                    usual_ms=usual_interval_ms(self._tracks, old.owned),
                    was_free=new.session_timeout_ms is None,
                )
            )

    def _note_unreadable(self, logged: LoggedEntry, roster: Roster) -> None:
        noted = {member.member_id for member in self._roster.members} if self._roster else set()
        for member in roster.members:
            if member.unreadable and member.member_id not in noted:
                self._occur(logged, incidents.unreadable_member(member))

    # Commits

    def _commit(self, logged: LoggedEntry, partition: Partition) -> None:
        assert isinstance(logged.entry, OffsetsEntry)
        value = logged.entry.value
        at_ms = time_of(logged)
        if not isinstance(value, values.OffsetCommitValue) or at_ms is None:
            return
        version = logged.entry.value_version or 0
        timeline = self._timeline
        timeline.commits += 1
        if timeline.generations:
            timeline.generations[-1].commits += 1
        timeline.first_commit_ms = at_ms if timeline.first_commit_ms is None else timeline.first_commit_ms
        timeline.last_commit_ms = self._last_sign_ms = at_ms
        if logged.producer_id is None:
            self._clock_ms = at_ms
        track = self._tracks.get(partition)
        if track is None:
            self._tracks[partition] = CommitTrack(
                at_ms, value.offset, logged.offset, value.expire_timestamp, version
            )
            before = None
        else:
            before = track.offset
            track.add(at_ms, value.offset, logged.offset, value.expire_timestamp, version)
        is_new_topic = self._note_topic(logged, partition, value, before)
        if partition in self._waiting:
            self._close_gap(partition, at_ms)
        if partition in self._awaited:
            round_offset = self._awaited.pop(partition)
            self._first_commits[round_offset, partition] = Committed(at_ms, logged.offset, value.offset)
        roster = self._roster
        if (
            is_new_topic
            or logged.producer_id is not None
            or roster is None
            or roster.kind is GroupKind.STREAMS
        ):
            return
        if not roster.members or (before is not None and value.offset < before):
            cause = incidents.odd_commit(roster, partition, before, value.offset, cut=self._cut)
            self._occur(logged, cause, (partition,))

    def _note_topic(
        self, logged: LoggedEntry, partition: Partition, value: values.OffsetCommitValue, before: int | None
    ) -> bool:
        """Whether the partition's last commit was of an older topic of this name; reported once a topic."""
        topic_id, topic = value.topic_id, partition.topic
        if topic_id is None:
            return False
        track = self._tracks[partition]
        is_new = track.topic_id not in (None, topic_id)
        track.topic_id = topic_id
        known = self._topic_ids.setdefault(topic, topic_id)
        if known != topic_id:
            self._topic_ids[topic] = topic_id
            offsets = f"{'-' if before is None else before} to {value.offset}"
            cause = incidents.topic_recreated(topic, known, topic_id, partition, offsets)
            self._occur(logged, cause, (partition,))
        return is_new

    def _end_transaction(self, logged: LoggedEntry, marker: TransactionMarker) -> None:
        commits = self._open.pop(marker.producer_id, {})
        if marker.committed:
            for partition, commit in commits.items():
                self._commit(commit, partition)
        elif commits:
            partitions = tuple(sorted(commits))
            self._occur(logged, incidents.aborted(marker.producer_id, len(partitions)), partitions)

    def _open_gaps(self, generation: Generation) -> None:
        for partition, track in self._tracks.items():
            if partition not in self._waiting:
                self._waiting[partition] = (generation, track.at_ms)

    def _close_gap(self, partition: Partition, at_ms: int) -> None:
        generation, last_before_ms = self._waiting.pop(partition)
        generation.gaps.append(CommitGap(partition, last_before_ms, at_ms))

    # Removals

    def _add_tombstone(self, logged: LoggedEntry, partition: Partition) -> None:
        if self._tombstones and not _together(self._tombstones[-1][0], logged):
            self._settle_removals(logged)
        self._tombstones.append((logged, partition))

    def _remove(self, logged: LoggedEntry) -> None:
        if self._tombstones and not _together(self._tombstones[-1][0], logged):
            self._settle_removals(logged)
        self._removed = logged

    def _settle_removals(self, following: LoggedEntry | None, *, successor: GroupKind | None = None) -> None:
        """Interpret the tombstones collected so far, now that the records behind them are known."""
        removed, self._removed = self._removed, None
        if removed is not None and following is not None and self._roster is not None:
            if successor not in (None, self._roster.kind) and _together(removed, following):
                return
            if successor is None and _together(removed, following) and self._modern is not None:
                self._removed = removed
                return
        tombstones, self._tombstones = self._tombstones, []
        if removed is not None and (not tombstones or _together(tombstones[-1][0], removed)):
            self._forget_group(removed, tuple(partition for _, partition in tombstones))
            return
        if tombstones:
            partitions = tuple(sorted(partition for _, partition in tombstones))
            first = tombstones[0][0]
            cause = why_offsets_removed(time_of(first), partitions, self._tracks, self._roster)
            self._occur(first, cause, partitions)
            for partition in partitions:
                self._tracks.pop(partition, None)
                self._waiting.pop(partition, None)
        if removed is not None:
            self._forget_group(removed, ())

    def _forget_group(self, removed: LoggedEntry, partitions: tuple[Partition, ...]) -> None:
        cause = why_group_removed(time_of(removed), self._last_sign_ms, partitions, self._tracks)
        self._occur(removed, cause, tuple(sorted(partitions)))
        self._close_modern()
        self._roster = self._modern = None
        self._tracks.clear()
        self._waiting.clear()
        self._known_counts.clear()
        self._cut = False

    def _note_leader_epoch(self, logged: LoggedEntry) -> None:
        epoch_before, self._leader_epoch = self._leader_epoch, logged.leader_epoch
        # What was before is by another broker's clock.
        self._clock_ms = self._together_after_ms = None
        self._clock_from = logged.offset
        if (
            epoch_before is not None
            and logged.leader_epoch is not None
            and logged.leader_epoch != epoch_before
        ):
            self._occur(logged, incidents.coordinator_moved(epoch_before, logged.leader_epoch))

    def _occur(
        self, logged: LoggedEntry, cause: Cause | None, partitions: tuple[Partition, ...] = ()
    ) -> None:
        incidents.add_incident(self._timeline, logged, self._roster, cause, partitions)


def _together(first: LoggedEntry, second: LoggedEntry) -> bool:
    return first.partition == second.partition and (
        first.timestamp_ms < 0 or abs(second.timestamp_ms - first.timestamp_ms) <= _ONE_DELETION_MS
    )


def _is_one_append(first: LoggedEntry, second: LoggedEntry) -> bool:
    """What a coordinator writes of one request has one time."""
    return first.partition == second.partition and first.timestamp_ms == second.timestamp_ms


def _as_of(roster: Roster, begun: Roster) -> Roster:
    """The roster with the time and place at which its generation began."""
    return replace(roster, at_ms=begun.at_ms, offset=begun.offset)

"""Where `kgroup replay` and `what-if` get entries: log files, standard input, or a live cluster's copy."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import UUID

from kgroup.api.names import is_pattern, matches_any, nothing_matches, without_match
from kgroup.api.opened import Given
from kgroup.errors import InputError, SourceError
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Timeline
from kgroup.history.timeline.replay import replay
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.log.files.damage_text import damage_text, undecodable_text
from kgroup.log.files.entries import read_entries
from kgroup.log.files.sources import STDIN, Sources, one_replica_each, open_sources
from kgroup.log.format.batch import Damage
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.records.entries import (
    LoggedEntry,
    OffsetGap,
    OffsetsEntry,
    TransactionMarker,
    Undecodable,
)
from kgroup.protocol.records.keys import group_of
from kgroup.scan.reductions.scan import Slice, split
from kgroup.scan.reductions.select import select

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster

_SLICE_BYTES = 64 * 1024 * 1024
_PARTITIONS = 50
_REMEMBERED_NAMES = 10_000  # of other groups, for a misspelt one

Item = LoggedEntry | OffsetGap


@dataclass(slots=True)
class Replayed:
    """Timelines by group id, and what could not be read on the way: where and why.

    `missing` says what of that which was asked for is not there, if anything is.
    """

    timelines: dict[str, Timeline]
    problems: list[str] = field(default_factory=list)
    missing: str | None = None


@dataclass(slots=True)
class GroupReader:
    """Reads groups by name or pattern from sources.

    `cluster` is the live one that the sources are a copy of, and `topic_names` are names of topic ids that
    it knows, over those of the files.
    """

    sources: Sources
    patterns: Sequence[str]
    topic_names: Mapping[UUID, str] = field(default_factory=dict)
    cluster: "Cluster | None" = None
    _unwanted: set[str] = field(default_factory=set)

    def read(self, advance: Callable[[int], None]) -> Replayed:
        """Replay the groups. Raises SourceError if none of them is there, or a file cannot be read."""
        names = {**LogDirEndsReader(self.sources.log_dirs).topic_names(), **self.topic_names}
        problems: list[str] = []
        timelines: dict[str, Timeline] = {}
        unmatched: list[str] = []
        for sources in self._places():
            problems = []
            entries = _without_damage(self._entries(sources, advance), problems)
            timelines = replay(entries, names)
            unmatched = without_match(self.patterns, timelines)
            if not unmatched:
                return Replayed(timelines, problems)
        known = self._unwanted if self.cluster is None else self.cluster.group_ids()
        if timelines:
            return Replayed(timelines, problems, nothing_matches("group", unmatched, {*known, *timelines}))
        if problems:
            more = f", and {len(problems) - 1} more places" if len(problems) > 1 else ""
            damaged = f", but the log is damaged: {problems[0]}{more}"
            raise SourceError(nothing_matches("group", unmatched, (), damaged))
        otherwise = "; kgroup lag-report lists the groups of a log"
        raise SourceError(nothing_matches("group", unmatched, known, otherwise))

    def states_now(self, timelines: Iterable[Timeline]) -> Iterator[str]:
        """What the coordinator of each classic group says of it now, if there is one to ask.

        That a rebalance is under way is in no log.
        """
        if self.cluster is None:
            return
        for timeline in timelines:
            kinds = [generation.roster.kind for generation in timeline.generations[-1:]]
            state = self.cluster.classic_state(timeline.group_id) if kinds == [GroupKind.CLASSIC] else None
            if state is not None:
                members = "1 member" if state.members == 1 else f"{state.members} members"
                yield f"group {timeline.group_id}: now {state.state}, with {members}"

    def told(self, replayed: Replayed, *, quiet: bool) -> list[str]:
        """What could not be read or is not there, and unless `quiet` what was not to be read."""
        skipped = [] if quiet else [f"{one.path}: not read: {one.why}" for one in self.sources.skipped]
        return [*skipped, *replayed.problems, *([replayed.missing] if replayed.missing else [])]

    @property
    def total_bytes(self) -> int:
        """What the first pass will read."""
        first = next(iter(self._places()))
        return sum(part.end - part.start for part in _slices(first)) if not _has_stdin(first) else 0

    def wanted(self, group: str) -> bool:
        """Whether a group is asked for."""
        if matches_any(group, self.patterns):
            return True
        if len(self._unwanted) < _REMEMBERED_NAMES:
            self._unwanted.add(group)
        return False

    def _places(self) -> Iterator[Sources]:
        """First the one partition that keeps a group by Kafka's rule, then everything.

        The rule needs the number of partitions, which files do not tell; so a first look that leaves any
        of the groups out proves nothing.
        """
        if not any(is_pattern(pattern) for pattern in self.patterns):
            numbers = {partition_for(group, _PARTITIONS) for group in self.patterns}
            kept = tuple(segment for segment in self.sources if segment.partition in numbers)
            if kept and len(kept) < len(self.sources):
                yield replace(self.sources, segments=kept)
        yield self.sources

    def _entries(self, sources: Sources, advance: Callable[[int], None]) -> Iterator[Item | Damage]:
        if _has_stdin(sources):
            yield from self._plain(sources)
            return
        yield from select(_slices(sources), self.wanted, advance=advance)

    def _plain(self, sources: Sources) -> Iterator[Item | Damage]:
        """The same from a stream, which cannot be scanned in slices."""
        expected: dict[int, int] = {}
        for item in read_entries(sources):
            if isinstance(item, Damage):
                yield item
                continue
            following = expected.get(item.partition, 0)
            if item.offset > following:
                yield OffsetGap(partition=item.partition, first_offset=following, last_offset=item.offset - 1)
            expected[item.partition] = item.offset + 1
            is_ours = isinstance(item.entry, OffsetsEntry) and self.wanted(group_of(item.entry.key))
            if is_ours or isinstance(item.entry, TransactionMarker):
                yield item


@contextmanager
def opened_reader(source: Given, groups: Sequence[str]) -> Iterator[GroupReader]:
    """A reader of these groups from paths, or from a copy of a live cluster's log.

    Raises InputError where no group is asked for.
    """
    if not groups:
        raise InputError("no --group given: the group to replay, or a pattern such as 'billing-*'")
    if source.connection is None:
        yield GroupReader(one_replica_each(open_sources(source.paths)), groups)
        return
    from kgroup.api.live import live_log

    alone = groups[0] if len(groups) == 1 and not is_pattern(groups[0]) else None
    with live_log(source.connection, group=alone) as live:
        names = LogEnds([live.cluster.log_listing()]).topic_names()
        yield GroupReader(open_sources([live.folder]), groups, names, live.cluster)


def _slices(sources: Sources) -> Iterator[Slice]:
    for segment in sources:
        yield from split(segment.path, segment.partition, _SLICE_BYTES)


def _has_stdin(sources: Sources) -> bool:
    return any(segment.path == STDIN for segment in sources)


def _without_damage(items: Iterable[Item | Damage], problems: list[str]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, LoggedEntry) and isinstance(item.entry, OffsetsEntry):
            yield item
        elif isinstance(item, Damage):
            problems.append(damage_text(item))
        elif isinstance(item, LoggedEntry) and isinstance(item.entry, Undecodable):
            problems.append(undecodable_text(item, item.entry))
        else:
            yield item

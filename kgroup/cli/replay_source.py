"""Where `kgroup replay` and `what-if` get entries: log files, standard input, or a live cluster's copy."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from uuid import UUID

from kgroup.cli.options import Given
from kgroup.errors import InputError, SourceError, did_you_mean
from kgroup.group.log_ends import LogEnds
from kgroup.group.membership import GroupKind
from kgroup.group.timeline import replay
from kgroup.group.timeline_model import Timeline
from kgroup.log.batch import Damage
from kgroup.log.entries import read_entries
from kgroup.log.log_ends import LogDirEndsReader
from kgroup.log.scan import Slice, split
from kgroup.log.scan_select import select
from kgroup.log.sources import STDIN, Sources, one_replica_each, open_sources
from kgroup.protocol.entries import LoggedEntry, OffsetGap, OffsetsEntry, TransactionMarker, Undecodable
from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.keys import group_of

if TYPE_CHECKING:
    from kgroup.net.admin import Cluster

_SLICE_BYTES = 64 * 1024 * 1024
_PARTITIONS = 50
_REMEMBERED_NAMES = 10_000  # of other groups, for a misspelt one
_PATTERN_CHARACTERS = frozenset("*?[")

Item = LoggedEntry | OffsetGap


@dataclass(slots=True)
class Replayed:
    """Timelines by group id, and what could not be read on the way: where and why."""

    timelines: dict[str, Timeline]
    problems: list[str] = field(default_factory=list)


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
        for sources in self._places():
            problems = []
            entries = _without_damage(self._entries(sources, advance), problems)
            timelines = replay(entries, names)
            if timelines:
                return Replayed(timelines, problems)
        why = f"no group here matches {' or '.join(self.patterns)}"
        if problems:
            more = f", and {len(problems) - 1} more places" if len(problems) > 1 else ""
            raise SourceError(f"{why}, but the log is damaged: {problems[0]}{more}")
        known = self._unwanted if self.cluster is None else self.cluster.group_ids()
        hint = did_you_mean(self.patterns[0], sorted(known))
        raise SourceError(f"{why}{hint or '; kgroup lag-report lists the groups of a log'}")

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

    @property
    def total_bytes(self) -> int:
        """What the first pass will read."""
        first = next(iter(self._places()))
        return sum(part.end - part.start for part in _slices(first)) if not _has_stdin(first) else 0

    def wanted(self, group: str) -> bool:
        """Whether a group is asked for."""
        if any(group == pattern or fnmatchcase(group, pattern) for pattern in self.patterns):
            return True
        if len(self._unwanted) < _REMEMBERED_NAMES:
            self._unwanted.add(group)
        return False

    def _places(self) -> Iterator[Sources]:
        """First the one partition that keeps a group by Kafka's rule, then everything.

        The rule needs the number of partitions, which files do not tell; so an empty-handed first look
        proves nothing.
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
    from kgroup.cli.live import live_log

    alone = groups[0] if len(groups) == 1 and not is_pattern(groups[0]) else None
    with live_log(source.connection, group=alone) as live:
        names = LogEnds([live.cluster.log_listing()]).topic_names()
        yield GroupReader(open_sources([live.folder]), groups, names, live.cluster)


def is_pattern(text: str) -> bool:
    """Whether it may match more than the group of that name."""
    return bool(_PATTERN_CHARACTERS & set(text))


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
            left_out = f"{item.size} bytes left out: " if item.size else ""
            problems.append(f"{item.segment}: byte {item.position}: {left_out}{item.why}")
        elif isinstance(item, LoggedEntry) and isinstance(item.entry, Undecodable):
            problems.append(f"offsets partition {item.partition}: offset {item.offset}: {item.entry.why}")
        else:
            yield item

"""The history of groups in opened logs: their timelines, and what could not be read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar, overload
from uuid import UUID

from kgroup.api.names import LISTED, is_pattern, matches_any, nothing_matches, without_match
from kgroup.api.opened import OpenedLogs, failed, left_out
from kgroup.api.tabular import Tabular
from kgroup.errors import InputError, SourceError
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Timeline
from kgroup.history.timeline.replay import replay as timelines_of
from kgroup.log.files.damage_text import damage_text, undecodable_text
from kgroup.log.files.entries import read_entries
from kgroup.log.files.small import read_small_of, small_bytes
from kgroup.log.files.sources import STDIN, Sources
from kgroup.log.files.spool import SpooledStream
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
from kgroup.report.emit import Column, Row
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted, printable

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import ClassicState, Cluster
    from kgroup.scan.reductions.scan import Slice

_SLICE_BYTES = 64 * 1024 * 1024
_PARTITIONS = 50
_REMEMBERED_NAMES = 10_000  # of other groups, for a misspelt one
_NAMES_SHOWN = 5
_DRAWN_MAX = 20  # a page of pictures; who wants more draws them one by one

Item = LoggedEntry | OffsetGap
Patterns = list[str] | tuple[str, ...]
_Made = TypeVar("_Made")


@dataclass(slots=True, kw_only=True, repr=False)
class GroupTimeline(Timeline, Tabular):
    """A Timeline that a notebook draws; as a table it has a row for each generation."""

    @classmethod
    def of(cls, timeline: Timeline) -> "GroupTimeline":
        """The same with another face."""
        return cls(**{each.name: getattr(timeline, each.name) for each in fields(Timeline)})

    def __repr__(self) -> str:
        generations = counted(len(self.generations), "generation")
        commits = counted(self.commits, "commit")
        return f"<Timeline of group {printable(self.group_id)}: {generations}, {commits}>"

    def _repr_html_(self) -> str:
        return _drawn([self])

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup replay -o parquet`."""
        from kgroup.report.timeline.rows import GENERATION_COLUMNS

        return GENERATION_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each generation."""
        from kgroup.report.timeline.rows import generation_rows

        return generation_rows([self], table=False)


class Watcher(Protocol):
    """Sees the entries of groups pass by as they are replayed."""

    def begin(self) -> None:
        """All entries come now, or once more from the start."""

    def add(self, logged: LoggedEntry) -> None:
        """The next entry."""


class Replayed(Mapping[str, GroupTimeline], Tabular):
    """Timelines by group id, in order; as a table all their generations.

    `patterns` are the names and patterns asked for. `problems` say what could not be read, where and why.
    `missing` says which of the patterns match nothing, if any; `remarks` what was skipped on purpose.
    """

    def __init__(
        self,
        timelines: Mapping[str, Timeline],
        patterns: Sequence[str],
        problems: Sequence[str] = (),
        missing: str | None = None,
        remarks: Sequence[str] = (),
    ) -> None:
        self._timelines = {name: GroupTimeline.of(timeline) for name, timeline in timelines.items()}
        self.patterns = tuple(patterns)
        self.problems = tuple(problems)
        self.missing = missing
        self.remarks = tuple(remarks)

    @property
    def unread(self) -> list[str]:
        """The problems, and what is missing."""
        return [*self.problems, *([self.missing] if self.missing else [])]

    def cut(self, part: Callable[[Timeline], Timeline]) -> "Replayed":
        """The same with a part of each timeline, as `kgroup.history.timeline.span` makes it."""
        parts = {name: part(timeline) for name, timeline in self._timelines.items()}
        return Replayed(parts, self.patterns, self.problems, self.missing, self.remarks)

    def __getitem__(self, group: str) -> GroupTimeline:
        return self._timelines[group]

    def __iter__(self) -> Iterator[str]:
        return iter(self._timelines)

    def __len__(self) -> int:
        return len(self._timelines)

    def __repr__(self) -> str:
        names = [printable(name) for name in islice(self, _NAMES_SHOWN)]
        more = [f"and {len(self) - _NAMES_SHOWN} more"] if len(self) > _NAMES_SHOWN else []
        return f"<Timelines of {counted(len(self), 'group')}: {', '.join([*names, *more])}>"

    def _repr_html_(self) -> str:
        return _drawn(list(islice(self.values(), _DRAWN_MAX)))

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup replay -o parquet`."""
        from kgroup.report.timeline.rows import GENERATION_COLUMNS

        return GENERATION_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each generation, groups in order."""
        from kgroup.report.timeline.rows import generation_rows

        return generation_rows(self.values(), table=False)


@overload
def replay(logs: OpenedLogs, groups: str, *, progress: Progress = NO_PROGRESS) -> GroupTimeline: ...


@overload
def replay(logs: OpenedLogs, groups: Patterns, *, progress: Progress = NO_PROGRESS) -> Replayed: ...


def replay(
    logs: OpenedLogs, groups: str | Patterns, *, progress: Progress = NO_PROGRESS
) -> GroupTimeline | Replayed:
    """The history of groups from the offsets topic: generations, what changed in each, and why.

    A name returns its timeline; a list of names and patterns (`["billing-*"]`) returns all that match, by
    group id. Raises SourceError if none of them exists, or the logs cannot be read; InputError for a string
    that matches several groups, or an empty list.
    """
    if not groups:
        raise InputError("no group given: the group to replay, or a list of patterns such as ['billing-*']")
    replayed = replay_all(logs, [groups] if isinstance(groups, str) else groups, progress=progress)
    if not isinstance(groups, str):
        return replayed
    if len(replayed) > 1 and groups not in replayed:
        raise InputError(
            f"{groups}: matches {len(replayed)} groups; for all of them give a list: [{groups!r}]"
        )
    return replayed[groups] if groups in replayed else next(iter(replayed.values()))


def replay_all(
    logs: OpenedLogs,
    patterns: Sequence[str],
    *,
    progress: Progress = NO_PROGRESS,
    watcher: Watcher | None = None,
) -> Replayed:
    """The timelines of all groups that match, while `watcher` sees their entries. Raises as `replay` does."""
    reader = GroupReader(logs.of_groups(patterns), patterns, logs.topic_names(), logs.cluster, logs.stdin)

    def made_of(entries: Iterable[Item], names: Mapping[UUID, str]) -> dict[str, Timeline]:
        return timelines_of(entries if watcher is None else _watched(entries, watcher), names)

    with progress.counted_bytes("reading", reader.total_bytes) as advance:
        read = reader.read_as(made_of, advance)
    return Replayed(read.groups, patterns, read.problems, read.missing, read.remarks)


def classic_states(logs: OpenedLogs, timelines: Iterable[Timeline]) -> "Iterator[tuple[str, ClassicState]]":
    """Each classic group with what its coordinator says of it now, if there is a live cluster to ask.

    That a rebalance is under way is in no log.
    """
    if logs.cluster is None:
        return
    for timeline in timelines:
        kinds = [generation.roster.kind for generation in timeline.generations[-1:]]
        state = logs.cluster.classic_state(timeline.group_id) if kinds == [GroupKind.CLASSIC] else None
        if state is not None:
            yield timeline.group_id, state


def states_now(logs: OpenedLogs, timelines: Iterable[Timeline]) -> Iterator[str]:
    """The same in words."""
    for group_id, state in classic_states(logs, timelines):
        yield f"group {group_id}: now {state.state}, with {counted(state.members, 'member')}"


class ReadGroups(NamedTuple, Generic[_Made]):
    """The results by group id; the rest is as `Replayed` has it."""

    groups: dict[str, _Made]
    problems: list[str]
    missing: str | None
    remarks: list[str]


@dataclass(slots=True)
class GroupReader:
    """Reads groups by name or pattern from sources.

    `cluster` is the live one that the sources are a copy of, `topic_names` are names of topic ids that it
    knows, over those of the files; `stdin` is read where the sources name it.
    """

    sources: Sources
    patterns: Sequence[str]
    topic_names: Mapping[UUID, str] = field(default_factory=dict)
    cluster: "Cluster | None" = None
    stdin: SpooledStream | None = None
    _unwanted: set[str] = field(default_factory=set)

    def read_as(
        self,
        made_of: Callable[[Iterable[Item], Mapping[UUID, str]], dict[str, _Made]],
        advance: Callable[[int], None],
    ) -> "ReadGroups[_Made]":
        """The values that `made_of` makes of groups' entries in log order and topic ids' names, by group id.

        Raises SourceError if none of the groups is there, or a file cannot be read.
        """
        remarks = left_out(self.sources)
        names = {**LogDirEndsReader(self.sources.log_dirs).topic_names(), **self.topic_names}
        problems = failed(self.sources)
        groups: dict[str, _Made] = {}
        unmatched: list[str] = []
        for sources in self._searched():
            problems = failed(self.sources)
            groups = made_of(_without_damage(self._entries(sources, advance), problems), names)
            unmatched = without_match(self.patterns, groups)
            if not unmatched:
                return ReadGroups(groups, problems, None, remarks)
        known = self._unwanted if self.cluster is None else self.cluster.group_ids()
        if groups:
            missing = nothing_matches("group", unmatched, {*known, *groups})
            return ReadGroups(groups, problems, missing, remarks)
        if problems:
            more = f", and {len(problems) - 1} more places" if len(problems) > 1 else ""
            damaged = f", but the log is damaged: {problems[0]}{more}"
            raise SourceError(nothing_matches("group", unmatched, (), damaged))
        raise SourceError(nothing_matches("group", unmatched, known, LISTED))

    @property
    def total_bytes(self) -> int:
        """The bytes that the first pass will read."""
        first = next(iter(self._searched()))
        if _has_stdin(first):
            return 0
        if (size := small_bytes(first)) is not None:
            return size
        return sum(part.end - part.start for part in slices_of(first))

    def wanted(self, group: str) -> bool:
        """Whether a group is asked for."""
        if matches_any(group, self.patterns):
            return True
        if len(self._unwanted) < _REMEMBERED_NAMES:
            self._unwanted.add(group)
        return False

    def _searched(self) -> Iterator[Sources]:
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
        size = small_bytes(sources)
        if size is not None and (items := read_small_of(sources, self.wanted)) is not None:
            advance(size)
            yield from items
            return
        from kgroup.scan.reductions.select import select

        yield from select(slices_of(sources), self.wanted, advance=advance)

    def _plain(self, sources: Sources) -> Iterator[Item | Damage]:
        """The same from a stream, which cannot be scanned in slices."""
        expected: dict[int, int] = {}
        stdin = None if self.stdin is None else self.stdin.open()
        for item in read_entries(sources, stdin=stdin):
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


def _watched(items: Iterable[Item], watcher: Watcher) -> Iterator[Item]:
    watcher.begin()
    for item in items:
        if isinstance(item, LoggedEntry):
            watcher.add(item)
        yield item


def slices_of(sources: Sources) -> "Iterator[Slice]":
    """All segments, in parts to be read one after the other."""
    from kgroup.scan.reductions.scan import split_among_others

    for segment in sources:
        yield from split_among_others(segment.path, segment.partition, _SLICE_BYTES)


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


def _drawn(timelines: Sequence[Timeline]) -> str:
    from kgroup.report.pages.page import GroupPage
    from kgroup.report.pages.still import svg_parts

    return "".join(svg_parts([GroupPage(group=each.group_id, timeline=each) for each in timelines]))

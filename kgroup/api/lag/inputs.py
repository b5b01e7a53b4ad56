"""Converts the result of a scan of the offsets topic to the inputs of `kgroup.lag.measures.rows`.

The same for a local scan and for one that Spark did: both end in a `Newest`. A small log ends in a
`PlainNewest`, without NumPy and Arrow, which are imported for the other one only.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from kgroup.api.lag.commits import Commits, PartitionOfGroup
from kgroup.api.lag.plain_commits import PlainNewest
from kgroup.api.opened import failed
from kgroup.history.groups.model import Group, GroupKind
from kgroup.history.groups.snapshot import logged_topic_names, read_groups
from kgroup.lag.findings.kinds import SHARE_WITHOUT_ROWS, kind_notes, remarks_on_streams
from kgroup.lag.findings.text import listed
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.lag.measures.rows import LagRow, lag_rows, owners_of
from kgroup.log.files.damage_text import damage_text
from kgroup.log.files.sources import Sources
from kgroup.log.topics.log_ends import LogDirEnds, LogDirEndsReader
from kgroup.log.topics.log_ends_file import read_log_ends_file
from kgroup.protocol.log_listing import LogListing
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, Undecodable
from kgroup.protocol.records.keys import group_of
from kgroup.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kgroup.scan.reductions.scan import Newest


@dataclass(frozen=True, kw_only=True)
class LagInputs:
    """All that rows are made of. `commits` are living ones, sorted by group, topic, partition.

    `problems` are what could not be read: each says where and why.
    """

    groups: Mapping[str, Group]
    commits: Commits
    ends: LogEnds
    pending: Collection[PartitionOfGroup]
    problems: tuple[str, ...]

    def rows(self) -> Iterator[LagRow]:
        """The rows of all groups, sorted by group, topic, partition, made as they are asked for."""
        return lag_rows(self.groups, self.commits, self.ends, self.pending)

    def topics(self) -> set[str]:
        """The topics that rows are of."""
        owned = {topic for group in self.groups.values() for topic, _ in owners_of(group, self.ends)}
        return owned | set(self.commits.names("topic"))

    def group_ids(self) -> set[str]:
        """The groups that the log knows, by records of their own or by commits."""
        return {*self.groups, *self.commits.names("group")}

    def groups_by_id(self) -> dict[str, Group | None]:
        """The same with what their own records say, None of those that only commit."""
        return {group_id: self.groups.get(group_id) for group_id in self.group_ids()}

    @cached_property
    def groups_without_rows(self) -> list[Group]:
        """Groups of the log that have neither commits nor owned partitions here."""
        committed = set(self.commits.names("group"))
        return [
            group
            for group_id, group in sorted(self.groups.items())
            if group_id not in committed
            and (group.kind is GroupKind.SHARE or not any(member.owned for member in group.members))
        ]

    def remarks(self) -> Iterator[str]:
        """Remarks on what rows leave out and users may miss."""
        yield from self.remarks_on_groups()
        yield from remarks_on_streams(self.streams_with_rows())
        yield from remarks_on_all(self.ends, self.topics(), len(self.pending), len(self.commits))

    def remarks_on_groups(self) -> Iterator[str]:
        """The remarks on single groups, by group id."""
        without_rows = {group.group_id for group in self.groups_without_rows}
        for group_id, group in sorted(self.groups.items()):
            notes = [*group.notes, *(note for member in group.members for note in member.notes)]
            notes += kind_notes(group, self.ends)
            if group_id in without_rows:
                share = group.kind is GroupKind.SHARE
                notes.insert(0, SHARE_WITHOUT_ROWS if share else "no offsets")
            if notes:
                members = f"{len(group.members)} member{'' if len(group.members) == 1 else 's'}"
                yield f"group {group_id} ({group.kind}, {group.state}, {members}): {'; '.join(notes)}"

    def streams_with_rows(self) -> list[str]:
        """The streams groups that have rows, in order."""
        streams = {name for name, group in self.groups.items() if group.kind is GroupKind.STREAMS}
        return sorted(streams - {group.group_id for group in self.groups_without_rows})


def remarks_on_all(ends: LogEnds, topics: Collection[str], pending: int, commits: int) -> Iterator[str]:
    """Remarks on all groups' rows together, given their topics and numbers."""
    if pending:
        yield f"{pending} newer commits are in transactions that are still open"
    if hidden := sorted(set(topics) & ends.hidden()):
        yield f"no right to describe {listed(hidden)}: whether it is there, and its lag, are unknown"
    if not ends.sources() and commits:
        yield "no log ends found: give a broker's log directory, or --log-ends FILE"


def gather(
    newest: "Newest | PlainNewest",
    sources: Sources,
    log_ends_file: Path | None,
    wanted: Callable[[str], bool],
    live: LogListing | None = None,
    judged: Callable[[Collection[str]], LogListing | None] = lambda topics: None,
) -> LagInputs:
    """Put together what a report on the groups that are `wanted` (by group id) needs.

    Log ends are asked for, in order of precedence: the file that the user gave, what a `live` cluster said,
    segments, checkpoints, samples of a recording. `judged` is the live cluster's word with a look into topics
    that it does not list.
    Raises InputError or SourceError for that file.
    """
    said = [read_log_ends_file(log_ends_file)] if log_ends_file else []
    said += [live] if live is not None else []
    reader = LogDirEndsReader(sources.log_dirs)
    commits, waiting = _commits_of(newest, wanted)
    names = {
        **logged_topic_names(newest.others),
        **commits.named_topic_ids(),
        **reader.topic_names(),
        **LogEnds(said).topic_names(),
    }
    groups = wanted_groups(newest, names, wanted)
    owned = {owned.topic for group in groups.values() for member in group.members for owned in member.owned}
    topics = owned | subscribed_topics(groups) | set(commits.names("topic"))
    ends = reader.read(topics)
    if live is not None:
        said[-1] = judged(topics) or live
    return LagInputs(
        groups=groups,
        commits=commits,
        ends=LogEnds([*said, ends.segments, ends.checkpoints, recorded_ends(ends, commits)]),
        pending={key for key in waiting if wanted(key[0])},
        problems=(*problems_in(newest, sources), *reader.problems),
    )


def _commits_of(
    newest: "Newest | PlainNewest", wanted: Callable[[str], bool]
) -> tuple[Commits, Collection[PartitionOfGroup]]:
    """The living commits of the groups that are wanted, and where a newer one waits."""
    if isinstance(newest, PlainNewest):
        return newest.living_commits(wanted), newest.pending_commits()
    from kgroup.api.lag.arrow_commits import ArrowCommits, living_commits, pending_commits

    return ArrowCommits(living_commits(newest.commits, wanted)), pending_commits(newest)


def recorded_ends(ends: LogDirEnds, commits: Commits) -> LogListing:
    """The log ends of the newest sample, no shorter than what was committed since: that had been written."""
    if ends.recorded_ms is None:
        return ends.recorded
    return raised(ends.recorded, furthest_since(commits, ends.recorded_ms))


def furthest_since(commits: Commits, since_ms: int) -> dict[TopicPartition, int]:
    """The furthest offset of each topic partition among commits made at this time (epoch ms) or later."""
    furthest: dict[TopicPartition, int] = {}
    for commit in commits.made_since(since_ms):
        key = commit.topic, commit.partition
        furthest[key] = max(commit.offset, furthest.get(key, -1))
    return furthest


def wanted_groups(
    newest: "Newest | PlainNewest", names: Mapping[UUID, str], wanted: Callable[[str], bool]
) -> dict[str, Group]:
    """The groups with records of their own that are wanted, by group id; `names` are of topics."""
    return read_groups(
        (
            logged
            for logged in newest.others
            if isinstance(logged.entry, OffsetsEntry) and wanted(group_of(logged.entry.key))
        ),
        names,
    )


def subscribed_topics(groups: Mapping[str, Group]) -> set[str]:
    """The topics members subscribe to by name."""
    return {
        topic for group in groups.values() for member in group.members for topic in member.subscribed or ()
    }


def raised(recorded: LogListing, furthest: Mapping[TopicPartition, int]) -> LogListing:
    """Log ends that are known, no shorter than these offsets."""
    logs = tuple(
        replace(log, log_end_offset=max(log.log_end_offset, furthest.get((log.topic, log.partition), -1)))
        if log.log_end_offset is not None
        else log
        for log in recorded.logs
    )
    return replace(recorded, logs=logs)


def problems_in(newest: "Newest | PlainNewest", sources: Sources) -> Iterator[str]:
    """The parts of the offsets topic that could not be read: each with its place and cause."""
    yield from failed(sources)
    for damage in newest.damage:
        yield damage_text(damage)
    for logged in newest.others:
        if isinstance(logged.entry, Undecodable):
            yield f"{_segment_of(logged, sources)}: offset {logged.offset}: {logged.entry.why}"


def _segment_of(logged: LoggedEntry, sources: Sources) -> str:
    """The segment that the entry is in: the last one of its offsets partition that begins before it."""
    segments = [
        segment.path
        for segment in sources.segments
        if segment.partition == logged.partition and (segment.base_offset or 0) <= logged.offset
    ]
    return segments[-1] if segments else f"offsets partition {logged.partition}"

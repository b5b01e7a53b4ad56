"""Converts the result of a scan of the offsets topic to the inputs of `kgroup.lag.measures.rows`.

The same for a local scan and for one that Spark did: both end in a `Newest`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.api.opened import failed
from kgroup.history.groups.model import Group, GroupKind
from kgroup.history.groups.snapshot import logged_topic_names, read_groups
from kgroup.lag.findings.kinds import SHARE_WITHOUT_ROWS, kind_notes, remarks_on_streams
from kgroup.lag.findings.text import listed
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.lag.measures.rows import Commit, LagRow, lag_rows, owners_of
from kgroup.log.files.damage_text import damage_text
from kgroup.log.files.sources import Sources
from kgroup.log.topics.log_ends import LogDirEnds, LogDirEndsReader
from kgroup.log.topics.log_ends_file import read_log_ends_file
from kgroup.protocol.log_listing import LogListing
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, Undecodable
from kgroup.protocol.records.keys import group_of
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.scan.kernels.gather import numbers, values_of
from kgroup.scan.reading.order import ordered_by, ranks

if TYPE_CHECKING:
    from kgroup.scan.reductions.scan import Newest

_ROWS_AT_ONCE = 4096

PartitionOfGroup = tuple[str, str, int]
"""Group, topic, partition."""


@dataclass(frozen=True, kw_only=True)
class LagInputs:
    """All that rows are made of. `commits` are living ones, sorted by group, topic, partition.

    `problems` are what could not be read: each says where and why.
    """

    groups: Mapping[str, Group]
    commits: pa.Table
    ends: LogEnds
    pending: Collection[PartitionOfGroup]
    problems: tuple[str, ...]

    def rows(self) -> Iterator[LagRow]:
        """The rows of all groups, sorted by group, topic, partition, made as they are asked for."""
        return lag_rows(self.groups, iterate_commits(self.commits), self.ends, self.pending)

    def topics(self) -> set[str]:
        """The topics that rows are of."""
        owned = {topic for group in self.groups.values() for topic, _ in owners_of(group, self.ends)}
        return owned | set(names_in(self.commits, "topic"))

    def group_ids(self) -> set[str]:
        """The groups that the log knows, by records of their own or by commits."""
        return {*self.groups, *names_in(self.commits, "group")}

    def groups_by_id(self) -> dict[str, Group | None]:
        """The same with what their own records say, None of those that only commit."""
        return {group_id: self.groups.get(group_id) for group_id in self.group_ids()}

    @cached_property
    def groups_without_rows(self) -> list[Group]:
        """Groups of the log that have neither commits nor owned partitions here."""
        committed = set(names_in(self.commits, "group"))
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
        yield from remarks_on_all(self.ends, self.topics(), len(self.pending), self.commits.num_rows)

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
    newest: "Newest",
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
    commits = living_commits(newest.commits, wanted)
    names = {
        **logged_topic_names(newest.others),
        **named_topic_ids(commits),
        **reader.topic_names(),
        **LogEnds(said).topic_names(),
    }
    groups = wanted_groups(newest, names, wanted)
    owned = {owned.topic for group in groups.values() for member in group.members for owned in member.owned}
    topics = owned | subscribed_topics(groups) | set(names_in(commits, "topic"))
    ends = reader.read(topics)
    if live is not None:
        said[-1] = judged(topics) or live
    return LagInputs(
        groups=groups,
        commits=commits,
        ends=LogEnds([*said, ends.segments, ends.checkpoints, recorded_ends(ends, commits)]),
        pending={key for key in pending_commits(newest) if wanted(key[0])},
        problems=(*problems_in(newest, sources), *reader.problems),
    )


def recorded_ends(ends: LogDirEnds, commits: pa.Table) -> LogListing:
    """The log ends of the newest sample, no shorter than what was committed since: that had been written."""
    if ends.recorded_ms is None:
        return ends.recorded
    return raised(ends.recorded, furthest_since(commits, ends.recorded_ms))


def wanted_groups(
    newest: "Newest", names: Mapping[UUID, str], wanted: Callable[[str], bool]
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


def furthest_since(commits: pa.Table, since_ms: int) -> dict[TopicPartition, int]:
    """The furthest offset of each topic partition among commits made at this time (epoch ms) or later."""
    since = commits.take(numbers(np.flatnonzero(values_of(commits["commit_timestamp"]) >= since_ms)))
    furthest: dict[TopicPartition, int] = {}
    for commit in iterate_commits(since):
        key = commit.topic, commit.partition
        furthest[key] = max(commit.offset, furthest.get(key, -1))
    return furthest


def raised(recorded: LogListing, furthest: Mapping[TopicPartition, int]) -> LogListing:
    """Log ends that are known, no shorter than these offsets."""
    logs = tuple(
        replace(log, log_end_offset=max(log.log_end_offset, furthest.get((log.topic, log.partition), -1)))
        if log.log_end_offset is not None
        else log
        for log in recorded.logs
    )
    return replace(recorded, logs=logs)


def problems_in(newest: "Newest", sources: Sources) -> Iterator[str]:
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


def living_commits(commits: pa.Table, wanted: Callable[[str], bool]) -> pa.Table:
    """The commits that count of the groups that are `wanted`, sorted by group, topic, partition.

    Tombstones are left out. One chunk; `group` and `topic` as dictionaries.
    """
    table = commits.unify_dictionaries().combine_chunks()
    names, codes = dictionary_of(table, "group")
    chosen = np.array([wanted(name) for name in names], np.bool_)[codes]
    chosen &= np.asarray(values_of(table["value_version"]), np.int64) >= 0  # a tombstone has none
    order = ordered_by(ranks(table["group"]), ranks(table["topic"]), values_of(table["partition"]))
    return table.take(numbers(order[chosen[order]])).combine_chunks()


def dictionary_of(commits: pa.Table, column: str) -> tuple[list[str], NDArray[np.int64]]:
    """The names in a column of commits in one chunk, and by row the place of its name among them."""
    if not commits.num_rows:
        return [], np.empty(0, np.int64)
    array = commits[column].chunk(0)
    assert isinstance(array, pa.DictionaryArray)
    return array.dictionary.to_pylist(), values_of(commits[column])


def names_in(commits: pa.Table, column: str) -> list[str]:
    """The groups, or topics, of commits in one chunk, in order."""
    names, codes = dictionary_of(commits, column)
    return sorted(names[code] for code in np.flatnonzero(np.bincount(codes)))


def named_topic_ids(commits: pa.Table) -> dict[UUID, str]:
    """Topic id to name, as commits of value version 4 carry both."""
    names: dict[UUID, str] = {}
    for batch in commits.select(["topic_id", "topic"]).to_batches(max_chunksize=_ROWS_AT_ONCE):
        # Not by Arrow's group_by: loading its engine takes more memory than all the rest of a report.
        pairs = set(zip(batch["topic_id"].to_pylist(), batch["topic"].to_pylist(), strict=True))
        names |= {UUID(bytes=raw): str(topic) for raw, topic in pairs if raw is not None and any(raw)}
    return names


def iterate_commits(commits: pa.Table) -> Iterator[Commit]:
    """Each row of a commits table as a value; a few thousand are held at a time."""
    for batch in commits.to_batches(max_chunksize=_ROWS_AT_ONCE):
        columns = [
            batch[name].to_pylist()
            for name in (
                "group",
                "topic",
                "partition",
                "offset",
                "leader_epoch",
                "metadata",
                "commit_timestamp",
                "expire_timestamp",
                "topic_id",
                "offsets_partition",
                "log_offset",
            )
        ]
        for (
            group,
            topic,
            partition,
            offset,
            epoch,
            metadata,
            time,
            expires,
            topic_id,
            offsets_partition,
            log_offset,
        ) in zip(*columns, strict=True):
            yield Commit(
                group=group,
                topic=topic,
                partition=partition,
                offset=offset,
                leader_epoch=epoch if epoch >= 0 else None,
                metadata=metadata or "",
                commit_timestamp=time,
                expire_timestamp=expires if expires >= 0 else None,
                topic_id=_topic_id(topic_id),
                offsets_partition=offsets_partition,
                log_offset=log_offset,
            )


@lru_cache(maxsize=4096)  # a report has few topics, and a commit for each group of each partition
def _topic_id(raw: bytes | None) -> UUID | None:
    return UUID(bytes=raw) if raw and any(raw) else None


def pending_commits(newest: "Newest") -> set[PartitionOfGroup]:
    """Partitions with a commit in an open transaction newer than what counts, tombstones included."""
    if not newest.pending.num_rows:
        return set()
    settled = {
        (commit.offsets_partition, commit.group, commit.topic, commit.partition): commit.log_offset
        for commit in iterate_commits(newest.commits)
    }
    return {
        (commit.group, commit.topic, commit.partition)
        for commit in iterate_commits(newest.pending)
        if commit.log_offset
        > settled.get((commit.offsets_partition, commit.group, commit.topic, commit.partition), -1)
    }

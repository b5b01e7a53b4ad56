"""Every commit of a group, with its step and its rate."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kgroup.api.decode.filter import parse_topics
from kgroup.api.names import matches_any, names_given
from kgroup.api.opened import OpenedLogs
from kgroup.api.replay import GroupReader, replay_all
from kgroup.api.tabular import Tabular
from kgroup.history.timeline.commit_steps import CommitStep, commit_steps, with_removals
from kgroup.history.timeline.span import Span
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap, OffsetsEntry
from kgroup.protocol.records.keys import group_of
from kgroup.report.commit_rows import COMMIT_COLUMNS, commit_rows
from kgroup.report.emit import Column, Row
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits(Tabular):
    """Commits in log order, groups by name. `problems` are places that could not be read, with the reason.

    `missing` says which of the groups is not there; `remarks` what was not to be read.
    """

    steps: Sequence[CommitStep]
    problems: Sequence[str] = ()
    missing: str | None = None
    remarks: Sequence[str] = ()

    def __repr__(self) -> str:
        return f"<{counted(len(self.steps), 'commit')}>"

    def within(self, span: Span) -> "Commits":
        """The steps of a span; each is from the commit before it, wherever that is."""
        return replace(self, steps=[step for step in self.steps if span.has(step.at_ms)])

    @property
    def extent(self) -> tuple[int, int] | None:
        """The first and the last time (epoch ms), None without any commit."""
        times = [step.at_ms for step in self.steps]
        return (min(times), max(times)) if times else None

    def longest_gaps(self) -> Iterator[CommitStep]:
        """The commit with the longest gap before it, by group."""
        longest: dict[str, CommitStep] = {}
        for step in self.steps:
            before = longest.get(step.group)
            if step.gap_ms is not None and (before is None or step.gap_ms > (before.gap_ms or 0)):
                longest[step.group] = step
        return iter(longest.values())

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup commits -o parquet`."""
        return COMMIT_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each commit."""
        return commit_rows(self.steps)


def commits(
    logs: OpenedLogs,
    groups: str | Sequence[str],
    *,
    topics: str | Sequence[str] | None = None,
    progress: Progress = NO_PROGRESS,
) -> Commits:
    """Read the commits of groups, which are names or patterns, on topics: `orders`, `or*`, `orders:0,3`.

    Raises SourceError if no group is there, InputError for an invalid topic.
    """
    patterns = names_given(groups) or ()
    named = names_given(topics)
    wanted = parse_topics(named) if named else None
    reader = GroupReader(logs.of_groups(patterns), patterns, logs.topic_names(), logs.cluster, logs.stdin)
    with progress.counted_bytes("reading", reader.total_bytes) as advance:
        read = reader.read_as(lambda items, names: _by_group(items), advance)
    # A cause needs all of the group's records, so they are read once more, where there is a deletion.
    bereft = [group for group, steps in read.groups.items() if any(step.offset is None for step in steps)]
    timelines = replay_all(logs, bereft, progress=progress) if bereft else {}
    steps = [
        step
        for group, of_group in read.groups.items()
        for step in (with_removals(of_group, timelines[group]) if group in timelines else of_group)
        if wanted is None
        or any(
            matches_any(step.topic, [topic]) and (partitions is None or step.partition in partitions)
            for topic, partitions in wanted
        )
    ]
    return Commits(steps=steps, problems=read.problems, missing=read.missing, remarks=read.remarks)


def _by_group(items: Iterable[LoggedEntry | OffsetGap]) -> dict[str, list[CommitStep]]:
    """Commits by group id; a group that only has other records has none."""
    groups: dict[str, list[CommitStep]] = {}

    def noted() -> Iterator[LoggedEntry | OffsetGap]:
        for item in items:
            if isinstance(item, LoggedEntry) and isinstance(item.entry, OffsetsEntry):
                groups.setdefault(group_of(item.entry.key), [])
            yield item

    for step in commit_steps(noted()):
        groups[step.group].append(step)
    return dict(sorted(groups.items()))

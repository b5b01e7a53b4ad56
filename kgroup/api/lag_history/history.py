"""`lag-report --windows`: each group's lag at the end of each time window, from the whole log.

Two passes, here and on Spark alike: a reduction of the log to the last commits of each window; then, with the
log ends of the time, rows of some keys after the other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from kgroup.api.lag_history.rows import AskedEnds, History
from kgroup.api.names import nothing_matches, without_match
from kgroup.errors import InputError, SourceError
from kgroup.lag.status.columns import FURTHEST
from kgroup.lag.status.history import WindowsOfTime
from kgroup.lag.status.rule_sets import LagRules
from kgroup.log.topics.past_ends import BetweenSamples, PastEndsInLogs
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.emit import iso_time
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reductions.keyed_rows import CommitKey, KeyedCommits, KeyedRows
from kgroup.scan.reductions.last_commits import Keep, LastPart, LastReader, times_of
from kgroup.scan.reductions.rows_read import rows_in_order

if TYPE_CHECKING:
    from kgroup.log.files.sources import Sources

_SLICE_BYTES: Final = 256 * 1024 * 1024  # between two looks at the progress bar
_WINDOWS_MAX: Final = 20_000  # 208 days of quarters of an hour


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions:
    """The options of a history. `since_ms` and `until_ms` are as far as the log goes if None.

    `groups` and `topics` are the names that were given, if any were.
    """

    length_ms: int
    since_ms: int | None
    until_ms: int | None
    slots: int
    rules: LagRules
    wanted_group: Callable[[str], bool]
    wanted_topic: Callable[[str], bool]
    only_lagging: bool
    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    def is_wanted(self, group: str, topic: str) -> bool:
        """Whether rows of a group and topic are asked for."""
        return self.wanted_group(group) and self.wanted_topic(topic)

    @property
    def keep(self) -> Keep:
        """The commits that the reduction keeps."""
        return Keep(slots=self.slots, period_ms=self.length_ms)


class Extent(NamedTuple):
    """Times of the first and the last commit in a part of the log, epoch ms."""

    oldest_ms: int
    newest_ms: int


@dataclass(frozen=True, slots=True)
class UnknownEnds:
    """The number of topic partitions without any known past log end, and the first of them."""

    count: int
    first: TopicPartition

    @classmethod
    def of(cls, places: Set[TopicPartition]) -> "UnknownEnds | None":
        """None without any."""
        return cls(len(places), min(places)) if places else None


OpenEnds = Callable[[Sequence[CommitKey], Sequence[int]], AskedEnds]
"""Given all keys and rising times (epoch ms): who knows where their logs ended then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryHere:
    """All that rows are made of. `names` are the groups and topics of all commits, wanted or not.

    `problems` are what could not be read: each says where and why. `between_samples` are log ends that are
    not exact, all of them when the rows have been made; None if others know the ends.
    """

    history: History
    commits: KeyedCommits
    ends: AskedEnds
    names: Set[tuple[str, str]]
    problems: tuple[str, ...]
    between_samples: BetweenSamples | None = None

    def missing(self, options: HistoryOptions) -> list[str]:
        """The given names that nothing here has or matches, with the nearest that exist."""
        groups, topics = {group for group, _ in self.names}, {topic for _, topic in self.names}
        return [
            nothing_matches(kind, unmatched, names)
            for kind, given, names in (("group", options.groups, groups), ("topic", options.topics, topics))
            if (unmatched := without_match(given, names))
        ]

    def rows(self) -> Iterator[KeyedRows]:
        """The rows, by key and window; `ends` has all that is unknown when they have been made."""
        return self.history.rows(self.commits, self.ends)


def history_here(
    sources: "Sources",
    options: HistoryOptions,
    open_ends: OpenEnds | None = None,
    *,
    progress: Progress = NO_PROGRESS,
) -> HistoryHere:
    """Read the log here.

    `open_ends` knows past log ends, if the logs next to the offsets topic are not to be used. Raises as
    `plan_history` does.
    """
    from kgroup.scan.reductions.scan import split_among_others

    slices = [
        part
        for segment in sources
        for part in split_among_others(segment.path, segment.partition, _SLICE_BYTES)
    ]
    slices.sort(key=attrgetter("offsets_partition"))
    extents, commits = [], []
    names: set[tuple[str, str]] = set()
    problems: list[str] = []

    def is_wanted(group: str, topic: str) -> bool:
        names.add((group, topic))
        return options.is_wanted(group, topic)

    with progress.counted_bytes("reading", sum(part.end - part.start for part in slices)) as advance:
        # One by one: putting all into one order takes several times the memory of what is kept.
        for _, of_partition in groupby(slices, key=attrgetter("offsets_partition")):
            reader = LastReader(options.keep)
            for read in rows_in_order(of_partition, advance):
                reader.add(read)
            part = reader.part()
            problems += part.problems
            extents.append(extent_of(part))
            commits.append(KeyedCommits.of(part, is_wanted))
    history = plan_history(extents, options)
    joined = KeyedCommits.joined(commits)
    times_ms = (history.windows.ends_ms() - 1).tolist()
    between_samples = None
    if open_ends is None:
        in_logs = PastEndsInLogs(sources.log_dirs, times_ms)
        ends, between_samples = AskedEnds(in_logs), in_logs.between_samples
    else:
        ends = open_ends(joined.commits.keys, times_ms)
    return HistoryHere(
        history=history,
        commits=joined,
        ends=ends,
        names=names,
        problems=tuple(problems),
        between_samples=between_samples,
    )


def plan_history(extents: Iterable[Extent | None], options: HistoryOptions) -> History:
    """The history's windows, from the extents of the parts of a log.

    Raises InputError if the windows are too many, SourceError if there is no commit.
    """
    known = [extent for extent in extents if extent is not None]
    if not known:
        raise SourceError("the log holds no commit, so it has no history")
    oldest_ms = min(extent.oldest_ms for extent in known)
    newest_ms = max(extent.newest_ms for extent in known)
    until_ms = newest_ms if options.until_ms is None else options.until_ms
    since_ms = oldest_ms if options.since_ms is None else max(options.since_ms, oldest_ms)
    windows = WindowsOfTime.between(since_ms, until_ms, options.length_ms)
    if len(windows) > _WINDOWS_MAX:
        raise InputError(
            f"--windows: {len(windows)} of them from {iso_time(since_ms)} to {iso_time(until_ms)};"
            f" no more than {_WINDOWS_MAX}: give longer ones, or a later --since"
        )
    return History(
        windows=windows, slots=options.slots, rules=options.rules, only_lagging=options.only_lagging
    )


def extent_of(part: LastPart) -> Extent | None:
    """None if there is no commit in the part, or none at a time that can be."""
    times_ms = times_of(part.settled)[values_of(part.settled["value_version"]) >= 0]
    times_ms = times_ms[(times_ms <= FURTHEST) & (times_ms >= -FURTHEST)]
    return Extent(int(times_ms.min()), int(times_ms.max())) if len(times_ms) else None

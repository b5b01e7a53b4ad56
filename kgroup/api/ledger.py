"""Offsets that groups skipped, and offsets that they read twice."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, overload
from uuid import UUID

from kgroup.api.names import matches_any, names_given, nothing_matches, without_match
from kgroup.api.opened import OpenedLogs
from kgroup.api.replay import GroupReader, Item, Patterns
from kgroup.api.tabular import Tabular
from kgroup.errors import InputError, SourceError
from kgroup.history.ledger.ledger import ledgers
from kgroup.history.ledger.model import Ledger
from kgroup.history.timeline.model import Partition
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.log.topics.log_ends_file import read_log_ends_file
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.report.emit import Column, Row
from kgroup.report.html_table import html_table
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted, printable
from kgroup.report.timeline.ledger_rows import ENTRY_COLUMNS, entry_rows, entry_table

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupLedger(Ledger, Tabular):
    """A Ledger that a notebook shows; as a table it has a row for each entry."""

    @classmethod
    def of(cls, ledger: Ledger) -> Self:
        """The same with another face."""
        return cls(**{each.name: getattr(ledger, each.name) for each in fields(Ledger)})

    def __repr__(self) -> str:
        return f"<Ledger of group {printable(self.group_id)}: {_entries(len(self.entries))}>"

    def _repr_html_(self) -> str:
        return html_table(entry_rows([self]), entry_table(several=False))

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup ledger -o parquet`."""
        return ENTRY_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each entry."""
        return entry_rows([self])


class Ledgers(Mapping[str, GroupLedger], Tabular):
    """Ledgers by group id, in order; as a table all their entries.

    `problems` say what could not be read, where and why. `missing` says which of the patterns match
    nothing, if any; `remarks` what was skipped on purpose.
    """

    def __init__(
        self,
        ledgers: Mapping[str, Ledger],
        problems: Sequence[str] = (),
        missing: str | None = None,
        remarks: Sequence[str] = (),
    ) -> None:
        self._ledgers = {name: GroupLedger.of(each) for name, each in ledgers.items()}
        self.problems = tuple(problems)
        self.missing = missing
        self.remarks = tuple(remarks)

    @property
    def unread(self) -> list[str]:
        """The problems, and what is missing."""
        return [*self.problems, *([self.missing] if self.missing else [])]

    def __getitem__(self, group: str) -> GroupLedger:
        return self._ledgers[group]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ledgers)

    def __len__(self) -> int:
        return len(self._ledgers)

    def __repr__(self) -> str:
        entries = _entries(sum(len(each.entries) for each in self.values()))
        return f"<Ledgers of {counted(len(self), 'group')}: {entries}>"

    def _repr_html_(self) -> str:
        return html_table(entry_rows(self.values()), entry_table(several=len(self) > 1))

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup ledger -o parquet`."""
        return ENTRY_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each entry, groups in order."""
        return entry_rows(self.values())


@overload
def ledger(
    logs: OpenedLogs,
    groups: str,
    *,
    topics: str | Sequence[str] | None = None,
    since_ms: int | None = None,
    until_ms: int | None = None,
    only_certain: bool = False,
    log_ends: str | Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> GroupLedger: ...


@overload
def ledger(
    logs: OpenedLogs,
    groups: Patterns,
    *,
    topics: str | Sequence[str] | None = None,
    since_ms: int | None = None,
    until_ms: int | None = None,
    only_certain: bool = False,
    log_ends: str | Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Ledgers: ...


def ledger(
    logs: OpenedLogs,
    groups: str | Patterns,
    *,
    topics: str | Sequence[str] | None = None,
    since_ms: int | None = None,
    until_ms: int | None = None,
    only_certain: bool = False,
    log_ends: str | Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> GroupLedger | Ledgers:
    """Account for offsets nobody in a group can have read, and for those handed out more than once.

    A name returns its ledger; a list of names and patterns (`["billing-*"]`) returns all that match, by
    group id. `topics` are names or patterns. Entries from `since_ms` up to but excluding `until_ms` (epoch
    ms) are kept, although the history is always read from its beginning; `only_certain` omits bounds.
    `log_ends` is a file whose log starts and ends take precedence.

    Raises SourceError if none of the groups or topics exists, or the logs cannot be read; InputError for a
    string that matches several groups, an empty list, or a period that ends before it begins.
    """
    if not groups:
        raise InputError("no group given: the group to account for, or a list of patterns as ['billing-*']")
    if since_ms is not None and until_ms is not None and until_ms <= since_ms:
        raise InputError("the time ends before it begins: `until_ms` is not after `since_ms`")
    patterns = [groups] if isinstance(groups, str) else groups
    sources = logs.of_groups(patterns)
    reader = GroupReader(sources, patterns, logs.topic_names(), logs.cluster, logs.stdin)
    bounds = _Bounds(logs, None if log_ends is None else Path(log_ends))

    def made_of(entries: Iterable[Item], names: Mapping[UUID, str]) -> dict[str, Ledger]:
        return ledgers(entries, names, bounds)

    with progress.counted_bytes("reading", reader.total_bytes) as advance:
        read = reader.read_as(made_of, advance)
    kept = _kept(read.groups, names_given(topics), since_ms, until_ms, only_certain=only_certain)
    if not isinstance(groups, str):
        return Ledgers(kept, [*read.problems, *bounds.problems], read.missing, read.remarks)
    if len(kept) > 1 and groups not in kept:
        raise InputError(f"{groups}: matches {len(kept)} groups; for all of them give a list: [{groups!r}]")
    return GroupLedger.of(kept[groups] if groups in kept else next(iter(kept.values())))


def _kept(
    made: Mapping[str, Ledger],
    topics: tuple[str, ...] | None,
    since_ms: int | None,
    until_ms: int | None,
    *,
    only_certain: bool,
) -> dict[str, Ledger]:
    """The entries of these topics and times. Raises SourceError if none of the topics is there."""
    if topics is not None:
        there = {topic for each in made.values() for topic in each.topics}
        unmatched = without_match(topics, there)
        if len(unmatched) == len(set(topics)):
            otherwise = "; leave out --topic to see all"
            raise SourceError(nothing_matches("topic", unmatched, there, otherwise, "of these groups"))
    return {
        group_id: replace(
            each,
            entries=tuple(
                entry
                for entry in each.entries
                if (topics is None or matches_any(entry.partition.topic, topics))
                and (since_ms is None or entry.at_ms >= since_ms)
                and (until_ms is None or entry.at_ms < until_ms)
                and (entry.is_certain or not only_certain)
            ),
        )
        for group_id, each in made.items()
    }


@dataclass
class _Bounds:
    """The logs of data topics: from a file, a cluster, or the folders next to the offsets topic."""

    logs: OpenedLogs
    log_ends_file: Path | None
    problems: list[str] = field(default_factory=list)
    _ends: dict[str, LogEnds] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._given = [] if self.log_ends_file is None else [read_log_ends_file(self.log_ends_file)]
        self._data_logs = DataLogs(self.logs.sources.log_dirs)
        self._reader = LogDirEndsReader(self.logs.sources.log_dirs)

    def start(self, partition: Partition) -> int | None:
        """The first offset that is still there."""
        log = self._log_ends(partition.topic).find(*partition)
        return None if log is None else log.log_start_offset

    def end(self, partition: Partition) -> int | None:
        """The offset behind the last record now."""
        log = self._log_ends(partition.topic).find(*partition)
        return None if log is None else log.log_end_offset

    def was_cut_by_request(self, partition: Partition) -> bool:
        """Whether its first segment begins before it does."""
        start, base = self.start(partition), self._data_logs.first_base_offset(*partition)
        return start is not None and base is not None and base < start

    def ends_at(self, partition: Partition, times_ms: Sequence[int]) -> list[int | None]:
        """The log's end at each of these times; its end now if that is unknown."""
        if not times_ms:
            return []
        now = self.end(partition)
        if self.logs.cluster is None:
            ends = self._ends_in_log(partition, times_ms)
        elif now is None:
            return [None] * len(times_ms)
        else:
            ends = _live_ends(self.logs.cluster, partition, times_ms)
        return [now if end is None else end for end in ends]

    def _ends_in_log(self, partition: Partition, times_ms: Sequence[int]) -> list[int | None]:
        try:
            if self._data_logs.end(*partition) is None:
                return [None] * len(times_ms)
            ends = self._data_logs.ends_at(*partition, times_ms)
        except SourceError as error:
            self._note(str(error))
            return [None] * len(times_ms)
        # Before its first record that is left the log can have ended no later than there.
        start = self.start(partition)
        return [start if end is None else end for end in ends]

    def _log_ends(self, topic: str) -> LogEnds:
        if topic not in self._ends:
            live = self.logs.listing
            listings = [*self._given, *([live] if live is not None else [])]
            beside = self._reader.read((topic,))
            self._ends[topic] = LogEnds([*listings, beside.segments, beside.checkpoints])
            for problem in self._reader.problems:
                self._note(problem)
        return self._ends[topic]

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def _live_ends(cluster: "Cluster", partition: Partition, times_ms: Sequence[int]) -> list[int | None]:
    from kgroup.net.admin.timestamps import TimeInLog, first_newer

    asked = [TimeInLog(partition.topic, partition.partition, time_ms) for time_ms in times_ms]
    answers = first_newer(cluster, asked)
    return [answers.get(each) for each in asked]


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"

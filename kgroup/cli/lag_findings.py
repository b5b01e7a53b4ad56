"""What `lag-report` finds wrong with groups: facts from the log, put together for `kgroup.group.findings`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final

from kgroup.cli.lag_inputs import LagInputs, iterate_commits
from kgroup.cli.lag_status import Windows
from kgroup.errors import SourceError
from kgroup.group.commit_window import CommitWindow, LogEnd
from kgroup.group.finding_model import Finding, GroupFacts, OpenCommit, PartitionFacts
from kgroup.group.findings import find
from kgroup.group.lag import LagRow
from kgroup.group.lag_rules import KgroupRules
from kgroup.group.log_ends import TopicState
from kgroup.group.membership import Group, simple_group
from kgroup.group.offset_expiry import RETENTION_MS
from kgroup.group.reach import seen_ends, unread_by
from kgroup.group.timeline import replay
from kgroup.group.timeline_model import Grade, Pattern
from kgroup.log.data_logs import DataLogs
from kgroup.log.scan_gather import values_of
from kgroup.log.scan_history import History
from kgroup.log.scan_newest import Newest
from kgroup.protocol.entries import LoggedEntry
from kgroup.report.emit import Column, Kind, Row

FINDING_COLUMNS: Final = (
    Column(name="group"),
    Column(name="finding"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="member_id"),
    Column(name="client_id"),
    Column(name="since", kind=Kind.TIME_MS),
    Column(name="grade"),
    Column(name="evidence"),
    Column(name="numbers", kind=Kind.NESTED),
    Column(name="try_this", header="TRY"),
)
FINDING_TABLE: Final = (
    Column(name="group"),
    Column(name="finding"),
    Column(name="where"),
    Column(name="lasting_ms", header="FOR", kind=Kind.DURATION_MS),
    Column(name="evidence"),
)

_POINTS: Final = 60  # log ends of the past, evenly over a partition's log
_PLACES_KEPT: Final = 4096
_NO_COMMITS: Final = CommitWindow(slots=0)
_Place = tuple[str, int]


class Reaches:
    """How far anybody had got in each partition, by topic and partition."""

    def __init__(self, history: History) -> None:
        table = history.reach
        self._offsets = values_of(table["offset"])
        self._timestamps = values_of(table["commit_timestamp"])
        places = list(zip(table["topic"].to_pylist(), values_of(table["partition"]).tolist(), strict=True))
        begins = [row for row, place in enumerate(places) if not row or place != places[row - 1]]
        self._rows: dict[_Place, slice] = {
            (str(places[begin][0]), places[begin][1]): slice(begin, end)
            for begin, end in pairwise([*begins, len(places)])
        }
        self.seen = lru_cache(_PLACES_KEPT)(self._find)
        """Proven log ends of the past, by time, of a topic, partition, and its log end offset."""

    def _find(self, topic: str, partition: int, log_end_offset: int | None) -> tuple[LogEnd, ...]:
        rows = self._rows.get((topic, partition), slice(0))
        pairs = zip(self._offsets[rows].tolist(), self._timestamps[rows].tolist(), strict=True)
        return seen_ends(
            (LogEnd(offset=offset, timestamp=timestamp) for offset, timestamp in pairs), log_end_offset
        )


class FactReader:
    """Puts together what is known of each group at `now_ms` (epoch ms).

    The rules are kgroup's own, whatever --rules says of statuses: findings stand on what is certain.
    """

    def __init__(
        self,
        newest: Newest,
        windows: Windows,
        history: History,
        data_logs: DataLogs,
        now_ms: int,
        retention_ms: int = RETENTION_MS,
    ) -> None:
        self._newest = newest
        self._windows = windows
        self._rounds = history.rounds
        self._reaches = Reaches(history)
        self._data_logs = data_logs
        self.now_ms = now_ms
        self._retention_ms = retention_ms
        self.problems: list[str] = []
        """What of the data topics' logs could not be read, once it has been met."""

    def facts(self, inputs: LagInputs) -> Iterator[GroupFacts]:
        """All groups that have rows or records of their own, by group id."""
        patterns, open_commits = self._patterns(inputs.groups), self._open_commits()
        for group_id, rows in _by_group(inputs):
            yield GroupFacts(
                group=inputs.groups.get(group_id) or simple_group(group_id),
                partitions=tuple(map(self._partition, rows)),
                now_ms=self.now_ms,
                patterns=patterns.get(group_id, ()),
                open_commits=tuple(open_commits.get(group_id, ())),
                retention_ms=self._retention_ms,
            )

    def _partition(self, row: LagRow) -> PartitionFacts:
        window = _NO_COMMITS
        if row.current_offset is not None:
            window = self._windows.find(row.group, row.topic, row.partition)
        is_there = row.topic_state in (TopicState.EXISTS, TopicState.UNKNOWN)
        if row.log_end_offset is None or not is_there or not window.commits:
            return PartitionFacts(row=row, window=window)
        seen = self._seen(row) if (row.lag or 0) > 0 else ()
        if seen:
            window = replace(window, unread_by_ms=unread_by(seen, window.commits[-1].offset))
        verdict = KgroupRules().judge(window, row.log_end_offset, self.now_ms)
        return PartitionFacts(row=row, window=window, verdict=verdict, seen_ends=seen)

    def _seen(self, row: LagRow) -> tuple[LogEnd, ...]:
        """By other groups' commits; where these prove nothing, by the partition's own log, if it is here."""
        seen = self._reaches.seen(row.topic, row.partition, row.log_end_offset)
        if row.current_offset is None or unread_by(seen, row.current_offset) is not None:
            return seen
        try:
            ends = self._data_logs.history(row.topic, row.partition, _POINTS)
        except SourceError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return seen
        past = (LogEnd(offset=end.offset, timestamp=end.timestamp_ms) for end in ends)
        return seen_ends(past, row.log_end_offset) or seen

    def _patterns(self, groups: Mapping[str, Group]) -> dict[str, tuple[Pattern, ...]]:
        of_groups: dict[str, list[LoggedEntry]] = {}
        for (_, group_id), entries in sorted(self._rounds.items()):
            if group_id in groups:
                of_groups.setdefault(group_id, []).extend(entries)
        found = {group_id: replay(entries, {})[group_id] for group_id, entries in of_groups.items()}
        return {group_id: timeline.patterns for group_id, timeline in found.items() if timeline.patterns}

    def _open_commits(self) -> dict[str, list[OpenCommit]]:
        found: dict[str, list[OpenCommit]] = {}
        producers = values_of(self._newest.pending["producer_id"]).tolist()
        for commit, producer_id in zip(iterate_commits(self._newest.pending), producers, strict=True):
            found.setdefault(commit.group, []).append(
                OpenCommit(
                    topic=commit.topic,
                    partition=commit.partition,
                    offset=commit.offset,
                    timestamp=commit.commit_timestamp,
                    producer_id=producer_id,
                )
            )
        return found


def _by_group(inputs: LagInputs) -> Iterator[tuple[str, Iterable[LagRow]]]:
    """Every group with its rows, which some do not have, by group id."""
    unvisited = sorted(inputs.groups, reverse=True)
    for group_id, rows in groupby(inputs.rows(), lambda row: row.group):
        while unvisited and unvisited[-1] < group_id:
            yield unvisited.pop(), ()
        if unvisited and unvisited[-1] == group_id:
            unvisited.pop()
        yield group_id, rows
    yield from ((group_id, ()) for group_id in reversed(unvisited))


def found_in(
    groups: Iterable[GroupFacts], wanted_topic: Callable[[str], bool] | None = None
) -> Iterator[Finding]:
    """All findings, groups by id; with `wanted_topic` those about it, and about groups that read it."""
    for facts in groups:
        reads_wanted = wanted_topic is None or any(wanted_topic(one.row.topic) for one in facts.partitions)
        for finding in find(facts) if reads_wanted else ():
            if wanted_topic is None or finding.topic is None or wanted_topic(finding.topic):
                yield finding


def finding_rows(findings: Iterable[Finding], groups: Mapping[str, Group]) -> Iterator[Row]:
    """A row of FINDING_COLUMNS per finding."""
    for finding, client_id in _with_clients(findings, groups):
        yield {
            "group": finding.group,
            "finding": finding.kind.value,
            "topic": finding.topic,
            "partition": finding.partition,
            "member_id": finding.member_id,
            "client_id": client_id,
            "since": finding.since_ms,
            "grade": finding.grade.value,
            "evidence": finding.evidence,
            "numbers": dict(finding.numbers),
            "try_this": finding.try_this,
        }


def finding_table(findings: Iterable[Finding], groups: Mapping[str, Group], now_ms: int) -> Iterator[Row]:
    """A row of FINDING_TABLE per finding, which leaves room for the evidence."""
    for finding, client_id in _with_clients(findings, groups):
        place = finding.topic
        if finding.partition is not None:
            place = f"{place}-{finding.partition}"
        yield {
            "group": finding.group,
            "finding": finding.kind.value + ("?" if finding.grade is Grade.UNKNOWN else ""),
            "where": " ".join(text for text in (place, client_id) if text) or None,
            "lasting_ms": _whole_seconds(now_ms - finding.since_ms) if finding.since_ms is not None else None,
            "evidence": finding.evidence,
        }


def _with_clients(
    findings: Iterable[Finding], groups: Mapping[str, Group]
) -> Iterator[tuple[Finding, str | None]]:
    for group_id, of_group in groupby(findings, lambda finding: finding.group):
        members = groups[group_id].members if group_id in groups else ()
        clients = {member.member_id: member.client_id for member in members}
        yield from ((finding, clients.get(finding.member_id or "")) for finding in of_group)


def _whole_seconds(ms: int) -> int:
    return ms // 1000 * 1000


def remedies(findings: Iterable[Finding]) -> Iterator[str]:
    """What to try, once for each kind of finding."""
    told: set[str] = set()
    for finding in findings:
        if finding.try_this not in told:
            told.add(finding.try_this)
            yield f"{finding.kind.value}: try: {finding.try_this}"

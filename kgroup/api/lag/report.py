"""One look at all groups: what `lag-report` asks of logs or a cluster, once or again and again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final, Protocol

from kgroup.api.lag.breakdown import Breakdown, parts_in_logs
from kgroup.api.lag.inputs import LagInputs, gather
from kgroup.api.lag.proof import ProofReader
from kgroup.api.lag.status import StatusJudge
from kgroup.api.lag.time import time_columns
from kgroup.api.lag.time_columns import TimeColumns
from kgroup.api.lag.windows import Windows
from kgroup.api.names import matches_any, nothing_matches
from kgroup.api.opened import OpenedLogs
from kgroup.errors import SourceError
from kgroup.history.groups.model import GroupKind
from kgroup.lag.measures.offset_expiry import RETENTION_MS
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.measures.successive import LagLooks
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.rule_sets import RuleSet, rules_named
from kgroup.log.files.sources import Sources
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.topic_id import topic_id_text
from kgroup.report.emit import Column, Row
from kgroup.report.progress import byte_progress
from kgroup.scan.reductions.scan import Newest, Slice, merge, newest, split
from kgroup.scan.reductions.scanned import Scanned, read_all

WINDOW_COMMITS: Final = 10  # as many as Burrow keeps by default
_SLICE_BYTES: Final = 256 * 1024 * 1024  # between two looks at the progress bar


@dataclass(frozen=True, slots=True, kw_only=True)
class LagQuestion:
    """What is asked at each look. `groups` and `topics` are names or a shell's patterns; None is all.

    `rules` and `time_lag` are None where no status and no time lag is wanted. `only_lagging` is for whoever
    shows rows: findings and sums look at all of them.
    """

    groups: Sequence[str] | None = None
    topics: Sequence[str] | None = None
    log_ends: Path | None = None
    only_lagging: bool = False
    rules: RuleSet | None = None
    time_lag: TimeLagMethod | None = None
    findings: bool = False
    breakdown: bool = False
    retention_ms: int = RETENTION_MS
    quiet: bool = False

    @property
    def window_commits(self) -> int | None:
        """How many commits of each key the answer needs, None if only the newest."""
        needed = self.findings or self.rules is not None or self.time_lag is not None
        return WINDOW_COMMITS if needed else None

    @property
    def needs_history(self) -> bool:
        """Whether the answer asks what was before: findings do, and kgroup's own rules."""
        return self.findings or self.rules is RuleSet.KGROUP


class _Filler(Protocol):
    """Fills columns that are not in a row itself."""

    def fields(self, row: LagRow) -> Mapping[str, object]:
        """The fields by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look found, at `now_ms` (epoch ms)."""

    question: LagQuestion
    now_ms: int
    sources: Sources
    inputs: LagInputs
    windows: Windows | None
    proofs: ProofReader | None
    status: StatusJudge | None
    times: TimeColumns | None
    looks: LagLooks | None
    breakdown: Breakdown | None = None

    def lag_rows(self) -> Iterator[LagRow]:
        """The partitions that were asked for, by group, topic, partition, made anew at each call."""
        return _chosen(self.inputs, self.question)

    def rows(self, columns: Sequence[Column]) -> Iterator[Row]:
        """Their fields for these columns."""
        asked: tuple[_Filler | None, ...] = (self.breakdown, self.times)
        fillers = [filler for filler in asked if filler is not None]
        if self.times is None and self.looks is not None:
            fillers.append(self.looks)
        names = [column.name for column in columns if column.name in LagRow.__slots__]
        for row, status in self._rows_with_status():
            fields: dict[str, object] = {name: getattr(row, name) for name in names}
            fields |= status
            fields["notes"] = [note.value for note in row.notes]
            if row.topic_id is not None and "topic_id" in fields:
                fields["topic_id"] = topic_id_text(row.topic_id)
            for filler in fillers:
                fields |= filler.fields(row)
            yield fields

    def _rows_with_status(self) -> Iterator[tuple[LagRow, Mapping[str, object]]]:
        if self.status is None:
            return ((row, {}) for row in self.lag_rows())
        wanted = matcher(self.question.topics)
        return (judged for judged in self.status.rows() if wanted(judged[0].topic))

    def problems(self) -> tuple[str, ...]:
        """What could not be read: each with its place. Complete when the rows have been made."""
        met = [one.problems for one in (self.times, self.breakdown, self.proofs) if one is not None]
        return tuple(dict.fromkeys(line for lines in (self.inputs.problems, *met) for line in lines))

    def remarks(self) -> Iterator[str]:
        """What the rows do not show and somebody may miss."""
        inputs = self.inputs
        for skipped in self.sources.skipped:
            yield f"{skipped.path}: not read: {skipped.why}"
        without_rows = {group.group_id for group in inputs.groups_without_rows()}
        for group_id, group in sorted(inputs.groups.items()):
            notes = [*group.notes, *(note for member in group.members for note in member.notes)]
            if group_id in without_rows:
                share = group.kind is GroupKind.SHARE
                notes.insert(0, "its progress is in __share_group_state" if share else "no offsets")
            if notes:
                members = f"{len(group.members)} member{'' if len(group.members) == 1 else 's'}"
                yield f"group {group_id} ({group.kind}, {group.state}, {members}): {'; '.join(notes)}"
        if inputs.pending:
            yield f"{len(inputs.pending)} newer commits stand in transactions that are still open"
        if not inputs.ends.sources() and inputs.commits.num_rows:
            yield "no log ends found: give a broker's log directory, or --log-ends FILE"
        yield from self.breakdown.remarks if self.breakdown is not None else ()


def take_look(
    question: LagQuestion,
    logs: OpenedLogs,
    scanned: Scanned,
    now_ms: int,
    looks: LagLooks | None = None,
) -> Look:
    """Put together what a scan of the logs found; `looks` take it to what they know.

    A cluster is asked for time lags here. Raises SourceError if the groups that were named are not there.
    """
    wanted, groups = matcher(question.groups), set[str]()

    def is_wanted(group: str) -> bool:
        groups.add(group)
        return wanted(group)

    inputs = gather(scanned.newest, logs.sources, question.log_ends, is_wanted, logs.listing)
    if question.groups and not inputs.groups and not inputs.commits.num_rows:
        otherwise = "; leave out --group to see all"
        raise SourceError(nothing_matches("group", question.groups, groups, otherwise))
    if question.topics and not any(_chosen(inputs, question)):
        names = {row.topic for row in inputs.rows()}
        otherwise, among = "; leave out --topic to see all", "of these groups" if question.groups else "here"
        raise SourceError(nothing_matches("topic", question.topics, names, otherwise, among))
    if looks is not None:
        looks.add(_chosen(inputs, question), now_ms)
    windows = Windows(scanned.last, WINDOW_COMMITS) if scanned.last is not None else None
    proofs = status = times = None
    if question.rules is not None and windows is not None:
        data_logs = DataLogs(logs.sources.log_dirs)
        proofs = ProofReader(windows, scanned.history, data_logs, now_ms)
        status = StatusJudge(partial(proofs.judged, inputs, rules_named(question.rules)))
    if question.time_lag is not None and windows is not None:
        rows = _chosen(inputs, question)
        times = time_columns(question.time_lag, logs.sources, logs.cluster, rows, windows, now_ms, looks)
    return Look(
        question=question,
        now_ms=now_ms,
        sources=logs.sources,
        inputs=inputs,
        windows=windows,
        proofs=proofs,
        status=status,
        times=times,
        looks=looks,
        breakdown=_breakdown(question, inputs, logs),
    )


def _breakdown(question: LagQuestion, inputs: LagInputs, logs: OpenedLogs) -> Breakdown | None:
    if not question.breakdown:
        return None
    if logs.cluster is not None:
        from kgroup.api.lag.breakdown_live import live_breakdown

        rows = _chosen(inputs, question)
        return live_breakdown(logs.cluster, rows, inputs, question.retention_ms, quiet=question.quiet)
    find = partial(parts_in_logs, DataLogs(logs.sources.log_dirs))
    return Breakdown(inputs=inputs, retention_ms=question.retention_ms, find=find)


def scan_logs(sources: Sources, question: LagQuestion) -> Scanned:
    """Read the logs in this process, once for all that the question needs."""
    import pyarrow as pa

    # Arrow's own allocator keeps what it freed, and a tenth of this process's memory with it.
    pa.set_memory_pool(pa.system_memory_pool())
    parts = [part for segment in sources for part in split(segment.path, segment.partition, _SLICE_BYTES)]
    size = sum(part.end - part.start for part in parts)
    with byte_progress("reading", size, quiet=question.quiet) as advance:
        if question.window_commits is None:
            return Scanned(_newest(parts, advance))
        return read_all(parts, question.window_commits, history=question.needs_history, advance=advance)


def _newest(parts: Sequence[Slice], advance: Callable[[int], None]) -> Newest:
    scanned: list[Newest] = []
    for _, of_partition in groupby(parts, key=lambda part: part.offsets_partition):
        so_far: Newest | None = None
        for part in of_partition:
            found = newest([part])
            so_far = merge([so_far, found]) if so_far else found
            advance(part.end - part.start)
        scanned += [so_far] if so_far else []
    return merge(scanned)


def matcher(patterns: Sequence[str] | None) -> Callable[[str], bool]:
    """Whether a name is one of those or matches it as a shell's pattern; without any, every name does."""
    if not patterns:
        return lambda name: True
    return lambda name: matches_any(name, patterns)


def _chosen(inputs: LagInputs, question: LagQuestion) -> Iterator[LagRow]:
    wanted = matcher(question.topics)
    for row in inputs.rows():
        if wanted(row.topic):
            yield row

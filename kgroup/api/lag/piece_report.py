"""The report of some whole groups, made by an executor: batches of rows, findings, and a note."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import pyarrow as pa

from kgroup.api.lag.arrow_commits import ArrowCommits, living_commits, pending_commits
from kgroup.api.lag.chunks import ReportedGroup
from kgroup.api.lag.found_texts import found_texts
from kgroup.api.lag.inputs import LagInputs, wanted_groups
from kgroup.api.lag.on_spark import reduction_of, scanned_of
from kgroup.api.lag.options import LagOptions, matcher
from kgroup.api.lag.past import Past
from kgroup.api.lag.reading import AsOf
from kgroup.api.lag.report import LagReport, report_from
from kgroup.api.opened import OpenedLogs
from kgroup.lag.findings.census import Family, counted
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.log.files.log_dir import LogDir
from kgroup.log.files.sources import Sources
from kgroup.report.emit_batches import transit_columns
from kgroup.report.emit_columns import Columns, column_batches, selected
from kgroup.scan.reductions.scanned import ScanPlan

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster
    from kgroup.net.connect.properties import ConnectionOptions
    from kgroup.spark.exchange import Beside
    from kgroup.spark.parts.kinds import Note

FINDINGS: Final = "findings"
"""What findings are kept by; a batch has one column of texts."""

_ROWS_AT_ONCE: Final = 4096
_EVERY = matcher(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceReport:
    """Instructions for executors: make a report of groups that come with everything of theirs.

    `plan` is what they were reduced by. `reach` is how far anybody got in the whole log, packed, None if that
    is not asked for. `data_logs` are where the logs of topics lie; of a live cluster they are asked for by
    `connection`. With `only_findings` rows are not made, but for what may be failed on.
    """

    options: LagOptions
    plan: ScanPlan
    as_of: AsOf
    ends: LogEnds
    names: Mapping[UUID, str]
    reach: bytes | None
    data_logs: tuple[LogDir, ...]
    connection: "ConnectionOptions | None"
    only_findings: bool

    def of(self, parts: Iterator[Any]) -> "Iterator[pa.RecordBatch | Beside | Note]":
        """Rows by group, topic and partition; findings by group; a note with what else there is to say."""
        if self.connection is None:
            yield from self._made(parts, None)
            return
        from kgroup.net.admin.cluster import Cluster

        with Cluster(self.connection) as cluster:
            yield from self._made(parts, cluster)

    def _made(
        self, parts: Iterator[Any], cluster: "Cluster | None"
    ) -> "Iterator[pa.RecordBatch | Beside | Note]":
        from kgroup.spark.exchange import Beside
        from kgroup.spark.parts.kinds import Note

        report = self._report(parts, cluster)
        found: list[str] = []
        chunks = self._of_findings(report, found) if self.only_findings else _of_rows(report, found)
        first = next(chunks, None)
        if first is not None:
            known = {column.name: column for column in self.options.columns(is_table=False)}
            columns = transit_columns(known[name] for name in first)
            for batch in column_batches(chain([first], chunks), columns, _ROWS_AT_ONCE):
                if batch.num_rows:
                    yield batch
        for start in range(0, len(found), _ROWS_AT_ONCE):
            texts = found[start : start + _ROWS_AT_ONCE]
            yield Beside(FINDINGS, pa.record_batch([pa.array(texts, pa.string())], names=[FINDINGS]))
        yield Note(PieceNote.of(report).as_json())

    def _report(self, parts: Iterator[Any], cluster: "Cluster | None") -> LagReport:
        from kgroup.spark.parts.kinds import unpack

        scanned = scanned_of(self.plan, reduction_of(self.plan).merge(parts))
        if scanned.history is not None and self.reach is not None:
            history = replace(scanned.history, reach=unpack(self.reach).reach)
            scanned = replace(scanned, history=history)
        inputs = LagInputs(
            groups=wanted_groups(scanned.newest, self.names, _EVERY),
            commits=ArrowCommits(living_commits(scanned.newest.commits, _EVERY)),
            ends=self.ends,
            pending=pending_commits(scanned.newest),
            problems=(),
        )
        logs = OpenedLogs(sources=Sources(segments=(), log_dirs=self.data_logs), cluster=cluster)
        return report_from(logs, self.options, inputs, Past.of(scanned), self.as_of)

    def _of_findings(self, report: LagReport, found: list[str]) -> Iterator[Columns]:
        """The columns that --fail-on may look at, while findings are gathered."""
        wanted = matcher(self.options.topics)
        for group in report.groups():
            found += _texts(group)
            (facts, verdicts), _ = group
            rows = [partition.row for partition in facts.partitions]
            columns: Columns = {"group": [row.group for row in rows], "lag": [row.lag for row in rows]}
            if self.options.rules is not None:
                statuses = [None if verdict is None else verdict.status.value for verdict in verdicts]
                columns = {**columns, "status": statuses}
            yield selected(columns, [wanted(row.topic) for row in rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceNote:
    """Remarks on some groups besides their rows; the driver combines those of all pieces.

    `first` is the first of the groups. `commits` and `pending` are numbers; `group_ids` are there where
    groups were asked for by names, `streams` are groups. The rest are lines, each once.
    """

    first: str
    groups: int
    commits: int
    pending: int
    topics: Sequence[str]
    group_ids: Sequence[str]
    remarks: Sequence[str]
    streams: Sequence[str]
    unread: Sequence[str]
    census: Sequence[Sequence[Any]]
    row_problems: Sequence[str]
    proof_problems: Sequence[str]

    @classmethod
    def of(cls, report: LagReport) -> "PieceNote":
        """The note on a report whose rows have been made."""
        inputs, options = report.inputs, report.options
        group_ids = sorted(inputs.group_ids())
        census = counted(inputs.groups_by_id()) if options.findings and options.hygiene else ()
        return cls(
            first=group_ids[0] if group_ids else "",
            groups=len(group_ids),
            commits=len(inputs.commits),
            pending=len(inputs.pending),
            topics=sorted(inputs.topics()),
            group_ids=group_ids if options.groups else (),
            remarks=tuple(inputs.remarks_on_groups()),
            streams=inputs.streams_with_rows(),
            unread=tuple(report.unread_parts),
            census=[[family.stem, family.groups, family.without_members] for family in census],
            row_problems=report.row_problems,
            proof_problems=report.proof_problems,
        )

    def as_json(self) -> dict[str, Any]:
        """The note as JSON, for its way to the driver."""
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def families(self) -> Iterator[Family]:
        """The census again."""
        return (Family(*family) for family in self.census)


def texts_in(batch: pa.RecordBatch) -> list[str]:
    """The texts in a batch of findings."""
    return list(map(str, batch[FINDINGS].to_pylist()))


def _of_rows(report: LagReport, found: list[str]) -> Iterator[Columns]:
    for chunk in report.chunks():
        for group in chunk.groups:
            found += _texts(group)
        yield chunk.columns


def _texts(reported: ReportedGroup) -> Iterator[str]:
    (facts, _), findings = reported
    return found_texts(findings, facts.group)

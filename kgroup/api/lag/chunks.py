"""Rows of a lag report, some thousand at a time; each group of columns is filled for the whole chunk."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from kgroup.lag.measures.rows import LagRow
from kgroup.protocol.topic_id import topic_id_text
from kgroup.report.emit_columns import Columns
from kgroup.report.lag.columns import ROW_COLUMNS

if TYPE_CHECKING:
    from kgroup.api.lag.proof import JudgedGroup
    from kgroup.lag.findings.model import Finding
    from kgroup.lag.status.model import Judged

ReportedGroup: TypeAlias = "tuple[JudgedGroup, Sequence[Finding]]"
"""A group's facts and statuses, and what is wrong with it."""

_AS_THEY_ARE: Final = tuple(column.name for column in ROW_COLUMNS)


class ColumnGroup(Protocol):
    """Fills some columns of rows."""

    def fill(self, rows: Sequence[LagRow]) -> Columns:
        """The columns by name. Raises SourceError if a cluster does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LagChunk:
    """Some rows that follow each other, those of the topics that were asked for, and their columns.

    `all_rows` are those of other topics, too. `groups` are whole groups, where findings were asked for, of
    which only findings about the topics count.
    """

    rows: Sequence[LagRow]
    columns: Columns
    all_rows: Sequence[LagRow]
    groups: Sequence[ReportedGroup] = ()


def row_columns(rows: Sequence[LagRow]) -> dict[str, Sequence[object]]:
    """The columns that are in the rows themselves, and their notes."""
    columns: dict[str, Sequence[object]] = {name: list(map(attrgetter(name), rows)) for name in _AS_THEY_ARE}
    # By identity, as a UUID works its hash out each time; rows of a topic often have the very same.
    distinct = {id(row.topic_id): row.topic_id for row in rows}
    ids = {place: None if one is None else topic_id_text(one) for place, one in distinct.items()}
    columns["topic_id"] = [ids[id(row.topic_id)] for row in rows]
    notes = {notes: [note.value for note in notes] for notes in {row.notes for row in rows}}
    columns["notes"] = [notes[row.notes] for row in rows]
    return columns


def status_columns(judged: "Iterable[Judged | None]") -> Columns:
    """Status, rule and evidence; None where there is no log end to judge by."""
    judged = list(judged)
    return {
        "status": [None if one is None else one.status.value for one in judged],
        "rule": [None if one is None else one.rule.value for one in judged],
        "evidence": [None if one is None else one.numbers for one in judged],
    }

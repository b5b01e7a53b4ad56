"""Columns that break a row's lag down, and the time at which its offset expires."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from kgroup.api.lag.inputs import LagInputs
from kgroup.errors import SourceError
from kgroup.history.groups.model import simple_group
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.offset_expiry import expiry
from kgroup.lag.measures.rows import LagRow
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.log.topics.unread_parts import UnreadParts
from kgroup.report.emit_columns import Columns
from kgroup.report.lag.columns import BREAKDOWN_COLUMNS

_NAMES: Final = tuple(column.name for column in BREAKDOWN_COLUMNS)


class PartsSource(Protocol):
    """Knows what is unread of rows that have a committed offset, of a topic that is still there."""

    def ask(self, rows: Sequence[LagRow]) -> None:
        """Find out at once what will be asked of these rows. Raises SourceError if nobody answers."""

    def parts(self, row: LagRow) -> UnreadParts | None:
        """The unread offsets, None if they are unknown. Raises SourceError if it cannot be read."""

    def last_stable_offset(self, row: LagRow) -> int | None:
        """The limit for readers of committed data, for rows of which nothing else is known."""

    @property
    def problems(self) -> Sequence[str]:
        """Read errors, other than those that `parts` raises."""

    @property
    def remarks(self) -> Sequence[str]:
        """Further remarks, once all rows have been asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakdownColumns:
    """Fills the columns of `report.lag.columns.BREAKDOWN_COLUMNS`; None for what is unknown."""

    inputs: LagInputs
    retention_ms: int
    source: PartsSource
    unreadable: list[str] = field(default_factory=list)

    @property
    def problems(self) -> tuple[str, ...]:
        """Read errors, complete once all rows have been asked about."""
        return (*self.source.problems, *self.unreadable)

    def fill(self, rows: Sequence[LagRow]) -> Columns:
        """The columns of some rows."""
        self.source.ask([row for row in rows if can_be_told(row)])
        columns: list[Sequence[object]] = list(zip(*map(self._fields, rows), strict=True))
        return dict(zip(_NAMES, columns or [()] * len(_NAMES), strict=True))

    def _fields(self, row: LagRow) -> tuple[int | None, ...]:
        group = self.inputs.groups.get(row.group) or simple_group(row.group)
        expires = expiry(group, row, self.retention_ms)
        parts = self._parts(row)
        beyond = None
        if parts is not None:
            beyond = max((row.log_end_offset or 0) - parts.last_stable_offset, 0)
        elif can_be_told(row):
            beyond = _beyond(row, self.source.last_stable_offset(row))
        return (
            *((None,) * 5 if parts is None else _counts(parts)),
            beyond,
            _lost(row),
            expires.at_ms if expires else None,
        )

    def _parts(self, row: LagRow) -> UnreadParts | None:
        if not can_be_told(row):
            return None
        try:
            return self.source.parts(row)
        except SourceError as error:
            if str(error) not in self.unreadable:
                self.unreadable.append(str(error))
            return None


@dataclass(frozen=True, slots=True)
class PartsInLogs:
    """Parts from the partition's own log, if that is here."""

    logs: DataLogs

    def ask(self, rows: Sequence[LagRow]) -> None:
        """Files are asked when they are needed."""

    def parts(self, row: LagRow) -> UnreadParts | None:
        """None if the log is not here."""
        assert row.current_offset is not None, "can_be_told is asked first"
        return self.logs.parts(row.topic, row.partition, row.current_offset)

    def last_stable_offset(self, row: LagRow) -> int | None:
        """None: without the log it is unknown."""
        return None

    @property
    def problems(self) -> tuple[str, ...]:
        """None: whatever cannot be read is raised."""
        return ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Nothing."""
        return ()


def _counts(parts: UnreadParts) -> tuple[int, ...]:
    return parts.records, parts.aborted, parts.undecided, parts.markers, parts.gaps


def can_be_told(row: LagRow) -> bool:
    """Whether there is a committed offset, of a topic that is still there."""
    return row.current_offset is not None and row.topic_state is TopicState.EXISTS


def _beyond(row: LagRow, last_stable: int | None) -> int | None:
    """Unread offsets that readers of committed data cannot get at yet."""
    if last_stable is None or row.log_end_offset is None or row.current_offset is None:
        return None
    return max(row.log_end_offset - max(last_stable, row.current_offset), 0)


def _lost(row: LagRow) -> int | None:
    """Offsets that were deleted before the group read them, below the log's start."""
    if not can_be_told(row) or row.current_offset is None or row.log_start_offset is None:
        return None
    return max(row.log_start_offset - row.current_offset, 0)

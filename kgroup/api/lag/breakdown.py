"""`lag-report --breakdown`: what the lag of a row is made of, and when its offset expires."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kgroup.api.lag.inputs import LagInputs
from kgroup.errors import SourceError
from kgroup.history.groups.model import simple_group
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.offset_expiry import expiry
from kgroup.lag.measures.rows import LagRow
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.log.topics.unread_parts import UnreadParts

_UNKNOWN: Final = (
    "unread_records",
    "aborted_records",
    "undecided_records",
    "transaction_markers",
    "missing_offsets",
    "beyond_last_stable",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Fills the columns of `lag_parts.BREAKDOWN_COLUMNS`.

    `find` says what is unread of a row, None if that is unknown, and raises SourceError if it cannot be read;
    `last_stable` has last stable offsets by topic and partition, for rows of which nothing else is known.
    `problems` are what could not be read, `remarks` what else there is to say.
    """

    inputs: LagInputs
    retention_ms: int
    find: Callable[[LagRow], UnreadParts | None]
    last_stable: Mapping[tuple[str, int], int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    remarks: tuple[str, ...] = ()

    def fields(self, row: LagRow) -> dict[str, object]:
        """By name; None for what is unknown."""
        group = self.inputs.groups.get(row.group) or simple_group(row.group)
        expires = expiry(group, row, self.retention_ms)
        parts = self._parts(row)
        told: dict[str, object] = dict.fromkeys(_UNKNOWN)
        if parts is not None:
            told = {
                "unread_records": parts.records,
                "aborted_records": parts.aborted,
                "undecided_records": parts.undecided,
                "transaction_markers": parts.markers,
                "missing_offsets": parts.gaps,
                "beyond_last_stable": max((row.log_end_offset or 0) - parts.last_stable_offset, 0),
            }
        elif can_be_told(row):
            told["beyond_last_stable"] = _beyond(row, self.last_stable.get((row.topic, row.partition)))
        return {
            **told,
            "lost_offsets": _lost(row),
            "expires": expires.at_ms if expires else None,
        }

    def _parts(self, row: LagRow) -> UnreadParts | None:
        if not can_be_told(row):
            return None
        try:
            return self.find(row)
        except SourceError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return None


def parts_in_logs(logs: DataLogs, row: LagRow) -> UnreadParts | None:
    """What is unread by the partition's own log, None if that is not here."""
    assert row.current_offset is not None, "can_be_told is asked first"
    return logs.parts(row.topic, row.partition, row.current_offset)


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

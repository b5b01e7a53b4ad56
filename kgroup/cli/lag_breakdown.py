"""`lag-report --breakdown`: what the lag of a row is made of, and when its offset expires."""

from dataclasses import dataclass, field
from typing import Final

from kgroup.cli.lag_inputs import LagInputs
from kgroup.errors import SourceError
from kgroup.group.lag import LagRow
from kgroup.group.log_ends import TopicState
from kgroup.group.membership import simple_group
from kgroup.group.offset_expiry import expiry
from kgroup.log.data_logs import DataLogs
from kgroup.log.unread_parts import UnreadParts

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
    """Fills the columns of `lag_columns.BREAKDOWN_COLUMNS`; `problems` are what could not be read."""

    inputs: LagInputs
    data_logs: DataLogs
    retention_ms: int
    problems: list[str] = field(default_factory=list)

    def fields(self, row: LagRow) -> dict[str, object]:
        """By name; None where the partition's own log is not there to look into."""
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
        return {
            **told,
            "lost_offsets": _lost(row),
            "expires": expires.at_ms if expires else None,
        }

    def _parts(self, row: LagRow) -> UnreadParts | None:
        if row.current_offset is None or row.topic_state is not TopicState.EXISTS:
            return None
        try:
            return self.data_logs.parts(row.topic, row.partition, row.current_offset)
        except SourceError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return None


def _lost(row: LagRow) -> int | None:
    """Offsets that were deleted before the group read them, below the log's start."""
    if row.current_offset is None or row.log_start_offset is None or row.topic_state is not TopicState.EXISTS:
        return None
    return max(row.log_start_offset - row.current_offset, 0)

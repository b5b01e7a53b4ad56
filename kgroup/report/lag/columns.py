"""The columns of `lag-report`, for tables and for programs. No heavy imports."""

from typing import Final

from kgroup.report.emit import Column, Kind

ROW_COLUMNS: Final = (
    Column(name="group"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER, narrow="P"),
    Column(name="current_offset", kind=Kind.INTEGER, spare=4),
    Column(name="log_end_offset", kind=Kind.INTEGER, spare=3),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="log_start_offset", kind=Kind.INTEGER),
    Column(name="leader_epoch", kind=Kind.INTEGER),
    Column(name="metadata"),
    Column(name="commit_timestamp", kind=Kind.TIME_MS),
    Column(name="member_id"),
    Column(name="group_instance_id"),
    Column(name="host"),
    Column(name="client_id", spare=5),
    Column(name="group_kind"),
    Column(name="group_state"),
    Column(name="topic_id"),
    Column(name="topic_state"),
    Column(name="log_end_source"),
)
PART_COLUMNS: Final = (
    Column(name="unread_records", header="RECORDS", kind=Kind.INTEGER),
    Column(name="aborted_records", header="ABORTED", kind=Kind.INTEGER),
    Column(name="undecided_records", header="UNDECIDED", kind=Kind.INTEGER),
    Column(name="transaction_markers", header="MARKERS", kind=Kind.INTEGER),
    Column(name="missing_offsets", header="MISSING", kind=Kind.INTEGER),
    Column(name="beyond_last_stable", kind=Kind.INTEGER),
    Column(name="lost_offsets", header="LOST", kind=Kind.INTEGER),
)
EXPIRES: Final = Column(name="expires", kind=Kind.TIME_MS, spare=1)
BREAKDOWN_COLUMNS: Final = (*PART_COLUMNS, EXPIRES)
TIME_COLUMNS: Final = (
    Column(name="time_lag_ms", header="TIME-LAG", kind=Kind.DURATION_MS),
    Column(name="time_lag_method", header="METHOD", spare=6),
    Column(name="time_lag_reason", header="REASON"),
)
RATE_COLUMNS: Final = (
    Column(name="written_per_s", kind=Kind.FLOAT),
    Column(name="read_per_s", kind=Kind.FLOAT),
    Column(name="growth_per_s", header="GROWTH/S", kind=Kind.FLOAT, spare=1),
    Column(name="drain_ms", header="DRAIN", kind=Kind.DURATION_MS),
)
STATUS_COLUMNS: Final = (
    Column(name="status"),
    Column(name="rule"),
    Column(name="evidence", kind=Kind.NESTED),
)
_NOTES: Final = Column(name="notes", kind=Kind.NESTED, spare=2)

_ROW_TABLE: Final = ("group", "topic", "partition", "current_offset", "log_end_offset", "lag", "client_id")
_ROW_TABLE_WITH_TIMES: Final = ("group", "topic", "partition", "lag")
_NOT_IN_TABLES: Final = ("written_per_s", "read_per_s", "evidence", "beyond_last_stable")


def report_columns(
    *, is_table: bool, times: bool, rates: bool, status: bool, breakdown: bool = False
) -> tuple[Column, ...]:
    """The columns of a report; notes come last. Tables leave out columns meant for programs."""
    added = [
        *(BREAKDOWN_COLUMNS if breakdown else ()),
        *(TIME_COLUMNS if times else ()),
        *(RATE_COLUMNS if rates else ()),
        *(STATUS_COLUMNS if status else ()),
    ]
    if not is_table:
        return (*ROW_COLUMNS, *added, _NOTES)
    shown = _ROW_TABLE_WITH_TIMES if times or rates or breakdown else _ROW_TABLE
    return (
        *(column for column in ROW_COLUMNS if column.name in shown),
        *(column for column in added if column.name not in _NOT_IN_TABLES),
        _NOTES,
    )

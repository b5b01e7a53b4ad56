"""The columns of `lag-report --windows`."""

from typing import Final

from kgroup.report.emit import Column, Kind

COLUMNS: Final = (
    Column(name="window_start", kind=Kind.TIME_MS),
    Column(name="window_end", kind=Kind.TIME_MS),
    Column(name="group"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER, narrow="P"),
    Column(name="current_offset", kind=Kind.INTEGER, spare=4),
    Column(name="progress", kind=Kind.INTEGER, spare=2),
    Column(name="log_end_offset", kind=Kind.INTEGER, spare=3),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="status"),
    Column(name="rule", spare=1),
    Column(name="evidence", kind=Kind.NESTED),
    Column(name="offsets_partition", kind=Kind.INTEGER),
)
_ONLY_FOR_PROGRAMS: Final = {"window_end", "evidence", "offsets_partition"}
TABLE_COLUMNS: Final = tuple(column for column in COLUMNS if column.name not in _ONLY_FOR_PROGRAMS)

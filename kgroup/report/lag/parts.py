"""The columns of what a lag is made of. No heavy imports."""

from typing import Final

from kgroup.report.emit import Column, Kind

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

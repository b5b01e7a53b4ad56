"""Deadlines as rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kgroup.durations import lasting
from kgroup.lag.deadlines.model import Deadline, DeadlineKind, Outlook
from kgroup.report.emit import Column, Kind, Row

DEADLINE_COLUMNS: Final = (
    Column(name="group"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="kind"),
    Column(name="bound", kind=Kind.INTEGER),
    Column(name="outlook"),
    Column(name="low_time", kind=Kind.TIME_MS),
    Column(name="likely_time", kind=Kind.TIME_MS),
    Column(name="high_time", kind=Kind.TIME_MS),
    Column(name="note"),
)
_NO_INTERVAL: Final = (Outlook.UNKNOWN, Outlook.NOT_IN_SIGHT)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDeadline:
    """A deadline of a group on a partition, and its lag, None if that is unknown."""

    group: str
    topic: str
    partition: int
    lag: int | None
    deadline: Deadline


def deadline_table() -> tuple[Column, ...]:
    """The columns of a table."""
    return (
        Column(name="group"),
        Column(name="partition_name", header="PARTITION"),
        Column(name="lag", kind=Kind.INTEGER, spare=1),
        Column(name="what", header="DEADLINE"),
        Column(name="outlook"),
        Column(name="earliest"),
        Column(name="likely"),
        Column(name="latest"),
        Column(name="note", spare=2),
    )


def deadline_rows(deadlines: Iterable[PartitionDeadline], now_ms: int) -> Iterator[Row]:
    """A row for each; `earliest`, `likely` and `latest` are from now on."""
    for each in deadlines:
        deadline = each.deadline
        times = (deadline.low_ms, deadline.likely_ms, deadline.high_ms)
        earliest, likely, latest = (_ahead(deadline, time_ms, now_ms) for time_ms in times)
        yield {
            "group": each.group,
            "topic": each.topic,
            "partition": each.partition,
            "partition_name": f"{each.topic}-{each.partition}",
            "lag": each.lag,
            "kind": deadline.kind.value,
            "bound": deadline.bound,
            "what": _what(deadline),
            "outlook": deadline.outlook.value,
            "low_time": deadline.low_ms,
            "likely_time": deadline.likely_ms,
            "high_time": deadline.high_ms,
            "earliest": earliest,
            "likely": likely,
            "latest": latest,
            "note": None if deadline.note is None else deadline.note.value,
        }


def _ahead(deadline: Deadline, time_ms: int | None, now_ms: int) -> str | None:
    if deadline.outlook in _NO_INTERVAL:
        return None
    if deadline.outlook is Outlook.PASSED:
        return "now"
    return "never" if time_ms is None else lasting(time_ms - now_ms)


def _what(deadline: Deadline) -> str:
    match deadline.kind:
        case DeadlineKind.SLO_RECORDS:
            return f"lag > {deadline.bound:,}"
        case DeadlineKind.SLO_TIME:
            return f"lag > {lasting(deadline.bound)}"
        case DeadlineKind.RETENTION_TIME:
            return f"deleted, {lasting(deadline.bound)}"
        case _:
            return f"deleted, {deadline.bound:,} B"

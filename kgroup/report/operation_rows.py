"""Planned and completed changes of offsets as rows."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kgroup.lag.findings.text import listed
from kgroup.operations.model import Change, PlanRow, Position
from kgroup.operations.plan import effect
from kgroup.report.emit import Column, Kind, Row

PLAN_COLUMNS: Final = (
    Column(name="group"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="old_offset", kind=Kind.INTEGER),
    Column(name="new_offset", kind=Kind.INTEGER),
    Column(name="records", kind=Kind.INTEGER),
    Column(name="time_ms", kind=Kind.INTEGER),
    Column(name="log_start_offset", kind=Kind.INTEGER),
    Column(name="log_end_offset", kind=Kind.INTEGER),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="effect"),
    Column(name="notes", kind=Kind.NESTED),
    Column(name="others", kind=Kind.NESTED),
    Column(name="old_leader_epoch", kind=Kind.INTEGER),
    Column(name="old_metadata"),
    Column(name="new_leader_epoch", kind=Kind.INTEGER),
    Column(name="new_metadata"),
)
RESULT_COLUMN: Final = Column(name="result")
_NO_EPOCH: Final = -1


def plan_table(*, is_done: bool, others: bool, several: bool) -> tuple[Column, ...]:
    """The columns of a table; of what is done, with how it ended.

    Of `several` groups a row always names its own, however narrow the screen is.
    """
    more = [Column(name="others_text", header="OTHER-GROUPS")] if others else []
    more += [RESULT_COLUMN] if is_done else []
    return (
        Column(name="group", spare=0 if several else 1),
        Column(name="place", header="PARTITION"),
        Column(name="old_offset", header="OLD", kind=Kind.INTEGER),
        Column(name="new_offset", header="NEW", kind=Kind.INTEGER),
        Column(name="lag", kind=Kind.INTEGER, spare=2),
        Column(name="what", header="EFFECT"),
        *more,
    )


def plan_rows(rows: Iterable[PlanRow], results: Mapping[Change, str] | None = None) -> Iterator[Row]:
    """A row for each change; `results` say how it ended."""
    for each in rows:
        change, log = each.change, each.limits
        row: dict[str, object] = {
            "group": change.group,
            "topic": change.topic,
            "partition": change.partition,
            "old_offset": _offset(change.old),
            "new_offset": _offset(change.new),
            "records": change.records,
            "time_ms": each.time_ms,
            "log_start_offset": None if log is None else log.log_start,
            "log_end_offset": None if log is None else log.log_end,
            "lag": each.lag,
            "effect": effect(each),
            "notes": list(each.notes),
            "others": [{"group": group, "offset": offset} for group, offset in each.others],
            "old_leader_epoch": _epoch(change.old),
            "old_metadata": None if change.old is None else change.old.metadata,
            "new_leader_epoch": _epoch(change.new),
            "new_metadata": None if change.new is None else change.new.metadata,
        }
        if results is not None:
            row["result"] = results.get(change)
        yield row


def table_rows(rows: Iterable[PlanRow], results: Mapping[Change, str] | None = None) -> Iterator[Row]:
    """The same for `plan_table`."""
    kept = list(rows)
    for each, row in zip(kept, plan_rows(kept, results), strict=True):
        place = f"{each.change.topic}-{each.change.partition}"
        others = listed([f"{group} {offset}" for group, offset in each.others]) or None
        what = "; ".join([effect(each), *each.notes])
        yield {**row, "place": place, "what": what, "others_text": others}


def _offset(position: Position | None) -> int | None:
    return None if position is None else position.offset


def _epoch(position: Position | None) -> int | None:
    return None if position is None or position.leader_epoch == _NO_EPOCH else position.leader_epoch

"""Commits as rows: position, time, step and rate."""

from collections.abc import Iterable, Iterator
from typing import Final

from kgroup.history.timeline.commit_steps import CommitStep
from kgroup.history.timeline.model import Cause
from kgroup.report.emit import Column, Kind, Row
from kgroup.report.timeline.rows import cause_text

COMMIT_COLUMNS: Final = (
    Column(name="group"),
    Column(name="time", kind=Kind.TIME_MS),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="offset", kind=Kind.INTEGER),
    Column(name="step", kind=Kind.INTEGER),
    Column(name="gap_ms", kind=Kind.DURATION_MS),
    Column(name="records_per_s", kind=Kind.FLOAT),
    Column(name="metadata"),
    Column(name="transaction"),
    Column(name="records_missing", kind=Kind.BOOLEAN),
    Column(name="offsets_partition", kind=Kind.INTEGER),
    Column(name="log_offset", kind=Kind.INTEGER),
    Column(name="removal"),
    Column(name="removal_grade"),
    Column(name="removal_evidence"),
)


def commit_table(several: bool) -> tuple[Column, ...]:
    """The columns of a table; the group only where there are several."""
    return (
        *((Column(name="group"),) if several else ()),
        Column(name="time", kind=Kind.TIME_MS),
        Column(name="place", header="PARTITION"),
        Column(name="offset", kind=Kind.INTEGER),
        Column(name="step", kind=Kind.INTEGER),
        Column(name="gap_ms", header="GAP", kind=Kind.DURATION_MS),
        Column(name="records_per_s", header="RATE/S", kind=Kind.FLOAT),
        Column(name="note"),
    )


def commit_rows(steps: Iterable[CommitStep]) -> Iterator[Row]:
    """A row for each; what only tables have is `place` and `note`."""
    for step in steps:
        outcome = None if step.transaction is None else step.transaction.value
        yield {
            "group": step.group,
            "time": step.at_ms,
            "topic": step.topic,
            "partition": step.partition,
            "offset": step.offset,
            "step": step.step,
            "gap_ms": step.gap_ms,
            "records_per_s": step.records_per_s,
            "metadata": step.metadata,
            "transaction": outcome,
            "records_missing": step.is_cut,
            "offsets_partition": step.offsets_partition,
            "log_offset": step.log_offset,
            "removal": step.removal and step.removal.kind,
            "removal_grade": step.removal and step.removal.grade,
            "removal_evidence": step.removal and step.removal.evidence,
        }


def _deleted(removal: Cause | None) -> str:
    return "deleted" if removal is None else f"deleted: {cause_text(removal, {})}"


def commit_table_rows(steps: Iterable[CommitStep]) -> Iterator[Row]:
    """The same for a table."""
    for step, row in zip(steps := list(steps), commit_rows(steps), strict=True):
        deleted = _deleted(step.removal) if step.offset is None else None
        back = "back" if step.step is not None and step.step < 0 else None
        cut = "log cut before" if step.is_cut else None
        yield {
            **row,
            "place": f"{step.topic}-{step.partition}",
            "note": deleted or back or cut or row["transaction"],
        }

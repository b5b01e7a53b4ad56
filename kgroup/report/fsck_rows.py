"""The results of `kgroup fsck` as rows: one for each replica of an offsets partition."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from kgroup.history.loading.check import PartitionCheck
from kgroup.report.emit import Column, Kind, Row

COLUMNS: Final = (
    Column(name="offsets_partition", kind=Kind.INTEGER),
    Column(name="folder"),
    Column(name="kafka_version"),
    Column(name="verdict"),
    Column(name="finding"),
    Column(name="why"),
    Column(name="issue"),
    Column(name="segment"),
    Column(name="position", kind=Kind.INTEGER),
    Column(name="offset", kind=Kind.INTEGER),
    Column(name="group"),
    Column(name="obstacles", kind=Kind.NESTED),
    Column(name="other_versions", kind=Kind.NESTED),
    Column(name="groups", kind=Kind.NESTED),
    Column(name="size", kind=Kind.INTEGER),
    Column(name="records", kind=Kind.INTEGER),
    Column(name="tombstones", kind=Kind.INTEGER),
    Column(name="live_records", kind=Kind.INTEGER),
    Column(name="dirty_share", kind=Kind.FLOAT),
    Column(name="cleaner_overdue_ms", kind=Kind.DURATION_MS),
    Column(name="load_ms_min", kind=Kind.INTEGER),
    Column(name="load_ms_max", kind=Kind.INTEGER),
    Column(name="heap_bytes_min", kind=Kind.INTEGER),
    Column(name="heap_bytes_max", kind=Kind.INTEGER),
    Column(name="stopped_cleanly", kind=Kind.BOOLEAN),
)
TABLE: Final = (
    Column(name="offsets_partition", header="PARTITION", narrow="P", kind=Kind.INTEGER),
    Column(name="verdict"),
    Column(name="group_count", header="GROUPS", kind=Kind.INTEGER, spare=1),
    Column(name="records", kind=Kind.INTEGER, spare=3),
    Column(name="live_records", header="LIVE", kind=Kind.INTEGER, spare=4),
    Column(name="size_text", header="SIZE", spare=2),
    Column(name="dirty_text", header="DIRTY", spare=5),
    Column(name="load_text", header="LOAD", spare=6),
    Column(name="what", header="WHY"),
)


def table_columns(checks: Iterable[PartitionCheck]) -> tuple[Column, ...]:
    """The columns of the table, with the folders where several partitions have the same number."""
    numbers = [check.partition for check in checks]
    if len(set(numbers)) == len(numbers):
        return TABLE
    return (TABLE[0], Column(name="folder"), *TABLE[1:])


def fsck_rows(checks: Iterable[PartitionCheck]) -> Iterator[Row]:
    """A row for each check."""
    for check in checks:
        first = check.obstacles[0] if check.obstacles else None
        share = check.cleaning.dirty_share
        low, high = check.estimate.load_ms
        yield {
            "offsets_partition": check.partition,
            "folder": str(check.folder),
            "kafka_version": check.version,
            "verdict": check.outcome.value,
            "finding": check.finding,
            "why": None if first is None else first.text,
            "issue": None if first is None else first.issue,
            "segment": None if first is None else first.segment,
            "position": None if first is None else first.position,
            "offset": None if first is None else first.offset,
            "group": None if first is None else first.group,
            "obstacles": [
                {
                    "outcome": each.outcome.value,
                    "kind": each.why.value,
                    "why": each.text,
                    "issue": each.issue,
                    "segment": each.segment,
                    "position": each.position,
                    "offset": each.offset,
                    "group": each.group,
                }
                for each in check.obstacles
            ],
            "other_versions": {version: outcome.value for version, outcome in check.others.items()},
            "groups": list(check.groups),
            "group_count": len(check.groups),
            "size": check.size,
            "size_text": bytes_text(check.size),
            "records": check.records,
            "tombstones": check.tombstones,
            "live_records": check.live_records,
            "dirty_share": share,
            "dirty_text": None if share is None else f"{share:.0%}",
            "cleaner_overdue_ms": check.cleaning.overdue_ms,
            "load_ms_min": low,
            "load_ms_max": high,
            "load_text": f"{seconds_text(low)}-{seconds_text(high)}",
            "heap_bytes_min": check.estimate.heap_bytes[0],
            "heap_bytes_max": check.estimate.heap_bytes[1],
            "stopped_cleanly": check.is_clean,
            "what": _what(check),
        }


def _what(check: PartitionCheck) -> str | None:
    """The place and reason of the first obstacle; for a partition without any, remarks."""
    parts = []
    if check.obstacles:
        first = check.obstacles[0]
        where = f"segment {_base_offset(first.segment)}" if first.segment else ""
        at = ", ".join(
            [
                *([where] if where else []),
                *([f"byte {first.position}"] if first.position is not None else []),
                *([f"offset {first.offset}"] if first.offset is not None else []),
            ]
        )
        text = f"{at}: {first.text}" if at else first.text
        more = len(check.obstacles) - 1
        parts.append(text + (f" ({first.issue})" if first.issue else "") + (f"; {more} more" if more else ""))
    if check.cleaning.is_dead:
        assert check.cleaning.overdue_ms is not None
        hours = check.cleaning.overdue_ms // 3_600_000
        parts.append(
            f"not cleaned for {hours} h though {check.cleaning.dirty_share:.0%} dirty:"
            f" {check.live_records} of {check.records} records count; is the log cleaner dead?"
        )
    return "; ".join(parts) or None


def _base_offset(path: str) -> str:
    name = Path(path).stem
    return str(int(name)) if name.isdigit() else Path(path).name


def bytes_text(size: int) -> str:
    """`812 B`, `3.4 MB`."""
    number, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"


def seconds_text(ms: int) -> str:
    """`0.1s`, `12s`, `3m`."""
    if ms < 10_000:
        return f"{max(ms, 100 if ms else 0) / 1000:.1f}s"
    return f"{ms // 1000}s" if ms < 120_000 else f"{ms // 60_000}m"

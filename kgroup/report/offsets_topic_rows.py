"""Contents of the offsets topic as rows; their bytes add up to the files' sizes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from kgroup.lag.findings.heavy_writer import Writing
from kgroup.report.emit import Column, Kind, Row
from kgroup.report.fsck_rows import bytes_text
from kgroup.scan.reductions.tally_amounts import Amount, PartitionTally, SegmentTally, What

COLUMNS: Final = (
    Column(name="group"),
    Column(name="clients", kind=Kind.NESTED),
    Column(name="kind"),
    Column(name="offsets_partition", kind=Kind.INTEGER),
    Column(name="segment"),
    Column(name="bytes", kind=Kind.INTEGER),
    Column(name="share", kind=Kind.FLOAT),
    Column(name="records", kind=Kind.INTEGER),
    Column(name="commits", kind=Kind.INTEGER),
    Column(name="group_records", kind=Kind.INTEGER),
    Column(name="tombstones", kind=Kind.INTEGER),
    Column(name="markers", kind=Kind.INTEGER),
    Column(name="other_records", kind=Kind.INTEGER),
    Column(name="bytes_per_s", kind=Kind.FLOAT),
    Column(name="records_per_s", kind=Kind.FLOAT),
    Column(name="commit_interval_ms", kind=Kind.DURATION_MS),
    Column(name="stays_bytes", kind=Kind.INTEGER),
    Column(name="stays_records", kind=Kind.INTEGER),
    Column(name="live_bytes", kind=Kind.INTEGER),
    Column(name="live_records", kind=Kind.INTEGER),
    Column(name="first_time", kind=Kind.TIME_MS),
    Column(name="last_time", kind=Kind.TIME_MS),
)
_GROUP_RECORDS: Final = {
    What.COMMIT: "commits",
    What.GROUP: "group_records",
    What.TOMBSTONE: "tombstones",
    What.MARKER: "markers",
    What.OTHER: "other_records",
}


class By(StrEnum):
    """The values of `--by`: how bytes are summed up."""

    GROUP = "group"
    CLIENT = "client"
    KIND = "kind"
    PARTITION = "partition"
    SEGMENT = "segment"


def filling_table(by: By) -> tuple[Column, ...]:
    """The columns of a table."""
    leading = {
        By.GROUP: (
            Column(name="group_text", header="GROUP"),
            Column(name="clients_text", header="CLIENTS", spare=7),
        ),
        By.CLIENT: (Column(name="clients_text", header="CLIENTS"),),
        By.KIND: (Column(name="kind"),),
        By.PARTITION: (Column(name="offsets_partition", header="PARTITION", narrow="P", kind=Kind.INTEGER),),
        By.SEGMENT: (
            Column(name="offsets_partition", header="PARTITION", narrow="P", kind=Kind.INTEGER),
            Column(name="segment"),
        ),
    }[by]
    kinds = (
        Column(name="commits", kind=Kind.INTEGER, spare=3),
        Column(name="group_records", header="GROUP-RECORDS", narrow="GROUP", kind=Kind.INTEGER, spare=4),
        Column(name="tombstones", narrow="TOMBS", kind=Kind.INTEGER, spare=6),
    )
    interval = (Column(name="commit_interval_ms", header="EVERY", kind=Kind.DURATION_MS, spare=2),)
    return (
        *leading,
        Column(name="bytes_text", header="BYTES", kind=Kind.INTEGER),
        Column(name="share_text", header="SHARE", kind=Kind.INTEGER),
        Column(name="records", kind=Kind.INTEGER, spare=1),
        *(() if by is By.KIND else kinds),
        Column(name="rate_text", header="B/S", kind=Kind.INTEGER),
        *(interval if by is By.GROUP else ()),
        Column(name="stays_text", header="STAYS", kind=Kind.INTEGER, spare=5),
        Column(name="live_text", header="LIVE", kind=Kind.INTEGER),
    )


_Key = tuple[str | int | None, ...]
"""Group, clients as one text, kind, partition, segment: None for those that are put together."""


@dataclass(slots=True)
class _Sum:
    whole: Amount = field(default_factory=Amount)
    records: dict[What, int] = field(default_factory=dict)
    bytes_per_s: float = 0.0
    records_per_s: float = 0.0
    has_rate: bool = False
    first_ms: int | None = None
    last_ms: int | None = None
    clients: frozenset[str] = frozenset()

    def add(self, partition: PartitionTally, segment: SegmentTally, what: What, amount: Amount) -> None:
        self.whole.add(amount)
        self.records[what] = self.records.get(what, 0) + amount.records
        if segment is partition.segments[-1] and partition.run_ms is not None:
            self.has_rate = True
            self.bytes_per_s += amount.run_bytes * 1000 / partition.run_ms
            self.records_per_s += amount.run_records * 1000 / partition.run_ms
        if segment.first_ms is not None and segment.last_ms is not None:
            self.first_ms = (
                segment.first_ms if self.first_ms is None else min(self.first_ms, segment.first_ms)
            )
            self.last_ms = max(segment.last_ms, self.last_ms or 0)


def filling_rows(
    partitions: Sequence[PartitionTally],
    writing: Iterable[Writing],
    by: By,
    wanted: Callable[[str], bool] | None = None,
) -> Iterator[Row]:
    """A row for each of what is asked of, the largest first; of partitions and segments in their order.

    With `wanted` only what is written of groups that it says yes to; shares are of all bytes in any case.
    """
    intervals = {each.group: each.commit_interval_ms for each in writing}
    sums: dict[_Key, _Sum] = {}
    whole = 0
    for partition in partitions:
        for segment in partition.segments:
            whole += segment.size
            for (group, what), amount in segment.amounts.items():
                if wanted is not None and (group is None or not wanted(group)):
                    continue
                clients = partition.clients.get(group, frozenset()) if group is not None else frozenset()
                key = _key(by, group, what, clients, partition, segment)
                made = sums.setdefault(key, _Sum())
                made.add(partition, segment, what, amount)
                made.clients |= clients
    ordered = list(sums.items())
    if by not in (By.PARTITION, By.SEGMENT):
        ordered = sorted(sums.items(), key=lambda pair: (-pair[1].whole.bytes, repr(pair[0])))
    for key, made in ordered:
        yield _row(key, made, by, whole, intervals)


def _key(
    by: By,
    group: str | None,
    what: What,
    clients: frozenset[str],
    partition: PartitionTally,
    segment: SegmentTally,
) -> _Key:
    number = partition.offsets_partition
    match by:
        case By.GROUP:
            # What belongs to no group is distinguished by its kind.
            return (group, None, None if group is not None else what.value, None, None)
        case By.CLIENT:
            named = ", ".join(sorted(clients)) or None
            return (None, named, None if group is not None else what.value, None, None)
        case By.KIND:
            return (None, None, what.value, None, None)
        case By.PARTITION:
            return (None, None, None, number, None)
        case By.SEGMENT:
            return (None, None, None, number, str(segment.part.name or segment.part.path))


def _row(key: _Key, made: _Sum, by: By, whole: int, intervals: dict[str, int | None]) -> Row:
    group, _, kind, number, segment = key
    amount = made.whole
    clients = sorted(made.clients)
    is_place = by in (By.PARTITION, By.SEGMENT)
    share = amount.bytes / whole if whole else None
    named = ", ".join(clients) if clients else None
    return {
        "group": group,
        "group_text": group if group is not None else f"({kind})",
        "clients": clients if by in (By.GROUP, By.CLIENT) and (clients or kind is None) else None,
        "clients_text": named or (f"({kind})" if kind is not None and by is By.CLIENT else None),
        "kind": kind,
        "offsets_partition": number,
        "segment": segment if by is not By.SEGMENT else Path(str(segment)).name,
        "bytes": amount.bytes,
        "bytes_text": bytes_text(amount.bytes),
        "share": share,
        "share_text": None if share is None else f"{share:.1%}",
        "records": amount.records,
        **{name: made.records.get(what, 0) for what, name in _GROUP_RECORDS.items()},
        "bytes_per_s": made.bytes_per_s if made.has_rate else None,
        "rate_text": f"{made.bytes_per_s:,.0f}" if made.has_rate else None,
        "records_per_s": made.records_per_s if made.has_rate else None,
        "commit_interval_ms": intervals.get(str(group)) if group is not None else None,
        "stays_bytes": amount.stays_bytes,
        "stays_text": bytes_text(amount.stays_bytes),
        "stays_records": amount.stays_records,
        "live_bytes": amount.live_bytes,
        "live_text": bytes_text(amount.live_bytes),
        "live_records": amount.live_records,
        "first_time": made.first_ms if is_place else None,
        "last_time": made.last_ms if is_place else None,
    }

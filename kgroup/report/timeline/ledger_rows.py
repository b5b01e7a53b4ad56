"""A ledger as rows: one for each range, or sums by minute or owner."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kgroup.history.ledger.model import Ledger, LedgerEntry, LedgerKind
from kgroup.report.emit import Column, Kind, Row

MINUTE_MS: Final = 60_000
ENTRY_COLUMNS: Final = (
    Column(name="group"),
    Column(name="kind"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="from_offset", kind=Kind.INTEGER),
    Column(name="to_offset", kind=Kind.INTEGER),
    Column(name="at_least", kind=Kind.INTEGER),
    Column(name="at_most", kind=Kind.INTEGER),
    Column(name="owners", kind=Kind.NESTED),
    Column(name="generation", kind=Kind.INTEGER),
    Column(name="time", kind=Kind.TIME_MS),
    Column(name="from_time", kind=Kind.TIME_MS),
    Column(name="to_time", kind=Kind.TIME_MS),
    Column(name="cause"),
    Column(name="grade"),
    Column(name="evidence"),
    Column(name="offsets_partition", kind=Kind.INTEGER),
    Column(name="records", kind=Kind.NESTED),
)
SUM_COLUMNS: Final = (
    Column(name="group"),
    Column(name="minute", kind=Kind.TIME_MS),
    Column(name="owner"),
    Column(name="skipped_at_least", kind=Kind.INTEGER),
    Column(name="skipped_at_most", kind=Kind.INTEGER),
    Column(name="doubled_at_least", kind=Kind.INTEGER),
    Column(name="doubled_at_most", kind=Kind.INTEGER),
    Column(name="ranges", kind=Kind.INTEGER),
)


class SumBy(StrEnum):
    """The values of `--by`."""

    MINUTE = "minute"
    OWNER = "owner"


def entry_table(*, several: bool) -> tuple[Column, ...]:
    """The columns of a table of entries; the group only where there are several."""
    return (
        *((Column(name="group"),) if several else ()),
        Column(name="kind"),
        Column(name="partition_name", header="PARTITION"),
        Column(name="from_offset", header="FROM", kind=Kind.INTEGER),
        Column(name="to_offset", header="TO", kind=Kind.INTEGER),
        Column(name="at_least", header="AT-LEAST", narrow="MIN", kind=Kind.INTEGER),
        Column(name="at_most", header="AT-MOST", narrow="MAX", kind=Kind.INTEGER, spare=1),
        Column(name="time", kind=Kind.TIME_MS, spare=2),
        Column(name="owner", spare=3),
        Column(name="cause"),
        Column(name="grade", spare=4),
    )


def sum_table(by: SumBy, *, several: bool) -> tuple[Column, ...]:
    """The columns of a table of sums."""
    return (
        *((Column(name="group"),) if several else ()),
        Column(name="minute", kind=Kind.TIME_MS) if by is SumBy.MINUTE else Column(name="owner"),
        Column(name="skipped"),
        Column(name="doubled"),
        Column(name="ranges", kind=Kind.INTEGER),
    )


def entry_rows(ledgers: Iterable[Ledger]) -> Iterator[Row]:
    """A row for each entry."""
    for ledger in ledgers:
        for entry in ledger.entries:
            yield {
                "group": ledger.group_id,
                "kind": entry.kind.value,
                "topic": entry.partition.topic,
                "partition": entry.partition.partition,
                "partition_name": str(entry.partition),
                "from_offset": entry.from_offset,
                "to_offset": entry.to_offset,
                "at_least": entry.at_least,
                "at_most": entry.at_most,
                "owners": [member_id for member_id, _ in entry.owners],
                "owner": " > ".join(client_id or member_id for member_id, client_id in entry.owners) or None,
                "generation": entry.generation,
                "time": entry.at_ms,
                "from_time": entry.from_ms,
                "to_time": entry.to_ms,
                "cause": entry.cause.value,
                "grade": entry.grade.value,
                "evidence": entry.evidence,
                "offsets_partition": entry.offsets_partition,
                "records": list(entry.records),
            }


@dataclass(slots=True)
class LedgerSum:
    """The sum of several entries; `at_most` is None if that of any of them is."""

    at_least: dict[LedgerKind, int]
    at_most: dict[LedgerKind, int | None]
    ranges: int = 0

    @classmethod
    def of(cls, entries: Iterable[LedgerEntry]) -> "LedgerSum":
        """Add them up."""
        made = cls(dict.fromkeys(LedgerKind, 0), dict.fromkeys(LedgerKind, 0))
        for entry in entries:
            so_far = made.at_most[entry.kind]
            made.at_least[entry.kind] += entry.at_least
            made.at_most[entry.kind] = (
                None if so_far is None or entry.at_most is None else so_far + entry.at_most
            )
            made.ranges += 1
        return made

    def text(self, kind: LedgerKind) -> str:
        """`3`, `3 to 7`, or `at least 3`."""
        least, most = self.at_least[kind], self.at_most[kind]
        if most is None:
            return f"at least {least:,}"
        return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def sum_rows(ledgers: Iterable[Ledger], by: SumBy) -> Iterator[Row]:
    """A row for each minute in which something is in the ledger, or for each owner that it is about.

    What was doubled counts for the one that was handed it again.
    """
    for ledger in ledgers:
        parts: dict[int | str, list[LedgerEntry]] = {}
        for entry in ledger.entries:
            owner = entry.owners[-1][0] if entry.owners else ""
            part = entry.at_ms // MINUTE_MS * MINUTE_MS if by is SumBy.MINUTE else owner
            parts.setdefault(part, []).append(entry)
        for part, entries in sorted(parts.items(), key=lambda each: each[0]):
            total = LedgerSum.of(entries)
            yield {
                "group": ledger.group_id,
                "minute": part if by is SumBy.MINUTE else None,
                "owner": (part or None) if by is SumBy.OWNER else None,
                "skipped": total.text(LedgerKind.SKIPPED),
                "doubled": total.text(LedgerKind.DOUBLED),
                "skipped_at_least": total.at_least[LedgerKind.SKIPPED],
                "skipped_at_most": total.at_most[LedgerKind.SKIPPED],
                "doubled_at_least": total.at_least[LedgerKind.DOUBLED],
                "doubled_at_most": total.at_most[LedgerKind.DOUBLED],
                "ranges": total.ranges,
            }


def sum_line(ledger: Ledger) -> str:
    """`skipped 3 to 7, doubled 0 to 12 offsets, in 4 ranges`."""
    total = LedgerSum.of(ledger.entries)
    ranges = "1 range" if total.ranges == 1 else f"{total.ranges} ranges"
    return (
        f"skipped {total.text(LedgerKind.SKIPPED)}, doubled {total.text(LedgerKind.DOUBLED)} offsets,"
        f" in {ranges}"
    )

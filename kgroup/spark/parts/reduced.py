"""The results of reductions as named tables: newest records, last commits, reach and rounds."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

import pyarrow as pa

from kgroup.scan.reading.arrow import COMMIT_SCHEMA, schema_of
from kgroup.scan.reductions.history import REACH_SCHEMA, GroupPlace, History
from kgroup.scan.reductions.last_commits import LAST_COLUMNS, LastPart, MembershipChanges
from kgroup.scan.reductions.leaps import LEAP_SCHEMA
from kgroup.scan.reductions.newest import Newest
from kgroup.scan.reductions.packed import PackedRecord
from kgroup.spark.parts.entries import (
    DAMAGE,
    ENTRIES,
    FIRST_MARKERS,
    bytes_text,
    damage_of,
    damage_table,
    entries_of,
    entries_table,
    markers_of,
    markers_table,
    packed_of,
    packed_table,
    rows_of_table,
    table_of_rows,
    text_bytes,
)

Tables = Mapping[str, pa.Table]

_COUNTS: Final[list[tuple[str, pa.DataType]]] = [
    ("records", pa.int64()),
    ("batches", pa.int64()),
    ("bytes", pa.int64()),
]
_LAST: Final = schema_of(LAST_COLUMNS)
_MEMBERSHIPS: Final[list[tuple[str, pa.DataType]]] = [
    ("offsets_partition", pa.int32()),
    ("group", pa.string()),
    ("first", pa.int32()),
    ("newest", pa.int32()),
    ("log_offsets", pa.list_(pa.int64())),
]
MEMBERSHIPS: Final = pa.schema(_MEMBERSHIPS)
_PROBLEMS: Final[list[tuple[str, pa.DataType]]] = [("line", pa.binary())]

NEWEST_TABLES: Final = {
    "commits": COMMIT_SCHEMA,
    "pending": COMMIT_SCHEMA,
    "first_markers": FIRST_MARKERS,
    "others": ENTRIES,
    "damage": DAMAGE,
    "counts": pa.schema(_COUNTS),
}
LAST_TABLES: Final = {
    "settled": _LAST,
    "waiting": _LAST,
    "first_markers": FIRST_MARKERS,
    "memberships": MEMBERSHIPS,
    "leaps": LEAP_SCHEMA,
    "problems": pa.schema(_PROBLEMS),
}
HISTORY_TABLES: Final = {"reach": REACH_SCHEMA, "rounds": ENTRIES}


def newest_tables(part: Newest) -> Tables:
    """The newest records as NEWEST_TABLES."""
    return {
        "commits": part.commits,
        "pending": part.pending,
        "first_markers": markers_table(part.first_markers),
        "others": entries_table(part.others),
        "damage": damage_table(part.damage),
        "counts": table_of_rows([(part.records, part.batches, part.bytes)], NEWEST_TABLES["counts"]),
    }


def newest_of(tables: Tables) -> Newest:
    """The newest records of NEWEST_TABLES."""
    records, batches, size = next(iter(rows_of_table(tables["counts"])))
    return Newest(
        commits=tables["commits"],
        pending=tables["pending"],
        first_markers=markers_of(tables["first_markers"]),
        others=entries_of(tables["others"]),
        damage=damage_of(tables["damage"]),
        records=records,
        batches=batches,
        bytes=size,
    )


def last_tables(part: LastPart) -> Tables:
    """Last commits as LAST_TABLES."""
    return {
        "settled": part.settled,
        "waiting": part.waiting,
        "first_markers": markers_table(part.first_markers),
        "memberships": table_of_rows(
            (
                (*place, changes.first, changes.newest, changes.log_offsets)
                for place, changes in part.memberships.items()
            ),
            MEMBERSHIPS,
        ),
        "leaps": part.leaps,
        "problems": table_of_rows(((text_bytes(line),) for line in part.problems), LAST_TABLES["problems"]),
    }


def last_of(tables: Tables) -> LastPart:
    """The last commits of LAST_TABLES."""
    return LastPart(
        settled=tables["settled"],
        waiting=tables["waiting"],
        first_markers=markers_of(tables["first_markers"]),
        memberships={
            (partition, group): MembershipChanges(first, newest, tuple(log_offsets))
            for partition, group, first, newest, log_offsets in rows_of_table(tables["memberships"])
        },
        leaps=tables["leaps"],
        problems=tuple(bytes_text(line) for (line,) in rows_of_table(tables["problems"])),
    )


def history_tables(part: History) -> Tables:
    """Reach and rounds as HISTORY_TABLES; the rounds are a group's one after the other."""
    return {"reach": part.reach, "rounds": packed_table(chain.from_iterable(part.rounds.values()))}


def history_of(tables: Tables) -> History:
    """The reach and rounds of HISTORY_TABLES."""
    return History(reach=tables["reach"], rounds=_by_group(packed_of(tables["rounds"])))


def _by_group(records: Iterable[tuple[str, PackedRecord]]) -> dict[GroupPlace, tuple[PackedRecord, ...]]:
    rounds: dict[GroupPlace, list[PackedRecord]] = {}
    for group, record in records:
        rounds.setdefault((record.partition, group), []).append(record)
    return {place: tuple(of_group) for place, of_group in rounds.items()}

"""Rows of a lag report summed up by group, topic or member.

What is unknown is counted and not summed as 0. A lag below 0 (somebody committed beyond the log's end) is 0
in a sum, as it makes up for no other partition's.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from kgroup.report.emit import Column, Kind, Row
from kgroup.report.lag.columns import EXPIRES, PART_COLUMNS


class By(Enum):
    """The unit of a sum of rows: a group, a topic of all groups, or a member of a group."""

    GROUP = "group"
    TOPIC = "topic"
    MEMBER = "member"


_KEYS: Final[Mapping[By, tuple[str, ...]]] = {
    By.GROUP: ("group",),
    By.TOPIC: ("topic",),
    By.MEMBER: ("group", "member_id"),
}
_NAMES: Final[Mapping[By, tuple[str, ...]]] = {
    By.GROUP: ("group", "group_kind", "group_state"),
    By.TOPIC: ("topic",),
    By.MEMBER: ("group", "member_id", "group_instance_id", "host", "client_id"),
}
_NAMES_IN_TABLES: Final[Mapping[By, tuple[str, ...]]] = {
    By.GROUP: ("group", "group_state"),
    By.TOPIC: ("topic",),
    By.MEMBER: ("group", "member_id", "client_id"),
}
_SUM_COLUMNS: Final = (
    Column(name="partitions", kind=Kind.INTEGER, spare=2),
    Column(name="lagging", kind=Kind.INTEGER, spare=4),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="lag_max", kind=Kind.INTEGER, spare=3),
    Column(name="lag_unknown", header="UNKNOWN", kind=Kind.INTEGER, spare=1),
)
_TIME_COLUMNS: Final = (
    Column(name="time_lag_ms", header="TIME-LAG", kind=Kind.DURATION_MS),
    Column(name="time_lag_unknown", header="NO-TIME", kind=Kind.INTEGER),
    Column(name="time_lag_method", header="METHOD"),
)
_PARTS_UNKNOWN: Final = Column(name="parts_unknown", header="NOT-TOLD", kind=Kind.INTEGER)
_RATE_COLUMNS: Final = (
    Column(name="growth_per_s", header="GROWTH/S", kind=Kind.FLOAT),
    Column(name="growth_unknown", header="NO-RATE", kind=Kind.INTEGER),
)
_STATUS_COLUMNS: Final = (
    Column(name="status"),
    Column(name="statuses", kind=Kind.NESTED),
)
_NOT_IN_TABLES: Final = ("statuses", "beyond_last_stable")
_SPARE: Final = {"group_state": 5, "member_id": 6}
_PARTS: Final = tuple(column.name for column in PART_COLUMNS)
SUMMED: Final = frozenset(
    {
        *(name for names in (*_KEYS.values(), *_NAMES.values()) for name in names),
        *("lag", "time_lag_ms", "time_lag_method", "growth_per_s", "status"),
        *_PARTS,
        EXPIRES.name,
    }
)
"""The fields that sums ask of rows, as far as these have them."""


def sum_columns(
    by: By, *, is_table: bool, times: bool, rates: bool, status: bool, breakdown: bool = False
) -> tuple[Column, ...]:
    """The columns of sums."""
    names = _NAMES_IN_TABLES[by] if is_table else _NAMES[by]
    groups = [Column(name="groups", kind=Kind.INTEGER)] if by is By.TOPIC else []
    columns = [
        *(Column(name=name, spare=_SPARE.get(name, 0)) for name in names),
        *groups,
        *_SUM_COLUMNS,
        *((*PART_COLUMNS, _PARTS_UNKNOWN, EXPIRES) if breakdown else ()),
        *(_TIME_COLUMNS if times else ()),
        *(_RATE_COLUMNS if rates else ()),
        *(_STATUS_COLUMNS if status else ()),
    ]
    return tuple(column for column in columns if not (is_table and column.name in _NOT_IN_TABLES))


def sum_rows(rows: Iterable[Row], by: By) -> Iterator[Row]:
    """A row for each group, topic, or member of a group, sorted by that; partitions without an owner last.

    `rows` have the fields of a report for programs. A lag, a part of it, or a time lag, is None where it is
    unknown for every partition; `parts_unknown` are partitions that some part is unknown of. `expires` is the
    first to come.
    """
    sums: dict[tuple[str | None, ...], _Sum] = {}
    for row in rows:
        key = tuple(_text(row[name]) for name in _KEYS[by])
        total = sums.get(key)
        if total is None:
            total = sums[key] = _Sum(first=row)
        total.add(row)
    for _, total in sorted(sums.items(), key=lambda item: [(name is None, name or "") for name in item[0]]):
        yield {name: total.first[name] for name in _NAMES[by]} | total.fields(groups=by is By.TOPIC)


@dataclass(slots=True)
class _Sum:
    """A running sum; `first` is the row that names it."""

    first: Row
    partitions: int = 0
    lagging: int = 0
    groups: set[object] = field(default_factory=set)
    lags: list[int] = field(default_factory=list)
    time_lags: list[int] = field(default_factory=list)
    growths: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    parts: Counter[str] = field(default_factory=Counter)
    parts_unknown: int = 0
    expiries: list[int] = field(default_factory=list)

    def add(self, row: Row) -> None:
        self.partitions += 1
        self.groups.add(row["group"])
        lag, time_lag, growth, status = (
            row.get(name) for name in ("lag", "time_lag_ms", "growth_per_s", "status")
        )
        if isinstance(lag, int):
            self.lags.append(max(lag, 0))
            self.lagging += lag > 0
        if isinstance(time_lag, int):
            self.time_lags.append(time_lag)
        if isinstance(growth, (int, float)):
            self.growths.append(growth)
        if isinstance(status, str):
            self.statuses[str(status)] += 1
        if EXPIRES.name in row:
            self._add_parts(row)

    def _add_parts(self, row: Row) -> None:
        known = {name: part for name in _PARTS if isinstance(part := row[name], int)}
        self.parts.update(known)
        self.parts_unknown += len(known) < len(_PARTS)
        if isinstance(expires := row[EXPIRES.name], int):
            self.expiries.append(expires)

    def fields(self, *, groups: bool) -> dict[str, object]:
        fields: dict[str, object] = {"groups": len(self.groups)} if groups else {}
        fields |= {
            "partitions": self.partitions,
            "lagging": self.lagging,
            "lag": sum(self.lags) if self.lags else None,
            "lag_max": max(self.lags, default=None),
            "lag_unknown": self.partitions - len(self.lags),
        }
        if EXPIRES.name in self.first:
            fields |= {name: self.parts.get(name) for name in _PARTS}
            fields["parts_unknown"] = self.parts_unknown
            fields[EXPIRES.name] = min(self.expiries, default=None)
        if "time_lag_ms" in self.first:
            fields["time_lag_ms"] = max(self.time_lags, default=None)
            fields["time_lag_unknown"] = self.partitions - len(self.time_lags)
            fields["time_lag_method"] = self.first["time_lag_method"]
        if "growth_per_s" in self.first:
            fields["growth_per_s"] = sum(self.growths) if self.growths else None
            fields["growth_unknown"] = self.partitions - len(self.growths)
        if "status" in self.first:
            from kgroup.lag.status.model import PartitionStatus, group_status

            fields["status"] = (
                group_status(map(PartitionStatus, self.statuses)).value if self.statuses else None
            )
            fields["statuses"] = dict(sorted(self.statuses.items()))
        return fields


def _text(name: object) -> str | None:
    return None if name is None else str(name)

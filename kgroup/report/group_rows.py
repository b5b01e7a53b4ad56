"""Rows of `kgroup groups`: one per group."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from kgroup.lag.measures.seen_groups import SeenGroup
from kgroup.report.emit import Column, Kind, Row

_HOSTS_SHOWN: Final = 2

GROUP_COLUMNS: Final = (
    Column(name="group"),
    Column(name="state"),
    Column(name="type"),
    Column(name="protocol_type"),
    Column(name="protocol"),
    Column(name="epoch", kind=Kind.INTEGER),
    Column(name="members", kind=Kind.INTEGER),
    Column(name="hosts", kind=Kind.NESTED),
    Column(name="client_ids", kind=Kind.NESTED),
    Column(name="topics", kind=Kind.NESTED),
    Column(name="partitions", kind=Kind.INTEGER),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="lag_unknown", kind=Kind.INTEGER),
    Column(name="last_commit", kind=Kind.TIME_MS),
    Column(name="last_commit_age_ms", kind=Kind.DURATION_MS),
    Column(name="coordinator", kind=Kind.INTEGER),
    Column(name="problem"),
)
"""The fields of a row, in every format but the table."""


class SortBy(StrEnum):
    """The values of `--sort`: highest first, but names and states from A to Z."""

    NAME = "name"
    LAG = "lag"
    LAST_COMMIT = "last-commit"
    MEMBERS = "members"
    STATE = "state"
    TYPE = "type"


def group_table(*, with_times: bool, with_problems: bool) -> Sequence[Column]:
    """The columns of the table."""
    times = (Column(name="last_commit_age_ms", header="LAST-COMMIT", kind=Kind.DURATION_MS, spare=1),)
    return (
        Column(name="group"),
        Column(name="state"),
        Column(name="type", spare=5),
        Column(name="protocol", spare=6),
        Column(name="members", kind=Kind.INTEGER, spare=3),
        Column(name="hosts_shown", header="HOSTS", spare=7),
        Column(name="partitions", kind=Kind.INTEGER, narrow="PARTS", spare=4),
        Column(name="lag", kind=Kind.INTEGER),
        Column(name="lag_unknown", header="UNKNOWN", kind=Kind.INTEGER, spare=2),
        *(times if with_times else ()),
        *((Column(name="problem"),) if with_problems else ()),
    )


def group_rows(groups: Iterable[SeenGroup], now_ms: int, *, is_table: bool) -> Iterator[Row]:
    """A row for each `SeenGroup`. Ages are as of `now_ms` (epoch ms), and none is below 0."""
    for seen in groups:
        group, last_ms = seen.group, seen.last_commit_ms
        row: dict[str, object] = {
            "group": seen.group_id,
            "state": group.state,
            "type": seen.kind,
            "protocol_type": group.protocol_type,
            "protocol": group.protocol,
            "epoch": group.epoch,
            "members": seen.member_count,
            "hosts": list(seen.hosts),
            "client_ids": sorted({member.client_id for member in group.members}),
            "topics": list(seen.topics),
            "partitions": len(seen.rows),
            "lag": seen.lag,
            "lag_unknown": seen.lag_unknown,
            "last_commit": last_ms,
            "last_commit_age_ms": None if last_ms is None else max(0, now_ms - last_ms),
            "coordinator": seen.coordinator,
            "problem": seen.problem,
        }
        if is_table:
            row["hosts_shown"] = _some(seen.hosts)
        yield row


def sorted_by(by: SortBy, groups: Iterable[SeenGroup]) -> list[SeenGroup]:
    """`SeenGroup`s in that order; what is unknown comes last, and names decide between equals."""
    return sorted(groups, key=lambda seen: (*_KEYS[by](seen), seen.group_id))


def _highest_first(number: int | None) -> tuple[bool, int]:
    return number is None, -(number or 0)


_KEYS: Final[Mapping[SortBy, Callable[[SeenGroup], tuple[int | str, ...]]]] = {
    SortBy.NAME: lambda seen: (),
    SortBy.LAG: lambda seen: _highest_first(seen.lag),
    SortBy.LAST_COMMIT: lambda seen: _highest_first(seen.last_commit_ms),
    SortBy.MEMBERS: lambda seen: _highest_first(seen.member_count),
    SortBy.STATE: lambda seen: (seen.group.state.value,),
    SortBy.TYPE: lambda seen: (seen.group.kind.value,),
}


def _some(hosts: Sequence[str]) -> str | None:
    if not hosts:
        return None
    more = len(hosts) - _HOSTS_SHOWN
    return ",".join(hosts[:_HOSTS_SHOWN]) + (f" +{more}" if more > 0 else "")

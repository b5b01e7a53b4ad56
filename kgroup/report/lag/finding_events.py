"""Findings as events: what was found since the last look, and what is gone."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kgroup.report.emit import Column, Kind, Row
from kgroup.report.lag.finding_rows import FINDING_COLUMNS

OPENED: Final = "opened"
CLOSED: Final = "closed"

EVENT_COLUMNS: Final = (Column(name="event"), Column(name="time", kind=Kind.TIME_MS), *FINDING_COLUMNS)
"""`time` is when it was noticed, epoch ms. The rest of a closed one is as it was when it was opened."""

EVENT_TABLE: Final = (
    Column(name="event"),
    Column(name="time", kind=Kind.TIME_MS),
    Column(name="group"),
    Column(name="finding"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="client_id", spare=1),
    Column(name="grade", spare=2),
    Column(name="evidence"),
)

_SAME: Final = ("group", "finding", "topic", "partition", "member_id")
"""By these a finding is the one of before: the rest of it changes while it lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The events, rows of EVENT_COLUMNS, and the rows of FINDING_COLUMNS that are open afterwards."""

    events: Sequence[Row]
    still_open: Sequence[Row]


def turned(were_open: Iterable[Row], found: Iterable[Row], now_ms: int, *, closes: bool = True) -> Turn:
    """Compare rows of FINDING_COLUMNS that were open with those that are found at `now_ms`, epoch ms.

    Of several that are the same, the oldest is that of before. With `closes` False nothing is closed: not all
    could be looked at. First come those that are closed, then those that are opened, each in their order.
    """
    before, now = dict(_told_apart(were_open)), dict(_told_apart(found))
    ended = [key for key in before if key not in now] if closes else []
    begun = [key for key in now if key not in before]
    events = [_event(CLOSED, now_ms, before[key]) for key in ended]
    events += [_event(OPENED, now_ms, now[key]) for key in begun]
    stays = {key: row for key, row in before.items() if key not in set(ended)}
    return Turn(events=events, still_open=[*stays.values(), *(now[key] for key in begun)])


def _event(event: str, now_ms: int, row: Row) -> Row:
    return {"event": event, "time": now_ms, **row}


def _told_apart(rows: Iterable[Row]) -> Iterator[tuple[tuple[Any, ...], Mapping[str, object]]]:
    """Rows by what makes them the same as another time, those that are the same numbered by age."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for row in sorted(rows, key=_age):
        same = tuple(row[name] for name in _SAME)
        yield (*same, seen[same]), row
        seen[same] += 1


def _age(row: Row) -> tuple[bool, Any]:
    since = row["since"]
    return since is None, since or 0

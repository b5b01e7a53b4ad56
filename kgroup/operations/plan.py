"""A plan: one row per partition, old offset to new, with the effect on its readers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from kgroup.durations import lasting
from kgroup.errors import RefusedError
from kgroup.lag.findings.text import counted
from kgroup.operations.model import Change, GroupOffsets, PartitionLimits, PlanRow, Position, Target
from kgroup.protocol.topic_partition import TopicPartition

_PLACES_SHOWN = 3


class Outside(Enum):
    """The treatment of a new offset that its log does not have."""

    REFUSED = "refused"
    CLAMPED = "clamped"
    """Take the nearest one there is, as kafka-consumer-groups does."""
    KEPT = "kept"
    """Commit it all the same, as an undo does: it was there before."""


def make_plan(
    offsets: GroupOffsets,
    targets: Mapping[TopicPartition, Target],
    limits: Mapping[TopicPartition, PartitionLimits],
    *,
    outside: Outside = Outside.REFUSED,
) -> list[PlanRow]:
    """A row for each target, sorted by topic and partition.

    Raises RefusedError naming the partitions whose new offset lies outside the log, if that is REFUSED.
    """
    rows, beyond = [], []
    for place, target in sorted(targets.items()):
        log = limits.get(place)
        new, notes = target.position, [target.why] if target.why else []
        if new is not None and log is not None and not log.log_start <= new.offset <= log.log_end:
            beyond.append((place, new.offset, log))
            if outside is Outside.CLAMPED:
                notes.append(f"clamped from {new.offset}")
                new = Position(log.log_start if new.offset < log.log_start else log.log_end)
            else:
                notes.append(f"outside the log, {log.log_start} to {log.log_end}")
        change = Change(
            group=offsets.group, topic=place[0], partition=place[1], old=offsets.commits.get(place), new=new
        )
        if place in offsets.unstable:
            notes.append("an open transaction is about to commit here")
        rows.append(PlanRow(change=change, limits=log, notes=(*notes, *_of_the_old(change, log))))
    if beyond and outside is Outside.REFUSED:
        raise RefusedError(_outside(beyond))
    return rows


def kafka_warning(place: TopicPartition, offset: int, log: PartitionLimits) -> str | None:
    """The warning kafka-consumer-groups logs when it clamps an offset, None for one within the log."""
    name = f"{place[0]}-{place[1]}"
    if offset > log.log_end:
        return (
            f"New offset ({offset}) is higher than latest offset for topic partition {name}."
            f" Value will be set to {log.log_end}."
        )
    if offset < log.log_start:
        return (
            f"New offset ({offset}) is lower than earliest offset for topic partition {name}."
            f" Value will be set to {log.log_start}."
        )
    return None


def clamped(
    targets: Mapping[TopicPartition, Target], limits: Mapping[TopicPartition, PartitionLimits]
) -> Iterator[str]:
    """Kafka's warnings for what a plan with CLAMPED moves, of the first partitions; then how many more."""
    outside = [
        warning
        for place, target in sorted(targets.items())
        if target.position is not None and place in limits
        if (warning := kafka_warning(place, target.position.offset, limits[place])) is not None
    ]
    yield from outside[:_PLACES_SHOWN]
    if len(outside) > _PLACES_SHOWN:
        yield f"{counted(len(outside) - _PLACES_SHOWN, 'more partition')} with new offsets outside their logs"


def _outside(outside: Sequence[tuple[TopicPartition, int, PartitionLimits]]) -> str:
    shown = ", ".join(
        f"{topic}-{partition} has {log.log_start} to {log.log_end}, not {offset}"
        for (topic, partition), offset, log in outside[:_PLACES_SHOWN]
    )
    more = len(outside) - _PLACES_SHOWN
    rest = f" (and {more} more)" if more > 0 else ""
    return f"out of range: {shown}{rest}; --clamp takes the nearest offset there is"


def _of_the_old(change: Change, log: PartitionLimits | None) -> Iterator[str]:
    if change.old is None or log is None:
        return
    if change.old.offset < log.log_start:
        yield f"the old offset {change.old.offset} is deleted: the log begins at {log.log_start}"
    elif change.old.offset > log.log_end:
        yield f"the old offset {change.old.offset} is past the log's end, {log.log_end}"


def effect(row: PlanRow) -> str:
    """The effect on a reader, in words: `reads 204 records again (14h 5m)`, `skips 96 unread (2m 3s)`."""
    change = row.change
    if change.new is None:
        return "nothing to delete" if change.old is None else "deletes the offset"
    if change.old is None:
        return "sets a first offset"
    span = "" if row.time_ms is None else f" ({lasting(abs(row.time_ms))})"
    if row.again:
        return f"reads {counted(row.again, 'record')} again{span}"
    if row.skipped:
        return f"skips {counted(row.skipped, 'record')}{span}"
    return "moves past nothing" if change.records else "stays"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTotals:
    """The totals of a plan. Times are the longest of any partition (ms), None if none is known."""

    partitions: int
    again: int
    again_ms: int | None
    skipped: int
    skipped_ms: int | None
    set_anew: int
    deleted: int
    past_nothing: int
    unchanged: int

    def sentence(self) -> str:
        """One line for a person."""
        parts = []
        if self.again:
            parts.append(f"{counted(self.again, 'record')} will be read again{_up_to(self.again_ms)}")
        if self.skipped:
            parts.append(f"{counted(self.skipped, 'unread record')} will be skipped{_up_to(self.skipped_ms)}")
        if self.set_anew:
            parts.append(f"{counted(self.set_anew, 'partition')} without an offset will get one")
        if self.deleted:
            parts.append(f"{counted(self.deleted, 'offset')} will be deleted")
        if self.past_nothing:
            parts.append(f"{counted(self.past_nothing, 'partition')} will move past nothing")
        if self.unchanged:
            parts.append(f"{counted(self.unchanged, 'partition')} will not move")
        return "; ".join(parts) or "no partition is concerned"


def totals(rows: Iterable[PlanRow]) -> PlanTotals:
    """The sums of a plan's rows."""
    kept = list(rows)
    back = [row for row in kept if row.again]
    forth = [row for row in kept if row.skipped]
    return PlanTotals(
        partitions=len(kept),
        again=sum(row.again for row in back),
        again_ms=_longest(back),
        skipped=sum(row.skipped for row in forth),
        skipped_ms=_longest(forth),
        set_anew=sum(row.change.old is None and row.change.new is not None for row in kept),
        deleted=sum(row.change.old is not None and row.change.new is None for row in kept),
        past_nothing=sum(bool(row.change.records) and not row.again and not row.skipped for row in kept),
        unchanged=sum(
            row.change.records == 0 or (row.change.old is None and row.change.new is None) for row in kept
        ),
    )


def _longest(rows: Sequence[PlanRow]) -> int | None:
    known = [abs(row.time_ms) for row in rows if row.time_ms is not None]
    return max(known, default=None)


def _up_to(time_ms: int | None) -> str:
    return "" if time_ms is None else f", up to {lasting(time_ms)} of them"

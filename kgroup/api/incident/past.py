"""Committed offsets and log ends at past times, from records and batches alone."""

from collections.abc import Iterable, Iterator, Sequence

from kgroup.api.incident.evidence import DataBatch, EvidenceReader
from kgroup.errors import DecodeError
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.topic_partition import TopicPartition


class Committed:
    """A commit that counts at a time: `offset`, and the places in the log that say so."""

    __slots__ = ("log", "offset")

    def __init__(self, offset: int, log: tuple[LoggedEntry, ...]) -> None:
        self.offset = offset
        self.log = log


def committed_at(
    group: str,
    items: Iterable[object],
    places: Sequence[TopicPartition],
    times_ms: Sequence[int],
) -> dict[TopicPartition, list[Committed | None]]:
    """The committed offset in force for each partition at each of these ascending times."""
    counted: dict[TopicPartition, list[Committed | None]] = {}
    for place, commits in commit_history(group, items, places).items():
        counted[place] = [
            next((commit for at_ms, commit in reversed(commits) if at_ms <= time_ms), None)
            for time_ms in times_ms
        ]
    return counted


def commit_history(
    group: str, items: Iterable[object], places: Sequence[TopicPartition]
) -> dict[TopicPartition, list[tuple[int, Committed | None]]]:
    """All commits of these partitions in log order, each with the time (epoch ms) from which on it counts.

    That is its own time; of one in a transaction that of the marker behind it. None is a deletion.
    """
    history: dict[TopicPartition, list[tuple[int, Committed | None]]] = {place: [] for place in places}
    pending: dict[int, list[tuple[TopicPartition, LoggedEntry]]] = {}

    def note(place: TopicPartition, log: tuple[LoggedEntry, ...]) -> None:
        entry = log[0].entry
        assert isinstance(entry, OffsetsEntry)
        value = entry.value
        if isinstance(value, OffsetCommitValue):
            at_ms = max(value.commit_timestamp, *(each.timestamp_ms for each in log[1:]), 0)
            history[place].append((at_ms, Committed(value.offset, log)))
        else:
            history[place].append((log[0].timestamp_ms, None))

    for item in items:
        if not isinstance(item, LoggedEntry):
            continue
        entry = item.entry
        if isinstance(entry, TransactionMarker):
            for place, commit in pending.pop(entry.producer_id, ()):
                if entry.committed:
                    note(place, (commit, item))
        elif isinstance(entry, OffsetsEntry) and isinstance(entry.key, OffsetCommitKey):
            place = entry.key.topic, entry.key.partition
            if entry.key.group != group or place not in history:
                continue
            if item.producer_id is None:
                note(place, (item,))
            else:
                pending.setdefault(item.producer_id, []).append((place, item))
    return history


def end_at(batches: Sequence[DataBatch], time_ms: int) -> int | None:
    """A log's end at a time, by records' own timestamps; None unless the batches prove it.

    Proof is the first newer record with the one before it, or the last batch of all. They stand in order.
    """
    before: DataBatch | None = None
    for each in batches:
        if each.batch.max_timestamp_ms > time_ms:
            offset = _first_newer(each, time_ms)
            adjoins = before is not None and before.batch.last_offset + 1 == each.batch.base_offset
            return offset if adjoins or offset > each.batch.base_offset or offset == 0 else None
        before = each
    return before.batch.last_offset + 1 if before is not None and before.is_end else None


def _first_newer(each: DataBatch, time_ms: int) -> int:
    try:
        records = each.batch.records()
    except DecodeError:
        return each.batch.base_offset
    newer: Iterator[int] = (record.offset for record in records if record.timestamp_ms > time_ms)
    return next(newer, each.batch.base_offset)


def batches_of_ends(
    reader: EvidenceReader, place: TopicPartition, times_ms: Sequence[int]
) -> Iterator[DataBatch]:
    """The batches that prove where a log ended at times that rise: the first newer and the one before."""
    if reader.live is not None:
        reader.live.look({place: times_ms})
    before: int | None = None
    times = iter(times_ms)
    time_ms = next(times)
    for each in reader.outline(place):
        while each.max_timestamp_ms > time_ms:
            proof = (reader.batch(place, at) for at in (before, each.base_offset) if at is not None)
            yield from filter(None, proof)
            try:
                time_ms = next(times)
            except StopIteration:
                return
        before = each.base_offset
    if before is not None and (last := reader.batch(place, before, is_end=True)) is not None:
        yield last

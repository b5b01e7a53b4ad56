"""Contents of an offsets partition: records and bytes per segment, group and kind, and how much would stay.

Each byte of a file is somebody's: a batch's bytes are divided among its records (`kernels/tally.py` has the
rule), batches without records and damaged bytes are kinds of their own. So the rows of a segment add up to
the size of its file.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgroup.errors import DecodeError
from kgroup.log.files.entries import decode_marker
from kgroup.log.format.batch import Batch, Damage
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.consumer_group import ConsumerGroupMemberMetadataValue
from kgroup.protocol.records.entries import OffsetsEntry, TransactionMarker
from kgroup.protocol.records.keys import group_of
from kgroup.protocol.records.share_group import ShareGroupMemberMetadataValue
from kgroup.protocol.records.streams_group import StreamsGroupMemberMetadataValue
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.scan.kernels.batches import BUFFER_SLACK, HEADER_SIZE
from kgroup.scan.kernels.keys import (
    COMMIT_TAG,
    NO_ROOM,
    TAG,
    capacity,
    grown,
    intern_key,
    key_bytes,
    key_count,
)
from kgroup.scan.kernels.rows import ABORTED, COMMITTED, KEY_ID, KIND, OTHER, TEXT_POSITION, TEXT_SIZE
from kgroup.scan.kernels.tally import (
    AT,
    BATCH,
    BYTES,
    CLEANABLE,
    CLEANABLE_TO,
    COMMITS,
    DUE_MARKERS,
    EMPTY_BATCHES,
    EVENT_COLUMNS,
    EVENT_KEY,
    EVENT_PLACE,
    EVENT_PRODUCER,
    EVENTS,
    FIRST_MS,
    HAS_VALUE,
    HORIZON,
    KEYLESS,
    LAST_MS,
    MARKERS,
    NEWEST,
    NEXT_OFFSET,
    NOW_MS,
    OTHERS,
    PLACE_COLUMNS,
    RECORDS,
    RUN,
    RUN_BYTES,
    RUN_FIRST_MS,
    RUN_LAST_MS,
    RUN_NUMBER,
    RUN_RECORDS,
    RUN_TOMBSTONE_BYTES,
    RUN_TOMBSTONES,
    SHARE,
    STATE,
    TALLY_COLUMNS,
    TOMBSTONE_BYTES,
    TOMBSTONES,
    Table,
    add_listed,
    tally_batches,
)
from kgroup.scan.reading.drive import SegmentReader, Slice, Taken
from kgroup.scan.reductions.tally_amounts import (
    RUN_MS_MIN,
    Amount,
    GroupsOfKeys,
    PartitionTally,
    SegmentTally,
    What,
)

_EMPTY_TABLE: Final[Table] = np.empty(0, np.int64)
_MEMBER_TAGS: Final = (2, 5, 10, 19)
"""Types of records whose values name clients: classic groups, and members of the other kinds."""
_RECORD_FRAME: Final = 7
"""The bytes that a record has besides key and value, at least."""


def tally(parts: Sequence[Slice], bases: Sequence[int], now_ms: int) -> PartitionTally:
    """Tally the segments of one offsets partition, whole files in log order, of which the last is active.

    `bases` are their base offsets. `now_ms` decides which deletions are due. What stays is by the rules of
    Kafka's LogCleaner with its defaults: it looks at closed segments up to the one in which the oldest
    undecided transaction began; in them the newest record of each key stays and no aborted one, deletions and
    markers until their delete horizon (KIP-534). Bytes of what stays are those that its batches have
    afterwards; compressed ones, and those with another base time then, may differ by a few. Raises
    SourceError if a file cannot be read.
    """
    made = _TallyReader(parts, bases, now_ms, cleanable_to=bases[-1])
    result = made.result()
    if made.first_open is None or made.first_open >= bases[-1]:
        return result
    limit = max(base for base in bases if base <= made.first_open)
    return _TallyReader(parts, bases, now_ms, cleanable_to=limit).result(open_from=made.first_open)


class _TallyReader(SegmentReader[None]):
    """Reads a partition and adds it up."""

    def __init__(
        self, parts: Sequence[Slice], bases: Sequence[int], now_ms: int, *, cleanable_to: int
    ) -> None:
        super().__init__()
        self.first_open: int | None = None
        self._parts = parts
        self._bases = np.array(bases, np.int64)
        self._cleanable_to = cleanable_to
        self._now_ms = now_ms
        self._tallies: Table = np.zeros((capacity(self.keys), TALLY_COLUMNS), np.int64)
        self._others: Table = np.zeros((OTHERS, TALLY_COLUMNS), np.int64)
        self._state: Table = np.zeros(STATE, np.int64)
        self._state[NOW_MS] = now_ms
        self._state[CLEANABLE_TO] = cleanable_to
        self._state[NEXT_OFFSET] = self._state[RUN_FIRST_MS] = -1
        self._events: list[Table] = []
        self._undecided: Table = np.zeros((0, EVENT_COLUMNS), np.int64)
        self._largest: dict[int, bytes] = {}
        self._clients: dict[str, set[str]] = {}
        self._groups = GroupsOfKeys()
        self._segments: list[SegmentTally] = []
        self._damage: list[Damage] = []

    def result(self, open_from: int | None = None) -> PartitionTally:
        """Read all segments."""
        for part, base in zip(self._parts, self._bases.tolist(), strict=True):
            self._state[FIRST_MS] = self._state[LAST_MS] = -1
            # What no batch accounts for is damage.
            self._damage += [item for item in self.read(part) if item is not None]
            self._decide()
            self._name_clients()
            self._segments.append(self._segment(part, is_closed=base < self._cleanable_to))
        if len(self._undecided):
            self.first_open = int(self._undecided[:, EVENT_PLACE + AT].min()) - 1
        self._add_what_counts()
        run_ms = int(self._state[RUN_LAST_MS] - self._state[RUN_FIRST_MS])
        return PartitionTally(
            offsets_partition=self._parts[0].offsets_partition,
            segments=tuple(self._segments),
            clients={group: frozenset(names) for group, names in self._clients.items()},
            run_keys=self._run_keys(),
            run_ms=run_ms if self._state[RUN_FIRST_MS] >= 0 and run_ms >= RUN_MS_MIN else None,
            open_from=open_from,
            damage=tuple(self._damage),
        )

    # ---- reading --------------------------------------------------------------------------------

    def _taken(self, count: int, taken: Taken) -> Iterator[None]:
        self._make_room()
        unpacked = taken.unpacked
        sources = unpacked.sources(taken.start, taken.batches) if unpacked else _EMPTY_TABLE
        events = np.empty((max(count, 1), EVENT_COLUMNS), np.int64)
        self._state[EVENTS] = 0
        tally_batches(
            taken.buffer,
            taken.start,
            taken.end,
            taken.window.buffer,
            sources,
            self._rows,
            self._tallies,
            self._others,
            events,
            self._state,
        )
        self._keep(events)
        self._note_members(count, taken)
        return iter(())

    def _plain(self, part: Slice, batch: Batch) -> Iterator[Damage | None]:
        try:
            listed = self._listed(batch)
        except DecodeError as error:
            why = f"{error.field}: {error.why}"
            return iter((Damage(segment=str(part.path), position=batch.position, size=batch.size, why=why),))
        if batch.base_offset != self._state[NEXT_OFFSET]:
            self._state[RUN_NUMBER] += 1
            self._state[RUN_FIRST_MS] = -1
        self._state[NEXT_OFFSET] = batch.last_offset + 1
        if not listed:
            self._others[EMPTY_BATCHES, RECORDS] += 1
            self._others[EMPTY_BATCHES, BYTES] += batch.size
            return iter(())
        self._make_room()
        events = np.empty((len(listed), EVENT_COLUMNS), np.int64)
        self._state[EVENTS] = 0
        add_listed(np.array(listed, np.int64), self._tallies, self._others, events, self._state)
        self._keep(events)
        return iter(())

    def _plain_ends(self) -> Iterator[None]:
        return iter(())

    def _listed(self, batch: Batch) -> list[tuple[int, ...]]:
        """A row of ten columns for each record, as `add_record` takes them. Raises DecodeError."""
        records = batch.records()
        header = HEADER_SIZE if batch.magic == 2 else 0
        weights = [len(r.key or b"") + len(r.value or b"") + _RECORD_FRAME for r in records]
        whole, count, payload = sum(weights), len(weights), batch.size - header
        rows: list[tuple[int, ...]] = []
        taken = 0
        for index, (record, weight) in enumerate(zip(records, weights, strict=True)):
            kind, key_id = OTHER, -1
            if batch.control:
                marker = decode_marker(batch, record)
                if isinstance(marker, TransactionMarker):
                    kind = COMMITTED if marker.committed else ABORTED
            else:
                key_id = self._key_id(record.key)
            share = payload * (taken + weight) // whole - payload * taken // whole
            taken += weight
            rows.append(
                (
                    key_id,
                    kind,
                    record.offset,
                    record.timestamp_ms,
                    record.value is not None,
                    share,
                    header // count + (index < header % count),
                    batch.base_offset if header else -1,
                    batch.producer_id if batch.transactional else -1,
                    -1 if batch.delete_horizon_ms is None else batch.delete_horizon_ms,
                )
            )
            if key_id >= 0 and record.value is not None and self.keys.strings[key_id, TAG] in _MEMBER_TAGS:
                self._note_value(key_id, record.value)
        return rows

    def _key_id(self, key: bytes | None) -> int:
        raw = np.frombuffer((key or b"") + bytes(BUFFER_SLACK), np.uint8)
        while (key_id := intern_key(self.keys, raw, 0, len(key or b""))) == NO_ROOM:
            self.keys = grown(self.keys)
        return key_id

    def _make_room(self) -> None:
        missing = capacity(self.keys) - len(self._tallies)
        if missing > 0:
            self._tallies = np.concatenate([self._tallies, np.zeros((missing, TALLY_COLUMNS), np.int64)])

    def _keep(self, events: Table) -> None:
        if self._state[EVENTS]:
            self._events.append(events[: self._state[EVENTS]].copy())

    def _note_members(self, count: int, taken: Taken) -> None:
        rows = self._rows
        (others,) = np.nonzero(rows[KIND, :count] == OTHER)
        if not len(others):
            return
        ids = rows[KEY_ID, others]
        others = others[np.isin(self.keys.strings[ids, TAG], _MEMBER_TAGS)]
        # The last row of each key is its largest.
        others = others[np.argsort(rows[TEXT_SIZE, others], kind="stable")]
        largest = dict(zip(rows[KEY_ID, others].tolist(), others.tolist(), strict=True))
        for key_id, row in largest.items():
            start, size = int(rows[TEXT_POSITION, row]), int(rows[TEXT_SIZE, row])
            self._note_value(key_id, taken.buffer[start : start + size].tobytes())

    def _note_value(self, key_id: int, value: bytes) -> None:
        if len(value) >= len(self._largest.get(key_id, b"")):
            self._largest[key_id] = value

    # ---- what it comes to -----------------------------------------------------------------------

    def _decide(self) -> None:
        """Let the records of transactions that were committed count, and forget those that were aborted."""
        if not self._events:
            return
        events = np.concatenate([self._undecided, *self._events])
        self._events.clear()
        order = np.argsort(events[:, EVENT_PRODUCER], kind="stable")
        events = events[order]
        producers = events[:, EVENT_PRODUCER]
        is_marker = events[:, EVENT_KEY] < 0
        # Of each event the place of the next marker, its own producer's if that has one.
        places = np.where(is_marker, np.arange(len(events)), len(events))
        following = np.minimum.accumulate(places[::-1])[::-1]
        bounded = np.minimum(following, len(events) - 1)
        has_end = (following < len(events)) & (producers[bounded] == producers)
        is_committed = has_end & (events[bounded, EVENT_KEY] == COMMITS)
        self._undecided = events[~is_marker & ~has_end]
        committed = events[~is_marker & is_committed]
        if len(committed):
            self._count(committed, NEWEST)
            cleanable = committed[:, EVENT_PLACE + AT] <= self._cleanable_to
            self._count(committed[cleanable], CLEANABLE)

    def _count(self, events: Table, column: int) -> None:
        order = np.lexsort((events[:, EVENT_PLACE + AT], events[:, EVENT_KEY]))
        events = events[order]
        is_last = np.append(events[1:, EVENT_KEY] != events[:-1, EVENT_KEY], True)[: len(events)]
        events = events[is_last]
        ids = events[:, EVENT_KEY]
        newer = events[:, EVENT_PLACE + AT] > self._tallies[ids, column + AT]
        self._tallies[ids[newer], column : column + PLACE_COLUMNS] = events[newer, EVENT_PLACE:]

    def _name_clients(self) -> None:
        for key_id, value in self._largest.items():
            entry = decode_entry(key_bytes(self.keys, key_id), value)
            if not isinstance(entry, OffsetsEntry):
                continue
            match entry.value:
                case GroupMetadataValue(members=members):
                    names = {member.client_id for member in members}
                case (
                    ConsumerGroupMemberMetadataValue(client_id=name)
                    | ShareGroupMemberMetadataValue(client_id=name)
                    | StreamsGroupMemberMetadataValue(client_id=name)
                ):
                    names = {name}
                case _:
                    continue
            self._clients.setdefault(group_of(entry.key), set()).update(names - {""})
        self._largest.clear()

    def _segment(self, part: Slice, *, is_closed: bool) -> SegmentTally:
        """The tally since the segment before; its columns are cleared."""
        amounts: dict[tuple[str | None, What], Amount] = {}
        self._groups.extend(self.keys)
        count = key_count(self.keys)
        sums = self._tallies[:count]
        for what, records, size in (
            (None, sums[:, RECORDS] - sums[:, TOMBSTONES], sums[:, BYTES] - sums[:, TOMBSTONE_BYTES]),
            (What.TOMBSTONE, sums[:, TOMBSTONES], sums[:, TOMBSTONE_BYTES]),
        ):
            for place, amount in self._groups.sums(what, records=records, sizes=size):
                amounts.setdefault(place, Amount()).add(amount)
        for row, what in ((MARKERS, What.MARKER), (KEYLESS, What.OTHER), (EMPTY_BATCHES, What.EMPTY_BATCH)):
            if self._others[row, RECORDS]:
                # Of an empty batch there is no record.
                number = 0 if what is What.EMPTY_BATCH else int(self._others[row, RECORDS])
                amount = Amount(records=number, bytes=int(self._others[row, BYTES]))
                amounts.setdefault((None, what), Amount()).add(amount)
        damaged = part.end - part.start - sum(each.bytes for each in amounts.values())
        if damaged:
            amounts[None, What.DAMAGE] = Amount(bytes=damaged)
        for (_, what), amount in amounts.items():
            if not is_closed or what not in (What.COMMIT, What.GROUP, What.TOMBSTONE):
                amount.stays_records, amount.stays_bytes = amount.records, amount.bytes
        if is_closed and self._others[DUE_MARKERS, RECORDS]:
            markers = amounts[None, What.MARKER]
            markers.stays_records -= int(self._others[DUE_MARKERS, RECORDS])
            markers.stays_bytes -= int(self._others[DUE_MARKERS, BYTES])
        first_ms, last_ms = int(self._state[FIRST_MS]), int(self._state[LAST_MS])
        self._tallies[:count, RECORDS : TOMBSTONE_BYTES + 1] = 0
        self._others[:, RECORDS : TOMBSTONE_BYTES + 1] = 0
        return SegmentTally(
            part=part,
            amounts=amounts,
            first_ms=first_ms if first_ms >= 0 else None,
            last_ms=last_ms if first_ms >= 0 else None,
            is_closed=is_closed,
        )

    def _add_what_counts(self) -> None:
        """Add what stays of closed segments, what is live, and the run to the places where they lie."""
        count = key_count(self.keys)
        cleanable = self._tallies[:count, CLEANABLE : CLEANABLE + PLACE_COLUMNS]
        horizon = cleanable[:, HORIZON]
        is_due = (cleanable[:, HAS_VALUE] == 0) & (horizon >= 0) & (horizon <= self._now_ms)
        for place, number, stored in self._placed(cleanable, (cleanable[:, AT] > 0) & ~is_due):
            place.stays_records += number
            place.stays_bytes += stored
        newest = self._tallies[:count, NEWEST : NEWEST + PLACE_COLUMNS]
        for place, number, stored in self._placed(newest, (newest[:, AT] > 0) & (newest[:, HAS_VALUE] == 1)):
            place.live_records += number
            place.live_bytes += stored
        # The run is told of where its end lies: that is where it is written now.
        last = self._segments[-1].amounts
        sums = self._tallies[:count]
        in_run = sums[:, RUN] == self._state[RUN_NUMBER]
        deletions: Table = np.where(in_run, sums[:, RUN_TOMBSTONES], 0)
        deletion_bytes: Table = np.where(in_run, sums[:, RUN_TOMBSTONE_BYTES], 0)
        records: Table = np.where(in_run, sums[:, RUN_RECORDS], 0) - deletions
        size: Table = np.where(in_run, sums[:, RUN_BYTES], 0) - deletion_bytes
        for key, amount in chain(
            self._groups.sums(None, records=records, sizes=size),
            self._groups.sums(What.TOMBSTONE, records=deletions, sizes=deletion_bytes),
        ):
            into = last.setdefault(key, Amount())
            into.run_records += amount.records
            into.run_bytes += amount.bytes
        for row, what in ((MARKERS, What.MARKER), (KEYLESS, What.OTHER)):
            if self._others[row, RUN_RECORDS] and self._others[row, RUN] == self._state[RUN_NUMBER]:
                into = last.setdefault((None, what), Amount())
                into.run_records += int(self._others[row, RUN_RECORDS])
                into.run_bytes += int(self._others[row, RUN_BYTES])

    def _placed(self, places: Table, chosen: NDArray[np.bool_]) -> Iterator[tuple[Amount, int, int]]:
        """Records and bytes of the chosen records, where they are counted, as their batches will be."""
        (ids,) = np.nonzero(chosen)
        ids = ids[np.argsort(places[ids, AT], kind="stable")]
        batches = places[ids, BATCH]
        begins = np.append(True, batches[1:] != batches[:-1])[: len(batches)]
        firsts = np.flatnonzero(begins)
        counts = np.diff(np.append(firsts, len(batches)))
        index = np.arange(len(batches)) - np.repeat(firsts, counts)
        together = np.repeat(counts, counts)
        header = HEADER_SIZE // np.maximum(together, 1) + (index < HEADER_SIZE % np.maximum(together, 1))
        sizes = places[ids, SHARE] + np.where(batches >= 0, header, 0)
        segments = np.searchsorted(self._bases, places[ids, AT] - 1, side="right") - 1
        is_value = places[ids, HAS_VALUE] == 1
        for number in np.unique(segments).tolist():
            amounts = self._segments[max(number, 0)].amounts
            for what, in_kind in ((None, is_value), (What.TOMBSTONE, ~is_value)):
                here = (segments == number) & in_kind
                records = np.zeros(len(places), np.int64)
                size = np.zeros(len(places), np.int64)
                records[ids[here]], size[ids[here]] = 1, sizes[here]
                for key, amount in self._groups.sums(what, records=records, sizes=size):
                    yield amounts.setdefault(key, Amount()), amount.records, amount.bytes

    def _run_keys(self) -> dict[str, int]:
        """The number of partitions each group commits in the run."""
        sums = self._tallies[: key_count(self.keys)]
        in_run = (sums[:, RUN] == self._state[RUN_NUMBER]) & (sums[:, RUN_RECORDS] > 0)
        is_commit = self.keys.strings[: len(sums), TAG] == COMMIT_TAG
        ones = (in_run & is_commit).astype(np.int64)
        return {
            group: amount.records
            for (group, what), amount in self._groups.sums(None, records=ones, sizes=ones)
            if group is not None and what is What.COMMIT
        }

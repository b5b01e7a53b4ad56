"""The furthest commit of each topic partition and period, kept while a scan runs, as a kernel.

Of each partition the newest periods stay in which anybody committed it. They form a ring, by time, so that
rows need no sorting: within an offsets partition most are of the newest period. What offsets partitions
leave, each of the whole time, is merged (`take_over`).
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import Bytes, int16_at
from kgroup.scan.kernels.compile import helper, kernel, outlined
from kgroup.scan.kernels.gather import Column, strings_at
from kgroup.scan.kernels.keys import (
    PLACE_TAG,
    START,
    Keys,
    add,
    capacity,
    find,
    grown,
    key_count,
    new_keys,
    string_bytes,
    string_hash,
)
from kgroup.scan.kernels.rows import COMMIT, COMMIT_TIMESTAMP, KEY_ID, KIND, OFFSET, PRODUCER_ID, Rows

PERIOD_MS: Final = 10_000

_SIZE_BYTES: Final = 2
_PARTITION_BYTES: Final = 4

# Columns of `Furthest.rings`.
FIRST: Final = 0  # where among its rows the oldest period is
COUNT: Final = 1  # of the periods that are kept
BEGIN: Final = 2  # of its rows in `kept`
ROOM: Final = 3  # rows that it has there
FLOOR: Final = 4  # the time from which commits may count: 0 until the ring is full
_RING_COLUMNS: Final = 5

# Columns of `Furthest.kept`.
AT_OFFSET: Final = 0
AT_MS: Final = 1  # epoch ms
_KEPT_COLUMNS: Final = 2

_FIRST_ROOM: Final = 4
_GROWTH: Final = 4


class Need(IntEnum):
    """What the kernel ran out of."""

    NOTHING = 0
    PLACES = 1
    ROOM = 2


_NOTHING = int(Need.NOTHING)
_PLACES = int(Need.PLACES)
_ROOM = int(Need.ROOM)


class Furthest(NamedTuple):
    """The state between blocks. The place of a topic partition is its id among `places`.

    `used` has one number: how many rows of `kept` are given to rings. A ring that needs more gets new ones.
    """

    places: Keys
    rings: NDArray[np.int64]
    kept: NDArray[np.int64]
    used: NDArray[np.int64]


def new_furthest(places: int = 256) -> Furthest:
    """An empty state with room for so many topic partitions, a power of two, before it grows."""
    keys = new_keys(places)
    return Furthest(
        places=keys,
        rings=np.zeros((capacity(keys), _RING_COLUMNS), np.int64),
        kept=np.empty((2 * _FIRST_ROOM * places, _KEPT_COLUMNS), np.int64),
        used=np.zeros(1, np.int64),
    )


def clear(state: Furthest) -> None:
    """Make it as it was when new, with the room that it has by now."""
    state.places.slots.fill(-1)
    for numbers in (state.places.counts, state.rings, state.used):
        numbers.fill(0)


def with_more(state: Furthest, need: Need) -> Furthest:
    """Room for what found none."""
    if need == Need.ROOM:
        used = int(state.used[0])
        kept = np.empty((2 * len(state.kept), _KEPT_COLUMNS), np.int64)
        kept[:used] = state.kept[:used]
        return state._replace(kept=kept)
    places = grown(state.places)
    rings = np.zeros((capacity(places), _RING_COLUMNS), np.int64)
    rings[: len(state.rings)] = state.rings
    return state._replace(places=places, rings=rings)


def names_of_places(places: Keys) -> list[tuple[str, int]]:
    """The topic and partition of each place."""
    names = []
    for place in range(key_count(places)):
        raw = string_bytes(places, place)
        partition = int.from_bytes(raw[-_PARTITION_BYTES:], "big", signed=True)
        names.append((raw[_SIZE_BYTES:-_PARTITION_BYTES].decode(), partition))
    return names


def topics_of_places(places: Keys, chosen: NDArray[np.int64]) -> Column:
    """The topics of the chosen places."""
    starts = places.strings[chosen, START]
    sizes = places.strings[chosen + 1, START] - starts - (_SIZE_BYTES + _PARTITION_BYTES)
    return strings_at(places.arena, starts + _SIZE_BYTES, sizes)


def keys_of_places(topic_partitions: Iterable[tuple[str, int]]) -> Keys:
    """Commit keys of these topic partitions, of no group: their ids are in this order."""
    raw = [
        bytes(_SIZE_BYTES) + _string(topic) + partition.to_bytes(_PARTITION_BYTES, "big", signed=True)
        for topic, partition in topic_partitions
    ]
    none = new_keys(1)
    strings = np.zeros((len(raw) + 1, none.strings.shape[1]), np.int64)
    np.cumsum([len(key) for key in raw], out=strings[1:, START])
    return none._replace(strings=strings, arena=np.frombuffer(bytearray(b"".join(raw)), np.uint8))


def _string(topic: str) -> bytes:
    raw = topic.encode()
    return len(raw).to_bytes(_SIZE_BYTES, "big") + raw


@kernel
def add_commits(
    state: Furthest,
    before: Furthest,
    place_of: NDArray[np.int64],
    keys: Keys,
    rows: Rows,
    row: int,
    count: int,
    periods: int,
) -> tuple[int, int]:
    """Take in the rows from `row` on: the commits outside transactions whose time is not negative.

    So many periods of each topic partition are kept. What is too old beside `before`, into which the state
    will be merged, is left out. `place_of` is by key id, -1 where the place was not asked for yet. Returns
    what it ran out of (`Need`), and at which row.
    """
    while row < count:
        time = rows[COMMIT_TIMESTAMP, row]
        if rows[KIND, row] == COMMIT and rows[PRODUCER_ID, row] < 0 and time >= 0:
            key = rows[KEY_ID, row]
            place = place_of[key]
            if place < 0:
                place = _place(state, before, keys, key)
                if place < 0:
                    return _PLACES, row
                place_of[key] = place
            if time >= state.rings[place, FLOOR]:
                need = _add(state, place, rows[OFFSET, row], time, periods)
                if need != _NOTHING:
                    return need, row
        row += 1
    return _NOTHING, row


@kernel
def take_over(
    state: Furthest, other: Furthest, place: int, count: int, periods: int, merged: NDArray[np.int64]
) -> tuple[int, int]:
    """Take in what `other` has of its places from `place` on; there are `count` of them.

    `merged` is room for so many periods as are kept. Returns what it ran out of (`Need`), and at which place.
    """
    while place < count:
        start = other.places.strings[place, START]
        size = other.places.strings[place + 1, START] - start
        same = _place_named(state.places, other.places.arena, start, size)
        if same < 0:
            return _PLACES, place
        if not _merge(state, same, other, place, periods, merged):
            return _ROOM, place
        place += 1
    return _NOTHING, place


@outlined
def _place(state: Furthest, before: Furthest, keys: Keys, key: int) -> int:
    """The id of a commit key's topic partition, which is what follows its group; or NO_ROOM."""
    start = keys.strings[key, START]
    start += _SIZE_BYTES + int16_at(keys.arena, start)
    size = keys.strings[key + 1, START] - start
    place = _place_named(state.places, keys.arena, start, size)
    if place >= 0:
        hashed = string_hash(keys.arena, start, size, PLACE_TAG)
        known = find(before.places, keys.arena, start, size, PLACE_TAG, hashed)
        if known >= 0:
            state.rings[place, FLOOR] = max(state.rings[place, FLOOR], before.rings[known, FLOOR])
    return place


@helper
def _place_named(places: Keys, buffer: Bytes, start: int, size: int) -> int:
    hashed = string_hash(buffer, start, size, PLACE_TAG)
    known = find(places, buffer, start, size, PLACE_TAG, hashed)
    return known if known >= 0 else add(places, buffer, start, size, PLACE_TAG, hashed)


@helper
def _merge(
    state: Furthest, place: int, other: Furthest, other_place: int, periods: int, merged: NDArray[np.int64]
) -> bool:
    """Merge two rings, the newest periods first; False if there is no room."""
    one, other_one = state.rings, other.rings
    left, other_left = one[place, COUNT], other_one[other_place, COUNT]
    number = 0
    while number < periods and left + other_left > 0:
        offset = time = other_offset = other_time = -1  # older than all
        if left > 0:
            row = _row(one[place, BEGIN], one[place, FIRST], left - 1, one[place, ROOM])
            offset, time = state.kept[row, AT_OFFSET], state.kept[row, AT_MS]
        if other_left > 0:
            begin, first = other_one[other_place, BEGIN], other_one[other_place, FIRST]
            row = _row(begin, first, other_left - 1, other_one[other_place, ROOM])
            other_offset, other_time = other.kept[row, AT_OFFSET], other.kept[row, AT_MS]
        period, other_period = time // PERIOD_MS, other_time // PERIOD_MS
        is_further = other_offset > offset or (other_offset == offset and other_time < time)
        if period >= other_period:
            left -= 1
        if other_period >= period:
            other_left -= 1
        if other_period > period or (other_period == period and is_further):
            offset, time = other_offset, other_time
        merged[number, AT_OFFSET] = offset
        merged[number, AT_MS] = time
        number += 1
    while one[place, ROOM] < number:
        if not _give_room(state, place, periods):
            return False
    start = one[place, BEGIN]
    for index in range(number):
        state.kept[start + index, AT_OFFSET] = merged[number - 1 - index, AT_OFFSET]
        state.kept[start + index, AT_MS] = merged[number - 1 - index, AT_MS]
    one[place, FIRST] = 0
    one[place, COUNT] = number
    if number == periods:
        one[place, FLOOR] = state.kept[start, AT_MS] // PERIOD_MS * PERIOD_MS
    return True


@helper
def _add(state: Furthest, place: int, offset: int, time: int, periods: int) -> int:
    rings, kept = state.rings, state.kept
    period = time // PERIOD_MS
    first, count, start, room = (
        rings[place, FIRST],
        rings[place, COUNT],
        rings[place, BEGIN],
        rings[place, ROOM],
    )
    # How many of the ring are of this period or an older one.
    below, above = 0, count
    if count > 0 and kept[_row(start, first, count - 1, room), AT_MS] // PERIOD_MS <= period:
        below = count
    while below < above:
        middle = (below + above) >> 1
        if kept[_row(start, first, middle, room), AT_MS] // PERIOD_MS <= period:
            below = middle + 1
        else:
            above = middle
    if below > 0:
        row = _row(start, first, below - 1, room)
        if kept[row, AT_MS] // PERIOD_MS == period:
            furthest = kept[row, AT_OFFSET]
            if offset > furthest or (offset == furthest and time < kept[row, AT_MS]):
                kept[row, AT_OFFSET] = offset
                kept[row, AT_MS] = time
            return _NOTHING
    if count == periods:
        first = first + 1 if first + 1 < room else 0
        rings[place, FIRST] = first
        count -= 1
        below -= 1
    elif count == room:
        if not _give_room(state, place, periods):
            return _ROOM
        start, room = rings[place, BEGIN], rings[place, ROOM]
    for index in range(count, below, -1):
        row, before = _row(start, first, index, room), _row(start, first, index - 1, room)
        kept[row, AT_OFFSET] = kept[before, AT_OFFSET]
        kept[row, AT_MS] = kept[before, AT_MS]
    row = _row(start, first, below, room)
    kept[row, AT_OFFSET] = offset
    kept[row, AT_MS] = time
    rings[place, COUNT] = count + 1
    if count + 1 == periods:
        rings[place, FLOOR] = kept[start + first, AT_MS] // PERIOD_MS * PERIOD_MS
    return _NOTHING


@outlined
def _give_room(state: Furthest, place: int, periods: int) -> bool:
    """Move a ring, which has not begun to turn, to where it has more rows; False if there are none left."""
    rings, kept = state.rings, state.kept
    room = min(max(rings[place, ROOM] * _GROWTH, _FIRST_ROOM), periods)
    start = state.used[0]
    if start + room > len(kept):
        return False
    for index in range(rings[place, COUNT]):
        for column in range(_KEPT_COLUMNS):
            kept[start + index, column] = kept[rings[place, BEGIN] + index, column]
    rings[place, BEGIN] = start
    rings[place, ROOM] = room
    state.used[0] = start + room
    return True


@helper
def _row(start: int, first: int, index: int, room: int) -> int:
    index += first
    return start + (index - room if index >= room else index)

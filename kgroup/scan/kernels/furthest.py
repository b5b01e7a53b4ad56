"""The furthest commit of each topic partition and period, kept while a scan runs, as a kernel.

Of each partition the newest periods stay in which anybody committed it. They form a ring, by time, so that
rows need no sorting: most are of the newest period, or older than all that are kept.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import int16_at
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
FIRST: Final = 0  # the slot of the oldest period that is kept
COUNT: Final = 1
FLOOR: Final = 2  # the time from which commits may count: 0 until the ring is full


class Furthest(NamedTuple):
    """The state between blocks. The place of a topic partition is its id among `places`.

    `offsets` and `times` (epoch ms) are [slot, place]: slots that nobody has used yet take no memory.
    """

    places: Keys
    rings: NDArray[np.int64]
    offsets: NDArray[np.int64]
    times: NDArray[np.int64]


def new_furthest(periods: int) -> Furthest:
    """An empty state that keeps so many periods of each topic partition."""
    return _with_room(new_keys(256), periods)


def with_free_places(state: Furthest) -> Furthest:
    """Room for the topic partition that found none."""
    larger = _with_room(grown(state.places), len(state.times))
    count = len(state.rings)
    larger.rings[:count] = state.rings
    # A ring begins to turn when it is full: what no ring has reached is left alone.
    used = int(state.rings[:, COUNT].max())
    larger.offsets[:used, :count] = state.offsets[:used]
    larger.times[:used, :count] = state.times[:used]
    return larger


def _with_room(places: Keys, periods: int) -> Furthest:
    number = capacity(places)
    return Furthest(
        places=places,
        rings=np.zeros((number, 3), np.int64),
        offsets=np.empty((periods, number), np.int64),
        times=np.empty((periods, number), np.int64),
    )


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
    state: Furthest, place_of: NDArray[np.int64], keys: Keys, rows: Rows, row: int, count: int
) -> int:
    """Take in the rows from `row` on: the commits outside transactions whose time is not negative.

    A log comes offsets partition by offsets partition, each of the whole time: but for the first ones nearly
    all that is in them is too old.

    `place_of` is by key id, -1 where the place was not asked for yet. Returns the row whose place found no
    room, `count` if all did.
    """
    while row < count:
        time = rows[COMMIT_TIMESTAMP, row]
        if rows[KIND, row] == COMMIT and rows[PRODUCER_ID, row] < 0 and time >= 0:
            key = rows[KEY_ID, row]
            place = place_of[key]
            if place < 0:
                place = _place(state.places, keys, key)
                if place < 0:
                    return row
                place_of[key] = place
            if time >= state.rings[place, FLOOR]:
                _add(state, place, rows[OFFSET, row], time)
        row += 1
    return row


@outlined
def _place(places: Keys, keys: Keys, key: int) -> int:
    """The id of a commit key's topic partition, which is what follows its group; or NO_ROOM."""
    start = keys.strings[key, START]
    start += 2 + int16_at(keys.arena, start)
    size = keys.strings[key + 1, START] - start
    hashed = string_hash(keys.arena, start, size, PLACE_TAG)
    known = find(places, keys.arena, start, size, PLACE_TAG, hashed)
    return known if known >= 0 else add(places, keys.arena, start, size, PLACE_TAG, hashed)


@helper
def _add(state: Furthest, place: int, offset: int, time: int) -> None:
    periods = len(state.times)
    period = time // PERIOD_MS
    first = state.rings[place, FIRST]
    count = state.rings[place, COUNT]
    # How many of the ring are of this period or an older one.
    below, above = 0, count
    if count > 0 and state.times[_slot(first, count - 1, periods), place] // PERIOD_MS <= period:
        below = count
    while below < above:
        middle = (below + above) >> 1
        if state.times[_slot(first, middle, periods), place] // PERIOD_MS <= period:
            below = middle + 1
        else:
            above = middle
    if below > 0:
        slot = _slot(first, below - 1, periods)
        kept = state.times[slot, place]
        if kept // PERIOD_MS == period:
            if offset > state.offsets[slot, place] or (offset == state.offsets[slot, place] and time < kept):
                state.offsets[slot, place] = offset
                state.times[slot, place] = time
            return
    if count == periods:
        first = _slot(first, 1, periods)
        state.rings[place, FIRST] = first
        count -= 1
        below -= 1
    for index in range(count, below, -1):
        to, from_ = _slot(first, index, periods), _slot(first, index - 1, periods)
        state.offsets[to, place] = state.offsets[from_, place]
        state.times[to, place] = state.times[from_, place]
    slot = _slot(first, below, periods)
    state.offsets[slot, place] = offset
    state.times[slot, place] = time
    state.rings[place, COUNT] = count + 1
    if count + 1 == periods:
        state.rings[place, FLOOR] = state.times[first, place] // PERIOD_MS * PERIOD_MS


@helper
def _slot(first: int, index: int, periods: int) -> int:
    slot = first + index
    return slot - periods if slot >= periods else slot

"""Integer ids for the keys of records: a hash table of byte strings that the kernels share with Python.

Open addressing with linear probing. A hit is a hit only when all bytes are equal; two keys never share an
id. The tables have a fixed size inside a kernel: a kernel that finds one full says `NO_ROOM`, Python
doubles it (`grown`) and calls the kernel again.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.log.scan_bytes import Bytes, int16_at, int32_at, is_utf8, word_at
from kgroup.log.scan_compile import helper, kernel

NOT_FOUND = -1
NO_ROOM = -2
COMMIT_TAG = 1
"""Tag of commit keys of both versions: 0 and 1 name the same state when the rest is equal."""

_MULTIPLIER = np.int64(-7046029254386353131)  # 2^64 / golden ratio
_ARENA_SLACK = 8


class Strings(NamedTuple):
    """Distinct byte strings in the order they were met; id i is arena[starts[i]:starts[i + 1]].

    `slots` holds (hash << 32 | id), -1 where empty. `counts` is [strings, arena bytes used, bytes wanted
    by the string that found no room]. A string is told apart by its tag, too.
    """

    slots: NDArray[np.int64]
    starts: NDArray[np.int64]
    tags: NDArray[np.int16]
    arena: Bytes
    counts: NDArray[np.int64]


class Keys(NamedTuple):
    """The keys of one offsets partition; per key its group, topic and partition (-1, -1, 0: no commit)."""

    strings: Strings
    groups: Strings
    topics: Strings
    group_ids: NDArray[np.int32]
    topic_ids: NDArray[np.int32]
    partitions: NDArray[np.int32]


def new_keys(capacity: int = 1024) -> Keys:
    """Empty tables with room for `capacity` (a power of two) keys before they grow."""
    return Keys(
        strings=_new_strings(capacity),
        groups=_new_strings(256),
        topics=_new_strings(256),
        group_ids=np.empty(capacity, np.int32),
        topic_ids=np.empty(capacity, np.int32),
        partitions=np.empty(capacity, np.int32),
    )


def grown(keys: Keys) -> Keys:
    """The same keys under the same ids, in tables where the key that found no room has room."""
    strings = _grown_strings(keys.strings)
    more = len(strings.tags) - len(keys.group_ids)
    return Keys(
        strings=strings,
        groups=_grown_strings(keys.groups),
        topics=_grown_strings(keys.topics),
        group_ids=_extended(keys.group_ids, more),
        topic_ids=_extended(keys.topic_ids, more),
        partitions=_extended(keys.partitions, more),
    )


def key_bytes(keys: Keys, key_id: int) -> bytes:
    """The key as it was logged, but for commits of key version 0, which come out as version 1."""
    strings = keys.strings
    tag = int(strings.tags[key_id])
    return tag.to_bytes(2, "big") + strings.arena[strings.starts[key_id] : strings.starts[key_id + 1]].tobytes()


def string_count(strings: Strings) -> int:
    """How many distinct strings there are."""
    return int(strings.counts[0])


def as_arrow(strings: Strings, ids: NDArray[np.int32] | None = None) -> pa.StringArray:
    """The strings of all ids, or of the given ones, which must be UTF-8."""
    if ids is None:
        count = string_count(strings)
        used = int(strings.starts[count])
        if used <= np.iinfo(np.int32).max:
            offsets = strings.starts[: count + 1].astype(np.int32)
            data = strings.arena[:used].copy()
            return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data))
        ids = np.arange(count, dtype=np.int32)
    arena, starts = strings.arena, strings.starts
    return pa.array([arena[starts[i] : starts[i + 1]].tobytes().decode() for i in ids], pa.string())


def _new_strings(capacity: int) -> Strings:
    return Strings(
        slots=np.full(2 * capacity, -1, np.int64),
        starts=np.zeros(capacity + 1, np.int64),
        tags=np.empty(capacity, np.int16),
        arena=np.empty(32 * capacity, np.uint8),
        counts=np.zeros(3, np.int64),
    )


def _grown_strings(strings: Strings) -> Strings:
    count, used, wanted = (int(number) for number in strings.counts)
    capacity, arena = len(strings.tags), strings.arena
    if count < capacity and used + wanted + _ARENA_SLACK <= len(arena):
        return strings
    if used + wanted + _ARENA_SLACK > len(arena):
        arena = _extended(arena, max(len(arena), wanted + _ARENA_SLACK))
    more = capacity if count == capacity else 0
    larger = Strings(
        slots=np.full(2 * (capacity + more), -1, np.int64) if more else strings.slots,
        starts=_extended(strings.starts, more),
        tags=_extended(strings.tags, more),
        arena=arena,
        counts=strings.counts,
    )
    if more:
        _fill_slots(larger)
    return larger


def _extended(array: NDArray[np.generic], more: int) -> NDArray[np.generic]:
    if not more:
        return array
    longer = np.empty(len(array) + more, array.dtype)
    longer[: len(array)] = array
    return longer


@helper
def string_hash(buffer: Bytes, position: int, size: int, tag: int) -> int:
    """A 31-bit hash of the bytes, eight at a time."""
    mixed = np.int64(size) * _MULTIPLIER + np.int64(tag)
    end = position + size
    if size >= 8:
        while position + 8 <= end:
            mixed = (mixed ^ word_at(buffer, position)) * _MULTIPLIER
            mixed ^= (mixed >> 32) & 0xFFFFFFFF
            position += 8
        position = end - 8
        if size & 7:
            mixed = (mixed ^ word_at(buffer, position)) * _MULTIPLIER
    else:
        while position < end:
            mixed = (mixed ^ np.int64(buffer[position])) * _MULTIPLIER
            position += 1
    mixed ^= (mixed >> 29) & 0x7FFFFFFFF
    mixed *= _MULTIPLIER
    return (mixed >> 32) & 0x7FFFFFFF


@helper
def same_bytes(left: Bytes, left_position: int, right: Bytes, right_position: int, size: int) -> bool:
    """Whether `size` bytes are equal."""
    if size < 8:
        for i in range(size):
            if left[left_position + i] != right[right_position + i]:
                return False
        return True
    last = size - 8
    i = 0
    while i < last:
        if word_at(left, left_position + i) != word_at(right, right_position + i):
            return False
        i += 8
    return word_at(left, left_position + last) == word_at(right, right_position + last)


@helper
def find(strings: Strings, buffer: Bytes, position: int, size: int, tag: int, hashed: int) -> int:
    """The id of the string, or NOT_FOUND."""
    mask = len(strings.slots) - 1
    slot = hashed & mask
    while True:
        entry = strings.slots[slot]
        if entry < 0:
            return NOT_FOUND
        if entry >> 32 == hashed:
            found = entry & 0xFFFFFFFF
            start = strings.starts[found]
            if (
                strings.starts[found + 1] - start == size
                and strings.tags[found] == tag
                and same_bytes(strings.arena, start, buffer, position, size)
            ):
                return found
        slot = (slot + 1) & mask


@helper
def add(strings: Strings, buffer: Bytes, position: int, size: int, tag: int, hashed: int) -> int:
    """Add a string that is not there yet and return its id, or NO_ROOM."""
    count = strings.counts[0]
    used = strings.counts[1]
    strings.counts[2] = size
    if count == len(strings.tags) or used + size + _ARENA_SLACK > len(strings.arena):
        return NO_ROOM
    for i in range(size):
        strings.arena[used + i] = buffer[position + i]
    strings.tags[count] = tag
    strings.starts[count + 1] = used + size
    strings.counts[0] = count + 1
    strings.counts[1] = used + size
    _place(strings, hashed, count)
    return count


@helper
def commit_key_strings(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """Sizes of the group and the topic of a commit key (behind its version); (-1, -1) if it is odd."""
    if position + 2 > end:
        return -1, -1
    group_size = int16_at(buffer, position)
    topic = position + 2 + group_size
    if group_size < 0 or topic + 2 > end:
        return -1, -1
    topic_size = int16_at(buffer, topic)
    if topic_size < 0 or topic + 2 + topic_size + 4 != end:
        return -1, -1
    if not is_utf8(buffer, position + 2, topic) or not is_utf8(buffer, topic + 2, end - 4):
        return -1, -1
    return group_size, topic_size


@helper
def key_id(keys: Keys, buffer: Bytes, position: int, size: int) -> int:
    """The id of a record's key; NOT_FOUND for one that the plain path must judge, or NO_ROOM."""
    if size < 2:
        return NOT_FOUND
    tag = int16_at(buffer, position)
    if tag < 0:
        return NOT_FOUND
    if tag == 0:
        tag = COMMIT_TAG
    position += 2
    size -= 2
    hashed = string_hash(buffer, position, size, tag)
    found = find(keys.strings, buffer, position, size, tag, hashed)
    if found >= 0:
        return found
    return _new_key(keys, buffer, position, size, tag, hashed)


@kernel
def intern_key(keys: Keys, buffer: Bytes, position: int, size: int) -> int:
    """`key_id` for Python."""
    return key_id(keys, buffer, position, size)


@helper
def _new_key(keys: Keys, buffer: Bytes, position: int, size: int, tag: int, hashed: int) -> int:
    group = topic = -1
    partition = 0
    if tag == COMMIT_TAG:
        group_size, topic_size = commit_key_strings(buffer, position, position + size)
        if group_size < 0:
            return NOT_FOUND
        group = _string_id(keys.groups, buffer, position + 2, group_size)
        topic = _string_id(keys.topics, buffer, position + 4 + group_size, topic_size)
        if group < 0 or topic < 0:
            return NO_ROOM
        partition = int32_at(buffer, position + size - 4)
    added = add(keys.strings, buffer, position, size, tag, hashed)
    if added >= 0:
        keys.group_ids[added] = group
        keys.topic_ids[added] = topic
        keys.partitions[added] = partition
    return added


@helper
def _string_id(strings: Strings, buffer: Bytes, position: int, size: int) -> int:
    hashed = string_hash(buffer, position, size, 0)
    found = find(strings, buffer, position, size, 0, hashed)
    if found >= 0:
        return found
    return add(strings, buffer, position, size, 0, hashed)


@helper
def _place(strings: Strings, hashed: int, string_id: int) -> None:
    mask = len(strings.slots) - 1
    slot = hashed & mask
    while strings.slots[slot] >= 0:
        slot = (slot + 1) & mask
    strings.slots[slot] = hashed << 32 | string_id


@kernel
def _fill_slots(strings: Strings) -> None:
    for i in range(strings.counts[0]):
        start = strings.starts[i]
        size = strings.starts[i + 1] - start
        _place(strings, string_hash(strings.arena, start, size, strings.tags[i]), i)

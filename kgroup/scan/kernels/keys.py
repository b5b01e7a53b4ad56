"""Integer ids for the keys of records: a hash table of byte strings that the kernels share with Python.

Open addressing with linear probing. A hit is a hit only when all bytes are equal; two keys never share an
id. The tables have a fixed size inside a kernel: a kernel that finds one full says `NO_ROOM`, Python
doubles it (`grown`) and calls the kernel again.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import Bytes, byte_at, int16_at, int32_at, is_utf8, word_at, wrapped
from kgroup.scan.kernels.compile import helper, kernel, outlined

NOT_FOUND: Final = -1
NO_ROOM: Final = -2

# Tags: the same bytes under two tags are two strings. That of a key is its record type.
COMMIT_TAG: Final = 1  # also of keys of type 0: both name the same state when the rest is equal
GROUP_TAG: Final = -1
TOPIC_TAG: Final = -2
PLACE_TAG: Final = -3  # a topic partition: what follows the group in a commit's key

# Columns of `Keys.strings`.
START: Final = 0
TAG: Final = 1
GROUP: Final = 2  # of a commit key and of a group: the group's number; else -1
TOPIC: Final = 3  # of a commit key and of a topic: the topic's number; else -1
PARTITION: Final = 4
_COLUMNS: Final = 5

# Places in `Keys.counts`.
_STRINGS: Final = 0
_USED: Final = 1  # bytes of the arena
_WANTED: Final = 2  # bytes of the string that found no room
_GROUPS: Final = 3
_TOPICS: Final = 4

_MULTIPLIER: Final = -7046029254386353131  # 2^64 / golden ratio
_ARENA_SLACK = 8


class Keys(NamedTuple):
    """Distinct keys, and the groups and topics in them, in the order they were met: the index is the id.

    `slots` is the hash table, (hash << 32 | id) or -1. String i is arena[start of i:start of i + 1]: of a
    key what follows its record type, of groups and topics their UTF-8.
    """

    slots: NDArray[np.int64]
    strings: NDArray[np.int64]
    arena: Bytes
    counts: NDArray[np.int64]


def new_keys(capacity: int = 4096) -> Keys:
    """Empty tables with room for `capacity` (a power of two) strings before they grow."""
    strings = np.empty((capacity + 1, _COLUMNS), np.int64)
    strings[0, START] = 0
    return Keys(
        slots=np.full(2 * capacity, -1, np.int64),
        strings=strings,
        arena=np.empty(32 * capacity, np.uint8),
        counts=np.zeros(5, np.int64),
    )


def grown(keys: Keys) -> Keys:
    """The same strings under the same ids, in tables where the one that found no room has room."""
    count, used, needed = (int(keys.counts[index]) for index in (_STRINGS, _USED, _WANTED))
    arena, strings, slots = keys.arena, keys.strings, keys.slots
    if used + needed + _ARENA_SLACK > len(arena):
        arena = np.empty(2 * len(arena) + needed + _ARENA_SLACK, np.uint8)
        arena[:used] = keys.arena[:used]
    if count + 1 == len(strings):
        strings = np.empty((2 * count + 1, _COLUMNS), np.int64)
        strings[: count + 1] = keys.strings
        slots = np.full(2 * len(slots), -1, np.int64)
    larger = Keys(slots, strings, arena, keys.counts)
    if slots is not keys.slots:
        _fill_slots(larger)
    return larger


def capacity(keys: Keys) -> int:
    """A bound above all ids, until the tables grow."""
    return len(keys.strings)


def key_bytes(keys: Keys, key_id: int) -> bytes:
    """The key as it was logged, but for commits of key type 0, which come out as type 1."""
    start, end = int(keys.strings[key_id, START]), int(keys.strings[key_id + 1, START])
    return int(keys.strings[key_id, TAG]).to_bytes(2, "big") + keys.arena[start:end].tobytes()


def string_bytes(strings: Keys, number: int) -> bytes:
    """A string of a table that has no keys, as of topic ids."""
    start, end = int(strings.strings[number, START]), int(strings.strings[number + 1, START])
    return strings.arena[start:end].tobytes()


def ids_with_tag(keys: Keys, tag: int) -> NDArray[np.int64]:
    """The ids of all strings with a tag. Of groups and of topics, they are in the order of their numbers."""
    return np.flatnonzero(keys.strings[: keys.counts[_STRINGS], TAG] == tag)


def key_count(keys: Keys) -> int:
    """The number of distinct strings: keys, groups and topics; their ids are below it."""
    return int(keys.counts[_STRINGS])


def group_count(keys: Keys) -> int:
    """The number of groups."""
    return int(keys.counts[_GROUPS])


def topic_count(keys: Keys) -> int:
    """The number of topics."""
    return int(keys.counts[_TOPICS])


@helper
def string_hash(buffer: Bytes, position: int, size: int, tag: int) -> int:
    """A 31-bit hash of the bytes, eight at a time."""
    mixed = wrapped(size * _MULTIPLIER + tag)
    end = position + size
    if size >= 8:
        while position + 8 <= end:
            mixed = wrapped((mixed ^ word_at(buffer, position)) * _MULTIPLIER)
            mixed ^= (mixed >> 32) & 0xFFFFFFFF
            position += 8
        position = end - 8
        if size & 7:
            mixed = wrapped((mixed ^ word_at(buffer, position)) * _MULTIPLIER)
    else:
        while position < end:
            mixed = wrapped((mixed ^ byte_at(buffer, position)) * _MULTIPLIER)
            position += 1
    mixed ^= (mixed >> 29) & 0x7FFFFFFFF
    mixed = wrapped(mixed * _MULTIPLIER)
    return (mixed >> 32) & 0x7FFFFFFF


@helper
def same_bytes(left: Bytes, left_position: int, right: Bytes, right_position: int, size: int) -> bool:
    """Whether `size` bytes are equal."""
    if size < 8:
        for i in range(size):  # noqa: SIM110  numba has no generators in all()
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
def find(keys: Keys, buffer: Bytes, position: int, size: int, tag: int, hashed: int) -> int:
    """The id of the string, or NOT_FOUND."""
    mask = len(keys.slots) - 1
    slot = hashed & mask
    while True:
        entry = keys.slots[slot]
        if entry < 0:
            return NOT_FOUND
        if entry >> 32 == hashed:
            string_id: int = entry & 0xFFFFFFFF
            start = keys.strings[string_id, START]
            if (
                keys.strings[string_id + 1, START] - start == size
                and keys.strings[string_id, TAG] == tag
                and same_bytes(keys.arena, start, buffer, position, size)
            ):
                return string_id
        slot = (slot + 1) & mask


@helper
def add(keys: Keys, buffer: Bytes, position: int, size: int, tag: int, hashed: int) -> int:
    """Add a string that is not there yet and return its id, or NO_ROOM."""
    count: int = keys.counts[_STRINGS]
    used = keys.counts[_USED]
    if count + 1 == len(keys.strings) or used + size + _ARENA_SLACK > len(keys.arena):
        keys.counts[_WANTED] = size
        return NO_ROOM
    for i in range(size):
        keys.arena[used + i] = buffer[position + i]
    keys.strings[count, TAG] = tag
    keys.strings[count, GROUP] = -1
    keys.strings[count, TOPIC] = -1
    keys.strings[count, PARTITION] = 0
    keys.strings[count + 1, START] = used + size
    keys.counts[_STRINGS] = count + 1
    keys.counts[_USED] = used + size
    _fill_slot(keys, hashed, count)
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
    string_id = find(keys, buffer, position, size, tag, hashed)
    if string_id >= 0:
        return string_id
    return _new_key(keys, buffer, position, size, tag, hashed)


@kernel
def intern_key(keys: Keys, buffer: Bytes, position: int, size: int) -> int:
    """`key_id` for Python."""
    return key_id(keys, buffer, position, size)


# Keys are new so rarely that this is better kept out of the loop over records.
@outlined
def _new_key(keys: Keys, buffer: Bytes, position: int, size: int, tag: int, hashed: int) -> int:
    group = topic = -1
    partition = 0
    if tag == COMMIT_TAG:
        group_size, topic_size = commit_key_strings(buffer, position, position + size)
        if group_size < 0:
            return NOT_FOUND
        group = _group_or_topic_number(keys, buffer, position + 2, group_size, GROUP_TAG)
        topic = _group_or_topic_number(keys, buffer, position + 4 + group_size, topic_size, TOPIC_TAG)
        if group < 0 or topic < 0:
            return NO_ROOM
        partition = int32_at(buffer, position + size - 4)
    added = add(keys, buffer, position, size, tag, hashed)
    if added >= 0:
        keys.strings[added, GROUP] = group
        keys.strings[added, TOPIC] = topic
        keys.strings[added, PARTITION] = partition
    return added


@outlined
def _group_or_topic_number(keys: Keys, buffer: Bytes, position: int, size: int, tag: int) -> int:
    """The number of a group among the groups, or of a topic among the topics; or NO_ROOM."""
    column = GROUP if tag == GROUP_TAG else TOPIC
    hashed = string_hash(buffer, position, size, tag)
    string_id = find(keys, buffer, position, size, tag, hashed)
    if string_id < 0:
        string_id = add(keys, buffer, position, size, tag, hashed)
        if string_id < 0:
            return NO_ROOM
        counter = _GROUPS if tag == GROUP_TAG else _TOPICS
        keys.strings[string_id, column] = keys.counts[counter]
        keys.counts[counter] += 1
    number: int = keys.strings[string_id, column]
    return number


@helper
def _fill_slot(keys: Keys, hashed: int, string_id: int) -> None:
    mask = len(keys.slots) - 1
    slot = hashed & mask
    while keys.slots[slot] >= 0:
        slot = (slot + 1) & mask
    keys.slots[slot] = hashed << 32 | string_id


@kernel
def _fill_slots(keys: Keys) -> None:
    for i in range(keys.counts[_STRINGS]):
        start = keys.strings[i, START]
        size = keys.strings[i + 1, START] - start
        _fill_slot(keys, string_hash(keys.arena, start, size, keys.strings[i, TAG]), i)

"""The iteration order of Java's HashMap and HashSet, where Kafka's answers depend on it.

The rules are those of `java.util.HashMap` (the same in Java 8 to 25): the table has 16 places or the
power of two asked for, and doubles when it is more than three quarters full; a key goes to the place
`spread(hash) & (table - 1)`; places are visited by index, and keys of one place in the order in which
they were put there, which doubling keeps. When a ninth key lands in one place of a table below 64, the
table doubles as well.

Not covered: nine or more keys in one place of a table of 64 or more. Java then turns the place into a
tree, whose order is another one; among keys with useful hashes that does not happen.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import eq
from typing import Generic, TypeVar
from uuid import UUID

from kgroup.protocol.group_hash import java_hash_code

K = TypeVar("K")

DEFAULT_TABLE = 16
_TREE_FROM = 8
_TREE_TABLE = 64


def spread(hash_code: int) -> int:
    """HashMap's own mixing of a 32-bit hash code, signed or not; the result is unsigned.

    Codes from 0 to 65535, as those of most partition ids, stay what they are.
    """
    hash_code &= 0xFFFFFFFF
    return hash_code ^ (hash_code >> 16)


def spread_all(hash_codes: Iterable[int]) -> list[int]:
    """`spread` of each."""
    return [(unsigned := code & 0xFFFFFFFF) ^ unsigned >> 16 for code in hash_codes]


@lru_cache(maxsize=1 << 15)
def string_hash(text: str) -> int:
    """`String.hashCode()`. A Java string remembers its hash, and the same names are asked for again."""
    return java_hash_code(text)


def uuid_hash(topic_id: UUID) -> int:
    """Hash code of Kafka's `Uuid`, unsigned: both halves of the two longs folded together."""
    folded = (topic_id.int >> 64) ^ (topic_id.int & 0xFFFFFFFFFFFFFFFF)
    return (folded >> 32) ^ (folded & 0xFFFFFFFF)


def partition_hash(partition: tuple[str, int]) -> int:
    """Hash code of Kafka's `TopicPartition`, not yet reduced to 32 bits."""
    topic, number = partition
    return 31 * (31 + number) + string_hash(topic)


def table_for(size: int) -> int:
    """Table of `new HashMap(size)`: the power of two at or above `size`."""
    return 1 << max(size - 1, 0).bit_length()


def table_for_copy(size: int) -> int:
    """Table of `new HashSet(collection)` with `size` elements."""
    return table_for(max(int(size / 0.75) + 1, DEFAULT_TABLE))


def _grown_table(spreads: Sequence[int], table: int) -> int:
    """The table after keys with these spread hashes were put into one of `table` places."""
    if len(spreads) > _TREE_FROM and _could_crowd(spreads, table, _TREE_FROM):
        return _grown_one_by_one(spreads, table)
    while 4 * len(spreads) > 3 * table:
        table *= 2
    return table


def _grown_one_by_one(spreads: Sequence[int], table: int) -> int:
    for position, own in enumerate(spreads):
        if _is_crowded(spreads[:position], own, table, _TREE_FROM):
            table *= 2
        if 4 * (position + 1) > 3 * table:
            table *= 2
    return table


def computed_table(puts: Sequence[K], spreads: Callable[[Sequence[K]], list[int]], table: int) -> int:
    """The table of a map that `computeIfAbsent` has filled, called with each of `puts`, which may repeat.

    It doubles only when the next key comes, be it one that is there.
    """
    if table >= _TREE_TABLE and 4 * len(puts) <= 3 * table:
        return table
    keys = list(dict.fromkeys(puts))
    if table < _TREE_TABLE and _could_crowd(own := spreads(keys), table, _TREE_FROM - 1):
        return _computed_one_by_one(puts, dict(zip(keys, own, strict=True)), table)
    while 4 * (len(keys) - 1) > 3 * table:
        table *= 2
    if 4 * len(keys) > 3 * table and puts[-1] in puts[:-1]:
        table *= 2
    return table


def _computed_one_by_one(puts: Sequence[K], spreads: Mapping[K, int], table: int) -> int:
    there: dict[K, int] = {}
    for key in puts:
        if 4 * len(there) > 3 * table:
            table *= 2
        if key in there:
            continue
        if _is_crowded(there.values(), spreads[key], table, _TREE_FROM - 1):
            table *= 2
        there[key] = spreads[key]
    return table


def _could_crowd(spreads: Sequence[int], table: int, limit: int) -> bool:
    """Whether a place of a small table could have `limit` keys when one more comes."""
    # 49 keys need a table of 128, which no crowding makes.
    if not limit < len(spreads) <= 3 * _TREE_TABLE // 4 + 1 or table >= _TREE_TABLE:
        return False
    places = sorted([own & (table - 1) for own in spreads])
    return any(map(eq, places, places[limit:]))


def _is_crowded(others: Iterable[int], own: int, table: int, limit: int) -> bool:
    mask = table - 1
    return table < _TREE_TABLE and sum(1 for other in others if other & mask == own & mask) >= limit


def hash_order(keys: Collection[K], hash_code: Callable[[K], int], table: int = DEFAULT_TABLE) -> list[K]:
    """Distinct `keys`, given in the order in which they were put, in the map's order of iteration.

    `table` is the number of places to begin with, a power of two.
    """
    return spread_order(list(keys), spread_all(map(hash_code, keys)), table)


def spread_order(keys: Sequence[K], spreads: Sequence[int], table: int = DEFAULT_TABLE) -> list[K]:
    """`hash_order` of keys whose spread hashes are known."""
    mask = _grown_table(spreads, table) - 1
    places = [own & mask for own in spreads]
    return [keys[position] for position in sorted(range(len(keys)), key=places.__getitem__)]


def computed_order(puts: Sequence[K], hash_code: Callable[[K], int], table: int = DEFAULT_TABLE) -> list[K]:
    """As `hash_order`, for a map filled by `computeIfAbsent`, which is not the same.

    It is called with each of `puts`, which may repeat. A new key goes to the front of its place, the table
    doubles only when the next key comes, and the eighth key in one place makes a small table double.
    """
    keys = list(dict.fromkeys(puts))
    table = computed_table(puts, lambda some: spread_all(map(hash_code, some)), table)
    return computed_order_in(keys, spread_all(map(hash_code, keys)), table)


def computed_order_in(keys: Sequence[K], spreads: Sequence[int], table: int) -> list[K]:
    """Some keys in the order of a map that `computeIfAbsent` has filled, whose table is now this."""
    mask = table - 1
    places = [own & mask for own in spreads]
    backwards = range(len(keys) - 1, -1, -1)
    return [keys[position] for position in sorted(backwards, key=places.__getitem__)]


def timeline_order(keys: Iterable[K], hash_code: Callable[[K], int]) -> list[K]:
    """Distinct keys, given in the order in which they were put, as a TimelineHashMap of Kafka's iterates.

    Its slots come from Fibonacci hashing, and the last of those in one slot comes first
    (`BaseHashTable.findSlot` and `SnapshottableHashTable` of 4.3.1).
    """
    slots: list[list[K]] = [[], []]
    for size, key in enumerate(keys):
        if (size + 1) * 0.75 > len(slots):
            grown: list[list[K]] = [[] for _ in range(2 * len(slots))]
            for slot in slots:
                for each in slot:
                    grown[_fibonacci_slot(hash_code(each), len(grown))].append(each)
            slots = grown
        slots[_fibonacci_slot(hash_code(key), len(slots))].append(key)
    return [key for slot in slots for key in reversed(slot)]


def _fibonacci_slot(hash_code: int, slots: int) -> int:
    signed = (hash_code + 2**31) % 2**32 - 2**31
    return ((signed * -7046029254386353131) % 2**64) >> (65 - slots.bit_length())


def int_set_order(numbers: Sequence[int]) -> list[int]:
    """Non-negative integers in the order of `new HashSet(list)`: ascending only below the table's size."""
    if len(numbers) < 2:
        return list(numbers)
    distinct = list(dict.fromkeys(numbers))
    table = table_for_copy(len(numbers))
    largest = max(distinct)
    if largest < table:
        return sorted(distinct)
    return spread_order(distinct, distinct if largest <= 0xFFFF else spread_all(distinct), table)


def string_order(keys: Iterable[str], table: int = DEFAULT_TABLE) -> list[str]:
    """`hash_order` of strings; repeated ones count where they first stand."""
    return hash_order(list(dict.fromkeys(keys)), string_hash, table)


class JavaHashSet(Generic[K]):
    """A HashSet whose elements come and go: what was removed leaves the table as large as it made it."""

    __slots__ = ("_hash_code", "_spreads", "_table")

    def __init__(self, hash_code: Callable[[K], int], table: int = DEFAULT_TABLE) -> None:
        self._hash_code = hash_code
        self._spreads: dict[K, int] = {}
        self._table = table

    def add(self, key: K) -> None:
        """Put `key` into the set, at the end of its place, unless it is there."""
        if key in self._spreads:
            return
        own = spread(self._hash_code(key))
        if len(self._spreads) >= _TREE_FROM and _is_crowded(
            self._spreads.values(), own, self._table, _TREE_FROM
        ):
            self._table *= 2
        self._spreads[key] = own
        if 4 * len(self._spreads) > 3 * self._table:
            self._table *= 2

    def discard(self, key: K) -> None:
        """Take `key` out, if it is there."""
        self._spreads.pop(key, None)

    def __contains__(self, key: K) -> bool:
        return key in self._spreads

    def __len__(self) -> int:
        return len(self._spreads)

    def __iter__(self) -> Iterator[K]:
        """The elements in Java's order, as they are now: later changes do not show."""
        if len(self._spreads) < 2:
            return iter(list(self._spreads))
        mask = self._table - 1
        return iter(sorted(self._spreads, key=lambda key: self._spreads[key] & mask))


def utf16_key(text: str) -> bytes:
    """Sort key of `String.compareTo`: by UTF-16 code units, so U+1F600 comes before U+FF5E."""
    return text.encode("utf-16-be", "surrogatepass")


def sorted_strings(texts: Iterable[str]) -> list[str]:
    """Strings in the order of `String.compareTo`."""
    listed = list(texts)
    # Python compares code points, which is the same order unless characters beyond U+FFFF take part.
    return sorted(listed) if all(map(str.isascii, listed)) else sorted(listed, key=utf16_key)


def string_ranks(texts: Iterable[str]) -> dict[str, int]:
    """Each string's place in the order of `String.compareTo`, to sort by number instead of text."""
    return {text: rank for rank, text in enumerate(sorted_strings(texts))}

"""Java's order of iteration, against the literal way in which HashMap and HashSet go about it."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.assignors.java_order import (
    JavaHashSet,
    computed_order,
    computed_order_in,
    computed_table,
    hash_order,
    int_set_order,
    partition_hash,
    sorted_strings,
    spread,
    spread_all,
    string_hash,
    string_order,
    string_ranks,
    table_for,
    table_for_copy,
    uuid_hash,
)

hashes = st.integers(-(2**31), 2**31 - 1)
# Few distinct low bits: places fill up, as they do among similar names.
crowded = st.lists(
    st.integers(0, 7).flatmap(lambda low: st.integers(0, 300).map(lambda high: high * 64 + low)), unique=True
)
keys = st.lists(hashes, unique=True, max_size=120) | crowded
tables = st.sampled_from([1, 2, 16, 32, 64, 128])


class LiteralHashMap:
    """`java.util.HashMap` with chains, step by step; trees left out."""

    def __init__(self, table=16):
        self.buckets = [[] for _ in range(table)]
        self.size = 0

    def put(self, key):
        bucket = self._bucket(key)
        bucket.append(key)
        if len(bucket) > 8 and len(self.buckets) < 64:
            self._resize()
        self.size += 1
        if self.size > len(self.buckets) * 3 // 4:
            self._resize()

    def compute_if_absent(self, key):
        if self.size > len(self.buckets) * 3 // 4:
            self._resize()
        bucket = self._bucket(key)
        if key in bucket:
            return
        chain = len(bucket)
        bucket.insert(0, key)
        if chain >= 7 and len(self.buckets) < 64:
            self._resize()
        self.size += 1

    def remove(self, key):
        bucket = self._bucket(key)
        if key in bucket:
            bucket.remove(key)
            self.size -= 1

    def _bucket(self, key):
        return self.buckets[spread(key) & (len(self.buckets) - 1)]

    def _resize(self):
        old = [key for bucket in self.buckets for key in bucket]
        self.buckets = [[] for _ in range(2 * len(self.buckets))]
        for key in old:
            self._bucket(key).append(key)

    def order(self):
        return [key for bucket in self.buckets for key in bucket]


@given(keys=keys, table=tables)
def test_keys_come_as_from_a_hash_map_that_was_filled_by_put(keys, table):
    literal = LiteralHashMap(table)
    for key in keys:
        literal.put(key)
    assert hash_order(keys, int, table) == literal.order()


@given(keys=keys, repeated_after=st.sets(st.integers(0, 120)), table=tables)
def test_keys_come_as_from_a_hash_map_that_was_filled_by_compute_if_absent(keys, repeated_after, table):
    puts = []
    for index, key in enumerate(keys):
        puts += [key, keys[index // 2]] if index in repeated_after else [key]
    literal = LiteralHashMap(table)
    for key in puts:
        literal.compute_if_absent(key)
    assert computed_order(puts, int, table) == literal.order()
    assert computed_table(puts, spread_all, table) == len(literal.buckets)
    some = keys[::2]
    of_some = computed_order_in(some, spread_all(some), len(literal.buckets))
    assert of_some == [key for key in literal.order() if key in set(some)]


@given(changes=st.lists(st.tuples(st.booleans(), st.integers(0, 40).map(lambda n: n * 16)), max_size=80))
def test_a_set_whose_elements_come_and_go(changes):
    literal, ours = LiteralHashMap(), JavaHashSet(int)
    for adding, key in changes:
        if adding and key not in ours:
            literal.put(key)
            ours.add(key)
        elif not adding:
            literal.remove(key)
            ours.discard(key)
    assert list(ours) == literal.order()
    assert len(ours) == literal.size


def test_a_set_grows_with_the_element_that_is_more_than_three_quarters_of_its_table():
    """`HashMap.putVal`: `++size > threshold`; places are those of 16, and then of 32."""
    ours = JavaHashSet(int)
    for key in (16, *range(1, 12)):
        ours.add(key)
    assert list(ours) == [16, *range(1, 12)]
    ours.add(12)
    assert list(ours) == [*range(1, 13), 16]


@pytest.mark.parametrize("others", [15, 16])
def test_a_table_that_a_crowded_place_has_made_larger_grows_at_three_quarters_of_that(others):
    """Nine of a place make 32 of 16 places, which are enough for 24 keys and not for 25."""
    keys = [*range(0, 9 * 64, 64), 20, *range(33, 32 + others)]
    literal = LiteralHashMap(16)
    for key in keys:
        literal.put(key)
    assert len(literal.buckets) == (32 if len(keys) == 24 else 64)
    assert hash_order(keys, int, 16) == literal.order()


@given(numbers=st.lists(st.integers(0, 200), max_size=40))
def test_a_set_of_partitions_made_from_a_list(numbers):
    distinct = list(dict.fromkeys(numbers))
    assert int_set_order(numbers) == hash_order(distinct, int, table_for_copy(len(numbers)))


def test_a_set_of_partitions_is_ascending_only_below_the_size_of_its_table():
    assert int_set_order([3, 1, 2]) == [1, 2, 3]
    assert int_set_order([17, 1, 0]) == [0, 17, 1]


def test_strings_that_share_a_hash_come_in_the_order_in_which_they_were_put():
    assert string_hash("AaAa") == string_hash("BBBB") == string_hash("AaBB")
    assert string_order(["BBBB", "AaAa", "AaBB"]) == ["BBBB", "AaAa", "AaBB"]


def test_a_repeated_string_counts_where_it_first_stands():
    assert string_order(["b", "a", "b"]) == ["a", "b"]


@pytest.mark.parametrize(("size", "table"), [(0, 1), (1, 1), (2, 2), (3, 4), (16, 16), (17, 32)])
def test_a_table_of_an_expected_size(size, table):
    assert table_for(size) == table


@pytest.mark.parametrize(("size", "table"), [(0, 16), (11, 16), (12, 32), (13, 32), (24, 64)])
def test_a_table_of_a_copied_set(size, table):
    assert table_for_copy(size) == table


def test_hash_codes_of_kafkas_own_classes():
    # TopicPartition: 31 * (31 * 1 + partition) + topic.hashCode(); Uuid: both longs folded.
    assert partition_hash(("t", 2)) == 31 * (31 + 2) + ord("t")
    assert uuid_hash(UUID(int=(0x1_0000_0002 << 64) | 0x4_0000_0008)) == (0x1 ^ 0x4) ^ (0x2 ^ 0x8)


def test_strings_sort_by_utf_16_code_units():
    assert sorted_strings(["\uff5e", "\U0001f600", "a"]) == ["a", "\U0001f600", "\uff5e"]
    assert string_ranks(["b", "a"]) == {"a": 0, "b": 1}

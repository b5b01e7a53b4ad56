"""How a history is shared out among executors."""

from collections import Counter

import pytest

from kgroup.api.lag_history.on_spark import KeyRanges, Makers, PartSummary
from kgroup.scan.reductions.keyed_rows import CommitKey

WINDOWS = 1000


def summary(keys, each=1):
    return PartSummary(extent=None, sample=tuple(sorted(keys)), each=each)


def keys_of(group, partitions, topic="t"):
    return [CommitKey(group, topic, partition, 7) for partition in range(partitions)]


def test_one_huge_group_is_cut_into_ranges_of_about_the_same_number_of_rows():
    keys = keys_of("huge", 2000)
    ranges = KeyRanges.of([summary(keys[::2], each=2), summary(keys_of("a", 10))], WINDOWS)
    numbers = [ranges.number(key) for key in sorted([*keys, *keys_of("a", 10)])]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(len(ranges)))
    rows = [count * WINDOWS for count in Counter(numbers).values()]
    assert len(rows) == pytest.approx(2_010_000 / 262_144, abs=1)
    assert max(rows) < 1.1 * 262_144


def test_little_is_one_range_and_so_is_nothing():
    assert len(KeyRanges.of([summary(keys_of("a", 10))], 10)) == 1
    assert len(KeyRanges.of([summary([])], WINDOWS)) == 1


def test_all_groups_of_a_topic_partition_go_to_one_maker():
    keys = [key for group in "abcdef" for key in keys_of(group, 50)]
    makers = Makers.of([summary(keys)], 8)
    assert not makers.several
    places = {(key.partition, makers.number(key)) for key in keys}
    assert len(places) == 50
    assert {maker for _, maker in places} <= set(range(8))
    assert len({maker for _, maker in places}) > 4


def test_what_very_many_groups_read_is_shared_and_the_rest_is_not():
    one_topic = [CommitKey(f"group-{number}", "hot", 0, 7) for number in range(1000)]
    makers = Makers.of([summary([*one_topic, *keys_of("a", 24)])], 8)
    assert makers.several == {("hot", 0): 8}
    shares = Counter(makers.number(key) for key in one_topic)
    assert sum(shares.values()) == 1000
    assert max(shares.values()) < 250

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.protocol.group_hash import HashRule, java_hash_code, partition_for
from kgroup.protocol.redpanda_hash import jump_hash, xxhash64
from tests.vectors import group_hash

VECTORS = Path(__file__).parents[2] / "fixtures/vectors/group_hash.jsonl"
CASES = list(group_hash.cases(VECTORS))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.partition(" ")[0])
def test_hash_and_partitions_are_kafkas(case):
    assert case.failure is None


def test_the_one_integer_without_an_absolute_value_counts_as_0():
    assert java_hash_code("polygenelubricants") == -(2**31)
    assert partition_for("polygenelubricants", 50) == 0


@given(st.text(st.characters(), max_size=40), st.integers(1, 10_000))
def test_any_string_and_any_count_has_a_partition(group, partitions):
    for rule in HashRule:
        assert 0 <= partition_for(group, partitions, rule) < partitions


@pytest.mark.parametrize(
    ("text", "digest"),
    # Answers of the reference implementation, for each way through the algorithm: empty, tails of single
    # bytes, of four and eight, stripes of 32, and just around the first of those.
    [
        (b"", 0xEF46DB3751D8E999),
        (b"test-group", 0x1B7E118E0EFE30B5),
        (b"my-group", 0xAFB53C4E3C095338),
        (b"console-consumer-12345", 0xE3831B0F477CAA69),
        (b"a" * 31, 0xFE47067CDA802916),
        (b"a" * 32, 0x856E843298F99AD7),
        (b"a" * 33, 0x18F3FF0C21E3B24B),
        (b"a" * 64, 0xECDB66A0AA9322E2),
    ],
)
def test_xxhash64(text, digest):
    assert xxhash64(text) == digest


@pytest.mark.parametrize(
    ("key", "buckets", "bucket"),
    # The values that other implementations of the paper test themselves with.
    [(1, 1, 0), (42, 57, 43), (0xDEAD10CC, 1, 0), (0xDEAD10CC, 666, 361), (256, 1024, 520)],
)
def test_jump_hash(key, buckets, bucket):
    assert jump_hash(key, buckets) == bucket

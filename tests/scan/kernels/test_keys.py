"""The key table: one id per key, whatever the number of keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.scan.kernels.batches import BUFFER_SLACK
from kgroup.scan.kernels.keys import (
    GROUP,
    GROUP_TAG,
    NO_ROOM,
    NOT_FOUND,
    PARTITION,
    TOPIC,
    group_count,
    grown,
    ids_with_tag,
    intern_key,
    key_bytes,
    new_keys,
    topic_count,
)
from tests.log.offsets_log import commit, group_metadata

pytestmark = pytest.mark.usefixtures("each_tier")


class Table:
    """A key table that grows when it must."""

    def __init__(self, capacity=4):
        self.keys = new_keys(capacity)

    def id_of(self, key: bytes) -> int:
        buffer = np.frombuffer(key + bytes(BUFFER_SLACK), np.uint8).copy()
        while (key_id := intern_key(self.keys, buffer, 0, len(key))) == NO_ROOM:
            self.keys = grown(self.keys)
        return key_id


def commit_key(group: str, topic: str, partition: int) -> bytes:
    return commit(group, topic, partition, 0)[0]


def test_ids_stay_when_the_table_grows():
    table = Table()
    keys = [commit_key(f"group-{n % 97}", f"topic-{n % 89}", n) for n in range(5000)]
    ids = [table.id_of(key) for key in keys]
    assert len(set(ids)) == len(keys)
    assert [table.id_of(key) for key in keys] == ids
    assert [key_bytes(table.keys, key_id) for key_id in ids] == keys
    assert (group_count(table.keys), topic_count(table.keys)) == (97, 89)


def test_a_commit_key_knows_its_group_topic_and_partition():
    table = Table()
    first, second = (table.id_of(commit_key(*key)) for key in (("g", "t", 0), ("g", "u", -1)))
    columns = table.keys.strings[[first, second]][:, [GROUP, TOPIC, PARTITION]]
    assert columns.tolist() == [[0, 0, 0], [0, 1, -1]]
    group = ids_with_tag(table.keys, GROUP_TAG)
    assert len(group) == 1


def test_key_types_0_and_1_share_ids_and_other_types_do_not():
    table = Table()
    key = commit_key("g", "t", 1)
    assert table.id_of(b"\x00\x00" + key[2:]) == table.id_of(key)
    assert table.id_of(b"\x00\x05" + key[2:]) != table.id_of(key)
    assert table.id_of(group_metadata("g", 0)[0]) not in (-1, table.id_of(key))


def test_odd_keys_have_no_id():
    table = Table()
    key = commit_key("g", "t", 1)
    for odd in (b"", b"\x00", b"\xff\xff" + key[2:], key[:-1], key + b"\x00", key.replace(b"g", b"\xff")):
        assert table.id_of(odd) == NOT_FOUND


@given(st.lists(st.binary(max_size=20), max_size=60))
def test_two_keys_have_one_id_only_if_they_are_equal(tails):
    table = Table()
    keys = [b"\x00\x02" + tail for tail in tails]
    ids = [table.id_of(key) for key in keys]
    assert [key_bytes(table.keys, key_id) for key_id in ids] == keys
    assert len(set(ids)) == len(set(keys))

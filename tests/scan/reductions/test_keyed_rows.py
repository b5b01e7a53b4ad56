"""Rows key by key: cut between keys and put together again they are what they were."""

import numpy as np
import pyarrow as pa
import pytest

from kgroup.scan.reductions.keyed_rows import CommitKey, KeyedCommits, KeyedRows
from kgroup.scan.reductions.last_commits import Keep, last_part
from kgroup.scan.reductions.scan import Slice
from tests.log.offsets_log import batch, commit, group_metadata, tombstone, write


def key(group, partition=0, topic="t", offsets_partition=7):
    return CommitKey(group, topic, partition, offsets_partition)


def keyed(rows):
    """Keys and the values of each."""
    values = [value for of_key in rows.values() for value in of_key]
    counts = np.array([len(of_key) for of_key in rows.values()], np.int64)
    return KeyedRows(list(rows), counts, pa.table({"value": pa.array(values, pa.int64())}))


def held(keyed):
    values = iter(keyed.rows["value"].to_pylist())
    return {
        key: [next(values) for _ in range(count)] for key, count in zip(keyed.keys, keyed.counts, strict=True)
    }


ROWS = {key("a", 0): [3, 1], key("a", 10): [], key("b", 2): [9], key("é", 0): [4, 5, 6]}


def test_parts_are_joined_in_the_order_of_their_keys():
    some, others = (dict(list(ROWS.items())[start::2]) for start in (1, 0))
    joined = KeyedRows.joined([keyed(some), keyed(others)])
    assert held(joined) == ROWS
    assert list(joined.keys) == sorted(ROWS)


def test_what_goes_to_different_places_is_all_there_is():
    parted = dict(keyed(ROWS).parted(lambda of_key: of_key.partition % 4))
    assert [held(rows) for rows in parted.values()] == [
        {key("a", 0): [3, 1], key("é", 0): [4, 5, 6]},
        {key("a", 10): [], key("b", 2): [9]},
    ]
    assert list(parted) == [0, 2]


@pytest.mark.parametrize(("start", "stop"), [(0, 0), (0, 1), (1, 3), (2, 4), (0, 4)])
def test_keys_between_two_places(start, stop):
    assert held(keyed(ROWS).between(start, stop)) == dict(list(ROWS.items())[start:stop])


def commits_in(folder, records, is_wanted=lambda group, topic: True):
    path = write(folder, [batch(0, records)])
    whole = Slice(path=path, offsets_partition=7, start=0, end=path.stat().st_size)
    return KeyedCommits.of(last_part([whole], Keep(slots=5, period_ms=1000)), is_wanted)


RECORDS = [
    group_metadata("a", 1),
    commit("b", "t", 0, 20),
    commit("a", "t", 1, 10),
    commit("a", "t", 0, 30),
    tombstone("a", "t", 0),
    tombstone("c", "t", 0),
    commit("a", "u", 0, 40),
    group_metadata("a", 2),
    commit("a", "t", 1, 11),
]


def test_commits_are_by_key_with_the_times_that_their_windows_go_by(tmp_path):
    keyed = commits_in(tmp_path, RECORDS)
    keys = [key("a", 1), key("a", 0, "u"), key("b", 0)]
    assert list(keyed.commits.keys) == [key("a", 0), *keys]
    rows = keyed.commits.between(0, 2).rows.to_pylist()
    assert [(row["offset"], row["is_tombstone"]) for row in rows if not row["is_tombstone"]] == [
        (30, False),
        (10, False),
        (11, False),
    ]
    times = {row["log_offset"]: row["timestamp"] for row in keyed.commits.rows.to_pylist()}
    assert times == {1: 21, 2: 11, 3: 31, 6: 41, 8: 12, 4: 1004}  # a tombstone's is that of its record
    assert keyed.membership_changes == {(7, "a"): (0, 7)}


def test_what_is_not_wanted_and_what_was_never_committed_is_left_out(tmp_path):
    keyed = commits_in(tmp_path, RECORDS, lambda group, topic: topic == "u" or group == "c")
    assert list(keyed.commits.keys) == [key("a", 0, "u")]


def test_changes_of_membership_go_where_the_group_goes(tmp_path):
    keyed = commits_in(tmp_path, RECORDS)
    (_, with_a), (_, with_b) = keyed.parted(lambda of_key: int(of_key.group == "b"))
    assert (with_a.membership_changes, with_b.membership_changes) == ({(7, "a"): (0, 7)}, {})


def test_nothing_at_all(tmp_path):
    keyed = commits_in(tmp_path, [])
    assert list(keyed.commits.keys) == []
    assert list(keyed.blocks(10)) == []

"""Groups' rows in tables of steps that are sorted by key, one offsets partition after the other."""

from dataclasses import replace

import pyarrow as pa
import pytest

from kgroup.api.lag.group_spans import group_spans, rows_within
from kgroup.api.lag.stands import Stands
from kgroup.scan.reductions.last_commits import LastCommits
from kgroup.scan.reductions.leaps import LEAP_SCHEMA, no_leaps
from tests.lag.facts import facts, partition
from tests.lag.windows import ago


def moves(*rows: tuple[int, str, int, int, int]) -> pa.Table:
    """Steps to an offset of orders: offsets partition, group, partition, offset, seconds ago."""
    table = [
        {
            "group": group,
            "topic": "orders",
            "partition": number,
            "offsets_partition": offsets_partition,
            "from_log_offset": 1,
            "from_offset": 0,
            "from_timestamp": 0,
            "log_offset": 2,
            "offset": offset,
            "commit_timestamp": ago(seconds),
        }
        for offsets_partition, group, number, offset, seconds in rows
    ]
    return pa.concat_tables([no_leaps(), pa.Table.from_pylist(table, LEAP_SCHEMA)]).unify_dictionaries()


def test_a_group_in_two_offsets_partitions_has_two_spans_even_side_by_side():
    table = moves(
        (0, "a", 0, 9, 1), (0, "b", 0, 9, 1), (0, "b", 1, 9, 1), (3, "b", 0, 9, 1), (3, "c", 0, 9, 1)
    )
    spans = group_spans(table)
    assert spans == {"a": [slice(0, 1)], "b": [slice(1, 3), slice(3, 4)], "c": [slice(4, 5)]}
    rows = rows_within(table, spans["b"][0]).to_pylist()
    assert [(row["group"], row["partition"]) for row in rows] == [("b", 0), ("b", 1)]


def test_a_table_without_rows_has_no_spans():
    assert group_spans(no_leaps()) == {}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(7, "g", 0, 50, 900)], ago(900)),
        ([(7, "f", 0, 50, 900)], None),  # another group's
        ([(7, "g", 0, 40, 900)], None),  # it led elsewhere
        ([(7, "g", 0, 50, 5)], None),  # after the commits that are kept
        ([(7, "g", 0, 50, 900), (8, "g", 0, 50, 900)], None),  # nobody knows which one is newer
    ],
)
def test_since_when_a_partition_stands_is_the_time_of_the_step_that_led_there(rows, expected):
    standing = partition(0, [(20, 50), (10, 50)], 60)
    last = LastCommits(commits=pa.table({}), membership_changes={}, moves=moves(*rows))
    (stood,) = Stands(last).put_to(facts(standing)).partitions
    assert stood == replace(standing, stood_since_ms=expected)

"""Rows of a scan's commits as values: every column, over chunks, slices and topic ids."""

from uuid import UUID

import pyarrow as pa

from kgroup.api.lag.arrow_commits import iterate_commits, named_topic_ids
from kgroup.lag.measures.rows import Commit
from kgroup.scan.reading.arrow import COMMIT_SCHEMA

ID = UUID("0b9a8ad7-6e3c-4f5d-8a51-2f0c3c1d7e44")
OTHER_ID = UUID("7f1d0c55-90a1-4a0e-9d0b-1f6f3a2b4c5d")
NO_ID = UUID(int=0)


def table(*commits, ids):
    """One chunk with a dictionary of its own; `ids` are what the column of topic ids says of each row."""
    columns = {
        "offsets_partition": [commit.offsets_partition for commit in commits],
        "log_offset": [commit.log_offset for commit in commits],
        "record_timestamp": [0] * len(commits),
        "producer_id": [-1] * len(commits),
        "group": [commit.group for commit in commits],
        "topic": [commit.topic for commit in commits],
        "partition": [commit.partition for commit in commits],
        "tombstone": [False] * len(commits),
        "offset": [commit.offset for commit in commits],
        "leader_epoch": [-1 if commit.leader_epoch is None else commit.leader_epoch for commit in commits],
        "metadata": [commit.metadata for commit in commits],
        "commit_timestamp": [commit.commit_timestamp for commit in commits],
        "expire_timestamp": [
            -1 if commit.expire_timestamp is None else commit.expire_timestamp for commit in commits
        ],
        "topic_id": [None if topic_id is None else topic_id.bytes for topic_id in ids],
        "value_version": [4] * len(commits),
    }
    return pa.table(columns, schema=COMMIT_SCHEMA)


def commit(number, *, group="payments", topic="orders", topic_id=None, **changes):
    return Commit(
        group=group,
        topic=topic,
        partition=number,
        offset=number + 10,
        commit_timestamp=number + 20,
        topic_id=topic_id,
        offsets_partition=number % 50,
        log_offset=number + 30,
        **changes,
    )


def test_each_row_is_the_commit_that_was_read():
    first = [
        commit(0, topic_id=ID, leader_epoch=0, expire_timestamp=0, metadata="é"),
        commit(1, topic="bills", topic_id=OTHER_ID, leader_epoch=7),
        commit(2),
        commit(3, group="audit"),
    ]
    second = [commit(4, group="batch", topic="refunds"), commit(5, group="audit", topic="bills")]
    rows = pa.concat_tables(
        [table(*first, ids=[ID, OTHER_ID, None, NO_ID]), table(*second, ids=[None, None])]
    )
    assert list(iterate_commits(rows)) == first + second
    assert list(iterate_commits(rows.slice(1, 4))) == (first + second)[1:5]


def test_more_rows_than_are_held_at_a_time():
    commits = [commit(number, topic_id=(ID, None)[number % 2]) for number in range(4097)]
    rows = table(*commits, ids=[(ID, None)[number % 2] for number in range(4097)])
    assert list(iterate_commits(rows)) == commits


def test_topics_that_commits_name_with_an_id():
    named = [commit(0), commit(1, topic="bills"), commit(2, topic="refunds"), commit(3, topic="bills")]
    with_ids = table(*named, ids=[ID, OTHER_ID, NO_ID, None])
    without = table(commit(4, topic="orders"), ids=[None])
    assert named_topic_ids(pa.concat_tables([without, with_ids])) == {ID: "orders", OTHER_ID: "bills"}

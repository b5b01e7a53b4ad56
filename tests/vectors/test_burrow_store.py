"""What Burrow keeps of commits that come fast, late, twice, too early, or for what is gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.lag.status.model import GroupStatus, PartitionStatus
from tests.lag.windows import NOW, ago
from tests.vectors.burrow_store import BurrowConfig, BurrowStore

WEEK_S = 604_800


class Feed:
    """A store with one group and one topic of two partitions, whose first one ends at 100."""

    def __init__(self, head=100, **config):
        self.store = BurrowStore(BurrowConfig(**config))
        if head is not None:
            self.store.add_log_end("orders", 0, head, NOW, 2)

    def commit(self, order, offset=50, seconds=60, partition=0, topic="orders"):
        self.store.add_commit("billing", topic, partition, offset, ago(seconds), order, NOW)
        return self

    def judge(self, now=NOW):
        return self.store.judge("billing", now)

    def stored(self):
        """(order, offset, lag) of each commit."""
        commits = self.judge().partitions[0].window.commits
        return [(commit.order, commit.offset, commit.lag) for commit in commits]

    def orders(self):
        return [order for order, _, _ in self.stored()]


def feed(*orders, **config):
    feed = Feed(**config)
    for order in orders:
        feed.commit(order)
    return feed


def test_the_oldest_commit_makes_room():
    assert feed(1, 2, 3, 4, intervals=3).orders() == [2, 3, 4]


def test_a_late_commit_stands_where_its_order_says_with_its_lag_unknown():
    assert feed(1, 3, 2, intervals=5).stored() == [(1, 50, 50), (2, 50, None), (3, 50, 50)]
    assert feed(2, 3, 1, intervals=5).stored() == [(1, 50, None), (2, 50, 50), (3, 50, 50)]


@pytest.mark.parametrize(
    ("orders", "kept"),
    [
        ([1, 3, 5, 4], [3, 4, 5]),  # pushes the oldest out
        ([1, 3, 5, 2], [2, 3, 5]),
        ([2, 3, 5, 1], [2, 3, 5]),  # older than all that there is room for
        ([1, 3, 5, 3], [1, 3, 5]),  # is there already
        ([1, 3, 5, 5], [1, 3, 5]),
    ],
)
def test_a_late_commit_to_a_full_window(orders, kept):
    assert feed(*orders, intervals=3).orders() == kept


def test_a_commit_sooner_than_the_distance_takes_the_place_and_the_time_of_the_one_before():
    quick = Feed(min_distance_s=10).commit(1, 50, 60).commit(2, 55, 51).commit(3, 56, 50).commit(4, 57, 49)
    commits = quick.judge().partitions[0].window.commits
    assert [(commit.order, commit.offset, commit.timestamp) for commit in commits] == [
        (2, 55, ago(60)),
        (4, 57, ago(50)),
    ]


def test_a_commit_whose_time_goes_back_is_too_close_at_any_distance():
    assert Feed().commit(1, 50, 60).commit(2, 55, 61).stored() == [(2, 55, 45)]


def test_a_lag_is_never_negative():
    ahead = Feed().commit(1, offset=120)
    assert ahead.stored() == [(1, 120, 0)]
    assert ahead.judge().partitions[0].verdict.lag == 0


@pytest.mark.parametrize(
    ("topic", "partition"), [("orders", 1), ("orders", 2), ("orders", -1), ("payments", 0)]
)
def test_a_commit_to_a_partition_of_unknown_end_is_dropped_and_makes_no_group(topic, partition):
    lost = Feed().commit(1, topic=topic, partition=partition)
    assert lost.judge().status is GroupStatus.NOT_FOUND


def test_the_first_commit_to_a_topic_makes_an_entry_for_each_of_its_partitions():
    group = Feed().commit(1).judge()
    assert [(p.partition, p.verdict.status, p.window.slots) for p in group.partitions] == [
        (0, PartitionStatus.STOP, 10),
        (1, PartitionStatus.OK, 0),
    ]
    assert (group.status, group.total_lag, group.max_lag) == (GroupStatus.ERR, 50, 50)


def test_a_group_is_complete_by_the_share_of_its_full_windows():
    assert feed(1, intervals=1).judge().complete == 0.5
    assert feed(1, intervals=2).judge().complete == 0.0


class TestExpiry:
    def test_a_commit_as_old_as_the_limit_counts_and_an_older_one_does_not(self):
        assert Feed().commit(1, seconds=WEEK_S).judge().status is GroupStatus.ERR
        assert Feed().commit(1, seconds=WEEK_S + 0.001).judge().status is GroupStatus.NOT_FOUND

    def test_a_group_is_forgotten_when_its_last_commit_is_too_old(self):
        group = Feed().commit(1, seconds=0)
        assert group.judge(NOW + WEEK_S * 1000).status is GroupStatus.ERR
        assert group.judge(NOW + WEEK_S * 1000 + 1000).status is GroupStatus.NOT_FOUND
        assert group.judge().status is GroupStatus.NOT_FOUND


class TestDeletion:
    def test_a_deleted_topic_leaves_the_group_without_partitions(self):
        group = Feed().commit(1)
        group.store.delete_topic("orders")
        assert group.judge().partitions == ()
        assert (group.judge().status, group.judge().max_lag) == (GroupStatus.OK, None)
        assert group.commit(2).judge().partitions == ()  # nobody knows its end any more

    def test_a_deleted_group_is_not_found(self):
        group = Feed().commit(1)
        group.store.delete_group("billing")
        assert group.judge().status is GroupStatus.NOT_FOUND

    def test_a_group_that_loses_its_last_topic_goes_with_it(self):
        group = Feed().commit(1)
        group.store.add_log_end("payments", 0, 5, NOW, 1)
        group.commit(2, topic="payments")
        group.store.delete_group("billing", "orders")
        assert [p.topic for p in group.judge().partitions] == ["payments"]
        group.store.delete_group("billing", "payments")
        assert group.judge().status is GroupStatus.NOT_FOUND


def test_only_the_last_log_ends_are_kept():
    group = Feed(intervals=2, head=100)
    group.store.add_log_end("orders", 0, 110, NOW, 2)
    group.store.add_log_end("orders", 0, 105, NOW, 2)
    heads = group.commit(1).judge().partitions[0].window.heads
    assert [head.offset for head in heads] == [110, 105]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99), st.integers(0, 200)), max_size=30),
    st.integers(1, 5),
    st.integers(0, 20),
)
def test_commits_come_out_in_order_and_no_more_than_there_are_slots(commits, intervals, min_distance_s):
    group = Feed(intervals=intervals, min_distance_s=min_distance_s)
    for order, offset, seconds in commits:
        group.commit(order, offset, seconds)
    if not commits:
        return
    orders = group.orders()
    assert orders == sorted(set(orders))
    assert 1 <= len(orders) <= intervals
    assert orders[-1] == max(order for order, _, _ in commits)

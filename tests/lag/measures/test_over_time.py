"""Lags over time, each worked out by hand."""

from kgroup.lag.measures.over_time import LagLine, PastOffset, lag_over_time

ORDERS = ("orders", 0)


def past(group: str, window: int, offset: int, lag: int | None = None, partition: int = 0) -> PastOffset:
    return PastOffset(group, "orders", partition, window, offset, lag)


def test_known_lags_are_taken_as_they_are() -> None:
    (group,) = lag_over_time([past("g", 0, 10, 5), past("g", 1, 10, 9)], 2, {})
    assert group.partitions == {ORDERS: LagLine((5, 9), (False, False))}
    assert group.total == LagLine((5, 9), (False, False))


def test_before_the_first_commit_and_after_the_last_nothing_is_known() -> None:
    (group,) = lag_over_time([past("g", 1, 10, 5)], 3, {})
    assert group.total.lags == (None, 5, None)


def test_what_others_have_read_is_the_least_that_there_was() -> None:
    """The other group is at 40 in window 0, and does not commit in 1; it goes back in 2."""
    offsets = [past("slow", window, 10) for window in range(3)]
    offsets += [past("fast", 0, 40), past("fast", 2, 5)]
    fast, slow = lag_over_time(offsets, 3, {ORDERS: 100})
    assert slow.partitions[ORDERS] == LagLine((30, 30, 30), (True, True, True))
    assert fast.partitions[ORDERS] == LagLine((0, None, 35), (True, False, True))


def test_what_the_log_tells_is_more_than_what_others_have_read() -> None:
    slow = lag_over_time([past("slow", 0, 10, 50), past("fast", 0, 40, 20)], 1, {ORDERS: 100})[1]
    assert slow.total == LagLine((50,), (False,))


def test_a_commit_beyond_the_end_of_now_proves_nothing() -> None:
    slow = lag_over_time([past("slow", 0, 10), past("wild", 0, 2**63 - 1)], 1, {ORDERS: 100})[0]
    assert slow.total == LagLine((0,), (True,))


def test_without_a_log_end_of_now_nothing_is_proven() -> None:
    (group,) = lag_over_time([past("g", 0, 10)], 1, {ORDERS: None})
    assert group.total == LagLine((None,), (True,))


def test_a_total_is_at_least_where_one_of_its_partitions_is() -> None:
    offsets = [past("g", 0, 10, 5), past("g", 0, 10, partition=1), past("h", 0, 17, 3, partition=1)]
    g, _ = lag_over_time(offsets, 1, {("orders", 1): 20})
    assert g.total == LagLine((12,), (True,))
    assert g.total.peak == 12


def test_a_total_of_which_a_part_is_unknown_is_at_least_the_rest() -> None:
    offsets = [past("g", 0, 10, 5), past("g", 0, 10, partition=1)]
    (group,) = lag_over_time(offsets, 1, {})
    assert group.total == LagLine((5,), (True,))


def test_a_lag_below_0_is_0() -> None:
    (group,) = lag_over_time([past("g", 0, 10, -26)], 1, {})
    assert group.total.lags == (0,)


def test_groups_are_in_order() -> None:
    assert [each.group for each in lag_over_time([past("b", 0, 1), past("a", 0, 1)], 1, {})] == ["a", "b"]

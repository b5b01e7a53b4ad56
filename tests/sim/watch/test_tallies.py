"""Measures on stories short enough to add up by hand. Times are ms."""

from kgroup.sim.watch.tallies import Measures

P = ("g", ("orders", 0))
Q = ("g", ("orders", 1))


def test_a_partition_without_a_reader_counts_from_when_it_is_needed() -> None:
    measures = Measures()
    measures.need(P, 1_000)
    measures.hold(P, "c1", 4_000)
    measures.release(P, "c1", 10_000)
    assert measures.tally(12_000).unavailable_partition_s == 3 + 2


def test_a_partition_that_nobody_wants_any_more_is_not_missed() -> None:
    measures = Measures()
    measures.need(P, 0)
    measures.spare(P, 2_000)
    measures.need(P, 5_000)
    measures.hold(P, "c1", 6_000)
    measures.spare(P, 7_000)  # c1 will hear of it
    measures.release(P, "c1", 8_000)
    assert measures.tally(20_000).unavailable_partition_s == 2 + 1
    measures.hold(P, "c2", 20_000)
    measures.release(P, "c2", 21_000)
    assert measures.tally(22_000).unavailable_partition_s == 3 + 1


def test_partitions_add_up() -> None:
    measures = Measures()
    measures.need(P, 0)
    measures.need(Q, 0)
    assert measures.tally(5_000).unavailable_partition_s == 10


def test_two_readers_count_while_there_are_two() -> None:
    measures = Measures()
    measures.hold(P, "c1", 0)
    measures.hold(P, "c2", 1_000)
    measures.hold(P, "c3", 2_000)
    measures.release(P, "c3", 3_000)
    measures.release(P, "c1", 6_000)
    tally = measures.tally(9_000)
    assert tally.two_owner_partition_s == 5
    assert tally.unavailable_partition_s == 0


def test_a_partition_moves_when_it_comes_to_another_member_than_before() -> None:
    measures = Measures()
    measures.hold(P, "c1", 0)
    measures.release(P, "c1", 1)
    measures.hold(P, "c1", 2)
    assert measures.tally(2).moved_partitions == 0
    measures.release(P, "c1", 3)
    measures.hold(P, "c2", 4)
    assert measures.tally(4).moved_partitions == 1


def test_giving_up_what_one_does_not_have_changes_nothing() -> None:
    measures = Measures()
    measures.hold(P, "c1", 0)
    measures.release(P, "c2", 1_000)
    assert measures.readers(P) == {"c1"}
    assert measures.tally(2_000).unavailable_partition_s == 0


def test_records_below_what_was_processed_are_duplicates() -> None:
    measures = Measures()
    measures.process(P, 0, 9)
    measures.process(P, 5, 14)
    measures.process(P, 0, 2)
    measures.process(Q, 0, 2)
    tally = measures.tally(0)
    assert (tally.processed, tally.duplicates) == (10 + 10 + 3 + 3, 5 + 3)
    assert measures.processed_to(P) == 15


def test_a_member_stands_from_when_it_stops_until_it_goes_on() -> None:
    measures = Measures()
    measures.stop("c1", 0)
    measures.stop("c1", 500)
    measures.go_on("c1", 2_000)
    measures.go_on("c1", 3_000)
    measures.stop("c2", 4_000)
    assert measures.tally(5_000).stopped_member_s == 2 + 1

"""What changes between looks at a cluster: log ends and commits at times that the test chooses."""

from kgroup.history.groups.model import GroupKind, GroupState
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.rates import LagRates
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.measures.successive import LagLooks
from kgroup.lag.measures.time_lag import LagIsZero, Prediction, TooFewPoints

UNKNOWN = LagRates(written_per_s=None, read_per_s=None, growth_per_s=None, drain_ms=None)


def row(current: int | None, end: int | None, group: str = "g") -> LagRow:
    return LagRow(
        group=group,
        topic="t",
        partition=0,
        current_offset=current,
        log_end_offset=end,
        lag=None if current is None or end is None else end - current,
        log_start_offset=None,
        leader_epoch=None,
        metadata=None,
        commit_timestamp=None,
        member_id=None,
        group_instance_id=None,
        host=None,
        client_id=None,
        group_kind=GroupKind.CLASSIC,
        group_state=GroupState.STABLE,
        topic_id=None,
        topic_state=TopicState.EXISTS,
        log_end_source=None,
        notes=(),
    )


def looks_at(*looks: tuple[int, LagRow]) -> LagLooks:
    seen = LagLooks()
    for now_ms, row in looks:
        seen.begin(now_ms)
        seen.add([row])
    return seen


def test_one_look_knows_no_rates() -> None:
    assert looks_at((0, row(10, 50))).rates(row(10, 50)) == UNKNOWN


def test_two_looks_give_the_change_per_second() -> None:
    seen = looks_at((0, row(10, 50)), (10_000, row(40, 60)))
    assert seen.rates(row(40, 60)) == LagRates(
        written_per_s=1, read_per_s=3, growth_per_s=-2, drain_ms=10_000
    )


def test_a_log_that_nothing_is_written_to_is_the_same() -> None:
    seen = looks_at((0, row(10, 50)), (10_000, row(40, 50)))
    assert seen.rates(row(40, 50)) == LagRates(written_per_s=0, read_per_s=3, growth_per_s=-3, drain_ms=3_333)


def test_a_log_that_shrank_is_another_one() -> None:
    seen = looks_at((0, row(10, 50)), (10_000, row(3, 5)))
    assert seen.rates(row(3, 5)).growth_per_s is None
    assert seen.table("t", 0).lookup(3) == TooFewPoints()


def test_what_disappears_is_forgotten() -> None:
    seen = looks_at((0, row(10, 50)), (10_000, row(1, 1, group="other")), (20_000, row(20, 60)))
    assert seen.rates(row(20, 60)).read_per_s is None


def test_only_the_newest_looks_count() -> None:
    """A burst before the last 12 looks is gone from the rates: they span 11 s, with 11 records in them."""
    looks = [(1000 * number, row(0, 1000 + number)) for number in range(1, 13)]
    assert looks_at((0, row(0, 0)), *looks).rates(row(0, 1012)).written_per_s == 1


def test_the_log_ends_are_those_of_interpolation() -> None:
    table = looks_at((0, row(10, 50)), (10_000, row(40, 60))).table("t", 0)
    assert table.lookup(55) == Prediction(5000)
    assert table.lookup(60) == LagIsZero()


def test_a_partition_that_nobody_saw_has_an_empty_table() -> None:
    assert LagLooks().table("t", 9).lookup(0) == TooFewPoints()


def test_without_a_log_end_nothing_is_known() -> None:
    seen = looks_at((0, row(10, None)), (10_000, row(40, None)))
    assert seen.rates(row(40, None)) == UNKNOWN


def test_a_row_that_is_taken_twice_counts_once_and_one_that_is_gone_is_forgotten() -> None:
    seen = looks_at((0, row(10, 50)), (10_000, row(40, 60)))
    seen.add([row(40, 60)])
    assert seen.rates(row(40, 60)).read_per_s == 3
    seen.begin(20_000)
    seen.add([])
    seen.begin(30_000)
    seen.add([row(40, 60)])
    assert seen.rates(row(40, 60)) == UNKNOWN

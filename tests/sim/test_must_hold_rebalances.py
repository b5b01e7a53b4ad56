"""Why rebalances hurt and what helps, as the literature has it, seen and measured. See docs/must_hold.md."""

from dataclasses import replace

import pytest

from kgroup.group.coordinator.events import GenerationFormed, GroupStable, MemberRemoved, RebalanceStarted
from kgroup.group.member.identity import MemberState
from kgroup.protocol.error_codes import ErrorCode
from kgroup.sim.scenario.file import load_shipped
from kgroup.sim.scenario.scenario import CommitMode, SimTopic
from kgroup.sim.watch.trace import CommitEnded, CoordinatorEvent, MemberMoved, RecordsProcessed
from kgroup.sim.world.world import run
from kgroup.sim.zookeeper.world import run_zookeeper
from tests.sim.must_hold import decided, played, since, with_late
from tests.sim.worlds import members, world


def under(assignor, scenario):
    """The scenario with all members under this assignor."""
    return replace(
        scenario, members=tuple(replace(member, assignors=(assignor,)) for member in scenario.members)
    )


def round_times(seen, after_s):
    """When the next rebalance started and when it was over, in seconds."""
    events = since(seen, CoordinatorEvent, after_s)
    started = next(each for each in events if isinstance(each.event, RebalanceStarted))
    over = (each for each in events if isinstance(each.event, GroupStable) and each.at_ms >= started.at_ms)
    return seen.s(started), seen.s(next(over))


def test_under_an_eager_assignor_nobody_reads_until_the_new_generation_is_there():
    seen = played(with_late(world(("20s", "join late"), members=members(3))))
    moved = since(seen, MemberMoved, 20)
    last_joins = max(seen.s(each) for each in moved if each.state is MemberState.PREPARING_REBALANCE)
    first_again = min(seen.s(each) for each in moved if each.state is MemberState.STABLE)
    quiet = [each for each in seen.of(RecordsProcessed) if last_joins < seen.s(each) < first_again]
    assert quiet == []


def test_a_rebalance_waits_for_its_slowest_member():
    busy = {"processing_ms": 4_000.0, "max_poll_records": 1}
    quick, slow = members(2)
    scenario = world(("20s", "join late"), members=(quick, replace(slow, **busy)))
    started, stable = round_times(played(with_late(scenario)), 20)
    without = world(("20s", "join late"), members=(quick, slow))
    started_quick, stable_quick = round_times(played(with_late(without)), 20)
    assert stable - started > 2 + (stable_quick - started_quick)


def test_a_rebalance_of_a_larger_group_takes_longer():
    """It waits for the slowest of all, and of many there is more often one amid a long batch."""
    busy = {"processing_ms": 2_500.0, "max_poll_records": 1}
    topics = (SimTopic(name="orders", partitions=8, records_per_s=16),)

    def mean_s(count):
        times = []
        for seed in range(3):
            scenario = with_late(world(("21s", "join late"), members=members(count, **busy), topics=topics))
            started, stable = round_times(played(scenario, seed), 21)
            times.append(stable - started)
        return sum(times) / len(times)

    assert mean_s(8) > mean_s(1) + 0.5


def test_what_was_not_committed_is_done_twice_and_less_of_it_with_a_commit_after_each_batch():
    auto = {"commit_mode": CommitMode.AUTO, "auto_commit_interval_ms": 10_000}
    each_batch = {"commit_mode": CommitMode.AFTER_PROCESSING, "max_poll_records": 1}
    often = played(world(("27s", "kill c1"), members=members(2, **each_batch)))
    seldom = played(world(("27s", "kill c1"), members=members(2, **auto)))
    assert seldom.run.tally.duplicates > often.run.tally.duplicates
    assert seldom.run.tally.duplicates > 0


def test_a_longer_session_forgives_a_longer_pause():
    short = played(world(("20s", "pause c1 for 15s"), members=members(2, session_timeout_ms=10_000)))
    long = played(world(("20s", "pause c1 for 15s"), members=members(2, session_timeout_ms=30_000)))
    assert [each.why for each in decided(short, MemberRemoved)] == ["session expired"]
    assert decided(long, MemberRemoved) == []
    assert [each.generation_id for each in decided(long, GroupStable)] == [1]


def test_max_poll_interval_above_the_longest_batch_keeps_the_member_in():
    batch = ("20s", "slow c1 by 1000 for 15s")
    below = played(world(batch, members=members(2, max_poll_interval_ms=5_000, processing_ms=10.0)))
    above = played(world(batch, members=members(2, max_poll_interval_ms=60_000, processing_ms=10.0)))
    assert decided(below, MemberRemoved)
    assert decided(above, MemberRemoved) == []


def test_a_static_member_that_restarts_costs_no_rebalance_and_a_dynamic_one_two():
    restart = ("20s", "restart c1 for 4s")
    first, second = members(2)
    dynamic = played(world(restart, members=(first, second)))
    static = played(world(restart, members=(replace(first, instance_id="i1"), second)))
    assert [each.generation_id for each in decided(dynamic, GroupStable)] == [1, 2, 3]
    assert [each.generation_id for each in decided(static, GroupStable)] == [1]
    assert (dynamic.run.tally.moved_partitions > 0, static.run.tally.moved_partitions) == (True, 0)


def test_cooperative_members_go_on_reading_what_they_keep():
    scenario = with_late(world(("20s", "join late"), members=members(3)))
    eager, cooperative = played(under("range", scenario)), played(under("cooperative-sticky", scenario))
    assert cooperative.run.tally.moved_partitions < eager.run.tally.moved_partitions
    assert cooperative.run.tally.stopped_member_s < eager.run.tally.stopped_member_s
    started, _ = round_times(cooperative, 20)
    stable = max(stable_times(cooperative))
    while_it_went_on = [
        each for each in cooperative.of(RecordsProcessed) if started < cooperative.s(each) < stable
    ]
    assert while_it_went_on


def stable_times(seen):
    return [seen.s(each) for each in since(seen, CoordinatorEvent, 20) if isinstance(each.event, GroupStable)]


def test_members_beyond_the_partitions_stay_idle():
    seen = played(world(members=members(5), topics=(SimTopic(name="orders", partitions=4, records_per_s=4),)))
    busy = {each.member for each in seen.of(RecordsProcessed)}
    assert (decided(seen, GenerationFormed)[-1].members, len(busy)) == (5, 4)


# ---- the design before --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def herd():
    """The same scenario under three designs."""
    scenario = load_shipped("herd-effect")
    return {
        "eager": run(under("range", scenario), 0, codec=False).tally,
        "cooperative": run(under("cooperative-sticky", scenario), 0, codec=False).tally,
        "zookeeper": run_zookeeper(scenario, 0).tally,
    }


def test_the_old_design_wakes_the_herd(herd):
    for design in ("eager", "cooperative"):
        assert herd["zookeeper"].notifications > 1.5 * herd[design].notifications
        assert herd["zookeeper"].rebalances > 10 * herd[design].rebalances
    assert herd["zookeeper"].moved_partitions > herd["eager"].moved_partitions


def test_cooperative_moves_least(herd):
    assert herd["cooperative"].moved_partitions < herd["eager"].moved_partitions / 2


def test_in_every_design_a_member_that_is_cut_off_reads_on_what_others_own(herd):
    assert all(tally.two_owner_partition_s > 0 for tally in herd.values())


def test_a_member_that_was_cut_off_cannot_commit_for_its_old_generation():
    seen = played(world(("20s", "cut c1 from coordinator for 20s")))
    (removed,) = [each for each in since(seen, CoordinatorEvent, 20) if isinstance(each.event, MemberRemoved)]
    back = next(each for each in since(seen, MemberMoved, 40) if each.state is MemberState.STABLE)
    ended = [each for each in seen.of(CommitEnded, member="c1") if removed.at_ms < each.at_ms < back.at_ms]
    assert ended
    assert ErrorCode.NONE not in {each.error_code for each in ended}

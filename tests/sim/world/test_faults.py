"""What each fault does to a group, seen in the trace."""

from dataclasses import replace

import pytest

from kgroup.group.coordinator.events import GenerationFormed, MemberRemoved
from kgroup.group.member.step import CallbackKind
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import Heartbeat, OffsetCommit
from kgroup.sim.scenario.scenario import CommitMode, FaultKind, SimTopic
from kgroup.sim.watch.trace import (
    CommitEnded,
    CoordinatorEvent,
    CoordinatorMoved,
    FaultBegan,
    FaultEnded,
    MemberStarted,
    MemberStopped,
    NodeStarted,
    NodeStopped,
    PartitionsChanged,
    RecordsProcessed,
    RequestFailed,
    RequestSent,
    TopicGrown,
)
from tests.sim.worlds import Seen, members, play, world


def removals(seen: Seen) -> list[tuple[float, str]]:
    """When a coordinator threw a member out, and why."""
    return [
        (seen.s(event), event.event.why)
        for event in seen.of(CoordinatorEvent)
        if isinstance(event.event, MemberRemoved)
    ]


def generations(seen: Seen) -> list[tuple[float, int]]:
    """When a generation was formed, and of how many members."""
    return [
        (seen.s(event), event.event.members)
        for event in seen.of(CoordinatorEvent)
        if isinstance(event.event, GenerationFormed)
    ]


# ---- members ----------------------------------------------------------------------------------


def test_a_killed_member_is_missed_when_its_session_ends() -> None:
    seen = play(world(("20s", "kill c1")))
    [(when, why)] = removals(seen)
    assert 27 <= when <= 31, "10 s after its last heartbeat, which was at most 3 s before its death"
    assert "session" in why
    [stopped] = seen.of(MemberStopped, member="c1")
    assert (seen.s(stopped), stopped.why) == (20, "killed")
    assert generations(seen)[-1][1] == 1


def test_a_killed_member_with_a_duration_starts_again_as_a_new_process() -> None:
    seen = play(world(("20s", "kill c1 for 5s")))
    assert [(seen.s(event), event.process) for event in seen.of(MemberStarted, member="c1")] == [
        (0, 1),
        (25, 2),
    ]


def test_a_member_that_leaves_is_missed_at_once() -> None:
    seen = play(world(("20s", "leave c1")))
    [(when, _)] = removals(seen)
    assert 20 <= when <= 21.1, "after the records in hand and the commit"
    assert seen.of(MemberStopped, member="c1")[0].why == "closed"


def test_a_static_member_that_restarts_is_not_missed() -> None:
    statics = tuple(replace(member, instance_id=member.name) for member in members(2))
    seen = play(world(("20s", "restart c1 for 3s"), members=statics))
    assert removals(seen) == []
    assert len(generations(seen)) == 1


def test_a_paused_member_goes_on_as_if_nothing_had_been_and_is_told_that_it_is_out() -> None:
    seen = play(world(("20s", "pause c1 for 15s")))
    [(when, _)] = removals(seen)
    assert 27 <= when <= 31
    lost = seen.of(PartitionsChanged, member="c1", kind=CallbackKind.LOST)
    assert [round(seen.s(event)) for event in lost] == [35]
    assert not seen.run.violations


def test_a_short_pause_costs_nothing() -> None:
    assert len(generations(play(world(("20s", "pause c1 for 5s"))))) == 1


def test_a_member_too_slow_for_max_poll_interval_leaves_by_itself() -> None:
    slow = members(2, processing_ms=10, max_poll_interval_ms=15_000)
    seen = play(world(("20s", "slow c1 by 5000 for 20s"), members=slow))
    assert [why for _, why in removals(seen)] == ["left: consumer poll timeout has expired."]
    assert seen.run.tally.two_owner_partition_s > 0, "it still works on what others have got"


def test_a_member_cut_from_its_coordinator_alone_loses_its_place_and_comes_back() -> None:
    seen = play(world(("20s", "cut c1 from coordinator for 15s")))
    assert len(removals(seen)) == 1
    assert generations(seen)[-1][1] == 2


def test_a_clock_that_jumps_ahead_by_a_session_makes_the_member_look_for_its_coordinator() -> None:
    seen = play(world(("20s", "skew c1 by 30s")))
    assert not seen.run.violations
    assert len(generations(seen)) == 1, "the coordinator's clock has not jumped"


def test_a_coordinators_clock_that_jumps_ahead_ends_every_session() -> None:
    seen = play(world(("20s", "skew coordinator by 30s")))
    assert [round(when) for when, _ in removals(seen)] == [20, 20]
    assert not seen.run.violations


# ---- nodes ------------------------------------------------------------------------------------


def test_a_killed_coordinator_is_replaced_when_its_session_at_the_controller_ends() -> None:
    seen = play(world(("20s", "kill coordinator")))
    [moved] = seen.of(CoordinatorMoved)
    assert (seen.s(moved), moved.group) == (29, "g")
    [stopped] = seen.of(NodeStopped)
    assert stopped.node != moved.node
    assert not seen.run.violations


def test_a_node_that_restarts_hands_over_first() -> None:
    seen = play(world(("20s", "restart coordinator for 2s")))
    [moved] = seen.of(CoordinatorMoved)
    assert seen.s(moved) == 20
    assert [seen.s(event) for event in seen.of(NodeStarted)] == [22]
    assert len(generations(seen)) == 1, "the new coordinator knows the group from the log"


def test_a_node_that_stands_still_too_long_is_fenced_and_comes_back() -> None:
    seen = play(world(("20s", "pause coordinator for 12s")))
    assert [(seen.s(event), event.why) for event in seen.of(NodeStopped)] == [(29, "fenced")]
    assert [seen.s(event) for event in seen.of(NodeStarted)] == [32]
    assert not seen.run.violations


def test_a_short_pause_of_a_coordinator_ends_no_session() -> None:
    assert removals(play(world(("20s", "pause coordinator for 5s")))) == []


def test_a_node_cut_from_everybody_is_fenced() -> None:
    seen = play(world(("20s", "cut coordinator for 12s")))
    assert [(seen.s(event), event.why) for event in seen.of(NodeStopped)] == [(29, "fenced")]
    assert not seen.run.violations


def test_rolling_restarts_lose_nothing() -> None:
    rolling = [(f"{10 * number}s", f"restart node-{number} for 5s") for number in (1, 2, 3)]
    seen = play(world(*rolling))
    assert len(seen.of(NodeStarted)) == 3
    assert len(generations(seen)) == 1
    assert not seen.run.violations


def test_a_slow_disk_keeps_commits_waiting() -> None:
    """Answers wait for the disk; the two members commit every 5 s."""

    def longest_s(seen: Seen) -> float:
        sent = [
            seen.s(event)
            for event in seen.of(RequestSent, member="c1")
            if isinstance(event.body, OffsetCommit)
        ]
        ended = [seen.s(event) for event in seen.of(CommitEnded, member="c1")]
        return max(end - start for start, end in zip(sent, ended, strict=False))

    assert longest_s(play(world())) < 0.1
    assert longest_s(play(world(("20s", "slow-disk coordinator by 2s for 30s")))) >= 2


def test_the_coordinator_moves_on_demand() -> None:
    seen = play(world(("20s", "move g")))
    assert [seen.s(event) for event in seen.of(CoordinatorMoved)] == [20]
    assert len(generations(seen)) == 1


def test_a_lone_node_that_stands_still_from_the_start_serves_when_it_is_back() -> None:
    """Nobody can take over, and the members' first requests are waiting."""
    seen = play(world(("0s", "pause node-1 for 15s"), nodes=1))
    assert [(seen.s(event), event.why) for event in seen.of(NodeStopped)] == [(9, "fenced")]
    assert generations(seen)[0][0] > 15
    assert not seen.run.violations


def test_what_a_dead_node_would_have_answered_goes_nowhere() -> None:
    """Seed 4025 of the swarm: joins are parked on a node that dies, and the coordinator is moved before the
    controller misses the node. The world tried to send their answers for ever."""
    slow_start = {"offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "3000"}
    seen = play(world(("1s", "kill coordinator"), ("3s", "move g"), properties=slow_start))
    assert not seen.run.violations
    assert generations(seen)[-1][1] == 2


# ---- network and topics -----------------------------------------------------------------------


def test_lost_packets_only_take_longer() -> None:
    seen = play(world(("10s", "lose by 20% for 40s")))
    assert seen.of(RequestFailed) == []
    assert not seen.run.violations


def test_delayed_packets_take_longer_both_ways() -> None:
    """A heartbeat goes out every 3 s; the next waits for the answer to the last."""

    def heartbeats(seen: Seen) -> int:
        return sum(isinstance(event.body, Heartbeat) for event in seen.of(RequestSent, member="c1"))

    assert heartbeats(play(world(("5s", "delay by 4s for 50s")))) < heartbeats(play(world())) * 3 / 4


def test_requests_that_come_twice_do_no_harm() -> None:
    every = members(2, commit_mode=CommitMode.AFTER_PROCESSING)
    seen = play(world(("1s", "duplicate by 50% for 50s"), ("20s", "restart c1"), members=every))
    assert not seen.run.violations
    assert seen.run.tally.duplicates == 0


def test_a_grown_topic_is_shared_out_when_the_leaders_metadata_is_old_enough() -> None:
    seen = play(world(("20s", "grow orders to 6")))
    [grown] = seen.of(TopicGrown)
    assert (seen.s(grown), grown.partitions) == (20, 6)
    assert 20 < generations(seen)[-1][0] <= 35
    assert seen.run.settled_ms is not None


# ---- all of them ------------------------------------------------------------------------------


def test_a_fault_begins_and_ends_in_the_trace() -> None:
    seen = play(world(("10s", "kill c1 for 5s"), ("30s", "lose by 5% for 60s")))
    assert [(event.kind, event.target) for event in seen.of(FaultBegan)] == [
        (FaultKind.KILL, "c1"),
        (FaultKind.LOSE, ""),
    ]
    ends = [seen.s(event) for event in seen.of(FaultEnded)]
    assert ends == [15, 60], "no fault lasts longer than the scenario plays"


@pytest.mark.parametrize("mode", CommitMode)
def test_records_are_processed_once_without_faults_and_again_after_a_crash(mode: CommitMode) -> None:
    busy = members(2, commit_mode=mode)
    topics = (SimTopic(name="orders", partitions=4, records_per_s=40),)
    calm = play(world(members=busy, topics=topics))
    assert calm.run.tally.duplicates == 0
    crash = play(world(("27s", "kill c1 for 1s"), members=busy, topics=topics))
    done = sum(event.last - event.first + 1 for event in crash.of(RecordsProcessed))
    assert done == crash.run.tally.processed
    if mode is CommitMode.AUTO:
        assert crash.run.tally.duplicates > 0, "commits are up to 5 s behind"


def test_commits_of_a_member_that_was_thrown_out_are_refused() -> None:
    slow = members(2, processing_ms=10, max_poll_interval_ms=15_000, commit_mode=CommitMode.AFTER_PROCESSING)
    seen = play(world(("20s", "slow c1 by 5000 for 20s"), members=slow))
    assert ErrorCode.UNKNOWN_MEMBER_ID in {event.error_code for event in seen.of(CommitEnded, member="c1")}

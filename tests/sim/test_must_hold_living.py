"""What the literature says of locating, joining and living, seen in runs. See docs/must_hold.md."""

import re
from dataclasses import replace
from uuid import UUID

import pytest

from kgroup.broker.cluster import OFFSETS_TOPIC, Cluster, Member
from kgroup.broker.settings import BrokerSettings
from kgroup.broker.storage import MemoryStorage
from kgroup.group.events import GenerationFormed, GroupStable, MemberAdded, MemberRemoved, RebalanceStarted
from kgroup.group.member_identity import MemberState
from kgroup.group.member_step import CallbackKind
from kgroup.group.requests import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
)
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.group_hash import partition_for
from kgroup.sim.scenario import FaultKind
from kgroup.sim.trace import (
    CoordinatorMoved,
    FaultBegan,
    MemberMoved,
    PartitionsChanged,
    RequestSent,
    ResponseReceived,
    TopicGrown,
)
from tests.sim.runs import Played, bodies, fault, scenario, with_member

K = FaultKind


# ---- locating -----------------------------------------------------------------------------------


def test_the_offsets_topic_has_50_partitions_and_3_replicas_by_default():
    members = [Member(number, "host", 9092) for number in range(1, 6)]
    cluster = Cluster(BrokerSettings(), members, MemoryStorage(), lambda: UUID(int=1), 0)
    topic = cluster.internal_topic(OFFSETS_TOPIC, 0)
    assert len(topic.partitions) == 50
    assert {len(partition.replicas) for partition in topic.partitions} == {3}


def test_the_leader_of_the_groups_partition_is_asked_for_commits_and_assignments_alike():
    played = Played(scenario())
    partition = partition_for("g", 50)
    nodes = {
        each.node
        for each in played.of(RequestSent)
        if isinstance(each.body, JoinGroup | Heartbeat | OffsetCommit)
    }
    assert nodes == {f"node-{partition % 3 + 1}"}


# ---- joining ------------------------------------------------------------------------------------


def test_the_first_member_leads_and_another_one_when_it_goes():
    what = scenario(faults=(fault(20, K.LEAVE, "c1"),))
    first, *others = what.members
    later = tuple(replace(member, start_ms=500) for member in others)
    played = Played(replace(what, members=(first, *later)))
    formed = played.decided(GenerationFormed)
    assert formed[0].leader == played.decided(MemberAdded)[0].member_id
    assert formed[0].leader.startswith("c1-")
    assert formed[1].leader[:3] in ("c2-", "c3-")


def test_member_ids_are_client_id_and_uuid_made_by_the_coordinator():
    played = Played(scenario())
    joins = [each for each in played.of(RequestSent) if isinstance(each.body, JoinGroup)]
    for member in ("c1", "c2"):
        ids = [each.body.member_id for each in joins if each.member == member]
        assert ids[0] == ""
        assert re.fullmatch(rf"{member}-[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}", ids[1])


def test_the_rebalance_timeout_is_max_poll_interval():
    played = Played(scenario(member={"max_poll_interval_ms": 77_000}))
    assert {each.rebalance_timeout_ms for each in bodies(played.of(RequestSent), JoinGroup)} == {77_000}


@pytest.mark.parametrize("assignors", [("range",), ("cooperative-sticky",)])
def test_joining_again_commit_revoke_no_heartbeats_then_assign_and_heartbeats_again(assignors):
    member = {"assignors": assignors, "auto_commit_interval_ms": 50_000}
    what = scenario(member=member, faults=(fault(20, K.START, "c9"),))
    played = Played(with_member(what, "c9", assignors=assignors))
    own = [each for each in played.events if getattr(each, "member", None) == "c1" and played.at_s(each) > 20]
    told = next(
        n
        for n, each in enumerate(own)
        if isinstance(each, ResponseReceived)
        and isinstance(each.body, HeartbeatResponse)
        and each.body.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    )
    joins = next(n for n, each in enumerate(own) if n > told and is_request(each, JoinGroup))
    stable = next(n for n, each in enumerate(own) if n > joins and is_state(each, MemberState.STABLE))
    before, between, after = own[told:joins], own[joins:stable], own[stable:]
    assert any(is_request(each, OffsetCommit) for each in before)
    if assignors == ("range",):
        order = [n for n, each in enumerate(before) if is_request(each, OffsetCommit) or revokes(each)]
        assert revokes(before[order[-1]])
    preparing = next(n for n, each in enumerate(between) if is_state(each, MemberState.PREPARING_REBALANCE))
    completing = next(n for n, each in enumerate(between) if is_state(each, MemberState.COMPLETING_REBALANCE))
    assert not any(is_request(each, Heartbeat) for each in between[preparing:completing])
    assert any(isinstance(each, PartitionsChanged) and each.kind is CallbackKind.ASSIGNED for each in after)
    assert any(is_request(each, Heartbeat) for each in after)


def is_request(event, kind):
    return isinstance(event, RequestSent) and isinstance(event.body, kind)


def is_state(event, state):
    return isinstance(event, MemberMoved) and event.state is state


def revokes(event):
    return isinstance(event, PartitionsChanged) and event.kind is CallbackKind.REVOKED


# ---- living -------------------------------------------------------------------------------------


def test_three_heartbeats_fit_into_the_shortest_session_and_two_may_get_lost():
    """The advice of 2 s and 6 s: silence of two intervals is forgiven, of three it is not."""
    short = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 2_000}
    forgiven = Played(scenario(member=short, faults=(fault(20, K.PAUSE, "c1", duration_ms=3_900),)))
    assert forgiven.decided(MemberRemoved) == []
    evicted = Played(scenario(member=short, faults=(fault(20, K.PAUSE, "c1", duration_ms=6_100),)))
    assert [each.why for each in evicted.decided(MemberRemoved)] == ["session expired"]


def test_no_heartbeat_for_a_session_and_the_member_is_out():
    played = Played(scenario(faults=(fault(20, K.KILL, "c1"),)))
    (removed,) = played.decided(MemberRemoved, after_s=20)
    assert (removed.member_id[:3], removed.why) == ("c1-", "session expired")
    # Fetches are no sign of life; whatever reaches the coordinator is.
    signs = (JoinGroup, SyncGroup, Heartbeat, OffsetCommit)
    sent = [each for each in played.of(RequestSent) if each.member == "c1" and is_request(each, signs)]
    last_s = played.at_s(sent[-1])
    assert played.decided(MemberRemoved, after_s=last_s + 10.0) == [removed]
    assert played.decided(MemberRemoved, after_s=last_s + 10.1) == []


def test_a_member_that_does_not_poll_for_max_poll_interval_leaves_by_itself():
    slow = {"max_poll_interval_ms": 10_000, "processing_ms": 10.0}
    played = Played(scenario(member=slow, faults=(fault(20, K.SLOW, "c1", amount=200, duration_ms=20_000),)))
    left = [each for each in played.of(RequestSent) if is_request(each, LeaveGroup)]
    assert [each.member for each in left] == ["c1"]
    assert "max.poll.interval.ms" in played.decided(MemberRemoved)[0].why


def test_members_hear_of_a_rebalance_in_the_answer_to_a_heartbeat():
    played = Played(with_member(scenario(faults=(fault(20, K.START, "late"),)), "late"))
    told = {
        each.member
        for each in played.of(ResponseReceived, after_s=20)
        if isinstance(each.body, HeartbeatResponse)
        and each.body.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    }
    assert told == {"c1", "c2", "c3"}
    assert played.run.tally.notifications == 3


@pytest.mark.parametrize(
    ("trouble", "members"),
    [
        (fault(20, K.START, "late"), 4),
        (fault(20, K.LEAVE, "c1"), 2),
        (fault(20, K.KILL, "c1"), 2),
        (fault(20, K.GROW, "t", amount=9), 3),
    ],
    ids=["a member joins", "a member leaves", "a member dies", "a topic grows"],
)
def test_what_makes_a_group_rebalance(trouble, members):
    what = scenario(member={"metadata_max_age_ms": 10_000}, faults=(trouble,))
    played = Played(with_member(what, "late"))
    assert [each.generation_id for each in played.decided(GroupStable)] == [1, 2]
    assert played.decided(GenerationFormed)[-1].members == members


def test_it_is_the_leader_that_sees_that_a_topic_has_grown():
    what = scenario(member={"metadata_max_age_ms": 10_000}, faults=(fault(20, K.GROW, "t", amount=9),))
    played = Played(what)
    (grown,) = played.of(TopicGrown)
    leader = next(each.member for each in played.of(MemberMoved) if each.is_leader)
    after = played.of(RequestSent, after_s=played.at_s(grown))
    joins = [each for each in after if is_request(each, JoinGroup)]
    assert joins[0].member == leader
    assert joins[0].at_ms - grown.at_ms <= 11_000


def test_a_group_goes_on_under_a_new_coordinator_without_a_rebalance():
    """Old texts list it among the triggers; a stable group is read from the log and stays as it was."""
    for trouble in (fault(20, K.MOVE, "g"), fault(20, K.KILL, "coordinator", duration_ms=20_000)):
        played = Played(scenario(faults=(trouble,)))
        assert played.of(CoordinatorMoved, after_s=20)
        assert [each.generation_id for each in played.decided(GroupStable)] == [1]
        assert len(played.of(FaultBegan)) == 1


def test_a_round_under_way_starts_anew_when_the_coordinator_moves():
    what = scenario(properties={"group.initial.rebalance.delay.ms": "6000"}, faults=(fault(5, K.MOVE, "g"),))
    played = Played(what)
    assert len(played.decided(RebalanceStarted)) >= 2
    assert played.decided(GroupStable)
    assert played.run.settled_ms is not None


# ---- states -------------------------------------------------------------------------------------


def test_a_group_is_empty_prepares_completes_is_stable_and_is_empty_again():
    leaves = tuple(fault(20 + n, K.LEAVE, f"c{n}") for n in (1, 2, 3))
    played = Played(scenario(faults=leaves))
    kinds = [type(each) for each in played.decided(object)]
    first = [kinds.index(kind) for kind in (MemberAdded, RebalanceStarted, GenerationFormed, GroupStable)]
    assert first == sorted(first)
    assert played.decided(GenerationFormed)[-1].members == 0


def test_members_go_through_their_states_in_order():
    played = Played(scenario())
    states = [each.state.value for each in played.of(MemberMoved) if each.member == "c1"]
    order = ["UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"]
    assert [state for n, state in enumerate(states) if state not in states[:n]] == order
    assert states[-1] == "STABLE"

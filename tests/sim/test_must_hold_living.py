"""What the literature says of locating, joining and living, seen in runs. See docs/must_hold.md."""

import re
from dataclasses import replace
from uuid import UUID

import pytest

from kgroup.broker.cluster import OFFSETS_TOPIC, Cluster, NodeSpec
from kgroup.broker.settings import BrokerSettings
from kgroup.broker.storage import MemoryStorage
from kgroup.group.coordinator.events import (
    GenerationFormed,
    GroupStable,
    MemberAdded,
    MemberRemoved,
    RebalanceStarted,
)
from kgroup.group.member.identity import MemberState
from kgroup.group.member.step import CallbackKind
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
)
from kgroup.sim.scenario.scenario import CommitMode
from kgroup.sim.watch.trace import (
    CoordinatorMoved,
    MemberMoved,
    PartitionsChanged,
    RequestSent,
    ResponseReceived,
    TopicGrown,
)
from tests.sim.must_hold import decided, played, requests, since, with_late
from tests.sim.worlds import members, world

REBALANCE = ErrorCode.REBALANCE_IN_PROGRESS

# ---- locating -----------------------------------------------------------------------------------


def test_the_offsets_topic_has_50_partitions_and_3_replicas_by_default():
    nodes = [NodeSpec(number, "host", 9092) for number in range(1, 6)]
    cluster = Cluster(BrokerSettings(), nodes, MemoryStorage(), lambda: UUID(int=1), 0)
    topic = cluster.internal_topic(OFFSETS_TOPIC, 0)
    assert len(topic.partitions) == 50
    assert {len(partition.replicas) for partition in topic.partitions} == {3}


def test_the_leader_of_the_groups_partition_is_asked_for_commits_and_assignments_alike():
    seen = played(world())
    sent = requests(seen, (JoinGroup, SyncGroup, Heartbeat, OffsetCommit))
    assert {each.node for each in sent} == {f"node-{partition_for('g', 3) % 3 + 1}"}


# ---- joining ------------------------------------------------------------------------------------


def test_the_first_member_leads_and_another_one_when_it_goes():
    first, *others = members(3)
    later = tuple(replace(member, start_ms=500) for member in others)
    seen = played(world(("20s", "leave c1"), members=(first, *later)))
    formed = decided(seen, GenerationFormed)
    assert formed[0].leader == decided(seen, MemberAdded)[0].member_id
    assert formed[0].leader.startswith("c1-")
    assert formed[1].leader[:3] in ("c2-", "c3-")


def test_member_ids_are_client_id_and_uuid_made_by_the_coordinator():
    seen = played(world())
    for member in ("c1", "c2"):
        ids = [each.body.member_id for each in requests(seen, JoinGroup) if each.member == member]
        assert ids[0] == ""
        assert re.fullmatch(rf"{member}-[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}", ids[1])


def test_the_rebalance_timeout_is_max_poll_interval():
    seen = played(world(members=members(2, max_poll_interval_ms=77_000)))
    assert {each.body.rebalance_timeout_ms for each in requests(seen, JoinGroup)} == {77_000}


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_joining_again_is_commit_revoke_and_no_heartbeats_then_assign_and_heartbeats_again(assignor):
    settings = {"assignors": (assignor,), "auto_commit_interval_ms": 50_000, "commit_mode": CommitMode.AUTO}
    scenario = with_late(world(("20s", "join late"), members=members(2, **settings)), **settings)
    seen = played(scenario)
    own = [each for each in seen.events if getattr(each, "member", None) == "c1" and seen.s(each) > 20]
    news = place(own, is_told)
    join = place(own, lambda each: is_request(each, JoinGroup), news)
    stable = place(own, lambda each: is_state(each, MemberState.STABLE), join)
    before, after = own[news:join], own[stable:]
    commit = place(before, lambda each: is_request(each, OffsetCommit))
    if assignor == "range":
        assert commit < place(before, lambda each: is_callback(each, CallbackKind.REVOKED))
    else:
        # It keeps what it has while it joins; what goes to somebody else it learns with its share.
        assert not any(is_callback(each, CallbackKind.REVOKED) for each in before)
    preparing = place(own, lambda each: is_state(each, MemberState.PREPARING_REBALANCE), news)
    completing = place(own, lambda each: is_state(each, MemberState.COMPLETING_REBALANCE), preparing)
    assert not any(is_request(each, Heartbeat) for each in own[preparing:completing])
    assert any(is_callback(each, CallbackKind.ASSIGNED) for each in after)
    assert any(is_request(each, Heartbeat) for each in after)


def place(events, matches, start=0):
    return next(number for number, each in enumerate(events) if number >= start and matches(each))


def is_told(event):
    if not isinstance(event, ResponseReceived) or not isinstance(event.body, HeartbeatResponse):
        return False
    return event.body.error_code is REBALANCE


def is_request(event, kind):
    return isinstance(event, RequestSent) and isinstance(event.body, kind)


def is_state(event, state):
    return isinstance(event, MemberMoved) and event.state is state


def is_callback(event, kind):
    return isinstance(event, PartitionsChanged) and event.kind is kind


# ---- living -------------------------------------------------------------------------------------


def test_three_heartbeats_fit_into_the_shortest_session_and_two_may_be_missed():
    """The advice of 2 s and 6 s: a silence of two intervals is forgiven, one of three is not."""
    short = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 2_000}
    forgiven = played(world(("20s", "pause c1 for 3900ms"), members=members(2, **short)))
    assert decided(forgiven, MemberRemoved) == []
    evicted = played(world(("20s", "pause c1 for 6100ms"), members=members(2, **short)))
    assert [each.why for each in decided(evicted, MemberRemoved)] == ["session expired"]


def test_no_heartbeat_for_a_session_and_the_member_is_out():
    seen = played(world(("20s", "kill c1")))
    (removed,) = decided(seen, MemberRemoved, after_s=20)
    assert (removed.member_id[:3], removed.why) == ("c1-", "session expired")
    # Whatever reaches the coordinator is a sign of life; fetches are none.
    signs = requests(seen, (JoinGroup, SyncGroup, Heartbeat, OffsetCommit))
    last_s = max(seen.s(each) for each in signs if each.member == "c1")
    assert decided(seen, MemberRemoved, after_s=last_s + 10.0) == [removed]
    assert decided(seen, MemberRemoved, after_s=last_s + 10.1) == []
    # ... and the others share what it had.
    assert [each.generation_id for each in decided(seen, GroupStable, after_s=last_s + 10.0)] == [2]
    assert decided(seen, GenerationFormed)[-1].members == 1


def test_a_member_that_does_not_poll_for_max_poll_interval_leaves_by_itself():
    slow = {"max_poll_interval_ms": 10_000, "processing_ms": 10.0}
    seen = played(world(("20s", "slow c1 by 1000 for 20s"), members=members(2, **slow)))
    assert [each.member for each in requests(seen, LeaveGroup)] == ["c1"]
    assert decided(seen, MemberRemoved)[0].why == "left: consumer poll timeout has expired."


def test_members_hear_of_a_rebalance_in_the_answer_to_a_heartbeat():
    seen = played(with_late(world(("20s", "join late"), members=members(3))))
    informed = [each.member for each in since(seen, ResponseReceived, 20) if is_told(each)]
    assert sorted(informed) == ["c1", "c2", "c3"]
    assert seen.run.tally.notifications == 3


@pytest.mark.parametrize(
    ("action", "left"),
    [("join late", 3), ("leave c1", 1), ("kill c1", 1), ("grow orders to 9", 2)],
)
def test_a_group_rebalances_when_a_member_joins_leaves_or_dies_or_a_topic_grows(action, left):
    seen = played(with_late(world(("20s", action))))
    assert [each.generation_id for each in decided(seen, GroupStable)] == [1, 2]
    assert decided(seen, GenerationFormed)[-1].members == left


def test_it_is_the_leader_that_sees_that_a_topic_has_grown():
    seen = played(world(("20s", "grow orders to 9"), members=members(3)))
    (grown,) = seen.of(TopicGrown)
    leader = next(each.member for each in seen.of(MemberMoved) if each.is_leader)
    again = requests(seen, JoinGroup, after_s=seen.s(grown))[0]
    assert again.member == leader
    assert again.at_ms - grown.at_ms <= 11_000  # metadata.max.age.ms, and the way there and back


@pytest.mark.parametrize("action", ["move g", "kill coordinator for 20s"])
def test_a_stable_group_goes_on_under_a_new_coordinator_without_a_rebalance(action):
    """Old texts list it among the triggers; the new one reads the group from the log and lets it be."""
    seen = played(world(("20s", action)))
    assert since(seen, CoordinatorMoved, 20)
    assert [each.generation_id for each in decided(seen, GroupStable)] == [1]


def test_a_round_under_way_starts_anew_when_the_coordinator_moves():
    slow = {"offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "6000"}
    seen = played(world(("5s", "move g"), properties=slow))
    assert len(decided(seen, RebalanceStarted)) == 2
    assert [each.generation_id for each in decided(seen, GroupStable)] == [1]


# ---- states -------------------------------------------------------------------------------------


def test_a_group_is_prepared_completed_stable_and_in_the_end_empty():
    seen = played(world(("20s", "leave c1"), ("21s", "leave c2")))
    kinds = [type(each) for each in decided(seen, object)]
    first = [kinds.index(kind) for kind in (MemberAdded, RebalanceStarted, GenerationFormed, GroupStable)]
    assert first == sorted(first)
    assert decided(seen, GenerationFormed)[-1].members == 0


def test_members_go_through_their_states_in_order():
    states = [each.state.value for each in played(world()).of(MemberMoved, member="c1")]
    assert list(dict.fromkeys(states)) == [
        "UNJOINED",
        "PREPARING_REBALANCE",
        "COMPLETING_REBALANCE",
        "STABLE",
    ]
    assert states[-1] == "STABLE"

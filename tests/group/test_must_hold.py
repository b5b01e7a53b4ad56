"""What the literature says of joining, syncing, states and the client. See docs/must_hold.md."""

import pytest

from kgroup.group.coordinator.classic.states import GroupState, may_move
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.member.step import CallbackKind, Poll
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import Fetch, FindCoordinator, ListOffsets, Metadata, OffsetFetch
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    OffsetCommit,
    SyncGroup,
)
from tests.group.coordinator.script import ScriptWorld
from tests.group.member.member_world import MemberWorld


@pytest.fixture
def world():
    return ScriptWorld(GroupSettings(initial_rebalance_delay_ms=0))


def formed(world, *members, assign=None):
    """A stable group of these members, the first of which leads generation 1."""
    for member in members:
        world.run(f"join {member}")
    world.run("advance 0")
    shares = assign or ",".join(f"{member}:share-of-{member}" for member in members)
    for member in reversed(members):
        world.run(f"sync {member} generation=1 assign={shares if member == members[0] else ''}")
    return world


def three(delay_ms=1_000, **members):
    """Three members that join together."""
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=delay_ms))
    for member, protocols in members.items():
        world.run(f"join {member} protocols={protocols}")
    return world.run(f"advance {3 * delay_ms}")


def answer_of(lines, member):
    (line,) = [line for line in lines if f"reply {member} " in line]
    return line


# ---- joining ------------------------------------------------------------------------------------


def test_the_first_who_joins_leads_and_only_its_answer_lists_the_members():
    lines = three(b="range", a="range", c="range")
    assert answer_of(lines, "b").endswith("leader=b-1 members=[b-1,a-2,c-3]")
    assert all(answer_of(lines, name).endswith("leader=b-1 members=[]") for name in "ac")


def test_when_the_leader_goes_another_member_leads():
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    for member in ("m1", "m2", "m3"):
        world.run(f"join {member}")
    world.run("advance 3000")
    world.run("sync m1 generation=1 assign=m1:x")
    world.run("leave m1")
    world.run("join m2")
    lines = world.run("join m3")
    leaders = {line.split("leader=")[1].split()[0] for line in lines if "JoinGroup" in line}
    assert len(leaders) == 1
    assert leaders <= {"m2-2", "m3-3"}


def test_each_member_votes_for_its_first_choice_and_most_votes_win():
    lines = three(m1="range,roundrobin", m2="roundrobin,range", m3="roundrobin,range")
    assert "protocol=roundrobin" in answer_of(lines, "m1")


def test_only_what_all_members_support_can_be_voted_for():
    lines = three(m1="sticky,range", m2="sticky,range", m3="range")
    assert "protocol=range" in answer_of(lines, "m1")


@pytest.mark.parametrize("session_ms", [5_999, 300_001, 1_800_000, 1_800_001])
def test_session_timeouts_have_bounds(session_ms):
    # Old texts say 300 s; today group.max.session.timeout.ms is 30 minutes by default.
    lines = ScriptWorld().run(f"join m1 session={session_ms}")
    refused = not 6_000 <= session_ms <= 1_800_000
    assert any("INVALID_SESSION_TIMEOUT" in line for line in lines) == refused


# ---- syncing, in the order of the checks ---------------------------------------------------------


def test_no_such_group(world):
    world.ids["m1"] = "m1-1"
    assert world.run("sync m1 generation=1") == ["reply m1 SyncGroup UNKNOWN_MEMBER_ID"]


def test_a_deleted_group_is_no_group(world):
    """Dead is a state that nobody can meet: a group is taken out of the map in the same step."""
    formed(world, "m1")
    world.run("leave m1")
    world.run("delete-group")
    assert world.run("sync m1 generation=1") == ["reply m1 SyncGroup UNKNOWN_MEMBER_ID"]


def test_another_member_id_of_a_static_member_is_fenced_before_anything_else_is_looked_at(world):
    world.run("join s1 instance=i1")
    world.run("advance 0")
    lines = world.run("sync s1 generation=99 type=connect protocol=none instance=i1 id=somebody")
    assert lines == ["reply s1 SyncGroup FENCED_INSTANCE_ID"]


def test_then_an_unknown_member(world):
    formed(world, "m1")
    lines = world.run("sync m1 generation=99 type=connect id=somebody")
    assert lines == ["reply m1 SyncGroup UNKNOWN_MEMBER_ID"]


def test_then_another_generation(world):
    formed(world, "m1")
    lines = world.run("sync m1 generation=2 type=connect")
    assert lines == ["reply m1 SyncGroup ILLEGAL_GENERATION"]


@pytest.mark.parametrize("named", ["type=connect", "protocol=sticky", "type=connect protocol=range"])
def test_then_another_protocol_type_or_name(world, named):
    formed(world, "m1")
    assert world.run(f"sync m1 generation=1 {named}") == ["reply m1 SyncGroup INCONSISTENT_GROUP_PROTOCOL"]
    assert "NONE" in world.run("sync m1 generation=1 type=consumer protocol=range")[0]


def test_in_an_empty_group_nobody_is_a_member(world):
    formed(world, "m1")
    world.run("leave m1")
    assert world.run("describe")[0].startswith("Empty")
    assert "UNKNOWN_MEMBER_ID" in world.run("sync m1 generation=2")[0]


def test_while_a_rebalance_is_being_prepared_members_are_sent_to_join(world):
    formed(world, "m1")
    world.run("join m2")
    assert world.run("describe")[0].startswith("PreparingRebalance")
    assert "REBALANCE_IN_PROGRESS" in world.run("sync m1 generation=1")[0]


def test_while_it_is_completed_members_wait_for_the_leader_who_brings_everybodys_share():
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    for member in ("m1", "m2", "m3"):
        world.run(f"join {member}")
    world.run("advance 3000")
    assert world.run("describe")[0].startswith("CompletingRebalance")
    assert world.run("sync m2 generation=1")[0].startswith("parked")
    lines = world.run("sync m1 generation=1 assign=m1:one,m2:two")
    # The group is stored before anybody is answered; m3, whom the leader left out, gets nothing.
    assert lines[0].startswith("log group generation=1") and "m3-3:]" in lines[0]
    assert sorted(lines[1:]) == [
        "reply m1 SyncGroup NONE assignment='one'",
        "reply m2 SyncGroup NONE assignment='two'",
    ]
    assert world.run("describe")[0].startswith("Stable")


def test_in_a_stable_group_everybody_gets_the_present_share_at_once():
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    for member in ("m1", "m2"):
        world.run(f"join {member}")
    world.run("advance 3000")
    world.run("sync m1 generation=1 assign=m1:one,m2:two")
    assert world.run("sync m2 generation=1") == ["reply m2 SyncGroup NONE assignment='two'"]
    assert world.run("sync m1 generation=1 assign=m1:other") == ["reply m1 SyncGroup NONE assignment='one'"]


def test_who_waits_for_a_leader_that_joins_anew_is_sent_to_join():
    """An assignment is never handed out to a generation that is over."""
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    for member in ("m1", "m2"):
        world.run(f"join {member}")
    world.run("advance 3000")
    world.run("sync m2 generation=1")
    lines = world.run("join m3")
    assert any(line.startswith("reply m2 SyncGroup REBALANCE_IN_PROGRESS") for line in lines)
    assert "REBALANCE_IN_PROGRESS" in world.run("sync m1 generation=1 assign=m1:one")[0]


def test_a_round_waits_for_the_longest_rebalance_timeout_and_then_goes_on_without_who_is_missing():
    """Members say it in JoinGroup: max.poll.interval.ms. Sessions are longer here, and count for nothing."""
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    for member, rebalance_ms in (("m1", 20_000), ("m2", 40_000)):
        world.run(f"join {member} session=1800000 rebalance={rebalance_ms}")
    world.run("advance 3000")
    world.run("sync m1 generation=1 assign=m1:one,m2:two")
    world.run("sync m2 generation=1")
    world.run("join m3 session=1800000 rebalance=1000")
    assert world.run("advance 39999") == []
    lines = world.run("advance 1")
    assert "members=[m3-3]" in answer_of(lines, "m3")
    assert "UNKNOWN_MEMBER_ID" in world.run("heartbeat m2 generation=1")[0]


def test_commits_of_an_empty_group_are_kept_for_seven_days_and_the_group_with_them():
    """offsets.retention.minutes, 10080 by default, from when the group turned empty (KIP-211)."""
    day_ms = 24 * 3_600_000
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=0))
    formed(world, "m1")
    world.run("commit m1 generation=1 orders/0=5")
    world.run("leave m1")
    world.run(f"advance {7 * day_ms - 1}")
    assert world.run("offsets") == ["orders-0 offset=5"]
    lines = world.run("advance 600001")  # the next look comes within offsets.retention.check.interval.ms
    assert [line.split(": ")[1] for line in lines] == ["log orders-0 tombstone", "log group tombstone"]


# ---- states, and what makes a group rebalance ----------------------------------------------------


def test_a_group_goes_from_empty_over_two_states_to_stable_and_back():
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    seen = []
    for command in ("join m1", "advance 1000", "sync m1 generation=1 assign=m1:x", "leave m1"):
        world.run(command)
        seen.append(world.run("describe")[0].split()[0])
    assert seen == ["PreparingRebalance", "CompletingRebalance", "Stable", "Empty"]
    assert set(seen) | {"Dead"} == set(GroupState)


def test_no_other_moves_between_states_than_kafkas():
    """ClassicGroupState of Kafka 4.3.1 lists for each state those that it can come from."""
    came_from = {
        "Empty": {"PreparingRebalance"},
        "PreparingRebalance": {"Stable", "CompletingRebalance", "Empty"},
        "CompletingRebalance": {"PreparingRebalance"},
        "Stable": {"CompletingRebalance"},
        "Dead": {"Stable", "PreparingRebalance", "CompletingRebalance", "Empty", "Dead"},
    }
    for state, before in came_from.items():
        allowed = {str(each) for each in GroupState if may_move(each, GroupState(state))}
        assert allowed == before, state


@pytest.mark.parametrize("command", ["join m3", "leave m2", "join m2 topics=other", "join m1"])
def test_a_member_that_comes_goes_or_subscribes_to_something_else_starts_a_rebalance(command):
    """Also the leader when it joins again, as it does when it sees that partitions were added."""
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    for member in ("m1", "m2"):
        world.run(f"join {member}")
    world.run("advance 3000")
    world.run("sync m1 generation=1 assign=m1:one,m2:two")
    world.run("sync m2 generation=1")
    world.run(command)
    assert world.run("describe")[0].startswith("PreparingRebalance")
    still = "m1" if "m1" not in command else "m2"
    assert "REBALANCE_IN_PROGRESS" in world.run(f"heartbeat {still} generation=1")[0]


def test_a_new_coordinator_knows_a_stable_group_and_lets_it_be():
    """Old texts have the group rebalance when its coordinator moves; it does so only amid a round."""
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=0))
    formed(world, "m1")
    world.run("reload")
    assert world.run("describe")[0].startswith("Stable")
    assert world.run("heartbeat m1 generation=1") == ["reply m1 Heartbeat NONE"]
    world.run("join m2")
    world.run("reload")
    assert world.run("describe")[0].startswith("Stable")


# ---- the client ---------------------------------------------------------------------------------


@pytest.mark.parametrize("auto_commit", [False, True])
def test_a_poll_returns_early_when_a_rebalance_is_due(auto_commit):
    """No records, though some are there: they belong to whoever has the partition next."""
    world = MemberWorld(enable_auto_commit=auto_commit)
    world.subscribe()
    world.settle(Fetch)
    world.answer_usually()  # the fetch brings records
    world.advance(3_000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    step = world.do(Poll())
    assert step.records == ()
    if not auto_commit:
        assert [callback.kind for callback in step.callbacks] == [CallbackKind.REVOKED]
        assert world.waiting(JoinGroup)
        return
    assert world.do(Poll()).records == ()
    [commit] = world.waiting(OffsetCommit)
    world.answer(OffsetCommit, world.commit_answer(commit))
    assert world.do(Poll()).records == ()
    assert world.waiting(JoinGroup)


def test_no_records_are_handed_out_while_the_commit_before_a_rejoin_is_under_way():
    """Kafka: maybeMarkPartitionsPendingRevocation. They would be revoked uncommitted, and be read again."""
    world = MemberWorld(enable_auto_commit=True, max_poll_records=1)
    world.subscribe()
    world.settle(Fetch)
    world.answer_usually()
    assert world.do(Poll()).records  # one of six
    world.advance(3_000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    for _ in range(3):
        assert world.do(Poll()).records == ()
    [commit] = world.waiting(OffsetCommit)
    committed = {
        (topic.name, each.partition_index): each.committed_offset
        for topic in commit.topics
        for each in topic.partitions
    }
    world.answer(OffsetCommit, world.commit_answer(commit))
    world.do(Poll())
    assert world.waiting(JoinGroup)
    assert committed == {partition: offset + 1 for partition, offset in world.records} | {
        partition: 0 for partition in (("orders", 0), ("orders", 1)) if partition not in dict(world.records)
    }


def test_a_poll_does_its_parts_in_kafkas_order():
    """Coordinator, join, heartbeat, auto-commit, positions, fetch: each needs those before it."""
    world = MemberWorld(enable_auto_commit=True)
    world.log_end = 1_000
    world.subscribe()
    for _ in range(12):
        world.do(Poll())
        world.answer_usually()
    first = dict.fromkeys(type(send.body) for step in world.steps for send in step.requests)
    assert list(first) == [
        FindCoordinator,
        Metadata,
        JoinGroup,
        SyncGroup,
        OffsetFetch,
        ListOffsets,
        Fetch,
    ]
    # All is due at once: records are there, and nobody has polled for five seconds.
    world.now_ms += 5_000
    due = [type(send.body) for send in world.do(Poll()).requests]
    assert due == [Heartbeat, OffsetCommit, Fetch]

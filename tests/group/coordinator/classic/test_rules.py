"""Who is let in, back in and out: KIP-345, KIP-394, KIP-559, KIP-814, as Kafka 4.3 does it."""

from dataclasses import replace

import pytest

from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request, Step
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import (
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    LeavingMember,
    ReplyBody,
    RequestBody,
    SyncGroupResponse,
)
from tests.group.coordinator.script import GROUP, ScriptWorld, stable, subscription

E = ErrorCode
AT_ONCE = GroupSettings(initial_rebalance_delay_ms=0)


def state(world: ScriptWorld) -> str:
    return world.coordinator.describe(GROUP).group_state


def members(world: ScriptWorld) -> list[str]:
    return [each.member_id for each in world.coordinator.describe(GROUP).members]


# ---- ids that were given out (KIP-394) ----------------------------------------------------------------


def test_an_id_is_given_out_for_a_session() -> None:
    world = stable("m1 session=60000", "m2 session=60000")
    assert world.run("join m3 two-step session=7000") == ["reply m3 JoinGroup MEMBER_ID_REQUIRED id=m3-3"]
    world.play("join m1 topics=other session=60000", "join m2 session=60000", "advance 6999")
    assert state(world) == "PreparingRebalance"
    world.run("advance 1")
    assert state(world) == "CompletingRebalance"
    assert members(world) == ["m1-1", "m2-2"]


def test_an_id_that_nobody_came_back_with_is_unknown_afterwards() -> None:
    world = stable("m1 session=60000")
    world.play("join m3 two-step session=7000", "advance 7000")
    assert world.run("join m3 two-step id=m3-2") == ["reply m3 JoinGroup UNKNOWN_MEMBER_ID id=m3-2"]


def test_an_id_that_came_back_is_waited_for_no_more() -> None:
    world = stable("m1 session=60000")
    world.play("join m3 two-step session=60000", "join m3 two-step session=60000")
    assert "members=[m1-1,m3-2]" in world.run("join m1 session=60000")[0]


def test_an_id_that_leaves_before_it_joins_is_waited_for_no_more() -> None:
    world = stable("m1 session=60000")
    world.play("join m3 two-step session=60000", "join m1 topics=other session=60000")
    assert "members=[m1-1]" in world.run("leave m3 id=m3-2")[-1]


def test_an_id_that_was_given_out_is_no_static_members() -> None:
    """classicGroupJoinExistingMember: a pending member with an instance id is an unknown member."""
    world = stable("m1 session=60000")
    world.run("join m3 two-step session=60000")
    assert world.run("join m3 id=m3-2 instance=i two-step") == [
        "reply m3 JoinGroup UNKNOWN_MEMBER_ID id=m3-2"
    ]


def test_a_static_member_needs_no_id_first() -> None:
    """KIP-394 is for dynamic members: an instance id is identity enough."""
    world = stable("m1 session=60000")
    assert world.run("join s instance=i two-step")[0].startswith("parked")
    assert members(world) == ["m1-1", "i-2"]


# ---- static members that come back (KIP-345, KIP-814) -------------------------------------------------


def test_a_static_follower_takes_its_seat_without_a_round_and_assigns_nothing() -> None:
    world = stable("m1 session=60000", "s instance=i session=60000")
    answers = world.run("join again instance=i v9 session=60000")
    assert (
        answers[-1] == "reply again JoinGroup NONE id=i-3 generation=1 protocol=range leader=m1-1 members=[]"
    )
    assert world.run("sync again generation=1 instance=i") == ["reply again SyncGroup NONE assignment='ss'"]


def test_a_static_leader_is_told_its_members_and_that_it_need_not_assign() -> None:
    world = stable("s instance=i session=60000", "m2 session=60000")
    answers = world.run("join again instance=i v9 session=60000")
    assert answers[-1] == (
        "reply again JoinGroup NONE id=i-3 generation=1 protocol=range leader=i-3"
        " members=[m2-2,i-3] skip-assignment"
    )


def test_an_older_static_leader_is_told_that_its_old_self_leads() -> None:
    world = stable("s instance=i session=60000", "m2 session=60000")
    answers = world.run("join again instance=i session=60000")
    assert (
        answers[-1] == "reply again JoinGroup NONE id=i-3 generation=1 protocol=range leader=i-1 members=[]"
    )


def test_the_new_id_of_a_static_member_outlives_the_coordinator() -> None:
    world = stable("s instance=i session=60000")
    world.play("join again instance=i", "reload")
    assert world.run("heartbeat again generation=1 instance=i") == ["reply again Heartbeat NONE"]
    assert world.run("heartbeat s id=i-1 generation=1 instance=i") == ["reply s Heartbeat FENCED_INSTANCE_ID"]


def test_a_static_member_that_votes_for_another_protocol_starts_a_round() -> None:
    """The protocol of the next generation would be another: nobody may keep assignments of this one."""
    world = stable("s instance=i protocols=range,sticky session=60000")
    # It is alone, so that its vote decides.
    answers = world.run("join again instance=i protocols=sticky,range session=60000")
    assert "protocol=sticky" in answers[-1] and "generation=2" in answers[-1]


def test_a_static_member_comes_back_with_its_new_timeouts() -> None:
    world = stable(
        "s instance=i session=10000 rebalance=60000 topics=orders", "m2 session=60000 rebalance=1000"
    )
    world.run("join again instance=i session=20000 rebalance=2000 topics=other")
    world.play("heartbeat again generation=1 instance=i", "join m2 topics=x session=60000 rebalance=1000")
    # The round lasts for its new rebalance timeout: it does not join.
    world.run("advance 1999")
    assert state(world) == "PreparingRebalance"
    world.run("advance 1")
    assert state(world) == "CompletingRebalance"


def test_a_static_member_that_comes_back_in_a_round_waits_like_others() -> None:
    world = stable("m1 session=60000", "s instance=i session=60000")
    world.run("join m1 topics=other session=60000")
    assert "members=[m1-1,i-3]" in world.run("join again instance=i session=60000")[0]


# ---- leaving ------------------------------------------------------------------------------------------


def left(
    world: ScriptWorld, *leaving: LeavingMember, batched: bool = True
) -> tuple[LeaveGroupResponse, Step]:
    body = LeaveGroup(group_id=GROUP, members=leaving, batched=batched)
    step = world.coordinator.handle(Request(id=999, body=body, client_id="a", client_host="/h"), world.now_ms)
    [answer] = [reply.body for reply in step.replies if reply.request_id == 999]
    assert isinstance(answer, LeaveGroupResponse)
    return answer, step


def member(member_id: str, instance: str | None = None) -> LeavingMember:
    return LeavingMember(member_id=member_id, group_instance_id=instance)


def test_one_that_is_unknown_does_not_keep_the_others_nor_the_round() -> None:
    world = stable("m1", "m2", "m3")
    answer, _ = left(world, member("ghost"), member("m2-2"), member("m3-3"))
    assert [each.error_code for each in answer.members] == [E.UNKNOWN_MEMBER_ID, E.NONE, E.NONE]
    assert answer.error_code is E.NONE
    assert members(world) == ["m1-1"]
    assert state(world) == "PreparingRebalance"


def test_nobody_known_starts_no_round() -> None:
    world = stable("m1")
    left(world, member("ghost"))
    assert state(world) == "Stable"


def test_an_operator_removes_a_static_member_by_its_instance_id() -> None:
    world = stable("m1", "s instance=i", "t instance=j")
    answer, _ = left(world, member("", "i"))
    assert [each.error_code for each in answer.members] == [E.NONE]
    assert members(world) == ["m1-1", "j-3"]
    answer, _ = left(world, member("", "i"))
    assert [each.error_code for each in answer.members] == [E.UNKNOWN_MEMBER_ID]


@pytest.mark.parametrize(
    ("leaving", "error"),
    [
        (member("i-9", "i"), E.FENCED_INSTANCE_ID),
        (member("i-2", "nobody"), E.UNKNOWN_MEMBER_ID),
        (member("i-2", "i"), E.NONE),
        (member("i-2"), E.NONE),
    ],
)
def test_who_leaves_is_checked(leaving: LeavingMember, error: ErrorCode) -> None:
    world = stable("m1", "s instance=i")
    answer, _ = left(world, leaving)
    assert [each.error_code for each in answer.members] == [error]


def test_an_older_client_gets_its_error_in_the_answer_itself() -> None:
    """LeaveGroup before version 3 names one member, and has no members in its answer."""
    world = stable("m1")
    answer, _ = left(world, member("ghost"), batched=False)
    assert (answer.error_code, answer.members) == (E.UNKNOWN_MEMBER_ID, [])
    answer, _ = left(world, member("m1-1"), batched=False)
    assert (answer.error_code, answer.members) == (E.NONE, [])


def test_the_instance_id_of_one_that_left_is_free_again() -> None:
    world = stable("m1 session=60000", "s instance=i session=60000")
    left(world, member("i-2", "i"))
    assert world.run("join again instance=i")[0].startswith("parked")
    assert members(world) == ["m1-1", "i-3"]


# ---- checks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", [0, 2, 9, -1])
@pytest.mark.parametrize("who", ["m1", "m2"])
def test_another_generation_is_illegal_older_or_newer(who: str, generation: int) -> None:
    world = stable("m1", "m2")
    assert world.run(f"heartbeat {who} generation={generation}") == [
        f"reply {who} Heartbeat ILLEGAL_GENERATION"
    ]
    assert world.run(f"sync {who} generation={generation}") == [f"reply {who} SyncGroup ILLEGAL_GENERATION"]
    assert "orders-0:ILLEGAL_GENERATION" in world.run(f"commit {who} generation={generation} orders/0=1")[0]
    txn = world.run(f"txn-commit {who} generation={generation} producer=1 orders/0=1")[0]
    assert "orders-0:ILLEGAL_GENERATION" in txn


@pytest.mark.parametrize("generation", [1, 3])
@pytest.mark.parametrize("who", ["m1", "m2"])
def test_another_generation_is_illegal_while_the_leader_assigns(who: str, generation: int) -> None:
    world = stable("m1", "m2")
    world.play("join m1 topics=other", "join m2")
    assert world.run(f"sync {who} generation={generation} assign=m1:x") == [
        f"reply {who} SyncGroup ILLEGAL_GENERATION"
    ]
    assert state(world) == "CompletingRebalance"


@pytest.mark.parametrize("who", ["m1", "m2"])
def test_a_sync_of_another_protocol_or_type_is_refused(who: str) -> None:
    """KIP-559: whoever names them has to name the generation's."""
    world = ScriptWorld(AT_ONCE)
    world.play("join m1", "join m2", "advance 0")
    for other in (
        "type=connect",
        "protocol=sticky",
        "type=connect protocol=range",
        "type=consumer protocol=sticky",
    ):
        assert world.run(f"sync {who} generation=1 {other}") == [
            f"reply {who} SyncGroup INCONSISTENT_GROUP_PROTOCOL"
        ]
    world.run("sync m2 generation=1 type=consumer protocol=range")
    assert "reply m2 SyncGroup NONE assignment='b'" in world.run("sync m1 generation=1 assign=m2:b")


def test_another_members_instance_id_is_fenced_everywhere() -> None:
    world = stable("m1", "s instance=i")
    for command in ("heartbeat m1 generation=1", "sync m1 generation=1", "join m1"):
        assert "FENCED_INSTANCE_ID" in world.run(f"{command} instance=i")[-1]
        assert "UNKNOWN_MEMBER_ID" in world.run(f"{command} instance=nobody")[-1]
    assert "FENCED_INSTANCE_ID" in world.run("commit m1 generation=1 instance=i orders/0=1")[0]


def test_a_commit_that_names_an_instance_is_a_members_without_a_generation_too() -> None:
    world = stable("m1", "s instance=i")
    assert "orders-0:FENCED_INSTANCE_ID" in world.run("commit - instance=i orders/0=1")[0]
    assert "orders-0:ILLEGAL_GENERATION" in world.run("commit s instance=i orders/0=1")[0]


def test_one_protocol_that_cannot_be_read_is_one_too_many() -> None:
    """Kafka would fail when that protocol wins; the subscription of the other does not help."""
    world = ScriptWorld(AT_ONCE)
    body = world._body("join", "m1", [], {"protocols": "range,sticky"})
    protocols = (("range", body.protocols[0][1]), ("sticky", b"\0\0\0\0\0\7"))  # type: ignore[union-attr]
    step = world.coordinator.handle(Request(id=1, body=replace(body, protocols=protocols)), 0)  # type: ignore[type-var]
    assert [reply.body.error_code for reply in step.replies] == [E.INCONSISTENT_GROUP_PROTOCOL]  # type: ignore[union-attr]


def test_an_unchanged_follower_is_answered_again_and_a_changed_one_starts_a_round() -> None:
    world = stable("m1 topics=orders", "m2 topics=orders")
    again = world.run("join m2 topics=orders")
    assert again == ["reply m2 JoinGroup NONE id=m2-2 generation=1 protocol=range leader=m1-1 members=[]"]
    assert world.run("join m2 topics=other")[0].startswith("parked")


def test_a_leader_that_lost_its_answer_hears_again_who_its_members_are() -> None:
    world = stable("m1", "m2")
    world.play("join m1 topics=other", "join m2")
    again = world.run("join m1 topics=other")
    assert again == [
        "reply m1 JoinGroup NONE id=m1-1 generation=2 protocol=range leader=m1-1 members=[m1-1,m2-2]"
    ]


# ---- answers ------------------------------------------------------------------------------------------


def answers_to(world: ScriptWorld, body: RequestBody) -> list[ReplyBody]:
    request = Request(id=999, body=body, client_id="c", client_host="/h")
    return [reply.body for reply in world.coordinator.handle(request, world.now_ms).replies]


def test_the_leader_learns_of_each_member_what_it_said_for_the_protocol_that_won() -> None:
    world = ScriptWorld(AT_ONCE)
    for name, instance in (("m1", None), ("s", "i")):
        options = {"protocols": "sticky,range"} if instance is None else {"protocols": "range,sticky"}
        body = world._body("join", name, [], options)
        assert isinstance(body, JoinGroup)
        protocols = tuple((each, subscription(f"{name}.{each}")) for each, _ in body.protocols)
        assert answers_to(world, replace(body, protocols=protocols, group_instance_id=instance)) == []
    third = world._body("join", "m3", [], {"protocols": "range,sticky"})
    assert answers_to(world, third) == []
    [answer, *_] = [reply.body for reply in world.coordinator.expire(0).replies]
    assert isinstance(answer, JoinGroupResponse)
    assert (answer.protocol_type, answer.protocol_name, answer.generation_id) == ("consumer", "range", 1)
    assert [(each.group_instance_id, each.metadata) for each in answer.members] == [
        (None, subscription("m1.range")),
        ("i", subscription("s.range")),
        (None, subscription("")),
    ]


def test_the_answer_to_a_sync_names_the_generations_protocol() -> None:
    """KIP-559, in Stable and to a parked request alike."""
    world = stable("m1")
    expected = SyncGroupResponse(protocol_type="consumer", protocol_name="range", assignment=b"m1s")
    assert answers_to(world, world._body("sync", "m1", [], {"generation": "1"})) == [expected]
    world.run("join m1 topics=other")
    last = world._body("sync", "m1", [], {"generation": "2", "assign": "m1:m1s"})
    assert answers_to(world, last) == [expected]


# ---- deadlines ----------------------------------------------------------------------------------------


def test_whoever_is_gone_leaves_no_deadline() -> None:
    world = stable("m1 rebalance=5000", "s instance=i rebalance=5000")
    world.play("join again instance=i", "leave m1 id=m1-1", "leave again id=i-3 instance=i")
    world.run("advance 5000")
    assert state(world) == "Empty"
    assert world.coordinator.next_deadline_ms() == GroupSettings().offsets_retention_check_interval_ms


def test_a_round_that_is_over_leaves_no_deadline() -> None:
    options = "rebalance=5000 session=60000"
    world = stable(f"m1 {options}", f"m2 {options}")
    world.play(f"join m1 topics=other {options}", f"join m2 {options}")
    assert world.coordinator.next_deadline_ms() == 5000
    world.play("sync m2 generation=2", "sync m1 generation=2 assign=m1:a")
    assert world.coordinator.next_deadline_ms() == 60_000


# ---- a group that is too large ------------------------------------------------------------------------


def test_the_last_seat_is_the_last() -> None:
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=0, max_size=2))
    world.play("join m1", "join m2")
    assert world.run("join m3") == ["reply m3 JoinGroup GROUP_MAX_SIZE_REACHED id=-"]
    world.play("advance 0", "sync m1 generation=1")
    assert world.run("join m3") == ["reply m3 JoinGroup GROUP_MAX_SIZE_REACHED id=-"]
    world.play("leave m2 id=m2-2")
    assert world.run("join m3")[0].startswith("parked")


@pytest.mark.parametrize(("size", "after"), [(1, "PreparingRebalance"), (2, "Stable")])
def test_a_group_is_loaded_as_it_is_up_to_the_limit(size: int, after: str) -> None:
    world = stable("m1", "m2")
    world.settings = GroupSettings(initial_rebalance_delay_ms=0, max_size=size)
    world.run("reload")
    assert state(world) == after

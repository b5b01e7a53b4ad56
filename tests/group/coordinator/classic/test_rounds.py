"""How rounds begin, last and end: GroupMetadataManager of Kafka 4.3, the classic part."""

from kgroup.group.coordinator.settings import GroupSettings
from kgroup.protocol.records.values import GroupMetadataValue
from tests.group.coordinator.script import GROUP, ScriptWorld, stable

AT_ONCE = GroupSettings(initial_rebalance_delay_ms=0)


def state(world: ScriptWorld) -> str:
    return world.coordinator.describe(GROUP).group_state


def members(world: ScriptWorld) -> dict[str, bytes]:
    return {each.member_id: each.member_assignment for each in world.coordinator.describe(GROUP).members}


def last_group_record(world: ScriptWorld) -> GroupMetadataValue:
    values = [getattr(each.entry, "value", None) for each in world.log]
    *_, value = (value for value in values if isinstance(value, GroupMetadataValue))
    return value


def joined(lines: list[str], who: str) -> dict[str, str]:
    """The words of who's JoinGroup answer by their names; empty if it was not answered."""
    for line in lines:
        _, is_reply, answer = line.partition(f"reply {who} JoinGroup NONE ")
        if is_reply:
            return dict(word.split("=", 1) for word in answer.split() if "=" in word)
    return {}


# ---- how long a round lasts ---------------------------------------------------------------------------


def test_a_round_lasts_for_the_longest_rebalance_timeout() -> None:
    world = stable("m1 rebalance=20000 session=600000", "m2 rebalance=40000 session=600000")
    world.run("join m3 rebalance=1000 session=600000")
    assert not joined(world.run("advance 39999"), "m3")
    assert joined(world.run("advance 1"), "m3")["generation"] == "2"
    assert list(members(world)) == ["m3-3"]


def test_a_join_sent_again_counts_once() -> None:
    world = stable("m1 session=60000", "m2 session=60000")
    world.run("join m1 topics=other session=60000")
    assert not joined(world.run("join m1 topics=other session=60000"), "m1")
    assert joined(world.run("join m2 session=60000"), "m1")["members"] == "[m1-1,m2-2]"


def test_a_member_that_leaves_while_it_waits_counts_no_more() -> None:
    world = stable("m1 session=60000", "m2 session=60000", "m3 session=60000")
    world.play("join m2 topics=other", "leave m2 id=m2-2")
    # Only m1 and m3 are left, and m3 has not joined.
    assert not joined(world.run("join m1 topics=other"), "m1")
    assert joined(world.run("join m3 topics=other"), "m1")["members"] == "[m1-1,m3-3]"


def test_a_member_that_is_full_up_is_not_waited_for() -> None:
    world = stable("m1 session=60000", "m2 session=60000")
    world.settings = GroupSettings(initial_rebalance_delay_ms=0, max_size=1)
    world.run("reload")
    world.run("join m2 session=60000")
    # m1 is refused and removed with that: nobody is missing any more, but a refusal ends no round.
    assert world.run("join m1") == ["reply m1 JoinGroup GROUP_MAX_SIZE_REACHED id=-"]
    assert list(members(world)) == ["m2-2"]


def test_a_static_member_that_misses_a_round_keeps_its_seat_in_it() -> None:
    options = "rebalance=5000 session=60000"
    world = stable(f"m1 {options}", f"m2 {options}", f"s instance=i {options}")
    answers = world.play(f"join m1 topics=other {options}", "advance 5000")
    assert joined(answers, "m1")["members"] == "[m1-1,i-3]"


def test_a_round_of_which_only_static_members_are_left_goes_on_for_another_timeout() -> None:
    """maybeElectNewJoinedLeader finds nobody: the joining is put off by a rebalance timeout."""
    world = stable(*(f"s{i} instance=i{i} rebalance=5000 session=60000" for i in (1, 2)))
    world.play("join m3 rebalance=5000 session=60000", "leave m3 id=m3-3", "advance 5000")
    assert state(world) == "PreparingRebalance"
    world.play("advance 1000", "join s2 instance=i2 rebalance=5000 session=60000")
    assert not joined(world.run("advance 3999"), "s2")
    assert joined(world.run("advance 1"), "s2") == {
        "id": "i2-2",
        "generation": "2",
        "protocol": "range",
        "leader": "i2-2",
        "members": "[i1-1,i2-2]",
    }


# ---- the initial delay --------------------------------------------------------------------------------


def test_a_newcomer_of_a_groups_first_life_does_not_extend_the_delay_of_its_second() -> None:
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=3000))
    # With so short a rebalance timeout m2 cannot extend the delay, and nobody takes note of it.
    world.play("join m1 rebalance=3000", "advance 2900", "join m2 rebalance=3000", "advance 100")
    world.play("leave m1 id=m1-1", "leave m2 id=m2-2", "advance 60000")
    assert state(world) == "Empty"
    world.run("join m3 rebalance=60000")
    assert joined(world.run("advance 3000"), "m3")["members"] == "[m3-3]"


def test_the_initial_delay_is_cut_to_what_is_left_of_the_rebalance_timeout() -> None:
    """3,000, then newcomers extend by 3,000 and by the 1,000 that are left of 7,000."""
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=3000))
    world.play("join m1 rebalance=7000", "advance 1000", "join m2 rebalance=7000", "advance 4000")
    world.run("join m3 rebalance=7000")
    ends = world.run("advance 20000")
    assert {line.split(":")[0] for line in ends if " JoinGroup NONE " in line} == {"at 7000"}


# ---- leaders and votes --------------------------------------------------------------------------------


def test_the_member_that_has_been_in_the_longest_takes_over_the_lead() -> None:
    world = stable("m1", "m2", "m3")
    world.play("leave m1 id=m1-1", "join m3")
    assert joined(world.run("join m2"), "m3")["leader"] == "m2-2"


def test_most_votes_win() -> None:
    world = ScriptWorld(AT_ONCE)
    world.play(
        "join m1 protocols=range,sticky", "join m2 protocols=sticky,range", "join m3 protocols=sticky,range"
    )
    assert joined(world.run("advance 0"), "m1")["protocol"] == "sticky"


def test_votes_go_to_protocols_that_all_have() -> None:
    world = ScriptWorld(AT_ONCE)
    world.play("join m1 protocols=sticky,range", "join m2 protocols=roundrobin,range")
    assert joined(world.run("advance 0"), "m1")["protocol"] == "range"


def test_votes_are_those_of_the_last_join() -> None:
    world = stable("m1 protocols=range,sticky", "m2 protocols=range,sticky")
    world.run("join m1 protocols=sticky")
    assert joined(world.run("join m2 protocols=sticky,range"), "m1")["protocol"] == "sticky"
    # range, which nobody offers alone any more, cannot come in through a newcomer.
    assert world.run("join m3 protocols=range") == ["reply m3 JoinGroup INCONSISTENT_GROUP_PROTOCOL id=-"]


# ---- syncing ------------------------------------------------------------------------------------------


def test_whom_the_leader_leaves_out_gets_an_empty_assignment() -> None:
    world = stable("m1", "m2")
    world.play("join m1 topics=other", "join m2", "sync m2 generation=2")
    answers = world.run("sync m1 generation=2 assign=m1:all")
    assert "reply m2 SyncGroup NONE assignment=''" in answers
    assert members(world) == {"m1-1": b"all", "m2-2": b""}


def test_strangers_that_the_leader_names_are_not_stored() -> None:
    world = stable("m1")
    world.play("join m1 topics=other", "sync m1 generation=2 assign=m1:all,ghost:some")
    assert [each.member_id for each in last_group_record(world).members] == ["m1-1"]


def test_a_round_that_breaks_off_an_assignment_leaves_none() -> None:
    """resetAndPropagateAssignmentWithError: every member's assignment is empty until the next sync."""
    world = stable("m1", "m2")
    world.play("join m1 topics=other", "join m2", "join m3")
    assert state(world) == "PreparingRebalance"
    assert members(world) == {"m1-1": b"", "m2-2": b"", "m3-3": b""}


def test_a_round_that_begins_in_stable_keeps_the_assignments_until_the_next() -> None:
    world = stable("m1", "m2")
    world.run("join m3")
    assert members(world) == {"m1-1": b"m1s", "m2-2": b"m2s", "m3-3": b""}


def test_those_who_do_not_sync_in_time_are_out() -> None:
    world = ScriptWorld(AT_ONCE)
    world.play("join m1 rebalance=8000", "join m2 rebalance=8000 session=60000", "advance 0")
    world.run("sync m1 generation=1 assign=m1:a,m2:b")
    world.play("advance 7999", "heartbeat m1 generation=1", "heartbeat m2 generation=1")
    assert list(members(world)) == ["m1-1", "m2-2"]
    world.run("advance 1")
    assert list(members(world)) == ["m1-1"]
    assert state(world) == "PreparingRebalance"


def test_those_who_sync_at_last_are_in() -> None:
    world = ScriptWorld(AT_ONCE)
    world.play("join m1 rebalance=8000", "join m2 rebalance=8000 session=60000", "advance 0")
    world.play("sync m1 generation=1 assign=m1:a,m2:b", "advance 7999", "sync m2 generation=1")
    world.play("heartbeat m1 generation=1", "advance 5000")
    assert list(members(world)) == ["m1-1", "m2-2"]
    assert state(world) == "Stable"


def test_the_deadline_of_one_generations_syncs_is_not_the_nexts() -> None:
    """m2 has not synced when the next round begins; its deadline would have been at 8,000."""
    world = ScriptWorld(AT_ONCE)
    options = "rebalance=8000 session=60000"
    world.play(
        f"join m1 {options}", f"join m2 {options}", "advance 0", "sync m1 generation=1 assign=m1:a,m2:b"
    )
    world.play("advance 5000", f"join m1 topics=other {options}", f"join m2 {options}")
    assert state(world) == "CompletingRebalance"
    world.run("advance 7999")
    assert list(members(world)) == ["m1-1", "m2-2"]
    world.run("advance 1")
    assert list(members(world)) == []


# ---- what is logged -----------------------------------------------------------------------------------


def test_a_record_says_since_when_the_group_is_in_its_state() -> None:
    """currentStateTimestamp (KIP-211): when the group moved to the state in which it is logged."""
    world = stable("m1")
    world.play("advance 5000", "leave m1 id=m1-1")
    assert last_group_record(world).current_state_timestamp == 5000


def test_a_record_has_all_of_a_member() -> None:
    world = ScriptWorld(AT_ONCE)
    world.play("join m1 instance=i rebalance=7000 session=8000 topics=orders", "advance 0")
    world.play("sync m1 generation=1 assign=m1:all instance=i")
    value = last_group_record(world)
    [member] = value.members
    assert (value.generation, value.protocol_type, value.protocol, value.leader) == (
        1,
        "consumer",
        "range",
        "i-1",
    )
    assert (member.member_id, member.group_instance_id) == ("i-1", "i")
    assert (member.client_id, member.client_host) == ("m1", "/127.0.0.1")
    assert (member.rebalance_timeout, member.session_timeout) == (7000, 8000)
    assert (member.subscription[6:14], member.assignment) == (b"\0\6orders", b"all")

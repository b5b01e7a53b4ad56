"""When a member's session begins, goes on and ends: GroupMetadataManager and ClassicGroupMember of Kafka 4.3.

Only the members' ids tell who is left; the clock stands at 0 when the group is Stable.
"""

import pytest

from kgroup.group.coordinator.settings import GroupSettings
from tests.group.coordinator.script import GROUP, ScriptWorld, stable

SESSION_MS = 10_000
AT_ONCE = GroupSettings(initial_rebalance_delay_ms=0)


def members(world: ScriptWorld) -> list[str]:
    return [each.member_id for each in world.coordinator.describe(GROUP).members]


def ends_at(world: ScriptWorld, member_id: str, from_ms: int, deadline_ms: int) -> None:
    """The member is in just before the deadline, and out at it. Nothing else is asked meanwhile."""
    world.run(f"advance {deadline_ms - 1 - from_ms}")
    assert member_id in members(world)
    world.run("advance 1")
    assert member_id not in members(world)


def in_completing(*joins: str) -> ScriptWorld:
    """Generation 1 has formed at 0 and nobody has synced."""
    world = ScriptWorld(AT_ONCE)
    world.play(*(f"join {join}" for join in joins), "advance 0")
    return world


# ---- signs of life ------------------------------------------------------------------------------------


def test_a_silent_member_is_out_at_the_end_of_its_own_session() -> None:
    world = stable("m1 session=10000", "m2 session=30000")
    ends_at(world, "m1-1", 0, 10_000)
    assert members(world) == ["m2-2"]


@pytest.mark.parametrize(
    "sign",
    [
        "heartbeat m1 generation=1",
        "commit m1 generation=1 orders/0=5",
    ],
)
def test_a_sign_of_life_begins_the_session_anew(sign: str) -> None:
    world = stable("m1")
    world.play("advance 9000", sign)
    ends_at(world, "m1-1", 9_000, 19_000)


@pytest.mark.parametrize(
    "none",
    [
        "heartbeat m1 generation=7",
        "heartbeat m1 generation=1 instance=unknown",
        "commit m1 generation=7 orders/0=5",
        "txn-commit m1 generation=1 producer=7 orders/0=5",  # the producer's request, not the member's
        "commit - id= generation=-1 orders/0=5",
        "sync m1 generation=1",  # in Stable the answer comes at once and proves nothing
        "join m1 generation=1 id=nobody",
    ],
)
def test_what_is_refused_or_not_the_members_leaves_the_session_as_it_is(none: str) -> None:
    world = stable("m1", "m2 session=60000")
    world.play("advance 9000", none)
    ends_at(world, "m1-1", 9_000, 10_000)


def test_a_heartbeat_while_others_join_begins_the_session_anew() -> None:
    world = stable("m1 rebalance=60000", "m2 session=60000")
    world.run("join m2 topics=other")
    world.run("advance 9000")
    assert world.run("heartbeat m1 generation=1") == ["reply m1 Heartbeat REBALANCE_IN_PROGRESS"]
    ends_at(world, "m1-1", 9_000, 19_000)


def test_a_heartbeat_while_the_leader_assigns_begins_the_session_anew() -> None:
    world = in_completing("m1 session=60000", "m2")
    world.run("advance 9000")
    assert world.run("heartbeat m2 generation=1") == ["reply m2 Heartbeat NONE"]
    ends_at(world, "m2-2", 9_000, 19_000)


def test_a_commit_while_the_leader_assigns_is_refused_and_no_sign_of_life() -> None:
    world = in_completing("m1 session=60000", "m2")
    world.run("advance 9000")
    assert "REBALANCE_IN_PROGRESS" in world.run("commit m2 generation=1 orders/0=1")[0]
    ends_at(world, "m2-2", 9_000, 10_000)


def test_a_commit_while_others_join_begins_the_session_anew() -> None:
    world = stable("m1", "m2 session=60000")
    world.play("join m2 topics=other", "advance 9000", "commit m1 generation=1 orders/0=1")
    ends_at(world, "m1-1", 9_000, 19_000)


# ---- waiting ------------------------------------------------------------------------------------------


def test_a_member_that_waits_in_its_rejoin_needs_no_heartbeat() -> None:
    world = stable("m1", "m2 session=60000")
    world.play("join m1 topics=other", "advance 59000", "heartbeat m2 generation=1")
    assert members(world) == ["m1-1", "m2-2"]


def test_a_member_that_waits_for_the_leader_needs_no_heartbeat() -> None:
    world = in_completing("m1 session=60000", "m2")
    world.play("sync m2 generation=1", "advance 59000")
    assert members(world) == ["m1-1", "m2-2"]


def test_a_member_of_an_earlier_generation_waits_like_any_other() -> None:
    """`isNew` ends with the first generation: after that a parked request keeps the session."""
    world = stable("m1 session=60000", "m2")
    # m2 is late enough in the round that its old session would end in it.
    world.play("join m1 topics=other session=60000", "advance 9000", "join m2", "sync m2 generation=2")
    world.run("advance 40000")
    assert members(world) == ["m1-1", "m2-2"]


def test_a_first_join_waits_five_minutes_at_most() -> None:
    """NEW_MEMBER_JOIN_TIMEOUT_MS of ClassicGroup, however short its session."""
    world = stable("m1 session=1800000 rebalance=1800000")
    world.run("join m2 session=6000")
    world.run("advance 299999")
    assert members(world) == ["m1-1", "m2-2"]
    assert world.run("advance 1") == ["at 300000: reply m2 JoinGroup UNKNOWN_MEMBER_ID id=-"]
    assert members(world) == ["m1-1"]


def test_a_second_round_gives_no_five_minutes() -> None:
    world = in_completing("m1 session=60000", "m2")
    ends_at(world, "m2-2", 0, SESSION_MS)


# ---- answers begin a session --------------------------------------------------------------------------


def test_the_answer_to_a_parked_join_begins_the_session() -> None:
    world = stable("m1 session=20000 rebalance=60000", "m2 session=20000")
    world.play("join m1 topics=other session=20000", "advance 15000", "join m2 session=20000")
    # Both have generation 2 since 15,000, and neither says anything more.
    world.run("advance 19999")
    assert members(world) == ["m1-1", "m2-2"]
    world.run("advance 1")
    assert members(world) == []


def test_the_answer_to_a_parked_sync_begins_the_session() -> None:
    world = in_completing("m1 session=60000", "m2")
    world.play("sync m2 generation=1", "advance 30000", "sync m1 generation=1 assign=m1:a,m2:b")
    ends_at(world, "m2-2", 30_000, 40_000)


def test_a_sync_that_is_called_off_begins_the_session() -> None:
    world = in_completing("m1 session=60000", "m2")
    world.play("sync m2 generation=1", "advance 30000")
    assert "reply m2 SyncGroup REBALANCE_IN_PROGRESS" in world.run("join m3 session=60000")
    ends_at(world, "m2-2", 30_000, 40_000)


def test_the_syncing_leader_has_a_new_session_too() -> None:
    world = in_completing("m1")
    world.play("advance 9000", "sync m1 generation=1 assign=m1:a")
    ends_at(world, "m1-1", 9_000, 19_000)


# ---- what ends a session ------------------------------------------------------------------------------


def test_a_session_that_ends_while_the_leader_assigns_starts_a_round() -> None:
    world = in_completing("m1 session=60000", "m2")
    world.run("advance 10000")
    assert world.coordinator.describe(GROUP).group_state == "PreparingRebalance"
    assert world.run("heartbeat m1 generation=1") == ["reply m1 Heartbeat REBALANCE_IN_PROGRESS"]


def test_a_session_that_ends_while_others_join_ends_the_wait_for_it() -> None:
    world = stable("m1 session=60000 rebalance=60000", "m2 session=10000")
    world.run("join m1 topics=other session=60000")
    assert world.run("advance 10000")[0] == (
        "at 10000: reply m1 JoinGroup NONE id=m1-1 generation=2 protocol=range leader=m1-1 members=[m1-1]"
    )


def test_the_last_session_leaves_an_empty_group_of_the_next_generation() -> None:
    world = stable("m1")
    assert world.run("advance 10000") == [
        "at 10000: log group generation=2 type=consumer protocol=- leader=- members=[]"
    ]


def test_of_several_sessions_that_end_while_nobody_looked_all_count() -> None:
    world = stable("m1", "m2", "m3 session=60000")
    world.now_ms = 10_000
    world.coordinator.expire(10_000)
    assert members(world) == ["m3-3"]


# ---- timeouts that change -----------------------------------------------------------------------------


def test_a_rejoin_brings_its_own_timeouts() -> None:
    world = stable("m1 session=10000 rebalance=60000")
    world.play("join m1 topics=other session=20000 rebalance=7000", "sync m1 generation=2 assign=m1:a")
    world.play("join m2 session=60000 rebalance=5000")
    # The longest rebalance timeout is now m1's 7,000.
    world.run("advance 6999")
    assert members(world) == ["m1-1", "m2-2"]
    world.run("advance 1")
    assert members(world) == ["m2-2"]


def test_a_rejoin_brings_its_own_session() -> None:
    world = stable("m1 session=10000")
    world.play("join m1 topics=other session=20000", "sync m1 generation=2 assign=m1:a")
    ends_at(world, "m1-1", 0, 20_000)


def test_a_returned_static_member_has_a_session() -> None:
    """Its first session is by the old timeout, as in Kafka; from its first heartbeat the new one counts."""
    world = stable("m1 instance=i1 session=10000")
    world.play("advance 9000", "join again instance=i1 session=20000")
    world.play("heartbeat again generation=1 instance=i1")
    ends_at(world, "i1-2", 9_000, 29_000)


def test_a_returned_static_member_that_dies_at_once_is_out_after_its_old_timeout() -> None:
    world = stable("m1 instance=i1 session=10000")
    world.play("advance 9000", "join again instance=i1 session=10000")
    ends_at(world, "i1-2", 9_000, 19_000)


# ---- a new coordinator --------------------------------------------------------------------------------


def test_every_member_has_a_new_session_when_its_group_is_loaded() -> None:
    world = stable("m1 session=10000 rebalance=60000", "m2 session=30000 rebalance=60000")
    world.play("advance 9000", "reload")
    ends_at(world, "m1-1", 9_000, 19_000)
    assert members(world) == ["m2-2"]
    # m2 has not rejoined in the round that m1's end began, and its own session is over before that round.
    ends_at(world, "m2-2", 19_000, 39_000)


def test_a_loaded_member_goes_on_as_before() -> None:
    world = stable("m1")
    world.play("reload", "advance 9000")
    assert world.run("heartbeat m1 generation=1") == ["reply m1 Heartbeat NONE"]
    ends_at(world, "m1-1", 9_000, 19_000)

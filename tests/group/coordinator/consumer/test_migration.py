"""Classic members in consumer groups, and groups that change over with their members in them (KIP-848)."""

from dataclasses import replace
from typing import Any

import pytest

from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.records.consumer_group import ConsumerGroupMemberMetadataValue
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import ConsumerGroupMemberMetadataKey, GroupMetadataKey
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.protocol.subscription import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from tests.group.coordinator.consumer.world import GROUP, ConsumerWorld, Owned, given, partitions_of


def share(*numbers: int, user_data: bytes | None = None) -> bytes:
    named = NamedTopicPartitions(topic="orders", partitions=numbers)
    return encode_assignment(Assignment(assigned_partitions=(named,), user_data=user_data), 1)


def classic_world(**settings: object) -> tuple[ConsumerWorld, str]:
    """A stable classic group of one member that has all of orders, at generation 1."""
    world = ConsumerWorld(**settings)
    joined = world.classic_member()
    world.sync(joined.member_id, 1, **{joined.member_id: share(0, 1, 2, 3)})
    return world, joined.member_id


def mixed_world(**settings: object) -> tuple[ConsumerWorld, str]:
    """A consumer group of `new` and a classic member, two partitions each, at epoch 2."""
    world, old = classic_world(**settings)
    world.join("new", "orders")
    assert world.classic_heartbeat(old, 1) is E.REBALANCE_IN_PROGRESS
    world.classic_join(old, owned={"orders": [0, 1, 2, 3]})  # hears what it keeps
    world.sync(old, 1)
    world.classic_join(old, owned={"orders": [0, 1]})  # has given up the others
    world.sync(old, 2)
    assert given(world.beat("new")) == {"orders": [2, 3]}
    return world, old


def test_the_first_new_member_makes_a_consumer_group_of_a_classic_one() -> None:
    world, old = classic_world()
    before = len(world.log)
    answer = world.join("new", "orders")
    assert (answer.error_code, answer.member_epoch, given(answer)) == (E.NONE, 2, {})
    assert world.types()[before:] == [
        "GROUP_METADATA tombstone",
        "MEMBER_METADATA",  # the classic group as it was, at its generation
        "METADATA",
        "TARGET_ASSIGNMENT_MEMBER",
        "TARGET_ASSIGNMENT_METADATA",
        "CURRENT_MEMBER_ASSIGNMENT",
        "MEMBER_METADATA",  # then the newcomer
        "METADATA",
        "TARGET_ASSIGNMENT_MEMBER",
        "TARGET_ASSIGNMENT_MEMBER",
        "TARGET_ASSIGNMENT_METADATA",
        "CURRENT_MEMBER_ASSIGNMENT",
    ]
    described = world.described()
    assert {(member.member_id, member.member_type) for member in described.members} == {(old, 0), ("new", 1)}
    world.reload()
    assert world.described() == described


def test_a_classic_member_gives_up_in_one_round_and_catches_up_in_the_next() -> None:
    world, old = mixed_world()
    assert world.classic_heartbeat(old, 2) is E.NONE
    assert partitions_of(world.sync(old, 2).assignment) == {"orders": [0, 1]}
    assert world.state() == "Stable"


def test_who_waits_in_a_rebalance_when_the_group_changes_over_is_asked_to_join_again() -> None:
    world, _ = classic_world()
    second = world.classic_join()
    parked = world.coordinator
    assert second.error_code is E.MEMBER_ID_REQUIRED
    assert world.classic_join(second.member_id) is None  # parked until the first joins, too
    assert not world.join("new", "orders").error_code
    [answer] = world.answers.values()
    assert answer.error_code is E.REBALANCE_IN_PROGRESS
    assert parked.classic.watched(GROUP) is None


def waiting_world() -> tuple[ConsumerWorld, str]:
    """A classic group in its first round: its one member waits, and no protocol is chosen."""
    world = ConsumerWorld(initial_rebalance_delay_ms=3_000)
    first = world.classic_join()
    assert world.classic_join(first.member_id) is None
    return world, first.member_id


@pytest.mark.parametrize(
    "wish", [{}, {"subscribed_topic_regex": "ord.*"}, {"subscribed_topic_regex": "("}], ids=str
)
def test_a_group_that_has_not_chosen_a_protocol_is_not_upgraded(wish: dict[str, str]) -> None:
    """Kafka fails on it, and has sent those who wait back by then."""
    world, old = waiting_world()
    before = len(world.log)
    refused = world.join("new", "orders", **wish)
    assert (refused.error_code, refused.error_message) == (E.UNKNOWN_SERVER_ERROR, None)
    [answer] = world.answers.values()
    assert (answer.error_code, answer.member_id) == (E.REBALANCE_IN_PROGRESS, old)
    group = world.coordinator.describe(GROUP)
    assert (group.group_state, [member.member_id for member in group.members]) == (
        "PreparingRebalance",
        [old],
    )
    assert len(world.log) == before


def test_the_first_round_goes_on_and_the_group_is_upgraded_after_it() -> None:
    world, old = waiting_world()
    world.join("new", "orders")
    assert world.classic_join(old) is None
    world.answers.clear()
    world.advance(6_000)
    [answer] = world.answers.values()
    assert (answer.error_code, answer.generation_id, answer.leader) == (E.NONE, 1, old)
    assert (world.join("new", "orders").error_code, world.state()) == (E.NONE, "Reconciling")


def test_who_does_not_join_again_is_out_at_the_end_of_the_first_round() -> None:
    world, _ = waiting_world()
    world.join("new", "orders")
    world.advance(6_000)
    assert world.coordinator.describe(GROUP).group_state == "Empty"
    assert world.join("new", "orders").member_epoch == 2


def test_a_first_round_that_nobody_was_there_to_end_is_extended_by_no_newcomer() -> None:
    """A static member is sent back, so that the delay ends with nobody, and a timeout more begins."""
    world = ConsumerWorld(initial_rebalance_delay_ms=3_000)
    assert world.classic_join(group_instance_id="till") is None
    world.join("new", "orders")
    world.advance(3_000)
    late = world.classic_join()
    assert world.classic_join(late.member_id) is None
    world.answers.clear()
    world.advance(19_999)
    assert not world.answers
    world.advance(1)
    [answer] = world.answers.values()
    assert (answer.error_code, answer.leader) == (E.NONE, late.member_id)


def test_the_first_round_after_an_empty_group_is_none_to_upgrade_in_either() -> None:
    world = ConsumerWorld(initial_rebalance_delay_ms=3_000)
    first = world.classic_join()
    world.classic_join(first.member_id)
    world.advance(3_000)
    world.leave(first.member_id)
    assert world.coordinator.describe(GROUP).group_state == "Empty"
    again = world.classic_join()
    assert world.classic_join(again.member_id) is None
    assert world.join("new", "orders").error_code is E.UNKNOWN_SERVER_ERROR


def left_world() -> ConsumerWorld:
    """A classic group that all have left in its very first round, which is not over."""
    world, old = waiting_world()
    world.leave(old)
    assert world.coordinator.describe(GROUP).group_state == "PreparingRebalance"
    return world


def test_a_first_round_that_all_have_left_is_upgraded() -> None:
    """Nobody is there whose subscription Kafka would have to read; the group goes on with its generation."""
    world = left_world()
    before = len(world.log)
    answer = world.join("new", "orders")
    assert (answer.error_code, answer.member_epoch) == (E.NONE, 1)
    assert given(answer) == {"orders": [0, 1, 2, 3]}
    assert world.types()[before : before + 3] == [
        "GROUP_METADATA tombstone",
        "METADATA",
        "TARGET_ASSIGNMENT_METADATA",
    ]
    world.advance(6_000)
    assert world.beat("new").error_code is E.NONE


def test_nobody_is_let_in_with_the_epoch_of_those_who_join() -> None:
    """Kafka does that to a member with an expression, and refuses its next heartbeat."""
    world = left_world()
    answer = world.join("new", subscribed_topic_regex="ord.*")
    assert (answer.error_code, answer.member_epoch) == (E.NONE, 1)
    world.advance(0)  # the expression is resolved
    assert given(world.beat("new")) == {"orders": [0, 1, 2, 3]}
    assert world.described().group_epoch == 2


@pytest.mark.parametrize(
    ("wish", "error"),
    [
        ({"subscribed_topic_regex": "("}, E.INVALID_REGULAR_EXPRESSION),
        ({}, E.NONE),
    ],
    ids=["refused", "let in"],
)
def test_who_waits_is_sent_back_whatever_becomes_of_the_newcomer(wish: dict[str, str], error: E) -> None:
    world, _ = classic_world()
    second = world.classic_join()
    assert world.classic_join(second.member_id) is None
    assert world.join("new", "orders", **wish).error_code is error
    [answer] = world.answers.values()
    assert answer.error_code is E.REBALANCE_IN_PROGRESS


def test_who_is_sent_back_after_its_session_has_a_new_one() -> None:
    """A static member keeps its seat at the end of a round: only the end of its session takes it out."""
    world = ConsumerWorld()
    static: dict[str, Any] = {"group_instance_id": "i", "rebalance_timeout_ms": 60_000}
    member_id = world.classic_join(**static).member_id
    world.sync(member_id, 1, **{member_id: share(0)})
    world.classic_join(session_timeout_ms=60_000)  # an id is given out, which the next round waits for
    assert world.classic_join(member_id, **static) is None
    world.advance(12_000)  # its session has ended; it waits
    world.join("new", "orders", subscribed_topic_regex="(")
    world.advance(9_999)
    assert [member.member_id for member in world.coordinator.describe(GROUP).members] == [member_id]
    world.advance(1)
    assert world.coordinator.describe(GROUP).members == []


def test_a_disabled_upgrade_sends_nobody_back() -> None:
    world, _ = classic_world(consumer_migration_policy="disabled")
    second = world.classic_join()
    assert world.classic_join(second.member_id) is None
    assert world.join("new", "orders").error_code is E.GROUP_ID_NOT_FOUND
    assert world.answers == {}


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_a_policy_may_forbid_the_upgrade(policy: str) -> None:
    world, _ = classic_world(consumer_migration_policy=policy)
    refused = world.join("new", "orders")
    assert refused.error_code is E.GROUP_ID_NOT_FOUND
    assert "disabled" in (refused.error_message or "")
    assert world.coordinator.describe(GROUP).group_state == "Stable"


def test_a_group_with_an_assignors_own_data_is_not_upgraded() -> None:
    world = ConsumerWorld()
    joined = world.classic_member()
    world.sync(joined.member_id, 1, **{joined.member_id: share(0, user_data=b"mine")})
    assert world.join("new", "orders").error_code is E.GROUP_ID_NOT_FOUND
    assert world.coordinator.describe(GROUP).members[0].member_id == joined.member_id


def test_a_group_that_is_larger_than_a_consumer_group_may_be_is_not_upgraded() -> None:
    world, old = classic_world(consumer_max_size=0)
    refused = world.join("new", "orders")
    assert refused.error_code is E.GROUP_ID_NOT_FOUND
    assert "larger" in (refused.error_message or "")
    assert world.coordinator.describe(GROUP).members[0].member_id == old


def test_an_upgraded_member_is_in_the_rack_that_its_subscription_names() -> None:
    world = ConsumerWorld()
    subscription = encode_subscription(Subscription(topics=("orders",), rack_id="r1"), 3)
    joined = world.classic_member(protocols=(("range", subscription),))
    world.sync(joined.member_id, 1, **{joined.member_id: share(0)})
    world.join("new", "orders")
    racks = {
        logged.entry.key.member_id: logged.entry.value.rack_id
        for logged in world.log
        if isinstance(logged.entry, OffsetsEntry)
        and isinstance(logged.entry.key, ConsumerGroupMemberMetadataKey)
        and isinstance(logged.entry.value, ConsumerGroupMemberMetadataValue)
    }
    assert racks == {joined.member_id: "r1", "new": None}


def test_a_silent_classic_member_of_an_upgraded_group_is_out_after_its_own_session() -> None:
    world, old = classic_world()
    world.join("new", "orders")
    world.advance(9_999)
    world.beat("new")
    assert old in [member.member_id for member in world.described().members]
    world.advance(1)
    assert [member.member_id for member in world.described().members] == ["new"]


def test_a_group_that_is_no_consumers_is_not_upgraded() -> None:
    world = ConsumerWorld()
    world.classic_member(protocol_type="connect")
    assert world.join("new", "orders").error_code is E.GROUP_ID_NOT_FOUND


def test_when_the_last_new_member_leaves_the_group_is_classic_again() -> None:
    world, old = mixed_world()
    world.beat("new", -1)
    assert world.described().error_code is E.GROUP_ID_NOT_FOUND
    assert world.types()[-1] == "GROUP_METADATA"
    assert world.coordinator.describe(GROUP).group_state == "PreparingRebalance"
    assert world.classic_heartbeat(old, 2) is E.REBALANCE_IN_PROGRESS
    again = world.classic_join(old, owned={"orders": [0, 1]})
    assert (again.error_code, again.generation_id, again.leader) == (E.NONE, 3, old)
    world.sync(old, 3, **{old: share(0, 1, 2, 3)})
    world.reload()
    group = world.coordinator.describe(GROUP)
    assert (group.group_state, group.members[0].member_id) == ("Stable", old)


def test_a_downgrade_that_is_not_wanted_leaves_a_consumer_group_of_classic_members() -> None:
    world, old = classic_world(consumer_migration_policy="upgrade")
    world.join("new", "orders")
    world.beat("new", -1)
    assert [member.member_id for member in world.described().members] == [old]
    world.reload()
    assert [member.member_type for member in world.described().members] == [0]


def test_a_group_with_more_members_than_a_classic_one_may_have_stays_as_it_is() -> None:
    world, old = mixed_world()
    world.settings = replace(world.settings, max_size=0)
    world.reload()
    world.beat("new", -1)
    assert [member.member_id for member in world.described().members] == [old]


def test_a_classic_member_that_comes_back_is_not_the_last_of_the_new_ones() -> None:
    """The group has none of these: somebody did not want the downgrade then, and has changed their mind."""
    world = ConsumerWorld(consumer_migration_policy="upgrade")
    static: dict[str, Any] = {"group_instance_id": "till"}
    old = world.classic_join(**static).member_id
    world.sync(old, 1, **{old: share(0, 1, 2, 3)})
    world.join("new", "orders")
    world.beat("new", -1)
    world.settings = replace(world.settings, consumer_migration_policy="bidirectional")
    world.reload()
    assert world.classic_join(**static).error_code is E.NONE
    assert [member.member_type for member in world.described().members] == [0]


def test_who_takes_the_last_new_members_place_by_the_other_protocol_has_its_target() -> None:
    world, old = classic_world()
    world.join("new", "orders", instance_id="till")
    world.classic_heartbeat(old, 1)
    world.classic_join(old, owned={"orders": [0, 1, 2, 3]})
    world.sync(old, 1)
    world.classic_join(old, owned={"orders": [0, 1]})
    world.sync(old, 2)
    assert given(world.beat("new", instance_id="till")) == {"orders": [2, 3]}
    world.beat("new", -2, instance_id="till")
    back = world.classic_join(group_instance_id="till")
    assert (back.error_code, back.generation_id) == (E.NONE, 2)
    group = world.coordinator.describe(GROUP)
    assert {member.member_id: partitions_of(member.member_assignment) for member in group.members} == {
        old: {"orders": [0, 1]},
        back.member_id: {"orders": [2, 3]},
    }
    # The one that took the place has a session, too, though nobody rebalances.
    world.advance(9_999)
    assert world.classic_heartbeat(old, 2) is E.NONE
    world.advance(1)
    assert world.classic_heartbeat(old, 2) is E.REBALANCE_IN_PROGRESS
    assert [member.member_id for member in world.coordinator.describe(GROUP).members] == [old]


def test_a_group_that_is_classic_again_goes_on_from_its_own_epoch() -> None:
    """Which may be ahead of that of its targets."""
    world, old = classic_world(consumer_assignment_interval_ms=60_000)
    world.join("new", "orders")
    world.join("newer", "orders")
    world.beat("newer", -1)
    assert (world.described().group_epoch, world.described().assignment_epoch) == (4, 2)
    world.beat("new", -1)
    assert world.classic_join(old, owned={"orders": [0, 1]}).generation_id == 5


def test_the_end_of_the_last_new_members_session_downgrades_too() -> None:
    world, old = mixed_world()
    for _ in range(6):
        world.advance(8_000)
        world.classic_heartbeat(old, 2)
    assert world.described().error_code is E.GROUP_ID_NOT_FOUND
    assert [member.member_id for member in world.coordinator.describe(GROUP).members] == [old]


def test_an_empty_group_goes_to_whoever_comes_first() -> None:
    world = ConsumerWorld()
    world.join("new", "orders")
    world.beat("new", -1)
    assert world.classic_join().error_code is E.MEMBER_ID_REQUIRED
    assert world.described().error_code is E.GROUP_ID_NOT_FOUND
    assert world.coordinator.describe(GROUP).group_state == "Empty"
    assert not world.join("newer", "orders").error_code
    assert world.state() == "Stable"


def test_classic_requests_to_a_consumer_group_are_checked() -> None:
    world, old = mixed_world()
    assert world.classic_heartbeat(old, 1) is E.ILLEGAL_GENERATION
    assert world.classic_heartbeat("stranger", 2) is E.UNKNOWN_MEMBER_ID
    assert world.classic_heartbeat("new", 2) is E.UNKNOWN_MEMBER_ID  # it does not speak that protocol
    assert world.sync("new", 2).error_code is E.UNKNOWN_MEMBER_ID
    assert world.classic_join(protocol_type="connect").error_code is E.INCONSISTENT_GROUP_PROTOCOL
    other = (("roundrobin", b"\0\0\0\0\0\0\xff\xff\xff\xff"),)
    assert world.classic_join(protocols=other).error_code is E.INCONSISTENT_GROUP_PROTOCOL
    assert world.commit(old, 2, is_old=True) is E.NONE
    assert world.commit(old, 3) is E.ILLEGAL_GENERATION
    assert world.leave("stranger", old) == [E.UNKNOWN_MEMBER_ID, E.NONE]
    assert [member.member_id for member in world.described().members] == ["new"]


def test_a_classic_member_that_does_not_rejoin_or_sync_in_time_is_out() -> None:
    world, old = classic_world()
    world.join("new", "orders")
    for _ in range(5):
        world.advance(5_000)
        world.classic_heartbeat(old, 1)
        world.beat("new")
    assert [member.member_id for member in world.described().members] == ["new"]


def test_a_classic_member_that_syncs_shows_that_it_is_alive() -> None:
    world, old = mixed_world()
    world.advance(9_000)
    assert world.sync(old, 2).error_code is E.NONE
    world.advance(9_000)
    assert old in [member.member_id for member in world.described().members]


def caught_up(world: ConsumerWorld, old: str, owned: Owned) -> tuple[int, Owned]:
    """The epoch at which a classic member has nothing to join for, and what it has then."""
    for _ in range(5):
        epoch = world.classic_join(old, owned=owned).generation_id
        owned = partitions_of(world.sync(old, epoch).assignment)
        if world.classic_heartbeat(old, epoch) is E.NONE:
            return epoch, owned
    raise AssertionError("it has to join again and again")


def test_a_classic_member_is_told_when_what_it_waits_for_is_free() -> None:
    """It has partitions of its own, which keep it from nothing."""
    world, old = mixed_world()
    world.join("newer", "orders")
    _, has = caught_up(world, old, {"orders": [0, 1]})
    assert world.settle("new", "newer") == {"new": {"orders": [2, 3]}, "newer": {"orders": [1]}}
    world.beat(
        "newer", says={"orders": [1]}, subscribed_topic_names=("payments",), rebalance_timeout_ms=5_000
    )
    epoch, has = caught_up(world, old, has)
    assert has == {"orders": [0]}
    world.beat("newer", says={})
    assert world.classic_heartbeat(old, epoch) is E.REBALANCE_IN_PROGRESS
    assert caught_up(world, old, has) == (epoch, {"orders": [0, 1]})


def test_an_administrator_takes_new_members_out_by_a_classic_request() -> None:
    world, _ = mixed_world()
    assert world.leave("new") == [E.NONE]
    assert world.coordinator.describe(GROUP).group_state == "PreparingRebalance"


def test_sessions_go_on_in_a_group_that_is_classic_again() -> None:
    world, old = mixed_world()
    world.beat("new", -1)
    world.classic_join(old, owned={"orders": [0, 1]})
    world.sync(old, 3, **{old: share(0, 1, 2, 3)})
    world.advance(9_999)
    assert world.coordinator.describe(GROUP).group_state == "Stable"
    world.advance(1)
    assert world.coordinator.describe(GROUP).group_state == "Empty"


def test_a_rebalance_that_a_downgrade_began_does_not_wait_for_the_dead() -> None:
    world, _ = mixed_world()
    world.beat("new", -1)
    world.advance(20_000)
    assert world.coordinator.describe(GROUP).group_state == "Empty"


def test_a_classic_member_that_has_to_give_up_is_told_even_at_the_newest_epoch() -> None:
    """What it unsubscribes from goes at once, a newer epoch comes only after the assignment interval."""
    world, old = mixed_world(consumer_assignment_interval_ms=60_000)
    other: dict[str, Any] = {"topics": ("payments",)}
    assert world.classic_join(old, owned={"orders": [0, 1]}, **other).generation_id == 2
    assert (world.described().group_epoch, world.described().assignment_epoch) == (3, 2)
    assert partitions_of(world.sync(old, 2).assignment) == {}
    assert world.classic_heartbeat(old, 2) is E.REBALANCE_IN_PROGRESS
    assert world.classic_join(old, owned={}, **other).generation_id == 2
    assert world.classic_heartbeat(old, 2) is E.NONE


def test_of_a_log_whose_tombstones_are_compacted_away_the_later_kind_counts() -> None:
    """`GroupMetadataManager.replay` of 4.3.1 puts the classic group in the place of any other."""
    world = ConsumerWorld()
    world.join("a", "orders")
    written = world.log[-1]
    value = GroupMetadataValue(protocol_type="consumer", generation=3, protocol=None, leader=None, members=())
    entry = OffsetsEntry(RecordType.GROUP_METADATA, GroupMetadataKey(group=GROUP), value, 3)
    world.log.append(replace(written, offset=written.offset + 1, entry=entry))
    assert [group.group_type for group in world.coordinator.listing()] == ["consumer"]
    world.reload()
    assert [group.group_type for group in world.coordinator.listing()] == ["classic"]
    assert world.coordinator.consumer.watched(GROUP) is None


def test_a_classic_member_that_joins_and_never_syncs_is_out_when_its_rebalance_timeout_is_over() -> None:
    """Its heartbeats keep its session; the coordinator of 4.3.1 times the sync by itself."""
    world = ConsumerWorld()
    world.join("new", "payments")
    joined = world.classic_member()
    for _ in range(3):
        world.advance(5_000)
        assert world.classic_heartbeat(joined.member_id, joined.generation_id) is E.NONE
        world.beat("new")
    world.advance(4_999)
    assert world.coordinator.size(GROUP) == 2
    world.advance(1)
    assert [member.member_id for member in world.described().members] == ["new"]


def test_a_classic_member_keeps_its_instance_id_in_a_consumer_group() -> None:
    world = ConsumerWorld()
    world.join("new", "orders")
    joined = world.classic_join(group_instance_id="i")
    assert joined.error_code is E.NONE
    assert [member.instance_id for member in world.described().members] == [None, "i"]
    assert world.coordinator.size(GROUP) == 2

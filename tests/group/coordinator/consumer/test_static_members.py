"""Static members: a place that is kept, and that only its instance id can take (KIP-345, KIP-848)."""

from dataclasses import replace

from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import ConsumerMember
from kgroup.group.coordinator.events import MemberAdded
from kgroup.group.coordinator.metadata_image import TopicImage
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.records.keys import ConsumerGroupMemberMetadataKey
from tests.group.coordinator.consumer.world import GROUP, ORDERS, ConsumerWorld, given


def static_world() -> ConsumerWorld:
    world = ConsumerWorld(consumer_session_timeout_ms=3_000)
    world.join("a1", "orders", instance_id="a")
    world.join("b1", "orders", instance_id="b")
    world.settle("a1", "b1")
    return world


def test_a_place_that_is_taken_is_not_given_away() -> None:
    world = static_world()
    assert world.join("a2", "orders", instance_id="a").error_code is E.UNRELEASED_INSTANCE_ID


def test_a_member_that_is_back_has_what_it_had_and_nobody_notices() -> None:
    world = static_world()
    epoch, had = world.described().group_epoch, world.owned["a1"]
    assert world.beat("a1", -2, instance_id="a").member_epoch == -2
    back = world.join("a2", "orders", instance_id="a")
    assert (back.error_code, given(back), back.member_epoch) == (E.NONE, had, epoch)
    assert world.described().group_epoch == epoch
    assert world.beat("b1").member_epoch == epoch
    assert world.beat("a1", epoch, instance_id="a").error_code is E.FENCED_INSTANCE_ID


def test_a_member_that_is_back_when_its_topic_has_grown_keeps_what_it_had() -> None:
    world = static_world()
    had = {name: world.owned[name]["orders"] for name in ("a1", "b1")}
    world.beat("b1", -2, instance_id="b")
    world.image.put(TopicImage(name="orders", topic_id=ORDERS, partitions=8))
    world.coordinator.topics_changed(frozenset({"orders"}), False)
    back = given(world.join("b2", "orders", instance_id="b"))
    assert back is not None
    assert set(had["b1"]) < set(back["orders"])
    assert set(had["a1"]).isdisjoint(back["orders"])


def test_whoever_takes_a_place_is_told_of_once_though_two_records_name_it() -> None:
    world = static_world()
    world.beat("a1", -2, instance_id="a")
    world.events.clear()
    records = len(world.log)
    world.join("a2", "orders", "payments", instance_id="a")
    written = [record.entry.key for record in world.log[records:]]
    assert written.count(ConsumerGroupMemberMetadataKey(group_id=GROUP, member_id="a2")) == 2
    assert [event.member_id for event in world.events if isinstance(event, MemberAdded)] == ["a2"]


def test_the_old_id_can_commit_no_more_once_the_place_has_another() -> None:
    world = static_world()
    partition = world.owned["a1"]["orders"][0]
    assert world.commit("a1", world.epochs["a1"], partition) is E.NONE
    world.beat("a1", -2, instance_id="a")
    world.join("a2", "orders", instance_id="a")
    assert world.commit("a1", 3, partition) is E.UNKNOWN_MEMBER_ID
    assert world.commit("a2", world.epochs["a2"], partition) is E.NONE


def test_a_place_is_kept_for_a_session_and_no_longer() -> None:
    world = static_world()
    world.beat("a1", -2, instance_id="a")
    world.advance(2_000)
    world.beat("b1")
    assert len(world.described().members) == 2
    world.advance(1_000)
    assert [member.member_id for member in world.described().members] == ["b1"]


def test_a_member_that_leaves_for_good_gives_its_place_up() -> None:
    world = static_world()
    world.beat("a1", -1, instance_id="a")
    assert world.settle("b1") == {"b1": {"orders": [0, 1, 2, 3]}}
    assert not world.join("a2", "orders", instance_id="a").error_code


def test_an_unknown_instance_id_is_an_unknown_member() -> None:
    world = static_world()
    assert world.beat("c1", 3, instance_id="c").error_code is E.UNKNOWN_MEMBER_ID
    assert world.beat("c1", -2, instance_id="c").error_code is E.UNKNOWN_MEMBER_ID


def test_a_member_that_is_away_counts_as_having_had_its_partitions_from_the_start() -> None:
    """So that its successor may commit what it takes over, whatever epoch it comes back at (KIP-1251)."""
    world = static_world()
    world.beat("a1", -2, instance_id="a")
    group = world.coordinator.consumer.watched("g")
    assert group is not None
    assert {since for epochs in group.members["a1"].assigned.values() for since in epochs.values()} == {0}


def test_a_place_stays_with_whoever_took_it_when_the_records_of_the_old_id_end_last() -> None:
    """A load applies records in their order, whatever a compaction has left of them."""
    group = ConsumerGroup(GROUP)
    old = ConsumerMember(member_id="a1", instance_id="a")
    group.put(old)
    group.put(replace(old, member_id="a2"))
    group.remove("a1")
    assert dict(group.static_members) == {"a": "a2"}
    group.remove("a2")
    assert not group.static_members

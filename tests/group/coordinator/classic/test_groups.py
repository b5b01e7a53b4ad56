"""What a classic group shows, and what it is after a new coordinator has read its records."""

from dataclasses import replace

from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.events import (
    GroupCreated,
    GroupDeleted,
    MemberAdded,
    MemberRemoved,
    RebalanceStarted,
)
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, RecordType
from kgroup.protocol.records.keys import GroupMetadataKey
from kgroup.protocol.records.values import GroupMetadataValue, MemberMetadata
from tests.group.coordinator.script import GROUP, ScriptWorld, stable, subscription

S60 = "session=60000"


def recorded(
    *members: MemberMetadata, leader: str | None, at_ms: int = 0, generation: int = 7
) -> LoggedEntry:
    """A group's record as it lies in the log."""
    entry = OffsetsEntry(
        type=RecordType.GROUP_METADATA,
        key=GroupMetadataKey(group=GROUP),
        value=GroupMetadataValue(
            protocol_type="consumer",
            generation=generation,
            protocol="range" if members else None,
            leader=leader,
            current_state_timestamp=at_ms,
            members=members,
        ),
        value_version=3,
    )
    return LoggedEntry(partition=0, offset=0, timestamp_ms=99, leader_epoch=0, producer_id=None, entry=entry)


def member(
    member_id: str, *, instance: str | None = None, rebalance_ms: int = 9000, topics: str = "orders"
) -> MemberMetadata:
    return MemberMetadata(
        member_id=member_id,
        group_instance_id=instance,
        client_id="c",
        client_host="/h",
        rebalance_timeout=rebalance_ms,
        session_timeout=60_000,
        subscription=subscription(topics),
        assignment=b"share of " + member_id.encode(),
    )


def loaded(*records: LoggedEntry, settings: GroupSettings | None = None) -> ScriptWorld:
    """A world whose coordinator has read these records."""
    world = ScriptWorld(settings or GroupSettings(initial_rebalance_delay_ms=0))
    world.log += records
    world.run("reload")
    return world


# ---- loading ------------------------------------------------------------------------------------------


def test_a_loaded_group_is_what_its_record_says() -> None:
    world = loaded(recorded(member("a-1"), member("b-1", instance="i"), leader="b-1"))
    group = world.coordinator.describe(GROUP)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    assert [(each.member_id, each.group_instance_id, each.member_assignment) for each in group.members] == [
        ("a-1", None, b"share of a-1"),
        ("b-1", "i", b"share of b-1"),
    ]
    assert world.run("heartbeat x id=a-1 generation=7") == ["reply x Heartbeat NONE"]
    assert world.run("heartbeat x id=a-1 generation=6") == ["reply x Heartbeat ILLEGAL_GENERATION"]
    assert world.run("heartbeat x id=a-1 generation=7 instance=i") == ["reply x Heartbeat FENCED_INSTANCE_ID"]


def test_the_recorded_leader_leads_whoever_comes_first() -> None:
    world = loaded(recorded(member("a-1"), member("b-1"), leader="b-1"))
    # The leader's unchanged rejoin starts a round, a follower's does not.
    assert "leader=b-1" in world.run("join a id=a-1 topics=orders")[0]
    assert world.run("join b id=b-1 topics=orders")[0].startswith("parked")


def test_members_that_a_later_record_lacks_are_gone() -> None:
    world = loaded(
        recorded(member("a-1"), member("b-1"), leader="a-1"),
        recorded(member("b-1"), member("c-1"), leader="c-1", generation=8),
    )
    assert [each.member_id for each in world.coordinator.describe(GROUP).members] == ["b-1", "c-1"]
    assert world.run("heartbeat x id=a-1 generation=8") == ["reply x Heartbeat UNKNOWN_MEMBER_ID"]


def test_a_group_without_members_is_empty_whatever_else_its_record_says() -> None:
    record = recorded(leader=None)
    assert isinstance(record.entry, OffsetsEntry) and isinstance(record.entry.value, GroupMetadataValue)
    value = replace(record.entry.value, protocol="range", leader="gone-1")
    world = loaded(replace(record, entry=record.entry._replace(value=value)))
    assert world.coordinator.describe(GROUP).group_state == "Empty"


def test_of_a_members_records_the_last_counts() -> None:
    world = loaded(
        recorded(member("a-1", topics="orders"), leader="a-1"),
        recorded(member("a-1", topics="other"), leader="a-1", generation=8),
    )
    assert world.run("join b")[0].startswith("parked")
    assert world.run("join a id=a-1 topics=other rebalance=9000")[0].startswith("reply")
    [shown] = loaded(*world.log[:2]).coordinator.describe(GROUP).members
    assert shown.member_metadata == subscription("other")


def test_a_record_without_a_rebalance_timeout_has_the_sessions() -> None:
    """Version 0 of the record: -1 here, and Kafka takes the session timeout."""
    world = loaded(recorded(member("a-1", rebalance_ms=-1), leader="a-1"))
    world.run("join b rebalance=1000 session=600000")
    world.run("advance 59999")
    assert world.coordinator.describe(GROUP).group_state == "PreparingRebalance"
    world.run("advance 1")
    assert world.coordinator.describe(GROUP).group_state == "CompletingRebalance"


def test_a_loaded_empty_group_has_been_empty_since_its_record_says() -> None:
    hour = 3_600_000
    settings = GroupSettings(
        initial_rebalance_delay_ms=0, offsets_retention_ms=3 * hour, offsets_retention_check_interval_ms=hour
    )
    world = ScriptWorld(settings)
    world.run("commit - orders/0=5")
    world.log.append(recorded(leader=None, at_ms=2 * hour))
    world.run("reload")
    assert world.run(f"advance {5 * hour - 1}") == []
    assert [line.split(":")[0] for line in world.run("advance 1")] == [f"at {5 * hour}"] * 2


def test_a_loaded_group_knows_what_it_reads() -> None:
    world = loaded(recorded(member("a-1", topics="orders"), leader="a-1"))
    world.run("commit a id=a-1 generation=7 orders/0=5 other/0=6")
    assert world.run("delete-offsets - orders other")[-1] == (
        "reply - OffsetDelete NONE orders-0:GROUP_SUBSCRIBED_TO_TOPIC other-0:NONE"
    )


def test_a_tombstone_deletes_a_group_and_nothing_else() -> None:
    tombstone = OffsetsEntry(
        type=RecordType.GROUP_METADATA, key=GroupMetadataKey(group=GROUP), value=None, value_version=None
    )
    record = LoggedEntry(
        partition=0, offset=1, timestamp_ms=0, leader_epoch=0, producer_id=None, entry=tombstone
    )
    coordinator = GroupCoordinator(0, GroupSettings(), lambda: "unused")
    assert coordinator.apply(record) == ()
    assert coordinator.apply(recorded(member("a-1"), leader="a-1")) == (GroupCreated(group_id=GROUP),)
    assert coordinator.apply(recorded(member("a-1"), leader="a-1")) == ()
    assert coordinator.apply(record) == (GroupDeleted(group_id=GROUP),)
    assert coordinator.describe(GROUP).error_code is ErrorCode.GROUP_ID_NOT_FOUND


# ---- moving away --------------------------------------------------------------------------------------


def test_a_parked_join_and_a_parked_sync_hear_of_the_move_with_their_ids() -> None:
    world = stable(f"m1 {S60}", f"m2 {S60}")
    world.run(f"join m1 topics=other {S60}")
    assert world.run("reload") == ["reply m1 JoinGroup NOT_COORDINATOR id=m1-1"]
    world.play(f"join m1 topics=other {S60}", f"join m2 {S60}", "sync m2 generation=2")
    assert world.run("reload") == ["reply m2 SyncGroup NOT_COORDINATOR"]


def test_a_coordinator_says_nothing_of_a_move_twice() -> None:
    world = stable(f"m1 {S60}", f"m2 {S60}")
    world.run(f"join m1 topics=other {S60}")
    first = world.coordinator.unload(ErrorCode.NOT_COORDINATOR, 0)
    again = world.coordinator.unload(ErrorCode.NOT_COORDINATOR, 0)
    assert (len(first.replies), len(again.replies)) == (1, 0)


# ---- reading ------------------------------------------------------------------------------------------


def test_groups_are_listed_by_states_and_types_in_lower_case() -> None:
    world = stable("m1")
    coordinator = world.coordinator
    for states, types, there in (
        ((), (), True),
        (("stable",), (), True),
        (("stable", "empty"), ("classic",), True),
        (("empty",), (), False),
        ((), ("consumer",), False),
        ((), ("classic", "consumer"), True),
    ):
        listed = coordinator.listing(frozenset(states), frozenset(types))
        assert [each.group_id for each in listed] == ([GROUP] if there else [])


def test_a_listed_group_has_its_type_and_state() -> None:
    [listed] = stable("m1").coordinator.listing()
    assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == (
        GROUP,
        "consumer",
        "Stable",
        "classic",
    )


def test_metadata_shows_in_stable_only() -> None:
    world = stable("m1 topics=orders", "m2 topics=orders")
    group = world.coordinator.describe(GROUP)
    assert {each.member_metadata for each in group.members} == {subscription("orders")}
    assert (group.members[0].client_id, group.members[0].client_host) == ("m1", "/127.0.0.1")
    world.run("join m3")
    group = world.coordinator.describe(GROUP)
    assert ({each.member_metadata for each in group.members}, group.protocol_data) == ({b""}, "")


# ---- events -------------------------------------------------------------------------------------------


def test_events_come_with_the_step_that_they_are_of() -> None:
    world = stable(f"m1 {S60}")
    body = world._body("join", "m2", [], {})
    step = world.coordinator.handle(Request(id=9, body=body, client_id="m2", client_host="/h"), 5)
    added, started = step.events
    assert added == MemberAdded(group_id=GROUP, member_id="m2-2", group_instance_id=None)
    assert isinstance(started, RebalanceStarted) and started.generation_id == 1
    assert (step.append, step.replies) == ((), ())
    # The first join lasts for five minutes; m1 has not rejoined by then.
    [removed] = [each for each in world.coordinator.expire(60_000).events if isinstance(each, MemberRemoved)]
    assert removed.member_id == "m1-1"
    assert world.coordinator.expire(60_000).events == ()

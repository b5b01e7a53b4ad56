"""What holds for a coordinator whatever is asked of it, in any order."""

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kgroup.group.coordinator.classic.states import TRANSITIONS, GroupState
from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, RecordType, Undecodable
from kgroup.protocol.records.keys import ConsumerGroupMetadataKey
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    DeleteGroups,
    Done,
    EndTransaction,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    OffsetCommit,
    OffsetDelete,
    PartitionsDeleted,
    ReplyBody,
    RequestBody,
    SyncGroup,
    TxnOffsetCommit,
    refusal,
)
from tests.group.coordinator.script import GROUP, ScriptWorld

NAMES = st.sampled_from(["m1", "m2", "m3"])
STATIC = st.sampled_from(["i1", "i2"])
OFFSETS = st.integers(0, 9)


class CoordinatorMachine(RuleBasedStateMachine):
    """Members of all kinds come and go; a coordinator built from the log knows what the live one logged."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1000, max_size=3))
        self.generation = 0

    def run(self, command: str) -> None:
        self.world.run(command)

    @rule(name=NAMES, topics=st.sampled_from(["orders", "orders,other"]), two_step=st.booleans())
    def join(self, name: str, topics: str, two_step: bool) -> None:
        self.run(f"join {name} topics={topics} rebalance=4000 session=6000{' two-step' if two_step else ''}")

    @rule(instance=STATIC, version=st.sampled_from(["", " v9"]), forgets_its_id=st.booleans())
    def join_static(self, instance: str, version: str, forgets_its_id: bool) -> None:
        memory = " id=" if forgets_its_id else ""
        self.run(f"join s{instance} instance={instance} rebalance=4000 session=6000{version}{memory}")

    @rule(name=NAMES, protocols=st.sampled_from(["roundrobin", "range,roundrobin"]))
    def join_with_other_protocols(self, name: str, protocols: str) -> None:
        self.run(f"join {name} protocols={protocols} rebalance=4000 session=6000")

    @rule(name=NAMES | STATIC.map("s{}".format))
    def sync(self, name: str) -> None:
        shares = ",".join(f"{each}:{each}s" for each in self.world.ids)
        self.run(f"sync {name} generation={self.live_generation()} assign={shares}")

    @rule(name=NAMES)
    def heartbeat(self, name: str) -> None:
        self.run(f"heartbeat {name} generation={self.live_generation()}")

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        self.run(f"leave {name}")

    @rule(instance=STATIC)
    def remove_static(self, instance: str) -> None:
        self.run(f"leave - instance={instance}")

    @rule(name=NAMES, offset=OFFSETS)
    def commit(self, name: str, offset: int) -> None:
        self.run(f"commit {name} generation={self.live_generation()} orders/0={offset} other/1={offset}")

    @rule(offset=OFFSETS)
    def commit_from_outside(self, offset: int) -> None:
        self.run(f"commit - orders/0={offset}")

    @rule(producer=st.integers(1, 2), offset=OFFSETS)
    def commit_in_transaction(self, producer: int, offset: int) -> None:
        self.run(f"txn-commit - producer={producer} orders/0={offset}")

    @rule(producer=st.integers(1, 2), outcome=st.sampled_from(["commit", "abort"]))
    def end_transaction(self, producer: int, outcome: str) -> None:
        self.run(f"end-txn - producer={producer} {outcome}")

    @rule(duration_ms=st.sampled_from([500, 1500, 7000]))
    def time_passes(self, duration_ms: int) -> None:
        self.run(f"advance {duration_ms}")

    @rule()
    def delete(self) -> None:
        self.run("delete-offsets - orders")
        self.run("delete-group")

    @rule()
    def reload(self) -> None:
        self.run("reload")
        self.generation = 0

    def live_generation(self) -> int:
        for record in reversed(self.world.log):
            value = getattr(record.entry, "value", None)
            if hasattr(value, "generation"):
                logged = value.generation
                break
        else:
            logged = 0
        # Between a join round and its sync the live generation is one ahead of the log's.
        state = self.world.coordinator.describe(GROUP).group_state
        return logged + (state == GroupState.COMPLETING_REBALANCE)

    @invariant()
    def the_log_says_what_the_live_one_logged(self) -> None:
        live = self.world.coordinator
        rebuilt = GroupCoordinator(0, self.world.settings, lambda: "unused")
        for record in self.world.log:
            rebuilt.apply(record)
        for stable in (False, True):
            assert rebuilt.fetch_offsets(GROUP, None, stable) == live.fetch_offsets(GROUP, None, stable)
        group = live.describe(GROUP)
        if group.group_state in (GroupState.STABLE, GroupState.EMPTY, GroupState.DEAD):
            assert rebuilt.describe(GROUP) == group

    def teardown(self) -> None:
        """Nobody waits for ever, but those whose request a newer one of the same member has replaced."""
        self.run("advance 60000")
        waiting = [body.member_id for _, body in self.world.unanswered.values()]  # type: ignore[union-attr]
        members = {each.member_id for each in self.world.coordinator.describe(GROUP).members}
        assert not members & set(waiting)


CoordinatorMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestCoordinator = CoordinatorMachine.TestCase


def test_every_state_can_be_left_but_dead() -> None:
    assert set(TRANSITIONS) == set(GroupState)
    assert {state for state, targets in TRANSITIONS.items() if targets == {state}} == {GroupState.DEAD}


def test_a_refused_heartbeat_and_commit_carry_the_error_where_clients_look() -> None:
    heartbeat = Heartbeat(group_id="g", generation_id=1, member_id="m", group_instance_id=None)
    assert refusal(heartbeat, ErrorCode.NOT_COORDINATOR).error_code is ErrorCode.NOT_COORDINATOR  # type: ignore[union-attr]
    world = ScriptWorld()
    commit = world._body("commit", "-", [], {"orders/0": "5"})
    assert isinstance(commit, OffsetCommit)
    refused = refusal(commit, ErrorCode.NOT_COORDINATOR)
    assert [part.error_code for topic in refused.topics for part in topic.partitions] == [  # type: ignore[union-attr]
        ErrorCode.NOT_COORDINATOR
    ]


# ---- what no group is asked about ----------------------------------------------------------------


def join_of(group_id: str, session_timeout_ms: int = 10_000) -> JoinGroup:
    return JoinGroup(
        group_id=group_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=60_000,
        member_id="",
        group_instance_id=None,
        protocol_type="consumer",
        protocols=(("range", b""),),
    )


def requests_of(group_id: str) -> list[RequestBody]:
    """One of each kind that names a group, without the commit, which has its own rule."""
    topics: tuple[CommitTopic, ...] = ()
    return [
        join_of(group_id),
        SyncGroup(
            group_id=group_id,
            generation_id=1,
            member_id="m",
            group_instance_id=None,
            protocol_type=None,
            protocol_name=None,
            assignments=(),
        ),
        Heartbeat(group_id=group_id, generation_id=1, member_id="m", group_instance_id=None),
        LeaveGroup(group_id=group_id, members=(LeavingMember(member_id="m", group_instance_id=None),)),
        OffsetDelete(group_id=group_id, topics=()),
        TxnOffsetCommit(
            group_id=group_id,
            producer_id=1,
            producer_epoch=0,
            generation_id=-1,
            member_id="",
            group_instance_id=None,
            topics=topics,
        ),
    ]


def answer_to(world: ScriptWorld, body: RequestBody) -> ReplyBody:
    request = Request(id=1, body=body, client_id="c", client_host="/127.0.0.1")
    [reply] = world.coordinator.handle(request, 0).replies
    return reply.body


@pytest.mark.parametrize("body", requests_of("")[:-1], ids=lambda body: type(body).__name__)
def test_the_empty_group_id_is_no_group(body: RequestBody) -> None:
    answer = answer_to(ScriptWorld(), body)
    assert answer.error_code is ErrorCode.INVALID_GROUP_ID  # type: ignore[union-attr]


def test_offsets_can_be_committed_under_the_empty_group_id() -> None:
    world = ScriptWorld()
    commit = world._body("commit", "-", [], {"orders/0": "5"})
    assert isinstance(commit, OffsetCommit)
    [topic] = answer_to(world, replace(commit, group_id="")).topics  # type: ignore[union-attr]
    assert topic.partitions[0].error_code is ErrorCode.NONE
    [offsets] = world.coordinator.fetch_offsets("", None, False)
    assert offsets.offsets[0].committed_offset == 5


@pytest.mark.parametrize(
    ("session_timeout_ms", "fits"), [(5_999, False), (6_000, True), (1_800_000, True), (1_800_001, False)]
)
def test_a_session_timeout_lies_within_the_brokers_bounds(session_timeout_ms: int, fits: bool) -> None:
    world = ScriptWorld()
    request = Request(id=1, body=join_of("g", session_timeout_ms), client_id="c", client_host="/h")
    replies = world.coordinator.handle(request, 0).replies
    refused = [reply.body.error_code for reply in replies]  # type: ignore[union-attr]
    assert refused == ([] if fits else [ErrorCode.INVALID_SESSION_TIMEOUT])


def test_each_request_is_refused_in_its_own_answers_place() -> None:
    error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    for body in requests_of("g")[:-1]:
        assert refusal(body, error).error_code is error  # type: ignore[union-attr]
    deleted = refusal(DeleteGroups(group_ids=("g", "h")), error)
    assert [(each.group_id, each.error_code) for each in deleted.results] == [  # type: ignore[union-attr]
        ("g", error),
        ("h", error),
    ]
    # Nobody waits for an error of these.
    assert refusal(EndTransaction(producer_id=1, producer_epoch=0, committed=True), error) == Done()
    assert refusal(PartitionsDeleted(topics=("orders",)), error) == Done()


# ---- loading --------------------------------------------------------------------------------------


def entry_at(offset: int, entry: OffsetsEntry | Undecodable) -> LoggedEntry:
    return LoggedEntry(
        partition=0, offset=offset, timestamp_ms=0, leader_epoch=0, producer_id=None, entry=entry
    )


def test_records_that_are_not_the_classic_protocols_change_nothing_but_the_end() -> None:
    coordinator = GroupCoordinator(0, GroupSettings(), lambda: "unused")
    odd = Undecodable(key=b"\0\x63", value=b"", key_version=99, value_version=None, why="type 99")
    other = OffsetsEntry(
        type=RecordType.CONSUMER_GROUP_METADATA,
        key=ConsumerGroupMetadataKey(group_id=GROUP),
        value=None,
        value_version=None,
    )
    for offset, entry in ((7, odd), (8, other)):
        assert coordinator.apply(entry_at(offset, entry)) == ()
        assert coordinator.end_offset == offset + 1
    assert coordinator.describe(GROUP).error_code is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_larger_than_allowed_sheds_members_when_it_is_loaded() -> None:
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=0))
    for command in (
        "join m1",
        "advance 0",
        "sync m1 generation=1 assign=m1:all",
        "join m2",
        "join m1",
        "sync m1 generation=2 assign=m1:a,m2:b",
        "sync m2 generation=2",
    ):
        world.run(command)
    world.settings = GroupSettings(initial_rebalance_delay_ms=0, max_size=1)
    world.run("reload")
    assert world.coordinator.describe(GROUP).group_state == GroupState.PREPARING_REBALANCE
    assert world.run("heartbeat m1 generation=2") == ["reply m1 Heartbeat REBALANCE_IN_PROGRESS"]
    # The first to come back has the seat.
    world.run("join m2")
    assert world.run("join m1")[0] == "reply m1 JoinGroup GROUP_MAX_SIZE_REACHED id=-"


def test_a_parked_sync_hears_that_its_coordinator_has_gone() -> None:
    world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=0))
    for command in ("join m1", "advance 0", "sync m1 generation=1 assign=m1:all", "join m2", "join m1"):
        world.run(command)
    assert world.run("sync m2 generation=2")[0].startswith("parked")
    assert world.run("reload") == ["reply m2 SyncGroup NOT_COORDINATOR"]


def test_topics_that_are_gone_take_the_offsets_of_every_group_along() -> None:
    world = ScriptWorld()
    world.run("commit - orders/0=5 other/0=6")
    step = world.coordinator.handle(
        Request(id=9, body=PartitionsDeleted(topics=("orders",)), client_id="", client_host=""), 0
    )
    assert [record.entry.key.topic for record in step.append] == ["orders"]  # type: ignore[union-attr]
    assert [topic.name for topic in world.coordinator.fetch_offsets(GROUP, None, False)] == ["other"]


def test_a_tie_of_votes_goes_by_the_name_whatever_the_order_of_joining() -> None:
    for first, second in (("range,roundrobin", "roundrobin,range"), ("roundrobin,range", "range,roundrobin")):
        world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=1000))
        world.run(f"join m1 protocols={first}")
        world.run(f"join m2 protocols={second}")
        [answer, *_] = [line for line in world.run("advance 9000") if "JoinGroup" in line]
        assert "protocol=range" in answer  # the first of both in a HashMap, as with a broker of 4.3.1


class TestAGroupWhoseFirstCommitIsRefusedWhole:
    """As with a broker of 4.3.1: it is there, but shows only with the next record of the partition."""

    def world(self) -> ScriptWorld:
        world = ScriptWorld(GroupSettings(initial_rebalance_delay_ms=0, offset_metadata_max_bytes=1))
        body = OffsetCommit(
            group_id=GROUP,
            generation_id=-1,
            member_id="",
            group_instance_id=None,
            retention_time_ms=-1,
            topics=(
                CommitTopic(
                    name="orders",
                    topic_id=None,
                    partitions=(
                        CommitPartition(
                            partition_index=0,
                            committed_offset=5,
                            committed_leader_epoch=-1,
                            committed_metadata="too long",
                        ),
                    ),
                ),
            ),
        )
        step = world.coordinator.handle(Request(id=9, body=body, client_id="", client_host=""), 0)
        assert not step.append
        return world

    def test_its_offsets_can_be_deleted(self) -> None:
        assert self.world().run("delete-offsets - orders") == ["reply - OffsetDelete NONE orders-0:NONE"]

    def test_it_can_be_deleted(self) -> None:
        assert "reply - DeleteGroups g:NONE" in self.world().run("delete-group")

    def test_it_does_not_show_yet(self) -> None:
        world = self.world()
        assert world.coordinator.describe(GROUP).group_state == GroupState.DEAD
        assert world.coordinator.listing() == []

    def test_it_shows_with_the_next_record(self) -> None:
        world = self.world()
        world.run("join m1")
        assert world.coordinator.describe(GROUP).group_state == GroupState.DEAD
        world.run("advance 0")
        world.run("sync m1 generation=1 assign=m1:all")
        assert world.coordinator.describe(GROUP).group_state == GroupState.STABLE
        assert [group.group_id for group in world.coordinator.listing()] == [GROUP]

"""The position a member reads on from, whatever the order in which answers come."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import InputError
from kgroup.group.member.identity import MemberState
from kgroup.group.member.positions import PositionState, Subscriptions
from kgroup.group.member.step import (
    Answered,
    Commit,
    Failed,
    Poll,
    Seek,
    Send,
    UseError,
)
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    Fetch,
    OffsetFetch,
)
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    OffsetCommit,
)
from tests.group.member.member_world import MemberWorld, stable

BOTH = (("orders", 0), ("orders", 1))


def test_a_position_begins_at_the_commit_or_where_the_policy_says() -> None:
    world = MemberWorld()
    world.committed["orders", 1] = 7
    world.subscribe()
    world.settle(OffsetFetch)
    assert [each.state for each in world.member.positions.values()] == [PositionState.INITIALIZING] * 2
    world.answer_usually()
    assert [each.state for each in world.member.positions.values()] == [
        PositionState.AWAIT_RESET,
        PositionState.FETCHING,
    ]
    world.answer_usually(Fetch)
    positions = world.member.positions
    assert [(each.state, each.position) for each in positions.values()] == [
        (PositionState.FETCHING, 0),
        (PositionState.FETCHING, 7),
    ]
    assert positions["orders", 1].committed == 7


def test_a_seek_drops_what_was_fetched_ahead() -> None:
    world = stable()
    world.answer_usually()
    world.do(Seek(partition=("orders", 0), offset=8))
    world.do(Poll())
    world.answer_usually()
    world.do(Poll())
    read = [offset for partition, offset in world.records if partition == ("orders", 0)]
    assert read == [8]
    with pytest.raises(UseError, match="is not assigned to this member"):
        world.do(Seek(partition=("other", 0), offset=8))


def test_an_answer_for_another_position_is_dropped() -> None:
    world = stable()
    world.do(Seek(partition=("orders", 0), offset=6))
    world.answer_usually()  # to the fetches from 0
    world.do(Poll())
    assert [offset for partition, offset in world.records if partition == ("orders", 0)] == []
    [send] = [send for send in world.sent if isinstance(send.body, Fetch)]
    assert (("orders", 0), 6) in send.body.offsets
    world.do(Seek(partition=("orders", 0), offset=0))
    world.answer_usually()  # to the fetch from 6: taken, it would skip what lies before
    world.do(Poll())
    assert [offset for partition, offset in world.records if partition == ("orders", 0)] == []
    world.settle(rounds=8)
    assert [offset for partition, offset in world.records if partition == ("orders", 0)] == list(range(10))


ACTIONS = st.lists(st.integers(min_value=0, max_value=12), min_size=20, max_size=100)


@given(actions=ACTIONS, records_max=st.integers(min_value=1, max_value=4), cooperative=st.booleans())
def test_positions_never_skip_a_record_whatever_the_order_of_answers(
    actions: list[int], records_max: int, cooperative: bool
) -> None:
    """Each partition is handed out without a gap from its last start, and committed <= position <= end."""
    strategy = ("cooperative-sticky",) if cooperative else ("range",)
    world = MemberWorld(
        enable_auto_commit=True,
        auto_commit_interval_ms=100,
        heartbeat_interval_ms=500,
        session_timeout_ms=3000,
        max_poll_records=records_max,
        partition_assignment_strategy=strategy,
    )
    world.log_end = 30
    world.subscribe()
    world.settle(Fetch)
    handed: dict[tuple[str, int], int] = {}
    for action in actions:
        before = len(world.records)
        answer_one(world, action)
        for partition, offset in world.records[before:]:
            start = world.committed.get(partition, 0)
            assert start <= offset <= handed.get(partition, start), "a record was left out"
            handed[partition] = max(handed.get(partition, 0), offset + 1)
        for partition, position in world.member.positions.items():
            assert world.committed.get(partition, 0) <= handed.get(partition, 0), "committed, not handed out"
            if position.position is not None:
                assert position.position <= world.log_end
    world.advance(5000)
    world.settle(rounds=60)
    assert handed_to_the_end(world)


def answer_one(world: MemberWorld, action: int) -> None:
    """Poll, let time pass, answer or break off any request, or start a rebalance."""
    answerable: list[Send] = sorted(world.sent, key=lambda send: send.request_id * (action + 7) % 11)
    world.now_ms += 20
    if action <= 2 or not answerable:
        world.do(Poll())
    elif action == 4:
        world.advance(600)
    elif action == 5:
        send = answerable[0]
        world.sent.remove(send)
        world.do(Failed(request_id=send.request_id, why="lost"))
    elif action in (3, 6) and world.waiting(Heartbeat):
        world.answer(Heartbeat, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    elif action == 7 and world.waiting(Heartbeat):
        world.answer(Heartbeat, HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    else:
        send = answerable[0]
        world.sent.remove(send)
        world.do(Answered(request_id=send.request_id, body=world.usual_answer(send)))


def handed_to_the_end(world: MemberWorld) -> bool:
    """After the faults everything is read, by a member that stands in its group."""
    for _ in range(40):
        world.advance(1000)
        world.settle(rounds=2)
    read: dict[tuple[str, int], set[int]] = {}
    for partition, offset in world.records:
        read.setdefault(partition, set()).add(offset)
    whole = set(range(world.log_end))
    return world.member.state is MemberState.STABLE and all(read.get(each) == whole for each in BOTH)


def test_a_commit_goes_out_only_in_a_generation() -> None:
    world = stable(max_poll_interval_ms=10_000)
    world.advance(10_000)
    step = world.do(Commit(commit_id=1, offsets=((("orders", 0), 5),)))
    assert [(each.commit_id, each.error_code) for each in step.commits] == [(1, ErrorCode.UNKNOWN_MEMBER_ID)]
    assert not world.waiting(OffsetCommit)


def test_no_pattern_takes_time_that_grows_faster_than_the_name() -> None:
    subscriptions = Subscriptions()
    subscriptions.subscribe_pattern("(a+)+b|(a|a)*c|(.*)*d")
    subscriptions.match_topics(["a" * 249, "a" * 200 + "c", "x"])
    assert subscriptions.topics == {"a" * 200 + "c"}


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a(", "missing )"),
        ("(?!__).*", "invalid perl operator"),
        (r"(a)\1", "invalid escape"),
        ("\udcff", "no UTF-8"),
    ],
)
def test_a_pattern_that_is_not_re2s_is_refused(pattern: str, why: str) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        Subscriptions().subscribe_pattern(pattern)


def test_partitions_of_topics_that_left_the_subscription_are_held_back_until_the_group_takes_them() -> None:
    """Kafka: SubscriptionState.isFetchableAndSubscribed; with the consumer protocol they stay for a while."""
    subscriptions = Subscriptions()
    subscriptions.subscribe(["orders", "returns"])
    subscriptions.replace_partitions([("orders", 0), ("returns", 0)])
    subscriptions.subscribe(["returns"])
    held = {partition: each.is_held_back for partition, each in subscriptions.positions.items()}
    assert held == {("orders", 0): True, ("returns", 0): False}
    subscriptions.replace_partitions([("orders", 0), ("orders", 1)])  # given before the group heard of it
    assert all(each.is_held_back for each in subscriptions.positions.values())
    subscriptions.subscribe(["orders"])
    assert not any(each.is_held_back for each in subscriptions.positions.values())

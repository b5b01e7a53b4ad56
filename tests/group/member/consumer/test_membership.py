"""The life of a member of the consumer protocol, by scripts of answers.

Source: ConsumerMembershipManager and ConsumerHeartbeatRequestManager of Kafka 4.3.1.
"""

import pytest

from kgroup.errors import InputError
from kgroup.group.member import errors as member_errors
from kgroup.group.member.consumer.identity import CONSUMER_TRANSITIONS, ConsumerState
from kgroup.group.member.errors import Reaction, reaction
from kgroup.group.member.step import (
    Assign,
    Close,
    Commit,
    Poll,
    Seek,
    Subscribe,
    SubscribePattern,
    Unsubscribe,
)
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.client import (
    Fetch,
    FindCoordinator,
    FindCoordinatorResponse,
    Metadata,
    OffsetFetch,
)
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kgroup.protocol.requests.coordinator import OffsetCommit
from tests.group.member.consumer.world import (
    INTERVAL_MS,
    TOPIC_IDS,
    ConsumerWorld,
    answer,
    joined,
    orders,
    refusal,
)
from tests.group.member.member_world import BROKER, wait_ms

S = ConsumerState
ORDERS = TOPIC_IDS["orders"]


def joining(**settings: object) -> ConsumerWorld:
    """A member whose first heartbeat waits for its answer."""
    world = ConsumerWorld(**settings)
    world.subscribe("orders")
    world.poll()
    world.answer_usually(ConsumerGroupHeartbeat)
    return world


# ---- joining ------------------------------------------------------------------------------------


def test_the_first_heartbeat_says_everything_and_the_next_one_nothing() -> None:
    world = joining(
        group_instance_id="shop", client_rack="r1", group_remote_assignor="range", max_poll_interval_ms=60_000
    )
    first = world.heartbeat
    assert (first.group_id, first.member_epoch, first.instance_id, first.rack_id) == ("g", 0, "shop", "r1")
    assert (first.rebalance_timeout_ms, first.server_assignor) == (60_000, "range")
    assert (first.subscribed_topic_names, first.subscribed_topic_regex) == (("orders",), None)
    assert first.topic_partitions == ()
    world.told(answer(2))
    world.poll()
    world.told(answer(2, keeps=True))
    world.advance(INTERVAL_MS)
    second = world.heartbeat
    assert (second.member_id, second.member_epoch, second.instance_id) == (first.member_id, 2, "shop")
    assert (second.rebalance_timeout_ms, second.server_assignor, second.rack_id) == (-1, None, None)
    assert (second.subscribed_topic_names, second.topic_partitions) == (None, None)


def test_a_member_makes_its_own_id_and_joins_only_in_a_poll() -> None:
    world = ConsumerWorld()
    world.subscribe("orders")
    world.answer_usually()
    assert world.member.state is S.UNSUBSCRIBED
    assert not world.heartbeats
    world.poll()
    world.answer_usually(ConsumerGroupHeartbeat)
    assert world.heartbeat.member_id == "gICAgICAgICAgICAgICAgA"


def test_an_expression_goes_to_the_coordinator_in_place_of_names() -> None:
    world = ConsumerWorld()
    world.do(SubscribePattern(pattern="ord.*"))
    world.poll()
    world.answer_usually(ConsumerGroupHeartbeat)
    first = world.heartbeat
    assert (first.subscribed_topic_names, first.subscribed_topic_regex) == ((), "ord.*")
    world.told(answer(1))
    world.advance(INTERVAL_MS)
    assert (world.heartbeat.subscribed_topic_names, world.heartbeat.subscribed_topic_regex) == (None, None)


def test_another_expression_is_all_that_the_next_heartbeat_brings_and_names_in_its_place_are_too() -> None:
    world = ConsumerWorld()
    world.do(SubscribePattern(pattern="ord.*"))
    world.poll()
    world.answer_usually(ConsumerGroupHeartbeat)
    world.told(answer(1))
    world.do(SubscribePattern(pattern="ret.*"))
    world.advance(INTERVAL_MS)
    second = world.heartbeat
    assert (second.subscribed_topic_names, second.subscribed_topic_regex) == (None, "ret.*")
    assert (second.rebalance_timeout_ms, second.topic_partitions) == (-1, None)
    world.told(answer(1, keeps=True))
    world.do(SubscribePattern(pattern="ret.*"))
    world.advance(INTERVAL_MS)
    assert world.heartbeat.subscribed_topic_regex is None


def test_the_coordinator_sets_the_interval() -> None:
    world = joined()
    world.told(answer(2, keeps=True, interval_ms=7000))
    world.advance(6999)
    assert not world.heartbeats
    world.advance(1)
    assert len(world.heartbeats) == 1
    world.advance(60_000)
    assert len(world.heartbeats) == 1, "one at a time"


def test_a_changed_subscription_is_all_that_the_next_heartbeat_brings() -> None:
    world = joined(0)
    world.do(Subscribe(topics=("returns", "orders")))
    world.answer_usually(Fetch, ConsumerGroupHeartbeat)
    world.advance(INTERVAL_MS)
    assert world.heartbeat.subscribed_topic_names == ("orders", "returns")
    assert (world.heartbeat.rebalance_timeout_ms, world.heartbeat.topic_partitions) == (-1, None)


# ---- reconciling --------------------------------------------------------------------------------


def test_what_was_given_is_acknowledged_after_the_callback_and_not_before() -> None:
    world = joining()
    world.told(answer(2, *orders(0, 1)))
    assert (world.member.state, world.seen()) == (S.RECONCILING, [])
    world.advance(INTERVAL_MS)
    assert world.heartbeat.topic_partitions is None, "its user has not been told yet"
    world.told(answer(2, keeps=True))
    world.poll()
    assert world.seen() == [("assigned", tuple(orders(0, 1)))]
    assert world.heartbeat.topic_partitions == ((ORDERS, (0, 1)),)
    assert world.member.state is S.STABLE


def test_an_empty_first_assignment_is_told_and_acknowledged_too() -> None:
    world = joining()
    world.told(answer(1))
    world.poll()
    assert world.seen() == [("assigned", ())]
    assert world.heartbeat.topic_partitions == ()


def test_partitions_go_after_their_commit_and_before_others_come() -> None:
    world = joined(0, 1, enable_auto_commit=True)
    world.told(answer(2, *orders(1, 2)))
    world.poll()
    [commit] = world.waiting(OffsetCommit)
    assert (commit.generation_id, commit.member_id) == (2, world.member.member_id)
    assert world.seen() == []
    world.answer(OffsetCommit, world.commit_answer(commit))
    assert world.seen() == [], "callbacks run in polls"
    world.poll()
    assert world.seen() == [("revoked", tuple(orders(0))), ("assigned", tuple(orders(2)))]
    assert world.heartbeat.topic_partitions == ((ORDERS, (1, 2)),)


def test_the_next_commit_is_a_whole_interval_after_partitions_came() -> None:
    world = joined(0, enable_auto_commit=True, auto_commit_interval_ms=8_000)
    world.advance(3_000)
    world.told(answer(2, *orders(0, 1)))
    world.poll()
    world.answer_usually(Fetch, ConsumerGroupHeartbeat)
    world.poll()
    assert world.seen() == [("assigned", tuple(orders(1)))]
    world.told(answer(2, keeps=True))
    world.answer_usually(Fetch, ConsumerGroupHeartbeat)
    world.advance(7_999)
    world.poll()
    assert not world.waiting(OffsetCommit)
    world.advance(1)
    world.poll()
    assert world.waiting(OffsetCommit)


def test_who_has_nothing_commits_nothing() -> None:
    world = joined(enable_auto_commit=True, auto_commit_interval_ms=1_000)
    for _ in range(3):
        world.advance(1_000)
        world.poll()
    assert not world.waiting(OffsetCommit)


def test_nothing_of_a_partition_that_will_go_is_handed_out_during_its_commit() -> None:
    world = joined(0, 1, enable_auto_commit=True)
    world.answer_usually(ConsumerGroupHeartbeat)  # records of both are there
    world.told(answer(2, *orders(1)))
    world.poll()
    world.poll()
    assert {partition for partition, _ in world.records} == {("orders", 1)}


def test_a_commit_without_an_answer_holds_partitions_for_the_rebalance_timeout_at_most() -> None:
    world = joined(0, enable_auto_commit=True, max_poll_interval_ms=60_000)
    world.told(answer(2))
    world.poll()
    assert world.waiting(OffsetCommit)
    for _ in range(6):
        world.advance(9_999)
        world.poll()
    assert world.seen() == []
    world.advance(6)
    world.poll()
    assert world.seen() == [("revoked", tuple(orders(0))), ("assigned", ())]
    last = [outcome.error_code for step in world.steps for outcome in step.commits][-1]
    assert last is E.REBALANCE_IN_PROGRESS, "nothing of it may be tried again: others commit there now"


def test_what_is_told_meanwhile_is_reconciled_next() -> None:
    world = joined(0, enable_auto_commit=True)
    world.told(answer(2))
    world.poll()
    world.advance(INTERVAL_MS)
    world.told(answer(3, *orders(0, 3)))
    world.answer_usually(Fetch, ConsumerGroupHeartbeat)
    world.poll()
    assert world.seen() == [("revoked", tuple(orders(0))), ("assigned", ())]
    said = world.heartbeat.topic_partitions
    assert (said, world.member.state) == (((ORDERS, (0, 3)),), S.RECONCILING), "what it may take by now, too"
    world.poll()
    world.answer_usually(Fetch, ConsumerGroupHeartbeat)
    world.told(answer(3, keeps=True))
    world.poll()
    assert world.seen() == [("assigned", tuple(orders(0, 3)))]
    assert world.heartbeat.topic_partitions == ((ORDERS, (0, 3)),)


def test_the_same_assignment_once_more_changes_nothing() -> None:
    world = joined(0, 1)
    world.told(answer(3, *orders(0, 1)))
    world.poll()
    assert (world.seen(), world.member.state, world.member.generation) == ([], S.STABLE, 3)
    world.advance(INTERVAL_MS)
    assert world.heartbeat.topic_partitions is None


def test_a_topic_without_a_name_is_looked_for_and_the_rest_is_taken() -> None:
    world = joined(0)
    world.hidden = {"returns"}
    world.told(answer(3, ("orders", 0), ("orders", 1), ("returns", 0)))
    world.poll()
    assert world.seen() == [("assigned", tuple(orders(1)))]
    assert world.heartbeat.topic_partitions == ((ORDERS, (0, 1)), (TOPIC_IDS["returns"], (0,)))
    assert world.member.state is S.RECONCILING
    world.told(answer(3, keeps=True))
    assert world.waiting(Metadata)
    world.answer_usually(Fetch)
    world.poll()
    assert world.seen() == []
    assert not world.heartbeats, "what it has was acknowledged already"
    world.topics["returns"] = 1
    world.hidden = set()
    world.do(Subscribe(topics=("orders", "returns")))
    world.advance(INTERVAL_MS)
    world.settle(Fetch, ConsumerGroupHeartbeat, rounds=3)
    assert world.seen() == [("assigned", (("returns", 0),))]


# ---- errors -------------------------------------------------------------------------------------

PUT_OUT = [E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID]


@pytest.mark.parametrize("error", PUT_OUT)
def test_a_member_that_was_put_out_loses_everything_and_joins_again_with_its_id(error: E) -> None:
    world = joined(0, 1)
    member_id = world.member.member_id
    world.told(refusal(error))
    assert (world.member.state, world.member.generation) == (S.FENCED, 0)
    assert not world.heartbeats, "first its user has to hear of it"
    world.poll()
    assert world.seen() == [("lost", tuple(orders(0, 1)))]
    again = world.heartbeat
    assert (again.member_id, again.member_epoch, again.topic_partitions) == (member_id, 0, ())
    assert again.subscribed_topic_names == ("orders",)


@pytest.mark.parametrize("error", PUT_OUT)
def test_one_that_has_nothing_joins_again_at_once(error: E) -> None:
    world = joined()
    world.told(refusal(error))
    assert (world.heartbeat.member_epoch, world.seen()) == (0, [])


def test_being_put_out_ends_a_reconciliation() -> None:
    world = joined(0, enable_auto_commit=True)
    world.told(answer(2))
    world.poll()
    world.advance(INTERVAL_MS)
    world.told(refusal(E.FENCED_MEMBER_EPOCH))
    world.answer_usually(Fetch)
    world.poll()
    assert world.seen() == [("lost", tuple(orders(0)))]


def test_what_was_under_way_when_it_was_put_out_holds_up_nothing_in_its_next_life() -> None:
    world = joined(0, enable_auto_commit=True)
    world.told(answer(2))
    world.poll()
    assert world.waiting(OffsetCommit)
    world.told(refusal(E.FENCED_MEMBER_EPOCH))
    world.poll()
    assert world.seen() == [("lost", tuple(orders(0)))]
    world.answer_usually(ConsumerGroupHeartbeat)
    world.told(answer(3, *orders(1)))
    world.poll()
    assert world.seen() == [("assigned", tuple(orders(1)))]
    assert world.heartbeat.topic_partitions == ((ORDERS, (1,)),)


def test_a_user_in_poll_is_woken_for_what_a_poll_alone_can_do() -> None:
    world = ConsumerWorld()
    assert not world.member.wants_poll(world.now_ms), "nothing is wanted"
    world.subscribe("orders")
    assert world.member.wants_poll(world.now_ms), "only a poll joins"
    world.poll()
    world.answer_usually(ConsumerGroupHeartbeat)
    assert not world.member.wants_poll(world.now_ms), "its answer is waited for"
    world.told(answer(2, *orders(0)))
    assert world.member.wants_poll(world.now_ms), "there are partitions to take"
    world.poll()
    assert not world.member.wants_poll(world.now_ms)
    world.told(refusal(E.FENCED_MEMBER_EPOCH))
    assert world.member.wants_poll(world.now_ms), "there are partitions to lose"


def test_while_a_heartbeat_has_no_answer_the_time_to_poll_again_is_what_comes_next() -> None:
    world = joined(0, max_poll_interval_ms=60_000)
    world.poll()
    polled_ms = world.now_ms
    world.advance(INTERVAL_MS)
    assert world.heartbeats
    assert world.member.next_deadline_ms() == polled_ms + 60_000


def test_without_a_coordinator_no_heartbeat_is_waited_for() -> None:
    """Else whoever waits for the deadline would wake at once, over and over."""
    world = joined(0)
    world.advance(INTERVAL_MS)
    world.break_off(ConsumerGroupHeartbeat)
    assert world.waiting(FindCoordinator)
    world.advance(INTERVAL_MS)
    wait = wait_ms(world)
    assert wait is not None
    assert wait > 0


@pytest.mark.parametrize("error", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_another_coordinator_hears_everything_at_the_same_epoch(error: E) -> None:
    world = joined(0, 1)
    world.told(refusal(error))
    world.answer(FindCoordinator, FindCoordinatorResponse(node=BROKER))
    assert (world.heartbeat.member_epoch, world.heartbeat.rebalance_timeout_ms) == (2, 300_000)
    assert world.heartbeat.subscribed_topic_names == ("orders",)
    assert world.heartbeat.topic_partitions == ((ORDERS, (0, 1)),)
    assert world.seen() == []


def test_a_heartbeat_without_an_answer_is_made_again_with_everything() -> None:
    world = joined(0)
    world.advance(INTERVAL_MS)
    world.break_off(ConsumerGroupHeartbeat)
    world.answer(FindCoordinator, FindCoordinatorResponse(node=BROKER))
    world.advance(200)
    assert (world.heartbeat.member_epoch, world.heartbeat.topic_partitions) == (2, ((ORDERS, (0,)),))


def test_a_member_that_repeats_everything_claims_what_it_may_take_before_the_answer_is_there() -> None:
    """Else a coordinator that wants 1 back by now would think that it is free."""
    world = joining()
    world.told(answer(2, *orders(0, 1)))
    world.advance(INTERVAL_MS)
    world.break_off(ConsumerGroupHeartbeat)
    world.answer(FindCoordinator, FindCoordinatorResponse(node=BROKER))
    world.advance(200)
    assert world.heartbeat.topic_partitions == ((ORDERS, (0, 1)),)


def test_a_member_that_repeats_everything_claims_what_its_commit_holds_up() -> None:
    """The coordinator wants 3 back, but the member takes it all the same and then gives it up."""
    world = joined(0, enable_auto_commit=True)
    world.told(answer(3, *orders(0, 3)))
    world.poll()
    assert world.waiting(OffsetCommit)
    world.advance(INTERVAL_MS)
    world.told(answer(3, *orders(0)))
    world.advance(INTERVAL_MS)
    world.told(refusal(E.NOT_COORDINATOR))
    world.answer(FindCoordinator, FindCoordinatorResponse(node=BROKER))
    assert world.heartbeat.topic_partitions == ((ORDERS, (0, 3)),)
    world.advance(1_000)
    world.answer_usually(Fetch, ConsumerGroupHeartbeat)
    world.poll()
    assert world.seen() == [("assigned", tuple(orders(3)))]


def test_a_coordinator_that_loads_is_asked_again_after_a_pause() -> None:
    world = joining()
    world.told(refusal(E.COORDINATOR_LOAD_IN_PROGRESS))
    assert not world.heartbeats
    world.advance(100)
    assert world.heartbeat.member_epoch == 0


def test_every_other_error_ends_the_member() -> None:
    known = {E.NONE, *PUT_OUT, E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.COORDINATOR_LOAD_IN_PROGRESS}
    table = member_errors.CONSUMER_HEARTBEAT
    assert {error for error in E if reaction(table, error) is not Reaction.FATAL} == known
    world = joining(group_instance_id="shop")
    step = world.told(refusal(E.UNRELEASED_INSTANCE_ID))
    assert str(step.error) == "ConsumerGroupHeartbeat: UNRELEASED_INSTANCE_ID (for a reason)"
    world.advance(60_000)
    assert not world.heartbeats


def test_a_commit_of_a_stale_epoch_is_made_again_with_the_epoch_of_now() -> None:
    world = joined(0)
    world.advance(INTERVAL_MS)
    world.do(Commit(commit_id=1, offsets=((("orders", 0), 5),)))
    [first] = world.waiting(OffsetCommit)
    world.answer(OffsetCommit, world.commit_answer(first, E.STALE_MEMBER_EPOCH))
    world.told(answer(4, keeps=True))
    world.advance(200)
    [again] = world.waiting(OffsetCommit)
    assert (first.generation_id, again.generation_id) == (2, 4)


def test_a_member_that_is_closed_does_not_wait_for_a_newer_epoch() -> None:
    """Nothing would bring it: it heartbeats no more, and Kafka's `commitSync` asks once, too."""
    world = joined(0, enable_auto_commit=True)
    world.do(Close())
    [last] = world.waiting(OffsetCommit)
    world.answer(OffsetCommit, world.commit_answer(last, E.STALE_MEMBER_EPOCH))
    assert not world.waiting(OffsetCommit)
    assert world.heartbeat.member_epoch == -1
    assert world.steps[-1].commits[0].error_code is E.STALE_MEMBER_EPOCH


def test_a_member_that_is_closed_waits_for_its_coordinator_to_load() -> None:
    world = joined(0, enable_auto_commit=True)
    world.do(Close())
    [last] = world.waiting(OffsetCommit)
    world.answer(OffsetCommit, world.commit_answer(last, E.COORDINATOR_LOAD_IN_PROGRESS))
    assert not world.heartbeats
    world.advance(200)
    assert len(world.waiting(OffsetCommit)) == 1


def test_a_commit_of_an_earlier_life_is_not_made_again() -> None:
    world = joined(0)
    world.do(Commit(commit_id=1, offsets=((("orders", 0), 5),)))
    [first] = world.waiting(OffsetCommit)
    world.told(refusal(E.FENCED_MEMBER_EPOCH))
    world.poll()
    world.told(answer(9, *orders(0)))
    world.answer(OffsetCommit, world.commit_answer(first, E.COORDINATOR_LOAD_IN_PROGRESS))
    world.advance(200)
    assert not world.waiting(OffsetCommit)
    assert [outcome.error_code for step in world.steps for outcome in step.commits] == [E.ILLEGAL_GENERATION]


def test_only_a_member_with_an_epoch_says_who_it_is_when_it_reads_offsets() -> None:
    world = joining()
    world.told(answer(2, *orders(0)))
    world.poll()
    [asked] = world.waiting(OffsetFetch)
    assert (asked.member_id, asked.member_epoch) == (world.member.member_id, 2)


# ---- going --------------------------------------------------------------------------------------


def test_a_leave_that_is_not_answered_holds_up_a_close_for_a_request_timeout() -> None:
    world = joined(0)
    world.do(Close())
    assert world.heartbeat.member_epoch == -1
    world.advance(29_999)
    assert not any(step.closed for step in world.steps)
    world.advance(1)
    assert any(step.closed for step in world.steps)


def test_who_is_put_out_and_closed_has_lost_what_it_had() -> None:
    """Its partitions are others' by now: it is not the time to commit."""
    world = joined(0)
    world.told(refusal(E.FENCED_MEMBER_EPOCH))
    world.do(Close())
    assert world.seen() == [("lost", tuple(orders(0)))]


def test_who_is_closed_in_its_group_gives_up_what_it_has() -> None:
    world = joined(0)
    world.do(Close())
    assert world.seen() == [("revoked", tuple(orders(0)))]
    assert not world.member.positions


def test_a_seek_below_0_is_refused_and_changes_nothing() -> None:
    world = joined(0)
    before = world.member.positions["orders", 0].position
    with pytest.raises(InputError, match="offset -1 is below 0"):
        world.do(Seek(partition=("orders", 0), offset=-1))
    assert world.member.positions["orders", 0].position == before


def test_a_pattern_is_matched_with_the_topics_of_now() -> None:
    world = joined()
    world.do(Unsubscribe())
    world.do(SubscribePattern(pattern="ord.*"))
    assert [request.topics for request in world.waiting(Metadata)] == [None]


@pytest.mark.parametrize(
    ("instance_id", "leave_group", "epoch"), [(None, False, -1), ("shop", False, -2), ("shop", True, -1)]
)
def test_a_member_leaves_with_the_epoch_that_says_for_how_long(
    instance_id: str | None, leave_group: bool, epoch: int
) -> None:
    world = joined(0, group_instance_id=instance_id)
    world.do(Close(leave_group=leave_group))
    assert world.seen() == [("revoked", tuple(orders(0)))]
    assert (world.heartbeat.member_epoch, world.heartbeat.topic_partitions) == (epoch, None)
    assert not world.steps[-1].closed
    assert world.told(answer(epoch, keeps=True)).closed


def test_unsubscribing_leaves_and_subscribing_joins_again() -> None:
    world = joined(0)
    world.do(Unsubscribe())
    assert (world.seen(), world.heartbeat.member_epoch) == ([("revoked", tuple(orders(0)))], -1)
    world.told(answer(-1, keeps=True))
    assert world.member.state is S.UNSUBSCRIBED
    world.subscribe("returns")
    world.poll()
    assert (world.heartbeat.member_epoch, world.heartbeat.subscribed_topic_names) == (0, ("returns",))


@pytest.mark.parametrize("way_out", ["unsubscribed", "did not poll"])
@pytest.mark.parametrize(
    "said", [answer(-1, keeps=True), refusal(E.UNKNOWN_MEMBER_ID)], ids=["left", "refused"]
)
def test_the_answer_to_a_leave_is_not_taken_for_that_to_the_join_behind_it(
    way_out: str, said: ConsumerGroupHeartbeatResponse
) -> None:
    """Else each answer counts for the next heartbeat, and the last one is dropped, assignment and all."""
    world = joined(0, max_poll_interval_ms=20_000)
    if way_out == "unsubscribed":
        world.do(Unsubscribe())
        world.subscribe("orders")
    else:
        world.told(answer(2, keeps=True))
        world.advance(20_000)
    world.poll()
    assert [each.member_epoch for each in world.heartbeats] == [-1, 0]
    world.told(said)
    assert world.heartbeat.member_epoch == 0
    assert world.member.state is S.JOINING
    world.told(answer(3, *orders(0, 1)))
    world.poll()
    assert set(world.member.positions) == set(orders(0, 1))


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("shop", -2)])
def test_a_user_that_stops_polling_leaves_and_comes_back_with_the_next_poll(
    instance_id: str | None, epoch: int
) -> None:
    world = joined(0, group_instance_id=instance_id, max_poll_interval_ms=20_000)
    for _ in range(3):
        world.told(answer(2, keeps=True))
    assert world.member.state is S.STABLE
    world.advance(INTERVAL_MS)
    assert [each.member_epoch for each in world.heartbeats] == [epoch]
    assert (world.member.state, world.seen()) == (S.STALE, [])
    world.told(answer(epoch, keeps=True))
    world.advance(60_000)
    assert not world.heartbeats
    world.poll()
    assert world.seen() == [("lost", tuple(orders(0)))]
    assert world.heartbeat.member_epoch == 0


def test_the_states_that_can_follow_each_other_are_those_of_kafka() -> None:
    """Kafka's MemberState lists what may come before. PREPARE_LEAVING and LEAVING are over at once here."""
    before = {
        S.STABLE: {S.JOINING, S.ACKNOWLEDGING, S.RECONCILING},
        S.RECONCILING: {S.STABLE, S.JOINING, S.ACKNOWLEDGING},
        S.ACKNOWLEDGING: {S.RECONCILING},
        S.FENCED: {S.JOINING, S.STABLE, S.RECONCILING, S.ACKNOWLEDGING},
        S.JOINING: {S.FENCED, S.UNSUBSCRIBED, S.STALE},
        S.STALE: {S.JOINING, S.STABLE, S.RECONCILING, S.ACKNOWLEDGING},
        S.UNSUBSCRIBED: {S.JOINING, S.STABLE, S.RECONCILING, S.ACKNOWLEDGING, S.FENCED, S.STALE},
    }
    ours = {
        state: {each for each, followers in CONSUMER_TRANSITIONS.items() if state in followers} for state in S
    }
    assert ours == before


def test_a_member_of_assigned_partitions_never_joins() -> None:
    world = ConsumerWorld(group_id="g")
    world.do(Assign(partitions=tuple(orders(0))))
    world.settle(Fetch)
    world.do(Poll())
    assert not world.heartbeats
    assert world.member.state is S.UNSUBSCRIBED

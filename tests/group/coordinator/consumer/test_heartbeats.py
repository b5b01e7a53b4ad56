"""Members of the consumer protocol: joining, reconciling, fencing, leaving (KIP-848)."""

from typing import Any

import pytest

from kgroup.group.coordinator.consumer.classic_members import JOIN, SYNC
from kgroup.group.coordinator.consumer.rules import REBALANCE, SESSION
from kgroup.group.coordinator.metadata_image import TopicImage
from kgroup.group.coordinator.step import Request
from kgroup.group.coordinator.timers import TimerKey
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat
from kgroup.protocol.requests.coordinator import DeleteGroups
from tests.group.coordinator.consumer.world import GROUP, ORDERS, ConsumerWorld, given


def test_the_first_member_gets_everything_at_epoch_2() -> None:
    """A group is founded at epoch 1, and its first subscription raises that (Kafka 4.3)."""
    world = ConsumerWorld()
    answer = world.join("a", "orders")
    assert (answer.member_epoch, given(answer)) == (2, {"orders": [0, 1, 2, 3]})
    assert (answer.member_id, answer.heartbeat_interval_ms) == ("a", 5_000)
    assert world.types() == [
        "MEMBER_METADATA",
        "METADATA",
        "TARGET_ASSIGNMENT_MEMBER",
        "TARGET_ASSIGNMENT_METADATA",
        "CURRENT_MEMBER_ASSIGNMENT",
    ]
    assert world.state() == "Stable"


def test_a_partition_is_given_only_when_its_owner_has_said_that_it_gave_it_up() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    assert given(world.join("b", "orders")) == {}
    assert world.state() == "Reconciling"
    asked = world.beat("a")
    assert (asked.member_epoch, given(asked)) == (2, {"orders": [0, 1]})  # its epoch waits for it
    assert given(world.beat("b")) is None
    assert given(world.beat("a", says={"orders": [0, 1, 2]})) is None  # not all of it is gone yet
    assert given(world.beat("b")) is None
    assert world.beat("a", says={"orders": [0, 1]}).member_epoch == 3
    assert given(world.beat("b")) == {"orders": [2, 3]}
    assert world.state() == "Stable"


def test_a_member_that_does_not_give_up_in_its_rebalance_timeout_is_out() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    world.join("b", "orders")
    world.beat("a")  # is asked to give up two
    for _ in range(6):
        world.advance(900)
        assert not world.beat("b").error_code
        if world.beat("a").error_code:
            break
    assert world.beat("a").error_code is E.UNKNOWN_MEMBER_ID
    assert world.settle("b") == {"b": {"orders": [0, 1, 2, 3]}}


def test_a_silent_member_is_out_after_its_session_and_what_it_had_is_free() -> None:
    world = ConsumerWorld(consumer_session_timeout_ms=3_000)
    world.join("a", "orders")
    world.advance(1_500)
    world.join("b", "orders")
    world.advance(1_499)
    assert len(world.described().members) == 2
    world.advance(1)
    assert [member.member_id for member in world.described().members] == ["b"]
    assert world.settle("b") == {"b": {"orders": [0, 1, 2, 3]}}
    world.advance(3_000)
    assert world.state() == "Empty"


def test_a_heartbeat_keeps_the_session() -> None:
    world = ConsumerWorld(consumer_session_timeout_ms=3_000)
    world.join("a", "orders")
    for _ in range(5):
        world.advance(2_999)
        assert not world.beat("a").error_code


def test_leaving_gives_the_others_everything() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    world.join("b", "orders")
    world.settle("a", "b")
    before = len(world.log)
    left = world.beat("b", -1)
    assert (left.error_code, left.member_epoch) == (E.NONE, -1)
    assert world.settle("a") == {"a": {"orders": [0, 1, 2, 3]}}
    assert world.types()[before : before + 4] == [
        "CURRENT_MEMBER_ASSIGNMENT tombstone",  # Kafka cannot load them in another order
        "TARGET_ASSIGNMENT_MEMBER tombstone",
        "MEMBER_METADATA tombstone",
        "METADATA",
    ]


@pytest.mark.parametrize(
    ("epoch", "says", "error"),
    [
        (4, None, E.FENCED_MEMBER_EPOCH),  # from the future
        (1, None, E.FENCED_MEMBER_EPOCH),  # older than the one before
        (2, None, E.FENCED_MEMBER_EPOCH),  # the one before, without saying what it has
        (2, {"orders": [0, 3]}, E.FENCED_MEMBER_EPOCH),  # with something that is no longer its own
        (2, {"orders": [0]}, E.NONE),  # the answer with the new epoch was lost
        (3, None, E.NONE),
        (0, {}, E.NONE),  # starts anew
    ],
)
def test_a_member_is_fenced_by_its_epoch(epoch: int, says: dict[str, list[int]] | None, error: E) -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    world.join("b", "orders")
    world.settle("a", "b")
    assert (world.epochs["a"], world.owned["a"]) == (3, {"orders": [0, 1]})
    joins = {"rebalance_timeout_ms": 5_000, "subscribed_topic_names": ("orders",)} if epoch == 0 else {}
    assert world.beat("a", epoch, says=says, **joins).error_code is error


@pytest.mark.parametrize(("epoch", "how"), [(9, "greater"), (1, "smaller")])
def test_a_fenced_member_hears_of_both_epochs(epoch: int, how: str) -> None:
    """In the words of a broker of 4.3.1."""
    world = ConsumerWorld()
    world.join("a", "orders")
    world.join("b", "orders")
    world.settle("a", "b")
    assert world.beat("a", epoch).error_message == (
        f"The consumer group member has a {how} member epoch ({epoch}) than the one known by the group"
        " coordinator (3). The member must abandon all its partitions and rejoin."
    )


@pytest.mark.parametrize(
    ("epoch", "classic", "words"),
    [
        (3, False, "Consumer group g not found."),
        (-1, False, "Group g not found."),
        (3, True, "Group g is not a consumer group."),
        (-1, True, "Group g is not a consumer group."),
    ],
)
def test_who_has_no_group_hears_which_there_is(epoch: int, classic: bool, words: str) -> None:
    """In the words of a broker of 4.3.1."""
    world = ConsumerWorld()
    if classic:
        world.classic_member()
    assert world.beat("a", epoch).error_message == words


def test_unknown_members_and_groups_are_told_apart() -> None:
    world = ConsumerWorld()
    assert world.beat("a", 3).error_code is E.GROUP_ID_NOT_FOUND
    assert world.beat("a", -1).error_code is E.GROUP_ID_NOT_FOUND
    world.join("a", "orders")
    assert world.beat("b", 3).error_code is E.UNKNOWN_MEMBER_ID
    assert world.beat("b", -1).error_code is E.UNKNOWN_MEMBER_ID


def test_a_full_group_lets_nobody_in_but_its_own() -> None:
    world = ConsumerWorld(consumer_max_size=2)
    world.join("a", "orders")
    world.join("b", "orders")
    assert world.join("c", "orders").error_code is E.GROUP_MAX_SIZE_REACHED
    assert not world.join("a", "orders").error_code


def test_a_changed_subscription_takes_away_at_once_and_gives_when_free() -> None:
    world = ConsumerWorld()
    world.join("a", "orders", "payments")
    assert world.settle("a") == {"a": {"orders": [0, 1, 2, 3], "payments": [0, 1]}}
    answer = world.beat("a", subscribed_topic_names=("payments",))
    assert (answer.member_epoch, given(answer)) == (2, {"payments": [0, 1]})
    assert world.beat("a", says={"payments": [0, 1]}).member_epoch == 3


def test_a_topic_that_grows_raises_the_epoch_with_the_next_heartbeat() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    world.image.put(TopicImage(name="orders", topic_id=ORDERS, partitions=6))
    assert world.beat("a").member_epoch == 2  # nobody has told the coordinator yet
    world.coordinator.topics_changed(frozenset({"payments"}), False)
    assert world.beat("a").member_epoch == 2
    world.coordinator.topics_changed(frozenset({"orders"}), False)
    answer = world.beat("a")
    assert (answer.member_epoch, given(answer)) == (3, {"orders": [0, 1, 2, 3, 4, 5]})


def test_topics_are_looked_at_again_after_an_hour_without_being_told() -> None:
    world = ConsumerWorld(consumer_session_timeout_ms=4_000_000)
    world.join("a", "orders")
    world.image.put(TopicImage(name="orders", topic_id=ORDERS, partitions=5))
    world.advance(3_599_999)
    assert world.beat("a").member_epoch == 2
    world.advance(1)
    assert world.beat("a").member_epoch == 3


def test_targets_are_worked_out_at_most_once_in_an_interval() -> None:
    """KIP-1263: until then newcomers stand at the last epoch with nothing."""
    world = ConsumerWorld(consumer_assignment_interval_ms=1_000)
    world.join("a", "orders")
    answer = world.join("b", "orders")
    assert (answer.member_epoch, given(answer), world.state()) == (2, {}, "Assigning")
    world.advance(999)
    assert (world.beat("b").member_epoch, world.state()) == (2, "Assigning")
    world.advance(1)
    assert (world.beat("b").member_epoch, world.state()) == (3, "Reconciling")


def test_the_assignor_that_most_ask_for_is_taken() -> None:
    world = ConsumerWorld()
    world.join("a", "orders", server_assignor="range")
    assert world.described().assignor_name == "range"
    world.join("b", "orders", server_assignor="uniform")
    world.join("c", "orders", server_assignor="uniform")
    assert world.described().assignor_name == "uniform"
    none_asks = ConsumerWorld(consumer_assignors=("range", "uniform"))
    none_asks.join("a", "orders")
    assert none_asks.described().assignor_name == "range"


def test_only_an_empty_group_can_be_deleted() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    [result] = world.ask(DeleteGroups(group_ids=(GROUP,))).results
    assert result.error_code is E.NON_EMPTY_GROUP
    world.beat("a", -1)
    [result] = world.ask(DeleteGroups(group_ids=(GROUP,))).results
    assert (result.error_code, world.described().error_code) == (E.NONE, E.GROUP_ID_NOT_FOUND)
    world.reload()
    assert world.described().error_code is E.GROUP_ID_NOT_FOUND


def test_an_answer_shows_the_assignment_only_if_it_is_new_or_all_was_said() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    assert given(world.beat("a")) is None
    everything = {"rebalance_timeout_ms": 5_000, "subscribed_topic_names": ("orders",)}
    assert given(world.beat("a", says=world.owned["a"], **everything)) == {"orders": [0, 1, 2, 3]}


def test_a_heartbeat_without_its_rebalance_timeout_is_not_a_full_one() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    said = {"orders": [0, 1, 2, 3]}
    assert world.beat("a", says=said, subscribed_topic_names=("orders",)).assignment is None
    full = world.beat("a", says=said, subscribed_topic_names=("orders",), rebalance_timeout_ms=5_000)
    assert given(full) == said


def test_whatever_a_member_says_anew_of_itself_is_in_the_log() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    records, epoch = len(world.log), world.described().group_epoch
    wish = {"subscribed_topic_names": ("orders",), "rebalance_timeout_ms": 9_000}
    world.beat("a", says={"orders": [0, 1, 2, 3]}, **wish)
    assert world.types()[records:] == ["MEMBER_METADATA"]
    assert world.described().group_epoch == epoch


def test_who_goes_for_a_while_without_an_instance_id_has_left() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    world.join("b", "orders")
    assert world.beat("a", -2).member_epoch == -2
    assert [member.member_id for member in world.described().members] == ["b"]


def test_nothing_of_a_member_that_left_is_waited_for() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    world.join("b", "orders")
    world.beat("a")  # is to give up, and has five seconds
    world.beat("a", -1)
    for kind in (SESSION, REBALANCE, JOIN, SYNC):
        assert world.coordinator.deadline_ms(TimerKey(kind, GROUP, "a")) is None


def test_a_member_is_where_its_last_heartbeat_came_from() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    body = ConsumerGroupHeartbeat(group_id=GROUP, member_id="a", member_epoch=world.epochs["a"])
    for written in (1, 0):  # the second time nothing has changed
        request = Request(id=99, body=body, client_id="moved", client_host="/10.0.0.1")
        step = world.coordinator.handle(request, world.now_ms)
        assert len(list(step.records())) == written
        [member] = world.described().members
        assert (member.client_id, member.client_host) == ("moved", "/10.0.0.1")


def test_groups_are_listed_by_their_states_and_have_a_size() -> None:
    world = ConsumerWorld()
    assert world.coordinator.size(GROUP) == 0
    world.join("a", "orders")
    world.join("b", "orders")

    def listed(*states: str) -> list[str]:
        return [group.group_state for group in world.coordinator.listing(frozenset(states))]

    assert listed("reconciling") == ["Reconciling"]
    assert listed("stable", "empty") == []
    assert world.coordinator.size(GROUP) == 2
    world.settle("a", "b")
    assert listed("stable", "empty") == ["Stable"]


def test_an_expression_stays_as_long_as_somebody_has_it() -> None:
    world = ConsumerWorld()
    world.join("a", subscribed_topic_regex="ord.*")
    world.join("b", subscribed_topic_regex="ord.*")
    world.advance(0)
    world.settle("a", "b")
    records = len(world.log)
    world.beat("b", subscribed_topic_regex="pay.*", says=world.owned["b"], rebalance_timeout_ms=5_000)
    assert "REGULAR_EXPRESSION tombstone" not in world.types()[records:]
    world.beat("a", subscribed_topic_regex="", says=world.owned["a"], rebalance_timeout_ms=5_000)
    assert "REGULAR_EXPRESSION tombstone" in world.types()[records:]


def test_expressions_are_matched_by_the_coordinator_a_moment_later() -> None:
    world = ConsumerWorld()
    first = world.join("a", subscribed_topic_names=None, subscribed_topic_regex="ord.*|nope")
    assert (first.member_epoch, given(first)) == (1, {})
    answer = world.beat("a")
    assert (answer.member_epoch, given(answer)) == (2, {"orders": [0, 1, 2, 3]})
    assert world.types()[:4] == [
        "MEMBER_METADATA",
        "CURRENT_MEMBER_ASSIGNMENT",
        "REGULAR_EXPRESSION",
        "METADATA",
    ]


def test_an_expression_matches_whole_names_only_and_a_wrong_one_is_refused() -> None:
    world = ConsumerWorld()
    world.join("a", subscribed_topic_names=None, subscribed_topic_regex="order|paymentss?")
    assert given(world.beat("a")) == {"payments": [0, 1]}
    for wrong in ("(", "(?=look)ahead", r"(a)\1"):
        refused = world.join("b", subscribed_topic_names=None, subscribed_topic_regex=wrong)
        assert refused.error_code is E.INVALID_REGULAR_EXPRESSION
        assert wrong in (refused.error_message or "")
    assert [member.member_id for member in world.described().members] == ["a"]


def test_an_expression_matches_what_its_member_may_see() -> None:
    world = ConsumerWorld()
    world.join(
        "a",
        subscribed_topic_names=None,
        subscribed_topic_regex=".*",
        may_describe=lambda name: name == "payments",
    )
    assert given(world.beat("a")) == {"payments": [0, 1]}


def test_what_a_member_might_see_is_forgotten_with_its_group() -> None:
    world = ConsumerWorld()
    wish: dict[str, Any] = {"subscribed_topic_names": None, "subscribed_topic_regex": ".*"}
    world.join("a", **wish, may_describe=lambda name: name == "payments")
    assert given(world.beat("a")) == {"payments": [0, 1]}
    world.beat("a", -1)
    world.ask(DeleteGroups(group_ids=(GROUP,)))
    world.join("b", **wish)
    assert given(world.beat("b")) == {"orders": [0, 1, 2, 3], "payments": [0, 1]}


def test_expressions_are_matched_again_when_the_last_time_is_longer_ago_than_is_set() -> None:
    world = ConsumerWorld(consumer_regex_refresh_interval_ms=60_000, consumer_session_timeout_ms=600_000)
    world.join("a", subscribed_topic_names=None, subscribed_topic_regex="pay.*")
    world.beat("a")
    world.image.put(TopicImage(name="payouts", topic_id=ORDERS, partitions=1))
    world.advance(60_000)
    world.beat("a")
    assert world.beat("a").member_epoch == 2
    world.advance(1)
    world.beat("a")
    assert world.beat("a").member_epoch == 3


def settled_with_an_expression_each() -> ConsumerWorld:
    """Member a reads what `ord.*` matches, b what `pay.*` does."""
    world = ConsumerWorld()
    world.join("a", subscribed_topic_names=None, subscribed_topic_regex="ord.*")
    world.join("b", subscribed_topic_names=None, subscribed_topic_regex="pay.*")
    world.advance(0)
    world.settle("a", "b")
    return world


def test_whoever_takes_over_an_expression_of_others_is_given_its_topics_at_once_though_all_are_old() -> None:
    world = settled_with_an_expression_each()
    epoch = world.described().group_epoch
    world.advance(10_001)
    world.coordinator.topics_changed(frozenset({"else"}), True)
    answer = world.beat(
        "b", subscribed_topic_regex="ord.*", says=world.owned["b"], rebalance_timeout_ms=5_000
    )
    assert world.described().group_epoch == epoch + 1
    assert not answer.error_code


def test_an_expression_that_nobody_has_any_more_is_not_matched_again() -> None:
    world = settled_with_an_expression_each()
    assert not world.beat("b", subscribed_topic_regex="ord.*").error_code
    world.settle("a", "b")
    records = len(world.log)
    world.advance(10_001)
    world.settle("a", "b")
    world.advance(0)
    assert "REGULAR_EXPRESSION" not in " ".join(world.types()[records:])


def test_a_topic_that_is_deleted_is_taken_from_those_who_have_it_when_somebody_joins() -> None:
    world = ConsumerWorld()
    world.join("a", "orders", "payments")
    world.settle("a")
    world.image.remove("payments")
    assert not world.join("b", "orders", "payments").error_code
    settled = world.settle("a", "b")
    assert sorted(number for owned in settled.values() for number in owned["orders"]) == [0, 1, 2, 3]
    assert [list(owned) for owned in settled.values()] == [["orders"], ["orders"]]


def test_new_topics_are_matched_when_they_are_made_but_not_within_ten_seconds() -> None:
    world = ConsumerWorld()
    world.join("a", subscribed_topic_names=None, subscribed_topic_regex="pay.*")
    world.beat("a")
    world.image.put(TopicImage(name="payouts", topic_id=ORDERS, partitions=1))
    world.coordinator.topics_changed(frozenset({"payouts"}), True)
    world.advance(10_000)
    world.beat("a")
    assert world.beat("a").member_epoch == 2
    world.advance(1)
    world.beat("a")
    assert world.beat("a").member_epoch == 3


def test_the_last_member_takes_its_expression_with_it() -> None:
    world = ConsumerWorld()
    world.join("a", subscribed_topic_names=None, subscribed_topic_regex="pay.*")
    world.join("b", subscribed_topic_names=None, subscribed_topic_regex="pay.*")
    world.beat("a", -1)
    assert "REGULAR_EXPRESSION tombstone" not in world.types()
    world.beat("b", -1)
    assert "REGULAR_EXPRESSION tombstone" in world.types()


@pytest.mark.parametrize("moment", range(9))
def test_a_coordinator_that_takes_over_knows_all_that_the_last_one_did(moment: int) -> None:
    world = ConsumerWorld()
    steps = [
        lambda: world.join("a", "orders", instance_id="i"),
        lambda: world.join("b", "orders"),
        lambda: world.beat("a", says={"orders": [0, 1, 2, 3]}),
        lambda: world.beat("a", says={"orders": [0, 1]}),
        lambda: world.beat("b"),
        lambda: world.beat("b", subscribed_topic_names=(), subscribed_topic_regex="pay.*"),
        lambda: world.beat("b", says={}),
        lambda: world.beat("a", -2, instance_id="i"),
        lambda: world.beat("b", -1),
    ]
    for number, step in enumerate(steps):
        step()
        if number == moment:
            before = world.described()
            world.reload()
            assert world.described() == before
    world.reload()
    assert world.described().members[0].member_epoch == -2


def test_a_partition_that_comes_back_while_it_is_given_up_is_its_owners_at_once() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    world.join("b", "orders")
    world.beat("a")  # is asked to give up 2 and 3
    world.beat("b", -1)
    answer = world.beat("a", says={"orders": [0, 1]})
    assert (answer.member_epoch, given(answer)) == (4, {"orders": [0, 1, 2, 3]})


def test_sessions_begin_anew_when_a_coordinator_takes_over() -> None:
    world = ConsumerWorld(consumer_session_timeout_ms=3_000)
    world.join("a", "orders")
    world.advance(2_000)
    world.reload()
    world.advance(2_999)
    assert world.state() == "Stable"
    world.advance(1)
    assert world.state() == "Empty"


def test_so_does_the_time_to_give_up() -> None:
    world = ConsumerWorld()
    world.join("a", "orders")
    world.join("b", "orders")
    world.beat("a")  # is asked to give up two, for which it has 5 s
    world.reload()
    world.advance(4_000)
    assert not world.beat("a").error_code
    world.advance(1_000)
    assert world.beat("a").error_code is E.UNKNOWN_MEMBER_ID

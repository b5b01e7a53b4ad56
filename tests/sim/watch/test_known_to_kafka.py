"""Ways in which Kafka's own coordinator leaves partitions without a reader, or fails, told from every bug."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from kgroup.group.coordinator.classic.group import ClassicGroup, Member
from kgroup.group.coordinator.classic.rounds import ClassicRounds
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import ConsumerMember
from kgroup.group.coordinator.consumer.migration import LAST_ONE_GONE, Migration
from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.group.coordinator.events import (
    GenerationFormed,
    GroupDeleted,
    GroupEvent,
    GroupStable,
    MemberAdded,
    MemberRemoved,
    RebalanceStarted,
)
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.member.classic.rounds import Rounds
from kgroup.group.member.consumer.membership import ConsumerMembership
from kgroup.group.member.identity import MemberState
from kgroup.group.member.step import MemberError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.values import GroupMetadataValue, MemberMetadata
from kgroup.protocol.requests.consumer_group import (
    AssignedTopic,
    ConsumerAssignment,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kgroup.protocol.requests.coordinator import Heartbeat, HeartbeatResponse, JoinGroup
from kgroup.protocol.subscription import Assignment, NamedTopicPartitions, encode_assignment
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.swarm import Swarm, run_seed
from kgroup.sim.watch.downgrades import Downgrades
from kgroup.sim.watch.first_rounds import FirstRounds, fails
from kgroup.sim.watch.lost_words import LostWords
from kgroup.sim.watch.result import (
    ANSWERS_FIT,
    KNOWN,
    MEMBERS_GO_ON,
    RECONCILES,
    ROUNDS_END,
    SETTLES,
    UNREVOKED,
    Violation,
)
from kgroup.sim.watch.stale_heartbeats import StaleHeartbeats
from kgroup.sim.watch.unheard import Unheard
from kgroup.sim.world.member_host import MemberHost

TWICE = (621892, Swarm.CONSUMER)
"""A first heartbeat is delivered twice, and only the second answer gives the member orders-8."""
DOWN = (640841, Swarm.MIGRATION)
"""The coordinator moves 1.5 s after the last member of the consumer protocol was put out."""
UNTOLD = (9620, Swarm.MIGRATION)
"""The same; orders-3, which the one put out had, was the target of a member that waited for it."""
UNSAID = (115274, Swarm.MIGRATION)
"""Power fails between the record of the change back and whatever its coordinator would say of it."""
TOLD_THE_SAME = (710369, Swarm.MIGRATION)
"""Power fails after the change back, and two that follow join again, with what they had said before."""
FORGOTTEN = (713325, Swarm.CONSUMER)
"""c1 is told to give orders-0 to 3 up, and every log of its group loses its end before it has."""
FORGOTTEN_LATE = (806887, Swarm.CONSUMER)
"""The same of c1's payments-2; it hears so when power has failed and is back."""
COPIED = (3592, Swarm.CONSUMER)
"""The second copy of c1's first heartbeat arrives when others have joined and c1 has taken what it got."""
COPIED_LATER = (20381, Swarm.CONSUMER)
"""The same of c5's second heartbeat, which says that it has nothing yet."""
LATE = (100847, Swarm.CONSUMER)
"""A cut holds c4's first heartbeat back; it hangs up, joins, and has got two partitions when that arrives."""
LATE_AND_ON = (803883, Swarm.CONSUMER)
"""c2's first heartbeat of before comes late, for a topic less, and c2 goes on from epoch 8 to 10."""
DESERTED = (940393, Swarm.MIGRATION)
"""The only member leaves its group in the first round, and comes back within it by the other protocol."""
EARLY = (920200, Swarm.CONSUMER)
"""A classic stranger waits in the first round of the group when its two members join."""

ALL_SENT_BACK = (108774, Swarm.MIGRATION)
"""The one that waits in a first round, a static member, is sent back 16 ms before the initial delay ends."""

ALL_SENT_BACK_LATER = (125976, Swarm.MIGRATION)
"""The two that wait in the second round are sent back 1 ms before it ends; static members are away."""


def found(violations: tuple[Violation, ...]) -> list[tuple[str, str]]:
    return [(each.checker, each.what) for each in violations]


@pytest.mark.parametrize(
    ("seed", "checker", "what"),
    [
        pytest.param(TWICE, RECONCILES, "g: orders-8 is read by nobody", id="delivered-twice"),
        pytest.param(DOWN, SETTLES, "g: orders-4 is read by nobody", id="downgraded-and-moved"),
        pytest.param(UNTOLD, SETTLES, "g: orders-3 is read by nobody", id="downgraded-and-untold"),
        pytest.param(UNSAID, SETTLES, "g: orders-2 is read by nobody", id="downgraded-and-unsaid"),
        pytest.param(FORGOTTEN, RECONCILES, "g: orders-0 is read by nobody", id="lost-with-its-log"),
        pytest.param(FORGOTTEN_LATE, RECONCILES, "g: payments-2 is read by nobody", id="lost-and-heard"),
    ],
)
def test_what_kafka_does_too_is_known(seed: tuple[int, Swarm], checker: str, what: str) -> None:
    run = run_seed(*seed)
    assert (found(run.violations), found(run.known)) == ([], [(checker, what)])
    assert run.settled_ms is None
    assert checker in KNOWN


def test_a_change_back_that_those_who_follow_hear_nothing_of_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The members of this seed wait before they join again also when it was a heartbeat that failed."""
    rule = Rounds._repeat_round

    def repeat_round(self: Rounds, reason: str, now_ms: int) -> None:
        if self._identity.state is MemberState.STABLE:
            self._backoff.failed(now_ms)
        rule(self, reason, now_ms)

    monkeypatch.setattr(Rounds, "_repeat_round", repeat_round)
    run = run_seed(*TOLD_THE_SAME)
    assert (found(run.violations), found(run.known)) == ([], [(SETTLES, "g: orders-0 is read by nobody")])


@pytest.mark.parametrize(
    ("seed", "has"),
    [
        (COPIED, "c1 has orders-0 orders-1 orders-2 orders-3 at epoch 2"),
        (COPIED_LATER, "c5 has payments-4 at epoch 6"),
        (LATE, "c4 has payments-3 at epoch 18"),
        (LATE_AND_ON, f"c2 has {' '.join(f'payments-{n}' for n in range(6))} at epoch 10"),
    ],
    ids=["joining", "full", "late", "late-and-on"],
)
def test_a_stale_heartbeat_that_gives_up_what_its_member_has_is_known(
    seed: tuple[int, Swarm], has: str
) -> None:
    run = run_seed(*seed)
    what = f"g: {has}, and the coordinator thinks that it gave that up"
    assert (found(run.violations), found(run.known)) == ([], [(UNREVOKED, what)])
    assert run.settled_ms is not None
    assert UNREVOKED in KNOWN


def test_a_member_that_takes_more_than_it_was_given_before_the_copy_has_no_excuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the same seed: c1 hears of orders-0 and all others, and its coordinator keeps none of orders-0."""
    rule = ConsumerGroup.put

    def put(self: ConsumerGroup, member: ConsumerMember) -> None:
        less = {
            topic_id: {number: epoch for number, epoch in epochs.items() if number}
            for topic_id, epochs in member.assigned.items()
        }
        rule(self, replace(member, assigned=less))

    monkeypatch.setattr(ConsumerGroup, "put", put)
    assert UNREVOKED in {checker for checker, _ in found(run_seed(*COPIED).violations)}


def test_who_comes_in_the_first_round_of_a_classic_group_is_started_again() -> None:
    run = run_seed(*EARLY)
    what = "ConsumerGroupHeartbeat: UNKNOWN_SERVER_ERROR"
    assert found(run.violations) == []
    assert found(run.known) == [(MEMBERS_GO_ON, f"c1: {what}"), (MEMBERS_GO_ON, f"c2: {what}")]
    assert run.settled_ms is not None
    assert MEMBERS_GO_ON in KNOWN


def test_who_comes_in_a_first_round_that_all_have_left_is_let_in() -> None:
    run = run_seed(*DESERTED)
    assert (run.violations, run.known) == ((), ())


def test_a_coordinator_that_fails_on_a_round_without_members_has_no_excuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the same seed."""
    rule = Migration._consumer_group_of

    def consumer_group_of(self: Migration, classic: ClassicGroup) -> ConsumerGroup:
        if classic.protocol_name is None:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "")
        return rule(self, classic)

    monkeypatch.setattr(Migration, "_consumer_group_of", consumer_group_of)
    run = run_seed(*DESERTED)
    assert [checker for checker, _ in found(run.violations)] == [MEMBERS_GO_ON]
    assert run.known == ()


@pytest.mark.parametrize("seed", [ALL_SENT_BACK, ALL_SENT_BACK_LATER], ids=["first", "later"])
def test_a_round_from_which_all_were_sent_back_lasts_for_a_timeout_more(seed: tuple[int, Swarm]) -> None:
    """A static member keeps the group, and Kafka's coordinator asks once more, after a whole timeout."""
    assert run_seed(*seed).violations == ()


def test_a_delay_that_goes_on_after_that_has_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the same seed: somebody came meanwhile, and the initial delay is extended for it."""
    rule = ClassicRounds.join_deadline

    def join_deadline(self: ClassicRounds, group: ClassicGroup) -> None:
        left_ms = group.initial_wait_left_ms
        rule(self, group)
        if group.state is GroupState.PREPARING_REBALANCE:
            group.initial_wait_left_ms = group.initial_wait_left_ms or left_ms

    monkeypatch.setattr(ClassicRounds, "join_deadline", join_deadline)
    run = run_seed(*ALL_SENT_BACK)
    assert found(run.violations) == [(ROUNDS_END, "g: PreparingRebalance takes 2823 ms too long")]


def test_a_group_that_is_upgraded_before_it_has_a_protocol_is_no_group_of_kafkas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the same seed: Kafka's would refuse the newcomer."""
    rule = Migration._consumer_group_of

    def consumer_group_of(self: Migration, classic: ClassicGroup) -> ConsumerGroup:
        classic.protocol_name = classic.protocol_name or classic.choose_protocol()
        return rule(self, classic)

    monkeypatch.setattr(Migration, "_consumer_group_of", consumer_group_of)
    run = run_seed(*EARLY)
    [(checker, what)] = found(run.violations)
    assert checker == ANSWERS_FIT
    assert what.endswith("ConsumerGroupHeartbeat is answered NONE, and UNKNOWN_SERVER_ERROR is due")
    assert run.known == ()


def test_a_coordinator_that_fails_on_a_group_with_a_protocol_has_no_excuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def upgraded(self: Migration, group_id: str, plan: Any) -> ConsumerGroup:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "")

    monkeypatch.setattr(Migration, "upgraded", upgraded)
    run = run_seed(2, Swarm.MIGRATION)
    assert MEMBERS_GO_ON in {checker for checker, _ in found(run.violations)}
    assert run.known == ()


def test_a_member_that_drops_what_it_is_given_has_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the same seed: nobody takes partition 7, whichever answer gives it."""
    rule = ConsumerMembership._proceed

    def proceed(self: ConsumerMembership, answer: ConsumerGroupHeartbeatResponse) -> None:
        given = answer.assignment.topic_partitions if answer.assignment is not None else []
        less = [
            replace(each, partitions=[number for number in each.partitions if number != 7]) for each in given
        ]
        taken = None if answer.assignment is None else ConsumerAssignment(topic_partitions=less)
        rule(self, answer._replace(assignment=taken))

    monkeypatch.setattr(ConsumerMembership, "_proceed", proceed)
    run = run_seed(*TWICE)
    assert (RECONCILES, "g: orders-7 is read by nobody") in found(run.violations)


def test_a_downgrade_that_begins_no_rebalance_has_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the same seed: the coordinator moves all the same, and there was nothing to lose by it."""
    rule = Migration.downgrade

    def downgrade(
        self: Migration, group: Any, leaving: Any, joining: Any, rebalances: bool, plan: Any
    ) -> None:
        rule(self, group, leaving, joining, False, plan)

    monkeypatch.setattr(Migration, "downgrade", downgrade)
    run = run_seed(*DOWN)
    assert (SETTLES, "g: orders-4 is read by nobody") in found(run.violations)
    assert run.known == ()


# ---- delivered twice ------------------------------------------------------------------------------

ORDERS, RETURNS = UUID(int=1), UUID(int=2)
JOINS = ConsumerGroupHeartbeat(group_id="g", member_id="m", member_epoch=0)
GIVEN = ConsumerGroupHeartbeatResponse(
    member_id="m",
    member_epoch=5,
    assignment=ConsumerAssignment(topic_partitions=[AssignedTopic(topic_id=ORDERS, partitions=[8])]),
)
BOOKED = ConsumerMember(member_id="m", member_epoch=6, assigned={ORDERS: {8: 5}, RETURNS: {}})


def test_what_only_the_second_answer_gave() -> None:
    process = Unheard()
    process.answered_again(JOINS, GIVEN)
    process.heard(GIVEN._replace(member_epoch=6, assignment=None))
    assert process.explains(BOOKED)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        pytest.param(JOINS._replace(member_epoch=4), GIVEN, id="no-join"),
        pytest.param(JOINS, GIVEN._replace(assignment=None), id="nothing-given"),
        pytest.param(JOINS, GIVEN._replace(error_code=ErrorCode.UNKNOWN_MEMBER_ID), id="refused"),
    ],
)
def test_another_answer_that_nobody_waits_for_explains_nothing(
    asked: ConsumerGroupHeartbeat, answer: ConsumerGroupHeartbeatResponse
) -> None:
    process = Unheard()
    process.answered_again(asked, answer)
    assert not process.explains(BOOKED)


@pytest.mark.parametrize(
    "booked",
    [
        pytest.param(replace(BOOKED, member_id="n"), id="another-member"),
        pytest.param(replace(BOOKED, assigned={ORDERS: {8: 5, 9: 6}}), id="more"),
        pytest.param(replace(BOOKED, assigned={}), id="less"),
        pytest.param(replace(BOOKED, assigned={RETURNS: {8: 5}}), id="another-topic"),
    ],
)
def test_what_is_given_later_is_for_the_coordinator_to_say(booked: ConsumerMember) -> None:
    process = Unheard()
    process.answered_again(JOINS, GIVEN)
    assert not process.explains(booked)


def test_an_assignment_that_is_heard_since_makes_up_for_it() -> None:
    process = Unheard()
    process.answered_again(JOINS, GIVEN)
    process.heard(GIVEN)
    assert not process.explains(BOOKED)


def test_without_a_second_answer_nothing_is_explained() -> None:
    process = Unheard()
    process.heard(GIVEN)
    assert not process.explains(BOOKED)


# ---- told by a coordinator whose log has lost that ------------------------------------------------

LEFT = ConsumerMember(member_id="m", member_epoch=5, assigned={ORDERS: {7: 5, 8: 4}, RETURNS: {8: 6}})
"""As the next coordinator has it: of what the member has, it was told to keep orders-8 alone."""


BEATS = JOINS._replace(member_epoch=5)


def lost_words(*answers: ConsumerGroupHeartbeatResponse, group_id: str = "g") -> LostWords:
    """Once a coordinator has given these answers to the member, and its log has lost its end."""
    words = LostWords()
    for answer in answers:
        words.answered(BEATS._replace(group_id=group_id), answer)
    words.log_cut()
    return words


def test_what_a_member_was_told_to_give_up_by_a_log_that_is_lost() -> None:
    words = lost_words(GIVEN)
    assert words.explain("g", LEFT, ORDERS, 7)
    words.answered(BEATS, GIVEN._replace(assignment=None))
    words.answered(BEATS, GIVEN._replace(error_code=ErrorCode.FENCED_MEMBER_EPOCH))
    assert words.explain("g", LEFT, ORDERS, 7)
    words.log_cut()
    assert words.explain("g", LEFT, ORDERS, 7)


@pytest.mark.parametrize(
    ("words", "booked", "partition"),
    [
        pytest.param(lost_words(GIVEN), LEFT, (ORDERS, 8), id="it-was-told-to-keep-it"),
        pytest.param(lost_words(GIVEN), LEFT, (ORDERS, 9), id="nobody-gave-it"),
        pytest.param(lost_words(GIVEN), LEFT, (RETURNS, 8), id="it-was-given-later"),
        pytest.param(lost_words(GIVEN), replace(LEFT, member_id="n"), (ORDERS, 7), id="another-member"),
        pytest.param(lost_words(GIVEN, group_id="h"), LEFT, (ORDERS, 7), id="another-group"),
        pytest.param(lost_words(), LEFT, (ORDERS, 7), id="it-was-told-nothing"),
        pytest.param(lost_words(GIVEN._replace(assignment=None)), LEFT, (ORDERS, 7), id="nothing-of-it"),
    ],
)
def test_a_lost_log_explains_nothing_else(
    words: LostWords, booked: ConsumerMember, partition: tuple[UUID, int]
) -> None:
    assert not words.explain("g", booked, *partition)


def test_without_a_loss_a_member_has_to_be_told_again() -> None:
    words = LostWords()
    words.answered(BEATS, GIVEN)
    assert not words.explain("g", LEFT, ORDERS, 7)


def test_an_assignment_since_the_loss_makes_up_for_it() -> None:
    words = lost_words(GIVEN)
    words.answered(BEATS, GIVEN._replace(member_epoch=6))
    assert not words.explain("g", LEFT, ORDERS, 7)


# ---- stale heartbeats ----------------------------------------------------------------------------


COPY = JOINS._replace(topic_partitions=())


def copied(asked: ConsumerGroupHeartbeat = COPY, *, is_there: bool = True) -> StaleHeartbeats:
    """Once the coordinator has taken a copy, and had given the member `orders` 8, and wanted 9 back."""
    group = ConsumerGroup("g")
    group.put(
        ConsumerMember(
            member_id="m",
            member_epoch=5,
            previous_member_epoch=4,
            assigned={ORDERS: {8: 5}},
            revoking={ORDERS: {9: 5}},
        )
    )
    copies = StaleHeartbeats({ORDERS: "orders"}.get)
    copies.taken(asked, group if is_there else None)
    return copies


EIGHT, NINE, SEVEN = ("orders", 8), ("orders", 9), ("orders", 7)


def test_a_copy_gives_up_everything() -> None:
    assert copied().explain("g", "m", 5, {EIGHT, NINE})


@pytest.mark.parametrize(
    ("group_id", "member_id", "epoch", "partitions"),
    [
        pytest.param("h", "m", 5, {EIGHT}, id="another-group"),
        pytest.param("g", "n", 5, {EIGHT}, id="another-member"),
        pytest.param("g", "m", 6, {EIGHT}, id="later"),
        pytest.param("g", "m", 5, {EIGHT, SEVEN}, id="more"),
    ],
)
def test_a_copy_gives_up_nothing_else(
    group_id: str, member_id: str, epoch: int, partitions: set[tuple[str, int]]
) -> None:
    assert not copied().explain(group_id, member_id, epoch, partitions)


def names(epoch: int, *partitions: int) -> ConsumerGroupHeartbeat:
    """A heartbeat that says what its member has."""
    return JOINS._replace(member_epoch=epoch, topic_partitions=((ORDERS, partitions),) if partitions else ())


@pytest.mark.parametrize("epoch", [4, 5])
def test_a_copy_of_a_full_heartbeat_gives_up_what_it_does_not_name(epoch: int) -> None:
    assert copied(names(epoch)).explain("g", "m", 5, {EIGHT, NINE})
    assert copied(names(epoch, 8)).explain("g", "m", 5, {NINE})
    assert not copied(names(epoch, 8)).explain("g", "m", 5, {EIGHT})


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(JOINS._replace(member_epoch=5), id="says-nothing"),
        pytest.param(names(3), id="older"),
        pytest.param(names(6), id="newer"),
        pytest.param(names(4, 7), id="names-what-is-not-the-members"),
    ],
)
def test_a_copy_that_kafka_refuses_or_that_names_nothing_gives_up_nothing(
    asked: ConsumerGroupHeartbeat,
) -> None:
    assert not copied(asked).explain("g", "m", 5, {EIGHT})


ON = ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=7, assignment=None)


def test_who_is_not_fenced_goes_on_with_what_it_has() -> None:
    """The coordinator has it at the epoch of before, and goes on with it to 7 and 9."""
    copies = copied()
    copies.answered(names(5), ON)
    assert all(copies.explain("g", "m", epoch, {EIGHT}) for epoch in (5, 7))
    assert not copies.explain("g", "m", 9, {EIGHT})
    assert not copies.explain("g", "m", 4, {EIGHT})
    copies.answered(names(7), ON._replace(member_epoch=9))
    assert copies.explain("g", "m", 9, {EIGHT})


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        pytest.param(names(5), GIVEN._replace(member_epoch=7), id="given-another-assignment"),
        pytest.param(names(5), ON._replace(error_code=ErrorCode.FENCED_MEMBER_EPOCH), id="fenced"),
        pytest.param(names(0), ON, id="joined-again"),
        pytest.param(names(6), ON, id="at-another-epoch"),
        pytest.param(names(5)._replace(member_id="n"), ON, id="another-member"),
        pytest.param(names(5)._replace(group_id="h"), ON, id="in-another-group"),
    ],
)
def test_who_hears_or_is_somewhere_else_does_not(
    asked: ConsumerGroupHeartbeat, answer: ConsumerGroupHeartbeatResponse
) -> None:
    copies = copied()
    copies.answered(asked, answer)
    assert not copies.explain("g", "m", 7, {EIGHT})


def test_a_copy_for_a_group_that_is_not_there_gives_up_nothing() -> None:
    assert not copied(is_there=False).explain("g", "m", 5, {EIGHT})


@pytest.mark.parametrize(
    ("readers", "is_explained"),
    [
        pytest.param([("m", 5), ("n", 6)], True, id="one-reads-on"),
        pytest.param([("n", 6), ("m", 5)], True, id="in-the-other-order"),
        pytest.param([("m", 5)], True, id="alone"),
        pytest.param([("m", 6), ("n", 6)], False, id="at-another-epoch"),
        pytest.param([("m", 5), ("n", 6), ("o", 6)], False, id="two-more"),
    ],
)
def test_who_reads_on_what_it_is_thought_to_have_given_up(
    readers: list[tuple[str, int]], is_explained: bool
) -> None:
    assert copied().explain_readers("g", readers, EIGHT) is is_explained
    assert not copied().explain_readers("g", [*readers, ("o", 6), ("p", 6)], SEVEN)


# ---- downgraded and moved -------------------------------------------------------------------------

FIRST: Any = object()
SECOND: Any = object()
"""Two coordinators of the group, one after the other."""
GONE = RebalanceStarted(group_id="g", generation_id=3, why=LAST_ONE_GONE)
PUT_OUT = MemberRemoved(group_id="g", member_id="new", why="session expired")


AGAIN = JoinGroup(
    group_id="g",
    session_timeout_ms=1,
    rebalance_timeout_ms=1,
    member_id="old",
    group_instance_id=None,
    protocol_type="consumer",
    protocols=(("range", b""),),
)
"""The only member, which leads, joins again with what it said before."""


def downgraded(*events: tuple[Any, GroupEvent]) -> Downgrades:
    downgrades = Downgrades()
    for hosted, event in events:
        downgrades.heard(hosted, event)
    return downgrades


def classic(change: Callable[[ClassicGroup], None] = lambda group: None) -> ClassicGroup:
    """As the second one has loaded it: of one member, which has orders-0."""
    group = ClassicGroup("g", 0)
    owned = Assignment(assigned_partitions=(NamedTopicPartitions(topic="orders", partitions=(0,)),))
    member = Member(
        member_id="old",
        group_instance_id=None,
        client_id="c",
        client_host="h",
        rebalance_timeout_ms=1,
        session_timeout_ms=1,
        protocols=(("range", b""),),
        assignment=encode_assignment(owned, 3),
    )
    group.add(member, "consumer")
    group.generation_id, group.state = 3, GroupState.STABLE
    change(group)
    return group


def explains(
    downgrades: Downgrades,
    group: ClassicGroup | None = None,
    *,
    hosted: Any = SECOND,
    partition: int = 4,
    there: tuple[str, ...] = ("old",),
) -> bool:
    return downgrades.explain(hosted, group or classic(), ("orders", partition), there)


def test_a_rebalance_that_went_with_its_coordinator() -> None:
    assert explains(downgraded((FIRST, GONE), (FIRST, PUT_OUT)))


def test_a_coordinator_that_did_not_move_has_to_end_its_rebalance() -> None:
    assert not explains(downgraded((FIRST, GONE)), hosted=FIRST)


def found_after_the_cut(*events: tuple[Any, GroupEvent], members: int = 1) -> Downgrades:
    """Power is back, and the log has a classic group of generation 3 of which nobody had spoken."""
    downgrades = downgraded(*events)
    old = MemberMetadata(
        member_id="old", client_id="c", client_host="h", session_timeout=1, subscription=b"", assignment=b""
    )
    value = GroupMetadataValue(
        protocol_type="consumer", generation=3, protocol="range", leader="old", members=(old,) * members
    )
    downgrades.found("g", value)
    return downgrades


def test_a_rebalance_that_went_with_the_power() -> None:
    downgrades = found_after_the_cut()
    assert explains(downgrades)
    downgrades.joins(SECOND, classic(), AGAIN)
    assert not explains(downgrades)


def test_a_first_generation_that_the_power_cuts_off_has_no_excuse() -> None:
    formed = GenerationFormed(group_id="g", generation_id=3, protocol="range", leader="old", members=1)
    assert not explains(found_after_the_cut((FIRST, formed)))
    assert explains(found_after_the_cut((FIRST, replace(formed, generation_id=2))))
    assert explains(found_after_the_cut((FIRST, replace(formed, group_id="h"))))


def test_a_group_that_is_found_empty_has_nobody_to_rebalance() -> None:
    assert not explains(found_after_the_cut(members=0))


def test_another_rebalance_that_is_lost_has_no_excuse() -> None:
    """Members that come or go show up again at the next coordinator."""
    assert not explains(downgraded((FIRST, replace(GONE, why="member left"))))


FORMED = GenerationFormed(group_id="g", generation_id=3, protocol="range", leader="old", members=1)


@pytest.mark.parametrize(
    ("hosted", "event"),
    [
        pytest.param(FIRST, FORMED, id="formed"),
        pytest.param(FIRST, GroupStable(group_id="g", generation_id=3), id="stable"),
        pytest.param(FIRST, GroupDeleted(group_id="g"), id="deleted"),
        pytest.param(SECOND, replace(GONE, why="member left"), id="begun-again"),
        pytest.param(SECOND, PUT_OUT, id="somebody-went"),
        pytest.param(SECOND, MemberAdded(group_id="g", member_id="n", group_instance_id=None), id="came"),
    ],
)
def test_whatever_happens_next_ends_the_excuse(hosted: Any, event: GroupEvent) -> None:
    assert not explains(downgraded((FIRST, GONE), (hosted, event)))


def test_what_happens_in_another_group_does_not() -> None:
    assert explains(downgraded((FIRST, GONE), (SECOND, replace(PUT_OUT, group_id="h"))))


@pytest.mark.parametrize(
    ("hosted", "is_explained"), [(FIRST, True), (SECOND, False)], ids=["before", "after"]
)
def test_a_member_that_joins_again_asks_for_a_rebalance(hosted: Any, is_explained: bool) -> None:
    """Before the move it will have to ask again."""
    downgrades = downgraded((FIRST, GONE))
    downgrades.joins(hosted, classic(), AGAIN)
    assert explains(downgrades) is is_explained


def _follow(group: ClassicGroup) -> None:
    group.leader_id = "another"


def _be_static(group: ClassicGroup) -> None:
    group.static_members["i"] = "old"


def _prepare(group: ClassicGroup) -> None:
    group.leader_id, group.state = "another", GroupState.PREPARING_REBALANCE


BACK = replace(AGAIN, member_id="", group_instance_id="i")
NEW = replace(AGAIN, member_id="")
CHANGED = (("range", b"more"),)


@pytest.mark.parametrize(
    ("asked", "change", "is_explained"),
    [
        pytest.param(AGAIN, _follow, True, id="follower"),
        pytest.param(replace(AGAIN, protocols=CHANGED), _follow, False, id="follower-that-changed"),
        pytest.param(AGAIN, _prepare, False, id="in-a-rebalance"),
        pytest.param(replace(AGAIN, member_id="n"), _follow, False, id="stranger"),
        pytest.param(replace(AGAIN, group_id="h"), _follow, True, id="in-another-group"),
        pytest.param(BACK, _be_static, True, id="static"),
        pytest.param(replace(BACK, protocols=CHANGED), _be_static, False, id="static-that-changed"),
        pytest.param(BACK, _follow, False, id="new-static"),
        pytest.param(replace(NEW, needs_known_id=True), _follow, True, id="given-an-id"),
        pytest.param(replace(NEW, needs_known_id=False), _follow, False, id="let-in-at-once"),
    ],
)
def test_who_only_hears_the_generation_again_asks_for_none(
    asked: JoinGroup, change: Callable[[ClassicGroup], None], is_explained: bool
) -> None:
    downgrades = downgraded((FIRST, GONE))
    downgrades.joins(SECOND, classic(change), asked)
    assert explains(downgrades) is is_explained


def test_a_join_to_a_group_that_is_not_there_asks_for_a_rebalance() -> None:
    downgrades = downgraded((FIRST, GONE))
    downgrades.joins(SECOND, None, AGAIN)
    assert not explains(downgrades)


def _move(group: ClassicGroup) -> None:
    group.state = GroupState.PREPARING_REBALANCE


def _form(group: ClassicGroup) -> None:
    group.generation_id = 4


@pytest.mark.parametrize("change", [_move, _form])
def test_a_group_that_went_on_has_no_excuse(change: Callable[[ClassicGroup], None]) -> None:
    assert not explains(downgraded((FIRST, GONE)), classic(change))


def test_a_partition_that_a_member_was_given_has_to_be_read() -> None:
    assert not explains(downgraded((FIRST, GONE)), partition=0)


SHARE = encode_assignment(
    Assignment(assigned_partitions=(NamedTopicPartitions(topic="orders", partitions=(0, 1)),)), 3
)
NOTHING = encode_assignment(Assignment(assigned_partitions=()), 3)


@pytest.mark.parametrize(
    ("heard", "is_explained"),
    [
        pytest.param([("old", NOTHING)], True, id="not-yet"),
        pytest.param([("old", NOTHING), ("old", SHARE)], False, id="since"),
        pytest.param([("n", NOTHING)], False, id="another-member"),
        pytest.param([], False, id="never-synced"),
    ],
)
def test_a_partition_that_a_member_was_still_to_hear_of(
    heard: list[tuple[str, bytes]], is_explained: bool
) -> None:
    downgrades = downgraded((FIRST, GONE))
    for member_id, assignment in heard:
        downgrades.synced("g", member_id, assignment)
    assert explains(downgrades, partition=0) is is_explained


def test_a_member_of_another_group_heard_nothing_of_this_one() -> None:
    downgrades = downgraded((FIRST, GONE))
    downgrades.synced("h", "old", NOTHING)
    assert not explains(downgrades, partition=0)


def test_a_member_that_drops_what_it_heard_of_has_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the same seed: nobody reads orders-0, which a classic member has."""
    reads = MemberHost.reads.fget
    assert reads is not None

    def without(self: MemberHost) -> dict[TopicPartition, bool]:
        return {each: is_ready for each, is_ready in reads(self).items() if each != ("orders", 0)}

    monkeypatch.setattr(MemberHost, "reads", property(without))
    assert (SETTLES, "g: orders-0 is read by nobody") in found(run_seed(*UNTOLD).violations)


def test_who_runs_and_is_not_in_the_group_has_to_join() -> None:
    assert not explains(downgraded((FIRST, GONE)), there=("old", "n"))


# ---- the first round ------------------------------------------------------------------------------

COMES = ConsumerGroupHeartbeat(group_id="g", member_id="new", member_epoch=0)
FAILED = ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
ENDS = MemberError("ConsumerGroupHeartbeat", ErrorCode.UNKNOWN_SERVER_ERROR)


def in_its_first_round(**other: Any) -> ClassicGroup:
    """A classic group of one member that waits for its generation to be formed."""
    group = classic()
    group.generation_id, group.state, group.protocol_name = 0, GroupState.PREPARING_REBALANCE, None
    for name, value in other.items():
        setattr(group, name, value)
    return group


SETTINGS = GroupSettings()


def test_a_first_round_fails_who_comes() -> None:
    assert fails(COMES, in_its_first_round(), SETTINGS)


@pytest.mark.parametrize(
    ("asked", "group", "settings"),
    [
        pytest.param(COMES._replace(member_epoch=1), in_its_first_round(), SETTINGS, id="no-join"),
        pytest.param(
            Heartbeat(group_id="g", generation_id=0, member_id="old", group_instance_id=None),
            in_its_first_round(),
            SETTINGS,
            id="another-request",
        ),
        pytest.param(COMES, None, SETTINGS, id="no-group"),
        pytest.param(COMES, ClassicGroup("g", 0), SETTINGS, id="nobody-in-it"),
        pytest.param(COMES, in_its_first_round(members={}), SETTINGS, id="all-have-left"),
        pytest.param(COMES, in_its_first_round(protocol_name="range"), SETTINGS, id="a-protocol"),
        pytest.param(COMES, in_its_first_round(protocol_type="connect"), SETTINGS, id="no-consumers"),
        pytest.param(COMES, in_its_first_round(), GroupSettings(consumer_max_size=0), id="too-large"),
        pytest.param(
            COMES, in_its_first_round(), GroupSettings(consumer_migration_policy="downgrade"), id="no-upgrade"
        ),
    ],
)
def test_another_request_or_group_is_none_that_kafka_fails_on(
    asked: Any, group: ClassicGroup | None, settings: GroupSettings
) -> None:
    assert not fails(asked, group, settings)


GOES_ON = COMES._replace(member_epoch=5)
CLASSIC_BEATS = Heartbeat(group_id="g", generation_id=1, member_id="m", group_instance_id=None)


def answered(*answers: tuple[str, Any, Any, bool]) -> FirstRounds:
    rounds = FirstRounds()
    for client_id, asked, reply, was_due in answers:
        rounds.answered(client_id, asked, reply, was_due=was_due)
    return rounds


@pytest.mark.parametrize(
    "since",
    [
        pytest.param(("c1", CLASSIC_BEATS, HeartbeatResponse(), False), id="of-the-other-kind"),
        pytest.param(("c1", COMES, GIVEN, False), id="the-same-request-let-in"),
        pytest.param(("c2", GOES_ON, GIVEN, False), id="of-another-client"),
    ],
)
def test_who_was_failed_by_the_coordinator_ends(since: tuple[str, Any, Any, bool]) -> None:
    assert answered(("c1", COMES, FAILED, True), since).explain("c1", ENDS)


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([], id="none"),
        pytest.param([("c1", COMES, FAILED, False)], id="not-due"),
        pytest.param([("c1", COMES, GIVEN, True)], id="let-in"),
        pytest.param([("c2", COMES, FAILED, True)], id="another-client"),
        pytest.param([("c1", COMES, FAILED, True), ("c1", GOES_ON, GIVEN, False)], id="let-in-since"),
        pytest.param([("c1", COMES, FAILED, True), ("c1", COMES, FAILED, False)], id="failed-since"),
    ],
)
def test_another_answer_is_no_excuse_to_end(answers: list[tuple[str, Any, Any, bool]]) -> None:
    assert not answered(*answers).explain("c1", ENDS)


@pytest.mark.parametrize(
    "error",
    [
        MemberError("JoinGroup", ErrorCode.UNKNOWN_SERVER_ERROR),
        MemberError("ConsumerGroupHeartbeat", ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
def test_another_error_has_no_such_excuse(error: MemberError) -> None:
    assert not answered(("c1", COMES, FAILED, True)).explain("c1", error)

"""One step of one member towards its target, as a table (CurrentAssignmentBuilder of 4.3.1)."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from uuid import UUID

import pytest

from kgroup.group.coordinator.consumer.member import ConsumerMember, MemberState
from kgroup.group.coordinator.consumer.reconciliation import FREE, reconcile
from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.protocol.error_codes import ErrorCode as E
from tests.group.coordinator.consumer.world import ORDERS, PAYMENTS

STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)
HAS_01 = ConsumerMember(
    member_id="m", member_epoch=3, previous_member_epoch=2, assigned={ORDERS: {0: 2, 1: 3}}
)
Owned = Mapping[UUID, Collection[int]] | None


def step(
    member: ConsumerMember,
    target: Mapping[UUID, frozenset[int]],
    *,
    epoch: int = 4,
    owned: Owned = None,
    taken: Collection[int] = (),
    subscribed: Collection[UUID] = (ORDERS, PAYMENTS),
    resubscribed: bool = False,
) -> ConsumerMember:
    return reconcile(
        member,
        epoch,
        target,
        subscribed=subscribed,
        resubscribed=resubscribed,
        epoch_of=lambda topic_id, partition: 3 if partition in taken else FREE,
        owned=owned,
    )


def test_a_member_at_its_target_is_left_alone() -> None:
    assert step(HAS_01, {ORDERS: frozenset({0, 1})}, epoch=3) is HAS_01


def test_what_it_keeps_keeps_its_epoch_and_what_is_free_comes_at_the_new_one() -> None:
    after = step(HAS_01, {ORDERS: frozenset({0, 1, 2})})
    assert (after.member_epoch, after.previous_member_epoch, after.state) == (4, 3, STABLE)
    assert after.assigned == {ORDERS: {0: 2, 1: 3, 2: 4}}


def test_what_others_have_is_waited_for_and_the_rest_comes() -> None:
    after = step(HAS_01, {ORDERS: frozenset({0, 1, 2, 3})}, taken={3})
    assert (after.state, after.assigned) == (UNRELEASED, {ORDERS: {0: 2, 1: 3, 2: 4}})
    later = step(after, {ORDERS: frozenset({0, 1, 2, 3})})
    assert (later.state, later.assigned[ORDERS][3]) == (STABLE, 4)


@pytest.mark.parametrize("owned", [None, {ORDERS: {0, 1}}, {ORDERS: {1}}])
def test_it_stays_at_its_epoch_until_it_says_that_it_has_given_up(owned: Owned) -> None:
    after = step(HAS_01, {ORDERS: frozenset({0, 2})}, owned=owned)
    assert (after.member_epoch, after.state) == (3, UNREVOKED)
    assert (after.assigned, after.revoking) == ({ORDERS: {0: 2}}, {ORDERS: {1: 3}})
    assert step(after, {ORDERS: frozenset({0, 2})}, owned=owned) is after
    free = step(after, {ORDERS: frozenset({0, 2})}, owned={ORDERS: {0}})
    assert (free.member_epoch, free.state, free.revoking) == (4, STABLE, {})
    assert free.assigned == {ORDERS: {0: 2, 2: 4}}


def test_a_topic_it_no_longer_wants_goes_at_once_though_the_target_has_it() -> None:
    after = step(HAS_01, {ORDERS: frozenset({0, 1})}, epoch=3, subscribed=(PAYMENTS,), resubscribed=True)
    assert (after.member_epoch, after.state) == (3, UNREVOKED)
    assert (after.assigned, after.revoking) == ({}, {ORDERS: {0: 2, 1: 3}})


def test_nor_is_it_given_a_topic_it_does_not_want() -> None:
    target = {ORDERS: frozenset({0, 1, 2}), PAYMENTS: frozenset({0})}
    after = step(HAS_01, target, subscribed=(ORDERS,))
    assert (after.state, after.assigned) == (STABLE, {ORDERS: {0: 2, 1: 3, 2: 4}})
    assert step(HAS_01, target, subscribed=(ORDERS,), taken={0}) == after  # nor does it wait for that


def test_or_is_gone_already_and_then_its_state_stays() -> None:
    after = step(
        HAS_01,
        {ORDERS: frozenset({0, 1})},
        epoch=3,
        subscribed=(PAYMENTS,),
        resubscribed=True,
        owned={PAYMENTS: {0}},
    )
    assert (after.state, after.assigned, after.revoking) == (STABLE, {}, {})


def test_one_that_still_has_to_give_up_may_have_more_to_give() -> None:
    giving = replace(HAS_01, state=UNREVOKED, assigned={PAYMENTS: {0: 2}}, revoking={ORDERS: {1: 3}})
    after = step(giving, {}, subscribed=(), resubscribed=True)
    assert (after.state, after.assigned) == (UNREVOKED, {})
    assert after.revoking == {ORDERS: {1: 3}, PAYMENTS: {0: 2}}
    assert step(giving, {}, subscribed=(PAYMENTS,), resubscribed=True) is giving


def test_a_state_of_a_later_kafka_is_fenced_unless_the_member_has_nothing() -> None:
    unknown = replace(HAS_01, state=MemberState.of(9))
    with pytest.raises(Refused) as refused:
        step(unknown, {ORDERS: frozenset({0})})
    assert refused.value.error is E.FENCED_MEMBER_EPOCH
    assert step(unknown, {ORDERS: frozenset({0, 1})}, owned={}).member_epoch == 4

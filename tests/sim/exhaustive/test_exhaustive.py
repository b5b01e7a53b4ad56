"""Small searches; `python -m tests.sim.exhaustive` makes larger ones."""

from typing import Any

import pytest

from kgroup.group.coordinator.classic.rules import ClassicRules
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.reconciliation import FREE
from kgroup.group.member.classic import rounds
from kgroup.group.member.consumer import heartbeats
from kgroup.group.member.consumer.membership import ConsumerMembership
from kgroup.group.member.settings import GroupProtocol
from tests.sim.exhaustive.search import Found, search
from tests.sim.exhaustive.small_world import SmallWorld

CONSUMER, CLASSIC = GroupProtocol.CONSUMER, GroupProtocol.CLASSIC


def look(*protocols: GroupProtocol, depth: int, **given: Any) -> Found:
    return search(lambda: SmallWorld(protocols, given.pop("partitions", 2), 1, **given), depth)


@pytest.mark.parametrize(
    ("protocols", "depth", "joined", "states"),
    [
        pytest.param([CONSUMER] * 2, 6, 0, 200, id="two-come"),
        pytest.param([CONSUMER] * 3, 4, 2, 400, id="a-third-comes"),
        pytest.param([CLASSIC] * 2, 7, 0, 200, id="classic"),
        pytest.param([CONSUMER, CLASSIC], 7, 0, 200, id="a-classic-one-joins"),
        pytest.param([CLASSIC, CONSUMER], 7, 0, 150, id="an-upgrade"),
    ],
)
def test_no_order_of_events_breaks_a_promise(
    protocols: list[GroupProtocol], depth: int, joined: int, states: int
) -> None:
    found = look(*protocols, depth=depth, joined=joined)
    assert found.violation is None
    assert found.total >= states, "the search reaches less than it did"


def broken(found: Found) -> str:
    assert found.violation is not None
    return found.violation[1].partition(":")[0]


def test_a_coordinator_that_gives_away_what_an_owner_has_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerGroup, "epoch_of", lambda self, topic_id, partition: FREE)
    assert broken(look(CONSUMER, CONSUMER, depth=7)) == "unrevoked"


def test_a_member_that_claims_less_than_it_may_take_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka's client of 4.3.1 does: a lost heartbeat before its user has polled, and two members own one."""
    body = heartbeats.ConsumerHeartbeats._body
    monkeypatch.setattr(
        heartbeats.ConsumerHeartbeats, "_body", lambda self, local, may_take: body(self, local, frozenset())
    )
    assert broken(look(CONSUMER, CONSUMER, depth=10)) == "unrevoked"


def test_a_member_that_never_acknowledges_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(self: ConsumerMembership, going: Any, now_ms: int) -> None:
        self._under_way = None

    monkeypatch.setattr(ConsumerMembership, "_complete", silent)
    assert broken(look(CONSUMER, CONSUMER, depth=3)) == "reconciles"


def test_an_assignor_that_gives_one_partition_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = rounds.make_assignment

    def everything_to_everybody(*args: Any) -> tuple[tuple[str, bytes], ...]:
        shares = rule(*args)
        return tuple((member_id, shares[0][1]) for member_id, _ in shares)

    monkeypatch.setattr(rounds, "make_assignment", everything_to_everybody)
    assert broken(look(CLASSIC, CLASSIC, depth=2)) == "one-owner"


def test_a_session_that_does_not_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClassicRules, "session_deadline", lambda self, group, member_id: None)
    assert broken(look(CLASSIC, CLASSIC, depth=4)) == "reconciles"


def test_a_request_that_arrives_after_its_repetition_breaks_kip_848() -> None:
    """Kafka's gap, and the reason why a broken connection takes its requests with it in the other searches.

    A joining heartbeat names no partitions. Late, it tells the coordinator that the member has given up what
    it was given meanwhile. No epoch can tell it from the first one.
    """
    assert broken(look(CONSUMER, CONSUMER, depth=9, late_requests=True)) == "unrevoked"

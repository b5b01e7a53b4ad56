"""Each promise of the consumer protocol is shown the bug that it is there for, in production's code."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kgroup.broker.coordinators import Coordinators
from kgroup.broker.storage import MemoryStorage, TopicSpec
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import ConsumerMember as BookedMember
from kgroup.group.coordinator.consumer.reconciliation import FREE
from kgroup.group.coordinator.consumer.rules import SESSION
from kgroup.group.coordinator.timers import Timers
from kgroup.group.member.consumer.heartbeats import ConsumerHeartbeats
from kgroup.group.member.consumer.membership import ConsumerMembership
from kgroup.group.member.settings import GroupProtocol
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.sim.scenario.protocols import with_consumer_protocol, with_migration
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.swarm import Swarm, run_seed
from kgroup.sim.watch.result import (
    ALIVE_STAY,
    DEADLINES,
    EPOCHS_GROW,
    GIVES_UP,
    KEEPS_ALIVE,
    RECONCILES,
    SESSIONS_END,
    UNREVOKED,
)
from tests.sim.worlds import Seen, members, play, world

FAULTS = (("10s", "kill c1 for 5s"), ("20s", "kill coordinator"), ("40s", "grow orders to 6"))


def small(*faults: tuple[str, str], **given: Any) -> Scenario:
    return with_consumer_protocol(world(*faults, **given))


def broken(*faults: tuple[str, str], **given: Any) -> set[str]:
    return play(small(*faults, **given)).broken


def test_a_run_without_a_bug_breaks_nothing() -> None:
    for scenario in (small(*FAULTS), with_migration(world(*FAULTS, members=members(4)))):
        seen = play(scenario)
        assert seen.run.violations == ()
        assert seen.run.settled_ms is not None


def test_the_members_of_the_design_speak_the_consumer_protocol_alone() -> None:
    assert apis(play(small())) == {"ConsumerGroupHeartbeat"}


def test_a_migration_goes_up_and_down_with_classic_members_in_the_group_all_along() -> None:
    scenario = with_migration(world(members=members(4)))
    assert {member.protocol for member in scenario.members} == {GroupProtocol.CLASSIC}
    seen = play(scenario)
    assert apis(seen) == {"ConsumerGroupHeartbeat", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"}
    first = min(at for at, api in _calls(seen) if api == "ConsumerGroupHeartbeat")
    last = max(at for at, api in _calls(seen) if api == "ConsumerGroupHeartbeat")
    assert (int(first), int(last)) == (15, 45)
    assert seen.run.violations == ()


def apis(seen: Seen) -> set[str]:
    of_groups = {"ConsumerGroupHeartbeat", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"}
    return {api for _, api in _calls(seen)} & of_groups


def _calls(seen: Seen) -> list[tuple[float, str]]:
    from kgroup.sim.watch.trace import RequestSent

    return [(seen.s(each), type(each.body).__name__) for each in seen.of(RequestSent)]


def test_a_partition_that_is_given_before_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerGroup, "epoch_of", lambda self, topic_id, partition: FREE)
    assert UNREVOKED in broken()


def test_a_member_that_says_that_it_gave_up_what_it_still_has(monkeypatch: pytest.MonkeyPatch) -> None:
    send = ConsumerHeartbeats.send
    monkeypatch.setattr(
        ConsumerHeartbeats,
        "send",
        lambda self, node, local, may_take, now_ms: send(
            self, node, replace(local, partitions=may_take), may_take, now_ms
        ),
    )
    assert {UNREVOKED, GIVES_UP} <= broken(members=members(2, processing_ms=1_500))


def test_a_member_keeps_in_mind_what_it_is_taking_while_its_commit_is_under_way() -> None:
    """The coordinator wants orders-5 back meanwhile, moves, and hears everything anew."""
    assert run_seed(11667, Swarm.CONSUMER).violations == ()


def test_one_that_forgets_it_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerMembership, "_may_take", lambda self: self._target.partitions)
    assert {each.checker for each in run_seed(11667, Swarm.CONSUMER).violations} == {UNREVOKED}


def test_a_member_that_was_put_out_and_keeps_what_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerMembership, "_lose", lambda self: None)
    assert GIVES_UP in broken(("20s", "cut c1 for 30s"))


def test_epochs_that_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = BookedMember.at_epoch
    monkeypatch.setattr(
        BookedMember,
        "at_epoch",
        lambda self, epoch, *rest: rule(self, epoch - 1 if epoch == self.member_epoch + 1 else epoch, *rest),
    )
    took_epoch = BookedMember.assigned_by

    def back(self: BookedMember, value: Any) -> BookedMember:
        taken = took_epoch(self, value)
        return replace(taken, member_epoch=1) if taken.member_epoch == 4 else taken

    monkeypatch.setattr(BookedMember, "assigned_by", back)
    assert EPOCHS_GROW in broken(("10s", "kill c1 for 5s"), ("30s", "grow orders to 6"))


@pytest.mark.parametrize(
    ("seed", "swarm"), [(8968, Swarm.CONSUMER), (7551, Swarm.MIGRATION), (11721, Swarm.MIGRATION)]
)
def test_epochs_of_a_failed_append_are_given_out_again(seed: int, swarm: Swarm) -> None:
    assert run_seed(seed, swarm).violations == ()


def test_epochs_that_go_back_in_the_log_while_others_are_lost_by_a_failed_append(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    took_epoch = BookedMember.assigned_by

    def back(self: BookedMember, value: Any) -> BookedMember:
        taken = took_epoch(self, value)
        return replace(taken, member_epoch=2) if taken.member_epoch == 8 else taken

    monkeypatch.setattr(BookedMember, "assigned_by", back)
    assert run_seed(7551, Swarm.MIGRATION).violations[0].checker == EPOCHS_GROW


def test_a_coordinator_that_keeps_what_its_log_did_not_take(monkeypatch: pytest.MonkeyPatch) -> None:
    faults = (
        ("20s", "fail-disk by 50% for 8s"),
        ("20s", "restart c1"),
        ("21s", "restart c2"),
        ("30s", "kill coordinator"),
    )
    assert broken(*faults) == set()
    monkeypatch.setattr(Coordinators, "_reload", lambda self, failed: None)
    assert EPOCHS_GROW in broken(*faults)


def test_a_member_that_never_acknowledges(monkeypatch: pytest.MonkeyPatch) -> None:
    body = ConsumerHeartbeats._body

    def silent(self: ConsumerHeartbeats, *args: Any) -> Any:
        said = body(self, *args)
        return said if said.member_epoch == 0 else said._replace(topic_partitions=None)

    monkeypatch.setattr(ConsumerHeartbeats, "_body", silent)
    assert RECONCILES in broken()


class ForgetfulLog(MemoryLog):
    """Acknowledges everything, and has only the beginning when it is read."""

    def batches(self, offset: int) -> Iterator[bytes]:
        yield from list(super().batches(offset))[:2]


class ForgetfulStorage(MemoryStorage):
    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        return ForgetfulLog() if topic.name == "__consumer_offsets" else MemoryLog()


def test_a_log_that_has_the_group_otherwise() -> None:
    assert RECONCILES in play(small(), storage=ForgetfulStorage()).broken


@pytest.mark.parametrize(
    ("shift_ms", "checkers"),
    [(None, {SESSIONS_END, DEADLINES}), (60_000, {SESSIONS_END}), (-8_000, {ALIVE_STAY})],
)
def test_sessions_that_end_at_another_time(
    shift_ms: int | None, checkers: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = Timers.schedule

    def shifted(self: Timers[Any], key: Any, deadline_ms: int) -> None:
        if getattr(key, "kind", "") != SESSION:
            schedule(self, key, deadline_ms)
        elif shift_ms is not None:
            schedule(self, key, deadline_ms + shift_ms)

    monkeypatch.setattr(Timers, "schedule", shifted)
    assert checkers <= broken(("20s", "kill c1"))


def test_a_classic_members_session_is_as_long_as_it_asked_for() -> None:
    """Its coordinator loads it, stands still before anybody looks, and then its own session is over."""
    assert run_seed(104170, Swarm.CONSUMER).violations == ()


def test_heartbeats_that_come_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = ConsumerHeartbeats.answered
    monkeypatch.setattr(
        ConsumerHeartbeats, "answered", lambda self, interval_ms: answered(self, 10 * interval_ms)
    )
    assert KEEPS_ALIVE in broken()

"""Each checker is shown a run with the bug that it is there for, planted in the code that production runs."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kgroup.broker.storage import MemoryStorage, TopicSpec
from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.classic.rounds import ClassicRounds
from kgroup.group.member import errors as member_errors
from kgroup.group.member.classic import rounds as member_rounds
from kgroup.group.member.errors import Reaction
from kgroup.group.member.positions import Position, Subscriptions
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.swarm import run_seed
from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.watch.result import (
    COMMITS_SURVIVE,
    GENERATIONS_GROW,
    MEMBERS_GO_ON,
    NO_SKIP,
    ONE_OWNER,
    SETTLES,
    UNREVOKED,
    Violation,
)
from kgroup.sim.watch.tallies import Measures
from tests.sim.worlds import members, play, world


def test_a_run_without_a_bug_breaks_nothing() -> None:
    """The same faults as in the tests below: what they report is the bug and nothing else."""
    seen = play(world(("10s", "kill c1 for 5s"), ("20s", "kill coordinator"), ("40s", "grow orders to 6")))
    assert seen.run.violations == ()
    assert seen.run.settled_ms is not None


# ---- one-owner --------------------------------------------------------------------------------


def test_an_assignor_that_gives_a_partition_to_two_members_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = member_rounds.make_assignment

    def everything_to_everybody(*args: Any) -> tuple[tuple[str, bytes], ...]:
        shares = rule(*args)
        return tuple((member_id, shares[0][1]) for member_id, _ in shares)

    monkeypatch.setattr(member_rounds, "make_assignment", everything_to_everybody)
    assert ONE_OWNER in play(world()).broken


# ---- commits-survive --------------------------------------------------------------------------


class ForgetfulLog(MemoryLog):
    """Acknowledges everything, and has lost the last batches when it is read."""

    def batches(self, offset: int) -> Iterator[bytes]:
        yield from list(super().batches(offset))[:-3]


class ForgetfulStorage(MemoryStorage):
    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        return ForgetfulLog() if topic.name == "__consumer_offsets" else MemoryLog()


def test_a_log_that_loses_an_acknowledged_commit_is_caught() -> None:
    assert COMMITS_SURVIVE in play(world(), storage=ForgetfulStorage()).broken


def test_a_coordinator_that_answers_a_commit_and_does_not_log_it_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kgroup.group.coordinator.offsets import Offsets

    rule = Offsets.check_commit
    monkeypatch.setattr(Offsets, "check_commit", lambda *args: ([], rule(*args)[1]))
    assert COMMITS_SURVIVE in play(world()).broken


def test_commits_that_expired_are_not_lost() -> None:
    """The group is empty for longer than its offsets are kept."""
    keeps = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}
    scenario = world(("10s", "leave c1"), ("10s", "leave c2"), duration_ms=120_000)
    assert not play(replace(scenario, properties={**scenario.properties, **keeps})).run.violations


# ---- generations-grow -------------------------------------------------------------------------


def test_a_coordinator_that_uses_a_generation_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = ClassicGroup.record

    def write_the_generation_before(self: ClassicGroup, assignments: Any) -> Any:
        self.generation_id = min(self.generation_id, 1)
        return rule(self, assignments)

    monkeypatch.setattr(ClassicGroup, "record", write_the_generation_before)
    assert GENERATIONS_GROW in play(world(("20s", "restart c1"))).broken


# ---- settles ----------------------------------------------------------------------------------


def test_a_member_that_does_not_hear_of_rebalances_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The group waits for it, throws it out and waits for it again."""
    deaf = dict(member_errors.HEARTBEAT) | {ErrorCode.REBALANCE_IN_PROGRESS: Reaction.PROCEED}
    monkeypatch.setattr(member_errors, "HEARTBEAT", deaf)
    late = (members(1)[0], replace(members(2)[1], start_ms=20_000))
    scenario = world(members=tuple(replace(each, max_poll_interval_ms=300_000) for each in late))
    assert SETTLES in play(scenario).broken


def test_a_coordinator_that_never_ends_a_round_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClassicRounds, "sync", lambda self, group, request, body: None)
    assert SETTLES in play(world()).broken


def grown_while_a_static_leader_was_away() -> Scenario:
    """KIP-814: it takes the partitions that it finds for those that were assigned."""
    statics = tuple(replace(member, instance_id=member.name) for member in members(2))
    faults = (("20s", "kill c1 for 5s"), ("20s", "kill c2 for 5s"), ("21s", "grow orders to 6"))
    return world(*faults, members=statics)


def forgotten_by_a_static_member() -> Scenario:
    """KIP-345 with KIP-429: c1 dies with what it was to give up, and comes back to the assignment without it.

    c1 reads on while c2 joins, so that it dies after its SyncGroup and before it has seen the assignment.
    """
    first, second = members(2, assignors=("cooperative-sticky",), processing_ms=300, max_poll_records=20)
    both = (replace(first, instance_id="c1"), replace(second, start_ms=20_000))
    return world(("28s", "kill c1 for 2s"), members=both)


@pytest.mark.parametrize(
    ("scenario", "unread"),
    [(grown_while_a_static_leader_was_away(), "orders-4"), (forgotten_by_a_static_member(), "orders-2")],
)
def test_partitions_that_nobody_reads_are_caught(scenario: Scenario, unread: str) -> None:
    """Two gaps of Kafka's own, which end with the next rebalance."""
    seen = play(scenario)
    assert seen.broken == {SETTLES}
    assert [violation.what for violation in seen.run.violations] == [f"g: {unread} is read by nobody"]
    newcomer = replace(scenario.members[1], name="newcomer", instance_id=None, start_ms=70_000)
    assert not play(replace(scenario, members=(*scenario.members, newcomer))).broken


def test_new_partitions_count_once_metadata_must_have_shown_them() -> None:
    """The leader's metadata is up to five minutes old, and the scenario ends before."""
    patient = members(2, metadata_max_age_ms=300_000)
    assert not play(world(("20s", "grow orders to 6"), members=patient)).run.violations
    later = world(("20s", "grow orders to 6"), members=patient, settle_ms=400_000)
    seen = play(later)
    assert not seen.run.violations
    assert seen.run.tally.generations == 2


# ---- no-skip ----------------------------------------------------------------------------------


def test_a_member_that_passes_over_a_record_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Position.take_fetched

    def lose_the_first(self: Position, records: Any, next_offset: int) -> None:
        rule(self, list(records)[1:], next_offset)

    monkeypatch.setattr(Position, "take_fetched", lose_the_first)
    assert NO_SKIP in play(world()).broken


def test_a_member_that_commits_what_it_has_not_processed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Subscriptions.all_consumed

    def one_further(self: Subscriptions) -> tuple[tuple[TopicPartition, int], ...]:
        return tuple((partition, offset + 1) for partition, offset in rule(self))

    monkeypatch.setattr(Subscriptions, "all_consumed", one_further)
    assert NO_SKIP in play(world()).broken


# ---- members-go-on ----------------------------------------------------------------------------


def test_a_member_that_gives_up_where_it_could_go_on_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    without = {code: reaction for code, reaction in member_errors.HEARTBEAT.items() if code is ErrorCode.NONE}
    monkeypatch.setattr(member_errors, "HEARTBEAT", without)
    assert MEMBERS_GO_ON in play(world(("20s", "restart c1"))).broken


def test_a_member_that_asks_for_what_cannot_be_breaks_no_promise() -> None:
    """Two members of one instance id fence each other off."""
    twins = tuple(replace(member, instance_id="twin") for member in members(2))
    assert MEMBERS_GO_ON not in play(world(members=twins)).broken


@pytest.mark.parametrize(("first", "skips"), [(4, False), (5, False), (6, True), (9, True)])
def test_one_record_that_is_passed_over_is_enough(first: int, skips: bool) -> None:
    processed_to_5 = SimpleNamespace(processed_to=lambda group_partition: 5)
    checkers = Checkers(processed_to_5, lambda: 0)  # type: ignore[arg-type]
    checkers.handed_out(("g", ("orders", 0)), "m", first)
    assert [violation.checker for violation in checkers.violations] == [NO_SKIP] * skips


def test_what_is_known_is_told_once_and_hides_no_violation() -> None:
    checkers = Checkers(Measures(), lambda: 7)
    for _ in range(2):
        checkers.known_to_kafka(UNREVOKED, "c1 has t-0")
    checkers.broken(UNREVOKED, "c1 has t-0")
    same = [Violation(checker=UNREVOKED, at_ms=7, what="c1 has t-0")]
    assert (checkers.known, checkers.violations) == (same, same)


def test_who_closes_while_its_commit_is_refused_may_give_up_what_it_could_not_commit() -> None:
    """In seed 27986 the coordinator has lost the group; the refusal and the callback are of one step."""
    assert run_seed(27986).violations == ()

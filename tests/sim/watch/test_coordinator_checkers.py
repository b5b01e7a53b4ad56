"""Each checker that looks during a run is shown the bug that it is there for, in production's code."""

from dataclasses import replace
from typing import Any

import pytest

from kgroup.broker.coordinators import Coordinators
from kgroup.broker.transactions import Transaction, Transactions
from kgroup.group.coordinator.classic import answers as classic_answers
from kgroup.group.coordinator.classic.answer_table import Check, Trigger
from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.classic.rounds import ClassicRounds
from kgroup.group.coordinator.classic.rules import ClassicRules
from kgroup.group.coordinator.events import GroupDeleted, GroupEvent
from kgroup.group.coordinator.step import Request
from kgroup.group.coordinator.timers import Timers
from kgroup.group.member.classic.heartbeats import Heartbeats
from kgroup.group.member.classic.rounds import Rounds
from kgroup.group.member.fetcher import Fetcher
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import JoinGroup
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.swarm import Swarm, run_seed
from kgroup.sim.watch.result import (
    ALIVE_STAY,
    ANSWERS_FIT,
    DEADLINES,
    GENERATIONS_GROW,
    GIVES_UP,
    KEEPS_ALIVE,
    LINEARIZABLE,
    LOG_AGREES,
    NOBODY_FORGOTTEN,
    RESUMES,
    RETENTION,
    ROUNDS_END,
    SESSIONS_END,
    SHARES_FIT,
    TRANSACTIONS_END,
)
from kgroup.sim.watch.trace import RecordsProcessed
from kgroup.sim.world.coordinator_watch import CoordinatorWatch
from kgroup.sim.world.world import World
from tests.sim.worlds import members, play, world

_FAILING_DISKS = tuple((f"{second}s", "fail-disk by 50% for 2s") for second in range(5, 55, 3))
_RETENTION = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}


def crowded(*faults: tuple[str, str], **given: Any) -> Scenario:
    """With clients that behave badly, and producers with transactions."""
    return replace(world(*faults, **given), strangers=5, producers=2)


def test_a_crowded_world_without_a_bug_breaks_nothing() -> None:
    faults = (
        ("10s", "kill c1"),
        ("15s", "fail-disk by 50% for 3s"),
        ("20s", "cut-power"),
        ("25s", "move g"),
        ("30s", "lose-writes g by 3"),
        ("35s", "narrow c2 for 5s"),
    )
    scenario = crowded(*faults)
    assert not play(replace(scenario, producers=0)).broken
    assert not play(crowded(*(fault for fault in faults if "lose-writes" not in fault[1]))).broken


def test_what_a_log_loses_without_a_tombstone_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss of writes of which the watch is not told looks like a broker that forgets."""
    attach = CoordinatorWatch.attach
    monkeypatch.setattr(
        CoordinatorWatch, "attach", lambda self, cluster, *, has_lost: attach(self, cluster, has_lost=False)
    )
    broken = play(world(("20s", "lose-writes g by 50"))).broken
    assert {LINEARIZABLE, RESUMES, GENERATIONS_GROW} <= broken


def test_sessions_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline that nobody acts on: the dead stay."""
    monkeypatch.setattr(ClassicRules, "session_deadline", lambda self, group, member_id: None)
    assert SESSIONS_END in play(crowded(("20s", "kill c1"))).broken


def test_alive_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats that keep nothing: the living are out."""
    monkeypatch.setattr(ClassicRules, "keep_alive", lambda self, group, member_id: None)
    assert ALIVE_STAY in play(world()).broken


def test_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sessions after a load."""
    monkeypatch.setattr(ClassicRules, "loaded", lambda self, group: None)
    assert DEADLINES in play(world(("20s", "move g"))).broken


def test_rounds_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others do not hear that the last one has joined."""
    monkeypatch.setattr(ClassicRounds, "_complete_if_ready", lambda self, group: None)
    assert ROUNDS_END in play(world(("20s", "restart c1"))).broken


def test_answers_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits of an old generation."""
    checks = dict(classic_answers.CHECKS) | {Trigger.COMMIT: (Check.MEMBER,)}
    monkeypatch.setattr(classic_answers, "CHECKS", checks)
    assert ANSWERS_FIT in play(crowded()).broken


def test_answers_fit_those_who_join_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member of the group, and nobody has put it out, is not known when it joins again."""
    rule = ClassicRules._join_known

    def join(self: ClassicRules, group: ClassicGroup, request: Request, body: JoinGroup) -> None:
        if body.member_id in group.members:
            self._refuse_join(request, ErrorCode.UNKNOWN_MEMBER_ID, body.member_id)
        else:
            rule(self, group, request, body)

    monkeypatch.setattr(ClassicRules, "_join_known", join)
    assert ANSWERS_FIT in play(world(("20s", "restart c1"))).broken


def test_nobody_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that ends without a word to those who wait."""
    monkeypatch.setattr(ClassicRules, "unload", lambda self, group, error: None)
    scenario = crowded(*((f"{second}s", "move g") for second in range(5, 55, 5)))
    assert NOBODY_FORGOTTEN in play(scenario).broken


def test_shares_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members keep the share of the generation before."""
    rule = ClassicGroup._restore_member

    def restore(self: ClassicGroup, recorded: Any) -> None:
        before = self.members[recorded.member_id].assignment if recorded.member_id in self.members else b""
        rule(self, recorded)
        self.members[recorded.member_id].assignment = before or recorded.assignment

    monkeypatch.setattr(ClassicGroup, "_restore_member", restore)
    monkeypatch.setattr(ClassicRounds, "_clear_assignments", lambda self, group, error: None)
    late = (members(1)[0], replace(members(2)[1], start_ms=20_000))
    assert SHARES_FIT in play(world(members=late)).broken


def test_a_share_that_comes_with_the_end_of_its_classic_group_is_in_the_log() -> None:
    """One batch has the leader's assignment, and the tombstone of the group that a newcomer upgrades."""
    assert run_seed(106975, Swarm.MIGRATION).violations == ()


@pytest.mark.parametrize("swarm", [Swarm.CLASSIC, Swarm.MIGRATION])
def test_what_a_coordinator_expired_before_it_moved_was_due_by_its_own_clock(swarm: Swarm) -> None:
    """A node whose clock has jumped ahead deletes an offset, and hands its partition over at that moment."""
    assert run_seed(144209, swarm).violations == ()


def test_what_a_coordinator_expired_before_a_member_came_was_of_a_group_without_members() -> None:
    """A node that stood still deletes offsets and lets a newcomer in at once: one batch has both."""
    assert run_seed(910611, Swarm.CONSUMER).violations == ()


@pytest.mark.parametrize(
    ("seed", "swarm"), [(908433, Swarm.CONSUMER), (908433, Swarm.MIGRATION), (909667, Swarm.CONSUMER)]
)
def test_a_group_whose_end_the_power_cut_off_begins_anew(seed: int, swarm: Swarm) -> None:
    """Its tombstone is in the log; the word of it, which follows, never went out."""
    assert run_seed(seed, swarm).violations == ()


def test_the_end_of_a_group_that_no_coordinator_told_of_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played = World(world(), 1, None, None, codec=False)
    played.play(until_settled=True)
    cluster, watch = played.cluster.cluster, played.cluster.watch
    [hosted] = (each for each in cluster.coordinators.hosted.values() if "g" in each.coordinator.classic)
    model = watch.models[hosted.partition.index]
    told: list[GroupEvent] = []
    monkeypatch.setattr(played.checkers, "group_event", told.append)

    model.untold |= {"told", "untold"}
    watch.heard(hosted, GroupDeleted(group_id="told"))
    for _ in range(2):
        watch.attach(cluster, has_lost=False)
        watch.attach(cluster, has_lost=False)
        assert watch.models[hosted.partition.index] is not model
        watch._loaded(hosted)
        assert told == [GroupDeleted(group_id="untold")]


def test_log_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was decided is answered and not written when a coordinator moves."""
    monkeypatch.setattr(Coordinators, "flush_one", lambda self, hosted: self._deliver(hosted._give_out()))
    assert LOG_AGREES in play(world()).broken


def test_linearizable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused commit takes effect."""
    from kgroup.group.coordinator.commits import CommitRules
    from kgroup.group.coordinator.step import CommitRun

    rule = CommitRules.commit

    def commit_all_the_same(self: CommitRules, groups: Any, request: Any, body: Any) -> bool:
        if groups.check_commit(body) and groups.__contains__(body.group_id):
            for topic in body.topics:
                accepted, _ = self._offsets.check_commit(topic)
                self._log_run(
                    CommitRun(body.group_id, topic.name, topic.topic_id, accepted, self._turn.now_ms)
                )
        return rule(self, groups, request, body)

    monkeypatch.setattr(CommitRules, "commit", commit_all_the_same)
    assert LINEARIZABLE in play(crowded()).broken


def test_retention(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offsets expire under an open transaction, or before their time."""
    from kgroup.group.coordinator.commits import CommitRules

    rule = CommitRules.expired

    def too_early(self: CommitRules, groups: Any, group_id: str) -> Any:
        self._turn.now_ms += 30_000
        try:
            return rule(self, groups, group_id)
        finally:
            self._turn.now_ms -= 30_000

    monkeypatch.setattr(CommitRules, "expired", too_early)
    scenario = crowded(duration_ms=100_000)
    assert RETENTION in play(replace(scenario, properties={**scenario.properties, **_RETENTION})).broken


def test_a_group_that_was_empty_for_the_retention_begins_anew_and_breaks_nothing() -> None:
    """Kafka deletes the offsets of a group without members after `offsets.retention.minutes`."""
    scenario = world(("20s", "kill c1"), ("20s", "kill c2"), ("120s", "start c1"), duration_ms=150_000)
    seen = play(replace(scenario, properties={**scenario.properties, **_RETENTION}))
    again = [event for event in seen.of(RecordsProcessed, member="c1") if seen.s(event) > 120]
    assert min(event.first for event in again) == 0
    assert not seen.broken


def test_transactions_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was decided and could not be marked is not tried again."""
    rule, tried = Transactions._try_to_finish, set()

    def only_once(self: Transactions, transaction: Transaction, now_ms: int) -> None:
        decision = (transaction.transactional_id, transaction.last_update_ms)
        if decision not in tried:
            tried.add(decision)
            rule(self, transaction, now_ms)

    monkeypatch.setattr(Transactions, "_try_to_finish", only_once)
    assert TRANSACTIONS_END in play(crowded(*_FAILING_DISKS)).broken


def test_transactions_end_although_disks_fail() -> None:
    """The same world without the bug."""
    assert not play(crowded(*_FAILING_DISKS)).broken


def test_resumes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that takes over does not ask for what is committed."""
    rule = Fetcher.take_committed

    def from_the_start(self: Fetcher, answer: Any, now_ms: int) -> None:
        rule(
            self, replace(answer, offsets=tuple(replace(each, offset=-1) for each in answer.offsets)), now_ms
        )

    monkeypatch.setattr(Fetcher, "take_committed", from_the_start)
    assert RESUMES in play(world(("20s", "kill c1"))).broken


def test_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """An eager member that joins again with what it has."""
    monkeypatch.setattr(Rounds, "_give_up", lambda self: None)
    late = (members(1)[0], replace(members(2)[1], start_ms=20_000))
    assert GIVES_UP in play(world(members=late)).broken


def test_keeps_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats that stop after an error."""
    monkeypatch.setattr(Heartbeats, "ended", lambda self: None)
    assert KEEPS_ALIVE in play(world()).broken


def test_a_deadline_that_is_lost_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer that cannot be moved earlier: nobody watches what is next."""
    monkeypatch.setattr(Timers, "cancel", lambda self, key: self._deadlines.clear())
    assert DEADLINES in play(crowded()).broken


def test_an_answer_before_its_record_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last batch of each flush is not written."""
    from kgroup.broker import hosted_coordinator

    rule = hosted_coordinator.encode_records
    monkeypatch.setattr(hosted_coordinator, "encode_records", lambda records: list(rule(records))[:-1])
    assert LOG_AGREES in play(world()).broken

"""What consumer groups answer, and their deadlines: each bug in production's code is seen by its seed."""

from typing import Any

import pytest

from kgroup.group.coordinator.consumer import classic_members, rules
from kgroup.group.coordinator.consumer.groups import ConsumerGroups
from kgroup.group.coordinator.consumer.rules import ConsumerRules
from kgroup.protocol.error_codes import ErrorCode
from kgroup.sim.swarm import Swarm, run_seed
from kgroup.sim.watch.result import ANSWERS_FIT, DEADLINES, UNREVOKED


def broken(seed: int, swarm: Swarm) -> set[str]:
    return {violation.checker for violation in run_seed(seed, swarm).violations}


@pytest.mark.parametrize(("seed", "swarm"), [(1, Swarm.CONSUMER), (2, Swarm.CONSUMER), (2, Swarm.MIGRATION)])
def test_without_a_bug_nothing_is_broken(seed: int, swarm: Swarm) -> None:
    assert broken(seed, swarm) == set()


def test_who_has_to_give_up_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerRules, "_watch_revocation", lambda *_: None)
    assert DEADLINES in broken(1, Swarm.CONSUMER)


def test_a_commit_of_an_old_epoch_is_no_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerGroups, "check_commit", lambda *_: ErrorCode.NONE)
    assert ANSWERS_FIT in broken(2, Swarm.CONSUMER)


def test_an_old_epoch_is_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_check_epoch", lambda *_: None)
    assert ANSWERS_FIT in broken(28, Swarm.CONSUMER)


def test_a_classic_member_is_told_what_it_has_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    good = classic_members.assignment_bytes

    def all_of_it(owned: Any, subscription: bytes, image: Any) -> bytes:
        partitions = {topic_id: set(range(2)) | set(parts) for topic_id, parts in owned.items()}
        return good(partitions, subscription, image)

    monkeypatch.setattr(classic_members, "assignment_bytes", all_of_it)
    assert UNREVOKED in broken(2, Swarm.MIGRATION)


def test_a_classic_member_that_is_behind_is_sent_to_join(monkeypatch: pytest.MonkeyPatch) -> None:
    good = classic_members.ClassicMembers.heartbeat

    def all_is_well(self: Any, group: Any, body: Any) -> Any:
        answer = good(self, group, body)
        return type(answer)() if answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS else answer

    monkeypatch.setattr(classic_members.ClassicMembers, "heartbeat", all_is_well)
    assert ANSWERS_FIT in broken(2, Swarm.MIGRATION)

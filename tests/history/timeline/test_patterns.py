from dataclasses import replace

import pytest

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.commits import CommitTrack
from kgroup.history.timeline.model import Partition, Pattern
from kgroup.history.timeline.patterns import find_patterns
from tests.history.group_log import GroupLog, member


def names(log: GroupLog) -> list[str]:
    return [pattern.name for pattern in log.timeline().patterns]


def named(log: GroupLog, name: str) -> Pattern:
    return next(pattern for pattern in log.timeline().patterns if pattern.name == name)


def flapping(times: int, every: float) -> GroupLog:
    """One member stays, another joins under a new id and leaves, again and again."""
    log = GroupLog()
    log.generation(0, 1, member("stable", 0, 1))
    for number in range(times):
        at = 600 + 2 * number * every
        log.generation(at, 2 + 2 * number, member("stable", 0), member(f"life{number}", 1, client="flap"))
        log.generation(at + every, 3 + 2 * number, member("stable", 0, 1))
    return log


def test_a_member_that_comes_and_goes_every_second_is_a_storm():
    storm = named(flapping(6, 1), "rebalance-storm")
    assert (storm.first_generation, storm.last_generation) == (2, 13)
    assert storm.member_ids == tuple(f"life{number}-id" for number in range(6))
    assert storm.evidence.startswith("11 rebalances in 11s, one every 1s; otherwise one every 10m 0s")
    assert storm.remedy is not None


def test_the_same_once_an_hour_is_a_flapping_member_and_no_storm():
    assert names(flapping(6, 3600)) == ["flapping-member"]


def test_two_restarts_are_nothing():
    assert names(flapping(2, 1)) == []


def test_a_rolling_deployment_is_no_storm():
    log = GroupLog()
    pods = [member(f"pod{number}", number, host=f"/10.0.0.{number}", client="app") for number in range(20)]
    log.generation(0, 1, *pods)
    for number in range(20):
        pods[number] = member(f"new{number}", number, host=f"/10.0.1.{number}", client="app")
        without = [pod for index, pod in enumerate(pods) if index != number]
        log.generation(10 + 10 * number, 2 + 2 * number, *without)
        log.generation(15 + 10 * number, 3 + 2 * number, *pods)
    assert names(log) == []


def test_members_with_different_settings_take_turns():
    log = GroupLog()
    for number in range(10):
        protocol = ("range", "sticky")[number % 2]
        log.generation(100 * number, number + 1, member("a", 0), member(f"b{number}", 1), protocol=protocol)
    assert "ping-pong" in names(log)


def test_the_leader_changes_though_the_old_one_stays():
    log = GroupLog()
    for number in range(8):
        leader = ("a-id", "b-id")[number % 2]
        log.generation(100 * number, number + 1, member("a", 0), member("b", 1), leader=leader)
    assert "leader-churn" in names(log)


def test_generations_grow_and_nothing_changes():
    log = GroupLog()
    for number in range(8):
        log.generation(100 * number, number + 1, member("a", 0), member("b", 1), leader="a-id")
    assert names(log) == ["generations-without-change"]


def test_a_member_that_commits_nothing_while_the_other_does():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.commits(1, 200, 5, 0)
    assert named(log, "never-commits").member_ids == ("b-id",)


def rounds_of(*pauses_and_numbers: tuple[float, int]) -> GroupLog:
    """One that stays and one that comes under a new id with every other round."""
    log = GroupLog()
    log.generation(0, 1, member("stable", 0, 1))
    at, number = 600.0, 2
    for index, (pause, skipped) in enumerate(pauses_and_numbers):
        at, number = at + pause, number + skipped
        others = [member(f"life{index}", 1, client="flap")] if index % 2 == 0 else []
        log.generation(at, number, member("stable", 0), *others)
        number += 1
    return log


def test_eight_rounds_are_a_storm_and_seven_are_not():
    # The first of them comes after a long time, and is the round before the storm's first.
    assert "rebalance-storm" not in names(rounds_of(*[(1, 0)] * 8))
    assert "rebalance-storm" in names(rounds_of(*[(1, 0)] * 9))


def test_rounds_that_nobody_finished_count_in_a_storm():
    assert "rebalance-storm" in names(rounds_of(*[(1, 0)] * 7, (1, 1)))


def test_a_round_may_take_longer_if_others_came_to_nothing_before_it():
    assert "rebalance-storm" in names(rounds_of(*[(45, 1)] * 10))
    assert "rebalance-storm" not in names(rounds_of(*[(45, 0)] * 20))


def test_members_of_one_client_that_only_come_are_no_storm():
    log = GroupLog()
    pods = [member("pod0", 0, client="app")]
    log.generation(0, 1, *pods)
    for number in range(1, 12):
        pods.append(member(f"pod{number}", number, client="app"))
        log.generation(600 + number, 1 + number, *pods)
    assert names(log) == []


def test_deployments_that_follow_each_other_take_no_turns():
    log = GroupLog()
    for number in range(10):
        protocol = ("range", "sticky")[number % 2]
        log.generation(100 * number, number + 1, member(f"a{number}", 0), protocol=protocol)
    assert "ping-pong" not in names(log)


def test_a_leader_that_changes_now_and_then_is_no_churn():
    log = GroupLog()
    for number in range(25):
        leader = ("a-id", "b-id")[number // 4 % 2]
        log.generation(100 * number, number + 1, member("a", 0), member("b", 1), leader=leader)
    assert "leader-churn" not in names(log)


def test_another_leader_after_one_that_left_is_no_churn():
    log = GroupLog()
    for number in range(8):
        log.generation(3600 * number, number + 1, member(f"a{number}", 0), member("b", 1))
    assert "leader-churn" not in names(log)


def test_who_commits_one_of_its_partitions_commits():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1, 2))
    log.commits(1, 200, 5, 0, 1)
    assert names(log) == []


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (GroupKind.CLASSIC, ["never-commits"]),
        (GroupKind.CONSUMER, ["never-commits"]),
        (GroupKind.SHARE, []),
        (GroupKind.STREAMS, []),
    ],
)
def test_only_members_that_commit_what_they_own_can_fail_to(kind: GroupKind, expected: list[str]):
    """A share group commits elsewhere, and what a streams member owns is worked out from its tasks."""
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.commits(1, 200, 5, 0)
    timeline = log.timeline()
    (generation,) = timeline.generations
    generation.roster = replace(generation.roster, kind=kind)
    tracks = {Partition("t", 0): CommitTrack(1_000, 10, 1)}
    for number in range(2, 9):
        tracks[Partition("t", 0)].add(1_000 * number, 10 * number, number, -1, 3)
    assert [pattern.name for pattern in find_patterns(timeline, tracks)] == expected


def test_pods_that_restart_once_each_are_no_flapping_member():
    log = GroupLog()
    pods = [member(f"pod{number}", number, client="app") for number in range(10)]
    log.generation(0, 1, *pods)
    for number in range(10):
        pods[number] = member(f"new{number}", number, client="app")
        without = [pod for index, pod in enumerate(pods) if index != number]
        log.generation(3600 * (number + 1), 2 + 2 * number, *without)
        log.generation(3600 * (number + 1) + 60, 3 + 2 * number, *pods)
    assert names(log) == []


def test_a_member_has_a_minute_before_it_counts_as_never_committing():
    for last, expected in ((58, []), (62, ["never-commits"])):
        log = GroupLog()
        log.generation(0, 1, member("a", 0), member("b", 1))
        log.commits(2, last, 2, 0)
        assert names(log) == expected

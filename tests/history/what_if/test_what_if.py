"""What-if against hand-computed answers, and against what really happened to groups of the same story."""

from pathlib import Path

import pytest

from kgroup.api.opened import open_logs
from kgroup.api.replay import Replayed, replay
from kgroup.assignors.registry import Protocol
from kgroup.errors import InputError
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Timeline
from kgroup.history.what_if.changes import Changes
from kgroup.history.what_if.outcome import Outcome
from kgroup.history.what_if.what_if import Comparison, what_if
from tests.history.group_log import GROUP, GroupLog, member
from tests.vectors.what_if import cases

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = sorted(FIXTURES.glob("*/lives"))


def recorded_groups(folder: Path, pattern: str) -> Replayed:
    return replay(open_logs(folder), [pattern])


def costs(outcome: Outcome) -> dict[str, object]:
    return {
        "rebalances": outcome.rebalances,
        "moved": outcome.moved,
        "stopped": outcome.members_stopped,
        "each": (outcome.partitions_min, outcome.partitions_max),
        "spread": outcome.spread,
    }


def what(compared: Comparison) -> list[tuple[float, str]]:
    return [((played.at_ms or 0) / 1000, played.what) for played in compared.supposed.rounds]


def one_joins_two() -> Timeline:
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1), member("b", 2, 3))
    log.generation(100, 2, member("a", 0, 1), member("b", 2), member("c", 3))
    return log.timeline()


def test_an_eager_rebalance_stops_everything_and_a_cooperative_one_what_moves():
    compared = what_if(one_joins_two(), Changes(protocol=Protocol.COOPERATIVE, pause_ms=2_000))
    # Range: partition 3 goes from b to c, and a and b stop reading all four for two seconds.
    assert costs(compared.recorded) == {
        "rebalances": 2,
        "moved": 1,
        "stopped": 2,
        "each": (1, 2),
        "spread": 1,
    }
    assert compared.recorded.unread_ms == 4 * 2_000
    # Cooperative: one partition is given up, and a third rebalance hands it to c.
    assert costs(compared.supposed) == {
        "rebalances": 3,
        "moved": 1,
        "stopped": 1,
        "each": (1, 2),
        "spread": 1,
    }
    assert compared.supposed.unread_ms == 1 * 2_000
    assert [played.follow_up for played in compared.supposed.rounds] == [False, False, True]


def test_who_founds_a_group_of_the_consumer_protocol_has_all_until_the_others_share():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1), member("b", 2, 3), leader="b-id")
    supposed = what_if(log.timeline(), Changes(protocol=Protocol.SERVER, pause_ms=2_000)).supposed
    assert [played.what for played in supposed.rounds] == ["join b", "join a"]
    assert {member_id: len(owned) for member_id, owned in supposed.rounds[0].assignment.items()} == {
        "b-id": 4
    }
    assert [(before, after) for _, before, after in supposed.rounds[1].moves] == [("b-id", "a-id")] * 2
    assert supposed.unread_ms == 2 * 2_000


def test_without_any_change_the_supposed_side_is_the_recorded_one():
    compared = what_if(one_joins_two(), Changes(pause_ms=2_000))
    assert [played.assignment for played in compared.supposed.rounds] == [
        played.assignment for played in compared.recorded.rounds
    ]
    assert costs(compared.supposed) == costs(compared.recorded)


def test_more_partitions_are_there_from_the_first_generation():
    compared = what_if(one_joins_two(), Changes(partitions={"t": 9}, pause_ms=2_000))
    assert costs(compared.supposed)["each"] == (3, 3)
    assert costs(compared.recorded)["each"] == (1, 2)
    # Range gives a 0-4 and b 5-8, then 0-2, 3-5, 6-8: 3 and 4 go from a to b, and 6 to 8 from b to c.
    assert costs(compared.supposed)["moved"] == 5
    assert compared.supposed.unread_ms == 9 * 2_000


def test_more_members_are_there_from_the_first_generation_and_share():
    compared = what_if(one_joins_two(), Changes(more_members=1))
    assert [played.members for played in compared.supposed.rounds] == [3, 4]
    assert costs(compared.supposed)["each"] == (1, 1)


def restart(stopped_at: float, back_at: float, *, commits_until: float) -> Timeline:
    """b stops and comes back under a new member id; the session timeout is 10 s."""
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1), member("b", 2, 3))
    log.commits(1, commits_until, 1, 2, 3)
    log.generation(stopped_at, 2, member("a", 0, 1, 2, 3))
    log.generation(back_at, 3, member("a", 0, 1), member("b2", 2, 3, client="b"))
    log.commit(200, 0, 9_000)
    return log.timeline()


def test_a_static_restart_within_the_session_timeout_rebalances_nothing():
    timeline = restart(100, 105, commits_until=99)
    compared = what_if(timeline, Changes(static=True, pause_ms=1_000))
    # Both take over or take back two partitions; a stops twice, and b's were unread with it.
    assert costs(compared.recorded) == {
        "rebalances": 3,
        "moved": 4,
        "stopped": 2,
        "each": (2, 2),
        "spread": 0,
    }
    assert compared.recorded.unread_ms == 4 * 1_000 + 4 * 1_000
    assert costs(compared.supposed) == {
        "rebalances": 1,
        "moved": 0,
        "stopped": 0,
        "each": (2, 2),
        "spread": 0,
    }
    # The price: what b has waits five seconds for it.
    assert compared.supposed.absent_ms == compared.supposed.unread_ms == 2 * 5_000


def test_a_static_member_that_stays_away_expires_first_and_then_joins():
    compared = what_if(restart(100, 120, commits_until=99), Changes(static=True, pause_ms=1_000))
    assert what(compared) == [(0, "join a, b"), (110, "session-expired b"), (120, "join b")]
    assert compared.supposed.unread_ms == 2 * 10_000 + 4 * 1_000 + 4 * 1_000


def both_end_and_one_comes_back() -> Timeline:
    """Both die, which the group notices at 112 s; b is back at 125 s. The session timeout is 10 s."""
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1), member("b", 2, 3))
    log.commits(1, 99, 1, 2, 3)
    log.generation(112, 2)
    log.generation(125, 3, member("b2", 0, 1, 2, 3, client="b"))
    log.commit(200, 0, 9_000)
    return log.timeline()


def test_who_is_still_there_where_the_recorded_group_was_empty_is_rebalanced_by_its_last_assignor():
    timeline = both_end_and_one_comes_back()
    static = what_if(timeline, Changes(static=True, pause_ms=1_000))
    assert {played.assignor for played in static.supposed.rounds} == {"range"}
    assert what(static)[-1] == (125, "join b")
    patient = what_if(timeline, Changes(session_timeout_ms=60_000, pause_ms=1_000))
    assert what(patient)[0] == (0, "join a, b")


OF_CONSUMERS = (GroupKind.CLASSIC, GroupKind.CONSUMER)
REFUSED = (
    r"no generation with members|its members get no partitions|is a (share|streams) group"
    r"|used the assignor '(home-made|stream)'"
)


def played(timelines: dict[str, Timeline], change: Changes) -> dict[str, Comparison]:
    """Every group of consumers who got partitions by an assignor of Kafka's is played, and no other one."""
    compared = {}
    for group, timeline in timelines.items():
        rosters = [generation.roster for generation in timeline.generations]
        consumers = [one for one in rosters if one.kind in OF_CONSUMERS and one.protocol != "stream"]
        if any(member.owned for roster in consumers for member in roster.members):
            compared[group] = what_if(timeline, change)
        else:
            with pytest.raises(InputError, match=REFUSED):
                what_if(timeline, change)
    assert len(compared) > 15
    return compared


@pytest.mark.parametrize("folder", LIVES, ids=lambda folder: folder.parent.name)
def test_every_change_can_be_played_with_every_group_of_a_capture(folder):
    timelines = recorded_groups(folder, "*")
    for change in (Changes(static=True), Changes(session_timeout_ms=600_000), Changes(more_members=3)):
        for compared in played(timelines, change).values():
            assert compared.supposed.rebalances == len(compared.supposed.rounds) > 0


@pytest.mark.parametrize("folder", LIVES, ids=lambda folder: folder.parent.name)
def test_replay_counts_as_many_moves_as_the_recorded_side(folder):
    """Also of cooperative groups, where a partition goes from one member to another in two generations."""
    timelines = recorded_groups(folder, "*")
    compared = played(timelines, Changes(static=True))
    moves = {
        group: sum(generation.moved.moved for generation in timelines[group].generations)
        for group in compared
    }
    assert moves == {group: one.recorded.moved for group, one in compared.items()}
    assert sum(moves.values()) > 50


def test_a_longer_session_timeout_finds_the_dead_later_and_waits_longer_for_a_static_one():
    timeline = restart(100.5, 108, commits_until=90)
    compared = what_if(timeline, Changes(session_timeout_ms=30_000, pause_ms=1_000))
    assert compared.recorded.unread_ms == 2 * 10_000 + 4 * 1_000 + 4 * 1_000
    # Dead at 90.5; the process that comes back at 108 is a third member until its old self expires.
    assert what(compared) == [(0, "join a, b"), (108, "join b"), (120.5, "session-expired b")]
    assert [played.members for played in compared.supposed.rounds] == [2, 3, 2]
    static = what_if(timeline, Changes(static=True, session_timeout_ms=30_000))
    assert what(static) == [(0, "join a, b")]
    assert static.supposed.absent_ms == 2 * 17_500


def test_a_shorter_session_timeout_finds_the_dead_sooner():
    compared = what_if(restart(100.5, 150, commits_until=90), Changes(session_timeout_ms=6_000))
    assert what(compared)[1] == (96.5, "session-expired b")


def test_who_would_still_be_waited_for_when_the_log_ends_is_unread_until_then():
    timeline = restart(100, 150, commits_until=99)
    compared = what_if(timeline, Changes(static=True, session_timeout_ms=600_000))
    assert what(compared) == [(0, "join a, b")]
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1), member("b", 2, 3))
    log.commits(1, 99, 1, 2, 3)
    log.generation(100, 2, member("a", 0, 1, 2, 3))
    log.commit(130, 0, 9_000)
    gone = what_if(log.timeline(), Changes(static=True, session_timeout_ms=600_000))
    assert gone.supposed.absent_ms == 2 * 30_000


def test_how_long_a_rebalance_stops_anybody_is_what_commits_tell():
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1), member("b", 2, 3))
    log.commits(1, 99, 1, 0, 1, 2, 3)
    log.generation(102, 2, member("a", 0, 1), member("b", 2), member("c", 3))
    log.commits(104, 110, 1, 0, 1, 2, 3)
    compared = what_if(log.timeline(), Changes(assignor="roundrobin"))
    # Commits came each second, and none from 99 to 104: four seconds longer than usual.
    assert [played.pause_ms for played in compared.recorded.rounds] == [0, 4_000]
    assert compared.recorded.unread_ms == 4 * 4_000


def test_without_commits_nobody_knows_how_long_and_that_is_said():
    compared = what_if(one_joins_two(), Changes(static=True))
    assert [played.unread_ms for played in compared.recorded.rounds] == [0, None]
    assert compared.recorded.unread_ms is None
    assert any(
        "no commits show how long a rebalance stops anyone: give --pause" in said
        for said in compared.assumptions
    )


def test_both_sides_begin_with_the_first_generation_of_a_log_that_is_cut():
    log = GroupLog()
    log.gap()
    log.generation(0, 7, member("a", 0), member("b", 1, 2, 3))
    log.generation(50, 8, member("a", 0), member("b", 1, 2, 3))
    compared = what_if(log.timeline(), Changes(assignor="sticky"))
    # Sticky takes one from b, as it starts from the uneven assignment that was recorded.
    assert (compared.recorded.rebalances, compared.supposed.rebalances) == (1, 1)
    assert (compared.recorded.moved, compared.supposed.moved) == (0, 1)


def test_a_change_that_makes_no_sense_is_refused():
    with pytest.raises(InputError, match="nobody subscribes to 'nix'; its topics are t"):
        what_if(one_joins_two(), Changes(partitions={"nix": 3}))


def test_an_assignor_that_is_not_kafkas_needs_another_to_be_named():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1), protocol="home-made")
    with pytest.raises(InputError, match=f"group '{GROUP}' used the assignor 'home-made' in generation 1"):
        what_if(log.timeline(), Changes(static=True))
    compared = what_if(log.timeline(), Changes(assignor="range"))
    assert (compared.recorded.rounds[0].assignor, compared.supposed.rounds[0].assignor) == (
        "home-made",
        "range",
    )


@pytest.mark.parametrize("folder", LIVES, ids=lambda folder: folder.parent.name)
def test_groups_of_one_story_cost_what_is_supposed_of_another_assignor(folder):
    """The driver let the groups assign-* live the same story, each with its assignor."""
    groups = recorded_groups(folder, "assign-*")
    supposed = what_if(groups["assign-range"], Changes(assignor="roundrobin")).supposed
    came_to_be = what_if(groups["assign-roundrobin"], Changes()).recorded
    assert costs(supposed) == costs(came_to_be)


def test_so_does_a_cooperative_group_whose_members_came_one_by_one():
    groups = recorded_groups(FIXTURES / "3.9.1" / "lives", "assign-*")
    supposed = what_if(groups["assign-range"], Changes(protocol=Protocol.COOPERATIVE)).supposed
    came_to_be = what_if(groups["assign-cooperative"], Changes()).recorded
    assert costs(supposed) == costs(came_to_be)


@pytest.mark.parametrize("folder", LIVES, ids=lambda folder: folder.parent.name)
def test_the_assignor_that_was_used_gives_the_assignments_that_were_recorded(folder):
    compared = list(cases(folder))
    assert len(compared) >= 70
    assert [case for case in compared if case.failure] == []

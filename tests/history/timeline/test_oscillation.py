"""Members that come and go with new names, and comings and goings that are none of it."""

from collections.abc import Sequence

from kgroup.history.timeline.model import Pattern
from tests.history.group_log import GroupLog, member

Step = tuple[float, Sequence[str]]


def patterns(*steps: Step) -> list[str]:
    return [pattern.name for pattern in _timeline(*steps)]


def _timeline(*steps: Step) -> tuple[Pattern, ...]:
    log = GroupLog()
    for generation, (at, names) in enumerate(steps, start=1):
        members = [member(name, number, client=name) for number, name in enumerate(names)]
        log.generation(at, generation, *members)
    return log.timeline().patterns


def scaling(
    visits: int, *, stays_s: float = 60, pause_s: float = 60, base: Sequence[str] = ("a", "b")
) -> list[Step]:
    """`base`, and one pod more for a while, again and again with a new name."""
    steps: list[Step] = [(0, base)]
    at = 10.0
    for number in range(visits):
        steps.append((at, [*base, f"pod-{number}"]))
        steps.append((at + stays_s, base))
        at += stays_s + pause_s
    return steps


def test_an_autoscaler_that_cannot_decide_is_named() -> None:
    assert patterns(*scaling(4)) == ["members-oscillate"]
    assert patterns(*scaling(4, stays_s=5, pause_s=5)) == ["members-oscillate"]
    (pattern,) = _timeline(*scaling(5))
    assert pattern.evidence == (
        "5 members came and left again in 9m 0s, usually after 1m 0s (pod-0, pod-1, pod-2 and 2"
        " more): 10 rebalances between 2 and 3 members"
    )
    assert (pattern.first_generation, pattern.last_generation) == (2, 11)
    assert len(pattern.member_ids) == 5


def test_three_visits_are_no_pattern_nor_are_long_or_rare_ones() -> None:
    assert patterns(*scaling(3)) == []
    assert patterns(*scaling(6, stays_s=601)) == []
    assert patterns(*scaling(6, pause_s=1_201)) == []


def test_a_group_that_is_empty_between_its_visits_is_a_jobs() -> None:
    assert patterns(*scaling(6, base=())) == []


def test_where_nobody_stays_there_is_no_group_to_come_and_go_in() -> None:
    """Each pod hands over to the next: a deployment again and again, or a crash loop."""
    steps: list[Step] = [(0, ["pod-0"])]
    for number in range(1, 9):
        steps.append((20 * number, [f"pod-{number - 1}", f"pod-{number}"]))
        steps.append((20 * number + 10, [f"pod-{number}"]))
    assert patterns(*steps) == []


def test_a_rolling_restart_has_no_visits() -> None:
    """A surge of one pod: each new one stays, and an old one goes."""
    pods = [f"old-{number}" for number in range(6)]
    steps: list[Step] = [(0, list(pods))]
    for number in range(6):
        steps.append((10 + 20 * number, [*pods, f"new-{number}"]))
        pods = [*pods[1:], f"new-{number}"]
        steps.append((20 + 20 * number, list(pods)))
    assert patterns(*steps) == []


def test_a_restart_one_by_one_under_the_same_names_has_no_visits() -> None:
    names = ["a", "b", "c", "d", "e"]
    steps: list[Step] = [(0, names)]
    for number, name in enumerate(names):
        others = [other for other in names if other != name]
        steps += [(10 + 20 * number, others), (20 + 20 * number, names)]
    assert patterns(*steps) == []


def test_the_start_of_a_deployment_only_goes_up() -> None:
    assert patterns(*((number, [f"p{each}" for each in range(number + 1)]) for number in range(12))) == []


def test_one_client_that_comes_and_goes_is_flapping_and_not_this() -> None:
    steps: list[Step] = [(0, ["a", "b"])]
    for number in range(8):
        steps += [(10 + 20 * number, ["a", "b", "c"]), (20 + 20 * number, ["a", "b"])]
    assert "members-oscillate" not in patterns(*steps)


def test_members_that_replace_each_other_leave_the_number_as_it_is() -> None:
    assert patterns(*((20 * number, ["a", "b", f"pod-{number}"]) for number in range(10))) == []


def test_what_compaction_took_is_no_visit() -> None:
    log = GroupLog()
    for generation, (at, names) in enumerate(scaling(4), start=1):
        if generation == 4:
            log.gap()
        log.generation(at, generation, *(member(name, 0, client=name) for name in names))
    assert log.timeline().patterns == ()

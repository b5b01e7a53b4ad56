"""Members that come and go with new names, and comings and goings that are none of it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

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
    assert (pattern.from_ms, pattern.to_ms) == (10_000, 550_000)


def test_three_visits_are_no_pattern_nor_are_long_or_rare_ones() -> None:
    assert patterns(*scaling(3)) == []
    assert patterns(*scaling(6, stays_s=601)) == []
    assert patterns(*scaling(6, pause_s=1_201)) == []


def test_a_visit_lasts_from_no_time_to_ten_minutes() -> None:
    assert patterns(*scaling(4, stays_s=600)) == ["members-oscillate"]
    assert patterns(*scaling(4, stays_s=600.001)) == []
    assert patterns(*scaling(4, stays_s=0)) == ["members-oscillate"]
    assert patterns(*scaling(4, stays_s=-0.001)) == []  # by the clocks of two coordinators


def test_the_next_visit_ends_within_twenty_minutes() -> None:
    assert patterns(*scaling(4, pause_s=1_140)) == ["members-oscillate"]
    assert patterns(*scaling(4, pause_s=1_140.001)) == []


def test_three_names_are_an_autoscalers_and_two_are_not() -> None:
    assert "members-oscillate" in patterns(*renamed(scaling(4), {"pod-3": "pod-0"}))
    assert "members-oscillate" not in patterns(*renamed(scaling(4), {"pod-3": "pod-0", "pod-2": "pod-1"}))


def renamed(steps: Sequence[Step], names: dict[str, str]) -> list[Step]:
    return [(at, [names.get(name, name) for name in members]) for at, members in steps]


def later(steps: Sequence[Step], by: float) -> list[Step]:
    return [(at + by, members) for at, members in steps]


@pytest.mark.parametrize("visits", [4, 5])
def test_up_to_three_names_are_told_and_the_others_counted(visits: int) -> None:
    (pattern,) = _timeline(*scaling(visits))
    assert f"(pod-0, pod-1, pod-2 and {visits - 3} more)" in pattern.evidence
    (pattern,) = (
        one
        for one in _timeline(*renamed(scaling(visits), {"pod-3": "pod-0", "pod-4": "pod-1"}))
        if one.name == "members-oscillate"
    )
    assert "(pod-0, pod-1, pod-2): " in pattern.evidence


def test_a_client_without_a_name_is_called_that() -> None:
    log = GroupLog()
    for generation, (at, names) in enumerate(scaling(4), start=1):
        members = [replace(member(name, host=f"/{name}"), client_id="") for name in names]
        log.generation(at, generation, *members)
    (pattern,) = log.timeline().patterns
    assert "(a client without a name and 1 more): " in pattern.evidence


def test_what_comes_before_and_after_is_none_of_it() -> None:
    steps = [*scaling(4), (500, ["a", "b", "c"]), (1_800, ["a", "b", "c", "d"])]
    (pattern,) = _timeline(*steps)
    assert (pattern.first_generation, pattern.last_generation) == (2, 9)
    assert "8 rebalances between 2 and 3 members" in pattern.evidence
    (pattern,) = _timeline((0, ["a"]), *later(scaling(4), 30))
    assert (pattern.first_generation, pattern.last_generation) == (3, 10)


def test_each_run_of_visits_is_judged_by_itself() -> None:
    """A pause, and it begins anew: what was too little, or nobody stayed in, does not hide the next one."""
    (pattern,) = _timeline(*scaling(3), *later(scaling(4), 3_000))
    assert pattern.from_ms == 3_010_000
    (pattern,) = _timeline(*scaling(4), *later(scaling(1), 3_000))
    assert pattern.to_ms == 430_000
    alone: list[Step] = [(0, ["x-0"])]
    for number in range(1, 5):
        alone += [(80 * number, [f"x-{number}", f"pod-{number}"]), (80 * number + 40, [f"x-{number}"])]
    assert patterns(*alone) == []
    (pattern,) = _timeline(*alone, *later(scaling(4), 3_000))
    assert pattern.from_ms == 3_010_000


def test_who_leaves_with_a_visitor_hides_no_visit() -> None:
    steps = scaling(4)
    steps[:2] = [(0, ["0", "a", "b"]), (10, ["0", "a", "b", "pod-0"])]
    assert patterns(*steps) == ["members-oscillate"]


def test_somebody_stays_throughout_from_before_the_first_visit_on() -> None:
    steps = scaling(4, base=["a"])
    assert patterns(*steps) == ["members-oscillate"]
    assert patterns((0, ["old"]), *steps[1:]) == []  # it came with the first visitor
    steps[1] = (10, ["b", "pod-0"])
    assert patterns(*steps) == []  # it was away then


def test_a_group_may_have_been_empty_before() -> None:
    log = GroupLog()
    log.generation(-10, 1)
    for generation, (at, names) in enumerate(scaling(4, base=["a"]), start=2):
        log.generation(at, generation, *(member(name, client=name) for name in names))
    (pattern,) = log.timeline().patterns
    assert len(pattern.member_ids) == 4


def test_who_joins_an_empty_group_visits_nobody() -> None:
    steps = [*scaling(3), (400, ()), (410, ["a", "pod-9"]), (420, ["a"])]
    assert patterns(*steps) == []


def test_the_number_of_members_turns_six_times() -> None:
    steps = scaling(4)
    assert patterns((0, ["a", "b", "c", "d"]), *steps[1:]) == ["members-oscillate"]  # six
    steps[6:8] = [(steps[7][0], steps[7][1])]  # the last one comes as the one before it goes: five
    assert patterns(*steps) == []


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


def test_who_was_there_before_compaction_took_something_has_no_known_visit() -> None:
    log = GroupLog()
    steps = scaling(4)
    steps.insert(2, (40, steps[1][1]))
    for generation, (at, names) in enumerate(steps, start=1):
        if generation == 3:
            log.gap()
        log.generation(at, generation, *(member(name, 0, client=name) for name in names))
    assert log.timeline().patterns == ()

from kgroup.sim.world.schedule import Schedule


def played(*times: int, until: int = 100) -> list[tuple[int, int]]:
    """(time on the clock, number of the action), as they happened."""
    schedule = Schedule(10)
    seen: list[tuple[int, int]] = []
    for number, time in enumerate(times):
        schedule.at(time, lambda number=number: seen.append((schedule.now_ms, number)))
    schedule.run(until)
    return seen


def test_actions_happen_in_the_order_of_their_times() -> None:
    assert played(30, 20, 40) == [(20, 1), (30, 0), (40, 2)]


def test_actions_of_the_same_time_happen_in_the_order_in_which_they_were_planned() -> None:
    assert played(20, 20, 20) == [(20, 0), (20, 1), (20, 2)]


def test_what_is_planned_for_the_past_happens_now() -> None:
    assert played(5) == [(10, 0)]


def test_what_comes_after_the_end_waits() -> None:
    assert played(20, 101, until=100) == [(20, 0)]


def test_an_action_may_plan_others_for_the_same_moment() -> None:
    schedule = Schedule(0)
    seen: list[str] = []
    schedule.at(5, lambda: (seen.append("first"), schedule.at(5, lambda: seen.append("third"))))
    schedule.at(5, lambda: seen.append("second"))
    schedule.run(5)
    assert seen == ["first", "second", "third"]


def test_the_clock_shows_the_end_when_nothing_is_left() -> None:
    schedule = Schedule(0)
    schedule.run(70)
    assert schedule.now_ms == 70

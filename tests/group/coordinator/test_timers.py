"""Deadlines come out when they are due, the oldest first, as they were last set."""

from hypothesis import given
from hypothesis import strategies as st

from kgroup.group.coordinator.timers import Timers


def due(timers: Timers[str], now_ms: int) -> list[str]:
    keys = []
    while (key := timers.pop_due(now_ms)) is not None:
        keys.append(key)
    return keys


def test_a_deadline_is_due_at_its_time_and_once() -> None:
    timers: Timers[str] = Timers()
    timers.schedule("a", 10)
    assert due(timers, 9) == []
    assert due(timers, 10) == ["a"]
    assert due(timers, 10) == []
    assert timers.next_deadline_ms() is None


def test_a_deadline_can_be_moved_both_ways_and_cancelled() -> None:
    timers: Timers[str] = Timers()
    timers.schedule("later", 10)
    timers.schedule("later", 20)
    timers.schedule("sooner", 10)
    timers.schedule("sooner", 5)
    timers.schedule("gone", 1)
    timers.cancel("gone")
    timers.cancel("never there")
    assert timers.next_deadline_ms() == 5
    assert due(timers, 10) == ["sooner"]
    assert due(timers, 20) == ["later"]


def test_ties_come_out_as_they_were_set() -> None:
    timers: Timers[str] = Timers()
    for key in "bca":
        timers.schedule(key, 10)
    assert due(timers, 10) == ["b", "c", "a"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20) | st.none())), st.integers(0, 20))
def test_only_the_last_word_on_a_key_counts(words: list[tuple[str, int | None]], now_ms: int) -> None:
    timers: Timers[str] = Timers()
    expected: dict[str, int] = {}
    for key, deadline_ms in words:
        counted, before_ms = timers.set_earlier, timers.next_deadline_ms()
        if deadline_ms is None:
            timers.cancel(key)
            expected.pop(key, None)
        else:
            timers.schedule(key, deadline_ms)
            expected[key] = deadline_ms
        next_ms = timers.next_deadline_ms()
        assert next_ms == min(expected.values(), default=None)
        if next_ms is not None and (before_ms is None or next_ms < before_ms):
            assert timers.set_earlier > counted
    keys = due(timers, now_ms)
    assert sorted(keys) == sorted(key for key, deadline_ms in expected.items() if deadline_ms <= now_ms)
    assert [expected[key] for key in keys] == sorted(expected[key] for key in keys)
    assert timers.next_deadline_ms() == min((ms for ms in expected.values() if ms > now_ms), default=None)

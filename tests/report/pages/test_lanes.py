"""Lanes: who has one, when it owned what, and what of it is drawn where clocks and names are odd."""

from pathlib import Path

import pytest

from kgroup.api.opened import open_logs
from kgroup.api.replay import replay
from kgroup.history.timeline.model import Partition, Timeline, Wait
from kgroup.report.pages.history import history_data, partitions_text
from kgroup.report.pages.lanes import Lane, Pause, Picture, lane_names, longest_pauses, picture_of
from tests.history.group_log import GroupLog, member

LIVES = Path(__file__).parents[3] / "fixtures" / "4.3.1" / "lives"


def stays_of(picture: Picture) -> list[tuple[str, int, int, int, int]]:
    """Lane, first and last generation by place, from and to in seconds."""
    return [
        (picture.lanes[stay.lane].label, stay.first, stay.last, stay.from_ms // 1000, stay.to_ms // 1000)
        for stay in picture.stays
    ]


def test_a_stay_lasts_as_long_as_a_member_owns_the_same():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.generation(10, 2, member("a", 0), member("b", 1))
    log.generation(30, 3, member("a", 0, 1))
    log.generation(40, 4, member("a", 0), member("b", 1))
    picture = picture_of(log.timeline(), until_ms=100_000)
    assert stays_of(picture) == [
        ("a", 0, 1, 0, 30),
        ("a", 2, 2, 30, 40),
        ("a", 3, 3, 40, 100),
        ("b", 0, 1, 0, 30),
        ("b", 3, 3, 40, 100),
    ]


def test_another_member_id_is_another_stay_in_the_same_lane():
    log = GroupLog()
    log.generation(0, 1, member("first", 0, client="app"))
    log.generation(10, 2, member("second", 0, client="app"))
    picture = picture_of(log.timeline(), until_ms=20_000)
    assert [lane.member_ids for lane in picture.lanes] == [["first-id", "second-id"]]
    assert [(stay.member_id, stay.to_ms) for stay in picture.stays] == [
        ("first-id", 10_000),
        ("second-id", 20_000),
    ]


def test_the_axis_never_goes_back_and_the_table_has_what_was_logged():
    """A coordinator moved to a broker whose clock is 20 seconds behind."""
    log = GroupLog()
    for number, at in enumerate((0, 30, 10, 40), 1):
        log.generation(at, number, member("a", number))
    timeline = log.timeline()
    assert picture_of(timeline).starts_ms == (0, 30_000, 30_000, 40_000)
    generations = history_data(timeline)["generations"]
    assert isinstance(generations, list)
    assert [(one["at"], one["t"]) for one in generations] == [
        (0, 0),
        (30_000, 30_000),
        (30_000, 10_000),
        (40_000, 40_000),
    ]


def test_where_nothing_says_when_the_log_ends_the_last_is_drawn_a_little_longer():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.generation(100, 2, member("a", 1))
    picture = picture_of(log.timeline())
    assert (picture.told_ms, picture.to_ms) == (100_000, 105_000)
    assert picture_of(Timeline(group_id="g")).stays == ()


def test_lanes_are_in_the_order_of_numbers_and_newcomers_come_last():
    log = GroupLog()
    log.generation(0, 1, *(member(f"c-{number}", number) for number in (10, 2, 1)))
    log.generation(10, 2, *(member(f"c-{number}", number) for number in (0, 10, 2, 1)))
    assert [lane.label for lane in picture_of(log.timeline()).lanes] == ["c-1", "c-2", "c-10", "c-0"]


def test_leaders_are_named_by_their_lane():
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1), leader="b-id")
    log.generation(10, 2, member("a", 0), member("b", 1), leader="gone-id")
    assert picture_of(log.timeline()).leaders == (1, None)


@pytest.mark.parametrize(
    ("lanes", "names"),
    [
        ([("a", "/h1", "a-1"), ("b", "/h1", "b-1")], ["a", "b"]),
        ([("app", "/h1", "x"), ("app", "/h2", "y"), ("b", "/h1", "z")], ["app h1", "app h2", "b"]),
        ([("c", "/h1", "c-11112222"), ("c", "/h1", "c-33334444")], ["c h1 11112222", "c h1 33334444"]),
    ],
)
def test_two_of_one_name_are_told_apart(lanes, names):
    assert lane_names([Lane(label, host, [member_id]) for label, host, member_id in lanes]) == names


def test_a_long_time_without_a_commit_is_in_the_lane_of_the_owner():
    """Every 2 seconds; around the second generation 0 had none for 12, and 1 for 3: not yet long."""
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.commits(1, 29, 2, 0, 1)
    log.generation(30, 2, member("a", 1), member("b", 0))
    log.commits(32, 60, 2, 1)
    log.commits(41, 60, 2, 0)
    picture = picture_of(log.timeline())
    assert picture.pauses == (Pause(1, Partition("t", 0), 29_000, 41_000),)


def test_of_pauses_at_once_the_longest_has_the_name():
    first, longer = Partition("t", 0), Partition("t", 1)
    pauses = [Pause(0, longer, 5, 20), Pause(0, first, 1, 10), Pause(0, first, 30, 40), Pause(1, first, 2, 3)]
    assert longest_pauses(pauses) == [
        Pause(0, longer, 1, 20),
        Pause(0, first, 30, 40),
        Pause(1, first, 2, 3),
    ]


def test_of_thousands_of_partitions_the_first_are_named():
    assert partitions_text([Partition("t", 1), Partition("t", 0), Partition("s", 4)]) == "s:4 t:0-1"
    text = partitions_text([Partition("t", 2 * number) for number in range(2000)])
    assert text.endswith(" and more") and len(text) < 2010
    numbers = text.removeprefix("t:").removesuffix(" and more").split(",")
    assert len(numbers) > 400
    assert numbers == [str(2 * number) for number in range(len(numbers))]


def test_a_member_waits_in_its_lane_for_the_one_in_another():
    """The target of epoch 6 is record 138; record 154 gives up what kip-1 had, record 158 what kip-3 had."""
    timeline = replay(open_logs(LIVES), ["trades-848"])["trades-848"]
    picture = picture_of(timeline)
    names = [lane.label for lane in picture.lanes]
    waits = [wait for wait in picture.waits if wait.from_ms == 1_795_178_794_051]
    assert [(names[wait.lane], names[wait.holder], wait.to_ms, wait.open) for wait in waits] == [
        ("kip-victim", "kip-3", 1_795_178_795_073, False),
        ("kip-3", "kip-1", 1_795_178_794_957, False),
    ]


def test_a_wait_that_does_not_end_is_drawn_to_the_end_and_says_so():
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.generation(10, 2, member("a", 0), member("b", 1))
    timeline = log.timeline()
    timeline.generations[1].waits.append(
        Wait(member_id="b-id", holder_id="a-id", partitions=(Partition("t", 1),), since_ms=10_000)
    )
    (wait,) = picture_of(timeline, until_ms=60_000).waits
    assert (wait.lane, wait.holder, wait.from_ms, wait.to_ms, wait.open) == (1, 0, 10_000, 60_000, True)
    data = history_data(timeline, until_ms=60_000)
    assert data["waits"] == [[1, 0, 10_000, 60_000, "continues at the log's end", 1]]
    assert isinstance(data["sets"], list) and data["sets"][1] == (1, "t:1")
